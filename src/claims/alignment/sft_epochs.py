"""Epochs of supervised fine-tuning: validation loss and quality of the answers (Ouyang et al. 2022).

"Our SFT models overfit on validation loss after 1 epoch", and training for more epochs "helps both the RM score and
human preference ratings, despite this overfitting" (section 3.5). A few demonstrations are learnt for many epochs with
one falling rate. The gold judge scores the answers to held-out prompts.

    lowest    after the epoch with the lowest loss on every second dialogue, over all seeds
    last      after the last epoch

Both are measured on the other dialogues.

Shape legend: C measured epochs, N held-out dialogues, T tokens.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import numpy as np
import torch
from pydantic import Field

from claims.alignment.chain_settings import ChainConfig
from claims.alignment.policy_answers import Judges
from claims.alignment.small_policies import Chains
from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from langladder.data.instructions import dialogue_batch
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.models.language.instructed import InstructedGPT
from langladder.text.labelled.templates import DialogueIds
from langladder.text.tokenize.specials import PAD


class Variant(schema.Config):
    """The varied setting: the epoch at which the model is measured."""

    at: Literal["lowest", "last"]


class SFTEpochsConfig(ChainConfig, ComparisonConfig):
    """Settings of `SFTEpochs`; at effort 1, training makes `epochs` passes over `demonstrations`."""

    VARIANT = Variant
    bases: list[Literal["SFT"]] = Field(min_length=1)
    metric: Literal["loss", "gold", "fell"] = "loss"
    epochs: int = Field(default=16, ge=2)
    looks: int = Field(default=8, ge=2)  # number of checkpoints, evenly spread over the epochs


class Curve(NamedTuple):
    """One training run. epochs: (C,), loss: (C, N) nats per target token, gold: (C, N), train: (C,) nats per target
    token."""

    epochs: Sequence[float]
    loss: np.ndarray
    gold: np.ndarray
    train: np.ndarray


class SFTEpochs(Comparison[SFTEpochsConfig]):
    """Validation loss and gold reward by epochs."""

    Config: ClassVar[type[schema.Config]] = SFTEpochsConfig
    reads = ("tokens/text",)
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("validation loss, nats per token"),
        "gold": Metric("gold reward", more_is_better=True),
        "epochs": Metric("epochs", drawn=False),
        "fell": Metric("training loss, first minus last", more_is_better=True, drawn=False),
        "losses": Metric("validation loss, nats per token", along="epochs"),
        "train": Metric("training loss, nats per token", along="epochs"),
        "golds": Metric("gold reward, validation", along="epochs"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`; all seeds fine-tune the same GPT."""
        chains = Chains(data, self.config)
        curves = {seed: self._curve(chains, seed, seeds[0]) for seed in seeds}
        lowest = lowest_loss(list(curves.values()))

        def trial(_: str, change: Change, seed: int) -> Scored:
            curve, last, rest = curves[seed], Variant(**change).at == "last", slice(1, None, 2)
            stop = -1 if last else lowest
            drawn = zip(("losses", "train", "golds"), (curve.loss, curve.train[:, None], curve.gold), strict=True)
            by_epoch = {name: dict(zip(curve.epochs, some.mean(axis=1).tolist(), strict=True)) for name, some in drawn}
            return 0, {
                "loss": curve.loss[stop, rest],
                "gold": curve.gold[stop, rest],
                "epochs": curve.epochs[stop],
                "fell": float(curve.train[0] - curve.train[-1]),
                **(by_epoch if last else {}),
            }

        return trial

    def _curve(self, chains: Chains, seed: int, base_seed: int) -> Curve:
        """The training run of one seed."""
        config, judges = self.config, Judges(chains.template, chains.sets.held_out, self.config.max_new_tokens)
        sets = chains.sets.held_out, chains.sets.demonstrations
        held, rows = (chains.template.rows([dialogue.messages for dialogue in some]) for some in sets)
        passes = config.epochs * len(rows) / config.sft_batch_size
        steps = config.tuning(max_steps=round(passes)).max_steps
        stops = np.unique(np.ceil(np.linspace(0, steps, config.looks + 1)).astype(int)[1:]).tolist()
        measured: list[tuple[np.ndarray, np.ndarray, float]] = []

        def watch(model: InstructedGPT, step: int) -> None:
            if step in stops:
                model.eval()
                gold = judges.gold_rewards(model)
                measured.append((losses(model, held), gold, float(losses(model, rows[: len(held)]).mean())))
                model.train()

        chains.tuned(
            chains.gpt(seed=base_seed), chains.sets.demonstrations, seed=seed, watch=watch, max_steps=round(passes)
        )
        epochs = [round(step * config.sft_batch_size / len(rows), 1) for step in stops]
        return Curve(epochs, *(np.stack(part) for part in zip(*measured, strict=True)))


def lowest_loss(curves: Sequence[Curve]) -> int:
    """The index with the lowest loss on every second dialogue, over all seeds."""
    return int(np.mean([curve.loss[:, ::2].mean(axis=1) for curve in curves], axis=0).argmin())


@torch.no_grad()
def losses(model: InstructedGPT, rows: Sequence[DialogueIds]) -> np.ndarray:
    """Mean −log P in nats of the target tokens of each dialogue that fits into the context, (N,)."""
    curve = []
    for row in rows:
        if len(row.ids) - 1 <= model.context:
            tokens, targets, _ = dialogue_batch([row])  # (1, T) each
            hidden, _ = model(tokens)
            learnt = targets != PAD
            curve.append(-float(model.head.target_log_probs(hidden[learnt], targets[learnt]).double().mean()))
    return np.array(curve)
