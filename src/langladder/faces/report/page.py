"""The report: one HTML file that holds all it shows, readable offline, on screen and on paper.

Every text of a corpus or a model is escaped by Jinja; only the SVG made here is not. A content security policy forbids
the page to load anything, and lets run the one script that it holds (it sorts and filters tables, and shows the rungs
that the reader chooses), known by its hash. Without the script everything is there.

What a stage reports is shown without knowing its keys: a mapping's plain values become one list of facts. A few like
mappings (train, validation, test) stand side by side, a column each; many (drops by reason) below each other, a row
each, as do lists of mappings. What is nested deeper becomes a part of its own under a heading.
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from langladder.faces.report import numbers, predictions, rung_pages
from langladder.faces.report.advice import NEAR, Advice, advice
from langladder.faces.report.bidi import enclosing, isolated, plain
from langladder.faces.report.graphs import draw_pipeline, family_tree_sections, grouped
from langladder.faces.report.inputs import MARK, ReportInputs
from langladder.faces.report.mathml import typeset
from langladder.faces.report.numbers import DASH, significant, whole
from langladder.faces.report.plots import bleu_curves_plot, curves_plot, entity_curves_plot, reward_curves_plot
from langladder.faces.report.section import (
    Picture,
    Section,
    drawn_lines,
    family_loss,
    family_pictures,
    family_sections,
)
from langladder.faces.report.tables import ALSO_GIVEN, ladder_rows
from langladder.families.sides import SIDES

SCRIPTS = ("tables.js", "choose.js", "predictions.js")


def build_page(inputs: ReportInputs) -> str:
    """The whole page; the same inputs give the same text."""
    environment = Environment(
        loader=PackageLoader("langladder.faces.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["code"] = code
    environment.filters["typeset"] = typeset
    loader = environment.loader
    assert loader is not None
    style, *scripts = (loader.get_source(environment, name)[0] for name in ("page.css", *SCRIPTS))
    script = "\n".join(scripts)
    shared: dict[str, object] = {
        "numbers": numbers,
        "zip": partial(zip, strict=True),
        "given": ALSO_GIVEN,
        "mark": MARK,
    }
    shared["enclosing"] = lambda text, side=None: enclosing(text, inputs.languages.get(side))
    shared["isolated"] = lambda text, side=None: isolated(text, inputs.languages.get(side))
    advised = advice(inputs)
    context: dict[str, object] = {
        "style": Markup(style),
        "script": Markup(script),
        "script_hash": b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "meta": inputs.meta,
        "advice": bool(advised),
        "corpus": inputs.meta.text or inputs.meta.corpus,
        "sections": [
            (section, Markup(environment.get_template(section.template).render(shared | dict(section.context))))
            for section in sections(inputs, advised)
        ],
    }
    return environment.get_template("page.html.j2").render(shared | context)


def code(text: str) -> Markup:
    """Text with what stands between backticks as `<code>`, escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def sections(inputs: ReportInputs, advised: Sequence[Advice]) -> Iterator[Section]:
    """All sections with something to show, in order: the ladder, each family's own, where it all comes from."""
    pictures = [picture for family in inputs.families for picture in family_pictures(family, inputs)]
    near = f"{100 * NEAR:.0f} %"
    pages = list(rung_pages.sections(inputs))
    known = {rung.id for section in pages for kind in section.context["kinds"] for rung in kind.rungs}
    ladder = {"pictures": pictures, "advice": advised, "near": near, "tables": ladder_rows(inputs), "pages": known}
    yield Section("ladder", "The ladder", "ladder.html.j2", ladder)
    yield from pages
    if curves := list(_curves(inputs)):
        yield Section(
            "curves", "Learning curves", "curves.html.j2", {"curves": curves, "mixed": bool(inputs.of("instruct"))}
        )
    for family in inputs.families:
        yield from family_sections(family, inputs)
    yield from predictions.sections(inputs)
    yield from family_tree_sections(inputs)
    if inputs.dag:
        drawn = {"dag": draw_pipeline(inputs.dag), "stages": grouped(inputs.dag)}
        yield Section("pipeline", "The pipeline", "pipeline.html.j2", drawn)
    yield from _reports(inputs)
    runs = [
        (family.title, rung.title, rung.timing.run)
        for family, rungs in inputs.kinds
        for rung in rungs
        if rung.timing.run
    ]
    yield Section("next", "Where to look next", "next.html.j2", {"runs": runs})


def _curves(inputs: ReportInputs) -> Iterable[Picture]:
    for family, rungs in inputs.kinds:
        if drawn := curves_plot(rungs, family.name, family.title):
            yield drawn_lines(drawn, family.title)
    for family, rungs in inputs.kinds:
        if drawn := bleu_curves_plot(rungs, family.name, partial(family_loss, family)):
            yield drawn_lines(drawn, f"{family.title}: BLEU of greedy translations")
        if drawn := entity_curves_plot(rungs, family.name, partial(family_loss, family)):
            yield drawn_lines(drawn, f"{family.title}: entity F₁ of the validation sentences")
        if drawn := reward_curves_plot(rungs, family.name, partial(family_loss, family)):
            yield drawn_lines(drawn, f"{family.title}: reward of answers to validation prompts")


