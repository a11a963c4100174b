"""What a CTC network is sure of, frame by frame: a letter, or the blank."""

import numpy as np
from matplotlib.axes import Axes

from langladder.evaluation.transcripts import Transcript
from langladder.faces.report.svg import GRID, INK, drawing, hues, new_figure, to_svg, visible

LEAST_NAMED = 0.25  # probability of a spike that gets its letter
SPACE = "␣"


def spikes_plot(example: Transcript, name: str) -> str:
    """Probabilities of the blank (grey) and of each letter; above, where the letters really sounded."""
    T = len(example.blank)
    with drawing():
        figure, axes = new_figure(10.4, 2.6)
        axes.fill_between(range(T), example.blank, color=GRID, alpha=0.35, linewidth=0)
        for (label, values), hue in zip(example.labels.items(), hues(len(example.labels)), strict=True):
            y = np.array(values)
            axes.plot(y, color=hue, linewidth=1.6)
            for peak in _peaks(y):
                text = SPACE if label == " " else visible(label)
                axes.annotate(text, (peak, y[peak]), (0, 2), textcoords="offset points", ha="center", color=hue)
        _sounding(axes, example)
        axes.set_xlim(-0.5, T - 0.5)
        axes.set_ylim(0, 1.16)
        axes.set_yticks([0, 0.5, 1])
        axes.set_xlabel("frame")
        axes.set_ylabel("probability")
        return to_svg(figure, name, f"Probabilities frame by frame of: {example.text}")


def _peaks(y: np.ndarray) -> list[int]:
    """Frames where a stretch above the least named probability is highest."""
    above = np.concatenate([[False], y > LEAST_NAMED, [False]])
    starts, ends = np.flatnonzero(above[1:] & ~above[:-1]), np.flatnonzero(~above[1:] & above[:-1])
    return [int(start + y[start:end].argmax()) for start, end in zip(starts, ends, strict=True)]


def _sounding(axes: Axes, example: Transcript) -> None:
    """The letters as they sounded, over the frames that they took."""
    top = axes.secondary_xaxis("top")
    sounding = np.array(example.sounding)
    places = [place for place in dict.fromkeys(example.sounding) if place >= 0]
    middles = [float(np.flatnonzero(sounding == place).mean()) for place in places]
    top.set_xticks(middles, [visible(example.text[place]) for place in places])
    top.tick_params(length=0, pad=2)
    top.spines["top"].set_visible(False)
    for place in places:
        first = float(np.flatnonzero(sounding == place)[0]) - 0.5
        axes.axvline(first, color=INK, alpha=0.12, linewidth=0.6)
