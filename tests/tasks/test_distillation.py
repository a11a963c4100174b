"""Distillation: the loss by hand, the plain loss at weight 0, an untouched teacher, and a run that is interrupted."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from small_run import V, make_model, make_stream, moved, settings, stop_at

from langladder.data.language_modelling import LanguageBatch
from langladder.ground.errors import InputError
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.making import Run
from langladder.tasks.distillation import (
    DistilledLanguageModelling,
    DistilledMaskedLanguageModelling,
    make_tuned,
    soft_loss,
)
from langladder.tasks.language_modelling import LanguageModelling
from langladder.tasks.masked_language_modelling import MaskedLanguageModelling
from langladder.tasks.settings import LMTrainingConfig, MaskedTraining
from tests.models.test_bert import gaps
from tests.models.test_bert import make as make_bert

BATCH = LanguageBatch(torch.tensor([[2, 4, 5, 6, 3, 2], [2, 9, 8, 3, 2, 7]]), True)


def masked(**distil: float) -> MaskedTraining:
    return MaskedTraining.model_validate({"distil": distil, "sequence_length": 12})


def training(**distil: float) -> LMTrainingConfig:
    return LMTrainingConfig(**settings(distil=distil))


def test_the_soft_loss_by_hand() -> None:
    # p = softmax([0, 2 ln 3] / 2) = (1/4, 3/4), q = softmax([2 ln 4, 0] / 2) = (4/5, 1/5)
    teacher, student = torch.tensor([[0.0, 2 * 1.0986123]]), torch.tensor([[2 * 1.3862944, 0.0]])
    # 2² (−1/4 ln 4/5 − 3/4 ln 1/5) = 4 · 1.262865
    assert float(soft_loss(student, teacher, 2.0)) == pytest.approx(4 * 1.262865, abs=1e-5)


def test_the_loss_is_the_mean_of_both_and_the_teacher_gets_no_gradient() -> None:
    student, teacher = make_model("lstm").eval(), make_model("gpt").eval()
    plain = LanguageModelling(student, training(weight=0.0)).loss(BATCH)
    losses = [
        DistilledLanguageModelling(student, training(weight=weight, temperature=3.0), teacher).loss(BATCH)
        for weight in (0.0, 0.25, 1.0)
    ]
    assert torch.equal(losses[0], plain)
    torch.testing.assert_close(losses[1], 0.75 * plain + 0.25 * losses[2])
    inputs, targets = BATCH.tokens[:, :-1], BATCH.tokens[:, 1:]
    keep = targets != 2
    assert not bool(keep.all())  # BOS is given, not predicted
    wanted, scores = (model.head(model(inputs)[0][keep]) for model in (teacher, student))
    torch.testing.assert_close(losses[2], soft_loss(scores, wanted, 3.0))
    losses[1].backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert all(parameter.grad is not None for parameter in student.parameters())


def test_an_encoder_s_masked_words_have_a_teacher_and_its_pairs_have_none() -> None:
    student, teacher = make_bert(seed=1), make_bert(seed=2)
    batch = gaps(student)
    plain = MaskedLanguageModelling(student, masked(weight=0.0)).means(batch)
    means = [
        DistilledMaskedLanguageModelling(student, masked(weight=weight), teacher).means(batch)
        for weight in (0.0, 0.5, 1.0)
    ]
    assert all(torch.equal(mean, other) for mean, other in zip(means[0], plain, strict=True))
    torch.testing.assert_close(means[1][0], 0.5 * plain[0] + 0.5 * means[2][0])
    assert all(torch.equal(mean[1], plain[1]) for mean in means)
    wanted, scores = teacher.scores(batch), student.scores(batch)
    torch.testing.assert_close(means[2][0], soft_loss(scores, wanted, 2.0))
    torch.stack(means[1]).sum().backward()
    assert all(parameter.grad is None for parameter in teacher.parameters())
    assert all(parameter.grad is not None for parameter in student.parameters())


def distilled(work: Path, **changes: Any) -> NeuralLanguageModel:
    kind = "langladder.models.language.recurrent.RecurrentLM"
    model = RecurrentLM.Config.model_validate(
        {"cell": "lstm", "width": 8, "embedding_dim": 8} | changes.pop("model", {})
    )
    config = LMTrainingConfig(**settings(distil={"weight": 1.0}) | changes)
    rung: Any = SimpleNamespace(name="student", target=kind, model=model, training=config)
    tokenizer: Any = SimpleNamespace(vocab_size=V)
    torch.manual_seed(0)
    result, _ = make_tuned(
        work.parent / "teacher", tokenizer, make_stream(0), make_stream(1), settings=rung, run=Run(1, work)
    )
    return result


def test_an_interrupted_run_ends_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_model("gpt").save(tmp_path / "teacher")
    before = (tmp_path / "teacher" / "model.safetensors").read_bytes()
    with monkeypatch.context() as patch:
        stop_at(patch, DistilledLanguageModelling, 8)
        with pytest.raises(KeyError):
            distilled(tmp_path / "broken")
    resumed, whole = distilled(moved(tmp_path / "broken")), distilled(tmp_path / "whole")
    for name, ours in resumed.state_dict().items():
        assert torch.equal(ours, whole.state_dict()[name]), name
    assert (tmp_path / "teacher" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sequence_length": 9}, "training.sequence_length=9 exceeds the context of its teacher, 8"),
        (
            {"model": {"output": "adaptive", "tie_weights": False}},
            "a student has model.output=softmax and the 20 tokens of its teacher",
        ),
        (
            {"model": {"rows": "documents"}},
            "its teacher reads model.rows=stream; set the student's model.rows to stream",
        ),
    ],
)
def test_unsuitable_students_are_refused(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    make_model("gpt").save(tmp_path / "teacher")
    with pytest.raises(InputError, match=message):
        distilled(tmp_path / "student", **changes)
