"""The columns of the ladder's tables. Each family says which it has; what training cost is the same for all."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from langladder.evaluation.page import Page
from langladder.faces.report import numbers
from langladder.faces.report.entries import Timing

P = TypeVar("P", bound=Page)


@dataclass(frozen=True)
class Column(Generic[P]):
    """One measure: `read(page, timing)` gives the number or `None`.

    Attributes:
        explanation: one sentence with the unit; better: which end is, None where neither is.
        brief: one of the few that the terminal and the README show.
        compared: one of those by which `pipeline.compare` sets two ladders side by side.
    """

    title: str
    explanation: str
    read: Callable[[P, Timing], float | None]
    show: numbers.Style
    better: Literal["lower", "higher"] | None
    brief: bool = False
    compared: bool = False


def half_width(interval: tuple[float, float] | None) -> float | None:
    """Of the interval of a share, in per cent."""
    return None if interval is None else 100 * (interval[1] - interval[0]) / 2


def work_columns(unit: str) -> tuple[Column[Any], ...]:
    """What a network takes on any machine, of pages with `work`; `unit` is a position: token or word."""
    return (
        Column(
            f"operations/{unit}",
            f"multiplications and additions of a forward pass for each {unit}, at the length it is trained on; "
            "training takes about three times as many",
            lambda page, _: None if page.work is None else page.work.flops,
            numbers.compact,
            "lower",
        ),
        Column(
            "training memory",
            "of weights, gradients, the optimiser's state and what the backward pass needs of a batch, in fp32; "
            "an estimate for any machine, without libraries and data",
            lambda page, _: None if page.work is None else page.work.training_bytes,
            numbers.memory,
            "lower",
        ),
    )


def cost_columns(unit: str) -> tuple[Column[Any], ...]:
    """What training cost, on the machine that trained; `unit` is what it reads: tokens or words."""
    return (
        Column(
            f"{unit}/s",
            f"training {unit} taken in a second",
            lambda _, cost: cost.tokens_per_second,
            numbers.compact,
            "higher",
            brief=True,
        ),
        Column(
            "time", "wall-clock time of training", lambda _, cost: cost.seconds, numbers.seconds, "lower", brief=True
        ),
        Column(
            "memory",
            "peak memory of the training process",
            lambda _, cost: cost.peak_memory_bytes,
            numbers.memory,
            "lower",
        ),
    )
