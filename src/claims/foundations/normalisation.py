"""Batch norm compared with layer norm, by batch size and by padding (Ioffe & Szegedy 2015; Ba, Kiros & Hinton 2016).

    batch norm   (z − mean over the batch) / deviation over the batch      each feature by itself; at test the running
                                                                           means of training stand in
    layer norm   (z − mean over the features) / deviation over the features     each example by itself

The output of batch norm for an example depends on the rest of the batch. With few rows, its statistics are noisy (Wu &
He 2018), and with texts of different length, they include padding. The experiment measures

    by batch size   the accuracy of a perceptron on spirals, after the same number of examples
    by padding      a reader of short sentences; every second batch also has a long sentence, so that the
                    others are mostly padding: its accuracy on short sentences, and how much a sentence's score changes
                    with the rest of the batch

A sentence has words of two informative kinds and neutral words; its label is the more frequent kind.

Shape legend: B rows, T words, V vocabulary, D embedding, H width.
"""

from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.foundations.perceptron import Perceptron, accuracy, learn, spirals
from claims.training import train
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.tasks.optimisation import TrainingConfig

Norm = Literal["batch", "layer"]
PAD, KIND, WORDS = 0, 6, 40  # V: 1 … 6 are of one kind, 7 … 12 of the other, the rest is neutral
SHORT = (3, 8)  # words of a short sentence
ROUNDING = 1e-6  # smallest change of a score that counts
COMPANIES = 16  # number of batches in which the same sentence is read


class Variant(schema.Config):
    """The varied settings."""

    norm: Norm


class NormalisationConfig(ComparisonConfig):
    """Settings of `Normalisation`."""

    VARIANT = Variant
    bases: list[Literal["perceptron"]] = Field(min_length=1)
    metric: Literal["small", "large", "lost"] = "small"
    batch_sizes: list[int] = Field(default=[2, 8, 32, 128], min_length=2)
    examples: int = Field(default=6000, ge=10)  # training examples at effort 1, for any batch size
    lengths: list[int] = Field(default=[8, 32, 128], min_length=2)  # words of the long sentences
    rows: int = Field(default=16, ge=8)  # B, for the sentences
    max_steps: int = Field(default=200, ge=2)  # training steps of the reader at effort 1
    width: int = Field(default=32, ge=2)  # H
    arms: int = Field(default=3, ge=2)
    lr: float = Field(default=0.01, gt=0)  # of Adam


class Sentences(NamedTuple):
    """Words (B, T) int64, right-padded with 0, and the label of each (B,)."""

    words: Tensor
    labels: Tensor


