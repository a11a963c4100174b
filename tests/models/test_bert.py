"""BERT: sizes of the papers, public methods, packing, states of selected positions, saving, the gradient."""

from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from langladder.evaluation.work import counted
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT, PRESETS, BERTConfig
from langladder.models.encoders.encoder import Encoder, Masked, padded
from langladder.nn.packing import Layout
from langladder.text.tokenize.specials import PAD
from tests.hostile import little_memory

V = 40
PAPERS = {  # all weights with both heads; Turc et al. 2019, table 1, round them
    "tiny": (4_433_468, 4.4),
    "mini": (11_267_900, 11.3),
    "small": (29_058_876, 29.1),
    "medium": (41_668_412, 41.7),
    "base": (110_106_428, 110.1),
    "large": (336_226_108, 336.2),
}


NORMS = pytest.mark.parametrize("norm", ["post", "pre"])


def make(
    seed: int = 0, *, next_sentence: bool = True, dropout: float = 0.0, norm: Literal["post", "pre"] = "post"
) -> BERT:
    torch.manual_seed(seed)
    sizes = {"context": 16, "width": 24, "layers": 3, "heads": 4}
    config = BERTConfig(**sizes, dropout=dropout, next_sentence=next_sentence, norm=norm)  # type: ignore[arg-type]
    model = BERT(config, V)
    with torch.no_grad():
        for parameter in model.parameters():  # N(0, 0.02) hides most mistakes
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model.eval()


def gaps(model: BERT, *, pairs: bool = True) -> Masked:
    """Two rows of different lengths, gaps in both."""
    first = model.framed(np.array([5, 6, 7]), np.array([8, 9]))
    second = model.framed(np.array([10, 11, 12, 13, 14]), np.array([15, 16, 17]))
    tokens, segments = padded([first[0], second[0]]), padded([first[1], second[1]])
    positions = torch.tensor([2, 5, 13, 18])
    targets = tokens.flatten()[positions]
    tokens.view(-1)[positions] = model.mask
    return Masked(tokens, segments, positions, targets, torch.tensor([1, 0] if pairs else [], dtype=torch.int64))


@pytest.mark.parametrize("size", PRESETS)
def test_golden_sizes_of_the_papers(size: str) -> None:
    count, millions = PAPERS[size]
    with torch.device("meta"):
        model = BERT(BERTConfig.model_validate({"preset": size}), 30522)
    D, N, C = model.width, model.number_of_layers, 512
    closed = (30522 + C + 2) * D + 2 * D + N * (12 * D * D + 13 * D) + D * D + D + 2 * D + 2 + D * D + D + 2 * D + 30522
    assert model.number_of_parameters() == closed == count
    assert count / 1e6 == pytest.approx(millions, abs=0.05)


def test_what_is_set_beside_a_size_wins_and_an_unknown_one_is_refused() -> None:
    assert BERTConfig.model_validate({"preset": "mini", "layers": 2}).layers == 2
    with pytest.raises(ValueError, match="preset='huge': allowed is tiny, mini"):
        BERTConfig.model_validate({"preset": "huge"})
    with pytest.raises(ValueError, match="width=10 is not divisible by heads=4"):
        BERTConfig(width=10)


def test_golden_frame_of_one_text_and_of_two() -> None:
    model = make()
    tokens, segments = model.framed(np.array([5, 6]))
    assert tokens.tolist() == [V - 2, 5, 6, V - 3]
    assert segments.tolist() == [0, 0, 0, 0]
    tokens, segments = model.framed(np.array([5, 6]), np.array([7]))
    assert tokens.tolist() == [V - 2, 5, 6, V - 3, 7, V - 3]
    assert segments.tolist() == [0, 0, 0, 0, 1, 1]


def test_shapes_of_the_public_methods() -> None:
    model, batch = make(), gaps(make())
    states = model.hidden(batch.tokens, batch.segments)
    assert [state.shape for state in states] == [(2, 11, 24)] * 4
    first, last = model.hidden(batch.tokens, batch.segments, layers=(0, -1))
    torch.testing.assert_close(first, states[0])
    torch.testing.assert_close(last, states[3])
    assert model.pooled(last).shape == (2, 24)
    assert [weights.shape for weights in model.attention(batch.tokens, batch.segments)] == [(2, 4, 11, 11)] * 3
    assert model.masked_log_probs(batch).shape == (4, V)
    assert model.follow_log_probs(batch).exp().sum(dim=1).tolist() == pytest.approx([1, 1])
    with pytest.raises(InputError, match="4 is not one of 0"):
        model.hidden(batch.tokens, layers=(4,))
    with pytest.raises(InputError, match="17 tokens exceed the encoder's context of 16"):
        model.hidden(torch.full((1, 17), 5))


