"""What a Transformer loses without positions, or without 1/√d (Vaswani et al. 2017, sections 3.2.1 and 3.5).

x⁰ = √D E w + P              without P the encoder reads a set of words; only the decoder's causal mask tells an order
A = softmax(Q Kᵀ / √d) V     q · k of independent entries of variance 1 has variance d: without 1/√d the softmax of
                             wide heads begins nearly hard, and little gradient gets through it
"""

from typing import Any, ClassVar

from pydantic import Field

from langladder import schema
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_translators import TranslationConfig, compare
from langladder.experiments.statistics import mean, spread
from langladder.experiments.translation_judge import Score

WHOLE, BARE, UNSCALED = "whole", "no positions", "no 1/√d"
VARIANTS: dict[str, dict[str, Any]] = {WHOLE: {}, BARE: {"positions": "none"}, UNSCALED: {"scale_scores": False}}
KEYS = {WHOLE: "whole", BARE: "no_positions", UNSCALED: "no_scaling"}


class TranslatorAblationsConfig(TranslationConfig):
    """Settings of `TranslatorAblations`."""

    heads: int = Field(default=2, ge=1)  # few, so that d is large
    seeds: int = Field(default=2, ge=1)


class TranslatorAblations(Experiment[TranslatorAblationsConfig]):
    """Loss and BLEU of a small Transformer with one part taken out at a time, after the same steps."""

    Config: ClassVar[type[schema.Config]] = TranslatorAblationsConfig
    reads = ("tokens/parallel",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config = self.config
        variants = {name: {"heads": config.heads} | change for name, change in VARIANTS.items()}
        seeds = range(seed, seed + config.fewer(config.seeds))
        return findings(compare(variants, data, config, seeds=seeds, progress=progress))


def findings(found: dict[str, list[Score]]) -> Findings:
    """The claim holds where each removal costs more than twice the spread between seeds."""
    losses = {name: [score.loss for score in scores] for name, scores in found.items()}
    bleus = {name: [score.bleu for score in scores] for name, scores in found.items()}
    noise = max(spread(values) or 0.0 for values in losses.values())
    cost = {name: mean(losses[name]) - mean(losses[WHOLE]) for name in (BARE, UNSCALED)}
    holds = all(value > 2 * noise for value in cost.values())
    names = list(found)
    said = ", ".join(f"{name} {mean(losses[name]):.3f} (BLEU {mean(bleus[name]):.1f})" for name in names)
    return Findings(
        holds=holds,
        verdict=opened(
            holds,
            f"nats a token: {said}; taking out positions costs {cost[BARE]:.3f}, taking out 1/√d {cost[UNSCALED]:.3f}, "
            f"where {2 * noise:.3f} is what seeds may make.",
        ),
        columns=["Transformer", "loss a token", "± between seeds", "BLEU", "exact, share"],
        rows=[
            [
                name,
                *map(rounded, (mean(losses[name]), spread(losses[name]), mean(bleus[name]))),
                rounded(mean([score.exact for score in found[name]])),
            ]
            for name in names
        ],
        plots=[
            Plot(
                title="Parts of a Transformer",
                x_label="what was taken out",
                y_label="loss a token (test), nats",
                series=[series("Transformer", names, map(mean, losses.values()), map(spread, losses.values()))],
            )
        ],
        figures={f"{KEYS[name]}_loss": rounded(mean(values)) or 0.0 for name, values in losses.items()}
        | {f"{KEYS[name]}_bleu": rounded(mean(values)) or 0.0 for name, values in bleus.items()},
    )
