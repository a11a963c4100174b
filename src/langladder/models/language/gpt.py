"""GPT: a decoder-only Transformer (Radford et al. 2018 and 2019, Brown et al. 2020).

    x⁰ = E w + P
    pre-norm (GPT-2, GPT-3):  a = x + Attention(LN(x)),   x' = a + W₂ GELU(W₁ LN(a)),   P(next) = softmax(E LN(xᴺ))
    post-norm (GPT-1):        a = LN(x + Attention(x)),   x' = LN(a + W₂ GELU(W₁ a)),   P(next) = softmax(E xᴺ)

A recurrent network has one state of constant size; attention reads every earlier position of the context. GELU has its
tanh form. The embedding table is the output layer unless untied. Initial weights are N(0, 0.02) at the papers' width of
768; at other widths, the deviation is multiplied by √(768 / D), so that a narrow network does not learn more slowly.
With pre-norm, the matrices that write to the residual path are scaled by 1/√(2N), because 2N sublayers are summed
(GPT-2, section 2.3).

GPT-3 alternates dense and locally banded attention: with `sparse_window` = w, every second layer, starting with the
second, only sees the last w positions. The paper does not state w, or which layers are first.

Positions are learned (all three papers), sinusoidal (Vaswani et al. 2017; then embeddings are multiplied by √D, as
there), rotary (in attention: `nn.multi_head_attention`), or none, so that only the causal mask shows the order. The
option without residual connections is only for measurements. Right-padding changes nothing, because no real token sees
it.

Llama (Touvron et al. 2023, section 2.2; grouped queries: Llama 2, section 2.2) is pre-norm with these settings:

    norm_kind: rms          LN(x) becomes x / √(mean(x²) + ε) ⊙ γ (Zhang and Sennrich 2019): no mean, no bias
    feed_forward: swiglu    W₂ GELU(W₁ a) becomes W₂ (SiLU(W₃ a) ⊙ W₁ a) (Shazeer 2020), SiLU(z) = z σ(z)
    positions: rotary       and x⁰ = E w
    key_value_heads: g      h/g heads of queries share one head of keys and values
    bias: false, tie_weights: false

SwiGLU has three matrices, so its hidden width is 8/3 D (rounded up to a multiple of 8), not 4 D as with GELU: the
number of parameters is the same. With `experts`, each layer has several feed-forward networks and a router
(`nn.experts`).

`advance` caches the keys and values of previous tokens, so each new token costs one position. If a text is longer than
the context, its oldest tokens are dropped; then every position changes, and the whole window is computed again.

Shape legend: B rows, T tokens, S previous tokens, C context, D width, V vocabulary, N layers (or packed tokens), h
heads.
"""

import math
from typing import ClassVar, Literal, NamedTuple, Self, cast

import torch
from pydantic import Field, model_validator
from torch import nn
from torch.nn import functional

from langladder.ground import schema
from langladder.models.language.neural import NeuralConfig, NeuralLanguageModel, scoring
from langladder.models.network import check_width, with_preset
from langladder.nn.dropout import Dropout
from langladder.nn.experts import Expert, Experts, feed_forward
from langladder.nn.multi_head_attention import CausalSelfAttention, Past, Rotary
from langladder.nn.output import SoftmaxOutput
from langladder.nn.output_choice import make_output
from langladder.nn.packing import Layout
from langladder.nn.token_embedding import sinusoidal
from langladder.text.tokenize.specials import PAD


def _gpt2(layers: int, width: int, heads: int) -> dict[str, object]:
    return {"context": 1024, "width": width, "layers": layers, "heads": heads, "dropout": 0.1}


def _gpt3(layers: int, width: int, heads: int) -> dict[str, object]:
    return {"context": 2048, "width": width, "layers": layers, "heads": heads, "sparse_window": 128}


def _llama(layers: int, width: int, heads: int, inner: int) -> dict[str, object]:
    sizes: dict[str, object] = {"context": 2048, "width": width, "layers": layers, "heads": heads, "inner": inner}
    return sizes | LLAMA | {"norm_epsilon": 1e-6}


