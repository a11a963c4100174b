"""The choice of the output layer: settings for all networks that predict words."""

from typing import Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.nn.adaptive_softmax import AdaptiveSoftmax, TiedAdaptiveSoftmax
from langladder.nn.hierarchical_softmax import HierarchicalSoftmax
from langladder.nn.output import OutputLayer, SoftmaxOutput
from langladder.nn.sampled_softmax import NoiseContrastive, SampledSoftmax


class OutputConfig(schema.Config):
    """Settings of the output layer, for a model's own settings to inherit."""

    output: Literal["softmax", "adaptive", "hierarchical", "sampled", "nce"] = "softmax"
    tie_weights: bool = False  # use the embedding table as the output's matrix
    noise_samples: int = Field(default=256, ge=1)  # sampled and nce: noise words per batch
    noise: Literal["unigram", "log_uniform", "uniform"] = "unigram"  # sampled and nce: distribution of noise words
    noise_power: float = Field(default=1.0, ge=0, le=1)  # exponent of the unigram noise; 0.75 in word2vec
    cutoffs: list[float] = Field(default=[0.1, 0.4], min_length=1)  # adaptive: cuts, as shares of the vocabulary
    shrink: int = Field(default=4, ge=1)  # adaptive: the factor by which each cluster is narrower than the previous one

    @model_validator(mode="after")
    def _check_output(self) -> Self:
        if self.tie_weights and self.output == "hierarchical":
            raise ValueError(
                "tie_weights=true with output=hierarchical: that layer has no vector per word to share with the "
                "embedding; set tie_weights to false, or output to another one"
            )
        if self.tie_weights and self.output == "adaptive" and self.shrink != 1:
            raise ValueError(
                f"tie_weights=true with output=adaptive and shrink={self.shrink}: a word's output vector is its row of "
                "the embedding table, as wide in every cluster; set shrink to 1, or tie_weights to false"
            )
        if not all(0 < a < b < 1 for a, b in zip(self.cutoffs, [*self.cutoffs[1:], 1 - 1e-12], strict=True)):
            raise ValueError(f"cutoffs={self.cutoffs}: rising shares of the vocabulary, each between 0 and 1")
        return self


def make_output(
    config: OutputConfig, *, width: int, embedding: nn.Embedding, bias: bool = True
) -> tuple[nn.Module, OutputLayer]:
    """The bridge and the output layer for hidden states of this width.

    The bridge projects to the embedding's width if tied weights need this; otherwise it does nothing. `bias` only
    applies to the full softmax; the other layers have their own biases.
    """
    vocab_size, narrow = embedding.num_embeddings, embedding.embedding_dim
    bridged = config.tie_weights and width != narrow
    bridge = nn.Linear(width, narrow) if bridged else nn.Identity()
    tied = embedding.weight if config.tie_weights else None
    return bridge, _layer(config, narrow if bridged else width, vocab_size, tied, bias)


def _layer(config: OutputConfig, width: int, vocab_size: int, tied: torch.Tensor | None, bias: bool) -> OutputLayer:
    if config.output == "adaptive" and tied is not None:
        return TiedAdaptiveSoftmax(tied=tied, shares=config.cutoffs)
    if config.output == "adaptive":
        return AdaptiveSoftmax(width=width, vocab_size=vocab_size, shares=config.cutoffs, shrink=config.shrink)
    if config.output == "hierarchical":
        return HierarchicalSoftmax(width=width, vocab_size=vocab_size)
    if config.output == "softmax":
        return SoftmaxOutput(width=width, vocab_size=vocab_size, tied=tied, bias=bias)
    kind = NoiseContrastive if config.output == "nce" else SampledSoftmax
    return kind(
        width=width,
        vocab_size=vocab_size,
        samples=config.noise_samples,
        noise=config.noise,
        power=config.noise_power,
        tied=tied,
    )
