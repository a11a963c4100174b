"""The ladder of the last run: its tables, which run made a rung, what it grew from, how it learnt."""

import re
from math import isfinite
from pathlib import Path
from typing import Any

from fastapi import APIRouter

from langladder.faces.explorer.page import Page
from langladder.faces.http.kinds import kind_of, title_of
from langladder.faces.http.shelf import Shelf

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
    """See `Page`."""
    routes = APIRouter()

    @routes.post("/run")
    def run() -> dict[str, Any]:
        """Tables and family tree of the last run, or the models on the shelf where there is no report."""
        shelf.look()
        models = [
            {"name": name, "title": title_of(folder), "kind": kind_of(folder)} for name, folder in shelf.folders.items()
        ]
        if not _file(shelf).is_file():
            return {"found": False, "models": models}
        return {"found": True, "models": models} | _told(_inputs(shelf), shelf.tracking)

    @routes.post("/curves")
    def curves() -> list[dict[str, Any]]:
        """Learning curves by family: [[step, value], …] of each rung and measure."""
        return _curves(_inputs(shelf)) if _file(shelf).is_file() else []

    return routes


def _file(shelf: Shelf) -> Path:
    return shelf.place / "reports" / "ladder.json"


def _inputs(shelf: Shelf) -> Any:
    from langladder.faces.explorer.last_run import last_run

    return shelf.have("last run", _file(shelf), lambda _: last_run(shelf.place))


def _told(inputs: Any, tracking: str) -> dict[str, Any]:
    from langladder.faces.report.family_tree import family_tree_sections
    from langladder.faces.report.section import family_headline
    from langladder.faces.report.tables import ladder_rows

    runs = {(one.name, rung.name): rung.timing.run for one in inputs.families for rung in inputs.of(one.name)}
    headlines = [family_headline(family, inputs) for family in inputs.families]
    trees = [section.context for section in family_tree_sections(inputs)]
    return {
        "chosen": {name: value for name, value in inputs.meta if value is not None},
        "headlines": [list(one) for one in headlines if one],
        "tables": [_table(table, runs, tracking) for table in ladder_rows(inputs)],
        "runs": any(runs.values()),
        "tracking": tracking,
        "tree": str(trees[0]["tree"]) if trees else None,
        "grown": [
            {"rung": title, "name": key, "base": base_title, "base_name": base}
            for tree in trees
            for (key, title), (base, base_title), _ in tree["edges"]
        ],
    }


def _table(table: Any, runs: dict[tuple[str, str], str | None], tracking: str) -> dict[str, Any]:
    place = 0
    groups = []
    for approach, found in table.approaches():
        rows = []
        for row in found:
            cells = [{"text": cell.text, "value": cell.sorted_by, "best": cell.best} for cell in row.cells]
            run = runs.get((table.family, row.name))
            about = {"place": place, "name": row.name, "title": row.title, "year": row.year, "cells": cells}
            rows.append(about | {"run": run, "link": link(run, tracking)})
            place += 1
        groups.append({"approach": approach, "rows": rows})
    columns = [
        {"title": one.title, "explanation": one.explanation, "better": one.better, "brief": one.brief}
        for one in table.columns
    ]
    return {"family": table.family, "title": table.title, "columns": columns, "approaches": groups}


def link(run: str | None, tracking: str) -> str | None:
    """Where a run is shown: its own address, or below that of MLflow's UI; None where neither is known."""
    if run and run.startswith(("http://", "https://")):
        return run
    return f"{tracking.rstrip('/')}/#/runs/{run}" if run and tracking and _RUN.fullmatch(run) else None


def _curves(inputs: Any) -> list[dict[str, Any]]:
    found = []
    for family in inputs.families:
        rungs = []
        for rung in inputs.of(family.name):
            lines = {measure: points for measure in MEASURES if (points := _points(rung.curve, measure))}
            if lines:
                rungs.append({"name": rung.name, "title": rung.title, "lines": lines})
        if rungs:
            measures = {name: about for name, about in MEASURES.items() if any(name in one["lines"] for one in rungs)}
            found.append({"family": family.name, "title": family.title, "measures": measures, "rungs": rungs})
    return found


def _points(curve: Any, measure: str) -> list[list[float]]:
    values = [(point.step, getattr(point, measure)) for point in curve]
    return [[step, value] for step, value in values if value is not None and isfinite(value)]


PAGE = Page(
    "ladder",
    "Ladder",
    "Every rung of the last run in the same units: what it scored and cost, what it grew from, how it learnt.",
    "ladder.html.j2",
    "ladder.js",
    router,
)
