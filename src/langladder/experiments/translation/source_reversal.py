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
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.statistics import below, difference, every, gated, mean, spread
from langladder.experiments.training import unigram_loss
from langladder.experiments.translation.small_translators import TranslationConfig, trained
from langladder.experiments.translation.translation_judge import Judge
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import PAD

FIRST = 3
"""Target tokens that count as the first ones."""


class SourceReversalConfig(TranslationConfig, RepeatedConfig):
    """Settings of `SourceReversal`."""

    positions: int = Field(default=20, ge=FIRST + 1)  # target tokens that are looked at one by one


class Measured(NamedTuple):
    """Of one way of reading: each network's loss per token, BLEU, and loss at each target position (S, T)."""

    losses: list[float]
    bleus: list[float]
    by_position: np.ndarray


class SourceReversal(Experiment[SourceReversalConfig]):
    """The same network, reading the source forwards or backwards."""

    Config: ClassVar[type[schema.Config]] = SourceReversalConfig
    reads = ("tokens/parallel",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, found = self.config, {}
        judge = Judge.open(data, config.fewer(config.test_sentences))
        kind, settings = config.small("seq2seq")
        for name, reverse in (("forwards", False), ("backwards", True)):
            scores, positions = [], []
            for number in config.numbers(seed):
                model, _ = trained(kind, settings | {"reverse_source": reverse}, data, config, seed=number)
                scores.append(judge.score(model))
                positions.append(position_losses(model, judge, config.positions))
            losses, bleus = [score.loss for score in scores], [score.bleu for score in scores]
            found[name] = Measured(losses, bleus, np.stack(positions))
            progress(f"{name}: loss {mean(losses):.3f}, BLEU {mean(bleus):.1f}")
        unigram = unigram_loss(data.pairs("train").target.ids)
        return findings(found["forwards"], found["backwards"], unigram, config.margin)


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


def findings(forwards: Measured, backwards: Measured, unigram: float, margin: float) -> Findings:
    """It holds where the loss falls by `margin` nats, and more at the first words than after them."""
    gain = mean(forwards.losses) - mean(backwards.losses)
    gains = forwards.by_position - backwards.by_position  # (S, T)
    first, after = gains[:, :FIRST].mean(axis=1), gains[:, FIRST:].mean(axis=1)  # (S,) each
    early, late = float(first.mean()), float(after.mean())
    gate = below(backwards.losses, unigram, "nothing was learnt: the loss")
    helps = difference(forwards.losses, backwards.losses).exceeds(margin)
    verdict = gated([gate], every([helps, difference(first, after).exceeds(margin)]))
    steps = list(range(1, gains.shape[1] + 1))
    ways = {"forwards": forwards, "backwards": backwards}
    return Findings(
        **opened(
            verdict,
            f"reading backwards takes {gain:.3f} nats off the {mean(forwards.losses):.3f} a token (BLEU "
            f"{mean(forwards.bleus):.1f} → {mean(backwards.bleus):.1f}): {early:.3f} at each of the first {FIRST} "
            f"tokens, {late:.3f} at each of those after them.",
        ),
        columns=["source read", "loss per token", "± between seeds", f"loss of the first {FIRST}", "BLEU"],
        rows=[
            [
                name,
                *map(
                    rounded,
                    (mean(one.losses), spread(one.losses), float(one.by_position[:, :FIRST].mean()), mean(one.bleus)),
                ),
            ]
            for name, one in ways.items()
        ],
        plots=[
            Plot(
                title="Loss by target position",
                x_label="target token",
                y_label="−log P of the reference, nats",
                series=[series(name, steps, one.by_position.mean(axis=0).tolist()) for name, one in ways.items()],
            )
        ],
        figures={f"{name}_loss": mean(one.losses) for name, one in ways.items()}
        | {f"{name}_bleu": mean(one.bleus) for name, one in ways.items()},
    )


def _first(one: Measured) -> float:
    """The mean loss at the first tokens."""
    return float(one.by_position[:, :FIRST].mean())
