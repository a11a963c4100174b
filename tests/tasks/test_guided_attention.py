"""Guided attention: the penalties and the loss by hand, padding, gradients, and who can have it."""

import math
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from langladder.data.translation import PairBatch
from langladder.families import family
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.luong_seq2seq import LuongSeq2Seq
from langladder.models.translation.translator import AttendingTranslator
from langladder.nn.attention import guided
from langladder.tasks.settings import TranslationTraining
from langladder.tasks.translation import TranslationTask
from langladder.text.tokenize.specials import BOS, EOS, PAD

NETWORKS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "attention": (AttentionSeq2Seq, {"attention_width": 5}),
    "luong": (LuongSeq2Seq, {}),
    "luong without input feeding": (LuongSeq2Seq, {"input_feeding": False}),
}
V = 11
BATCH = PairBatch(
    torch.tensor([[5, 6, 7, 8, EOS], [9, 10, EOS, PAD, PAD]]),
    torch.tensor([[BOS, 4, 5, 6, EOS], [BOS, 7, EOS, PAD, PAD]]),
)


def network(name: str) -> AttendingTranslator:
    torch.manual_seed(0)
    kind, more = NETWORKS[name]
    model: AttendingTranslator = kind(kind.Config(width=6, embedding_dim=6, dropout=0.0, **more), V, V)
    return model


def task(model: AttendingTranslator, guide: dict[str, float] | None) -> TranslationTask:
    return TranslationTask(model, TranslationTraining.model_validate({"guided_attention": guide}))


def lengths(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def test_golden_of_two_by_two() -> None:
    """T = S = 2, g = 0.2: W = 0 on the diagonal, and beside it 1 − exp(−(1/2)² / 0.08) = 1 − exp(−3.125) = 0.956063."""
    even = torch.full((1, 2, 2), 0.5)
    assert float(guided(even, lengths(2), lengths(2), 0.2)) == pytest.approx(2 * 0.5 * 0.956063 / 4, abs=1e-6)
    assert float(guided(torch.eye(2)[None], lengths(2), lengths(2), 0.2)) == 0.0
    crossed = torch.eye(2).flip(0)[None]
    assert float(guided(crossed, lengths(2), lengths(2), 0.2)) == pytest.approx(2 * 0.956063 / 4, abs=1e-6)


def test_golden_of_other_lengths() -> None:
    """T = 2, S = 3, g = 0.5: (j/3 − t/2)² is 0, 1/9, 4/9 for t = 0 and 1/4, 1/36, 1/36 for t = 1; 2 g² = 1/2."""
    alpha = torch.tensor([[[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]])
    W = [[1 - math.exp(-2 * square) for square in row] for row in ([0, 1 / 9, 4 / 9], [1 / 4, 1 / 36, 1 / 36])]
    wanted = sum(a * w for row, of in zip(alpha[0].tolist(), W, strict=True) for a, w in zip(row, of, strict=True)) / 6
    assert float(guided(alpha, lengths(2), lengths(3), 0.5)) == pytest.approx(wanted, rel=1e-5)


def test_padding_counts_for_nothing() -> None:
    """Each row has its own T and S; what stands after them neither changes the value nor has a gradient."""
    torch.manual_seed(1)
    alpha = torch.rand(2, 4, 5, requires_grad=True)
    whole = guided(alpha, lengths(2, 4), lengths(3, 5), 0.2)
    alone = guided(alpha[:1, :2, :3], lengths(2), lengths(3), 0.2), guided(alpha[1:], lengths(4), lengths(5), 0.2)
    assert_close(whole, (alone[0] + alone[1]) / 2)
    (gradient,) = torch.autograd.grad(whole, alpha)
    assert (gradient[0, 2:] == 0).all() and (gradient[0, :, 3:] == 0).all()
    # dL/dα_tj = W_tj / (B T S): 0 at t = j = 0, and at t = 1, j = 0 of the first row (0 − 1/2)² / 0.08 = 3.125
    assert gradient[0, 0, 0] == 0
    assert float(gradient[0, 1, 0]) == pytest.approx((1 - math.exp(-3.125)) / (2 * 2 * 3), rel=1e-5)


@pytest.mark.parametrize("name", NETWORKS)
def test_the_loss_is_cross_entropy_and_the_weighted_term(name: str) -> None:
    model = network(name)
    plain, with_guide = task(model, None).loss(BATCH), task(model, {"weight": 3.0, "width": 0.3}).loss(BATCH)
    hidden, alpha = model.attended(BATCH.source, BATCH.target[:, :-1])
    assert torch.equal(hidden, model.hidden(BATCH.source, BATCH.target[:, :-1]))
    assert_close(alpha[0].sum(dim=1), torch.ones(4))
    assert (alpha[1, :, 3:] == 0).all()
    term = guided(alpha, lengths(4, 2), lengths(5, 3), 0.3)
    assert_close(with_guide, plain + 3 * term)
    with_guide.backward()
    before = [parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None]
    model.zero_grad()
    plain.backward()
    after = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert any(not torch.allclose(item, other) for item, other in zip(before, after, strict=True))


@pytest.mark.parametrize("name", NETWORKS)
def test_the_weights_are_those_of_the_steps(name: str) -> None:
    """The attention that the loss moves to the diagonal is the one that decoding uses."""
    model = network(name).eval()
    state = model.encode(BATCH.source, model.present(BATCH.source))
    _, alpha = model.attended(BATCH.source, BATCH.target[:, :-1])
    for t in range(3):
        _, state, weights = model.step(BATCH.target[:, : t + 1], state)
        assert weights is not None
        assert_close(weights, alpha[:, t])


def test_attention_comes_to_the_diagonal() -> None:
    model = network("attention")
    pairs = PairBatch(BATCH.source[:1], BATCH.source.new_tensor([[BOS, 5, 6, 7, 8, EOS]]))
    guide = task(model, {"weight": 50.0})
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        guide.loss(pairs).backward()
        optimizer.step()
    _, alpha = model.attended(pairs.source, pairs.target[:, :-1])
    assert ((alpha[0].argmax(dim=1) - torch.arange(5)).abs() <= 1).all()  # within g = 1/5 of the sentence


def test_networks_without_one_attention_are_refused() -> None:
    for name, target in (
        ("translator", "langladder.models.translation.transformer.Transformer"),
        ("translator", "langladder.models.translation.seq2seq.Seq2Seq"),
        ("captioner", "langladder.models.translation.captioner.Captioner"),
    ):
        rung = {"name": "mine", "title": "Mine", "_target_": target, "model": {}}
        schema = family(name).settings(rung)
        training = {"guided_attention": {"weight": 1.0}}
        with pytest.raises(ValidationError, match="does not have one attention to its source; set it to null"):
            schema.model_validate(rung | {"training": training})
    for wrong in ({"weight": 0.0}, {"width": 0.0}, {"weight": 1.0, "g": 0.2}):
        with pytest.raises(ValidationError):
            TranslationTraining.model_validate({"guided_attention": wrong})
