"""`Comparison` of classifiers that start from one pre-trained body, by how the body is used, read and trained.

The body is pre-trained once. Networks with different seeds differ in their heads, in layers that are not from the body,
and in their training texts (`body_rungs`, `reading_comparison`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from claims.comparison import Values
from claims.pretraining.body_rungs import FineTunedRung, FineTuningConfig, fine_tuned_rung, pretrained
from claims.pretraining.small_bodies import Body
from claims.reading.reading_comparison import LabelComparison, ReadingComparisonConfig
from claims.reading.reading_training import Texts, right_labels
from langladder.experiments.experiment import Data, Progress, Source
from langladder.experiments.findings import Findings
from langladder.ground import schema
from langladder.text.labelled.labelled import Example


class TransferComparisonConfig(FineTuningConfig, ReadingComparisonConfig):
    """Settings of `TransferComparison`."""

    INPUTS: ClassVar[dict[str, type]] = {}
    rungs: dict[str, FineTunedRung] = Field(min_length=1)  # type: ignore[assignment]

    @model_validator(mode="after")
    def _variants_can_grow(self) -> Self:
        for base in self.bases:
            for change in self.changes().values():
                rung, model, _ = self.variant(base, change)
                self.check_fine_tuned(rung, model)
        return self


class TransferComparison(LabelComparison):
    """Variants of rungs that start from a pre-trained network, on the labelled texts."""

    Config: ClassVar[type[schema.Config]] = TransferComparisonConfig
    reads: ClassVar[tuple[Source, ...]] = ("clean/labels", "tokens/text")
    config: TransferComparisonConfig
    bodies: Mapping[str, Body]

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        self.bodies = pretrained(self.config, data, seed=seed, progress=progress)
        return super().examine(data, seed=seed, progress=progress)

    def fit(self, data: Data, rung: Any, texts: Texts, training: Any, *, seed: int, model: Any, extra: Any) -> Any:
        """See `LabelComparison.fit`."""
        del extra
        base = self.bodies[self.config.body_of(rung)]
        return fine_tuned_rung(rung, base, data.tokenizer(), texts, training, seed=seed, model=model)

    def measures(self, result: Any, test: Sequence[Example]) -> Values:
        """See `LabelComparison.measures`; includes whether each text is right."""
        return {**super().measures(result, test), "accuracy": right_labels(result, test)}
