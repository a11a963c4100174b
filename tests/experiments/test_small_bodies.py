"""Bodies that experiments pre-train: parity with the ladder, caching, fine-tuning."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from claims.pretraining.small_bodies import CLASSIFIERS, KINDS, Bodies, BodyConfig, Kind, fine_tuned
from claims.pretraining.transfer import TASKS, Transfer, TransferConfig, drawn_texts
from claims.training import train_language_model
from langladder.experiments.experiment import Data
from langladder.ground.errors import InputError
from langladder.models.fine_tuned import TOKENIZER
from langladder.models.making import Run
from langladder.tasks import fine_tuning, masked_language_modelling

SMALL = TransferConfig(
    width=16,
    layers=1,
    heads=2,
    sequence_length=24,
    body_steps=6,
    tuning_steps=4,
    train_texts=32,
    single_texts=32,
    test_texts=32,
)
BOTH: list[Kind] = ["bert", "gpt"]


@pytest.fixture
def bodies(data: Data) -> Bodies:
    return Bodies(data, SMALL)


@pytest.mark.parametrize("settings", [{}, {"next_sentence": True}])
def test_training_parity_with_the_ladders(settings: dict[str, Any], bodies: Bodies, data: Data, tmp_path: Path) -> None:
    """The bare loop makes the steps that `tasks.masked_language_modelling` makes under Lightning."""
    bare = bodies.get("bert", settings, seed=5)
    ladder = bodies.fresh("bert", settings, seed=5)
    here = {"precision": "fp32", "accelerator": "cpu", "validate_every": 6, "validation_tokens": 200, "progress": False}
    how = SimpleNamespace(training=SMALL.pretraining("bert", **here))
    test = data.stream("validation")
    result = masked_language_modelling.make(
        ladder, bodies.tokenizer, bodies.text, test, settings=how, run=Run(5, tmp_path)
    )
    assert result.curve
    for key, tensor in bare.state_dict().items():
        torch.testing.assert_close(tensor, ladder.state_dict()[key], rtol=1e-4, atol=1e-6)


def test_a_gpt_learns_as_the_experiments_language_models_do(bodies: Bodies) -> None:
    model = bodies.fresh("gpt", seed=2)
    train_language_model(model, bodies.text, SMALL.pretraining("gpt"), seed=2)  # type: ignore[arg-type]
    for key, tensor in bodies.get("gpt", seed=2).state_dict().items():
        assert torch.equal(tensor, model.state_dict()[key])


@pytest.mark.parametrize("kind", BOTH)
def test_a_body_is_trained_once_for_its_settings(kind: Kind, bodies: Bodies) -> None:
    first = bodies.get(kind, {}, {"max_steps": 3}, seed=1)
    assert bodies.get(kind, None, {"max_steps": 3}, seed=1) is first
    others = [bodies.get(kind, {}, {"max_steps": 3}, seed=2), bodies.get(kind, {}, {"max_steps": 4}, seed=1)]
    others.append(bodies.get(kind, {"dropout": 0.1}, {"max_steps": 3}, seed=1))
    weights = [other.embedding.weight for other in (first, *others)]
    assert all(not torch.equal(weights[0], other) for other in weights[1:])
    assert not first.training
    assert torch.equal(bodies.train(kind, {}, {"max_steps": 3}, seed=1).embedding.weight, weights[0])


def test_masking_is_a_setting_of_the_training(bodies: Bodies) -> None:
    share = SMALL.pretraining("bert", masking={"share": 0.4}).masking.share
    assert share == 0.4 and SMALL.pretraining("bert").masking.share == 0.15
    plain, dense = (bodies.train("bert", {}, change, seed=1) for change in ({}, {"masking": {"share": 0.4}}))
    assert not torch.equal(plain.embedding.weight, dense.embedding.weight)


@pytest.mark.parametrize("kind", BOTH)
def test_the_callback_gets_every_step(kind: Kind, bodies: Bodies) -> None:
    steps: list[int] = []
    bodies.train(kind, seed=1, watch=lambda body, step: steps.append(step) if isinstance(body, KINDS[kind]) else None)
    assert steps == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", BOTH)
def test_growing_parity_with_the_ladders(kind: Kind, bodies: Bodies, tmp_path: Path) -> None:
    """A network that starts from a body is the one that `tasks.fine_tuning` begins from its folder."""
    body = bodies.get(kind, seed=1)
    body.save(tmp_path)
    bodies.tokenizer.save(tmp_path / TOKENIZER)
    model = CLASSIFIERS[kind].Config()
    there, _ = fine_tuning.begin(CLASSIFIERS[kind], SimpleNamespace(model=model, name="one"), tmp_path, 3, seed=7)
    here = fine_tuning.network_from_base(CLASSIFIERS[kind], model, body, bodies.tokenizer, 3, seed=7, rung="one")
    for key, tensor in there.state_dict().items():
        assert torch.equal(tensor, here.state_dict()[key]), key


@pytest.mark.parametrize("kind", BOTH)
def test_fine_tuning_leaves_the_body_as_it_is(kind: Kind, bodies: Bodies) -> None:
    body = bodies.get(kind, seed=1)
    before = {key: tensor.clone() for key, tensor in body.state_dict().items()}
    texts = SMALL.texts("entailment")
    network = fine_tuned(body, bodies.tokenizer, texts, SMALL.tuning(), seed=1)
    assert network.labels == ["contradiction", "entailment", "neutral"]
    assert all(torch.equal(tensor, before[key]) for key, tensor in body.state_dict().items())
    again = fine_tuned(body, bodies.tokenizer, texts, SMALL.tuning(), seed=1)
    np.testing.assert_array_equal(network.log_probs(texts.test), again.log_probs(texts.test))


def test_more_layers_than_there_are_cannot_be_taken(bodies: Bodies) -> None:
    body, texts = bodies.fresh("bert", seed=1), SMALL.texts("questions")
    config = CLASSIFIERS["bert"].Config.model_validate({"layers_transferred": 2})
    with pytest.raises(InputError, match="layers_transferred=2"):
        fine_tuned(body, bodies.tokenizer, texts, SMALL.tuning(), seed=1, config=config)


@pytest.mark.parametrize("kind", BOTH)
def test_what_is_right_is_a_mark_for_every_test_text(kind: Kind, bodies: Bodies) -> None:
    transfer = Transfer(bodies, SMALL)
    body = bodies.get(kind, seed=1)
    right = transfer.right(body, seed=1)
    assert {name: item.shape for name, item in right.items()} == dict.fromkeys(TASKS, (32,))
    assert transfer.accuracy(body, seed=1) == {name: float(item.mean()) for name, item in right.items()}


@pytest.mark.parametrize("task", ["questions", "entailment"])
def test_no_text_of_a_task_stands_in_two_splits(task: Any) -> None:
    texts = SMALL.texts(task)
    parts = [{(item.text, item.second) for item in part} for part in texts[1:]]
    assert list(map(len, parts)) == [32, 32, 32]
    assert not (parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2])
    assert set(texts.labels) == {item.label for part in texts[1:] for item in part}
    assert texts == SMALL.texts(task)


def test_more_texts_than_a_world_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claims.pretraining.transfer.TRIES", 1)
    with pytest.raises(InputError, match="there are not 50000 different texts of 'questions'"):
        drawn_texts("questions", 50_000)


def test_steps_follow_the_effort() -> None:
    config = BodyConfig(effort=0.5, body_steps=100, tuning_steps=40)
    assert (config.pretraining("gpt").max_steps, config.pretraining("bert", max_steps=10).max_steps) == (50, 5)
    assert config.model_copy(update={"body_optimizer": "muon"}).pretraining("bert").optimizer == "muon"
    assert config.tuning().max_steps == 20 and config.pretraining("gpt").warmup_steps == 5
