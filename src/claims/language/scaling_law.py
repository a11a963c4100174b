"""A scaling law on a text whose entropy is known (Hoffmann et al. 2022, equation 2 and appendix D.2).

    L(N, D) = E + A / N^α + B / D^β

N: parameters without embeddings; D: training tokens, each read once; L: nats per token on the test text. E is what no
model of any size can go below. On real text it is only fitted; here it is known: the text was drawn from a process
with the probability of every line, so E should be

    H = −(1/T) Σ log P(line | lines before)        T: tokens of the test text

Huber's loss ρ (δ = 10⁻³) between logarithms is minimised by L-BFGS from a grid of starts, and the best minimum is kept:

    min Σᵢ ρ(log Σ exp(a − α log Nᵢ, b − β log Dᵢ, e) − log Lᵢ)      A = eᵃ, B = eᵇ, E = eᵉ

One fit for each seed. Whether E is H is one question; whether the law fits at all is another, of which the answer does
not depend on E: the root mean square of L − L(N, D) over the networks must be below the margin, too. A model with a
bounded context may not reach H however large it is.

Shape legend: G networks of one seed.
"""

import itertools
import math
from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from claims.language.small_models import TextConfig, first_part, trained
from claims.training import loss_a_token
from langladder.experiments.experiment import Data, Experiment, Progress
from langladder.experiments.findings import Findings, Plot, lines, opened, rounded
from langladder.experiments.statistics import LEAST_SEEDS, difference, every, mean
from langladder.ground import schema
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT

HUBER = 1e-3  # δ
STARTS = [(0.0, 8.0), (0.0, 8.0), (-0.5, 0.5), (0.3, 0.8), (0.3, 0.8)]  # a, b, e, α, β


class ScalingLawConfig(TextConfig):
    """Settings of `ScalingLaw`."""

    widths: list[int] = Field(default=[16, 32, 64, 128], min_length=2)
    steps_of: list[int] = Field(default=[100, 200, 400, 800], min_length=2)  # at effort 1
    layers: int = Field(default=2, ge=1)
    margin: float = Field(default=0.1, ge=0)  # |E − H| that does not count, nats per token
    seeds: int = Field(default=LEAST_SEEDS, ge=1, le=100)


class Point(NamedTuple):
    """A trained network: N, D and L."""

    parameters: int
    tokens: int
    loss: float


class Law(NamedTuple):
    """The fitted constants: E, A, B, α, β."""

    E: float
    A: float
    B: float
    alpha: float
    beta: float


