"""The ladder of the last run: its tables, and the run, base and learning curve of each rung.

Scores and lineage come from `reports/ladder.json`, times and runs of MLflow from `reports/timings.json`, if it belongs
to that ladder, learning curves from `curves/`. All but the first may be missing.
"""

import re
from collections.abc import Iterable
from math import isfinite

from fastapi import APIRouter

from langladder.answers.kinds import kind_of, title_of
from langladder.faces.explorer.history import in_order
from langladder.faces.explorer.page import Page, without_styles
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.faces.report.graphs import family_tree_sections
from langladder.faces.report.inputs import CurvePoint, ReportInputs
from langladder.faces.report.last_run import read_last_run
from langladder.faces.report.plots import curve_choice
from langladder.faces.report.section import family_headline
from langladder.faces.report.tables import LadderTable, ladder_rows

MEASURES = {
    "validation_loss": "loss on the validation split, nats",
    "train_loss": "loss on the training split, nats",
    "validation_bleu": "BLEU of greedy translations of the validation pairs",
    "validation_reward": "reward of answers to validation prompts",
    "validation_gold": "reward by the gold judge",
    "validation_kl": "KL divergence from the base, nats",
    "lr": "learning rate",
}
_RUN = re.compile(r"[0-9a-zA-Z_-]{1,64}")


def router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    def last_run() -> ReportInputs | None:
        file = shelf.project / "reports" / "ladder.json"
        if not file.is_file():
            return None
        return shelf.load("last run", file, lambda _: read_last_run(shelf.project))

    @routes.post("/run")
    def run() -> Json:
        """Tables and family tree of the last run, or the models on the shelf if there is no report."""
        shelf.refresh()
        models = [
            {"name": name, "title": title_of(folder), "kind": kind_of(folder)}
            for name, folder in in_order(shelf).items()
        ]
        inputs = last_run()
        if inputs is None:
            return {"found": False, "models": models}
        return {"found": True, "models": models} | _as_json(inputs, shelf.tracking)

    @routes.post("/curves")
    def curves() -> list[Json]:
        """Learning curves by family: [[step, value], …] of each rung and measure, and its colour in the report."""
        inputs = last_run()
        return [] if inputs is None else _curves(inputs)

    return routes


def _as_json(inputs: ReportInputs, tracking: str) -> Json:
    tables = ladder_rows(inputs)
    headlines = [family_headline(family, inputs) for family in inputs.families]
    trees = [section.context for section in family_tree_sections(inputs)]
    return {
        "chosen": {name: value for name, value in inputs.meta if value is not None},
        "headlines": [list(headline) for headline in headlines if headline],
        "tables": [_table(table, tracking) for table in tables],
        "runs": any(row.run for table in tables for row in table.rows),
        "tracking": tracking,
        "tree": without_styles(trees[0]["tree"]) if trees else None,
        "grown": [
            {"rung": title, "name": key, "base": base_title, "base_name": base}
            for tree in trees
            for (key, title), (base, base_title), _ in tree["edges"]
        ],
    }


def _table(table: LadderTable, tracking: str) -> Json:
    position = 0
    groups = []
    for approach, results in table.approaches():
        rows = []
        for row in results:
            cells = [{"text": cell.text, "value": cell.sorted_by, "best": cell.best} for cell in row.cells]
            about = {"place": position, "name": row.name, "title": row.title, "year": row.year}
            about |= {"also_given": row.also_given, "cells": cells}
            rows.append(about | {"run": row.run, "link": link(row.run, tracking)})
            position += 1
        groups.append({"approach": approach, "rows": rows})
    columns = [
        {"title": column.title, "explanation": column.explanation, "better": column.better, "brief": column.brief}
        for column in table.columns
    ]
    return {"family": table.family, "title": table.title, "note": table.note, "columns": columns, "approaches": groups}


def link(run: str | None, tracking: str) -> str | None:
    """The address of a run: its own, or below that of MLflow's UI; None if neither is known."""
    if run and run.startswith(("http://", "https://")):
        return run
    return f"{tracking.rstrip('/')}/#/runs/{run}" if run and tracking and _RUN.fullmatch(run) else None


def _curves(inputs: ReportInputs) -> list[Json]:
    curves: list[Json] = []
    for family, entries in inputs.kinds:
        rungs: list[Json] = []
        measured: set[str] = set()
        hues = curve_choice(entries).colours
        for rung in entries:
            lines = {measure: points for measure in MEASURES if (points := _points(rung.curve, measure))}
            measured |= lines.keys()
            if lines:
                rungs.append({"name": rung.name, "title": rung.title, "hue": hues.get(rung.name), "lines": lines})
        if rungs:
            measures = {name: about for name, about in MEASURES.items() if name in measured}
            curves.append({"family": family.name, "title": family.title, "measures": measures, "rungs": rungs})
    return curves


def _points(curve: Iterable[CurvePoint], measure: str) -> list[list[float]]:
    values = [(point.step, getattr(point, measure)) for point in curve]
    return [[step, value] for step, value in values if value is not None and isfinite(value)]


PAGE = Page(
    "ladder",
    "Ladder",
    "Every rung of the last run in the same units: scores, cost, base and learning curve.",
    "ladder.html.j2",
    "ladder.js",
    router,
)
