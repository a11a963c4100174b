"""Texts longer than the context, read with a sliding window (Radford et al. 2019, section 3.1; Baevski & Auli 2019).

    L(s) = −(1/N) Σ_t log P(w_t | the last C − s to C tokens)     a window of C tokens moves by s tokens and predicts s

With s = C, windows do not overlap, and the first tokens of a window are predicted from almost no context. With a
smaller s, every token has more context, but the text is read C / s times. All strides use the same networks and
documents.

Shape legend: N documents.
"""

from functools import cache
from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.language.small_models import ORDER, TITLES, TextConfig, trained
from claims.training import loss_a_token
from langladder.data.language_modelling import document_batches
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import predicted
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.storage.token_streams import TokenStream


class Variant(schema.Config):
    """The varied setting: s."""

    stride: int = Field(ge=1)


class SlidingWindowConfig(TextConfig, ComparisonConfig):
    """Settings of `SlidingWindow`; the context is `sequence_length`."""

    VARIANT = Variant
    bases: list[Literal["gpt"]] = Field(min_length=1)
    metric: Literal["loss", "perplexity"] = "loss"

    def scored(self) -> int:
        """About how many tokens of the test text are scored."""
        return max(1000, self.fewer(self.test_tokens))

    @model_validator(mode="after")
    def _fit(self) -> Self:
        strides = [Variant.model_validate(change).stride for change in self.changes().values()]
        if max(strides) > self.sequence_length:
            raise ValueError(f"stride={strides}: from sequence_length={self.sequence_length} to 1")
        return self


class SlidingWindow(Comparison[SlidingWindowConfig]):
    """Loss by stride, of the same networks on the same documents."""

    Config: ClassVar[type[schema.Config]] = SlidingWindowConfig
    reads = ("tokens/text",)
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("loss, nats per token", drawn=False),
        "perplexity": Metric("perplexity per token"),
        "read": Metric("tokens read for each", drawn=False),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`: the perplexity of an n-gram on the same documents."""
        config, text = self.config, longer(data.stream("test"), self.config.sequence_length)
        settings: dict[str, object] = {"order": ORDER}
        model, _ = trained(KneserNey, settings, data.tokenizer().vocab_size, data.stream("train"), config, seed=1)
        return {"perplexity": float(np.exp(loss_a_token(model, text, tokens=config.scored())))}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config, text = self.config, longer(data.stream("test"), self.config.sequence_length)

        @cache
        def network(seed: int) -> GPT:
            kind, settings = config.small("gpt")
            model, _ = trained(kind, settings, data.tokenizer().vocab_size, data.stream("train"), config, seed=seed)
            assert isinstance(model, GPT)
            return model

        def trial(_: str, change: Change, seed: int) -> Scored:
            model, stride = network(seed), Variant(**change).stride
            tokens, nats = lost(model, text, stride, config.scored())
            return model.number_of_parameters(), {
                "loss": nats / tokens.mean(),  # (N,), whose mean is the mean over all tokens
                "perplexity": float(np.exp(nats.sum() / tokens.sum())),
                "read": config.sequence_length / stride,
            }

        return trial


def longer(text: TokenStream, context: int) -> TokenStream:
    """The documents of a text that are longer than a context.

    Raises:
        InputError: there is no such document.
    """
    kept = [
        text.ids[start:end]
        for start, end in zip(text.offsets[:-1].tolist(), text.offsets[1:].tolist(), strict=True)
        if end - start > context + 1
    ]
    if not kept:
        raise InputError(
            f"claim.settings.sequence_length={context}: no document of the test text is longer; set it lower"
        )
    return TokenStream(np.concatenate(kept), np.cumsum([0, *map(len, kept)]))


def lost(model: GPT, text: TokenStream, stride: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and summed −log P of each of the first documents, up to about `tokens` tokens: (N,) each."""
    count: list[int] = []
    nats: list[float] = []
    for batch in document_batches(text, limit=tokens):
        count += predicted(batch).sum(dim=1).tolist()
        nats += (-model.sliding_log_probs(batch, stride).double().sum(dim=1)).tolist()
    return np.array(count, dtype=np.float64), np.array(nats)
