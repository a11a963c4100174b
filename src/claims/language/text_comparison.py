"""`Comparison` of language models on the corpus, by perplexity on the test text. They must beat counting.

The result of counting is the perplexity of Kneser–Ney of order ORDER on the same amount of text.

`SparseAttention` also compares the computation of dense and locally banded attention (Child et al. 2019; Brown et al.
2020, section 2.1). For T positions, the scores and weighted sums of each layer's attention take this many
multiplications:

    dense     2 D T²
    banded    2 D T · min(T, 2w)     each block of w attends to itself and the previous one (`nn.multi_head_attention`)

Masked entries are also computed, and are counted. The costs of the projections are the same in both.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import Metric, NetworkComparisonConfig
from claims.language.small_models import ORDER, TITLES, Network, TextConfig, measured
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.models.language.gpt import GPTConfig
from langladder.models.ngrams.kneser_ney import KneserNey


class TextComparisonConfig(TextConfig, NetworkComparisonConfig):
    """Settings of `TextComparison`."""

    bases: list[Network] = Field(min_length=1)
    metric: Literal["perplexity"] = "perplexity"


class TextComparison(Comparison[TextComparisonConfig]):
    """Variants of a small LSTM or GPT."""

    Config: ClassVar[type[schema.Config]] = TextComparisonConfig
    reads = ("tokens/text",)
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {"perplexity": Metric("perplexity per token")}

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        return {"perplexity": measured(KneserNey, {"order": ORDER}, data, self.config, seed=1).perplexity}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds

        def trial(base: Any, change: Change, seed: int) -> Scored:
            kind, settings, training = self.config.variant(base, change)
            parameters, perplexity = measured(kind, settings, data, self.config, seed=seed, changes=training)
            return parameters, {"perplexity": perplexity}

        return trial


class SparseAttentionConfig(TextComparisonConfig):
    """Settings of `SparseAttention`."""

    bases: list[Literal["gpt"]] = Field(min_length=1)  # type: ignore[assignment]
    metric: Literal["perplexity", "products"] = "perplexity"  # type: ignore[assignment]


class SparseAttention(TextComparison):
    """Variants of a small GPT, with the multiplications of their attention."""

    Config: ClassVar[type[schema.Config]] = SparseAttentionConfig
    metrics: ClassVar[dict[str, Metric]] = {
        **TextComparison.metrics,
        "products": Metric("multiplications of attention per token"),
    }
    config: SparseAttentionConfig

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        perplexity = super().measure(data, seeds)

        def trial(base: Any, change: Change, seed: int) -> Scored:
            parameters, values = perplexity(base, change, seed)
            _, settings, training = self.config.variant(base, change)
            length = int(training.get("sequence_length", self.config.sequence_length))  # type: ignore[call-overload]
            products = attention_products(GPTConfig.model_validate(settings), length) / length
            return parameters, {**values, "products": products}

        return trial


def attention_products(config: GPTConfig, length: int) -> float:
    """Multiplications for the scores and weighted sums of all layers, for one row of `length` tokens."""
    total = 0
    for layer in range(config.layers):
        window = config.sparse_window if layer % 2 else None
        read = length if window is None or window >= length else min(length, 2 * window)
        # 2 D T S, with S the number of computed scores per position
        total += 2 * config.width * length * read
    return float(total)
