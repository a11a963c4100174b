"""What MLflow keeps of earlier runs, and which artefacts here they made: both by the job's fingerprint."""

import tempfile
from pathlib import Path
from typing import Any

from langladder.artefacts import read_json
from pipeline.support import tracking


def find_runs(fingerprint: str) -> list[Any]:
    """Finished MLflow runs with a fingerprint, newest first."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=tracking.uri())
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    where = f"tags.fingerprint = '{fingerprint}' and attributes.status = 'FINISHED'"
    return list(client.search_runs(experiments, where, order_by=["attributes.start_time DESC"])) if experiments else []


def stored_file(run_id: str, name: str) -> Any:
    """The content of a JSON file kept beside a run; None where the run has none."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=tracking.uri())
    if name not in {file.path for file in client.list_artifacts(run_id)}:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return read_json(Path(client.download_artifacts(run_id, name, folder)))


def provenances(root: Path) -> dict[str, Path]:
    """Fingerprint → artefact folder, of every artefact under models/, multirun/ and outputs/."""
    folders = [root / "models", root / "multirun", root / "outputs"]
    files = [file for folder in folders for file in sorted(folder.rglob("provenance.json"))]
    return {read_json(file)["fingerprint"]: file.parent for file in reversed(files)}
