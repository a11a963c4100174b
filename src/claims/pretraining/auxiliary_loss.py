"""The language model's loss in addition to the task's, L3 = L2 + λ L1, by number of labels (Radford et al. 2018, 3.2,
5).

The same pre-trained GPT is fine-tuned with each λ (`lm_weight`). In the paper, larger data sets gain from λ = 0.5 and
smaller ones do not.
"""

from typing import ClassVar, Literal

from claims.comparison import Measure
from claims.declaration import Metric
from claims.pretraining.transfer_comparison import TransferComparison, TransferComparisonConfig
from claims.reading.by_labels import METRICS, CountsConfig, by_counts
from langladder.experiments.experiment import Data
from langladder.ground import schema


class AuxiliaryLossConfig(TransferComparisonConfig, CountsConfig):
    """Settings of `AuxiliaryLoss`."""

    metric: Literal["all", "few", "fades"] = "all"  # type: ignore[assignment]


class AuxiliaryLoss(TransferComparison):
    """Accuracy by number of labels; one line per λ."""

    Config: ClassVar[type[schema.Config]] = AuxiliaryLossConfig
    metrics: ClassVar[dict[str, Metric]] = METRICS
    config: AuxiliaryLossConfig

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        del data
        return {"all": self.majority}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        return by_counts(self, data)