LLAMA: dict[str, object] = {"norm_kind": "rms", "positions": "rotary", "feed_forward": "swiglu"}
LLAMA |= {"bias": False, "tie_weights": False}
"""What makes a GPT a Llama, whatever its size."""

PRESETS: dict[str, dict[str, object]] = {
    "gpt1": {"context": 512, "width": 768, "layers": 12, "heads": 12, "dropout": 0.1, "norm": "post"},
    "gpt2": _gpt2(12, 768, 12),
    "gpt2-medium": _gpt2(24, 1024, 16),
    "gpt2-large": _gpt2(36, 1280, 20),
    "gpt2-xl": _gpt2(48, 1600, 25),
    "gpt3-125M": _gpt3(12, 768, 12),
    "gpt3-350M": _gpt3(24, 1024, 16),
    "gpt3-760M": _gpt3(24, 1536, 16),
    "gpt3-1.3B": _gpt3(24, 2048, 16),
    "gpt3-2.7B": _gpt3(32, 2560, 32),
    "gpt3-6.7B": _gpt3(32, 4096, 32),
    "gpt3-13B": _gpt3(40, 5120, 40),
    "gpt3-175B": _gpt3(96, 12288, 96),
    "llama-7B": _llama(32, 4096, 32, inner=11008),
    "llama-13B": _llama(40, 5120, 40, inner=13824),
    "llama-33B": _llama(60, 6656, 52, inner=17920),
    "llama-65B": _llama(80, 8192, 64, inner=22016),
}
"""The GPTs of the papers, by name: GPT-1 (2018), GPT-2 (2019, table 2), GPT-3 (2020, table 2.1), Llama (2023, table 2).

`preset: gpt2-medium` in a GPT's settings selects these; other settings override them. The vocabulary is that of the
tokenizer: the papers' have 40,478 (GPT-1: 40,000 merges, 477 characters, an unknown token) and 50,257 tokens.

Counts are of all parameters, including embeddings and positions, with the tied output layer once:

    V·D + C·D + N·(12 D² + 13 D) (+ 2 D for pre-norm's last layer norm)
    Llama: 2 V·D + N·(4 D² + 3 D·inner + 2 D) + D

The papers' names are rounded and sometimes wrong: GPT-2's authors corrected 117M and 345M to 124M and 355M. In GPT-3's
table, 24 heads of width 128 do not give XL's width 2048 (16 heads do), and 13B's width 5140 is not 40 heads of 128
(5120 is). The presets have the consistent values. GPT-3's window is not in its paper; 128 is our choice and does not
change the counts.
"""

INITIAL_STD = 0.02
PAPERS_WIDTH = 768


class GPTConfig(NeuralConfig):
    """Settings of `GPT`."""

    preset: str | None = None  # a size of the papers, see `PRESETS`; null: the settings below
    context: int = Field(default=128, ge=2, le=8192)
    width: int = Field(default=128, ge=2, le=16384)
    layers: int = Field(default=4, ge=1, le=128)
    heads: int = Field(default=4, ge=1, le=128)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    norm: Literal["pre", "post"] = "pre"  # the norm before each sublayer, or after its residual connection
    norm_kind: Literal["layer", "rms", "none"] = "layer"  # none: for ablations only
    norm_epsilon: float = Field(default=1e-5, gt=0, le=1e-2)
    positions: Literal["learned", "sinusoidal", "rotary", "none"] = "learned"
    rotary_base: float = Field(default=10_000.0, ge=1, le=1e9)
    feed_forward: Literal["gelu", "swiglu"] = "gelu"
    inner: int | None = Field(default=None, ge=1, le=65_536)  # width of the feed-forward network; null: see above
    key_value_heads: int | None = Field(default=None, ge=1, le=128)  # a divisor of heads; null: as many
    experts: int | None = Field(default=None, ge=2, le=64)  # feed-forward networks per layer; null: one, no router
    active_experts: int = Field(default=2, ge=1)  # of them, how many a token is sent to
    balance: float = Field(default=0.01, ge=0)  # α of the loss that gives all experts as many tokens
    sparse_window: int | None = Field(default=None, ge=2)  # every second layer sees so many tokens; null: all
    residual: bool = True  # false: for ablations only
    tie_weights: bool = True
    bias: bool = True  # of linear layers and norms, as in GPT-2; false is a little faster and as good

    @property
    def initial_std(self) -> float:
        """0.02 √(768 / D), the standard deviation of the initial weights."""
        return INITIAL_STD * math.sqrt(PAPERS_WIDTH / self.width)

    @property
    def feed_width(self) -> int:
        """Of the feed-forward network: `inner`, or 4 D, or 8/3 D with SwiGLU."""
        gated = self.feed_forward == "swiglu"
        return self.inner or (8 * math.ceil(self.width / 3) if gated else 4 * self.width)

    def make_norm(self) -> nn.Module:
        """A new one of the chosen kind."""
        if self.norm_kind == "none":
            return nn.Identity()
        if self.norm_kind == "rms":
            return nn.RMSNorm(self.width, self.norm_epsilon)
        return nn.LayerNorm(self.width, self.norm_epsilon, bias=self.bias)

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, values: object) -> object:
        return with_preset(values, PRESETS)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_width(self.width, self.heads, self.positions)
        if self.heads % (self.key_value_heads or self.heads):
            raise ValueError(
                f"key_value_heads={self.key_value_heads} does not divide heads={self.heads}: each head of keys and "
                "values serves as many heads of queries"
            )
        if self.experts is not None and self.active_experts > self.experts:
            raise ValueError(f"active_experts={self.active_experts} of experts={self.experts}: at most all of them")
        if self.sparse_window is not None and self.layers < 2:
            raise ValueError(
                f"sparse_window={self.sparse_window} with layers=1: only the second layer is sparse; use more layers"
            )
        return self