def test_padding_changes_nothing() -> None:
    model, batch = make(), gaps(make())
    batched = model.hidden(batch.tokens, batch.segments)
    for row, length in enumerate((8, 11)):
        alone = model.hidden(batch.tokens[row : row + 1, :length], batch.segments[row : row + 1, :length])
        for item, both in zip(alone, batched, strict=True):
            torch.testing.assert_close(item[0], both[row, :length], atol=1e-5, rtol=1e-5)
    assert not batched[-1][0, 8:].any()


def test_a_mask_of_the_callers_may_have_holes() -> None:
    """Packing follows the mask, not the end of a row: the mask may have gaps."""
    model = make()
    tokens, mask = torch.tensor([[5, 6, 7, 8]]), torch.tensor([[True, True, False, True]])
    (item,) = model.hidden(tokens, mask=mask, layers=(-1,))
    (other,) = model.hidden(torch.tensor([[5, 6, 30, 8]]), mask=mask, layers=(-1,))
    torch.testing.assert_close(item, other)
    assert not item[0, 2].any()


@NORMS
def test_selected_states_equal_those_of_the_full_computation(norm: Literal["post", "pre"]) -> None:
    """The last layer is computed where something is read; so are the scores."""
    model, batch = make(norm=norm), gaps(make())
    (last,) = model.hidden(batch.tokens, batch.segments, layers=(-1,))
    torch.testing.assert_close(model.first(batch.tokens, batch.segments), last[:, 0], atol=1e-5, rtol=1e-5)
    scores = torch.log_softmax(model.head(model.transformed(last.flatten(0, 1)[batch.positions])), dim=-1)
    torch.testing.assert_close(model.masked_log_probs(batch), scores, atol=1e-5, rtol=1e-5)
    expected = scores[torch.arange(4), batch.targets]
    torch.testing.assert_close(model.target_log_probs(batch), expected, atol=1e-5, rtol=1e-5)
    words, pairs = model.losses(batch)
    torch.testing.assert_close(words, -expected.mean(), atol=1e-5, rtol=1e-5)
    assert pairs is not None
    assert model.next_head is not None
    direct = functional.cross_entropy(model.next_head(model.pooled(last)), batch.strange)
    torch.testing.assert_close(pairs, direct, atol=1e-5, rtol=1e-5)


def test_attention_rows_sum_to_one_and_see_no_padding() -> None:
    model, batch = make(), gaps(make())
    for weights in model.attention(batch.tokens, batch.segments):
        torch.testing.assert_close(weights.sum(dim=-1), torch.ones(2, 4, 11))
        assert not weights[0, :, :8, 8:].any()


@NORMS
def test_parity_of_its_layers_with_torchs(norm: Literal["post", "pre"]) -> None:
    """torch's own encoder, with the norm of the embeddings before it or that of the last layer behind it."""
    model, batch = make(norm=norm), gaps(make())
    theirs = nn.TransformerEncoderLayer(
        24, 4, 96, 0.0, "gelu", layer_norm_eps=1e-12, batch_first=True, norm_first=norm == "pre"
    ).eval()
    names = {
        "self_attn.in_proj_": "attention.project.",
        "self_attn.out_proj.": "attention.output.",
        "linear1.": "expand.",
        "linear2.": "contract.",
        "norm1.": "norm_attention.",
        "norm2.": "norm_feed.",
    }
    x = model.embedding(batch.tokens) + model.position[:11] + model.segment[batch.segments]
    x = model.norm(x) if norm == "post" else x
    for layer in model.layers:
        theirs.load_state_dict(
            {
                their + part: layer.get_parameter(our + part)
                for their, our in names.items()
                for part in ("weight", "bias")
            }
        )
        x = theirs(x, src_key_padding_mask=batch.tokens == PAD)
    x = model.norm(x) if norm == "pre" else x
    (last,) = model.hidden(batch.tokens, batch.segments, layers=(-1,))
    there = batch.tokens != PAD
    torch.testing.assert_close(last[there], x[there], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("norm", "pairs"), [("post", True), ("post", False), ("pre", True), ("pre", False)])
def test_gradient_reaches_every_parameter(norm: Literal["post", "pre"], pairs: bool) -> None:
    model = make(next_sentence=pairs, norm=norm).train()
    first, second = model.losses(gaps(model, pairs=pairs))
    (first if second is None else first + second).backward()  # type: ignore[no-untyped-call]
    assert (second is None) != pairs
    unread = {"position", "segment", "embedding.weight"}
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert bool(parameter.grad.any()), name
        rows = parameter.grad.flatten(1).any(dim=1) if parameter.dim() > 1 else None
        assert name in unread or rows is None or bool(rows.all()), name


