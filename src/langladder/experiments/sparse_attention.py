"""`Comparison` of dense and locally banded attention: what is computed, and the perplexity (Child et al. 2019; Brown et
al. 2020, section 2.1).

Of T positions each layer's attention multiplies, for its scores and for the mixing of values,

    dense     2 D T²
    banded    2 D T · min(T, 2w)     every block of w reads itself and the block before (`nn.multi_head_attention`)

What a mask then takes away is computed, too, and counted. Matrices cost the same in both.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from langladder.experiments.comparison import Measure, Metric
from langladder.experiments.experiment import Data
from langladder.experiments.text_comparison import TextComparison, TextComparisonConfig
from langladder.ground import schema
from langladder.models.language.gpt import GPTConfig


class SparseAttentionConfig(TextComparisonConfig):
    """Settings of `SparseAttention`."""

    bases: list[Literal["gpt"]] = Field(min_length=1)  # type: ignore[assignment]
    metric: Literal["perplexity", "products"] = "perplexity"  # type: ignore[assignment]


class SparseAttention(TextComparison):
    """Variants of a small GPT, with what their attention computes."""

    Config: ClassVar[type[schema.Config]] = SparseAttentionConfig
    metrics: ClassVar[dict[str, Metric]] = {
        **TextComparison.metrics,
        "products": Metric("multiplications of attention per token"),
    }
    config: SparseAttentionConfig

    def measure(self, data: Data) -> Measure:
        """See `Comparison.measure`."""
        perplexity = super().measure(data)

        def one(kind: Any, settings: dict[str, Any], training: dict[str, Any], seed: int) -> Any:
            parameters, values = perplexity(kind, settings, training, seed)
            length = int(training.get("sequence_length", self.config.sequence_length))
            products = attention_products(GPTConfig.model_validate(settings), length) / length
            return parameters, {**values, "products": products}

        return one


def attention_products(config: GPTConfig, length: int) -> float:
    """Multiplications of scores and of mixed values in all layers, of one row of `length` tokens."""
    total = 0
    for layer in range(config.layers):
        window = config.sparse_window if layer % 2 else None
        read = length if window is None or window >= length else min(length, 2 * window)
        # 2 D T S, S the positions whose scores are computed for each
        total += 2 * config.width * length * read
    return float(total)