class Cache(NamedTuple):
    """The state of `GPT.advance`: the last ≤ C tokens (B, S), and each layer's keys and values of them."""

    tokens: torch.Tensor
    layers: list[Past]


class GPTBlock(nn.Module):
    """One layer: attention, then a feed-forward network or a mixture of them, each added to its input."""

    experts: Experts | None

    def __init__(self, config: GPTConfig, window: int | None, rotary: Rotary | None) -> None:
        super().__init__()
        D, inner = config.width, config.feed_width
        self.pre, self.residual = config.norm == "pre", config.residual
        self.norm_attention, self.norm_feed = (config.make_norm() for _ in range(2))
        self.attention = CausalSelfAttention(
            width=D,
            heads=config.heads,
            dropout=config.dropout,
            window=window,
            bias=config.bias,
            key_value_heads=config.key_value_heads,
            rotary=rotary,
        )
        gated, self.experts = config.feed_forward == "swiglu", None
        if config.experts is None:
            self.expand, self.contract = nn.Linear(D, inner, bias=config.bias), nn.Linear(inner, D, bias=config.bias)
            self.gate = nn.Linear(D, inner, bias=config.bias) if gated else None
        else:
            sizes = {"experts": config.experts, "active": config.active_experts}
            self.experts = Experts(width=D, inner=inner, gated=gated, bias=config.bias, **sizes)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: torch.Tensor, past: Past | None = None) -> tuple[torch.Tensor, Past]:
        """(B, T, D) → (B, T, D), and the keys and values for the next call."""
        # pre: a = x + Attention(LN(x)); post: a = LN(x + Attention(x))
        mixed, past = self.attention(self.norm_attention(x) if self.pre else x, past)
        a = self._add(x, mixed, self.norm_attention)
        return self._feed(a), past

    def forward_packed(self, x: torch.Tensor, layout: Layout, wanted: Layout | None = None) -> torch.Tensor:
        """The same for packed rows without padding, (N, D) → (N, D), or only for the requested positions."""
        mixed = self.attention.forward_packed(self.norm_attention(x) if self.pre else x, layout, wanted)
        x = x if wanted is None else layout.part(x, wanted)
        return self._feed(self._add(x, mixed, self.norm_attention))

    @property
    def feed_writer(self) -> nn.Module:
        """The module whose result the feed-forward network adds to its input."""
        return self.contract if self.experts is None else self.experts

    def _feed(self, a: torch.Tensor) -> torch.Tensor:
        # pre: x' = a + W₂ GELU(W₁ LN(a)); post: x' = LN(a + W₂ GELU(W₁ a))
        read = self.norm_feed(a) if self.pre else a
        if self.experts is None:
            return self._add(a, feed_forward(read, self.expand, self.gate, self.contract), self.norm_feed)
        return self._add(a, self.experts(read), self.norm_feed)

    def _add(self, x: torch.Tensor, change: torch.Tensor, norm: nn.Module) -> torch.Tensor:
        total = x + self.dropout(change) if self.residual else self.dropout(change)
        out: torch.Tensor = total if self.pre else norm(total)
        return out


