"""What a small GPT loses without positions, or without residual connections (Vaswani et al. 2017; He et al. 2016).

x⁰ = E w + P         P learned, sinusoidal, or none: then only the causal mask tells the order
x' = x + F(LN(x))    without residual connections x' = F(LN(x)): every layer must carry all that the next one needs
"""

from typing import Any, ClassVar

from pydantic import Field

from langladder import schema
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.small_models import TextConfig, fit
from langladder.experiments.statistics import mean, spread
from langladder.models.gpt import GPT

VARIANTS: dict[str, dict[str, Any]] = {
    "learned positions": {"positions": "learned"},
    "sinusoidal positions": {"positions": "sinusoidal"},
    "no positions": {"positions": "none"},
    "no residual connections": {"positions": "learned", "residual": False},
}
WHOLE, BARE, BROKEN = "learned positions", "no positions", "no residual connections"


class GPTAblationsConfig(TextConfig):
    """Settings of `GPTAblations`."""

    layers: int = Field(default=4, ge=1)
    heads: int = Field(default=4, ge=1)
    seeds: int = Field(default=2, ge=1)


class GPTAblations(Experiment[GPTAblationsConfig]):
    """Perplexity of a small GPT with one part changed at a time, at the same number of steps."""

    Config: ClassVar[type[schema.Config]] = GPTAblationsConfig
    reads = ("tokens/text",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, found = self.config, {}
        size = {
            "context": config.sequence_length,
            "width": config.width,
            "layers": config.layers,
            "heads": config.heads,
        }
        for name, change in VARIANTS.items():
            seeds = range(seed, seed + config.fewer(config.seeds))
            found[name] = [fit(GPT, size | change, data, config, seed=number).perplexity for number in seeds]
            progress(f"{name}: perplexity {mean(found[name]):.2f}")
        return findings(found)


def findings(found: dict[str, list[float]]) -> Findings:
    """The claim holds where each removal costs more than the spread between seeds, with it and without."""
    means = {name: mean(values) for name, values in found.items()}
    noise = {name: spread(values) or 0.0 for name, values in found.items()}
    holds = all(means[name] - means[WHOLE] > 2 * max(noise[name], noise[WHOLE]) for name in (BARE, BROKEN))
    said = ", ".join(f"{value:.2f} with {name}" for name, value in means.items())
    return Findings(
        holds=holds,
        verdict=opened(holds, f"the perplexity is {said}."),
        columns=["network", "perplexity a token", "± between seeds"],
        rows=[[name, rounded(means[name]), rounded(spread(values))] for name, values in found.items()],
        plots=[
            Plot(
                title="Parts of a GPT",
                x_label="what was changed",
                y_label="perplexity a token (test)",
                log_y=max(means.values()) > 4 * min(means.values()),
                series=[series("GPT", list(found), means.values(), [spread(values) for values in found.values()])],
            )
        ],
        figures={figure(name): rounded(value) or 0.0 for name, value in means.items()},
    )
