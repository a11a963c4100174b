"""Remembering over a delay (Hochreiter & Schmidhuber 1997, experiment 4; Arjovsky, Shah & Bengio 2016, section 4.1).

The network reads a few symbols, then `delay` blanks, then a signal at each of the steps at which it is to say the
symbols again, in order:

    input    s_1 … s_n   ␣ … ␣ (delay)   ? … ?
    target                               s_1 … s_n

Only the last n steps are scored. Guessing is right once in K, and a network whose gradient does not reach back over the
delay never does better. The claim is of a delay of 100: a plain RNN's loss does not fall there, a GRU learns it.

Shape legend: B rows, n symbols to copy, K symbols to choose from, T = 2n + delay steps, H width.
"""

from typing import ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Grid, Plot, lines, mean_rows, opened
from langladder.experiments.foundations.networks import CELL_TITLES, recurrent
from langladder.experiments.statistics import Verdict, above, difference, every, gated, mean
from langladder.experiments.training import train
from langladder.ground import schema
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.tasks.optimisation import TrainingConfig

Network = Literal["rnn", "gru", "lstm", "gpt"]
TITLES = CELL_TITLES | {"gpt": "GPT"}
MASTERED = 0.95  # share of the symbols above which a delay is said to be learnt
CLAIMED = 100  # the delay that the claim is of


class CopyConfig(RepeatedConfig):
    """Settings of `CopyTask`."""

    networks: list[Network] = Field(default=["rnn", "gru", "lstm", "gpt"], min_length=1)
    delays: list[int] = Field(default=[5, 10, 50, 100], min_length=1)
    symbols: int = Field(default=8, ge=2)  # K
    length: int = Field(default=3, ge=1)  # n
    width: int = Field(default=48, ge=4)  # H
    max_steps: int = Field(default=600, ge=2)  # at effort 1, the same for all
    batch_size: int = Field(default=16, ge=1)
    lr: float = Field(default=0.005, gt=0)
    test_rows: int = Field(default=128, ge=1)
    margin: float = Field(default=0.05, ge=0)  # share of the symbols above guessing that is nothing


class Reader(nn.Module):
    """Embedding → one recurrent layer → softmax."""

    def __init__(self, cell: Network, *, symbols: int, width: int) -> None:
        super().__init__()
        assert cell != "gpt"
        self.embedding = nn.Embedding(symbols + 2, width)
        self.cell = recurrent(cell, input_width=width, width=width)
        self.head = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) → logits (B, T, K)."""
        hidden, _ = self.cell(self.embedding(tokens))  # (B, T, H)
        logits: Tensor = self.head(hidden)
        return logits


class Looker(nn.Module):
    """A GPT of two layers, which sees all of the past at once."""

    def __init__(self, *, symbols: int, width: int, context: int) -> None:
        super().__init__()
        config = GPTConfig(context=context, width=width, layers=2, heads=4, tie_weights=True)
        self.body = GPT(config, symbols + 2)
        self.head = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) → logits (B, T, K)."""
        hidden, _ = self.body(tokens)  # (B, T, H)
        logits: Tensor = self.head(hidden)
        return logits


