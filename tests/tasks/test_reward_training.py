"""Reward models learn which response is better: two batches by heart, pairs together or apart, the bias, resuming."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.ground.errors import InputError
from langladder.models.making import Run, TrainingResult
from langladder.models.reward import RewardModel
from langladder.tasks.reward import RewardModelling, make
from langladder.tasks.settings import RewardTraining
from langladder.text.labelled.instructions import Message, Ranking
from tests.models.spoken import DIALOGUES, RANKINGS, asked, saved_instructed
from tests.tasks.small_run import moved, stop_at


def trained(folder: Path, name: str = "a", **changes: Any) -> tuple[RewardModel, TrainingResult]:
    small = {"max_steps": 30, "lr": 0.01, "batch_size": 4, "validations": 3, "checkpoint_every": 4}
    train, validation = changes.pop("train", RANKINGS), changes.pop("validation", RANKINGS)
    demonstrations = changes.pop("demonstrations", DIALOGUES)
    dropout = changes.pop("dropout", 0.0)
    training = RewardTraining.model_validate(small | {"progress": False, "accelerator": "cpu"} | changes)
    rung = SimpleNamespace(
        name="reward", model=RewardModel.Config(dropout=dropout, body_dropout=dropout), training=training
    )
    base = saved_instructed(folder / "sft")
    return make(base, train, validation, demonstrations, settings=rung, run=Run(1, folder / name))


@pytest.mark.parametrize(("pairs", "steps"), [("together", 30), ("apart", 75)])
def test_two_batches_are_learnt_by_heart(pairs: str, steps: int, tmp_path: Path) -> None:
    model, result = trained(tmp_path, pairs=pairs, max_steps=steps)
    right = []
    for item in RANKINGS:
        rewards = model.rewards([(*item.prompt, Message("assistant", answer)) for answer in item.responses])
        right += [rewards[win] > rewards[lose] for win, lose in item.pairs()]
    assert len(right) == 40 and all(right)
    measured = [row for row in result.curve if row["validation_loss"] is not None]
    assert [row["step"] for row in measured] == [steps // 3, steps // 3 * 2, steps] and measured[-1][
        "validation_accuracy"
    ] == 1.0
    assert abs(model.rewards([item.messages for item in DIALOGUES]).mean()) < 1e-5 and not model.training


def test_an_epoch_of_pairs_apart_shows_each_response_more_often(tmp_path: Path) -> None:
    joint = trained(tmp_path, "a", epochs=1, validations=1)[1]
    apart = trained(tmp_path, "b", epochs=1, validations=1, pairs="apart", max_steps=99)[1]
    assert joint.curve[-1]["step"] == 2 and apart.curve[-1]["step"] == 10  # 8 rankings, 40 pairs, by 4


@pytest.mark.parametrize("step", [1, 7])
def test_a_killed_run_ends_with_the_same_bits(step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = {"max_steps": 9, "validations": 3, "dropout": 0.2}
    with monkeypatch.context() as patch:
        stop_at(patch, RewardModelling, step)
        with pytest.raises(KeyError):
            trained(tmp_path, "broken", **short)
    again = moved(tmp_path / "broken").name
    (resumed, item), (whole, other) = trained(tmp_path, again, **short), trained(tmp_path, "whole", **short)
    for (name, ours), theirs in zip(resumed.state_dict().items(), whole.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
    assert item.curve == other.curve


def test_unusable_training_data_raises_a_named_error(tmp_path: Path) -> None:
    tied = [Ranking(asked("say cat"), ("cat", "dog"), (1, 1))]
    with pytest.raises(InputError, match="no two training responses of different rank"):
        trained(tmp_path, train=tied)
    with pytest.raises(InputError, match="no demonstration to set the reward model's bias by"):
        trained(tmp_path, demonstrations=[])
    long = [Ranking(asked("say cat " * 9), ("cat", "dog"), (1, 2))]
    with pytest.raises(InputError, match=r"train, ranking 9 .* exceed the model's context of 12"):
        trained(tmp_path, train=[*RANKINGS, *long])
    trained(tmp_path, train=[*RANKINGS, *long], too_long="leave_out", max_steps=1)
