"""GPT in particular: initialisation, tied gradients, sizes of the papers, torch's own layers, the cache."""

import pytest
import torch
from pydantic import ValidationError

from langladder.formats.gpt2 import gpt2_names
from langladder.models.language.gpt import GPT, LLAMA, PRESETS
from langladder.nn.token_embedding import sinusoidal
from langladder.text.tokenize.specials import BOS


def test_residual_writers_begin_smaller():
    torch.manual_seed(0)
    model = GPT(GPT.Config(width=128, layers=8), 50)
    block = model.blocks[0]
    begins = 0.02 * (768 / 128) ** 0.5
    assert block.expand.weight.std().item() == pytest.approx(begins, rel=0.05)
    assert block.contract.weight.std().item() == pytest.approx(begins / 4, rel=0.05)  # 1/√(2·8)
    assert block.attention.output.weight.std().item() == pytest.approx(begins / 4, rel=0.05)


def test_gradient_of_tied_weights_is_the_sum_of_both_uses():
    torch.manual_seed(0)
    tied = GPT(GPT.Config(context=8, width=8, layers=1, heads=2), 11)
    untied = GPT(GPT.Config(context=8, width=8, layers=1, heads=2, tie_weights=False), 11)
    with torch.no_grad():
        for name, parameter in untied.named_parameters():
            parameter.copy_(tied.get_parameter(name))
    tokens = torch.randint(4, 11, (3, 9))
    for model in (tied, untied):
        model.loss(model(tokens[:, :-1])[0], tokens[:, 1:]).backward()
    torch.testing.assert_close(tied.embedding.weight.grad, untied.embedding.weight.grad + untied.head.weight.grad)


PAPERS = {  # (layers, width, heads, context, vocabulary), the paper's name for the size, our count
    "gpt1": (12, 768, 12, 512, 40478, 117e6, 116_534_784),
    "gpt2": (12, 768, 12, 1024, 50257, 124e6, 124_439_808),
    "gpt2-medium": (24, 1024, 16, 1024, 50257, 355e6, 354_823_168),
    "gpt2-large": (36, 1280, 20, 1024, 50257, 774e6, 774_030_080),
    "gpt2-xl": (48, 1600, 25, 1024, 50257, 1558e6, 1_557_611_200),
    "gpt3-125M": (12, 768, 12, 2048, 50257, 125e6, 125_226_240),
    "gpt3-350M": (24, 1024, 16, 2048, 50257, 350e6, 355_871_744),
    "gpt3-760M": (24, 1536, 16, 2048, 50257, 760e6, 760_300_032),
    "gpt3-1.3B": (24, 2048, 16, 2048, 50257, 1.3e9, 1_315_723_264),
    "gpt3-2.7B": (32, 2560, 32, 2048, 50257, 2.7e9, 2_651_553_280),
    "gpt3-6.7B": (32, 4096, 32, 2048, 50257, 6.7e9, 6_658_404_352),
    "gpt3-13B": (40, 5120, 40, 2048, 50257, 13e9, 12_853_386_240),
    "gpt3-175B": (96, 12288, 96, 2048, 50257, 175e9, 174_604_259_328),
    "llama-7B": (32, 4096, 32, 2048, 32000, 6.7e9, 6_738_415_616),
    "llama-13B": (40, 5120, 40, 2048, 32000, 13.0e9, 13_015_864_320),
    "llama-33B": (60, 6656, 52, 2048, 32000, 32.5e9, 32_528_943_616),
    "llama-65B": (80, 8192, 64, 2048, 32000, 65.2e9, 65_285_660_672),
}


