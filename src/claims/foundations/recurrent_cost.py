"""The cost of gates: parameters and time of RNN, GRU and LSTM at the same width.

    RNN   h_t = tanh(W x_t + U h_{t−1} + b)      1 matrix from the input, 1 from the state, 1 bias
    GRU   reset, update, candidate                3 of each
    LSTM  forget, input, output, candidate        4 of each

so the ratio of parameters is 1 : 3 : 4 for all widths, which follows from the equations. (torch's fused layers have a
second bias of the same size, which does not change the ratio.) The ratio of times is measured. It depends on the
machine, because the products of all gates are one larger product.

Shape legend: B rows, T steps, H width.
"""

import math
import statistics
import time
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from claims.foundations.networks import CELL_TITLES, FlowCell, recurrent
from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, Shown, opened, rounded, series
from langladder.experiments.statistics import Verdict, difference, every, mean
from langladder.ground import schema
from langladder.nn.recurrent import GATES, RecurrentStack

CELLS: tuple[FlowCell, ...] = ("rnn", "gru", "lstm")


class RecurrentCostConfig(RepeatedConfig):
    """Settings of `RecurrentCost`."""

    widths: list[int] = Field(default=[64, 128, 256], min_length=1)  # H, also of the input
    rows: int = Field(default=16, ge=1)
    length: int = Field(default=48, ge=1)
    passes: int = Field(default=20, ge=1)  # forward and backward passes per network; the median is used
    margin: float = Field(default=0.182, ge=0)  # ln of the allowed ratio of the times to 1 : 3 : 4


class RecurrentCost(Experiment[RecurrentCostConfig]):
    """Parameters and time per token by width, as multiples of the RNN's."""

    Config: ClassVar[type[schema.Config]] = RecurrentCostConfig

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:  # noqa: ARG002 - does not use the text
        """See `Experiment.examine`."""
        config = self.config
        parameters: dict[str, list[int]] = {cell: [] for cell in CELLS}
        seconds: dict[str, list[list[float]]] = {cell: [] for cell in CELLS}
        for width in config.widths:
            for cell in CELLS:
                seconds[cell].append([])
                for number in config.numbers(seed):
                    torch.manual_seed(number)
                    x = torch.randn(config.rows, config.length, width)
                    network = recurrent(cell, input_width=width, width=width)
                    duration = _seconds(network, x, config.fewer(config.passes))
                    seconds[cell][-1].append(duration / (config.rows * config.length))
                parameters[cell].append(number_of_parameters(network))
            microseconds = ", ".join(f"{CELL_TITLES[cell]} {1e6 * mean(seconds[cell][-1]):.2f}" for cell in CELLS)
            progress(f"width {width}: microseconds per token {microseconds}")
        return findings(config.widths, parameters, seconds, config.margin)


def number_of_parameters(network: RecurrentStack) -> int:
    """Parameters of the equations, without torch's second bias, which is added to the first."""
    return sum(part.numel() for layer in network.layers for part in layer.matrices())  # type: ignore[operator]


def _seconds(network: RecurrentStack, x: torch.Tensor, passes: int) -> float:
    """Median time of a forward and a backward pass, after one warm-up pass."""
    durations = []
    for _ in range(passes + 1):
        started = time.perf_counter()
        hidden, _ = network(x)
        hidden.sum().backward()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations[1:])


def findings(
    widths: list[int], parameters: dict[str, list[int]], seconds: dict[str, list[list[float]]], margin: float
) -> Findings:
    """The ratio of parameters follows from the equations, so only the measured times give a verdict.

    Args:
        seconds: cell → for each width, one value per seed.
    """
    ratios = {cell: parameters[cell][-1] / parameters["rnn"][-1] for cell in CELLS}
    ratio = " : ".join(f"{ratios[cell]:g}" for cell in CELLS)
    counts = ", ".join(f"{parameters[cell][-1]:,}" for cell in CELLS)
    return Findings(
        **opened(
            Verdict(None, "that of the parameters is arithmetic"),
            f"RNN : GRU : LSTM = {ratio} in parameters, by construction ({counts} at width {widths[-1]}).",
        ),
        columns=["network", *(f"parameters at {width}" for width in widths), "ratio"],
        rows=[[CELL_TITLES[cell], *map(float, parameters[cell]), rounded(ratios[cell])] for cell in CELLS],
        plots=[],
        figures={f"{cell}_parameters": float(parameters[cell][-1]) for cell in CELLS},
        timed=_timed(widths, seconds, margin),
    )


def _timed(widths: list[int], seconds: dict[str, list[list[float]]], margin: float) -> Shown:
    """The claim holds if the ratio of times at the largest width equals that of the gates, within the tolerance."""
    times = {cell: np.array(some) / np.array(seconds["rnn"]) for cell, some in seconds.items()}  # (widths, S)
    off = [
        difference(np.log(times[cell][-1]), math.log(GATES[cell]))._replace(what=f"ln of time, {CELL_TITLES[cell]}")
        for cell in CELLS
        if cell != "rnn"
    ]
    verdict = every(entry.equals(margin) for entry in off)
    multiples = {cell: some.mean(axis=1).tolist() for cell, some in times.items()}
    ratio = " : ".join(f"{multiples[cell][-1]:.1f}" for cell in CELLS)
    return Shown(
        **opened(verdict, f"RNN : GRU : LSTM = {ratio} in time per token, in training at width {widths[-1]}."),
        columns=["network", *(f"µs per token at {width}" for width in widths)],
        rows=[[CELL_TITLES[cell], *(rounded(1e6 * mean(some)) for some in seconds[cell])] for cell in CELLS],
        plots=[
            Plot(
                title="Time per token",
                x_label="width of the hidden state",
                y_label="time per token, multiples of the RNN's",
                log_x=True,
                levels={"as parameters: GRU": 3.0, "as parameters: LSTM": 4.0},
                series=[series(CELL_TITLES[cell], widths, multiples[cell]) for cell in CELLS],
            )
        ],
    )
