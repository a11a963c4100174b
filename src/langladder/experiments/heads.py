"""One attention or several side by side, at the same width (Vaswani et al. 2017, table 3, rows A).

    head_i = softmax(Q_i K_iᵀ / √d) V_i,   i = 1 … h,   d = D/h

However many heads, the matrices W_Q, W_K, W_V, W_O are D × D and cost the same. One head mixes the whole source by one
set of weights; h heads look at h places at once, each with fewer numbers to tell the places apart.
"""

from typing import ClassVar

from pydantic import Field, model_validator

from langladder import schema
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_translators import TranslationConfig, compare
from langladder.experiments.statistics import mean, spread
from langladder.experiments.translation_judge import Score


class HeadsConfig(TranslationConfig):
    """Settings of `Heads`."""

    heads: list[int] = Field(default=[1, 2, 4, 8], min_length=2)
    seeds: int = Field(default=2, ge=1)

    @model_validator(mode="after")
    def _check(self) -> "HeadsConfig":
        if 1 not in self.heads:
            raise ValueError(f"heads={self.heads}: one head must be among them, to compare with")
        wrong = [number for number in self.heads if number < 1 or self.width % number]
        if wrong:
            raise ValueError(f"heads={wrong} do not divide width={self.width}: each head takes an equal part")
        return self


class Heads(Experiment[HeadsConfig]):
    """Perplexity and BLEU of a small Transformer by its number of heads."""

    Config: ClassVar[type[schema.Config]] = HeadsConfig
    reads = ("tokens/parallel",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config = self.config
        variants = {str(number): {"heads": number} for number in config.heads}
        seeds = range(seed, seed + config.fewer(config.seeds))
        scores = compare(variants, data, config, seeds=seeds, progress=lambda line: progress(f"heads {line}"))
        return findings({int(name): found for name, found in scores.items()})


def findings(found: dict[int, list[Score]]) -> Findings:
    """The claim holds where some number of heads has a lower loss than one, by more than twice the spread."""
    losses = {number: [score.loss for score in scores] for number, scores in found.items()}
    noise = max(spread(values) or 0.0 for values in losses.values())
    best = min((number for number in found if number > 1), key=lambda number: mean(losses[number]))
    gain = mean(losses[1]) - mean(losses[best])
    holds = gain > 2 * noise
    bleus = {number: [score.bleu for score in scores] for number, scores in found.items()}
    perplexities = {number: [score.perplexity for score in scores] for number, scores in found.items()}
    counts = list(found)

    def plot(title: str, label: str, values: dict[int, list[float]]) -> Plot:
        lines = [series("Transformer", counts, map(mean, values.values()), map(spread, values.values()))]
        return Plot(title=title, x_label="heads", y_label=label, series=lines, log_x=True)

    return Findings(
        holds=holds,
        verdict=opened(
            holds,
            f"{best} heads do best of those with several, with {mean(losses[best]):.3f} nats a token and BLEU "
            f"{mean(bleus[best]):.1f}, against {mean(losses[1]):.3f} and {mean(bleus[1]):.1f} of one head "
            f"(± {noise:.3f} nats between seeds).",
        ),
        columns=["heads", "loss a token", "± between seeds", "perplexity", "BLEU"],
        rows=[
            [float(n), *map(rounded, (mean(losses[n]), spread(losses[n]), mean(perplexities[n]), mean(bleus[n])))]
            for n in counts
        ],
        plots=[
            plot("Perplexity by heads", "perplexity a token (test)", perplexities),
            plot("BLEU by heads", "BLEU (greedy)", bleus),
        ],
        figures={f"{number}_loss": rounded(mean(values)) or 0.0 for number, values in losses.items()}
        | {f"{number}_bleu": rounded(mean(values)) or 0.0 for number, values in bleus.items()},
    )
