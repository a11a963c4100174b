"""The Transformer against torch's, its named sizes, its shared matrices, its cache."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import nn
from torch.testing import assert_close

from langladder.ground.errors import InputError
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.nn.multi_head_attention import MultiHeadAttention
from langladder.nn.packing import Layout
from langladder.nn.token_embedding import TokenEmbedding, sinusoidal
from langladder.nn.transformer_layers import NORM_EPS, FeedForward, Residual
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 17


def make(source_vocab: int = V, **changes: Any) -> Transformer:
    torch.manual_seed(0)
    settings = {"width": 24, "layers": 3, "heads": 4, "dropout": 0.0} | changes
    model = Transformer(TransformerConfig.model_validate(settings), source_vocab, V)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    source = torch.tensor([[5, 6, 7, 8, 9, EOS], [10, 11, EOS, PAD, PAD, PAD]])
    target = torch.tensor([[BOS, 4, 5, 6, 7, EOS], [BOS, 9, EOS, PAD, PAD, PAD]])
    return source, target


def copy_attention(theirs: nn.MultiheadAttention, ours: MultiHeadAttention) -> None:
    theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.memory.weight]))
    theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.memory.bias]))
    theirs.out_proj.load_state_dict(ours.output.state_dict())


def copy_rest(theirs: Any, feed: FeedForward, norms: list[Residual]) -> None:
    theirs.linear1.load_state_dict(feed.expand.state_dict())
    theirs.linear2.load_state_dict(feed.contract.state_dict())
    for number, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.norm.state_dict())


def torch_transformer(model: Transformer) -> nn.Transformer:
    """`nn.Transformer` with our weights. Its own stacks end with a norm; the paper's (post-norm) do not."""
    config, pre = model.config, model.config.norm == "pre"
    D, h = config.width, config.heads
    layer: dict[str, Any] = {"dropout": 0.0, "batch_first": True, "norm_first": pre, "layer_norm_eps": NORM_EPS}
    norms = [nn.LayerNorm(D, NORM_EPS) if pre else None for _ in range(2)]
    encoder = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(D, h, config.expansion * D, **layer), config.layers, norms[0], False
    )
    decoder = nn.TransformerDecoder(
        nn.TransformerDecoderLayer(D, h, config.expansion * D, **layer), config.layers, norms[1]
    )
    theirs = nn.Transformer(D, h, custom_encoder=encoder, custom_decoder=decoder, batch_first=True)
    with torch.no_grad():
        for their, our in zip(encoder.layers, model.encoder, strict=True):
            copy_attention(their.self_attn, our.attention)
            copy_rest(their, our.feed, [our.around_attention, our.around_feed])
        for their, our in zip(decoder.layers, model.decoder, strict=True):
            copy_attention(their.self_attn, our.attention)
            copy_attention(their.multihead_attn, our.cross)
            copy_rest(their, our.feed, [our.around_attention, our.around_cross, our.around_feed])
        if pre:
            encoder.norm.load_state_dict(model.encoder_norm.state_dict())
            decoder.norm.load_state_dict(model.decoder_norm.state_dict())
    return theirs.eval()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_parity_with_torch_transformer(norm: str) -> None:
    model, (source, target) = make(norm=norm), batch()
    theirs, target_in = torch_transformer(model), target[:, :-1]
    T = target_in.shape[1]
    expected = theirs(
        model.source_embedding(source),
        model.target_embedding(target_in),
        tgt_mask=torch.ones(T, T, dtype=torch.bool).triu(1),
        src_key_padding_mask=source == PAD,
        memory_key_padding_mask=source == PAD,
    )
    ours, real = model.hidden(source, target_in), target[:, 1:] != PAD
    assert_close(ours[real], expected[real], atol=1e-5, rtol=1e-5)

    def gradients(hidden: torch.Tensor) -> list[torch.Tensor]:
        words = [model.source_embedding.word.weight]
        return list(torch.autograd.grad(hidden[real].square().sum(), words))

    assert_close(gradients(ours), gradients(expected), atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"norm": "pre"}, {"positions": "learned", "max_length": 4}])
