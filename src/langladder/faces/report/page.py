"""The report: one HTML file that holds all it shows, readable offline, on screen and on paper.

Every text of a corpus or a model is escaped by Jinja; only the SVG made here is not. A content security policy forbids
the page to load anything, and lets run the one script that it holds (it sorts and filters tables, and shows the rungs
that the reader chooses), known by its hash. Without the script everything is there.
"""

import hashlib
from base64 import b64encode
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from langladder.faces.report import facts, family_tree, line_plots, numbers, shown
from langladder.faces.report.dag import draw_dag, grouped
from langladder.faces.report.enclosed import enclosing, isolated
from langladder.faces.report.inputs import ReportInputs
from langladder.faces.report.section import Figure, Section, drawn_lines
from langladder.faces.report.tables import ladder_rows
from langladder.families import sides
from langladder.ground.artefacts import write_text

SCRIPTS = ("tables.js", "choose.js")
SIDES = {side.name: side.title for side in sides.SIDES.values() if side.report}


def build_page(inputs: ReportInputs) -> str:
    """The whole page; the same inputs give the same text."""
    environment = Environment(
        loader=PackageLoader("langladder.faces.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    loader = environment.loader
    assert loader is not None
    style, *scripts = (loader.get_source(environment, name)[0] for name in ("page.css", *SCRIPTS))
    script = "\n".join(scripts)
    shared: dict[str, Any] = {"numbers": numbers, "zip": partial(zip, strict=True)}
    shared["enclosing"] = lambda text, side=None: enclosing(text, inputs.languages.get(side))
    shared["isolated"] = lambda text, side=None: isolated(text, inputs.languages.get(side))
    headlines = [shown.headline(family, inputs) for family in inputs.families]
    context: dict[str, Any] = {
        "style": Markup(style),
        "script": Markup(script),
        "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "meta": inputs.meta,
        "headlines": [headline for headline in headlines if headline],
        "corpus": inputs.meta.text or inputs.meta.corpus,
        "sections": [
            (section, Markup(environment.get_template(section.template).render(shared | dict(section.context))))
            for section in sections(inputs)
        ],
    }
    return environment.get_template("page.html.j2").render(shared | context)


def write_page(inputs: ReportInputs, path: Path) -> None:
    """Write the page atomically."""
    write_text(path, build_page(inputs))


def sections(inputs: ReportInputs) -> Iterator[Section]:
    """All sections with something to show, in order: the ladder, each family's own, where it all comes from."""
    pictures = [shown.picture(family, inputs) for family in inputs.families]
    ladder = {"pictures": [picture for picture in pictures if picture], "tables": ladder_rows(inputs)}
    yield Section("ladder", "The ladder", "ladder.html.j2", ladder)
    if curves := list(_curves(inputs)):
        yield Section("curves", "Learning curves", "curves.html.j2", {"curves": curves})
    for family in inputs.families:
        yield from shown.sections(family, inputs)
    yield from family_tree.sections(inputs)
    if inputs.dag:
        drawn = {"dag": draw_dag(inputs.dag), "stages": grouped(inputs.dag)}
        yield Section("pipeline", "The pipeline", "pipeline.html.j2", drawn)
    yield from _reports(inputs)
    runs = [
        (family.title, rung.title, rung.timing.run)
        for family in inputs.families
        for rung in inputs.of(family.name)
        if rung.timing.run
    ]
    yield Section("next", "Where to look next", "next.html.j2", {"runs": runs})


def _curves(inputs: ReportInputs) -> Iterable[Figure]:
    for family in inputs.families:
        if drawn := line_plots.curves_plot(inputs.of(family.name), family.name, family.title):
            yield drawn_lines(drawn, family.title)
    for family in inputs.families:
        if drawn := line_plots.bleu_curves_plot(inputs.of(family.name), family.name, partial(shown.loss, family)):
            yield drawn_lines(drawn, f"{family.title}: BLEU of greedy translations")
        if drawn := line_plots.reward_curves_plot(inputs.of(family.name), family.name, partial(shown.loss, family)):
            yield drawn_lines(drawn, f"{family.title}: reward of answers to validation prompts")


def _reports(inputs: ReportInputs) -> Iterable[Section]:
    """What the stages report of the data and of the tokenizers, side by side."""
    meta = inputs.meta
    names = {"text": meta.text, "parallel": meta.pairs, "labels": meta.labels, "tags": meta.tags}
    intro = "What came in, what was dropped and why, and what the splits hold."
    for name, title, above, reports in (
        ("data", "The data", intro, inputs.data),
        ("tokenizer", "The tokenizer", "", inputs.tokenizers),
    ):
        if reports:
            shown = [(SIDES[side], names[side], facts.blocks(report)) for side, report in reports.items()]
            yield Section(name, title, "reports.html.j2", {"intro": above, "reports": shown})
