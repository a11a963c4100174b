"""What more text is worth: perplexity by the size of the training text (Banko & Brill 2001; Hestness et al. 2017).

An n-gram, an LSTM and a GPT each see growing first parts of the same text. The networks make the same number of steps
on each part, so that less text means reading it more often, not training less.
"""

from itertools import pairwise
from typing import Any, ClassVar

from pydantic import Field

from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.small_models import TITLES, TextConfig, first_part, measured
from langladder.ground import schema
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.kneser_ney import KneserNey


class DataSizeConfig(TextConfig):
    """Settings of `DataSize`."""

    shares: list[float] = Field(default=[1 / 64, 1 / 32, 1 / 16, 1 / 8], min_length=2)  # of the training text, rising
    order: int = Field(default=3, ge=2, le=6)  # of the n-gram


class DataSize(Experiment[DataSizeConfig]):
    """Perplexity by training tokens; a line a model."""

    Config: ClassVar[type[schema.Config]] = DataSizeConfig
    reads = ("tokens/text",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, train = self.config, data.stream("train")
        found: dict[str, dict[int, float]] = {name: {} for name in self._models()}
        for share in config.shares:
            text = first_part(train, share)
            for name, (kind, settings) in self._models().items():
                found[name][len(text.ids)] = measured(kind, settings, data, config, seed=seed, text=text).perplexity
            said = ", ".join(f"{name} {list(by.values())[-1]:.2f}" for name, by in found.items())
            progress(f"{len(text.ids):,} tokens: perplexity {said}")
        return findings(found)

    def _models(self) -> dict[str, tuple[type[LanguageModel], dict[str, Any]]]:
        counted = {f"Kneser–Ney {self.config.order}-gram": (KneserNey, {"order": self.config.order})}
        return counted | {title: self.config.small(name) for name, title in TITLES.items()}


def findings(found: dict[str, dict[int, float]]) -> Findings:
    """The claim holds where every model gets better with every enlargement of the text."""
    curves = {name: list(by.values()) for name, by in found.items()}
    sizes = list(next(iter(found.values())))
    holds = all(more < less for curve in curves.values() for less, more in pairwise(curve))
    times = sizes[-1] / sizes[0]
    said = ", ".join(f"{name} {curve[0]:.2f} → {curve[-1]:.2f}" for name, curve in curves.items())
    first, last = (min(curves, key=lambda name: curves[name][place]) for place in (0, -1))
    lead = (
        f"{first} leads at every size" if first == last else f"{first} leads with the least text, {last} with the most"
    )
    return Findings(
        holds=holds,
        verdict=opened(holds, f"with {times:.0f} times the text the perplexity goes {said}; {lead}."),
        columns=["model", *(f"{size:,} tokens" for size in sizes)],
        rows=[[name, *map(rounded, curve)] for name, curve in curves.items()],
        plots=[
            Plot(
                title="Perplexity by size of the text",
                x_label="tokens of training text",
                y_label="perplexity per token (test)",
                log_x=True,
                log_y=True,
                series=[series(name, sizes, curve) for name, curve in curves.items()],
            )
        ],
        figures={figure(name, "with all"): rounded(curve[-1]) or 0.0 for name, curve in curves.items()},
    )
