"""The settings that word2vec's kernels and its PyTorch form have in common."""

from typing import Literal, Self

from pydantic import Field, model_validator

from langladder.schema import Config


class Word2VecSettings(Config):
    """What is learnt from which text."""

    architecture: Literal["skipgram", "cbow"] = "skipgram"
    output: Literal["negative_sampling", "nce", "hierarchical", "softmax"] = "negative_sampling"
    dim: int = Field(default=100, ge=1)
    window: int = Field(default=5, ge=1, le=100)  # M, words on each side
    dynamic_window: bool = True  # each word draws its own window from 1 … M, so near words count more
    context: Literal["mean", "sum"] = "mean"  # what CBOW makes of its context words
    negatives: int = Field(default=5, ge=1)  # K, noise words a pair
    noise_exponent: float = Field(default=0.75, ge=0)  # 1: as frequent as in the text, 0: all alike
    subsample: float = Field(default=1e-3, ge=0, le=1)  # t; 0 keeps every word
    epochs: int = Field(default=5, ge=1)
    vectors: Literal["input", "sum"] = "input"  # a word's vector: v, or v + u (Levy et al. 2015, section 3.3)

    @model_validator(mode="after")
    def _words_have_output_vectors(self) -> Self:
        if self.vectors == "sum" and self.output == "hierarchical":
            raise ValueError(
                "vectors=sum, output=hierarchical: the tree's vectors belong to its nodes, not to words; use input"
            )
        return self