def test_parity_cached_equals_uncached(settings: dict[str, Any]) -> None:
    """A step from the cache is the last position of a pass over the whole prefix."""
    model, (source, target) = make(**settings), batch()
    state = model.encode(source, source != PAD)
    for t in range(1, 6):
        cached, state, _ = model.step(target[:, :t], state)
        uncached = model.head(model.hidden(source, target[:, :t])[:, -1]).log_softmax(-1)
        real = target[:, t - 1] != PAD
        assert_close(cached[real], uncached[real])
        assert state.decoder["keys0"].shape == (2, 4, t, 6)


@pytest.mark.parametrize("scaled", [True, False])
def test_parity_of_fused_kernel_and_equation(scaled: bool) -> None:
    torch.manual_seed(0)
    attention = MultiHeadAttention(width=24, heads=3, dropout=0.0, scaled=scaled)
    x, memory = torch.randn(2, 5, 24), torch.randn(2, 7, 24)
    mask = torch.tensor([[True] * 7, [True] * 4 + [False] * 3])
    layout, seen = Layout.of(torch.ones(2, 5, dtype=torch.bool)), Layout.of(mask)
    mixed, weights = attention.forward_equation(x, *attention.keys_values(memory), mask[:, None, None])
    assert_close(attention(layout.pack(x), seen.pack(memory), layout, seen), layout.pack(mixed))
    assert_close(weights.sum(-1), torch.ones(2, 3, 5))
    assert (weights[1, :, :, 4:] == 0).all()
    triangle = torch.ones(5, 5, dtype=torch.bool).tril()
    masked, _ = attention.forward_equation(x, *attention.keys_values(x), triangle)
    assert_close(attention(layout.pack(x), layout.pack(x), layout, layout, causal=True), layout.pack(masked))
    last, _ = attention.forward_equation(x[:, -1:], *attention.keys_values(x), None)
    assert_close(attention.forward_cached(x[:, -1:], *attention.keys_values(x)), last)


def test_parity_of_first_weights_with_torch() -> None:
    """Q, K and V are drawn as one matrix of 3D × D: uniform in ± √(6 / 4D)."""
    torch.manual_seed(0)
    ours, theirs = MultiHeadAttention(width=128, heads=2, dropout=0.0), nn.MultiheadAttention(128, 2)
    stacked = torch.cat([ours.query.weight, ours.memory.weight])
    bound = (6 / (4 * 128)) ** 0.5
    for weight in (stacked, theirs.in_proj_weight):
        assert weight.abs().max() <= bound
        assert_close(weight.std(), torch.tensor(bound / 3**0.5), rtol=0.02, atol=0)
    assert_close(ours.output.weight.std(), torch.tensor((2 / 256) ** 0.5), rtol=0.02, atol=0)


def test_golden_heads_are_slices_of_the_width() -> None:
    """(T, 512) → (8, T, 64): head i holds columns 64 i … 64 i + 63 of every position; a plain reshape would not."""
    attention, x = MultiHeadAttention(width=512, heads=8, dropout=0.0), torch.randn(1, 4, 512)
    heads = attention.split(x)
    assert heads.shape == (1, 8, 4, 64)
    assert torch.equal(heads[0, 3], x[0, :, 192:256])
    assert not torch.equal(heads, x.view(1, 8, 4, 64))


@pytest.mark.parametrize(("preset", "parameters", "paper"), [("base", 63_082_496, 65e6), ("big", 214_245_376, 213e6)])
def test_golden_named_sizes(preset: str, parameters: int, paper: float) -> None:
    """Weights and biases of 6 + 6 layers and one matrix for 37,000 subwords (section 5.1); the output's bias apart.

    The paper's counts, rounded and of code that is not the paper's text, are 65 and 213 million.
    """
    with torch.device("meta"):
        model = Transformer(TransformerConfig.model_validate({"preset": preset}), 37_000, 37_000)
    assert model.head.bias is not None
    counted = model.number_of_parameters() - model.head.bias.numel()
    assert counted == parameters
    assert counted == pytest.approx(paper, rel=0.03)
    layers = counted - 37_000 * model.config.width
    if preset == "base":
        assert layers == 6 * (3_152_384 + 4_204_032)


def test_presets_fill_in_settings_that_are_not_set() -> None:
    config = TransformerConfig.model_validate({"preset": "big", "layers": 2, "heads": 8})
    assert (config.width, config.layers, config.heads, config.dropout) == (1024, 2, 8, 0.3)
    assert TransformerConfig.model_validate(config.model_dump()) == config


