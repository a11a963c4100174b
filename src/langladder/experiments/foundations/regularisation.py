"""L1, L2 and dropout: what each does to the weights, and to the loss on what was not seen (Tibshirani 1996; Ng 2004).

    min_w  (1/N) Σ_n log(1 + exp(−t_n wᵀ x_n)) + λ R(w)
    L1   R = Σ |w_i|      a weight whose gradient is below λ is 0 exactly
    L2   R = ½ Σ w_i²     all shrink, by a share of themselves, and none is 0

Logistic regression with many more features than matter: the labels depend on a few of D, and N is little more than D.
L1 is minimised by steps of proximal gradient, w ← S(w − η ∇L, ηλ) with S(v, κ) = sign(v) max(|v| − κ, 0) (ISTA, Beck &
Teboulle 2009): a subgradient jumps about 0 and never stays there. Dropout (Srivastava et al. 2014) hides each feature
with probability p at every step and scales the rest by 1 / (1 − p); with a linear model that comes to an L2 penalty
that knows each feature's scale (Wager, Wang & Liang 2013).

Shape legend: N examples, D features.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, Series, opened, rounded, series
from langladder.experiments.statistics import Verdict, difference, every
from langladder.ground import schema

Penalty = Literal["l1", "l2", "dropout"]
TITLES: dict[Penalty, str] = {"l1": "L1", "l2": "L2", "dropout": "dropout"}
RATE = 0.5  # η of the full gradient
DRAWN = 6  # weights whose paths are drawn, half of features that matter


class RegularisationConfig(RepeatedConfig):
    """Settings of `Regularisation`."""

    strengths: list[float] = Field(default=[0.001, 0.003, 0.01, 0.03, 0.1, 0.3], min_length=2)  # λ of L1 and L2
    dropped: list[float] = Field(default=[0.1, 0.3, 0.5, 0.7, 0.8, 0.9], min_length=1)  # p
    features: int = Field(default=100, ge=2)  # D
    matter: int = Field(default=10, ge=1)
    examples: int = Field(default=150, ge=2)  # N
    held_out: int = Field(default=2000, ge=10)
    max_steps: int = Field(default=1500, ge=2)  # at effort 1
    margin: float = Field(default=0.005, ge=0)  # nats of the held-out loss


class Rows(NamedTuple):
    """x (N, D), and the labels t (N,), 1 or −1."""

    x: Tensor
    t: Tensor


class Fitted(NamedTuple):
    """What a strength leads to: w (D,), the loss of training and held-out rows, and of either half of the latter."""

    strength: float
    w: Tensor
    train: float
    held_out: float
    chosen_by: float = 0.0
    judged_by: float = 0.0

    @property
    def zeros(self) -> float:
        """Share of the weights that are 0 exactly."""
        return float((self.w == 0).double().mean())


class Paths(NamedTuple):
    """Of one seed: without a penalty, and the path of each over its strengths."""

    plain: Fitted
    paths: dict[Penalty, list[Fitted]]


class Regularisation(Experiment[RegularisationConfig]):
    """Paths of the weights by strength; sparsity and held-out loss."""

    Config: ClassVar[type[schema.Config]] = RegularisationConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - makes its own data
        """See `Experiment.examine`."""
        config, steps = self.config, self.config.steps(self.config.max_steps)
        runs: list[Paths] = []
        for number in config.numbers(seed):
            train, held_out = made_up(config, number)
            plain = fitted("l2", 0.0, train, held_out, steps, number)
            found: dict[Penalty, list[Fitted]] = {}
            for penalty in TITLES:
                strengths = config.dropped if penalty == "dropout" else config.strengths
                found[penalty] = [fitted(penalty, strength, train, held_out, steps, number) for strength in strengths]
                best = min(found[penalty], key=lambda one: one.held_out)
                progress(
                    f"{TITLES[penalty]}: held-out loss {best.held_out:.3f} at {best.strength:g}, "
                    f"without {plain.held_out:.3f}"
                )
            runs.append(Paths(plain, found))
        return findings(runs, config.matter, config.margin)


def made_up(config: RegularisationConfig, seed: int) -> tuple[Rows, Rows]:
    """Rows to train on and others; P(t = 1 | x) = σ(2 Σ ± x_i) over the first few features."""
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
    """Weights after so many steps on all rows, from 0."""
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


def findings(runs: Sequence[Paths], matter: int, margin: float) -> Findings:
    """The claim holds where each lowers the held-out loss, and L1 sets most weights without use to 0, and more of them
    than of the others, while L2 and dropout set none.

    Half of the held-out rows choose the strength, the other half judges it. Tables and plots are of the first seed.
    """
    plain, found = runs[0]
    best = {penalty: min(path, key=lambda one: one.held_out) for penalty, path in found.items()}
    chosen = {penalty: [min(run.paths[penalty], key=lambda one: one.chosen_by) for run in runs] for penalty in found}
    helps = [
        difference([run.plain.judged_by for run in runs], [one.judged_by for one in some]).exceeds(margin)
        for some in chosen.values()
    ]
    useless, useful = (
        [float((one.w[part] == 0).double().mean()) for one in chosen["l1"]]
        for part in (slice(matter, None), slice(0, matter))
    )
    sparse = float((best["l1"].w[matter:] == 0).double().mean())
    none = all(one.zeros == 0 for run in runs for penalty in ("l2", "dropout") for one in run.paths[penalty])
    chooses = [difference(useless, 0.5).exceeds(), difference(useless, useful).exceeds()]
    verdict = every([*helps, *chooses, Verdict(none)])
    said = ", ".join(f"{TITLES[p]} {one.held_out:.3f} (at {one.strength:g})" for p, one in best.items())
    rows: list[list[str | float | None]] = [["none", 0.0, *_figures(plain)]]
    rows += [[TITLES[penalty], one.strength, *_figures(one)] for penalty, path in found.items() for one in path]
    return Findings(
        **opened(
            verdict,
            f"the held-out loss is {plain.held_out:.3f} without and at best {said}; there L1 has set {sparse:.0%} of "
            f"the weights that do not matter to 0, the others {'none' if none else 'some'}.",
        ),
        columns=["penalty", "strength", "Σ |w|", "zeros, share", "training loss", "held-out loss"],
        rows=rows,
        plots=[
            *(_path(penalty, found[penalty], matter) for penalty in found),
            Plot(
                title="Held-out loss by strength",
                x_label="λ of L1 and L2",
                y_label="loss of rows not trained on, nats",
                log_x=True,
                series=[_held_out(penalty, found[penalty]) for penalty in found if penalty != "dropout"],
                levels={"no penalty": plain.held_out, "dropout at best": best["dropout"].held_out},
            ),
        ],
        figures={f"{penalty}_held_out_loss": one.held_out for penalty, one in best.items()}
        | {"no_penalty_held_out_loss": plain.held_out, "l1_zeros": best["l1"].zeros},
    )


def _figures(one: Fitted) -> list[float | None]:
    return [rounded(value) for value in (float(one.w.abs().sum()), one.zeros, one.train, one.held_out)]


def _held_out(penalty: Penalty, path: Sequence[Fitted]) -> Series:
    return series(TITLES[penalty], [one.strength for one in path], [one.held_out for one in path])


def _path(penalty: Penalty, path: Sequence[Fitted], matter: int) -> Plot:
    """The weights of a few features by strength: the first that matter, the first that do not."""
    places = [*range(min(DRAWN // 2, matter)), *range(matter, min(matter + DRAWN // 2, len(path[0].w)))]
    return Plot(
        title=f"Path of the weights, {TITLES[penalty]}",
        x_label="share dropped, p" if penalty == "dropout" else "strength, λ",
        y_label=f"weight, with {TITLES[penalty]}",
        log_x=penalty != "dropout",
        series=[
            series(
                f"feature {place + 1}{'' if place < matter else ', does not matter'}",
                [one.strength for one in path],
                [float(one.w[place]) for one in path],
            )
            for place in places
        ],
        levels={"0": 0.0},
    )
