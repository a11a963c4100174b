"""Judging a reward model: accuracy, loss and calibration of a few rewards by hand, by kind, on two splits."""

import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from langladder.evaluation.page import declared
from langladder.evaluation.reward import RewardPage, evaluate_reward, judge_rewards, rewards_of
from langladder.evaluation.significance import share_interval
from langladder.ground.errors import InputError
from langladder.models.reward import RewardModel, begin_reward
from langladder.text.labelled.instructions import Message, Ranking
from tests.models.spoken import RANKINGS, asked, saved_instructed

THREE = Ranking(asked("say cat"), ("cat", "dog", "king"), (1, 2, 3), "say")
TWO = Ranking(asked("say dog"), ("cat", "dog"), (2, 1), "dogs")


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_golden_figures_of_two_rankings() -> None:
    """THREE: Δ = 1, 3, 2, all right; TWO: Δ = −1, wrong."""
    result = judge_rewards([np.array([3.0, 2.0, 0.0]), np.array([1.0, 0.0])], [THREE, TWO])
    assert (result.prompts, result.pairs, result.accuracy) == (2, 4, 0.75)
    first = -np.mean([math.log(sigmoid(x)) for x in (1, 3, 2)])
    assert result.loss == pytest.approx((first - math.log(sigmoid(-1))) / 2, abs=1e-6)
    # σ(1) = 0.731 twice, half right; σ(2) = 0.881 right; σ(3) = 0.953 right
    assert [item.count for item in result.reliability] == [2, 1, 1]
    ece = (2 * abs(0.5 - sigmoid(1)) + (1 - sigmoid(2)) + (1 - sigmoid(3))) / 4
    assert result.calibration_error == pytest.approx(ece, abs=1e-6)
    assert [(item.kind, item.pairs, item.accuracy) for item in result.per_kind] == [("dogs", 1, 0.0), ("say", 3, 1.0)]
    # two prompts: V = 2 (0.75² + 0.75²) / 4², n = 0.75 · 0.25 / V = 4/3
    assert result.accuracy_interval == share_interval(1, 4 / 3)


def test_equal_rewards_are_no_preference() -> None:
    result = judge_rewards([np.zeros(3)], [THREE])
    assert result.accuracy == 0.0 and result.loss == pytest.approx(math.log(2), abs=1e-6)


def test_a_model_is_judged_on_each_split_as_one_by_one(tmp_path: Path) -> None:
    rung = SimpleNamespace(name="reward", model=RewardModel.Config())
    model = begin_reward(rung, saved_instructed(tmp_path / "sft"), seed=1)
    tied = Ranking(asked("say cat"), ("cat", "dog"), (1, 1), "say")
    page = evaluate_reward(model, {"test": [*RANKINGS, tied], "unseen": RANKINGS[:2]}, name="reward")
    for item, rewards in zip(RANKINGS, rewards_of(model, RANKINGS), strict=True):
        alone = [model.rewards([(*item.prompt, Message("assistant", answer))])[0] for answer in item.responses]
        np.testing.assert_allclose(rewards, alone, atol=1e-6)
    assert page.scores["test"].pairs == 40 and page.scores["unseen"].pairs == 10
    assert [item.kind for item in page.scores["test"].per_kind] == ["say", "twice"]
    assert set(page.figures()) == {
        *("accuracy", "loss", "calibration_error"),
        *("unseen_accuracy", "unseen_loss", "unseen_calibration_error"),
    }
    assert RewardPage.model_validate_json(page.model_dump_json()) == page
    assert "reliability" not in page.summary()["scores"]["test"] and page.scores["test"].reliability
    long = Ranking(asked("say cat"), ("cat", "dog " * model.context), (1, 2), "say")
    shorter = evaluate_reward(model, {"test": [*RANKINGS, tied, long], "unseen": RANKINGS[:2]}, name="reward")
    assert (page.left_out, shorter.left_out, shorter.scores) == (0, 1, page.scores)
    columns = {item.metric.title: item.read(shorter, "test") for item in declared(RewardPage) if item.metric.brief}
    assert columns["left out"] == 1 and columns["pairs"] == shorter.scores["test"].pairs
    with pytest.raises(InputError, match="unseen: no pair of responses with different ranks"):
        evaluate_reward(model, {"unseen": [tied]}, name="reward")


def test_cost_of_training_is_in_the_mean_row(tmp_path: Path) -> None:
    """Twice the prompts of a batch, about twice what the backward pass keeps; the operations are a position's."""
    rung = SimpleNamespace(name="reward", model=RewardModel.Config())
    model = begin_reward(rung, saved_instructed(tmp_path / "sft"), seed=1)
    works = [
        evaluate_reward(model, {"test": RANKINGS}, name="reward", optimizer="adamw", batch_size=size).work
        for size in (1, 2, 3)
    ]
    assert all(works) and len({work.flops for work in works if work}) == 1
    item, two, three = (work.training_bytes for work in works if work)
    assert three - two == two - item > 0
    assert evaluate_reward(model, {"test": RANKINGS}, name="reward").work is None


def test_a_figure_of_few_pairs_is_no_headline(tmp_path: Path) -> None:
    rung = SimpleNamespace(name="reward", model=RewardModel.Config())
    model = begin_reward(rung, saved_instructed(tmp_path / "sft"), seed=1)
    few, many = (evaluate_reward(model, {"test": side}, name="x") for side in (RANKINGS[:2], RANKINGS))
    assert few.items == 10 and not few.is_sound and RewardPage.headline([few]) is None
    assert many.items == 40 and many.is_sound and RewardPage.headline([few, many]) == "accuracy"
