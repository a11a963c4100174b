"""The report: one HTML file that holds all it shows, readable offline, on screen and on paper.

Every text of a corpus or a model is escaped by Jinja; only the SVG made here is not. A content security policy forbids
the page to load anything, and lets run the one script that it holds (sorting tables), known by its hash.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from langladder.artefacts import write_text
from langladder.reporting import facts, numbers, plots, views
from langladder.reporting.claims import claim_views
from langladder.reporting.dag import draw_dag, grouped
from langladder.reporting.inputs import ReportInputs
from langladder.reporting.search_plot import search_errors_plot
from langladder.reporting.sequences import sequence_views
from langladder.reporting.tables import ladder_rows

# Figures are most of the file's size: rungs share these.
MAX_ATTENTION_MAPS = 24
MAPS_A_RUNG = 4
LONGEST_MAP = 40  # tokens; longer sentences make maps that nobody can read


@dataclass(frozen=True)
class Figure:
    """A drawing with what stands below it."""

    svg: Markup
    caption: str


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
    style, script = (loader.get_source(environment, name)[0] for name in ("page.css", "sort.js"))
    context: dict[str, Any] = {
        "style": Markup(style),
        "script": Markup(script),
        "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "inputs": inputs,
        "best": best_language_model(inputs),
        "numbers": numbers,
        "ladder": _markup(plots.ladder_plot(inputs)),
        "tables": ladder_rows(inputs),
        "curves": list(_curves(inputs)),
        "generations": views.generations(inputs.lms),
        "translations": views.translations(inputs.translators),
        "attention": list(_attention(inputs)),
        "by_length": _markup(plots.length_plot(inputs.translators)),
        "search_errors": _markup(search_errors_plot(inputs.translators)),
        "neighbours": views.neighbours(inputs.embeddings),
        "sections": views.analogy_sections(inputs.embeddings),
        "maps": list(_maps(inputs)),
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


def _markup(svg: str | None) -> Markup | None:
    return None if svg is None else Markup(svg)


def _curves(inputs: ReportInputs) -> Iterator[Figure]:
    for task, name in plots.TASK_NAMES.items():
        if svg := plots.curves_plot(inputs, task):
            yield Figure(Markup(svg), name.capitalize())
    if svg := plots.bleu_curves_plot(inputs):
        yield Figure(Markup(svg), "Translators: BLEU of greedy translations")


def _maps(inputs: ReportInputs) -> Iterator[Figure]:
    for i, rung in enumerate(inputs.embeddings):
        if svg := plots.map_plot(rung, f"map-{i}"):
            yield Figure(Markup(svg), rung.title)


def _attention(inputs: ReportInputs) -> Iterator[Figure]:
    """Maps of the first sentences of each rung that has attention."""
    drawable = [
        (rung, [seen for seen in rung.examples if seen.attention and len(seen.source_tokens) <= LONGEST_MAP])
        for rung in inputs.translators
    ]
    drawable = [(rung, examples) for rung, examples in drawable if examples]
    each = min(MAPS_A_RUNG, max(1, MAX_ATTENTION_MAPS // max(1, len(drawable))))
    for i, (rung, examples) in enumerate(drawable):
        for j, example in enumerate(examples[:each]):
            if svg := plots.attention_plot(example, f"attention-{i}-{j}", rung.title):
                yield Figure(Markup(svg), f"{rung.title}: {example.source} → {example.output}")
