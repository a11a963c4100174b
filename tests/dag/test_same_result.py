"""The same settings give the same result: whatever runs beside, even after a kill.

The tests of this module run in order and share one copy of the project: each begins where the one before left off.
"""

import json
import sqlite3
from pathlib import Path

import pytest
import yaml
from killed import checkpoints, kill_when
from project_copy import LADDER, copy_project, edit, finished_project, run, smallest, with_git

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(1800)]

TRAININGS = ["embed", "train_lm", "train_translator", "train_classifier", "train_tagger", "train_captioner"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_project(tmp_path_factory)


def test_rungs_of_every_family_reach_the_report(project: Path) -> None:
    page = (project / "reports" / "index.html").read_text()
    assert "LSTM" in page and "BLEU" in page
    ladder = json.loads((project / "reports" / "ladder.json").read_text())
    assert [rung["name"] for rung in ladder["captioner"]] == ["lstm"]


def test_one_job_at_a_time_with_more_threads_outside_makes_the_same_bytes(project: Path, tmp_path: Path) -> None:
    """Two jobs at a time with one thread offered, as the project was made, against `dvc repro` with two."""
    folder = copy_project(tmp_path)
    smallest(folder, **LADDER)
    run(with_git(folder), "env", "OMP_NUM_THREADS=2", "dvc", "repro", *TRAININGS)
    there, here = (yaml.safe_load((root / "dvc.lock").read_text())["stages"] for root in (project, folder))
    jobs = here.keys()
    assert {"embed@svd", "embed@skipgram", "train_lm@lstm", "train_lm@gpt", "train_translator@attention"} < jobs
    assert jobs < there.keys()
    assert {job: here[job]["outs"] for job in jobs} == {job: there[job]["outs"] for job in jobs}


def test_killed_training_resumes_to_the_same_bits(project: Path) -> None:
    params = project / "params.yaml"
    edit(params, "lm: {}", "lm: {lstm: {training: {max_steps: 300, checkpoint_every: 20, validate_every: 100}}}")
    model = project / "models" / "lm" / "lstm" / "model.safetensors"
    run(project, "dvc", "repro", "train_lm@lstm")
    whole = model.read_bytes()
    metrics = (project / "metrics" / "train_lm" / "lstm.json").read_text()
    model.unlink()

    kill_when(project, "train_lm@lstm", lambda: checkpoints(project))
    assert checkpoints(project)
    assert not model.exists()

    run(project, "dvc", "repro", "-f", "-s", "train_lm@lstm")  # unforced, DVC takes the whole model from its cache
    assert model.read_bytes() == whole
    assert (project / "metrics" / "train_lm" / "lstm.json").read_text() == metrics
    whole_run, resumed = _curves(project, json.loads((model.parent / "provenance.json").read_text())["fingerprint"])
    assert resumed == whole_run and len(resumed) > 3  # one run each, every step once


def _curves(project: Path, fingerprint: str) -> list[list[tuple[int, float]]]:
    """The training losses of each run of a job, the oldest first; all of them must have finished."""
    database = sqlite3.connect(project / "mlflow.db")
    where = "FROM runs JOIN tags USING (run_uuid) WHERE tags.key = 'fingerprint' AND tags.value = ? ORDER BY start_time"
    result = database.execute(f"SELECT run_uuid, status {where}", [fingerprint]).fetchall()
    assert {status for _, status in result} == {"FINISHED"}
    points = "SELECT step, value FROM metrics WHERE run_uuid = ? AND key = 'train_loss' ORDER BY step"
    return [database.execute(points, [run]).fetchall() for run, _ in result]
