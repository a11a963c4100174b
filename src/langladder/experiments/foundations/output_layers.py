"""What sparing the softmax costs: full, hierarchical, adaptive and sampled output layers by size of the vocabulary.

    full          log P(v | h) = z_v − log Σ_u exp z_u: V scores a token
    hierarchical  log₂ V decisions a token on a Huffman tree (Morin & Bengio 2005)
    adaptive      rare words in clusters, narrower and seldom opened (Grave et al. 2017)
    sampled       the target against some noise words (Jean et al. 2015)

They learn the same made text, whose truth is known: word ranks follow Zipf's law, and

    P(w' | w) = ½ [w' is w's partner] + ½ Zipf(w')      partners: ranks 2i and 2i + 1

so the loss that nobody can beat is known, too. All make the same number of steps; the loss is exact, never the sampled.

Shape legend: N pairs of words a step, D width, V vocabulary.
"""

import math
import statistics
import time
from itertools import pairwise
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import (
    Findings,
    Grid,
    Plot,
    Shown,
    lines,
    mean_figures,
    mean_rows,
    opened,
    rounded,
    series,
)
from langladder.experiments.statistics import Verdict, below, difference, gated, mean
from langladder.experiments.training import train
from langladder.ground import schema
from langladder.nn.output import OutputLayer
from langladder.nn.output_choice import OutputConfig, make_output
from langladder.tasks.optimisation import TrainingConfig

Layer = Literal["softmax", "hierarchical", "adaptive", "sampled"]
TITLES = {"softmax": "full", "hierarchical": "hierarchical", "adaptive": "adaptive", "sampled": "sampled"}
PARTNER = 0.5  # probability that the next word is the partner
FREQUENCIES = 1_000_000  # running words that the layers are told the frequencies of


class OutputLayersConfig(RepeatedConfig):
    """Settings of `OutputLayers`."""

    layers: list[Layer] = Field(default=["softmax", "hierarchical", "adaptive", "sampled"], min_length=1)
    vocabularies: list[int] = Field(default=[1000, 4000, 16000], min_length=1)  # V, rising, even
    width: int = Field(default=64, ge=4)
    max_steps: int = Field(default=200, ge=2)  # at effort 1
    pairs: int = Field(default=512, ge=1)  # N
    lr: float = Field(default=0.02, gt=0)
    test_pairs: int = Field(default=10000, ge=1)
    passes: int = Field(default=7, ge=1)  # timed ones; the median counts
    margin: float = Field(default=0.01, ge=0)  # nats per word
    converged: float = Field(default=0.5, gt=0)  # nats above the floor at which both layers have learnt


class Outcome(NamedTuple):
    """One layer at one vocabulary: nats per word above the floor, seconds per word in training."""

    excess: float
    seconds: float