def _reports(inputs: ReportInputs) -> Iterable[Section]:
    """What the stages report of the data and of the tokenizers, side by side."""
    intro = "What was read, what was removed and why, and the content of each split."
    for name, title, above, reports in (
        ("data", "The data", intro, inputs.data),
        ("tokenizer", "The tokenizer", "", inputs.tokenizers),
    ):
        if reports:
            listed = [
                (SIDES[side].title, getattr(inputs.meta, SIDES[side].report), blocks(report))
                for side, report in reports.items()
            ]
            yield Section(name, title, "reports.html.j2", {"intro": above, "reports": listed})


SIDE_BY_SIDE = 4

MAX_ROWS = 40  # of a grid or a list; the file holds the rest

_NUMBER = re.compile(r"[−-]?[\d,.]+(e[+-]?\d+)?|–")


@dataclass(frozen=True)
class Block:
    """One heading with its facts (name, value), or one grid: columns and rows."""

    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    left_out: int = 0  # rows that are not shown

    @property
    def numeric(self) -> bool:
        """Whether all that stands beside the first column is numbers, to be set flush right."""
        return all(_NUMBER.fullmatch(text) for row in self.rows for text in row[1:])


def blocks(report: object, title: str = "") -> list[Block]:
    """The report in reading order."""
    if not isinstance(report, Mapping):
        report = {title or "value": report}
    plain = [(words(key), show(value)) for key, value in report.items() if _is_plain(value)]
    results = [Block(title, facts=plain)] if plain else []
    for key, value in report.items():
        if not _is_plain(value):
            results += _nested(f"{title}: {words(key)}" if title else words(key), value)
    return results


def _nested(title: str, value: Any) -> list[Block]:
    if isinstance(value, list):
        rows = [row if isinstance(row, Mapping) else {"": row} for row in value]
        columns = _keys(rows)
        return [_grid(title, list(map(words, columns)), [[show(row.get(key)) for key in columns] for row in rows])]
    if not all(isinstance(row, Mapping) and row for row in value.values()):
        return blocks(value, title)
    if _are_similar(value) and len(value) <= SIDE_BY_SIDE:
        return _compared(title, value)
    columns = _keys(value.values())
    if all(_is_plain(cell) for row in value.values() for cell in row.values()):
        cells = [[words(name), *(show(row.get(key)) for key in columns)] for name, row in value.items()]
        return [_grid(title, ["", *map(words, columns)], cells)]
    return blocks(value, title)


def _compared(title: str, sides: Mapping[str, Mapping[str, Any]]) -> list[Block]:
    """Like mappings side by side: a row a key, a column a mapping."""
    rows, deeper = [], []
    for key in _keys(sides.values()):
        values = {name: side.get(key) for name, side in sides.items()}
        if all(map(_is_plain, values.values())):
            rows.append([words(key), *map(show, values.values())])
        elif all(value is None or isinstance(value, Mapping) for value in values.values()):
            deeper += _compared(f"{title}: {words(key)}", {name: value or {} for name, value in values.items()})
        else:
            deeper += blocks({f"{name} {words(key)}": value for name, value in values.items()}, title)
    return ([_grid(title, ["", *map(words, sides)], rows)] if rows else []) + deeper


def _grid(title: str, columns: list[str], rows: list[list[str]]) -> Block:
    return Block(title, columns=columns, rows=rows[:MAX_ROWS], left_out=max(0, len(rows) - MAX_ROWS))


def _keys(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def _are_similar(value: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether there are several, each has at least half of all keys, and as rows they would be too wide or nested."""
    keys = len(_keys(value.values()))
    nested = any(isinstance(cell, Mapping) and cell for row in value.values() for cell in row.values())
    return len(value) > 1 and all(2 * len(row) >= keys for row in value.values()) and (nested or keys > len(value))


def _is_plain(value: object) -> bool:
    if isinstance(value, Mapping):
        return not value
    return not isinstance(value, list) or not any(isinstance(item, Mapping | list) for item in value)


def words(key: object) -> str:
    """`unknown_rate` → `unknown rate`."""
    return str(key).replace("_", " ")


def show(value: object) -> str:
    """One value in a cell."""
    if value is None:
        return DASH
    if value in ({}, []):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return significant(value)
    if isinstance(value, list):
        values = " · ".join(plain(show(item)) for item in value[:MAX_ROWS])
        return values + (" …" if len(value) > MAX_ROWS else "")
    if isinstance(value, Mapping):
        return ", ".join(f"{words(key)} {show(item)}" for key, item in value.items())
    text = str(value)
    core = text.strip(" ")  # a token may begin with a space: show it
    start = len(text) - len(text.lstrip(" "))
    return "␣" * start + core + "␣" * (len(text) - start - len(core))
