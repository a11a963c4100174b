"""The same settings give the same result: whatever runs beside, even after a kill.

The tests of this module run in order and share one copy of the project: each begins where the one before left off.
"""

import json
import sqlite3
import sys
from pathlib import Path

import pytest
import yaml
from killed import checkpoints, kill_when
from project_copy import copy_project, edit, ran, run, smallest, with_git

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(1800)]

RUNGS = {
    "embeddings": ["svd", "skipgram"],
    "lms": ["lstm", "gpt"],
    "classifiers": ["textcnn"],
    "taggers": ["bilstm_crf"],
    "captioners": ["lstm"],
}
TRAININGS = ["embed", "train_lm", "train_translator", "train_classifier", "train_tagger", "train_captioner"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    smallest(folder, **RUNGS)
    return with_git(folder)


def test_repro_makes_rungs_of_every_family(project: Path) -> None:
    """With two threads offered, for the next test."""
    output = run(project, "env", "OMP_NUM_THREADS=2", "dvc", "repro")
    assert {
        "embed@skipgram",
        "train_lm@gpt",
        "evaluate_translator@attention",
        "evaluate_captioner@lstm",
        "evaluate_classifier@textcnn",
        "evaluate_tagger@bilstm_crf",
        "experiment@gradient_flow",
        "probe@agreement",
        "report",
    } <= ran(output)
    page = (project / "reports" / "index.html").read_text()
    assert "LSTM" in page and "BLEU" in page
    ladder = json.loads((project / "reports" / "ladder.json").read_text())
    assert [rung["name"] for rung in ladder["captioner"]] == ["lstm"]


def test_two_jobs_at_a_time_with_other_threads_outside_make_the_same_bytes(project: Path, tmp_path: Path) -> None:
    """`dvc repro` with two threads offered, above, against two jobs side by side with one."""
    folder = with_git(copy_project(tmp_path))
    smallest(folder, **RUNGS)
    run(folder, "env", "OMP_NUM_THREADS=1", "JOBS=2", sys.executable, "-m", "pipeline.parallel", *TRAININGS)
    here, there = (yaml.safe_load((place / "dvc.lock").read_text())["stages"] for place in (project, folder))
    jobs = there.keys()
    assert {"embed@svd", "embed@skipgram", "train_lm@lstm", "train_lm@gpt", "train_translator@attention"} < jobs
    assert jobs < here.keys()
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
    found = database.execute(f"SELECT run_uuid, status {where}", [fingerprint]).fetchall()
    assert {status for _, status in found} == {"FINISHED"}
    points = "SELECT step, value FROM metrics WHERE run_uuid = ? AND key = 'train_loss' ORDER BY step"
    return [database.execute(points, [run]).fetchall() for run, _ in found]
