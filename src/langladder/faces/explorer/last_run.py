"""What the last run of a folder left: its ladder, what each rung cost, which run made it, what it grew from.

Scores come from `reports/ladder.json`; years, times and runs of MLflow from `reports/timings.json`, if it belongs to
that ladder; what a rung grew from, from its own provenance; its curve from `curves/`. All but the first may be missing.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from langladder.faces.report.comparison import read_summary
from langladder.faces.report.inputs import Entry, ReportInputs, RungMetadata, Timing, read_curve
from langladder.faces.report.tables import ladder_id
from langladder.families import families
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError

LADDER, TIMINGS = "reports/ladder.json", "reports/timings.json"


def last_run(place: Path) -> ReportInputs | None:
    """The ladder of a folder; None where none was made.

    Raises:
        InputError: its files are damaged, or of another version.
    """
    if not (place / LADDER).is_file():
        return None
    summary = read_json(place / LADDER)
    inputs = read_summary(summary, str(place / LADDER), list(families().values()))
    facts = timings(place / TIMINGS, ladder_id(summary))
    rungs = {
        family: [_with_facts(place, family, rung, facts.get(f"{family}/{rung.name}")) for rung in found]
        for family, found in inputs.rungs.items()
    }
    return replace(inputs, rungs=rungs)


def timings(path: Path, ladder: str) -> dict[str, tuple[int | None, Timing]]:
    """Rung (`family/name`) → its year, and what it cost; {} where there is no file, or one of another ladder.

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
    found = {}
    for name, facts in value["rungs"].items():
        try:
            found[name] = RungMetadata.model_validate(facts).year, Timing.model_validate(facts)
        except ValidationError as error:
            problem = error.errors()[0]
            where = ".".join(map(str, ("rungs", name[:80], *problem["loc"])))
            raise InputError(f"{path}: {where}: {problem['msg']}; `dvc repro -f -s report` writes it anew") from error
    return found


def _with_facts(place: Path, family: str, rung: Entry[Any], facts: tuple[int | None, Timing] | None) -> Entry[Any]:
    year, timing = facts or (None, Timing())
    base, reads = grown(place / "models" / family / rung.name)
    curve = place / "curves" / family / f"{rung.name}.csv"
    return replace(
        rung,
        metadata=RungMetadata(title=rung.metadata.title, year=year, base=base, reads=reads),
        timing=timing,
        curve=tuple(read_curve(curve)) if curve.is_file() else (),
    )


def grown(folder: Path) -> tuple[str | None, str | None]:
    """The rung (`family/name`) that a model grew from, and the folder that it read beside that; None for neither."""
    file = folder / "provenance.json"
    try:
        found: Any = read_json(file) if file.is_file() else None
    except InputError:
        return None, None
    if not isinstance(found, dict):
        return None, None
    lineage, settings = found.get("lineage"), found.get("settings")
    base = lineage[0].get("rung") if isinstance(lineage, list) and lineage and isinstance(lineage[0], dict) else None
    own = settings.get(folder.parent.name) if isinstance(settings, dict) else None
    reads = own.get("reads") if base and isinstance(own, dict) else None
    return (base if isinstance(base, str) else None), (reads if isinstance(reads, str) else None)
