"""The value of more text: perplexity by the size of the training text (Banko & Brill 2001; Hestness et al. 2017).

An n-gram, an LSTM and a GPT train on the first parts of the same text, of increasing size. The networks make the same
number of steps on each part, so with less text they read it more often and do not train less. Every enlargement must
help: a model that does not improve with more text refutes the claim. A network that is behind the n-gram of the largest
part has not learned, so nothing is judged of it.
"""

import math
from typing import Any, ClassVar, Literal

from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.language.small_models import COUNTED, ORDER, TextConfig, first_part, measured
from langladder.experiments.experiment import Data
from langladder.ground import schema


class Variant(schema.Config):
    """The varied setting: the share of the training text."""

    share: float = Field(gt=0, le=1)


class DataSizeConfig(TextConfig, ComparisonConfig):
    """Settings of `DataSize`."""

    VARIANT = Variant
    bases: list[Literal["kneser_ney", "lstm", "gpt"]] = Field(min_length=1)
    metric: Literal["loss", "perplexity"] = "loss"
    order: int = Field(default=ORDER, ge=2, le=6)  # order of the n-gram


class DataSize(Comparison[DataSizeConfig]):
    """Loss by share of the text; one line per model."""

    Config: ClassVar[type[schema.Config]] = DataSizeConfig
    reads = ("tokens/text",)
    titles = COUNTED
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("loss, nats per token", drawn=False),
        "perplexity": Metric("perplexity per token (test)"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config = self.config

        def trial(base: Any, change: Change, seed: int) -> Scored:
            text = first_part(data.stream("train"), Variant(**change).share)
            kind, settings = config.counted(config.order) if base == "kneser_ney" else config.small(base)
            parameters, perplexity = measured(kind, settings, data, config, seed=seed, text=text)
            return parameters, {"loss": math.log(perplexity), "perplexity": perplexity}

        return trial
