"""The cost of replacing the softmax: full, hierarchical, adaptive and sampled output layers by vocabulary size.

    full          log P(v | h) = z_v − log Σ_u exp z_u: V scores per token
    hierarchical  log₂ V decisions per token on a Huffman tree (Morin & Bengio 2005)
    adaptive      rare words in clusters, which are narrower and rarely computed (Grave et al. 2017)
    sampled       the target against some noise words (Jean et al. 2015)

They learn the same generated text with known probabilities: word ranks follow Zipf's law, and

    P(w' | w) = ½ [w' is w's partner] + ½ Zipf(w')      partners: ranks 2i and 2i + 1

so the lowest possible loss is also known. All make the same number of steps. The measured loss is always the exact one,
never the sampled one.

Shape legend: N pairs of words per step, D width, V vocabulary.
"""

import statistics
import time
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from claims.comparison import Change, Comparison, Found, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from claims.training import train
from langladder.experiments.experiment import Data
from langladder.experiments.findings import Plot, Shown, lines, opened, rounded
from langladder.experiments.statistics import Verdict, difference, every, mean
from langladder.ground import schema
from langladder.nn.output import OutputLayer
from langladder.nn.output_choice import OutputConfig, make_output
from langladder.tasks.optimisation import TrainingConfig

Layer = Literal["softmax", "hierarchical", "adaptive", "sampled"]
FULL, TREE = "full", "hierarchical"
PARTNER = 0.5  # probability that the next word is the partner
FREQUENCIES = 1_000_000  # length of the text whose word counts the layers get


class Variant(schema.Config):
    """The varied setting: V, even."""

    vocabulary: int = Field(ge=2, multiple_of=2)


class OutputLayersConfig(ComparisonConfig):
    """Settings of `OutputLayers`."""

    VARIANT = Variant
    bases: list[Layer] = Field(min_length=1)
    metric: Literal["excess"] = "excess"
    width: int = Field(default=64, ge=4)
    max_steps: int = Field(default=200, ge=2)  # at effort 1
    pairs: int = Field(default=512, ge=1)  # N
    lr: float = Field(default=0.02, gt=0)
    test_pairs: int = Field(default=10000, ge=1)
    passes: int = Field(default=7, ge=1)  # number of timed runs; the median is used


class OutputLayers(Comparison[OutputLayersConfig]):
    """Loss above the floor, and time, by vocabulary; one line per layer."""

    Config: ClassVar[type[schema.Config]] = OutputLayersConfig
    titles: Mapping[Any, str] = {"softmax": FULL}
    metrics: ClassVar[dict[str, Metric]] = {
        "excess": Metric("nats per word above the floor"),
        "seconds": Metric("seconds per word, loss and gradient", clock=True),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own text."""
        del data, seeds

        def trial(layer: Layer, change: Change, seed: int) -> Scored:
            return 0, self._measured(layer, Variant(**change).vocabulary, seed)

        return trial

    def _measured(self, layer: Layer, size: int, seed: int) -> dict[str, float]:
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
        duration = self._seconds(head, embedding(words[: config.pairs]).detach(), following[: config.pairs])
        return {"excess": excess, "seconds": duration}

    def _seconds(self, head: OutputLayer, hidden: Tensor, targets: Tensor) -> float:
        """Median time per word of the layer's loss and gradient, (N, D), (N,)."""
        durations = []
        head.train()
        hidden.requires_grad_()
        for _ in range(self.config.fewer(self.config.passes) + 1):
            started = time.perf_counter()
            head.loss(hidden, targets).backward()  # type: ignore[no-untyped-call]
            durations.append(time.perf_counter() - started)
        return statistics.median(durations[1:]) / len(targets)

    def timed(self, result: Found) -> Shown:
        """The claim holds if the hierarchical layer is faster at the largest V, and its advantage grows with every
        larger V."""
        durations = {
            layer: {size: [1e6 * value for value in by.values["seconds"]] for size, by in sizes.items()}
            for layer, sizes in result.items()
        }
        faster = {
            layer: {
                size: [full / own for full, own in zip(durations[FULL][size], by[size], strict=True)] for size in by
            }
            for layer, by in durations.items()
            if FULL in durations and layer != FULL
        }
        times = list(faster.get(TREE, {}).values())
        verdict = Verdict(None, "needs two vocabularies and the full layer")
        if len(times) > 1:
            gains = [difference(more, less).exceeds() for less, more in pairwise(times)]
            verdict = every([difference(times[-1], 1.0).exceeds(), *gains])
        sizes = list(self.config.changes())
        ratios_text = ", ".join(
            f"{layer} {', '.join(f'{mean(by[size]):.1f}' for size in sizes)}" for layer, by in faster.items()
        )
        measured = (
            f"with {', '.join(sizes)} words, the speed-up of loss and gradient over the full layer is: {ratios_text}."
        )
        return Shown(
            **opened(verdict, measured),
            columns=["output layer", *(f"µs per word at {size}" for size in sizes)],
            rows=[[layer, *(rounded(mean(seconds)) for seconds in by.values())] for layer, by in durations.items()],
            plots=[
                Plot(
                    title="Time by vocabulary",
                    x_label="words in the vocabulary",
                    y_label="µs per word (loss and gradient)",
                    log_x=True,
                    log_y=True,
                    series=lines({layer: {float(size): by[size] for size in by} for layer, by in durations.items()}),
                )
            ],
        )


class ZipfText:
    """Pairs of consecutive words over V words, and their true probabilities."""

    def __init__(self, size: int, seed: int) -> None:
        zipf = 1 / torch.arange(1, size + 1, dtype=torch.float64)
        self.zipf = zipf / zipf.sum()  # (V,)
        partner = torch.arange(size) ^ 1
        self.marginal = PARTNER * self.zipf[partner] + (1 - PARTNER) * self.zipf  # (V,) of the second word
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, count: int) -> tuple[Tensor, Tensor]:
        """Words (N,), and the word after each (N,)."""
        words, others = torch.multinomial(self.zipf, 2 * count, replacement=True, generator=self.generator).chunk(2)
        partnered = torch.rand(count, generator=self.generator) < PARTNER
        return words, torch.where(partnered, words ^ 1, others)

    def log_probs(self, words: Tensor, following: Tensor) -> Tensor:
        """The true log-probabilities, (N,) float64 in nats."""
        return (PARTNER * (following == words ^ 1) + (1 - PARTNER) * self.zipf[following]).log()
