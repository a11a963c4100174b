"""What MLflow keeps of earlier runs, and which artefacts here they made: both by the job's fingerprint."""

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langladder.ground.artefacts import read_json
from pipeline.provenance import store

PAGE = 1000  # runs of one answer


def find_runs(fingerprint: str) -> list[Any]:
    """Finished MLflow runs with a fingerprint: the most complete first, and of equally complete ones the newest.

    Several runs have one fingerprint where a job was forced to run again, or runs in a sweep too: what they computed is
    the same. Scores on the test text (`test_…`) are added later and say nothing of completeness.

    Raises:
        InputError: the store cannot be used.
    """
    return sorted(_finished(f" and tags.fingerprint = '{fingerprint}'"), key=_numbers, reverse=True)


def finished_runs() -> list[Any]:
    """Every finished run, the newest first, in one search: for those who ask of many jobs.

    Raises:
        InputError: the store cannot be used.
    """
    return _finished()


def by_fingerprint(runs: Iterable[Any]) -> dict[str, list[Any]]:
    """Fingerprint → what `find_runs` finds of it among the runs, which are the newest first."""
    found: dict[str, list[Any]] = {}
    for run in runs:
        found.setdefault(run.data.tags.get("fingerprint", ""), []).append(run)
    return {fingerprint: sorted(same, key=_numbers, reverse=True) for fingerprint, same in found.items()}


def _finished(further: str = "") -> list[Any]:
    client = store.client()
    found: list[Any] = []
    with store.sentences():
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        page, more = None, bool(experiments)
        while more:
            page = client.search_runs(
                experiments,
                f"attributes.status = 'FINISHED'{further}",
                max_results=PAGE,
                order_by=["attributes.start_time DESC"],
                page_token=page.token if page else None,
            )
            found += page
            more = bool(page.token)
    return found


def _numbers(run: Any) -> int:
    return sum(not key.startswith("test_") for key in run.data.metrics)


def stored_file(run_id: str, name: str) -> Any:
    """The content of a JSON file kept beside a run; None where the run has none."""
    client = store.client()
    with store.sentences():
        if name not in {file.path for file in client.list_artifacts(run_id)}:
            return None
        with tempfile.TemporaryDirectory() as folder:
            return read_json(Path(client.download_artifacts(run_id, name, folder)))


def provenances(root: Path) -> dict[str, Path]:
    """Fingerprint → artefact folder, of every artefact under models/, multirun/ and outputs/."""
    folders = [root / "models", root / "multirun", root / "outputs"]
    files = [file for folder in folders for file in sorted(folder.rglob("provenance.json"))]
    return {read_json(file)["fingerprint"]: file.parent for file in reversed(files)}