class ScalingLaw(Experiment[ScalingLawConfig]):
    """Loss by parameters and tokens, the fitted law, and its E against the text's entropy."""

    Config: ClassVar[type[schema.Config]] = ScalingLawConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`.

        Raises:
            InputError: the text's true probability is not known.
        """
        config = self.config
        entropy = true_entropy(data)
        points: list[list[Point]] = []
        for number in range(seed, seed + config.fewer(config.seeds)):
            points.append(
                [self._point(data, width, steps, number) for width in config.widths for steps in config.steps_of]
            )
            law = fit(points[-1])
            progress(f"seed {number}: E {law.E:.3f} nats per token, α {law.alpha:.2f}, β {law.beta:.2f}")
        return self.findings(points, entropy)

    def _point(self, data: Data, width: int, steps: int, seed: int) -> Point:
        config = self.config
        read = config.steps(steps) * config.batch_size * config.sequence_length
        text = data.stream("train")
        settings: dict[str, object] = {"context": config.sequence_length, "width": width, "layers": config.layers}
        model, _ = trained(
            GPT,
            settings | {"heads": 4, "rows": config.rows},
            data.tokenizer().vocab_size,
            first_part(text, min(1.0, read / len(text.ids))),
            config,
            seed=seed,
            changes={"max_steps": steps},
        )
        assert isinstance(model, GPT)
        blocks = sum(parameter.numel() for name, parameter in model.named_parameters() if "embedding" not in name)
        return Point(blocks, read, loss_a_token(model, data.stream("test"), tokens=config.test_tokens))

    def findings(self, results: list[list[Point]], entropy: float) -> Findings:
        """The claim holds if the law fits, and E is as near to the entropy as the margin says, on both sides."""
        laws, margin = [fit(points) for points in results], self.config.margin
        apart = difference([law.E for law in laws], entropy)._replace(what="E against the entropy")
        off = [residual(law, points) for law, points in zip(laws, results, strict=True)]
        misfit = difference(0.0, off)._replace(what="residual of the fit")
        verdict = every([misfit.within(margin), apart.equals(margin)])
        smallest = [min(point.loss for point in points) for points in results]
        middle = Law(*(mean(part) for part in zip(*laws, strict=True)))
        cells = [[curve[index] for curve in results] for index in range(len(results[0]))]
        statement = (
            f"the irreducible loss of the fit is {middle.E:.3f} nats per token, the entropy of the text {entropy:.3f} "
            f"({apart.mean:+.3f}, {apart.low:+.3f} to {apart.high:+.3f}); the fit misses the measured losses by "
            f"{mean(off):.3f} ({-misfit.high:.3f} to {-misfit.low:.3f}), the lowest of which is {mean(smallest):.3f} "
            f"({len(laws)} seeds)."
        )
        by = {f"{cell[0].parameters:,} parameters": dict[int, list[float]]() for cell in cells}
        for cell in cells:
            by[f"{cell[0].parameters:,} parameters"][cell[0].tokens] = [point.loss for point in cell]
        return Findings(
            **opened(verdict, statement),
            columns=["parameters", "tokens read", "loss, nats per token", "by the fit"],
            rows=[
                [
                    float(cell[0].parameters),
                    float(cell[0].tokens),
                    rounded(mean([point.loss for point in cell])),
                    rounded(mean([value(law, *cell[0][:2]) for law in laws])),
                ]
                for cell in cells
            ],
            plots=[
                Plot(
                    title="loss by tokens read",
                    x_label="tokens read",
                    y_label="loss, nats per token",
                    log_x=True,
                    levels={"entropy of the text": entropy, "E of the fit": middle.E},
                    series=lines(by),
                )
            ],
            figures={
                "E": middle.E,
                "residual": mean(off),
                "entropy": entropy,
                "alpha": middle.alpha,
                "beta": middle.beta,
            },
        )


def true_entropy(data: Data) -> float:
    """H of the test text, nats per token.

    Raises:
        InputError: its true probability is not known.
    """
    log_prob = read_json(data.text / "sizes.json")["test"]["log_prob"]
    if log_prob is None:
        raise InputError(
            f"{data.text / 'sizes.json'}: test.log_prob is null, but a known entropy is needed; set corpus: microworld "
            "in params.yaml"
        )
    text = data.stream("test")
    return -float(log_prob) / (len(text.ids) - len(text.lengths))  # BOS is given, not predicted


def value(law: Law, parameters: float, tokens: float) -> float:
    """L(N, D) = E + A / N^α + B / D^β."""
    return float(law.E + law.A / parameters**law.alpha + law.B / tokens**law.beta)


def residual(law: Law, points: Sequence[Point]) -> float:
    """The root mean square of L − L(N, D) of G networks, nats per token."""
    return math.sqrt(mean([(point.loss - value(law, *point[:2])) ** 2 for point in points]))


def fit(points: list[Point]) -> Law:
    """The law of G networks."""
    from scipy.optimize import minimize  # slow import

    N, D, L = (np.log(np.array(part, dtype=np.float64)) for part in zip(*points, strict=True))

    def cost(at: np.ndarray) -> tuple[float, np.ndarray]:
        a, b, e, alpha, beta = at
        terms = np.stack([a - alpha * N, b - beta * D, np.full_like(N, e)])  # (3, G)
        top = terms.max(axis=0)
        total = top + np.log(np.exp(terms - top).sum(axis=0))
        off = total - L
        inside = np.abs(off) <= HUBER
        loss = np.where(inside, off**2 / 2, HUBER * (np.abs(off) - HUBER / 2)).sum()
        slope = np.where(inside, off, HUBER * np.sign(off)) * np.exp(terms - total)  # (3, G): ρ′ times a term's share
        gradient = [slope[0].sum(), slope[1].sum(), slope[2].sum(), -(slope[0] * N).sum(), -(slope[1] * D).sum()]
        return float(loss), np.array(gradient)

    ends = [minimize(cost, np.array(start), jac=True, method="L-BFGS-B") for start in itertools.product(*STARTS)]
    a, b, e, alpha, beta = min(ends, key=lambda end: float(end.fun)).x
    return Law(math.exp(e), math.exp(a), math.exp(b), float(alpha), float(beta))
