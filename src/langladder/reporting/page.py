"""The report: one HTML file that holds all it shows, readable offline, on screen and on paper.

Every text of a corpus or a model is escaped by Jinja; only the SVG made here is not. A content security policy forbids
the page to load anything, and lets run the one script that it holds (it sorts and filters tables, and shows the rungs
that the reader chooses), known by its hash. Without the script everything is there.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from langladder.artefacts import write_text
from langladder.reporting import facts, line_plots, numbers, plots, views
from langladder.reporting.choosing import BESIDE, COLOURED, Choice, choice, embedding_loss, lm_loss, translator_loss
from langladder.reporting.claims import claim_views
from langladder.reporting.dag import draw_dag, grouped
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.sequences import sequence_views
from langladder.reporting.tables import ladder_rows

# Figures are most of the file's size: rungs share these.
MAX_ATTENTION_MAPS = 24
MAPS_A_RUNG = 4
LONGEST_MAP = 40  # tokens; longer sentences make maps that nobody can read
SCRIPTS = ("tables.js", "choose.js")


@dataclass(frozen=True)
class Figure:
    """A drawing with what stands below it, and over it; the rungs to choose from, where it is a line plot."""

    svg: Markup
    caption: str = ""
    heading: str = ""
    choice: Choice | None = None


@dataclass(frozen=True)
class RungFigures:
    """The drawings of one rung."""

    name: str
    title: str
    figures: list[Figure]


def build_page(inputs: ReportInputs) -> str:
    """The whole page; the same inputs give the same text."""
    environment = Environment(
        loader=PackageLoader("langladder.reporting", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    assert loader is not None
    style, *scripts = (loader.get_source(environment, name)[0] for name in ("page.css", *SCRIPTS))
    script = "\n".join(scripts)
    context: dict[str, Any] = {
        "style": Markup(style),
        "script": Markup(script),
        "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "inputs": inputs,
        "best": best_language_model(inputs),
        "numbers": numbers,
        "zip": partial(zip, strict=True),
        "corpus": inputs.meta.text or inputs.meta.corpus,
        "ladder": _ladder(inputs),
        "tables": ladder_rows(inputs),
        "curves": list(_curves(inputs)),
        **_language_models(inputs),
        **_translators(inputs),
        **_embeddings(inputs),
        "sequences": sequence_views(
            inputs.sequences, [inputs.timing("sequence", rung.name) for rung in inputs.sequences]
        ),
        "claims": claim_views(inputs.claims),
        "dag": draw_dag(inputs.dag),
        "stages": grouped(inputs.dag),
        "data": {side: facts.blocks(report) for side, report in inputs.data.items()},
        "tokenizers": {side: facts.blocks(report) for side, report in inputs.tokenizers.items()},
    }
    return environment.get_template("page.html.j2").render(context)


def write_page(inputs: ReportInputs, path: Path) -> None:
    """Write the page atomically."""
    write_text(path, build_page(inputs))


def best_language_model(inputs: ReportInputs) -> str | None:
    """The first sentence of the report: which rung stands highest, and how high."""
    scored = [(rung.scores.perplexity_per_word, rung) for rung in inputs.lms]
    measured = [(value, rung) for value, rung in scored if value is not None and isfinite(value)]
    if not measured:
        return None
    value, rung = min(measured, key=lambda pair: pair[0])
    text = f"{rung.title}, with {numbers.perplexity(value)} perplexity a word"
    above = rung.scores.above_floor_percent
    return text if above is None else f"{text}, {numbers.percent(above)} above the floor"


def _ladder(inputs: ReportInputs) -> Figure | None:
    svg = plots.ladder_plot(inputs)
    caption = "Perplexity a word on the test text, from the oldest rung at the foot to the newest at the top."
    if inputs.floor:
        caption += " The dashed line is the entropy floor: the true uncertainty of the text, which no model can beat."
    return None if svg is None else Figure(Markup(svg), caption)


def _curves(inputs: ReportInputs) -> Iterator[Figure]:
    for task, name in line_plots.TASK_NAMES.items():
        if drawn := line_plots.curves_plot(inputs, task):
            yield _lines(drawn, name.capitalize())
    if drawn := line_plots.bleu_curves_plot(inputs):
        yield _lines(drawn, "Translators: BLEU of greedy translations")


def _lines(drawn: line_plots.LinePlot, heading: str = "") -> Figure:
    return Figure(Markup(drawn.svg), heading=heading, choice=drawn.choice)


def _language_models(inputs: ReportInputs) -> dict[str, Any]:
    writers = [rung for rung in inputs.lms if rung.samples]
    return {"generations": views.generations(writers), "writers": choice(writers, lm_loss, BESIDE)}


def _translators(inputs: ReportInputs) -> dict[str, Any]:
    lengths, widths = line_plots.length_plot(inputs.translators), line_plots.search_errors_plot(inputs.translators)
    shown = [rung for rung in inputs.translators if rung.examples]
    attention = list(_attention(inputs))
    attentive = [rung for rung in shown if rung.name in {drawn.name for drawn in attention}]
    return {
        "translations": views.translations(shown),
        "shown": choice(shown, translator_loss, BESIDE),
        "attention": attention,
        "attentive": choice(attentive, translator_loss, 1, most=2),
        "by_length": lengths and _lines(lengths),
        "search_errors": widths and _lines(widths),
    }


def _embeddings(inputs: ReportInputs) -> dict[str, Any]:
    near = [rung for rung in inputs.embeddings if rung.neighbours]
    asked = [rung for rung in inputs.embeddings if rung.scores.analogy and rung.scores.analogy.sections]
    maps = list(_maps(inputs))
    mapped = [rung for rung in inputs.embeddings if rung.name in {drawn.name for drawn in maps}]
    return {
        "neighbours": views.neighbours(near),
        "near": choice(near, embedding_loss, BESIDE),
        "sections": views.analogy_sections(asked),
        "asked": choice(asked, embedding_loss, COLOURED),
        "maps": maps,
        "mapped": choice(mapped, embedding_loss, 1, most=2),
    }


def _maps(inputs: ReportInputs) -> Iterator[RungFigures]:
    for i, rung in enumerate(inputs.embeddings):
        if svg := plots.map_plot(rung, f"map-{i}"):
            yield RungFigures(rung.name, rung.title, [Figure(Markup(svg))])


def _attention(inputs: ReportInputs) -> Iterator[RungFigures]:
    """Maps of the first sentences of each rung that has attention."""
    drawable = [
        (rung, [seen for seen in rung.examples if seen.attention and len(seen.source_tokens) <= LONGEST_MAP])
        for rung in inputs.translators
    ]
    drawable = [(rung, examples) for rung, examples in drawable if examples]
    each = min(MAPS_A_RUNG, max(1, MAX_ATTENTION_MAPS // max(1, len(drawable))))
    for i, (rung, examples) in enumerate(drawable):
        drawn = [
            Figure(Markup(svg), f"{example.source} → {example.output}")
            for j, example in enumerate(examples[:each])
            if (svg := plots.attention_plot(example, f"attention-{i}-{j}", rung.title))
        ]
        yield RungFigures(rung.name, rung.title, drawn)
