"""`Comparison` of language models on the corpus, by perplexity on the test text."""

import math
from typing import Any, ClassVar, Literal

from pydantic import Field

from langladder.experiments.comparison import Comparison, ComparisonConfig, Measure, Metric
from langladder.experiments.experiment import Data
from langladder.experiments.small_models import TITLES, Network, TextConfig, measured
from langladder.experiments.training import unigram_loss
from langladder.ground import schema


class TextComparisonConfig(TextConfig, ComparisonConfig):
    """Settings of `TextComparison`."""

    bases: list[Network] = Field(min_length=1)
    metric: Literal["perplexity"] = "perplexity"


class TextComparison(Comparison[TextComparisonConfig]):
    """Variants of a small LSTM or GPT."""

    Config: ClassVar[type[schema.Config]] = TextComparisonConfig
    reads = ("tokens/text",)
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {"perplexity": Metric("perplexity per token")}

    def frequencies(self, data: Data) -> dict[str, float]:
        """See `Comparison.frequencies`."""
        return {"perplexity": math.exp(unigram_loss(data.stream("train").ids))}

    def measure(self, data: Data) -> Measure:
        """See `Comparison.measure`."""

        def one(kind: Any, settings: dict[str, object], training: dict[str, object], seed: int) -> Any:
            parameters, perplexity = measured(kind, settings, data, self.config, seed=seed, changes=training)
            return parameters, {"perplexity": perplexity}

        return one
