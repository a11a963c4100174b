"""Dividing a translation's log-probability by its length (Wu et al. 2016, section 7; Ng 2018).

    score(y) = Σ_t log P(y_t | y_<t, x) / T^α       α = 0: the plain sum, α = 1: the mean per token

Each token makes the plain sum smaller, so a search with it prefers short translations. The experiment searches one
small translator with the same beam and several α.

The best α of a network has the highest BLEU on every second sentence; it is evaluated on the others.
"""

from functools import cache
from typing import ClassVar, Literal, NamedTuple

from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.translation.small_translators import TITLES, Network, TranslationConfig, trained
from claims.translation.translation_judge import Judge
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.bleu import score_translations
from langladder.experiments.experiment import Data
from langladder.ground import schema


class Variant(schema.Config):
    """The varied setting: α."""

    alpha: float = Field(ge=0, le=2)


class LengthNormalisationConfig(TranslationConfig, ComparisonConfig):
    """Settings of `LengthNormalisation`."""

    VARIANT = Variant
    bases: list[Network] = Field(min_length=1)
    metric: Literal["bleu", "ratio", "chosen"] = "bleu"
    beam: int = Field(default=10, ge=2)  # wide, because a wider beam finds more short translations


class Normalised(NamedTuple):
    """Results of the translations with one α: BLEU, their length as a share of the references', BLEU of each half."""

    bleu: float
    ratio: float
    chosen_by: float
    judged_by: float


class LengthNormalisation(Comparison[LengthNormalisationConfig]):
    """BLEU and length ratio by α."""

    Config: ClassVar[type[schema.Config]] = LengthNormalisationConfig
    reads = ("tokens/parallel",)
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {
        "bleu": Metric("BLEU", more_is_better=True),
        "ratio": Metric("length, share of the references'", more_is_better=True),
        "chosen": Metric("BLEU on the half that does not select α", more_is_better=True, drawn=False),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        config, judge = self.config, Judge.open(data, self.config.fewer(self.config.test_sentences))
        alphas = sorted(Variant.model_validate(change).alpha for change in config.changes().values())

        @cache
        def searched(base: Network, seed: int) -> tuple[int, dict[float, Normalised]]:
            model, _ = trained(*config.small(base), data, config, seed=seed)
            beams = {alpha: BeamConfig(width=config.beam, alpha=alpha) for alpha in alphas}
            scores = {alpha: _normalised(judge, judge.translations(model, beam)) for alpha, beam in beams.items()}
            return model.number_of_parameters(), scores

        def trial(base: Network, change: Change, seed: int) -> Scored:
            parameters, scores = searched(base, seed)
            alpha = Variant(**change).alpha
            own, chosen = scores[alpha], max((scores[alpha] for alpha in alphas[1:]), key=lambda score: score.chosen_by)
            judged_by = own.judged_by if alpha == alphas[0] else chosen.judged_by
            return parameters, {"bleu": own.bleu, "ratio": own.ratio, "chosen": judged_by}

        return trial


def _normalised(judge: Judge, outputs: list[str]) -> Normalised:
    whole = score_translations(outputs, judge.references, judge.bleu)
    halves = [score_translations(outputs[part::2], judge.references[part::2], judge.bleu).bleu for part in (0, 1)]
    return Normalised(whole.bleu, whole.hypothesis_length / whole.reference_length, *halves)
