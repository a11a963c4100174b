"""Dividing a translation's log-probability by its length (Wu et al. 2016, section 7; Ng 2018).

    score(y) = Σ_t log P(y_t | y_<t, x) / T^α       α = 0: the plain sum, α = 1: the mean a token

Each token makes the plain sum smaller, so that a search by it prefers short translations. One small translator,
searched with the same beam and several α.
"""

from typing import ClassVar, NamedTuple

from pydantic import Field

from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.bleu import score_translations
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_translators import Network, TranslationConfig, trained
from langladder.experiments.translation_judge import Judge
from langladder.ground import schema


class LengthNormalisationConfig(TranslationConfig):
    """Settings of `LengthNormalisation`."""

    network: Network = "transformer"
    alphas: list[float] = Field(default=[0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 1.0], min_length=2)
    beam: int = Field(default=10, ge=2)  # wide: the wider, the more short translations are found


class Normalised(NamedTuple):
    """Of the translations with one α: BLEU, and their length as a share of the references'."""

    bleu: float
    ratio: float


class LengthNormalisation(Experiment[LengthNormalisationConfig]):
    """BLEU and length ratio by α."""

    Config: ClassVar[type[schema.Config]] = LengthNormalisationConfig
    reads = ("tokens/parallel",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, found = self.config, {}
        judge = Judge.open(data, config.fewer(config.test_sentences))
        model, _ = trained(*config.small(config.network), data, config, seed=seed)
        for alpha in sorted(config.alphas):
            outputs = judge.translations(model, BeamConfig(width=config.beam, alpha=alpha))
            score = score_translations(outputs, judge.references, judge.bleu)
            found[alpha] = Normalised(score.bleu, score.hypothesis_length / score.reference_length)
            progress(f"α = {alpha}: BLEU {score.bleu:.2f}, length ratio {found[alpha].ratio:.3f}")
        return findings(found)


def findings(found: dict[float, Normalised]) -> Findings:
    """It holds where the smallest α gives too short translations, the largest longer, and some larger α better."""
    alphas = sorted(found)
    least, most = found[alphas[0]], found[alphas[-1]]
    best = max(alphas[1:], key=lambda alpha: found[alpha].bleu)
    holds = least.ratio < 1 and most.ratio > least.ratio and found[best].bleu > least.bleu
    return Findings(
        holds=holds,
        verdict=opened(
            holds,
            f"from α = {alphas[0]:g} to {alphas[-1]:g} the translations' length goes from {least.ratio:.3f} to "
            f"{most.ratio:.3f} of the references'; BLEU is {least.bleu:.2f} at {alphas[0]:g} and, at best of the "
            f"others, {found[best].bleu:.2f} at {best:g}.",
        ),
        columns=["α", "BLEU", "length ratio"],
        rows=[[alpha, rounded(one.bleu), rounded(one.ratio)] for alpha, one in sorted(found.items())],
        plots=[
            _plot("BLEU by length normalisation", "BLEU", alphas, [found[alpha].bleu for alpha in alphas], {}),
            _plot(
                "Length by length normalisation",
                "length, share of the references'",
                alphas,
                [found[alpha].ratio for alpha in alphas],
                {"the references' length": 1.0},
            ),
        ],
        figures={f"bleu_{alpha:g}": rounded(found[alpha].bleu) or 0.0 for alpha in alphas}
        | {f"ratio_{alpha:g}": rounded(found[alpha].ratio) or 0.0 for alpha in alphas},
    )


def _plot(title: str, label: str, alphas: list[float], values: list[float], levels: dict[str, float]) -> Plot:
    lines = [series(label, alphas, values)]
    return Plot(title=title, x_label="α of the length normalisation", y_label=label, series=lines, levels=levels)