def test_weights_are_tied_three_ways() -> None:
    def matrices(model: Transformer) -> list[int]:
        weights = (model.source_embedding.word.weight, model.target_embedding.word.weight, model.head.weight)
        return [id(weight) for weight in weights]

    everything, target, nothing = (matrices(make(tie=tie)) for tie in ("all", "target", "none"))
    assert len(set(everything)) == 1
    assert len(set(target)) == 2 and target[1] == target[2]
    assert len(set(nothing)) == 3


def test_bad_settings_are_named() -> None:
    with pytest.raises(InputError, match=r"tie=all: .* 9 tokens and the target 17; .*shared_tokenizer"):
        make(source_vocab=9)
    assert make(source_vocab=9, tie="target").source_vocab_size == 9
    with pytest.raises(ValidationError, match="width=24 is not divisible by heads=5"):
        make(heads=5)
    with pytest.raises(ValidationError, match="width=9 is odd"):
        make(width=9, heads=3)


def test_golden_words_and_positions_are_added() -> None:
    """The notes' example: E + P element by element."""
    embedding = TokenEmbedding(3, 4, positions="sinusoidal", max_length=2, dropout=0.0, scaled=False)
    words = torch.tensor([[0.2, -0.1, 0.5, 0.3], [0.5, 0.8, -0.2, 0.1], [-0.1, 0.3, 0.7, 0.4]])
    with torch.no_grad():
        embedding.word.weight.copy_(words)
    expected = [[0.2, 0.9, 0.5, 1.3], [1.341471, 1.340302, -0.19, 1.09995], [0.809297, -0.116147, 0.719999, 1.3998]]
    assert_close(embedding(torch.tensor([[0, 1, 2]]))[0], torch.tensor(expected), atol=1e-5, rtol=0)
    assert_close(embedding(torch.tensor([[2]]), first=2)[0, 0], embedding(torch.tensor([[0, 1, 2]]))[0, 2])


def test_positions_beyond_the_table() -> None:
    words = torch.zeros(1, 9, dtype=torch.int64)
    embedding = TokenEmbedding(2, 4, positions="sinusoidal", max_length=2, dropout=0.0)
    assert_close(embedding(words)[0] - 2 * embedding.word.weight[0], sinusoidal(9, 4), atol=1e-6, rtol=0)
    learned = TokenEmbedding(2, 4, positions="learned", max_length=3, dropout=0.0)(words)[0]
    assert torch.equal(learned[2:], learned[2].expand(7, 4)) and not torch.equal(learned[1], learned[2])


def test_positions_tell_the_order() -> None:
    """Without them the encoder is equivariant: words in another order give the same rows in that order."""
    order = torch.tensor([[2, 0, 1, 3]])
    source = torch.tensor([[5, 6, 7, EOS]])
    with_order, without = make(), make(positions="none")
    for model, same in ((with_order, False), (without, True)):
        first, second = (model._read(s, Layout.of(s != PAD)) for s in (source, source.gather(1, order)))
        assert torch.allclose(second, first[order[0]], atol=1e-5) == same


def test_golden_attention_without_its_scale_saturates() -> None:
    """Unit-normal q and k: the dot product's variance is d, the scaled one's is 1."""
    torch.manual_seed(0)
    products = (torch.randn(20_000, 64) * torch.randn(20_000, 64)).sum(1)
    assert products.var().item() == pytest.approx(64, rel=0.05)
    assert (products / 8).var().item() == pytest.approx(1, rel=0.05)


def test_without_norms_a_sublayer_is_only_added() -> None:
    """norm=none: x + F(x), the pre-norm network with norms that change nothing."""
    model, (source, target) = make(norm="none"), batch()
    assert not any(isinstance(module, nn.LayerNorm) for module in model.modules())
    x, change = torch.randn(2, 5, 24), torch.randn(2, 5, 24)
    layer: Any = model.encoder[0]
    assert torch.equal(layer.around_feed.read(x), x) and torch.equal(layer.around_feed.add(x, change), x + change)
    pre = make(norm="pre")
    for name, module in list(pre.named_modules()):
        if isinstance(module, nn.LayerNorm):
            owner, _, own = name.rpartition(".")
            setattr(pre.get_submodule(owner), own, nn.Identity())
    pre.load_state_dict(model.state_dict())
    assert_close(model(source, target[:, :-1]), pre(source, target[:, :-1]))
