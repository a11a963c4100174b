"""The tests that every translator passes, on the attention network."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from langladder.errors import InputError
from langladder.models.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translator import Translator
from langladder.text.specials import BOS, EOS, PAD

SOURCE_V, TARGET_V = 11, 13


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def make(**changes: Any) -> AttentionSeq2Seq:
    torch.manual_seed(0)
    settings = {"width": 8, "embedding_dim": 6, "attention_width": 7, "dropout": 0.0} | changes
    return AttentionSeq2Seq(AttentionSeq2Seq.Config(**settings), SOURCE_V, TARGET_V).eval()


def batch(rows: int = 3, S: int = 6, T: int = 5) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of different length: source (B, S) … EOS, target (B, T + 1) BOS … EOS."""
    random = torch.Generator().manual_seed(3)
    source = torch.randint(4, SOURCE_V, (rows, S), generator=random)
    target = torch.randint(4, TARGET_V, (rows, T + 1), generator=random)
    target[:, 0] = BOS
    for row in range(rows):
        end = S - 1 - row
        source[row, end], source[row, end + 1 :] = EOS, PAD
        end = T - row
        target[row, end], target[row, end + 1 :] = EOS, PAD
    return source, target


VARIANTS = [{}, {"layers": 2}, {"readout": "tanh", "tied": False}]


@pytest.mark.parametrize("changes", VARIANTS)
def test_shapes(changes: dict[str, Any]) -> None:
    model, (source, target) = make(**changes), batch()
    assert model(source, target[:, :-1]).shape == (3, 5, TARGET_V)
    assert model.log_probs(source, target).shape == (3, 5)
    log_probs, _, attention = model.step(target[:, :1], model.encode(source, source != PAD))
    assert log_probs.shape == (3, TARGET_V)
    assert attention.shape == source.shape
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3))


@pytest.mark.parametrize("changes", VARIANTS)
def test_gradient_reaches_every_parameter(changes: dict[str, Any]) -> None:
    model, (source, target) = make(**changes).train(), batch()
    model.loss(source, target).backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_gradient_of_the_tied_matrix_is_shared() -> None:
    model = make(tied=True)
    assert model.head.weight is model.target_embedding.weight
    assert len(list(make(tied=False).parameters())) == len(list(model.parameters())) + 1


def test_overfits_two_batches() -> None:
    model = make(width=24, embedding_dim=24).train()
    batches = [batch(4, 7, 3), batch(3, 6, 4)]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        for source, target in batches:
            optimizer.zero_grad()
            model.loss(source, target).backward()
            optimizer.step()
    total = sum(float(model.eval().log_probs(source, target).sum()) for source, target in batches)
    tokens = sum(int((target[:, 1:] != PAD).sum()) for _, target in batches)
    assert -total / tokens < 0.02


@pytest.mark.parametrize("changes", VARIANTS)
def test_padding_changes_nothing(changes: dict[str, Any]) -> None:
    model, (source, target) = make(**changes), batch()
    scores = model.log_probs(source, target)
    for row in range(3):
        s, t = int((source[row] != PAD).sum()), int((target[row] != PAD).sum())
        alone = model.log_probs(source[row : row + 1, :s], target[row : row + 1, :t])
        torch.testing.assert_close(scores[row : row + 1, : t - 1], alone)
        assert (scores[row, t - 1 :] == 0).all()
    wider = torch.nn.functional.pad(source, (0, 4), value=PAD)
    torch.testing.assert_close(model.log_probs(wider, target), scores)


def test_padding_gets_exactly_no_attention() -> None:
    model, (source, target) = make(), batch()
    _, _, attention = model.step(target[:, :1], model.encode(source, source != PAD))
    assert (attention[source == PAD] == 0).all()
    assert (attention[source != PAD] > 0).all()


def test_causal_future_targets_change_nothing() -> None:
    model, (source, target) = make(), batch()
    before = model(source, target[:, :-1])
    changed = target.clone()
    changed[:, 3] = 7
    after = model(source, changed[:, :-1])
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


@pytest.mark.parametrize("changes", VARIANTS)
def test_parity_teacher_forcing_equals_step_by_step(changes: dict[str, Any]) -> None:
    model, (source, target) = make(**changes), batch()
    parallel = model(source, target[:, :-1]).log_softmax(-1)
    state = model.encode(source, source != PAD)
    for t in range(target.shape[1] - 1):
        log_probs, state, _ = model.step(target[:, : t + 1], state)
        torch.testing.assert_close(log_probs, parallel[:, t])


def test_parity_loss_is_the_sum_of_log_probs() -> None:
    model, (source, target) = make(), batch()
    torch.testing.assert_close(model.loss(source, target), -model.log_probs(source, target).sum())


def test_reorder_moves_rows() -> None:
    model, (source, target) = make(), batch()
    state = model.encode(source, source != PAD)
    index = torch.tensor([2, 0])
    expected, _, _ = model.step(target[:, :1], state)
    moved, _, _ = model.step(target[index, :1], model.reorder(state, index))
    torch.testing.assert_close(moved, expected[index])


@pytest.mark.parametrize("changes", VARIANTS)
def test_roundtrip_save_and_load(changes: dict[str, Any], tmp_path: Path) -> None:
    model, (source, target) = make(**changes), batch()
    model.save(tmp_path / "model")
    loaded = Translator.load(tmp_path / "model")
    assert torch.equal(loaded(source, target[:, :-1]), model(source, target[:, :-1]))
    model.save(tmp_path / "again")
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "model" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_load_refuses_what_does_not_fit(tmp_path: Path) -> None:
    make().save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    path.write_text(path.read_text().replace('"width": 8', '"width": 9'))
    with pytest.raises(InputError, match="do not fit"):
        Translator.load(tmp_path / "model")
    path.write_text("{}")
    with pytest.raises(InputError, match="not a saved translator"):
        Translator.load(tmp_path / "model")
