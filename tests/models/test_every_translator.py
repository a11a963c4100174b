"""What every translator must do, for every file in conf/translator: a new YAML is tested without a new test.

The networks keep their first weights, made larger. All go through the one door: the future and padding change
nothing, a target read at once equals one read step by step, saving keeps everything, the beam runs.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from langladder.decoding.beam_search import BeamConfig, beam_search
from langladder.ground.errors import InputError
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.convolutional_seq2seq import ConvolutionalSeq2Seq
from langladder.models.translation.luong_seq2seq import LuongSeq2Seq
from langladder.models.translation.seq2seq import Seq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import BOS, EOS, PAD
from tests.bf16 import check_training
from tests.models.rungs import classes, models

V = 13
SMALL = {"width": 12, "embedding_dim": 10}
TINY = {"width": 12, "layers": 2, "heads": 3}
# What no rung has.
MORE: dict[str, tuple[type[Translator], dict[str, Any]]] = {
    "seq2seq, one way": (Seq2Seq, {"width": 12, "embedding_dim": 12, "layers": 4, "reverse_source": False}),
    "seq2seq, bridge": (Seq2Seq, SMALL | {"bidirectional": True, "tied": False}),
    "seq2seq, GRU, bridge": (Seq2Seq, SMALL | {"cell": "gru", "bidirectional": True, "readout": "tanh"}),
    "seq2seq, LSTM, context": (Seq2Seq, SMALL | {"context_each_step": True, "readout": "tanh"}),
    "attention, tanh": (AttentionSeq2Seq, SMALL | {"readout": "tanh", "tied": False, "layers": 2}),
    "attention, general": (AttentionSeq2Seq, SMALL | {"score": "general"}),
    "attention, concat": (AttentionSeq2Seq, SMALL | {"score": "concat", "attention_width": 9}),
    "luong, dot": (LuongSeq2Seq, SMALL | {"score": "dot", "input_feeding": False, "layers": 2}),
    "luong, scaled dot, GRU": (LuongSeq2Seq, SMALL | {"score": "scaled_dot", "cell": "gru", "readout": "maxout"}),
    "luong, concat, one way": (LuongSeq2Seq, SMALL | {"score": "concat", "bidirectional": False, "tied": False}),
    "luong, local": (LuongSeq2Seq, SMALL | {"score": "general", "window": 2, "input_feeding": False}),
    "luong, local, additive": (LuongSeq2Seq, SMALL | {"score": "additive", "window": 1}),
    "transformer, pre-norm": (Transformer, TINY | {"norm": "pre", "tie": "target"}),
    "transformer, learned": (Transformer, TINY | {"positions": "learned", "max_length": 6, "tie": "none"}),
    "transformer, bare": (Transformer, TINY | {"positions": "none", "scale_scores": False}),
    "convolutional, wide": (ConvolutionalSeq2Seq, SMALL | {"kernel": 5, "layers": 2, "positions": "sinusoidal"}),
    "convolutional, narrow": (ConvolutionalSeq2Seq, SMALL | {"kernel": 1, "layers": 1, "tied": False}),
}


RUNGS: dict[str, type[Translator]] = classes("translator")
MODELS = RUNGS | {name: kind for name, (kind, _) in MORE.items()}
every_rung = pytest.mark.parametrize("name", RUNGS)
every_translator = pytest.mark.parametrize("name", MODELS)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def build(name: str) -> Translator:
    kind = MODELS[name]
    torch.manual_seed(1)
    model = kind(kind.Config.model_validate(MORE[name][1]) if name in MORE else models("translator")[name], V, V)
    with torch.no_grad():  # larger than they begin, so that every test sees outputs that differ
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def batch(rows: int = 3, S: int = 7, T: int = 6) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of different length: source (B, S) … EOS, target (B, T + 1) BOS … EOS."""
    random = torch.Generator().manual_seed(3)
    source = torch.randint(4, V, (rows, S), generator=random)
    target = torch.randint(4, V, (rows, T + 1), generator=random)
    target[:, 0] = BOS
    for row in range(rows):
        end = S - 1 - 2 * row
        source[row, end], source[row, end + 1 :] = EOS, PAD
        end = T - row
        target[row, end], target[row, end + 1 :] = EOS, PAD
    return source, target


