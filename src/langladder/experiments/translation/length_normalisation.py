"""Dividing a translation's log-probability by its length (Wu et al. 2016, section 7; Ng 2018).

    score(y) = Σ_t log P(y_t | y_<t, x) / T^α       α = 0: the plain sum, α = 1: the mean a token

Each token makes the plain sum smaller, so that a search by it prefers short translations. One small translator,
searched with the same beam and several α.
"""

from typing import ClassVar, NamedTuple

from pydantic import Field

from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.bleu import score_translations
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, lines, mean_figures, opened, rounded
from langladder.experiments.statistics import above, difference, every, gated, mean
from langladder.experiments.translation.small_translators import Network, TranslationConfig, trained
from langladder.experiments.translation.translation_judge import Judge
from langladder.ground import schema

LEAST = 5.0
"""BLEU below which a translator has learnt too little to say anything."""


class LengthNormalisationConfig(TranslationConfig, RepeatedConfig):
    """Settings of `LengthNormalisation`."""

    network: Network = "transformer"
    alphas: list[float] = Field(default=[0.0, 0.2, 0.4, 0.6, 0.7, 0.8, 1.0], min_length=2)
    beam: int = Field(default=10, ge=2)  # wide: the wider, the more short translations are found


class Normalised(NamedTuple):
    """Of the translations with one α: BLEU, their length as a share of the references', BLEU of either half of them."""

    bleu: float
    ratio: float
    chosen_by: float
    judged_by: float


class LengthNormalisation(Experiment[LengthNormalisationConfig]):
    """BLEU and length ratio by α."""

    Config: ClassVar[type[schema.Config]] = LengthNormalisationConfig
    reads = ("tokens/parallel",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        found: dict[float, list[Normalised]] = {alpha: [] for alpha in sorted(config.alphas)}
        judge = Judge.open(data, config.fewer(config.test_sentences))
        for one in config.numbers(seed):
            model, _ = trained(*config.small(config.network), data, config, seed=one)
            for alpha, some in found.items():
                some.append(_normalised(judge, judge.translations(model, BeamConfig(width=config.beam, alpha=alpha))))
                progress(f"α = {alpha}: BLEU {some[-1].bleu:.2f}, length ratio {some[-1].ratio:.3f}")
        return findings(found, config.margin)


def _normalised(judge: Judge, outputs: list[str]) -> Normalised:
    whole = score_translations(outputs, judge.references, judge.bleu)
    halves = [score_translations(outputs[part::2], judge.references[part::2], judge.bleu).bleu for part in (0, 1)]
    return Normalised(whole.bleu, whole.hypothesis_length / whole.reference_length, *halves)


def findings(found: dict[float, list[Normalised]], margin: float) -> Findings:
    """It holds where the smallest α gives too short translations, the largest longer, and the best α better ones.

    The best α of a network is the one with the highest BLEU of every second sentence; the others judge it.

    Args:
        margin: BLEU, and hundredths of the length, that count.
    """
    alphas = sorted(found)
    bleu = {alpha: [one.bleu for one in found[alpha]] for alpha in alphas}
    ratio = {alpha: [one.ratio for one in found[alpha]] for alpha in alphas}
    least, most = alphas[0], alphas[-1]
    gains = []
    for number, plain in enumerate(found[least]):
        chosen = max((found[alpha][number] for alpha in alphas[1:]), key=lambda one: one.chosen_by)
        gains.append(chosen.judged_by - plain.judged_by)
    gate = above(bleu[most], LEAST, "nothing was learnt: BLEU")
    short = difference(1.0, ratio[least]).exceeds(margin / 100)
    longer = difference(ratio[most], ratio[least]).exceeds(margin / 100)
    verdict = gated([gate], every([short, longer, difference(gains, 0.0).exceeds(margin)]))
    best = max(alphas[1:], key=lambda alpha: mean(bleu[alpha]))
    return Findings(
        **opened(
            verdict,
            f"from α = {least:g} to {most:g} the translations' length goes from {mean(ratio[least]):.3f} to "
            f"{mean(ratio[most]):.3f} of the references'; BLEU is {mean(bleu[least]):.2f} at {least:g} and, at best of "
            f"the others, {mean(bleu[best]):.2f} at {best:g}. At the α that every second sentence chooses, BLEU of the "
            f"others changes by {mean(gains):+.2f}.",
        ),
        columns=["α", "BLEU", "length ratio"],
        rows=[[alpha, rounded(mean(bleu[alpha])), rounded(mean(ratio[alpha]))] for alpha in alphas],
        plots=[
            _plot("BLEU by length normalisation", "BLEU", bleu, {}),
            _plot(
                "Length by length normalisation",
                "length, share of the references'",
                ratio,
                {"the references' length": 1.0},
            ),
        ],
        figures=mean_figures({f"bleu_{alpha:g}": bleu[alpha] for alpha in alphas})
        | mean_figures({f"ratio_{alpha:g}": ratio[alpha] for alpha in alphas}),
    )


def _plot(title: str, label: str, values: dict[float, list[float]], levels: dict[str, float]) -> Plot:
    axis = "α of the length normalisation"
    return Plot(title=title, x_label=axis, y_label=label, series=lines({label: values}), levels=levels)
