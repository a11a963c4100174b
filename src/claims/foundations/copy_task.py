"""Memory over a delay (Hochreiter & Schmidhuber 1997, experiment 4; Arjovsky, Shah & Bengio 2016, section 4.1).

The network reads a few symbols, then `delay` blanks, then a signal at each step at which it must repeat the symbols in
order:

    input    s_1 … s_n   ␣ … ␣ (delay)   ? … ?
    target                               s_1 … s_n

Only the last n steps are scored. Guessing is right with probability 1/K, and a network whose gradient does not reach
back over the delay never does better. `copy_task` is about a delay of 100: whether an LSTM, which was made for this,
does better than guessing where a plain RNN does not. Arjovsky et al. use the task to show that LSTMs fail at longer
delays. `copy_length` is about n (Jelassi et al. 2024): attention looks each symbol up, a state of constant size must
hold all of them.

Shape legend: B rows, n symbols to copy, K symbols to choose from, T = 2n + delay steps, H width.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.networks import CELL_TITLES, recurrent
from claims.training import train
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.linear_time import LinearTimeConfig, LinearTimeLM
from langladder.models.language.neural import NeuralLanguageModel
from langladder.tasks.optimisation import TrainingConfig

Network = Literal["rnn", "gru", "lstm", "min_gru", "mamba", "gpt"]


class Variant(schema.Config):
    """The varied settings."""

    delay: int = Field(ge=1)
    length: int | None = Field(default=None, ge=1)  # symbols to copy; null: the claim's


class CopyConfig(ComparisonConfig):
    """Settings of `CopyTask`."""

    VARIANT = Variant
    bases: list[Network] = Field(min_length=1)
    metric: Literal["right"] = "right"
    symbols: int = Field(default=8, ge=2)  # K
    length: int = Field(default=3, ge=1)  # n
    width: int = Field(default=48, ge=4)  # H
    max_steps: int = Field(default=600, ge=2)  # training steps at effort 1, the same for all
    batch_size: int = Field(default=16, ge=1)
    lr: float = Field(default=0.005, gt=0)
    test_rows: int = Field(default=128, ge=1)


class Reader(nn.Module):
    """Embedding → one recurrent layer → softmax."""

    def __init__(self, cell: Network, *, symbols: int, width: int) -> None:
        super().__init__()
        assert cell in ("rnn", "gru", "lstm")
        self.embedding = nn.Embedding(symbols + 2, width)
        self.cell = recurrent(cell, input_width=width, width=width)
        self.head = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) → logits (B, T, K)."""
        hidden, _ = self.cell(self.embedding(tokens))  # (B, T, H)
        logits: Tensor = self.head(hidden)
        return logits


class Stack(nn.Module):
    """Two layers of a language model's body → softmax: a GPT, which sees all of the past at once, minGRU or Mamba."""

    def __init__(self, network: Network, *, symbols: int, width: int, context: int) -> None:
        super().__init__()
        body: NeuralLanguageModel
        if network == "gpt":
            body = GPT(GPTConfig(context=context, width=width, layers=2, heads=4, tie_weights=True), symbols + 2)
        else:
            assert network in ("min_gru", "mamba")
            body = LinearTimeLM(LinearTimeConfig(mixer=network, width=width, layers=2), symbols + 2)
        self.body = body
        self.head = nn.Linear(width, symbols)

    def forward(self, tokens: Tensor) -> Tensor:
        """(B, T) → logits (B, T, K)."""
        hidden, _ = self.body(tokens)  # (B, T, H)
        logits: Tensor = self.head(hidden)
        return logits


class CopyTask(Comparison[CopyConfig]):
    """Share of correctly repeated symbols by delay; one line per network."""

    Config: ClassVar[type[schema.Config]] = CopyConfig
    titles: Mapping[Any, str] = CELL_TITLES | {"min_gru": "minGRU", "mamba": "Mamba", "gpt": "GPT"}
    metrics: ClassVar[dict[str, Metric]] = {"right": Metric("share of correct symbols", more_is_better=True)}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config

        def trial(network: Network, change: Change, seed: int) -> Scored:
            variant = Variant(**change)
            delay, length = variant.delay, variant.length or config.length
            torch.manual_seed(seed)
            if network in ("rnn", "gru", "lstm"):
                model: nn.Module = Reader(network, symbols=config.symbols, width=config.width)
            else:
                context = 2 * length + delay
                model = Stack(network, symbols=config.symbols, width=config.width, context=context)
            rows = torch.Generator().manual_seed(seed)

            def loss(_: int) -> Tensor:
                tokens = copy_rows(config.batch_size, config.symbols, length, delay, rows)
                return functional.cross_entropy(model(tokens)[:, -length:].flatten(0, 1), tokens[:, :length].flatten())

            steps = config.steps(config.max_steps)
            training = TrainingConfig(lr=config.lr, max_steps=steps, warmup_steps=steps // 20, betas=[0.9, 0.98])
            train(model, loss, training)
            tokens = copy_rows(config.fewer(config.test_rows), config.symbols, length, delay, rows)
            with torch.no_grad():
                predicted = model(tokens)[:, -length:].argmax(dim=2)  # (B, n)
            return 0, {"right": float((predicted == tokens[:, :length]).double().mean())}

        return trial


def copy_rows(rows: int, symbols: int, length: int, delay: int, generator: torch.Generator) -> Tensor:
    """(B, 2n + delay) int64: n symbols 0 … K−1, blanks (K), signals (K + 1)."""
    tokens = torch.full((rows, 2 * length + delay), symbols)
    tokens[:, :length] = torch.randint(symbols, (rows, length), generator=generator)
    tokens[:, -length:] = symbols + 1
    return tokens
