"""Every command of docs/cluster.md that runs on one machine, in the order of the page, in one copy of the project."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from project_copy import ENVIRONMENT, copy_project, edit, run, smallest, with_git

from pipeline import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.dag, pytest.mark.timeout(2400)]
pytest.importorskip("distributed", reason="pip install 'langladder[cluster]'")
pytest.importorskip("hydra_plugins.hydra_optuna_sweeper", reason="pip install 'langladder[cluster]'")

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    blocks = re.findall(r"(?ms)^```bash\n(.*?)^```", PAGE)
    return [line for block in blocks for line in block.splitlines() if line]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = copy_project(tmp_path_factory.mktemp("cluster"))
    smallest(folder, embeddings=["skipgram"], lms=["lstm", "gpt"], translators=[], claims=[], probes=[])
    return with_git(folder)


@pytest.fixture(scope="module")
def printed(project: Path) -> Iterator[dict[str, str]]:
    """What each command printed; what was begun in the background is ended."""
    answers, behind = dict[str, str](), list[subprocess.Popen[bytes]]()
    try:
        for command in commands():
            if command.endswith("&"):
                log = (project / f"behind-{len(behind)}.log").open("w")
                program = ["bash", "-c", f"exec {command.removesuffix('&')}"]
                behind.append(subprocess.Popen(program, cwd=project, env=ENVIRONMENT, stdout=log, stderr=log))
                wait_for_the_port(command)
                continue
            quiet = " >/dev/null 2>&1" if command.startswith("dvc queue start") else ""  # its workers hold the pipe
            answers[command] = run(project, "bash", "-c", command + quiet)
            if command.startswith("sed"):  # so that there is something to do
                edit(project / "params.yaml", "- gpt\n", "- gpt\n- rnn\n")
            if command.startswith("dvc queue start"):
                wait_for_the_queue(project)
        yield answers
    finally:
        for process in behind:
            process.send_signal(signal.SIGTERM)
        for process in behind:
            process.wait(30)


def wait_for_the_port(command: str) -> None:
    """Until what was begun in the background listens, where it does; a worker is waited for by who needs it."""
    port, deadline = re.search(r"--port (\d+)", command), time.monotonic() + 180
    while port and time.monotonic() < deadline:
        with socket.socket() as item:
            if item.connect_ex(("127.0.0.1", int(port[1]))) == 0:
                return
        time.sleep(0.2)


def wait_for_the_queue(project: Path) -> None:
    """Both experiments are seen to run at the same time, and to succeed."""
    most_running, deadline = 0, time.monotonic() + 900
    while time.monotonic() < deadline:
        status = run(project, "dvc", "queue", "status")
        most_running = max(most_running, len(re.findall(r"\bRunning\b", status)))
        if not re.search(r"Queued|Running", status):
            assert status.count("Success") == 2 and most_running == 2, status
            return
        time.sleep(2)
    raise AssertionError(run(project, "dvc", "queue", "status"))


def folders(project: Path) -> list[Path]:
    return sorted((project / "multirun" / "train_lm").iterdir())


@pytest.mark.usefixtures("printed")
def test_launchers_make_what_a_sweep_makes(project: Path) -> None:
    processes, _, slurm = folders(project)
    models = sorted(file.parent for file in processes.glob("*/models/lm/*/model.safetensors"))
    assert [folder.name for folder in models] == ["gpt", "lstm"]  # of seed 2; the DAG had made those of seed 1 before
    assert all("seed=2" in str(folder) for folder in models)
    assert len(list(slurm.glob("*/models/lm/*/model.safetensors"))) == 2
    plain = "python -m pipeline.train lm lm=lstm seed=2 hydra.run.dir=outputs/plain"
    run(project, *plain.split())
    item, other = (
        next(folder.glob("**/lm/lstm/model.safetensors")) for folder in (project / "outputs/plain", processes)
    )
    assert item.read_bytes() == other.read_bytes()


def test_a_search_finds_the_best_of_its_points_and_passes_over_what_has_finished(
    printed: dict[str, str], project: Path
) -> None:
    command = next(command for command in printed if "sweeper=search" in command)
    result = yaml.safe_load((folders(project)[1] / "optimization_results.yaml").read_text())
    figures = [yaml.safe_load(file.read_text()) for file in folders(project)[1].glob("*/metrics/train_lm/lstm.json")]
    assert len(figures) == 3
    assert result["best_value"] == min(figure["validation_perplexity_per_word"] for figure in figures)
    again = run(project, "bash", "-c", command.replace("n_trials=3", "n_trials=2"))
    assert again.count("done before") == 2
    other = run(project, "bash", "-c", command + " objective=nonsense", check=False)
    assert "objective: nonsense is not a figure of this job; set objective=… to one of" in other


def test_jobs_ran_on_the_cluster(printed: dict[str, str]) -> None:
    assert "jobs of rungs run on tcp://127.0.0.1:18786, 2 at a time" in printed["python -m pipeline.parallel train_lm"]


@pytest.mark.usefixtures("printed")
def test_the_server_has_the_run(project: Path) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{project / 'server.db'}")
    experiment = client.get_experiment_by_name("language models")
    assert experiment is not None
    (only,) = client.search_runs([experiment.experiment_id])
    assert only.data.tags["rung"] == "add_k" and only.info.status == "FINISHED"
    assert os.environ.get("MLFLOW_TRACKING_URI") is None
