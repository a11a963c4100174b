"""The Transformer (Vaswani et al. 2017): only attention, without recurrence, so a known target is processed at once.

    encoder   x⁰ = √D E w + P,   xˡ = [self-attention, FFN](xˡ⁻¹),   memory = x^N
    decoder   y⁰ = √D E w + P,   yˡ = [causal self-attention, attention to memory, FFN](yˡ⁻¹)
    output    P(y_t | y_<t, x) = softmax(W y_t^N + b)

each sublayer with residual and norm as in `nn.transformer_layers`. `tie` shares matrices (section 3.4): "all" makes
source embedding, target embedding and W one matrix and needs one vocabulary for both sides; "target" shares the last
two. Decoding caches the keys and values of the previous words and of the source, so a step costs one position. `step`
returns the attention weights of the last layer, averaged over its heads.

Named sizes (table 3): `preset: base` is N = 6, D = 512, h = 8, FFN 2048; `preset: big` is N = 6, D = 1024, h = 16, FFN
4096, dropout 0.3. Other settings override those of a preset.

Differences from the paper: learned positions, pre-norm, no norms, no positions and no 1/√d are optional. Layer norm's
ε is 1e-6 (the paper does not state it). W has a bias, like torch's layers.

Shape legend: B rows, S source positions, T target positions, M and P the same without padding, D width, N layers, h
heads, d = D/h, V vocabulary.
"""

from typing import Any, ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.network import check_width, with_preset
from langladder.models.translation.translator import State, Translator
from langladder.nn import packing
from langladder.nn.multi_head_attention import source_mask
from langladder.nn.output import SoftmaxOutput
from langladder.nn.packing import Layout
from langladder.nn.token_embedding import Positions, TokenEmbedding
from langladder.nn.transformer_layers import DecoderLayer, Norm, encoder_layers, last_norm
from langladder.text.tokenize.specials import PAD

PRESETS: dict[str, dict[str, object]] = {
    "base": {"width": 512, "layers": 6, "heads": 8, "expansion": 4, "dropout": 0.1},
    "big": {"width": 1024, "layers": 6, "heads": 16, "expansion": 4, "dropout": 0.3},
}


class TransformerConfig(schema.Config):
    """Settings of `Transformer`."""

    preset: str | None = None
    """A size of the paper; null = the settings below."""
    width: int = Field(default=256, ge=2, le=16384)
    """D."""
    layers: int = Field(default=3, ge=1, le=128)
    """N, of encoder and decoder each."""
    heads: int = Field(default=8, ge=1, le=128)
    expansion: int = Field(default=4, ge=1, le=16)
    """Width of the FFN's inner layer, in multiples of D."""
    dropout: float = Field(default=0.1, ge=0, lt=1)
    norm: Norm = "post"
    positions: Positions = "sinusoidal"
    max_length: int = Field(default=512, ge=2, le=65_536)
    """Rows of a learned table of positions."""
    scale_scores: bool = True
    """Whether attention divides its scores by √d."""
    tie: Literal["all", "target", "none"] = "all"

    @model_validator(mode="before")
    @classmethod
    def _fill(cls, values: object) -> object:
        return with_preset(values, PRESETS)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_width(self.width, self.heads, self.positions)
        return self