@every_translator
def test_shapes(name: str) -> None:
    model, (source, target) = build(name), batch()
    assert model(source, target[:, :-1]).shape == (3, 6, V)
    assert model.log_probs(source, target).shape == (3, 6)
    log_probs, _, attention = model.step(target[:, :1], model.encode(source, source != PAD))
    assert log_probs.shape == (3, V) and log_probs.dtype == torch.float32
    torch.testing.assert_close(log_probs.exp().sum(-1), torch.ones(3))
    assert (attention is None) == isinstance(model, Seq2Seq)
    if attention is None:
        return
    assert attention.shape == source.shape
    assert (attention[source == PAD] == 0).all()
    if "local" not in name:  # the bell takes some
        assert (attention[source != PAD] > 0).all()
        torch.testing.assert_close(attention.sum(-1), torch.ones(3))


@every_translator
def test_gradient_reaches_every_parameter(name: str) -> None:
    model, (source, target) = build(name).train(), batch(6, 13, 9)
    model.loss(source, target).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.isfinite().all(), parameter_name
        assert parameter.grad.abs().sum() > 0, parameter_name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in ("seq2seq", "attention", "transformer") else [pytest.mark.long])
        for name in RUNGS
    ],
)
def test_overfit_two_batches(name: str) -> None:
    model = build(name)  # evaluation mode: without dropout
    batches = [batch(4, 7, 3), batch(3, 6, 4)]
    optimizer = torch.optim.Adam(model.parameters())
    tokens = sum(int((target[:, 1:] != PAD).sum()) for _, target in batches)

    def learnt() -> bool:
        return -sum(float(model.log_probs(source, target).sum()) for source, target in batches) / tokens < 0.1

    for step in range(240):
        if step % 30 == 0 and learnt():
            break
        optimizer.param_groups[0]["lr"] = 3e-3 * min(1, (step + 1) / 60)  # post-norm needs the warm-up
        optimizer.zero_grad()
        model.loss(*batches[step % 2]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert learnt()


@every_translator
def test_padding_changes_nothing(name: str) -> None:
    model, (source, target) = build(name), batch()
    scores = model.log_probs(source, target)
    for row in range(3):
        s, t = int((source[row] != PAD).sum()), int((target[row] != PAD).sum())
        alone = model.log_probs(source[row : row + 1, :s], target[row : row + 1, :t])
        torch.testing.assert_close(scores[row : row + 1, : t - 1], alone)
        assert (scores[row, t - 1 :] == 0).all()
    wider, longer = (torch.nn.functional.pad(side, (0, 4), value=PAD) for side in (source, target))
    torch.testing.assert_close(model.log_probs(wider, longer)[:, : scores.shape[1]], scores)


@every_translator
def test_causal_future_targets_change_nothing(name: str) -> None:
    model, (source, target) = build(name), batch()
    before = model(source, target[:, :-1])
    changed = target.clone()
    changed[:, 3] = torch.where(target[:, 3] == 7, 8, 7)
    after = model(source, changed[:, :-1])
    torch.testing.assert_close(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3], after[:, 3])


@every_translator
def test_every_source_word_is_read(name: str) -> None:
    """Changing any word of the source changes the first prediction (a local window only some, but one at least)."""
    model, (source, target) = build(name), batch()
    before = model.log_probs(source, target)[:, 0]
    changes = []
    for position in range(2):  # of the shortest row
        changed = source.clone()
        changed[:, position] = torch.where(source[:, position] == 9, 10, 9)
        changes.append((model.log_probs(changed, target)[:, 0] - before).abs().min() > 0)
    assert any(changes) if "local" in name else all(changes)


