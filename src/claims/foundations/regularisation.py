"""L1, L2 and dropout: the effect on the weights and on the held-out loss (Tibshirani 1996; Ng 2004).

    min_w  (1/N) Σ_n log(1 + exp(−t_n wᵀ x_n)) + λ R(w)
    L1   R = Σ |w_i|      a weight whose gradient is below λ is exactly 0
    L2   R = ½ Σ w_i²     all weights shrink proportionally, and none is 0

Logistic regression with many irrelevant features: the labels depend on a few of D features, and N is only slightly
larger than D. L1 is minimised with proximal gradient steps, w ← S(w − η ∇L, ηλ) with S(v, κ) = sign(v) max(|v| − κ, 0)
(ISTA, Beck & Teboulle 2009), because subgradient steps oscillate around 0. Dropout (Srivastava et al. 2014) drops each
feature with probability p at every step and scales the rest by 1 / (1 − p). For a linear model, this is approximately
an L2 penalty that is adapted to each feature's scale (Wager, Wang & Liang 2013).

Shape legend: N examples, D features.
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from claims.comparison import Change, Comparison, Measure, Scored
from claims.declaration import ComparisonConfig, Metric
from langladder.experiments.experiment import Data
from langladder.ground import schema

Penalty = Literal["l1", "l2", "dropout"]
RATE = 0.5  # η, learning rate of full-batch gradient steps


class Variant(schema.Config):
    """What varies: the penalty, and the strengths that it may choose from (λ of L1 and L2, p of dropout)."""

    penalty: Penalty
    strengths: list[float] = Field(min_length=1)


class RegularisationConfig(ComparisonConfig):
    """Settings of `Regularisation`."""

    VARIANT = Variant
    bases: list[Literal["logistic"]] = Field(min_length=1)
    metric: Literal["loss", "useless", "ahead", "any"] = "loss"
    features: int = Field(default=100, ge=2)  # D
    matter: int = Field(default=10, ge=1)
    examples: int = Field(default=150, ge=2)  # N
    held_out: int = Field(default=2000, ge=10)
    max_steps: int = Field(default=1500, ge=2)  # at effort 1


class Rows(NamedTuple):
    """x (N, D), and the labels t (N,), 1 or −1."""

    x: Tensor
    t: Tensor


class Fitted(NamedTuple):
    """The result for one strength: w (D,), the loss on training and held-out rows, and on each half of the latter."""

    strength: float
    w: Tensor
    train: float
    held_out: float
    chosen_by: float
    judged_by: float

    def zeros(self, part: slice) -> float:
        """Share of some weights that are exactly 0."""
        return float((self.w[part] == 0).double().mean())


class Regularisation(Comparison[RegularisationConfig]):
    """Held-out loss and sparsity. One half of the held-out rows selects the strength, the other half evaluates it."""

    Config: ClassVar[type[schema.Config]] = RegularisationConfig
    titles: Mapping[Any, str] = {"logistic": "logistic regression"}
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("held-out loss, nats"),
        "train": Metric("training loss", drawn=False),
        "strength": Metric("strength", drawn=False),
        "useless": Metric("zeros among weights of irrelevant features", more_is_better=True, drawn=False),
        "ahead": Metric("minus zeros among weights of relevant features", more_is_better=True, drawn=False),
        "any": Metric("zeros at any strength", more_is_better=True, drawn=False),
        "by_strength": Metric("loss of rows not trained on", along="strength", log="x"),
        "of_useful": Metric("mean |w| of relevant features", along="strength", log="x"),
        "of_useless": Metric("mean |w| of irrelevant features", along="strength", log="x"),
    }

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`. It creates its own data."""
        del data, seeds
        config = self.config

        def trial(_: str, change: Change, seed: int) -> Scored:
            variant, (train, held_out) = Variant(**change), made_up(config, seed)
            steps = config.steps(config.max_steps)
            path = [fitted(variant.penalty, by, train, held_out, steps, seed) for by in variant.strengths]
            return 0, summary(path, config.matter)

        return trial


def summary(path: list[Fitted], matter: int) -> dict[str, Any]:
    """The results of a penalty: at the strength that one half of the held-out rows selects, and by strength."""
    useful, useless = slice(0, matter), slice(matter, None)
    best = min(path, key=lambda fit: fit.chosen_by)
    drawn = path if len(path) > 1 else []  # without a penalty there is no curve over strengths
    return {
        "loss": best.judged_by,
        "train": best.train,
        "strength": best.strength,
        "useless": best.zeros(useless),
        "ahead": best.zeros(useless) - best.zeros(useful),
        "any": max(fit.zeros(slice(None)) for fit in path),
        "by_strength": {fit.strength: fit.held_out for fit in drawn},
        "of_useful": {fit.strength: float(fit.w[useful].abs().mean()) for fit in drawn},
        "of_useless": {fit.strength: float(fit.w[useless].abs().mean()) for fit in drawn},
    }


def made_up(config: RegularisationConfig, seed: int) -> tuple[Rows, Rows]:
    """Training and held-out rows; P(t = 1 | x) = σ(2 Σ ± x_i) over the first few features."""
    draw = torch.Generator().manual_seed(seed)
    truth = torch.zeros(config.features)
    matter = min(config.matter, config.features)
    truth[:matter] = 2.0 * (1 - 2 * (torch.arange(matter) % 2)) / math.sqrt(matter)
    sides = []
    for count in (config.examples, config.held_out):
        x = torch.randn(count, config.features, generator=draw)
        t = torch.where(torch.rand(count, generator=draw) < torch.sigmoid(2 * x @ truth), 1.0, -1.0)
        sides.append(Rows(x, t))
    return sides[0], sides[1]


def loss(w: Tensor, rows: Rows) -> Tensor:
    """(1/N) Σ log(1 + exp(−t wᵀ x)) of weights (D,)."""
    return -functional.logsigmoid(rows.t * (rows.x @ w)).mean()


def fitted(penalty: Penalty, strength: float, train: Rows, held_out: Rows, steps: int, seed: int) -> Fitted:
    """Weights after this many steps on all rows, starting from 0."""
    draw = torch.Generator().manual_seed(seed)
    w = torch.zeros(train.x.shape[1])
    for _ in range(steps):
        rows = train
        if penalty == "dropout":
            kept = torch.rand(train.x.shape, generator=draw) >= strength
            rows = Rows(train.x * kept / (1 - strength), train.t)
        # ∇L = −(1/N) Σ σ(−t wᵀ x) t x
        gradient = -(torch.sigmoid(-rows.t * (rows.x @ w)) * rows.t) @ rows.x / len(rows.t)  # (D,)
        w = w - RATE * gradient
        if penalty == "l1":
            w = shrunk(w, RATE * strength)
        elif penalty == "l2":
            # w ← w / (1 + ηλ): the proximal step of ½ λ w², stable at any λ
            w = w / (1 + RATE * strength)
    halves = [float(loss(w, Rows(held_out.x[part::2], held_out.t[part::2]))) for part in (0, 1)]
    return Fitted(strength, w, float(loss(w, train)), float(loss(w, held_out)), *halves)


def shrunk(v: Tensor, by: float) -> Tensor:
    """S(v, κ) = sign(v) max(|v| − κ, 0), the soft threshold."""
    return v.sign() * (v.abs() - by).clamp(min=0)