@pytest.mark.parametrize("size", PRESETS)
def test_golden_sizes_of_the_papers(size):
    """Built on the meta device; counts as the closed form has them, within 2 % of the paper's round figure."""
    N, D, heads, C, V, about, count = PAPERS[size]
    with torch.device("meta"):
        model = GPT(GPT.Config.model_validate({"preset": size}), V)
    assert (model.config.layers, model.config.width, model.config.heads) == (N, D, heads)
    closed = V * D + C * D + N * (12 * D * D + 13 * D) + (2 * D if model.config.norm == "pre" else 0)
    if size.startswith("llama"):
        closed = 2 * V * D + N * (4 * D * D + 3 * D * model.config.feed_width + 2 * D) + D
    assert model.number_of_parameters() == closed == count
    assert count == pytest.approx(about, rel=0.02)
    banded = [block.attention.window for block in model.blocks]
    assert banded == ([None, 128] * (N // 2) if size.startswith("gpt3") else [None] * N)


def test_unknown_size_is_named():
    with pytest.raises(ValueError, match="preset='gpt4': allowed is gpt1, gpt2"):
        GPT.Config.model_validate({"preset": "gpt4"})


def test_what_is_set_beside_a_size_wins():
    config = GPT.Config.model_validate({"preset": "gpt2-medium", "layers": 2, "context": 64})
    assert (config.layers, config.context, config.width, config.heads) == (2, 64, 1024, 16)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_parity_with_torch_transformer_layers(norm):
    """torch's encoder layers with a causal mask and our weights give the same hidden states."""
    torch.manual_seed(0)
    model = GPT(GPT.Config(context=16, width=24, layers=3, heads=4, norm=norm), 31).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    tokens = torch.randint(4, 31, (3, 13))
    x = model.embedding(tokens) + model.position[:13]
    gelu = torch.nn.GELU(approximate="tanh")
    for block in model.blocks:
        layer = torch.nn.TransformerEncoderLayer(
            24, 4, 96, dropout=0.0, activation=gelu, norm_first=norm == "pre", batch_first=True
        )
        pairs = {
            layer.self_attn.in_proj_weight: block.attention.project.weight,
            layer.self_attn.in_proj_bias: block.attention.project.bias,
            layer.self_attn.out_proj.weight: block.attention.output.weight,
            layer.self_attn.out_proj.bias: block.attention.output.bias,
        }
        for theirs, ours in (
            (layer.linear1, block.expand),
            (layer.linear2, block.contract),
            (layer.norm1, block.norm_attention),
            (layer.norm2, block.norm_feed),
        ):
            pairs |= {theirs.weight: ours.weight, theirs.bias: ours.bias}
        with torch.no_grad():
            for theirs, ours in pairs.items():
                theirs.copy_(ours)
        x = layer.train()(x, src_mask=torch.nn.Transformer.generate_square_subsequent_mask(13), is_causal=True)
    if norm == "pre":
        x = torch.nn.functional.layer_norm(x, (24,), model.norm.weight, model.norm.bias)
    torch.testing.assert_close(model(tokens)[0], x, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"norm": "post"},
        {"positions": "sinusoidal"},
        {"positions": "none"},
        {"sparse_window": 3},
        {"layers": 1},
        LLAMA | {"key_value_heads": 2},
        LLAMA | {"key_value_heads": 1, "sparse_window": 3},
    ],
    ids=str,
)
def test_cached_equals_uncached_also_past_the_context(settings):
    """Token by token and in pieces, on both sides of a context of 8, where the window slides."""
    torch.manual_seed(0)
    settings = {"context": 8, "width": 16, "layers": 4, "heads": 4} | settings
    model = GPT(GPT.Config.model_validate(settings), 29)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    tokens = torch.cat([torch.full((2, 1), BOS), torch.randint(4, 29, (2, 20))], dim=1)
    for pieces in ([1] * 21, [3, 4, 1, 1, 5, 1, 6], [12, 9]):
        state, read = None, 0
        for piece in tokens.split(pieces, dim=1):
            log_probs, state = model.advance(piece, state)
            read += piece.shape[1]
            torch.testing.assert_close(log_probs, model.next_log_probs(tokens[:, :read]))
            assert state.tokens.shape[1] == min(read, 8)


def test_an_older_cache_can_be_read_on_from_again():
    torch.manual_seed(0)
    model = GPT(GPT.Config(context=8, width=12, layers=2, heads=3), 29)
    _, state = model.advance(torch.tensor([[BOS, 5, 6]]))
    first, _ = model.advance(torch.tensor([[7]]), state)
    model.advance(torch.tensor([[8]]), state)
    torch.testing.assert_close(model.advance(torch.tensor([[7]]), state)[0], first, rtol=0, atol=0)


def test_sinusoidal_embeddings_are_scaled_and_positions_off_leave_order_to_the_mask():
    torch.manual_seed(0)
    model = GPT(GPT.Config(context=8, width=16, layers=1, heads=2, positions="sinusoidal"), 29)
    model.blocks, model.norm = torch.nn.ModuleList(), torch.nn.Identity()
    tokens = torch.tensor([[5, 6, 5]])
    torch.testing.assert_close(model(tokens)[0][0], 4 * model.embedding(tokens)[0] + sinusoidal(3, 16))
    blind = GPT(GPT.Config(context=8, width=16, layers=1, heads=2, positions="none"), 29).eval()
    a, b = blind(torch.tensor([[5, 6, 7]]))[0], blind(torch.tensor([[6, 5, 7]]))[0]
    torch.testing.assert_close(a[0, -1], b[0, -1])  # one layer sees a set


def test_without_residuals_nothing_passes_a_layer_that_writes_nothing():
    torch.manual_seed(0)
    for residual, passes in ((True, True), (False, False)):
        model = GPT(GPT.Config(context=8, width=16, layers=1, heads=2, residual=residual), 29).eval()
        with torch.no_grad():
            model.blocks[0].contract.weight.zero_()
        hidden, _ = model(torch.tensor([[5, 6, 7]]))
        assert bool(hidden.abs().sum() > 1) is passes


def test_windows_need_a_second_layer():
    with pytest.raises(ValidationError, match="only the second layer is sparse"):
        GPT.Config(layers=1, sparse_window=4)


def test_without_biases_is_with_biases_of_zero():
    torch.manual_seed(0)
    without = GPT(GPT.Config(context=8, width=8, layers=2, heads=2, bias=False), 11)
    assert all(parameter.dim() == 2 or "norm" in name for name, parameter in without.named_parameters())
    tokens = torch.tensor([[BOS, 5, 6, 7]])
    whole = GPT(GPT.Config(context=8, width=8, layers=2, heads=2), 11)
    missing = whole.load_state_dict(without.state_dict(), strict=False).missing_keys  # biases begin as zeros
    assert missing and all(name.endswith("bias") for name in missing)
    torch.testing.assert_close(without.log_probs(tokens), whole.log_probs(tokens))
    names = {name for name, *_ in gpt2_names(without)}
    assert names == {name for name, *_ in gpt2_names(whole)}  # GPT-2's files have biases: zeros
