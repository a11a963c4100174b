"""Epochs of supervised fine-tuning: what the validation loss says, and what the answers are worth (Ouyang et al. 2022).

"Our SFT models overfit on validation loss after 1 epoch", and training for more epochs "helps both the RM score and
human preference ratings, despite this overfitting" (section 3.5). Few demonstrations are learnt for many epochs, under
one falling rate; here the gold judge says what an answer to a held-out prompt is worth.

    loss growth    loss after the last epoch − loss where it is lowest
    reward gain    gold reward after the last epoch − gold reward where the loss is lowest

Where the loss is lowest is chosen by every second dialogue, and both are measured on the others.

Shape legend: S seeds, C epochs that were looked at, N held-out dialogues, T tokens.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field

from langladder.data.instructions import dialogue_batch
from langladder.experiments.alignment.chain_settings import ChainConfig
from langladder.experiments.alignment.policy_answers import Judges, with_interval
from langladder.experiments.alignment.small_policies import Chains
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, figure, opened, rounded, series
from langladder.experiments.statistics import below, difference, every, gated
from langladder.ground import schema
from langladder.models.language.instructed import InstructedGPT
from langladder.text.labelled.templates import DialogueIds
from langladder.text.tokenize.specials import PAD


class SFTEpochsConfig(ChainConfig, RepeatedConfig):
    """Settings of `SFTEpochs`; `demonstrations` are learnt `epochs` times at effort 1."""

    epochs: int = Field(default=16, ge=2)
    looks: int = Field(default=8, ge=2)  # evenly spread over the epochs


class Curve(NamedTuple):
    """epochs: (C,), loss: (S, C, N) nats a learnt token, gold: (S, C, N), train: (S, C) nats a learnt token."""

    epochs: Sequence[float]
    loss: np.ndarray
    gold: np.ndarray
    train: np.ndarray


class SFTEpochs(Experiment[SFTEpochsConfig]):
    """Validation loss and gold reward by epochs."""

    Config: ClassVar[type[schema.Config]] = SFTEpochsConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config, chains = self.config, Chains(data, self.config)
        some = [self._curve(chains, number, seed) for number in config.numbers(seed)]
        parts = [np.stack([getattr(one, name) for one in some]) for name in ("loss", "gold", "train")]
        found = Curve(some[0].epochs, *parts)
        for place, epoch in enumerate(found.epochs):
            told = f"loss {found.loss[:, place].mean():.3f}, gold {found.gold[:, place].mean():.3f}"
            progress(f"{epoch:.1f} epochs: {told}")
        return findings(found, config.margin)

    def _curve(self, chains: Chains, seed: int, base_seed: int) -> Curve:
        """Of one seed, without its dimension; the GPT that is tuned is the same for all."""
        config, judges = self.config, Judges(chains.template, chains.sets.held_out, self.config.max_new_tokens)
        sets = chains.sets.held_out, chains.sets.demonstrations
        held, shown = (chains.template.rows([one.messages for one in some]) for some in sets)
        passes = config.epochs * len(shown) / config.sft_batch_size
        steps = config.tuning(max_steps=round(passes)).max_steps
        stops = np.unique(np.ceil(np.linspace(0, steps, config.looks + 1)).astype(int)[1:]).tolist()
        told: list[tuple[np.ndarray, np.ndarray, float]] = []

        def watch(model: InstructedGPT, step: int) -> None:
            if step in stops:
                model.eval()
                gold = judges.gold_rewards(model)
                told.append((losses(model, held), gold, float(losses(model, shown[: len(held)]).mean())))
                model.train()

        chains.tuned(
            chains.gpt(seed=base_seed), chains.sets.demonstrations, seed=seed, watch=watch, max_steps=round(passes)
        )
        made = [round(step * config.sft_batch_size / len(shown), 1) for step in stops]
        return Curve(made, *(np.stack(part) for part in zip(*told, strict=True)))


@torch.no_grad()
def losses(model: InstructedGPT, rows: Sequence[DialogueIds]) -> np.ndarray:
    """Mean −log P in nats of the learnt tokens of each dialogue that fits into the context, (N,)."""
    found = []
    for row in rows:
        if len(row.ids) - 1 <= model.context:
            tokens, targets, _ = dialogue_batch([row])  # (1, T) each
            hidden, _ = model(tokens)
            learnt = targets != PAD
            found.append(-float(model.head.target_log_probs(hidden[learnt], targets[learnt]).double().mean()))
    return np.array(found)


def findings(found: Curve, margin: float) -> Findings:
    """The claim holds where the loss has grown since its lowest, and the reward has, too."""
    lowest = int(found.loss[:, :, ::2].mean(axis=(0, 2)).argmin())
    rest: Any = slice(1, None, 2)
    growth = difference(found.loss[:, -1, rest], found.loss[:, lowest, rest])
    gain = difference(found.gold[:, -1, rest], found.gold[:, lowest, rest])
    fell = below(found.train[:, -1], float(found.train[:, 0].mean()), "nothing was learnt: the training loss")
    verdict = gated([fell], every([growth.exceeds(margin), gain.exceeds(margin)]))
    loss, gold = found.loss.mean(axis=(0, 2)), found.gold.mean(axis=(0, 2))
    of_loss, of_gold = (
        f"{values[:, lowest, rest].mean():.3f} and {values[:, -1, rest].mean():.3f}, {with_interval(one)}"
        for values, one in ((found.loss, growth), (found.gold, gain))
    )
    text = (
        f"half of the dialogues have their lowest loss after {found.epochs[lowest]:.0f} epochs; of the others, then "
        f"and after {found.epochs[-1]:.0f} epochs, the loss is {of_loss}, in nats a token, the gold reward {of_gold}."
    )
    train = found.train.mean(axis=0)
    return Findings(
        **opened(verdict, text),
        columns=["epochs", "training loss", "validation loss", "gold reward"],
        rows=[
            [rounded(float(epoch)), *(rounded(float(values[place])) for values in (train, loss, gold))]
            for place, epoch in enumerate(found.epochs)
        ],
        plots=[
            _plot(
                "Loss by epochs",
                "nats a token",
                found,
                {"validation": found.loss.mean(axis=2), "training": found.train},
            ),
            _plot(
                "Gold reward by epochs", "gold reward, validation", found, {"drawn answers": found.gold.mean(axis=2)}
            ),
        ],
        figures={
            figure(name, f"{epoch:.0f}"): float(values[place])
            for name, values in (("loss", loss), ("gold", gold))
            for place, epoch in enumerate(found.epochs)
        },
    )


def _plot(title: str, label: str, found: Curve, lines: dict[str, np.ndarray]) -> Plot:
    """Lines (S, C) with their spread over seeds."""
    return Plot(
        title=title,
        x_label="epochs",
        y_label=label,
        series=[
            series(
                name,
                list(found.epochs),
                values.mean(axis=0).tolist(),
                values.std(axis=0, ddof=1).tolist() if len(values) > 1 else None,
            )
            for name, values in lines.items()
        ],
    )
