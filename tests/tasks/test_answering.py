"""Readers trained as the stages do it: they learn, the same seed gives the same bits, the threshold is fitted after."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from langladder.families import families
from langladder.ground.errors import InputError
from langladder.models.making import Run
from langladder.models.reading.bert_span import BERTSpan
from langladder.models.reading.gpt_choice import GPTChoice
from langladder.tasks.answering import Answering, make
from langladder.tasks.settings import ReadingTraining
from tests.models.fine_tuned_rungs import saved_bert, saved_gpt
from tests.models.question_rows import QUESTIONS
from tests.tasks.small_run import moved, stop_at

SHORT = {"max_steps": 40, "lr": 0.01, "batch_size": 3, "progress": False, "accelerator": "cpu", "validations": 2}


def trained(kind: type[Any], folder: Path, name: str, **model: Any) -> Any:
    base = folder / kind.__name__
    if not base.exists():
        (saved_bert if kind is BERTSpan else saved_gpt)(base, context=64)
    config = kind.Config.model_validate({"dropout": 0.0, "body_dropout": 0.1} | model)
    rung = SimpleNamespace(name="grown", model=config, training=ReadingTraining.model_validate(SHORT))
    return make(kind, QUESTIONS, QUESTIONS, settings=rung, base=base, run=Run(1, folder / name))


@pytest.mark.parametrize("kind", [BERTSpan, GPTChoice])
def test_it_learns_and_after_a_kill_and_a_move_gives_the_same_bits(
    kind: type[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, result = trained(kind, tmp_path, "a")
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        stop_at(patch, Answering, 25)
        trained(kind, tmp_path, "b")
    second, _ = trained(kind, tmp_path, moved(tmp_path / "b").name)
    for parameter, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(parameter, other)
    assert result.validation_loss is not None and [row["step"] for row in result.curve] == [20, 40]
    assert {"validation_accuracy", "validation_loss"} <= result.curve[-1].keys()
    assert (first.threshold, first.training) == (second.threshold, False)
    assert (first.threshold is None) == (kind is GPTChoice)
    answers = [some[0].text for some in first.answers(QUESTIONS)]
    assert sum(answer in own.gold() for answer, own in zip(answers, QUESTIONS, strict=True)) >= 3


def test_without_questions_nothing_is_learnt(tmp_path: Path) -> None:
    settings: Any = SimpleNamespace(
        name="grown", model=BERTSpan.Config(), training=ReadingTraining.model_validate(SHORT)
    )
    base = saved_bert(tmp_path / "base")
    with pytest.raises(InputError, match="no training question"):
        make(BERTSpan, [], [], settings=settings, base=base, run=Run(1, tmp_path / "a"))


def test_an_unsuitable_base_is_refused_before_training() -> None:
    family = families()["reader_transfer"]
    bert = {"_target_": "langladder.models.encoders.bert.BERT", "model": {"width": 16, "layers": 2, "heads": 2}}
    span = {
        "_target_": "langladder.models.reading.bert_span.BERTSpan",
        "model": {},
        "base": "encoder/bert_mini",
    }
    assert family.base_problem(span, bert) is None
    assert "more" not in str(family.base_problem(span | {"model": {"layers_transferred": 1}}, bert))
    assert "its base has 2 layers" in str(family.base_problem(span | {"model": {"layers_transferred": 3}}, bert))
    choice = span | {"_target_": "langladder.models.reading.gpt_choice.GPTChoice"}
    assert "a GPTChoice starts from a GPT" in str(family.base_problem(choice, bert))
    window = span | {"_target_": "langladder.models.reading.sliding_window.SlidingWindow"}
    assert family.base_problem(window, bert) == "a SlidingWindow starts from no base"
