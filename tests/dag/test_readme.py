"""Every command of the README and of docs/comparing.md, in the order of the pages, in one copy of the project.

Each starts the processes that it starts for a reader, except `dvc exp run`, which runs most of the jobs several times:
its jobs run in forks of one process (`forked.py`); those of `dvc repro`, of the queue, of a sweep and of Dask do not.
"""

import re
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from project_copy import LADDER, PATH, finished_project, forking, run, smallest

from pipeline import ROOT

pytestmark = [pytest.mark.long, pytest.mark.dag, pytest.mark.timeout(1800)]

README = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/comparing.md"))


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", README)


def commands() -> list[list[str]]:
    """The lines of the shell blocks; `make …` sets up an environment and is looked at in test_documents."""
    lines = [shlex.split(line, comments=True) for block in blocks("bash") for line in block.splitlines()]
    return [line for line in lines if line and line[0] != "make"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where all has run before, with fewer rungs: those that the pages name."""
    folder = finished_project(tmp_path_factory)
    rungs = {"embeddings": ["skipgram"], "lms": ["lstm", "gpt"], "classifiers": ["textcnn"], "taggers": ["hmm"]}
    smallest(folder, **LADDER | rungs | {"captioners": []}, claims=[], probes=[])
    run(folder, "git", "commit", "-qam", "fewer rungs")
    with forking(folder):
        yield folder


def wait_for_the_queue(project: Path) -> str:
    """`dvc queue start` returns at once; a worker runs what stands in the queue."""
    deadline = time.monotonic() + 400
    while time.monotonic() < deadline:
        status = run(project, "dvc", "queue", "status")
        if not re.search(r"Queued|Running", status):
            return status
        time.sleep(2)
    raise AssertionError(run(project, "dvc", "queue", "status"))


def test_every_command_works(project: Path) -> None:
    result = commands()
    assert len(result) > 10
    for command in result:
        if "RUN_ID" in command:
            run_id = run(project, sys.executable, "-m", "pipeline.runs", "of", "models/lm/lstm").split()[0]
            command = [run_id if word == "RUN_ID" else word for word in command]
        forked = command[:3] == ["dvc", "exp", "run"] and not {"--queue", "engine=dask"} & {*command}
        run(project, *([] if forked else ["env", f"PATH={PATH}"]), *command)
        if command[:3] == ["dvc", "queue", "start"]:
            status = wait_for_the_queue(project)
            assert status.count("Success") == 2, status


def test_the_sweep_left_four_runs_to_compare(project: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{project / 'mlflow.db'}")
    experiments = [
        experiment.experiment_id for experiment in client.search_experiments()
    ]  # also those of before the copy
    runs = client.search_runs(experiments, "tags.stage = 'train_lm' and attributes.status = 'FINISHED'")
    swept = {(run.data.tags["rung"], run.data.params["seed"]) for run in runs}
    assert {("lstm", "1"), ("lstm", "2"), ("gpt", "1"), ("gpt", "2")} <= swept
    assert all("validation_perplexity_per_word" in run.data.metrics for run in runs)


def test_the_python_of_the_readme_works(project: Path) -> None:
    for block in blocks("python"):
        run(project, sys.executable, "-c", block)