class Transformer(Translator):
    """Encoder and decoder of N layers each."""

    approach = "Transformer"
    pads: ClassVar[bool] = False
    Config: ClassVar[type[schema.Config]] = TransformerConfig
    config: TransformerConfig

    def __init__(self, config: TransformerConfig, source_vocab_size: int, target_vocab_size: int) -> None:
        super().__init__(config, source_vocab_size, target_vocab_size)
        if config.tie == "all" and source_vocab_size != target_vocab_size:
            raise InputError(
                f"tie=all: source and target share one matrix, but the source has {source_vocab_size:,} tokens and the "
                f"target {target_vocab_size:,}; use one vocabulary (shared_tokenizer: true) or set tie to target"
            )
        D = config.width
        embedding: dict[str, Any] = {
            "positions": config.positions,
            "max_length": config.max_length,
            "dropout": config.dropout,
        }
        self.source_embedding = TokenEmbedding(source_vocab_size, D, **embedding)
        shared = self.source_embedding.word.weight if config.tie == "all" else None
        self.target_embedding = TokenEmbedding(target_vocab_size, D, **embedding, weight=shared)
        layer: dict[str, Any] = {
            "width": D,
            "heads": config.heads,
            "inner": config.expansion * D,
            "dropout": config.dropout,
            "norm": config.norm,
            "scaled": config.scale_scores,
        }
        self.encoder = encoder_layers(config.layers, **layer)
        self.decoder = nn.ModuleList(DecoderLayer(**layer) for _ in range(config.layers))
        self.encoder_norm, self.decoder_norm = last_norm(D, config.norm), last_norm(D, config.norm)
        tied = None if config.tie == "none" else self.target_embedding.word.weight
        self.head = SoftmaxOutput(width=D, vocab_size=target_vocab_size, tied=tied)

    @property
    def one_graph(self) -> bool:
        """See `Network.one_graph`."""
        return True

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        """See `Translator.encode`. The source side of the state is each layer's keys and values, (B, h, S, d)."""
        layout = Layout.of(mask)
        memory = layout.spread(self._read(source, layout))  # (B, S, D)
        kept: dict[str, torch.Tensor] = {"mask": mask}
        past: dict[str, torch.Tensor] = {}
        for number, layer in enumerate(self.decoder):
            keys, values = layer.cross.keys_values(memory)  # type: ignore[operator,union-attr]
            kept |= {f"keys{number}": keys, f"values{number}": values}
            empty = keys[:, :, :0]  # (B, h, 0, d)
            past |= {f"keys{number}": empty, f"values{number}": empty}
        return State(kept, past)

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        """See `Translator.step`. Reads the last column of the prefix; the state has the previous keys and values."""
        kept = state.source
        past: dict[str, torch.Tensor] = {}
        mask = source_mask(kept["mask"])
        y = self.target_embedding(prefix[:, -1:], first=prefix.shape[1] - 1)  # (B, 1, D)
        weights = y
        for number, layer in enumerate(self.decoder):
            names = f"keys{number}", f"values{number}"
            before, source = ([side[name] for name in names] for side in (state.decoder, kept))
            y, after, weights = layer.step(y, before, source, mask)  # type: ignore[operator]
            past |= dict(zip(names, after, strict=True))
        logits = self.head(self.decoder_norm(y)[:, 0])  # (B, V)
        return torch.log_softmax(logits.float(), dim=-1), State(kept, past), weights.mean(dim=1)[:, 0]

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        """See `Translator.hidden`. All positions at once."""
        layout = Layout.of(target_in != PAD, packed=not packing.fixed_shapes(target_in))
        return layout.spread(self._packed(source, target_in, layout))

    def kept(self, source: torch.Tensor, target_in: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
        """See `Translator.kept`."""
        return self._packed(source, target_in, Layout.of(keep))

    def _packed(self, source: torch.Tensor, target_in: torch.Tensor, layout: Layout) -> torch.Tensor:
        """Hidden states (P, D) of the target's positions in `layout`."""
        read = Layout.of(source != PAD, packed=not packing.fixed_shapes(source))
        memory = self._read(source, read)
        y = self.target_embedding.forward_packed(target_in, layout)  # (P, D)
        for layer in self.decoder:
            y = layer(y, layout, memory, read)
        hidden: torch.Tensor = self.decoder_norm(y)
        return hidden

    def _read(self, source: torch.Tensor, layout: Layout) -> torch.Tensor:
        """The encoder: ids (B, S) → memory (M, D)."""
        x = self.source_embedding.forward_packed(source, layout)
        for layer in self.encoder:
            x = layer(x, layout)
        memory: torch.Tensor = self.encoder_norm(x)
        return memory
