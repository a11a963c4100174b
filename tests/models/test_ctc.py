"""The CTC recogniser: torch's loss equals brute force, padding changes nothing, the checks that every model passes."""

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from langladder.decoding.ctc import collapse, greedy
from langladder.ground.errors import InputError
from langladder.models.ctc import CTCConfig, CTCRecognizer
from langladder.models.translation.captioner import Captioner, CaptionerConfig

D, A = 5, 3
KINDS: dict[str, dict[str, Any]] = {"LSTM": {}, "GRU, two layers": {"cell": "gru", "layers": 2}}
every_kind = pytest.mark.parametrize("name", KINDS)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def build(name: str) -> CTCRecognizer:
    torch.manual_seed(1)
    return CTCRecognizer(CTCConfig.model_validate({"width": 12} | KINDS[name]), D, A).eval()


def batch(rows: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(2)
    lengths, label_lengths = torch.tensor([9, 6, 4])[:rows], torch.tensor([3, 2, 0])[:rows]
    frames = torch.randn(rows, 9, D, generator=random) * (torch.arange(9) < lengths[:, None])[..., None]
    labels = torch.tensor([[1, 1, 3], [2, 3, 0], [0, 0, 0]])[:rows]
    return frames, lengths, labels, label_lengths


@every_kind
def test_shapes(name: str) -> None:
    log_probs = build(name)(*batch()[:2])
    assert log_probs.shape == (3, 9, A + 1) and log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3, 9))


@every_kind
def test_loss_parity_with_the_sum_over_all_alignments(name: str) -> None:
    model, (frames, lengths, labels, label_lengths) = build(name), batch()
    total = 0.0
    log_probs = model(frames, lengths).double()
    for row in range(1, 3):  # 4^9 paths of the longest row are too many
        wanted = tuple(labels[row, : label_lengths[row]].tolist())
        paths = itertools.product(range(A + 1), repeat=int(lengths[row]))
        fitting = torch.tensor([path for path in paths if collapse(path) == wanted])  # (paths, T)
        y = log_probs[row, : lengths[row]].T  # (A + 1, T)
        total -= y.gather(0, fitting).sum(1).logsumexp(0).item()
    loss = model.loss(frames[1:], lengths[1:], labels[1:], label_lengths[1:])
    assert math.isclose(loss.item(), total, rel_tol=1e-5)


@every_kind
def test_padding_changes_nothing(name: str) -> None:
    model, (frames, lengths, labels, label_lengths) = build(name), batch()
    whole = model(frames, lengths)
    noise = torch.randn_like(frames) * (torch.arange(9) >= lengths[:, None])[..., None]
    padded = model(torch.cat([frames + noise, torch.ones(3, 4, D)], dim=1), lengths)
    for row in range(3):
        T = int(lengths[row])
        torch.testing.assert_close(padded[row, :T], whole[row, :T])
        alone = model(frames[row : row + 1, :T], lengths[row : row + 1])
        torch.testing.assert_close(alone[0], whole[row, :T], atol=1e-5, rtol=1e-5)
    each = sum(
        model.loss(frames[i : i + 1], lengths[i : i + 1], labels[i : i + 1], label_lengths[i : i + 1]) for i in range(3)
    )
    torch.testing.assert_close(model.loss(frames, lengths, labels, label_lengths), each)


@every_kind
def test_gradient_reaches_every_parameter(name: str) -> None:
    model = build(name).train()
    model.loss(*batch()).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name


@every_kind
def test_overfit_two_batches(name: str) -> None:
    model = build(name)
    frames, lengths, labels, label_lengths = batch()
    batches = [(frames, lengths, labels, label_lengths), (-frames, lengths, labels.flip(1), label_lengths)]
    batches[1][2][1] = torch.tensor([1, 2, 0])
    batches[1][2][2] = 0
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for step in range(140):
        optimizer.zero_grad()
        model.loss(*batches[step % 2]).backward()
        optimizer.step()
    for item in batches:
        assert model.loss(*item).item() < 0.5
        log_probs = model(*item[:2]).detach().double().numpy()
        for row in range(3):
            result = greedy(log_probs[row, : int(lengths[row])]).labels
            assert result == tuple(item[2][row, : int(label_lengths[row])].tolist())


@every_kind
def test_roundtrip(name: str, tmp_path: Path) -> None:
    model, (frames, lengths, _, _) = build(name), batch()
    model.save(tmp_path / "model")
    loaded = CTCRecognizer.load(tmp_path / "model")
    assert loaded.config == model.config and not loaded.training
    assert torch.equal(loaded(frames, lengths), model(frames, lengths))


def test_bad_folders_are_refused(tmp_path: Path) -> None:
    build("LSTM").save(tmp_path / "ctc")
    description = (tmp_path / "ctc" / "config.json").read_text()
    (tmp_path / "ctc" / "config.json").write_text(description.replace('"labels": 3', '"labels": 4'))
    with pytest.raises(InputError, match="do not fit"):
        CTCRecognizer.load(tmp_path / "ctc")
    Captioner(CaptionerConfig(width=4, embedding_dim=4), 9, 9).save(tmp_path / "captioner")
    with pytest.raises(InputError, match=r"recogniser|CTCRecognizer"):
        CTCRecognizer.load(tmp_path / "captioner")
    with pytest.raises(ValidationError, match="width=7 is odd"):
        CTCConfig(width=7)
