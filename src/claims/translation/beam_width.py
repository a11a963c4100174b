"""The width of beam search (Sutskever et al. 2014, table 1; Koehn & Knowles 2017, section 3.6; Ng 2018, error
analysis).

    search error   score(y*) > score(ŷ)   the model prefers the reference, and the search did not find it

Beam search with several widths on one small translator. A wider beam can only correct search errors. Its results are
more probable, but not necessarily better.
"""

from functools import cache
from typing import ClassVar, Literal

from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.translation.small_translators import TITLES, Network, TranslationConfig, trained
from claims.translation.translation_judge import Judge
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.translation import WidthResult, by_width
from langladder.experiments.experiment import Data
from langladder.ground import schema


class Variant(schema.Config):
    """The varied setting: the width of the beam."""

    beam: int = Field(ge=1)


class BeamWidthConfig(TranslationConfig, ComparisonConfig):
    """Settings of `BeamWidth`."""

    VARIANT = Variant
    bases: list[Network] = Field(min_length=1)
    metric: Literal["bleu", "search", "milliseconds"] = "bleu"
    alpha: float = Field(default=0.7, ge=0, le=2)  # exponent of the length normalisation


class BeamWidth(Comparison[BeamWidthConfig]):
    """BLEU, search errors and time by beam width."""

    Config: ClassVar[type[schema.Config]] = BeamWidthConfig
    reads = ("tokens/parallel",)
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {
        "bleu": Metric("BLEU", more_is_better=True),
        "score": Metric("mean score", drawn=False),
        "wrong": Metric("wrong", drawn=False),
        "search": Metric("search errors"),
        "model": Metric("model errors", drawn=False),
        "milliseconds": Metric("ms per sentence", clock=True),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config, judge = self.config, Judge.open(data, self.config.fewer(self.config.test_sentences))
        widths = sorted(Variant.model_validate(change).beam for change in config.changes().values())

        @cache
        def searched(base: Network, seed: int) -> tuple[int, dict[int, WidthResult]]:
            model, _ = trained(*config.small(base), data, config, seed=seed)
            beam = BeamConfig(alpha=config.alpha)
            results = by_width(model, judge.sentences, judge.tokenizer, beam, widths, judge.bleu)
            return model.number_of_parameters(), {result.width: result for result in results}

        def trial(base: Network, change: Change, seed: int) -> Scored:
            parameters, results = searched(base, seed)
            result = results[Variant(**change).beam]
            errors = result.errors
            return parameters, {
                "bleu": result.bleu,
                "score": result.mean_score,
                "wrong": float(errors.wrong),
                "search": float(errors.search),
                "model": float(errors.model),
                "milliseconds": 1000 * result.seconds / errors.sentences,
            }

        return trial
