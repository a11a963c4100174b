"""Captioners and speech recognisers in the report: scores by each search, examples, what is read at each frame."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes

from langladder.evaluation.captions import CaptionPage
from langladder.evaluation.page import Page, declared
from langladder.evaluation.transcripts import Transcript, TranscriptPage
from langladder.faces.report import numbers
from langladder.faces.report.bidi import isolated
from langladder.faces.report.inputs import Entry, ReportInputs
from langladder.faces.report.plots import GRID, INK, drawing, hues, new_figure, shaded, to_svg, visible
from langladder.faces.report.section import Column, Picture, Section, page_columns

DRAWN = 3  # pictures of utterances

LEAST_NAMED = 0.25  # probability of a spike that gets its letter

SPACE = "␣"


def columns(pages: Sequence[Page]) -> list[Column[Any]]:
    """Scores by beam search; both searches stand side by side in the sections."""
    return page_columns(pages, [metric for metric in declared(type(pages[0])) if "greedy" not in metric.path])


def sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Captions, then speech."""
    yield from caption_sections(inputs, family)
    yield from transcript_sections(inputs, family)


def caption_sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every captioner: its scores by each search, then what it says of some scenes."""
    views = [
        {
            "task": searched(rung),
            "examples": rung.page.examples,
            "questions": [
                (question.replace("_", " "), numbers.whole(score.asked), numbers.share(score.said))
                for question, score in rung.page.by_question.items()
            ],
        }
        for rung in inputs.rungs_with(family, CaptionPage)
    ]
    if views:
        yield Section("captions", "Captions", "captions.html.j2", {"captioners": views})


def transcript_sections(inputs: ReportInputs, family: str) -> Iterable[Section]:
    """Every recogniser: its scores by each search, transcripts, pictures of the first of them."""
    views = [
        {
            "task": searched(rung),
            "attends": any(example.attention for example in rung.page.examples),
            "examples": rung.page.examples,
            "figures": [
                Picture(
                    Markup((attended_plot if example.attention else spikes_plot)(example, f"spikes-{rung.name}-{i}")),
                    Markup("said: {} · greedy: {} · beam: {}").format(
                        *map(isolated, (example.text, example.greedy, example.beam))
                    ),
                )
                for i, example in enumerate(rung.page.examples[:DRAWN])
            ],
        }
        for rung in inputs.rungs_with(family, TranscriptPage)
    ]
    if views:
        yield Section("transcripts", "Speech", "transcripts.html.j2", {"recognisers": views})


@dataclass(frozen=True)
class Searched:
    """A rung's table, a row a search; what each column is; a line about the rung."""

    name: str
    title: str
    about: str
    columns: list[str]
    rows: list[list[str]]
    units: list[tuple[str, str]]


def searched(rung: Entry[CaptionPage] | Entry[TranscriptPage]) -> Searched:
    """The table of a rung by search."""
    searches = {"greedy": rung.page.scores.greedy, "beam search": rung.page.scores.beam}
    metrics = declared(type(rung.page.scores.greedy))
    rows = []
    for title, scores in searches.items():
        cells = [(metric.read(scores), numbers.style_of(metric.metric)) for metric in metrics]
        rows.append([title, *(numbers.DASH if value is None else style(value) for value, style in cells)])
    units = [(metric.metric.title, metric.metric.sentence) for metric in metrics]
    return Searched(rung.name, rung.title, _about(rung), ["search", *(title for title, _ in units)], rows, units)


def _about(rung: Entry[CaptionPage] | Entry[TranscriptPage]) -> str:
    """How many were tested, how large the network is, how long it was trained."""
    parts = [f"{numbers.whole(rung.page.scores.sentences)} test examples"]
    parts.append(f"{numbers.compact(rung.page.parameters)} parameters")
    if rung.timing.seconds is not None:
        parts.append(f"trained in {numbers.seconds(rung.timing.seconds)}")
    return " · ".join(parts)


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


def attended_plot(example: Transcript, name: str) -> str:
    """A row for each letter that was read, shaded where its attention is; above, where the letters really sounded."""
    letters = [*(visible(letter) if letter.strip() else SPACE for letter in example.beam), "end"]
    with drawing():
        figure, axes = new_figure(10.4, 1.0 + 0.16 * len(letters))
        weights = np.array(example.attention)  # (letter, source position)
        axes.imshow(shaded(weights), aspect="auto", extent=(-0.5, example.frames - 0.5, len(letters) - 0.5, -0.5))
        axes.set_yticks(range(len(letters)), letters)
        _sounding(axes, example)
        axes.set_xlabel("frame")
        axes.set_ylabel("letter read")
        return to_svg(figure, name, f"Attention letter by letter of: {example.text}")


def _peaks(y: np.ndarray) -> list[int]:
    """Frames where a stretch above the least named probability is highest."""
    above = np.concatenate([[False], y > LEAST_NAMED, [False]])
    starts, ends = np.flatnonzero(above[1:] & ~above[:-1]), np.flatnonzero(~above[1:] & above[:-1])
    return [int(start + y[start:end].argmax()) for start, end in zip(starts, ends, strict=True)]


def _sounding(axes: Axes, example: Transcript) -> None:
    """The letters as they sounded, over the frames that they took."""
    top = axes.secondary_xaxis("top")
    sounding = np.array(example.sounding)
    letters = [letter for letter in dict.fromkeys(example.sounding) if letter >= 0]
    middles = [float(np.flatnonzero(sounding == letter).mean()) for letter in letters]
    top.set_xticks(middles, [visible(example.text[letter]) for letter in letters])
    top.tick_params(length=0, pad=2)
    top.spines["top"].set_visible(False)
    for letter in letters:
        first = float(np.flatnonzero(sounding == letter)[0]) - 0.5
        axes.axvline(first, color=INK, alpha=0.12, linewidth=0.6)