class CopyTask(Experiment[CopyConfig]):
    """Share of the symbols said right, by delay; a line a network."""

    Config: ClassVar[type[schema.Config]] = CopyConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - makes its own data
        """See `Experiment.examine`."""
        accuracy: dict[Network, dict[int, list[float]]] = {network: {} for network in self.config.networks}
        for delay in self.config.delays:
            for network in self.config.networks:
                accuracy[network][delay] = [self._accuracy(network, delay, one) for one in self.config.numbers(seed)]
            said = ", ".join(f"{TITLES[name]} {mean(shares[delay]):.0%}" for name, shares in accuracy.items())
            progress(f"delay {delay}: {said}")
        return findings(accuracy, chance=1 / self.config.symbols, margin=self.config.margin)

    def _accuracy(self, network: Network, delay: int, seed: int) -> float:
        """Train one network on one delay, and examine it on rows that it has not seen."""
        config, length = self.config, self.config.length
        torch.manual_seed(seed)
        if network == "gpt":
            model: nn.Module = Looker(symbols=config.symbols, width=config.width, context=2 * length + delay)
        else:
            model = Reader(network, symbols=config.symbols, width=config.width)
        rows = torch.Generator().manual_seed(seed)

        def loss(_: int) -> Tensor:
            tokens = copy_rows(config.batch_size, config.symbols, length, delay, rows)
            return functional.cross_entropy(model(tokens)[:, -length:].flatten(0, 1), tokens[:, :length].flatten())

        steps = config.steps(config.max_steps)
        training = TrainingConfig(lr=config.lr, max_steps=steps, warmup_steps=steps // 20, betas=[0.9, 0.98])
        train(model, loss, training)
        tokens = copy_rows(config.fewer(config.test_rows), config.symbols, length, delay, rows)
        with torch.no_grad():
            said = model(tokens)[:, -length:].argmax(dim=2)  # (B, n)
        return float((said == tokens[:, :length]).double().mean())


def copy_rows(rows: int, symbols: int, length: int, delay: int, generator: torch.Generator) -> Tensor:
    """(B, 2n + delay) int64: n symbols 0 … K−1, blanks (K), signals (K + 1)."""
    tokens = torch.full((rows, 2 * length + delay), symbols)
    tokens[:, :length] = torch.randint(symbols, (rows, length), generator=generator)
    tokens[:, -length:] = symbols + 1
    return tokens


def findings(accuracy: dict[Network, dict[int, list[float]]], *, chance: float, margin: float) -> Findings:
    """The claim holds where, at its delay, the RNN is as good as guessing and the GRU masters it.

    Nothing is judged where the GRU does not master the shortest delay.
    """
    reach = {
        name: max([delay for delay, shares in by.items() if mean(shares) > MASTERED], default=0)
        for name, by in accuracy.items()
    }
    far = {name: mean(by[CLAIMED]) for name, by in accuracy.items() if CLAIMED in by}
    verdict = Verdict(None, f"needs an RNN and a GRU at a delay of {CLAIMED}")
    if {"rnn", "gru"} <= set(far):
        easy = above(
            accuracy["gru"][min(accuracy["gru"])], MASTERED, "not trained far enough: at its least delay a GRU's"
        )
        guesses = difference(chance, accuracy["rnn"][CLAIMED]).within(margin)
        verdict = gated([easy], every([guesses, difference(accuracy["gru"][CLAIMED], MASTERED).exceeds()]))
    right = ", ".join(f"{TITLES[name]} {share:.0%}" for name, share in far.items())
    said = f"over {CLAIMED} steps {right} of the symbols come back right (guessing: {chance:.0%}); " if far else ""
    grid: Grid = {TITLES[name]: by for name, by in accuracy.items()}
    lost = ", ".join(f"{TITLES[name]} {_lost(by)}" for name, by in accuracy.items())
    return Findings(
        **opened(verdict, f"{said}the first delay over which {MASTERED:.0%} are missed is {lost}."),
        columns=["network", *(f"delay {delay}" for delay in next(iter(accuracy.values())))],
        rows=mean_rows(grid),
        plots=[
            Plot(
                title="Copying after a delay",
                x_label="blanks between reading and saying",
                y_label="share of the symbols said right",
                log_x=True,
                levels={"guessing": chance},
                series=lines(grid),
            )
        ],
        figures={f"{name}_delay": float(delay) for name, delay in reach.items()}
        | {f"{name}_right_after_{CLAIMED}": share for name, share in far.items()},
    )


def _lost(by: dict[int, list[float]]) -> str:
    return next((str(delay) for delay, shares in sorted(by.items()) if mean(shares) <= MASTERED), "none of these")
