"""Reading the source backwards (Sutskever, Vinyals & Le 2014, section 3.3).

    forwards    a b c → α β γ      a is read three steps before α is written, c three before γ
    backwards   c b a → α β γ      a is read one step before α, b three before β, c five before γ

The distances are the same on average, but the first words' become short: their gradient arrives, and once the decoder
begins well the rest follows. Measured is the loss of the references, at each target position, of an encoder–decoder
without attention.
"""

from typing import ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field

from langladder.data.translation import pad
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.small_translators import TranslationConfig, trained
from langladder.experiments.statistics import mean, spread
from langladder.experiments.translation_judge import Judge
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import PAD

FIRST = 3
"""Target tokens that count as the first ones."""


class SourceReversalConfig(TranslationConfig):
    """Settings of `SourceReversal`."""

    seeds: int = Field(default=2, ge=1)
    positions: int = Field(default=20, ge=FIRST + 1)  # target tokens that are looked at one by one


class Measured(NamedTuple):
    """Of one way of reading: each network's loss per token and BLEU; the mean loss at each target position."""

    losses: list[float]
    bleus: list[float]
    by_position: list[float]


class SourceReversal(Experiment[SourceReversalConfig]):
    """The same network, reading the source forwards or backwards."""

    Config: ClassVar[type[schema.Config]] = SourceReversalConfig
    reads = ("tokens/parallel",)

    def run(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.run`."""
        config, found = self.config, {}
        judge = Judge.open(data, config.fewer(config.test_sentences))
        kind, settings = config.small("seq2seq")
        for name, reverse in (("forwards", False), ("backwards", True)):
            scores, positions = [], []
            for number in range(seed, seed + config.fewer(config.seeds)):
                model, _ = trained(kind, settings | {"reverse_source": reverse}, data, config, seed=number)
                scores.append(judge.score(model))
                positions.append(position_losses(model, judge, config.positions))
            losses, bleus = [score.loss for score in scores], [score.bleu for score in scores]
            found[name] = Measured(losses, bleus, np.mean(positions, axis=0).tolist())
            progress(f"{name}: loss {mean(losses):.3f}, BLEU {mean(bleus):.1f}")
        return findings(found["forwards"], found["backwards"])


def position_losses(model: Translator, judge: Judge, positions: int) -> np.ndarray:
    """The mean of −log P(y_t | y_<t, x) over the references that have a t-th token, t = 1 … `positions` (or fewer).

    Raises:
        InputError: no reference is longer than the first tokens.
    """
    pairs = [(sentence.source, sentence.target) for sentence in judge.sentences]
    source, target = (pad([pair[side] for pair in pairs]) for side in (0, 1))
    log_probs = model.log_probs(source, target)[:, :positions].double()  # (B, T), 0 at PAD
    count = (target[:, 1 : positions + 1] != PAD).sum(dim=0)  # (T,)
    if len(count) <= FIRST:
        raise InputError(f"the test sentences' targets have {len(count)} tokens at most: more than {FIRST} are needed")
    losses: np.ndarray = torch.div(-log_probs.sum(dim=0), count).numpy()
    return losses


def findings(forwards: Measured, backwards: Measured) -> Findings:
    """It holds where the loss falls by more than twice its spread, and more at the first words than after them."""
    gain = mean(forwards.losses) - mean(backwards.losses)
    noise = max(spread(one.losses) or 0.0 for one in (forwards, backwards))
    gains = [one - other for one, other in zip(forwards.by_position, backwards.by_position, strict=True)]
    early, late = mean(gains[:FIRST]), mean(gains[FIRST:])
    holds = gain > 2 * noise and early > late
    steps = list(range(1, len(gains) + 1))
    ways = {"forwards": forwards, "backwards": backwards}
    return Findings(
        holds=holds,
        verdict=opened(
            holds,
            f"reading backwards takes {gain:.3f} nats off the {mean(forwards.losses):.3f} a token (BLEU "
            f"{mean(forwards.bleus):.1f} → {mean(backwards.bleus):.1f}): {early:.3f} at each of the first {FIRST} "
            f"tokens, {late:.3f} at each of those after them.",
        ),
        columns=["source read", "loss per token", "± between seeds", f"loss of the first {FIRST}", "BLEU"],
        rows=[
            [
                name,
                *map(rounded, (mean(one.losses), spread(one.losses), mean(one.by_position[:FIRST]), mean(one.bleus))),
            ]
            for name, one in ways.items()
        ],
        plots=[
            Plot(
                title="Loss by target position",
                x_label="target token",
                y_label="−log P of the reference, nats",
                series=[series(name, steps, one.by_position) for name, one in ways.items()],
            )
        ],
        figures={f"{name}_loss": rounded(mean(one.losses)) or 0.0 for name, one in ways.items()}
        | {f"{name}_bleu": rounded(mean(one.bleus)) or 0.0 for name, one in ways.items()},
    )
