"""Plots with a line a rung: learning curves, and the frame for others.

Where there are many rungs a few stand in colour and the rest grey. Each line knows its rung: it tells its name under
the mouse, and the page's script colours those that the reader chooses. The legend is the page's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from langladder.faces.report.choosing import COLOURED, Choice, Loss, choice
from langladder.faces.report.entries import CurvePoint, Entry
from langladder.faces.report.svg import LINE, MARKERS, drawing, line_of, new_figure, to_svg

FEW_POINTS = 40  # of a line whose points are marked one by one

Points = list[tuple[float, float]]
Rungs = Sequence[Entry[Any]]


@dataclass(frozen=True)
class LinePlot:
    """The drawing, and the rungs in it to choose from."""

    svg: str
    choice: Choice


def curves_plot(rungs: Rungs, name: str, title: str) -> LinePlot | None:
    """Learning curves of the rungs of a family: validation loss strong, training loss faint."""
    train = {rung.name: _points(rung.curve, lambda point: point.train_loss) for rung in rungs}
    valid = {rung.name: _points(rung.curve, lambda point: point.validation_loss) for rung in rungs}
    rungs = [rung for rung in rungs if train[rung.name] or valid[rung.name]]
    chosen = choice(rungs, lambda page: _last(valid[page.name] or train[page.name]), COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            faint = bool(valid[rung.name])
            if train[rung.name]:
                axes.plot(*zip(*train[rung.name], strict=True), color=LINE, alpha=0.45 if faint else 1.0, linewidth=1.2)
                axes.lines[-1].set_gid(line_of(rung.name, "train" if faint else ""))
            draw_line(axes, rung, valid[rung.name], number, chosen)
        _over_steps(axes, "loss (nats)")

    return line_plot(f"curves-{name}", f"Learning curves of the {title.lower()}", chosen, draw, 4.2)


def bleu_curves_plot(rungs: Rungs, name: str, loss: Loss) -> LinePlot | None:
    """BLEU of the validation pairs over training; coloured first where `loss` of the page is lowest."""
    about = "BLEU of the validation pairs during training"
    return _measured(rungs, f"bleu-{name}", lambda point: point.validation_bleu, loss, (about, "BLEU, greedy"))


def reward_curves_plot(rungs: Rungs, name: str, loss: Loss) -> LinePlot | None:
    """Reward of answers to validation prompts over training: the gold judge's, where it stands beside another."""

    def reward(point: CurvePoint) -> float | None:
        return point.validation_reward if point.validation_gold is None else point.validation_gold

    about = "Reward of answers to validation prompts during training"
    return _measured(rungs, f"reward-{name}", reward, loss, (about, "reward"))


def _measured(
    rungs: Rungs, name: str, read: Callable[[CurvePoint], float | None], loss: Loss, said: tuple[str, str]
) -> LinePlot | None:
    """A measure over training; `said`: what is shown, and the label of its axis."""
    curves = {rung.name: _points(rung.curve, read) for rung in rungs}
    rungs = [rung for rung in rungs if curves[rung.name]]
    chosen = choice(rungs, loss, COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            draw_line(axes, rung, curves[rung.name], number, chosen)
        _over_steps(axes, said[1])

    return line_plot(f"curves-{name}", said[0], chosen, draw)


def _points(curve: Sequence[CurvePoint], read: Callable[[CurvePoint], float | None]) -> Points:
    """What was measured; where a loss is infinite the line has a gap."""
    found = ((point.step, read(point)) for point in curve)
    return [(step, value) for step, value in found if value is not None]


def _last(points: Points) -> float | None:
    return points[-1][1] if points else None


def draw_line(axes: Axes, rung: Entry[Any], points: Sequence[tuple[float, float]], number: int, chosen: Choice) -> None:
    """The line of one rung, with its mark where the points are few enough to be told apart."""
    if not points:
        return
    mark = MARKERS[number % len(MARKERS)] if len(points) <= FEW_POINTS else None
    above = 3 if rung.name in chosen.chosen else 2
    axes.plot(*zip(*points, strict=True), color=LINE, linewidth=2, marker=mark, markersize=4.5, zorder=above)
    axes.lines[-1].set_gid(line_of(rung.name))


def _over_steps(axes: Axes, measured: str) -> None:
    axes.set_xlabel("training step")
    axes.set_ylabel(measured)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))  # a step or two: no halves
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def line_plot(
    name: str, label: str, chosen: Choice, draw: Callable[..., None], height: float = 3.4, panels: int = 1
) -> LinePlot | None:
    """Axes with what `draw` draws in them; None where no rung has a point."""
    if not chosen.titles:
        return None
    with drawing():
        if panels == 1:
            figure, axes = new_figure(10.4, height)
            draw(axes)
        else:
            figure = Figure(figsize=(10.4, height), layout="constrained")
            FigureCanvasAgg(figure)  # measures text
            draw(*figure.subplots(1, panels))
        return LinePlot(to_svg(figure, name, label, chosen), chosen)
