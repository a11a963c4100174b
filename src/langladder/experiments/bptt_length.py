"""How far truncated back-propagation through time must reach (Williams & Peng 1990; Mikolov et al. 2010).

The gradient is cut every T steps; the state is carried on. A step of T tokens in B streams costs B · T, so with B · T
and the number of steps held fixed every length sees equally many tokens and makes equally many updates; what differs
is how far a mistake is traced back.
"""

from typing import ClassVar

from pydantic import Field, model_validator

from langladder import schema
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_models import TextConfig, fit
from langladder.models.recurrent import RecurrentLM

MUCH = 1.02  # perplexities within this factor are called alike


class BpttLengthConfig(TextConfig):
    """Settings of `BpttLength`."""

    lengths: list[int] = Field(default=[1, 2, 4, 16, 64], min_length=2)  # T, rising
    tokens_a_step: int = Field(default=256, ge=1)  # B · T

    @model_validator(mode="after")
    def _lengths_divide(self) -> "BpttLengthConfig":
        if any(self.tokens_a_step % length for length in self.lengths):
            raise ValueError(f"tokens_a_step={self.tokens_a_step} must be a multiple of each of lengths={self.lengths}")
        return self


class BpttLength(Experiment[BpttLengthConfig]):
    """Perplexity of an LSTM by the length that its gradient reaches back."""

    Config: ClassVar[type[schema.Config]] = BpttLengthConfig
    reads = ("tokens/text",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config = self.config
        settings = {"cell": "lstm", "width": config.width, "embedding_dim": config.width}
        found: dict[int, float] = {}
        for length in config.lengths:
            size = {"sequence_length": length, "batch_size": config.tokens_a_step // length}
            found[length] = fit(RecurrentLM, settings, data, config, seed=seed, changes=size).perplexity
            progress(f"length {length}: perplexity {found[length]:.2f}")
        return findings(found)


def findings(found: dict[int, float]) -> Findings:
    """The claim holds where the shortest length is worse than the best, and one below the longest is as good."""
    lengths = list(found)
    best = min(found, key=lambda length: found[length])
    enough = next(length for length in lengths if found[length] <= MUCH * found[best])
    holds = lengths[0] < enough < lengths[-1]
    return Findings(
        holds=holds,
        verdict=opened(
            holds,
            f"cut every {lengths[0]} steps the perplexity is {found[lengths[0]]:.2f}, every {lengths[-1]} steps "
            f"{found[lengths[-1]]:.2f}; best is {found[best]:.2f} at {best}, and {enough} is the shortest within "
            f"{100 * (MUCH - 1):.0f} % of it.",
        ),
        columns=["steps back", "perplexity a token"],
        rows=[[str(length), rounded(value)] for length, value in found.items()],
        plots=[
            Plot(
                title="Truncated back-propagation",
                x_label="steps that the gradient reaches back",
                y_label="perplexity a token (test)",
                log_x=True,
                series=[series("LSTM", lengths, found.values())],
            )
        ],
        figures={f"perplexity_{length}": rounded(value) or 0.0 for length, value in found.items()},
    )
