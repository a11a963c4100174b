"""The inputs of the report: the stages' files, the timings from MLflow, the graph from DVC, the choices."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langladder.faces.report.inputs import ReportInputs, load_report
from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings import params
from pipeline.settings.titles import corpus_names
from pipeline.settings.yaml_files import Values, read_yaml
from pipeline.tracking.job import TIMED
from pipeline.tracking.store import by_fingerprint, finished_runs, stored_file

if TYPE_CHECKING:
    from mlflow.entities import Run

COSTS = ("seconds", "processor_seconds", "tokens_per_second", "peak_memory_bytes")


def report_inputs(described: Mapping[str, Mapping[str, Values]] | None = None, *, graph: bool = True) -> ReportInputs:
    """Read the output of the last `dvc repro`.

    Args:
        described: family → rung, in order of history → its metadata in the report; None: as in the last `resolve`.
        graph: whether the DAG is needed, which takes DVC a second.

    Raises:
        InputError: a file of a chosen rung is missing.
    """
    if described is None:
        described = read_yaml(ROOT / "resolved" / "report" / "report.yaml")["rungs"]
    chosen = params.load()
    names = corpus_names(chosen)
    keys = {"size", "seed", "tokenizer"} | {
        SIDES[side].group for side in ("text", "parallel") if SIDES[side].report in names
    }
    meta = {key: getattr(chosen, key) for key in sorted(keys)} | names
    inputs = load_report(
        ROOT, list(families().values()), described, _timings(described, _runs()), _graph() if graph else [], meta
    )
    return replace(inputs, code=_beside("src"), guides=_beside("docs"))


def _beside(name: str) -> str:
    """The address of a folder of the checkout, seen from its report, or from that of a ladder in ladders/; "": none."""
    known = {"src": "langladder", "docs": "README.md"}[name]
    addresses = (f"{up}{name}/" for up in ("../", "../../../"))
    return next((address for address in addresses if (ROOT / "reports" / address / known).exists()), "")


def _runs() -> "dict[str, list[Run]]":
    """Fingerprint → its runs, in one query; none if the store cannot be used: the report is written anyway."""
    try:
        return by_fingerprint(finished_runs())
    except InputError as error:
        print(f"report: warning: no timings; then `dvc repro -f -s report` adds them. {error}", file=sys.stderr)
        return {}


def _timings(
    described: Mapping[str, Mapping[str, Values]], runs: "Mapping[str, list[Run]]"
) -> dict[tuple[str, str], dict[str, object]]:
    """The cost of each rung, from the MLflow run that made it; nothing if it was made on another machine."""
    timings = {}
    for family, names in described.items():
        for name in names:
            file = ROOT / "models" / family / name / "provenance.json"
            page = ROOT / "reports" / "rungs" / family / f"{name}.json"
            if file.is_file():
                timings[family, name] = _cost(runs.get(read_json(file)["fingerprint"]))
            elif not families()[family].trained and page.is_file():
                timings[family, name] = _timed(runs.get(read_json(page)["fingerprint"]))
    return timings


def _cost(runs: "list[Run] | None") -> dict[str, object]:
    if not runs:
        return {}
    metrics = {key: value for key, value in runs[0].data.metrics.items() if key in COSTS}
    memory = metrics.get("peak_memory_bytes")
    return metrics | {"run": runs[0].info.run_id, "peak_memory_bytes": None if memory is None else int(memory)}


def _timed(runs: "list[Run] | None") -> dict[str, object]:
    """The timings of a claim, from the MLflow run that measured it."""
    return {"timed": stored_file(runs[0].info.run_id, TIMED)} if runs else {}


def _graph() -> list[dict[str, Any]]:
    """The DAG as DVC sees it, in the order of dvc.yaml."""
    from dvc.repo import Repo

    with Repo(str(ROOT)) as repo:
        graph = repo.index.graph
        return [
            {
                "stage": job.addressing,
                "desc": job.desc or "",
                "depends": [up.addressing for up in graph.successors(job)],
            }
            for job in graph.nodes
        ]