class Reader(nn.Module):
    """Embedding → linear → norm → ReLU, at each word → mean over the words → two scores."""

    def __init__(self, norm: Norm, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.linear, self.head = nn.Linear(width, width), nn.Linear(width, 2)
        self.norm: nn.Module = nn.BatchNorm1d(width) if norm == "batch" else nn.LayerNorm(width)

    def forward(self, words: Tensor) -> Tensor:
        """(B, T) → (B, 2). The mean excludes padding, but batch norm's statistics include it."""
        z = self.linear(self.embedding(words))  # (B, T, H)
        a = torch.relu(self.norm(z.flatten(0, 1)).view_as(z))
        real = (words != PAD)[..., None]
        scores: Tensor = self.head((a * real).sum(dim=1) / real.sum(dim=1))
        return scores


class Normalisation(Comparison[NormalisationConfig]):
    """Accuracy by batch size and by the length of the longest sentence.

    A score's change with its batch follows from the equation of batch norm, so it is shown without a verdict.
    """

    Config: ClassVar[type[schema.Config]] = NormalisationConfig
    metrics: ClassVar[dict[str, Metric]] = {
        "small": Metric("accuracy, smallest batch", more_is_better=True, drawn=False),
        "large": Metric("accuracy, largest batch", more_is_better=True, drawn=False),
        "lost": Metric("lost from the largest to the smallest", drawn=False),
        "moved": Metric("change of a score with its batch", drawn=False),
        "by_rows": Metric("accuracy on points not trained on", along="rows of a batch", log="x"),
        "read": Metric("accuracy on short sentences", along="words of the long sentence", log="x"),
        "company": Metric("deviation of a score between batches", along="words of the long sentence", log="x"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config

        def trial(_: str, change: Change, seed: int) -> Scored:
            norm = Variant(**change).norm
            right = {rows: self._points(norm, rows, seed) for rows in config.batch_sizes}
            read = {length: self._sentences(norm, length, seed) for length in config.lengths}
            small, large = right[min(right)], right[max(right)]
            return 0, {
                "small": small,
                "large": large,
                "lost": large - small,
                "moved": max(moved for _, moved in read.values()),
                "by_rows": right,
                "read": {length: share for length, (share, _) in read.items()},
                "company": {length: moved for length, (_, moved) in read.items()},
            }

        return trial

    def _points(self, norm: Norm, rows: int, seed: int) -> float:
        config = self.config
        points = spirals(600, arms=config.arms, seed=seed)
        torch.manual_seed(seed)
        network = Perceptron([2, config.width, config.width, config.arms], "relu", norm)
        training = self._training(max(2, config.steps(config.examples) // rows))
        learn(network, points, functional.cross_entropy, training, rows=rows, seed=seed)
        return accuracy(network, spirals(600, arms=config.arms, seed=seed + 1000))

    def _sentences(self, norm: Norm, length: int, seed: int) -> tuple[float, float]:
        """Accuracy on short sentences, and the change of scores with the rest of the batch."""
        config, draw = self.config, torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        network = Reader(norm, config.width)

        def loss(_: int) -> Tensor:
            batch = sentences(config.rows, length, draw)
            return functional.cross_entropy(network(batch.words), batch.labels)

        train(network, loss, self._training(config.steps(config.max_steps)))
        moved = moved_by_company(network, config.rows, length, draw)
        test = sentences(1024, SHORT[1], draw)
        with torch.no_grad():
            right = (network(test.words).argmax(dim=1) == test.labels).double().mean()
        return float(right), moved

    def _training(self, steps: int) -> TrainingConfig:
        return TrainingConfig(optimizer="adam", lr=self.config.lr, schedule="constant", max_steps=steps, clip_norm=None)


def sentences(rows: int, longest: int, draw: torch.Generator) -> Sentences:
    """A batch of short sentences; about every second batch also has one of up to `longest` words."""
    lengths = torch.randint(SHORT[0], SHORT[1] + 1, (rows,), generator=draw)
    if torch.rand(1, generator=draw) < 0.5:
        lengths[0] = longest
    words = torch.randint(1, WORDS, (rows, int(lengths.max())), generator=draw)
    words[:, 0] = torch.randint(1, 2 * KIND + 1, (rows,), generator=draw)  # each sentence has an informative word
    words.masked_fill_(torch.arange(words.shape[1]) >= lengths[:, None], PAD)
    first = ((words >= 1) & (words <= KIND)).sum(dim=1)
    second = ((words > KIND) & (words <= 2 * KIND)).sum(dim=1)
    return Sentences(words, (second >= first).long())


@torch.no_grad()
def moved_by_company(network: Reader, rows: int, longest: int, draw: torch.Generator) -> float:
    """Standard deviation of a sentence's score over different batches, as a share of the deviation between
    sentences."""
    network.train()
    word = sentences(rows, SHORT[1], draw).words[1:2]
    scores, others = [], []
    for _ in range(COMPANIES):
        words = sentences(rows, longest, draw).words
        words[1] = functional.pad(word[0], (0, max(0, words.shape[1] - word.shape[1])))[: words.shape[1]]
        output = network(words)  # (B, 2)
        gaps = output[:, 1] - output[:, 0]
        scores.append(gaps[1])
        others.append(gaps)
    network.eval()
    moved = float(torch.stack(scores).std() / torch.cat(others).std())
    return moved if moved > ROUNDING else 0.0