@every_translator
def test_parity_teacher_forcing_equals_step_by_step(name: str) -> None:
    """With whatever the state caches: keys and values, hidden states, the convolutions' past."""
    model, (source, target) = build(name), batch()
    parallel = model(source, target[:, :-1]).log_softmax(-1)
    state = model.encode(source, source != PAD)
    for t in range(target.shape[1] - 1):
        log_probs, state, _ = model.step(target[:, : t + 1], state)
        real = target[:, t] != PAD
        torch.testing.assert_close(log_probs[real], parallel[real, t])


@every_translator
def test_parity_loss_is_the_sum_of_log_probs(name: str) -> None:
    model, (source, target) = build(name), batch()
    torch.testing.assert_close(model.loss(source, target), -model.log_probs(source, target).sum())


@every_translator
def test_reorder_moves_rows_in_the_midst(name: str) -> None:
    model, (source, target) = build(name), batch()
    state, index = model.encode(source, source != PAD), torch.tensor([2, 0, 2])
    for t in range(1, 3):
        expected, state, _ = model.step(target[:, :t], state)
    expected, _, _ = model.step(target[:, :3], state)
    moved, _, _ = model.step(target[index, :3], model.reorder(state, index))
    torch.testing.assert_close(moved, expected[index])
    kept = model.reorder(model.reorder(state, index), torch.tensor([2, 1, 1]), same_source=True)
    again, _, _ = model.step(target[[2, 0, 0], :3], kept)
    torch.testing.assert_close(again[:2], expected[[2, 0]])


@every_translator
def test_roundtrip_save_and_load(name: str, tmp_path: Path) -> None:
    model, (source, target) = build(name), batch()
    model.save(tmp_path / "model")
    loaded = Translator.load(tmp_path / "model")
    assert type(loaded) is type(model) and loaded.config == model.config and not loaded.training
    assert torch.equal(loaded(source, target[:, :-1]), model(source, target[:, :-1]))
    assert loaded.number_of_parameters() == model.number_of_parameters() > 0
    loaded.save(tmp_path / "again")
    for file in ("model.safetensors", "config.json"):
        assert (tmp_path / "model" / file).read_bytes() == (tmp_path / "again" / file).read_bytes()


@every_translator
def test_beam_search_runs_and_scores_what_it_returns(name: str) -> None:
    model, (source, _) = build(name), batch()
    result = beam_search(model, source, BeamConfig(width=3, n_best=2, max_length=8))
    for row, hypotheses in enumerate(result):
        for hypothesis in hypotheses:
            target = torch.tensor([[BOS, *hypothesis.tokens, EOS]])
            scores = model.log_probs(source[row : row + 1, : int((source[row] != PAD).sum())], target)
            assert scores.sum().item() == pytest.approx(hypothesis.log_prob, abs=1e-4)


@every_rung
def test_trains_in_bf16(name: str) -> None:
    model, (source, target) = build(name), batch()
    check_training(model, lambda: model.loss(source, target))


def test_tied_matrices_are_one() -> None:
    for name in ("attention", "seq2seq_cho", "luong"):
        model = build(name)
        assert model.head.weight is model.target_embedding.weight, name
    assert build("seq2seq, bridge").head.weight is not build("seq2seq, bridge").target_embedding.weight


def test_load_refuses_what_does_not_fit(tmp_path: Path) -> None:
    build("attention").save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    whole = path.read_text()
    path.write_text(whole.replace('"width": 64', '"width": 9'))
    with pytest.raises(InputError, match="do not fit"):
        Translator.load(tmp_path / "model")
    path.write_text(whole.replace('"format": 1', '"format": 99'))
    with pytest.raises(InputError, match="format 99"):
        Translator.load(tmp_path / "model")
    path.write_text(whole)
    with pytest.raises(InputError, match=r"AttentionSeq2Seq, not a Transformer"):
        Transformer.load(tmp_path / "model")
    path.write_text("{}")
    with pytest.raises(InputError, match="not a saved translator"):
        Translator.load(tmp_path / "model")