def test_it_learns_two_batches_by_heart() -> None:
    torch.manual_seed(1)
    model = BERT(BERTConfig(context=16, width=32, layers=2, heads=2, dropout=0.0), V)
    batch = gaps(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.005)
    for _ in range(80):
        optimizer.zero_grad()
        words, pairs = model.losses(batch)
        assert pairs is not None
        (words + pairs).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert float(words.detach()) < 0.05
    assert float(pairs.detach()) < 0.05
    assert model.masked_log_probs(batch).argmax(dim=1).tolist() == batch.targets.tolist()


@NORMS
@pytest.mark.parametrize("pairs", [True, False])
def test_predictions_survive_save_and_load(tmp_path: Path, pairs: bool, norm: Literal["post", "pre"]) -> None:
    model = make(next_sentence=pairs, norm=norm)
    model.save(tmp_path / "model")
    loaded = Encoder.load(tmp_path / "model")
    assert isinstance(loaded, BERT)
    batch = gaps(model, pairs=pairs)
    torch.testing.assert_close(loaded.masked_log_probs(batch), model.masked_log_probs(batch), rtol=0, atol=0)
    assert loaded.number_of_parameters() == model.number_of_parameters()


def test_loading_an_untrusted_folder_needs_no_more_memory_than_its_weights(tmp_path: Path) -> None:
    make().save(tmp_path / "model")
    config = tmp_path / "model" / "config.json"
    config.write_text(config.read_text().replace('"width": 24', '"width": 16384'))
    with little_memory(), pytest.raises(InputError, match=r"do not fit config\.json"):
        Encoder.load(tmp_path / "model")


def test_without_pairs_there_is_no_pooler() -> None:
    model = make(next_sentence=False)
    with pytest.raises(InputError, match="has no pooler"):
        model.pooled(torch.zeros(1, 4, 24))
    with pytest.raises(InputError, match="was not trained to predict which text follows"):
        model.follow_log_probs(gaps(model))
    assert make().number_of_parameters() - model.number_of_parameters() == 24 * 24 + 24 + 2 * 24 + 2


@pytest.mark.parametrize("pairs", [True, False])
def test_parity_of_its_products_with_torchs_counter(pairs: bool) -> None:
    model = make(next_sentence=pairs)
    scores = counted(lambda: model.head.loss(torch.zeros(2, 24), torch.zeros(2, dtype=torch.int64)))
    result = counted(lambda: model.trial_loss(1, 16)) - scores  # the loss makes both gradients at once
    assert result + 2 * 2 * V * 24 == 2 * model.products(16)


def test_layout_packs_and_spreads() -> None:
    mask = torch.tensor([[True, True, False], [True, False, True]])
    layout = Layout.of(mask)
    x = torch.arange(12.0).view(2, 3, 2)
    packed = layout.pack(x)
    assert packed[:, 0].tolist() == [0, 2, 6, 10]
    torch.testing.assert_close(layout.spread(packed), x * mask[..., None])
    assert layout.rank(torch.tensor([1, 3, 5])).tolist() == [1, 2, 3]
    whole = Layout.of(torch.ones(2, 3, dtype=torch.bool))
    assert whole.mask is None
    torch.testing.assert_close(whole.spread(whole.pack(x)), x)
    assert padded([np.array([5]), np.array([6, 7])]).tolist() == [[5, PAD], [6, 7]]


def test_golden_weights_begin_as_the_papers_at_its_width() -> None:
    torch.manual_seed(0)
    for width, std in ((768, 0.02), (192, 0.04)):
        model = BERT(BERTConfig(width=width, layers=1, heads=4), V)
        assert model.initial_std == pytest.approx(std)
        assert float(model.layers[0].get_parameter("expand.weight").std()) == pytest.approx(std, rel=0.02)
        assert not model.layers[0].get_parameter("expand.bias").any()


def test_golden_pre_norm_begins_as_gpt() -> None:
    torch.manual_seed(0)
    model = BERT(BERTConfig(width=192, layers=2, heads=4, norm="pre"), V)
    for writer in ("attention.output.weight", "contract.weight"):
        assert float(model.layers[1].get_parameter(writer).std()) == pytest.approx(0.04 / 2, rel=0.02)
    assert float(model.position.std()) == pytest.approx(0.04 / 2, rel=0.02)
    assert float(model.embedding.weight.std()) == pytest.approx(0.04, rel=0.05)