class OutputLayers(Experiment[OutputLayersConfig]):
    """Loss above the floor, and time, by vocabulary; a line a layer."""

    Config: ClassVar[type[schema.Config]] = OutputLayersConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - makes its own text
        """See `Experiment.examine`."""
        found: dict[Layer, dict[int, list[Outcome]]] = {layer: {} for layer in self.config.layers}
        for size in self.config.vocabularies:
            for layer in self.config.layers:
                found[layer][size] = [self._measure(layer, size, one) for one in self.config.numbers(seed)]
            said = ", ".join(
                f"{TITLES[name]} {mean([one.excess for one in by[size]]):.3f}" for name, by in found.items()
            )
            progress(f"{size:,} words, nats above the floor: {said}")
        return findings(found, self.config.margin, self.config.converged)

    def _measure(self, layer: Layer, size: int, seed: int) -> Outcome:
        config, text = self.config, ZipfText(size, seed)
        torch.manual_seed(seed)
        embedding = nn.Embedding(size, config.width)
        nn.init.normal_(embedding.weight, std=config.width**-0.5)
        _, head = make_output(OutputConfig(output=layer), width=config.width, embedding=embedding)
        head.set_counts((FREQUENCIES * text.marginal).round().long())

        def loss(_: int) -> Tensor:
            words, following = text.draw(config.pairs)  # (N,) each
            return head.loss(embedding(words), following) / config.pairs

        steps = config.steps(config.max_steps)
        training = TrainingConfig(lr=config.lr, max_steps=steps, warmup_steps=steps // 20, betas=[0.9, 0.98])
        train(nn.ModuleList([embedding, head]), loss, training)
        words, following = text.draw(config.fewer(config.test_pairs))
        with torch.no_grad():
            own = -float(head.target_log_probs(embedding(words), following).double().mean())
        excess = own + float(text.log_probs(words, following).mean())
        return Outcome(
            excess, self._seconds(head, embedding(words[: config.pairs]).detach(), following[: config.pairs])
        )

    def _seconds(self, head: OutputLayer, hidden: Tensor, targets: Tensor) -> float:
        """Median time per word of the layer's loss and gradient, (N, D), (N,)."""
        taken = []
        head.train()
        hidden.requires_grad_()
        for _ in range(self.config.fewer(self.config.passes) + 1):
            started = time.perf_counter()
            head.loss(hidden, targets).backward()  # type: ignore[no-untyped-call]
            taken.append(time.perf_counter() - started)
        return statistics.median(taken[1:]) / len(targets)


class ZipfText:
    """Pairs of following words over V words, and their true probabilities."""

    def __init__(self, size: int, seed: int) -> None:
        zipf = 1 / torch.arange(1, size + 1, dtype=torch.float64)
        self.zipf = zipf / zipf.sum()  # (V,)
        partner = torch.arange(size) ^ 1
        self.marginal = PARTNER * self.zipf[partner] + (1 - PARTNER) * self.zipf  # (V,) of the second word
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """Words (N,), and what follows each (N,)."""
        words, others = torch.multinomial(self.zipf, 2 * count, replacement=True, generator=self.generator).chunk(2)
        partnered = torch.rand(count, generator=self.generator) < PARTNER
        return words, torch.where(partnered, words ^ 1, others)

    def log_probs(self, words: Tensor, following: Tensor) -> Tensor:
        """The truth, (N,) float64 in nats."""
        return (PARTNER * (following == words ^ 1) + (1 - PARTNER) * self.zipf[following]).log()


def findings(found: dict[Layer, dict[int, list[Outcome]]], margin: float, converged: float) -> Findings:
    """The claim's first part holds where the hierarchical layer's loss is above the full one's at the largest V."""
    sizes = list(next(iter(found.values())))
    excess = {name: {size: [one.excess for one in some] for size, some in by.items()} for name, by in found.items()}
    verdict = Verdict(None, "needs the full and the hierarchical layer")
    if {"softmax", "hierarchical"} <= set(found):
        full, tree = excess["softmax"][sizes[-1]], excess["hierarchical"][sizes[-1]]
        gates = [
            below(one, converged, f"not trained far enough: what the {name} layer loses above the floor")
            for name, one in (("full", full), ("hierarchical", tree))
        ]
        verdict = gated(gates, difference(tree, full).exceeds(margin))
    seconds = {name: [mean([one.seconds for one in some]) for some in by.values()] for name, by in found.items()}
    grid: Grid = {TITLES[name]: by for name, by in excess.items()}
    said = ", ".join(f"{name} {mean(by[sizes[-1]]):.3f}" for name, by in grid.items())
    return Findings(
        **opened(verdict, f"with {sizes[-1]:,} words the loss ends above the floor by, in nats per word, {said}."),
        columns=["output layer", *(f"{size:,} words" for size in sizes)],
        rows=mean_rows(grid),
        plots=[
            Plot(
                title="Loss by vocabulary",
                x_label="words in the vocabulary",
                y_label="nats per word above the floor",
                log_x=True,
                series=lines(grid),
            )
        ],
        figures=mean_figures({f"{name}_excess": by[sizes[-1]] for name, by in excess.items()}),
        timed=_timed(seconds, sizes),
    )


def _timed(seconds: dict[Layer, list[float]], sizes: list[int]) -> Shown:
    """The second part holds where the hierarchical layer is faster at the largest V, and gains with every larger V."""
    full = seconds.get("softmax", [math.nan] * len(sizes))
    faster = {
        name: [whole / own for whole, own in zip(full, values, strict=True)]
        for name, values in seconds.items()
        if name != "softmax"
    }
    times = faster.get("hierarchical", [])
    gains = all(less < more for less, more in pairwise(times))
    able = "softmax" in seconds and len(times) > 1
    verdict = Verdict(gains and times[-1] > 1) if able else Verdict(None, "needs two vocabularies and the full layer")
    said = ", ".join(f"{TITLES[name]} {', '.join(f'{by:.1f}' for by in times)}" for name, times in faster.items())
    return Shown(
        **opened(
            verdict,
            f"with {', '.join(f'{size:,}' for size in sizes)} words, loss and gradient are so many times as fast as "
            f"the full layer's: {said}.",
        ),
        columns=["output layer", *(f"µs per word at {size:,}" for size in sizes)],
        rows=[[TITLES[name], *(rounded(1e6 * value) for value in values)] for name, values in seconds.items()],
        plots=[
            Plot(
                title="Time by vocabulary",
                x_label="words in the vocabulary",
                y_label="µs per word (loss and gradient)",
                log_x=True,
                log_y=True,
                series=[
                    series(TITLES[name], sizes, [1e6 * value for value in values]) for name, values in seconds.items()
                ],
            )
        ],
    )
