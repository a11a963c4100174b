"""The ladder of the last run of a folder, as far as its reports tell of it: for who shows it, or gives advice by it.

Scores and lineage come from `reports/ladder.json`, times and runs of MLflow from `reports/timings.json`, if it belongs
to that ladder, learning curves from `curves/`, facts of the data from `metrics/clean/`, what is right of each test item
from `reports/rungs/`. Only the first is needed.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from langladder.evaluation.page import Page
from langladder.faces.report.comparison import read_summary
from langladder.faces.report.inputs import ReportInputs, Timing, read_curve
from langladder.faces.report.tables import ladder_id
from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError


def read_last_run(root: Path) -> ReportInputs:
    """The ladder of a folder.

    Raises:
        InputError: its files are missing, damaged, or of another version.
    """
    file = root / "reports" / "ladder.json"
    summary = read_json(file)
    inputs = read_summary(summary, str(file), list(families().values()))
    timings = read_timings(root / "reports" / "timings.json", ladder_id(summary))
    rungs = {}
    for family, results in inputs.rungs.items():
        files = [root / "curves" / family / f"{rung.name}.csv" for rung in results]
        rungs[family] = [
            replace(
                rung,
                page=_with_items(rung.page, root / "reports" / "rungs" / family / f"{rung.name}.json"),
                timing=timings.get(f"{family}/{rung.name}", Timing()),
                curve=tuple(read_curve(curve)) if curve.is_file() else (),
            )
            for rung, curve in zip(results, files, strict=True)
        ]
    return replace(inputs, rungs=rungs, data=read_data(root))


def _with_items(page: Page, file: Path) -> Page:
    """The page with what it gets right of each test item: ladder.json leaves that out, the rung's own file has it."""
    if "right" not in type(page).model_fields or not file.is_file():
        return page
    content = read_json(file)
    return page.model_copy(
        update={"right": content["right"]} if isinstance(content, dict) and "right" in content else {}
    )


def read_data(root: Path) -> dict[str, Any]:
    """Side → what the stage `clean` reports of it, where there is a report.

    Raises:
        InputError: one is damaged.
    """
    reports = {side: root / "metrics" / "clean" / f"{side}.json" for side in SIDES}
    return {side: read_json(report) for side, report in reports.items() if report.is_file()}


def read_timings(path: Path, ladder: str) -> dict[str, Timing]:
    """Rung (`family/name`) → what it cost; {} where there is no file, or one of another ladder.

    Args:
        ladder: see `ladder_id`.

    Raises:
        InputError: the file is damaged (names the rung).
    """
    if not path.is_file():
        return {}
    value = read_json(path)
    if not isinstance(value, dict) or not isinstance(value.get("rungs"), dict):
        raise InputError(f"{path}: nothing under `rungs`; `dvc repro -f -s report` writes it anew")
    if value.get("ladder") != ladder:
        return {}
    timings = {}
    for name, timing in value["rungs"].items():
        try:
            timings[name] = Timing.model_validate(timing)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, ("rungs", name[:80], *problem["loc"])))
            raise InputError(f"{path}: {where}: {problem['msg']}; `dvc repro -f -s report` writes it anew") from error
    return timings
