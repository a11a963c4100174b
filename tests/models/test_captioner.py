"""The captioner through the translators' door: the vector, its conditioning, the checks that every model passes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from langladder.decoding.beam_search import BeamConfig, beam_search
from langladder.models.translation.captioner import FIRST_FACT, Captioner, CaptionerConfig
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import BOS, EOS, PAD

F, V = 9, 13
KINDS: dict[str, dict[str, Any]] = {
    "both": {},
    "initial, two layers": {"condition": "initial", "layers": 2},
    "each step, GRU": {"condition": "each_step", "cell": "gru", "tied": False, "embedding_dim": 7},
    "initial, GRU": {"condition": "initial", "cell": "gru"},
}
every_kind = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def build(name: str) -> Captioner:
    torch.manual_seed(1)
    settings = {"width": 12, "embedding_dim": 12} | KINDS[name]
    return Captioner(CaptionerConfig.model_validate(settings), FIRST_FACT + F, V).eval()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.tensor([[4, 7, 12, EOS], [5, EOS, PAD, PAD], [9, 8, EOS, PAD]])
    target = torch.tensor([[BOS, 4, 5, 6, 7, EOS], [BOS, 12, 11, EOS, PAD, PAD], [BOS, 8, 9, 10, EOS, PAD]])
    return source, target


def test_golden_vector() -> None:
    source, _ = batch()
    expected = torch.zeros(3, F)
    expected[0, [0, 3, 8]] = expected[1, 1] = expected[2, [5, 4]] = 1
    torch.testing.assert_close(build("both").vector(source), expected)


@every_kind
def test_the_order_of_facts_and_padding_change_nothing(name: str) -> None:
    model, (source, target) = build(name), batch()
    whole = model.log_probs(source, target)
    wider = torch.nn.functional.pad(source[:, [2, 1, 0, 3]], (0, 3), value=PAD)
    torch.testing.assert_close(model.log_probs(wider, torch.nn.functional.pad(target, (0, 2), value=PAD))[:, :5], whole)
    alone = model.log_probs(source[1:2, :2], target[1:2, :4])
    torch.testing.assert_close(alone, whole[1:2, :3])
    assert (whole[target[:, 1:] == PAD] == 0).all()


@every_kind
def test_every_fact_changes_the_caption(name: str) -> None:
    model, (source, target) = build(name), batch()
    before = model.log_probs(source, target)
    changed = source.clone()
    changed[0, 0] = 6
    after = model.log_probs(changed, target)
    assert (after[0] != before[0]).all() and torch.equal(after[1:], before[1:])


@every_kind
def test_causal_and_parity_of_steps_with_whole_targets(name: str) -> None:
    model, (source, target) = build(name), batch()
    whole = model(source, target[:, :-1]).log_softmax(-1)  # (B, T, V)
    state = model.encode(source, source != PAD)
    for t in range(target.shape[1] - 1):
        log_probs, state, attention = model.step(target[:, : t + 1], state)
        torch.testing.assert_close(log_probs, whole[:, t], atol=1e-5, rtol=1e-5)
        assert attention is None


@every_kind
def test_gradient_reaches_every_parameter(name: str) -> None:
    model, (source, target) = build(name).train(), batch()
    model.loss(source, target).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name


@every_kind
def test_overfit_two_batches(name: str) -> None:
    model = build(name)
    source, target = batch()
    others = torch.where(source > FIRST_FACT, source - 1, source)
    batches = [(source, target), (others, target.flip(0))]
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for step in range(100):
        optimizer.zero_grad()
        model.loss(*batches[step % 2]).backward()
        optimizer.step()
    for one_source, one_target in batches:
        assert model.loss(one_source, one_target).item() < 1.0
        result = beam_search(model, one_source, BeamConfig(width=3))
        for hypotheses, row in zip(result, one_target, strict=True):
            assert hypotheses[0].tokens == [token for token in row.tolist() if token not in (PAD, BOS, EOS)]


@every_kind
def test_roundtrip(name: str, tmp_path: Path) -> None:
    model, (source, target) = build(name), batch()
    model.save(tmp_path / "model")
    for kind in (Captioner, Translator):
        loaded = kind.load(tmp_path / "model")
        assert isinstance(loaded, Captioner) and loaded.config == model.config
        assert torch.equal(loaded.log_probs(source, target), model.log_probs(source, target))


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"tied=true.*width=8.*embedding_dim=6"):
        CaptionerConfig(width=8, embedding_dim=6)