class GPT(NeuralLanguageModel):
    """Token and position embeddings → N blocks → layer norm (pre-norm only) → softmax, or another output layer."""

    approach = "Transformer"
    Config: ClassVar[type[schema.Config]] = GPTConfig
    shards: ClassVar[tuple[str, ...]] = ("blocks",)
    tables: ClassVar[tuple[str, ...]] = ("position",)
    config: GPTConfig
    context: int
    position: torch.Tensor | None

    def __init__(self, config: GPTConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.context = config.context
        self.embedding = nn.Embedding(vocab_size, config.width)
        self.embedding_scale = math.sqrt(config.width) if config.positions == "sinusoidal" else 1.0
        if config.positions == "learned":
            self.position = nn.Parameter(torch.empty(config.context, config.width))
        else:
            table = sinusoidal(config.context, config.width) if config.positions == "sinusoidal" else None
            self.register_buffer("position", table, persistent=False)
        windows = [config.sparse_window if layer % 2 else None for layer in range(config.layers)]
        size = config.width // config.heads
        rotary = Rotary(config.context, size, config.rotary_base) if config.positions == "rotary" else None
        self.blocks = nn.ModuleList(GPTBlock(config, window, rotary) for window in windows)
        self.norm = config.make_norm() if config.norm == "pre" else nn.Identity()
        self.dropout = Dropout(config.dropout)
        _, self.head = make_output(config, width=config.width, embedding=self.embedding, bias=False)
        self._initialise(config)

    @property
    def one_graph(self) -> bool:
        """See `Network.one_graph`: true with the full softmax and one feed-forward network."""
        return isinstance(self.head, SoftmaxOutput) and self.config.experts is None

    def forward(self, tokens: torch.Tensor, state: None = None) -> tuple[torch.Tensor, None]:  # noqa: ARG002
        """See `NeuralLanguageModel.forward`; T must not exceed the context."""
        return self._read(tokens, None)[0], None

    def packed(self, tokens: torch.Tensor, wanted: torch.Tensor | None = None) -> tuple[torch.Tensor, Layout]:
        """Hidden states of the real tokens of right-padded rows (B, T): (N, D), and their layout.

        The rows are concatenated, so positionwise operations skip padding. Rows do not attend to each other, and each
        has its own positions. T must not exceed the context.

        Args:
            wanted: (B, T) bool, the real tokens whose states are returned. The last layer skips most of the computation
                for the others. None: all.
        """
        layout = Layout.of(tokens != PAD)
        columns = layout.columns(tokens.device)  # (N,)
        # x⁰ = E w + P
        x = self.embedding(layout.pack(tokens)) * self.embedding_scale  # (N, D)
        x = self.dropout(x if self.position is None else x + functional.embedding(columns, self.position))
        result = layout if wanted is None else Layout.of(wanted)
        for number, block in enumerate(self.blocks, start=1):
            last = number == len(self.blocks) and wanted is not None
            x = cast("GPTBlock", block).forward_packed(x, layout, result if last else None)
        hidden: torch.Tensor = self.norm(x)
        return hidden, result

    @torch.no_grad()
    def advance(self, tokens: torch.Tensor, state: Cache | None = None) -> tuple[torch.Tensor, Cache]:
        """See `LanguageModel.advance`; the state is the cache. The result equals `next_log_probs` of the whole
        prefix."""
        held = tokens if state is None else torch.cat([state.tokens, tokens], dim=1)  # (B, S + n)
        if held.shape[1] > self.context:  # the window slides, so the cached positions have changed
            tokens = held = held[:, -self.context :]
            state = None
        with scoring(self, tokens.device.type):
            hidden, layers = self._read(tokens, state)  # (B, n, D)
            return torch.log_softmax(self.head(hidden[:, -1]).float(), dim=-1), Cache(held, layers)

    @torch.no_grad()
    def advance_each(self, tokens: torch.Tensor, state: Cache | None = None) -> tuple[torch.Tensor, list[Cache]]:
        """See `LanguageModel.advance_each`: at once, unless layers forget or the window slides."""
        held = tokens if state is None else torch.cat([state.tokens, tokens], dim=1)  # (B, S + n)
        if self.config.sparse_window is not None or held.shape[1] > self.context:
            return super().advance_each(tokens, state)
        with scoring(self, tokens.device.type):
            hidden, layers = self._read(tokens, state)  # (B, n, D)
            log_probs = torch.log_softmax(self.head(hidden).float(), dim=-1)  # (B, n, V)
        ends = range(held.shape[1] - tokens.shape[1] + 1, held.shape[1] + 1)
        states = [Cache(held[:, :end], [(key[:, :, :end], value[:, :, :end]) for key, value in layers]) for end in ends]
        return log_probs, states

    def read_on(self, tokens: torch.Tensor, state: Cache | None) -> tuple[torch.Tensor, Cache]:
        """See `NeuralLanguageModel.read_on`; the state is the cache."""
        hidden, layers = self._read(tokens, state)  # (B, n, D)
        return hidden, Cache(tokens if state is None else torch.cat([state.tokens, tokens], dim=1), layers)

    def state_of(self, state: Cache, rows: torch.Tensor) -> Cache:
        """See `NeuralLanguageModel.state_of`."""
        layers = [(key.index_select(0, rows), value.index_select(0, rows)) for key, value in state.layers]
        return Cache(state.tokens.index_select(0, rows), layers)

    def _read(self, tokens: torch.Tensor, cache: Cache | None) -> tuple[torch.Tensor, list[Past]]:
        """Hidden states (B, T, D) of the tokens after those of the cache, and every layer's keys and values."""
        start = 0 if cache is None else cache.tokens.shape[1]
        stop = start + tokens.shape[1]
        assert stop <= self.context, (start, tokens.shape, self.context)
        # x⁰ = E w + P
        x = self.embedding(tokens) * self.embedding_scale  # (B, T, D)
        x = self.dropout(x if self.position is None else x + self.position[start:stop])
        kept = []
        for number, block in enumerate(self.blocks):
            x, past = block(x, None if cache is None else cache.layers[number])
            kept.append(past)
        return self.norm(x), kept

    def loss(self, hidden: torch.Tensor, targets: torch.Tensor, smoothing: float = 0.0) -> torch.Tensor:
        """See `NeuralLanguageModel.loss`; in training with the balance of the experts, summed over the layers."""
        loss = super().loss(hidden, targets, smoothing)
        for block in cast("list[GPTBlock]", self.blocks):
            if block.experts is not None and self.training:
                loss = loss + self.config.balance * block.experts.take_balance()
        return loss

    def products(self, length: int) -> float:
        """See `Network.products`: the matrices, and for each layer T² scores and T² weighted values of width D."""
        # 2 N T² D: masked scores are also computed
        return super().products(length) + 2 * self.config.layers * length**2 * self.config.width

    def _initialise(self, config: GPTConfig) -> None:
        scale = config.initial_std
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, std=scale)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
        if config.norm == "pre" and config.residual:
            for module in self.modules():
                if isinstance(module, GPTBlock):
                    experts = [module] if module.experts is None else cast("list[Expert]", module.experts.experts)
                    for writer in (module.attention.output, *(expert.contract for expert in experts)):
                        nn.init.normal_(writer.weight, std=scale / (2 * config.layers) ** 0.5)
        # Sines and cosines have a fixed size, so √D · E w must not start smaller, or positions would dominate the
        # tokens.
        std = config.width**-0.5 if config.positions == "sinusoidal" else scale
        nn.init.normal_(self.embedding.weight, std=std)
        if isinstance(self.head, SoftmaxOutput):
            nn.init.normal_(self.head.weight, std=std)
        if config.positions == "learned":
            assert self.position is not None
            # half of GPT-2's token scale, as in its code
            nn.init.normal_(self.position, std=scale / 2)
