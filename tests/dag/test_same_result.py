"""The same settings give the same result: whatever runs beside, however it is begun, even after a kill.

The tests of this module run in order and share one copy of the project: each begins where the one before left off.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from project_copy import ENVIRONMENT, copy_project, edit, run, smallest, with_git

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(900)]

RUNGS = {"embeddings": ["svd", "skipgram"], "lms": ["lstm", "gpt"]}
TRAININGS = ["embed", "train_lm", "train_translator"]


def differences(stated: object, whole: object, key: str = "") -> list[str]:
    """Keys whose stated value is another in `whole`, which also holds the defaults that nobody stated."""
    if isinstance(stated, dict) and isinstance(whole, dict):
        return [found for name in stated for found in differences(stated[name], whole.get(name), f"{key}.{name}")]
    return [] if stated == whole else [key]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("project"))
    smallest(folder, **RUNGS)
    return with_git(folder)


def test_two_jobs_at_a_time_with_other_threads_outside_make_the_same_bytes(project: Path, tmp_path: Path) -> None:
    """`dvc repro` with two threads offered, against two jobs side by side with one."""
    run(project, "env", "OMP_NUM_THREADS=2", "dvc", "repro", *TRAININGS)
    folder = with_git(copy_project(tmp_path))
    smallest(folder, **RUNGS)
    run(folder, "env", "OMP_NUM_THREADS=1", "JOBS=2", sys.executable, "-m", "pipeline.parallel", *TRAININGS)
    here, there = (yaml.safe_load((place / "dvc.lock").read_text())["stages"] for place in (project, folder))
    jobs = there.keys()
    assert (
        {"embed@svd", "embed@skipgram", "train_lm@lstm", "train_lm@gpt", "train_translator@attention"}
        < jobs
        == here.keys()
    )
    assert {job: here[job]["outs"] for job in jobs} == {job: there[job]["outs"] for job in jobs}


def test_every_entry_point_sees_the_same_values(project: Path) -> None:
    """`dvc repro` after an edit, `dvc exp run -S`, `dvc exp run --queue`, and Hydra's sweep."""
    file = project / "resolved" / "train_lm" / "lstm.yaml"
    run(project, "git", "add", "-A")
    run(project, "git", "commit", "-qm", "before")
    run(project, "dvc", "exp", "run", "-S", "seed=7", "-S", "++lm.lstm.model.layers=2", "resolve")
    by_experiment = yaml.safe_load(file.read_text())
    assert (by_experiment["seed"], by_experiment["lm"]["model"]["layers"]) == (7, 2)

    run(project, "git", "checkout", "-q", "params.yaml")
    changes = ["-S", "seed=7", "-S", "++lm.lstm.model.layers=2"]
    run(project, "dvc", "exp", "run", "--queue", "--name", "queued", *changes, "resolve")
    output = run(project, "dvc", "exp", "run", "--run-all")
    run(project, "dvc", "exp", "apply", "queued")
    assert yaml.safe_load(file.read_text()) == by_experiment, output

    run(project, "git", "checkout", "-q", "params.yaml")
    edit(project / "params.yaml", "seed: 1", "seed: 7")
    edit(project / "params.yaml", "lm: {}", "lm: {lstm: {model: {layers: 2}}}")
    run(project, "dvc", "repro", "resolve")
    by_edit = yaml.safe_load(file.read_text())
    assert by_edit == by_experiment

    run(project, "git", "checkout", "-q", "params.yaml")
    output = run(
        project,
        sys.executable,
        "-m",
        "pipeline.train_lm",
        "-m",
        "lm=lstm",
        "seed=7,8",
        "lm.model.layers=2",
        check=False,
    )
    settings = [
        json.loads(path.read_text())["settings"] for path in sorted((project / "multirun").rglob("provenance.json"))
    ]
    assert len(settings) == 2, output
    seven = next(value for value in settings if value["seed"] == 7)
    assert differences(by_edit["lm"], seven["lm"]) == []
    assert by_edit["code"] == seven["code"]


def test_killed_training_resumes_to_the_same_bits(project: Path) -> None:
    params = project / "params.yaml"
    edit(params, "lm: {}", "lm: {lstm: {training: {max_steps: 300, checkpoint_every: 20, validate_every: 100}}}")
    model = project / "models" / "lm" / "lstm" / "model.safetensors"
    run(project, "dvc", "repro", "train_lm@lstm")
    whole = model.read_bytes()
    metrics = (project / "metrics" / "train_lm" / "lstm.json").read_text()
    model.unlink()

    process = subprocess.Popen(
        ["dvc", "repro", "-f", "-s", "train_lm@lstm"],
        cwd=project,
        env=ENVIRONMENT,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 200
    while not list((project / "checkpoints").glob("*/last.safetensors")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert list((project / "checkpoints").glob("*/last.safetensors"))
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
