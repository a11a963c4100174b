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
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, Shown, opened, rounded, series
from langladder.experiments.small_translators import Network, TranslationConfig, trained
from langladder.experiments.translation_judge import Judge
from langladder.ground import schema

USUAL = 5
"""The width beyond which the claim expects hardly better translations."""
HARDLY = 0.5
"""BLEU that count as hardly better."""


class BeamWidthConfig(TranslationConfig):
    """Settings of `BeamWidth`."""

    network: Network = "transformer"
    widths: list[int] = Field(default=[1, 2, 3, 5, 10, 20], min_length=2)
    alpha: float = Field(default=0.7, ge=0, le=2)  # of the length normalisation


class BeamWidth(Experiment[BeamWidthConfig]):
    """BLEU, search errors and time by beam width."""

    Config: ClassVar[type[schema.Config]] = BeamWidthConfig
    reads = ("tokens/parallel",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config = self.config
        judge = Judge.open(data, config.fewer(config.test_sentences))
        model, _ = trained(*config.small(config.network), data, config, seed=seed)
        beam, widths = BeamConfig(alpha=config.alpha), sorted(config.widths)
        results = by_width(model, judge.sentences, judge.tokenizer, beam, widths, judge.bleu)
        for result in results:
            progress(f"width {result.width}: BLEU {result.bleu:.2f}, {result.errors.search} search errors")
        return findings(results)


def findings(results: list[WidthResult]) -> Findings:
    """It holds where the widest beam has fewer search errors than the narrowest, and BLEU hardly rises beyond 5."""
    first, last = results[0], results[-1]
    narrow = [result.bleu for result in results if result.width <= USUAL]
    gain = last.bleu - max(narrow) if narrow and last.width > USUAL else None
    holds = None  # nothing to mend, or no width on one side of the usual one
    if gain is not None and first.errors.search:
        holds = last.errors.search < first.errors.search and gain < HARDLY
    beyond = "" if gain is None else f"; beyond width {USUAL} BLEU changes by {gain:+.2f}"
    widths = [result.width for result in results]
    return Findings(
        holds=holds,
        verdict=opened(
            holds,
            f"from width {first.width} to {last.width}, search errors go from {first.errors.search} to "
            f"{last.errors.search} of {first.errors.sentences} sentences, BLEU from {first.bleu:.2f} to "
            f"{last.bleu:.2f}{beyond}.",
        ),
        columns=["width", "BLEU", "mean score", "wrong", "search errors", "model errors"],
        rows=[
            [
                float(one.width),
                *map(rounded, (one.bleu, one.mean_score)),
                *map(float, (one.errors.wrong, one.errors.search, one.errors.model)),
            ]
            for one in results
        ],
        plots=[
            _plot("BLEU by beam width", "BLEU", widths, [one.bleu for one in results]),
            _plot(
                "Search errors by beam width", "search errors", widths, [float(one.errors.search) for one in results]
            ),
        ],
        figures={f"bleu_{one.width}": rounded(one.bleu) or 0.0 for one in results}
        | {f"search_errors_{one.width}": float(one.errors.search) for one in results},
        timed=timed(results),
    )


def timed(results: list[WidthResult]) -> Shown:
    """That time grows holds where every wider beam takes longer, from the narrowest on."""
    a_sentence = [1000 * one.seconds / one.errors.sentences for one in results]
    holds = all(before < after for before, after in pairwise(a_sentence))
    first, last = results[0], results[-1]
    return Shown(
        holds=holds,
        verdict=opened(
            holds,
            f"width {last.width} takes {last.seconds / first.seconds:.1f} times as long as width {first.width}, "
            f"{a_sentence[-1]:.1f} ms per sentence against {a_sentence[0]:.1f}.",
        ),
        columns=["width", "ms per sentence"],
        rows=[[float(one.width), rounded(value)] for one, value in zip(results, a_sentence, strict=True)],
        plots=[_plot("Time by beam width", "ms per sentence", [one.width for one in results], a_sentence)],
    )


def _plot(title: str, label: str, widths: list[int], values: list[float]) -> Plot:
    return Plot(title=title, x_label="beam width", y_label=label, series=[series(label, widths, values)], log_x=True)
