"""Plots with a line a rung: learning curves, BLEU by validation, by length and by beam width.

Where there are many rungs a few stand in colour and the rest grey. Each line knows its rung: it tells its name under
the mouse, and the page's script colours those that the reader chooses. The legend is the page's.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from langladder.evaluation.translator_page import WidthResult
from langladder.reporting.choosing import COLOURED, Choice, choice, translator_loss
from langladder.reporting.inputs import CurvePoint, ReportInputs, Task
from langladder.reporting.rungs import Rung, TranslatorRung
from langladder.reporting.svg import LINE, MARKERS, drawing, line_of, new_figure, to_svg, visible

TASK_NAMES: dict[Task, str] = {"lm": "language models", "embedding": "word vectors", "translator": "translators"}
FEW_POINTS = 40  # of a line whose points are marked one by one

R = TypeVar("R", bound=Rung)
Points = list[tuple[float, float]]


@dataclass(frozen=True)
class LinePlot:
    """The drawing, and the rungs in it to choose from."""

    svg: str
    choice: Choice


def curves_plot(inputs: ReportInputs, task: Task) -> LinePlot | None:
    """Learning curves of the rungs of a task: validation loss strong, training loss faint."""
    curves = {rung.name: inputs.curves.get((task, rung.name), []) for rung in inputs.rungs(task)}
    train = {name: _points(curve, lambda point: point.train_loss) for name, curve in curves.items()}
    valid = {name: _points(curve, lambda point: point.validation_loss) for name, curve in curves.items()}
    rungs = [rung for rung in inputs.rungs(task) if train[rung.name] or valid[rung.name]]
    chosen = choice(rungs, lambda rung: _last(valid[rung.name] or train[rung.name]), COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            faint = bool(valid[rung.name])
            if train[rung.name]:
                axes.plot(*zip(*train[rung.name], strict=True), color=LINE, alpha=0.45 if faint else 1.0, linewidth=1.2)
                axes.lines[-1].set_gid(line_of(rung.name, "train" if faint else ""))
            _line(axes, rung, valid[rung.name], number, chosen)
        _over_steps(axes, "loss (nats)")

    return _plot(f"curves-{task}", f"Learning curves of the {TASK_NAMES[task]}", chosen, draw, 4.2)


def bleu_curves_plot(inputs: ReportInputs) -> LinePlot | None:
    """BLEU of greedy translations at every validation, for the translators that were chosen by it."""
    curves = {
        rung.name: _points(inputs.curves.get(("translator", rung.name), []), lambda point: point.validation_bleu)
        for rung in inputs.translators
    }
    rungs = [rung for rung in inputs.translators if curves[rung.name]]
    chosen = choice(rungs, translator_loss, COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            _line(axes, rung, curves[rung.name], number, chosen)
        _over_steps(axes, "BLEU, greedy")

    return _plot("curves-bleu", "BLEU of the validation pairs during training", chosen, draw)


def length_plot(translators: Sequence[TranslatorRung]) -> LinePlot | None:
    """BLEU by source length, a line a rung."""
    lengths = list(dict.fromkeys(bucket.length for rung in translators for bucket in rung.by_length))
    lines = {
        rung.name: [(lengths.index(found.length), found.bleu) for found in rung.by_length if found.bleu is not None]
        for rung in translators
    }
    rungs = [rung for rung in translators if lines[rung.name]]
    chosen = choice(rungs, translator_loss, COLOURED)

    def draw(axes: Axes) -> None:
        for number, rung in enumerate(rungs):
            _line(axes, rung, lines[rung.name], number, chosen)
        axes.set_xticks(range(len(lengths)), [visible(length) for length in lengths])
        axes.set_xlabel("words of the source sentence")
        axes.set_ylabel("BLEU")
        axes.set_ylim(0, 105)

    return _plot("by-length", "BLEU by length of the source sentence", chosen, draw)


def search_errors_plot(translators: Sequence[TranslatorRung]) -> LinePlot | None:
    """What a wider beam buys: search errors (per cent of the wrong translations) and BLEU by beam width."""
    widths = sorted({result.width for rung in translators for result in rung.by_width})
    rungs = [rung for rung in translators if rung.by_width]
    chosen = choice(rungs, translator_loss, COLOURED)

    def draw(errors: Axes, bleu: Axes) -> None:
        for axes, read in ((errors, _share), (bleu, _bleu)):
            for number, rung in enumerate(rungs):
                results = [(widths.index(found.width), read(found)) for found in rung.by_width]
                _line(axes, rung, [(x, y) for x, y in results if y is not None], number, chosen)
            axes.set_xticks(range(len(widths)), [str(width) for width in widths])
            axes.set_xlabel("beam width")
        errors.set_ylabel("search errors, % of the wrong")
        errors.set_ylim(bottom=0)
        bleu.set_ylabel("BLEU")

    return _plot("search-errors", "Search errors and BLEU by beam width", chosen, draw, panels=2)


def _share(result: WidthResult) -> float | None:
    share = result.errors.share
    return None if share is None else 100 * share


def _bleu(result: WidthResult) -> float | None:
    return result.bleu


def _points(curve: Sequence[CurvePoint], read: Callable[[CurvePoint], float | None]) -> Points:
    """What was measured; where a loss is infinite the line has a gap."""
    found = ((point.step, read(point)) for point in curve)
    return [(step, value) for step, value in found if value is not None]


def _last(points: Points) -> float | None:
    return points[-1][1] if points else None


def _line(axes: Axes, rung: Rung, points: Sequence[tuple[float, float]], number: int, chosen: Choice) -> None:
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


def _plot(
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
