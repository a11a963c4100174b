"""How wide to search (Sutskever et al. 2014, table 1; Koehn & Knowles 2017, section 3.6; Ng 2018, error analysis).

    search error   score(y*) > score(ŷ)   the model prefers the reference, and the search did not find it

One small translator, searched with several widths. A wider beam can only mend search errors; what it finds is more
probable, which is not to say better.
"""

from itertools import pairwise
from typing import ClassVar

from pydantic import Field

from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.translation import WidthResult, by_width
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, Shown, lines, mean_figures, opened, rounded
from langladder.experiments.statistics import Verdict, above, difference, every, gated, mean
from langladder.experiments.translation.small_translators import Network, TranslationConfig, trained
from langladder.experiments.translation.translation_judge import Judge
from langladder.ground import schema

USUAL = 5
"""The width beyond which the claim expects hardly better translations."""
LEAST = 5.0
"""BLEU below which a translator has learnt too little to say anything."""


class BeamWidthConfig(TranslationConfig, RepeatedConfig):
    """Settings of `BeamWidth`."""

    network: Network = "transformer"
    widths: list[int] = Field(default=[1, 2, 3, 5, 10, 20], min_length=2)
    alpha: float = Field(default=0.7, ge=0, le=2)  # of the length normalisation
    margin: float = Field(default=0.5, ge=0)  # BLEU that count as more than hardly better


class BeamWidth(Experiment[BeamWidthConfig]):
    """BLEU, search errors and time by beam width."""

    Config: ClassVar[type[schema.Config]] = BeamWidthConfig
    reads = ("tokens/parallel",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        judge = Judge.open(data, config.fewer(config.test_sentences))
        beam, widths = BeamConfig(alpha=config.alpha), sorted(config.widths)
        found: list[list[WidthResult]] = []
        for one in config.numbers(seed):
            model, _ = trained(*config.small(config.network), data, config, seed=one)
            found.append(by_width(model, judge.sentences, judge.tokenizer, beam, widths, judge.bleu))
            for result in found[-1]:
                progress(f"width {result.width}: BLEU {result.bleu:.2f}, {result.errors.search} search errors")
        return findings([list(some) for some in zip(*found, strict=True)], config.margin)


def findings(results: list[list[WidthResult]], margin: float) -> Findings:
    """It holds where the widest beam has fewer search errors than the narrowest, and BLEU hardly rises beyond 5.

    Args:
        results: of each width, a value a seed.
    """
    widths = [some[0].width for some in results]
    bleu = {width: [one.bleu for one in some] for width, some in zip(widths, results, strict=True)}
    search = {width: [float(one.errors.search) for one in some] for width, some in zip(widths, results, strict=True)}
    first, last = widths[0], widths[-1]
    usual = max((width for width in widths if width <= USUAL), default=None)
    beyond, verdict = "", Verdict(None, f"needs a width beyond {USUAL} and one up to it")
    if usual is not None and last > USUAL:
        change = difference(bleu[last], bleu[usual])
        beyond = f"; beyond width {usual} BLEU changes by {change.mean:+.2f}"
        learnt = above(bleu[usual], LEAST, "nothing was learnt: BLEU")
        to_mend = Verdict(True) if any(search[first]) else Verdict(None, "there is no search error to mend")
        mended = difference(search[first], search[last]).exceeds()
        verdict = gated([learnt, to_mend], every([mended, (-change).within(margin)]))
    sentences = results[0][0].errors.sentences
    return Findings(
        **opened(
            verdict,
            f"from width {first} to {last}, search errors go from {mean(search[first]):g} to {mean(search[last]):g} of "
            f"{sentences} sentences, BLEU from {mean(bleu[first]):.2f} to {mean(bleu[last]):.2f}{beyond}.",
        ),
        columns=["width", "BLEU", "mean score", "wrong", "search errors", "model errors"],
        rows=[
            [float(width), *(rounded(mean(values)) for values in zip(*map(_figures, some), strict=True))]
            for width, some in zip(widths, results, strict=True)
        ],
        plots=[
            _plot("BLEU by beam width", "BLEU", bleu),
            _plot("Search errors by beam width", "search errors", search),
        ],
        figures=mean_figures({f"bleu_{width}": values for width, values in bleu.items()})
        | mean_figures({f"search_errors_{width}": values for width, values in search.items()}),
        timed=timed(results),
    )


def _figures(one: WidthResult) -> tuple[float, ...]:
    return one.bleu, one.mean_score, one.errors.wrong, one.errors.search, one.errors.model


def timed(results: list[list[WidthResult]]) -> Shown:
    """That time grows holds where every wider beam takes longer, from the narrowest on."""
    a_sentence = {some[0].width: [1000 * one.seconds / one.errors.sentences for one in some] for some in results}
    means = list(map(mean, a_sentence.values()))
    first, *_, last = a_sentence
    return Shown(
        **opened(
            Verdict(all(before < after for before, after in pairwise(means))),
            f"width {last} takes {means[-1] / means[0]:.1f} times as long as width {first}, "
            f"{means[-1]:.1f} ms per sentence against {means[0]:.1f}.",
        ),
        columns=["width", "ms per sentence"],
        rows=[[float(width), rounded(value)] for width, value in zip(a_sentence, means, strict=True)],
        plots=[_plot("Time by beam width", "ms per sentence", a_sentence)],
    )


def _plot(title: str, label: str, values: dict[int, list[float]]) -> Plot:
    return Plot(title=title, x_label="beam width", y_label=label, series=lines({label: values}), log_x=True)
