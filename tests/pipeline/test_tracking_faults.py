"""A tracking store that cannot be used: one sentence before anything is spent; later, the training goes on."""

import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.tracking import report_inputs, store
from pipeline.tracking import run as runs
from pipeline.tracking.job import tracked_job

pytestmark = pytest.mark.usefixtures("checkout")


def refused(job: Any) -> str:
    """What a job says at its beginning: one line."""
    with pytest.raises(InputError) as caught, tracked_job("train_lm", job(), {}):
        pytest.fail("the job began")
    message = str(caught.value)
    assert "\n" not in message and len(message) < 500
    return message


@pytest.mark.long
def test_a_damaged_database(checkout: Path, job: Any) -> None:
    (checkout / "mlflow.db").write_bytes(b"no database " * 1000)
    message = refused(job)
    assert str(checkout / "mlflow.db") in message and "move it away" in message and "MLFLOW_TRACKING_URI" in message
    (checkout / "mlflow.db").rename(checkout / "mlflow.db.bad")
    done = typed(f"MLFLOW_TRACKING_URI={store.uri()} python -m pipeline.runs prepare")  # what the message advises helps
    assert done.returncode == 0, done.stderr


def test_a_database_damaged_behind_its_first_page(checkout: Path, job: Any) -> None:
    with (checkout / "mlflow.db").open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * 200_000)
    assert "mlflow.db: the tracking store cannot be used" in refused(job)


def test_a_locked_database(checkout: Path, job: Any) -> None:
    holder = sqlite3.connect(checkout / "mlflow.db", isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    message = refused(job)
    holder.close()
    assert "mlflow.db" in message and "another process keeps it locked" in message
    with tracked_job("train_lm", job(), {}):
        pass


def test_a_full_disk(job: Any) -> None:
    """No file may grow beyond some bytes: what SQLite writes fails as on a full disk."""
    before, on_limit = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        message = refused(job)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, on_limit)
    assert "mlflow.db" in message and "make room on its disk" in message


def test_a_database_that_may_only_be_read(checkout: Path, job: Any) -> None:
    checkout.chmod(0o777)
    (checkout / ".dvc").mkdir()
    (checkout / ".dvc").chmod(0o777)
    (checkout / "mlflow.db").chmod(0o444)
    for folder in checkout.parents:
        if folder.name.startswith("pytest-"):
            folder.chmod(0o755)
    if os.geteuid() == 0:  # root may write everything
        os.seteuid(65534)
    try:
        if not os.access(checkout / "mlflow.db", os.R_OK, effective_ids=True):
            pytest.skip("the temporary folder lets no other user in")
        message = refused(job)
    finally:
        os.seteuid(os.getuid())
    assert "mlflow.db" in message and "writable" in message


@pytest.mark.parametrize("address", ["nonsense", "./mlruns", "file:///tmp/mlruns", "gopher://host/x"])
def test_an_address_that_is_none(checkout: Path, job: Any, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    message = refused(job)
    assert "MLFLOW_TRACKING_URI" in message and address in message and "sqlite:///" in message
    assert not (checkout / "mlruns").exists()


def test_a_server_that_is_not_there(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://user:secret@127.0.0.1:{port}")
    started = time.monotonic()
    message = refused(job)
    assert time.monotonic() - started < 60
    assert f"127.0.0.1:{port}" in message and "MLFLOW_TRACKING_URI" in message and "secret" not in message


def test_a_command_says_it_and_ends_with_2(checkout: Path) -> None:
    (checkout / "bad.db").write_bytes(b"no database " * 1000)
    environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{checkout / 'bad.db'}", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pipeline.runs", "artefact", "x"]
    result = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 2 and result.stderr.count("\n") == 1 and "bad.db" in result.stderr


def typed(command: str) -> subprocess.CompletedProcess[str]:
    """An advised command, typed into a shell in which no store is named."""
    environment = {key: value for key, value in os.environ.items() if key != "MLFLOW_TRACKING_URI"}
    environment |= {"PATH": f"{Path(sys.executable).parent}:{environment['PATH']}", "PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", command], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_an_experiment_in_the_bin_is_brought_back_or_removed_by_the_advised_commands(job: Any) -> None:
    with tracked_job("train_lm", job(), {}) as work:
        fingerprint = work.fingerprint
    experiment = store.find_runs(fingerprint)[0].info.experiment_id
    assert store.in_bin(fingerprint) == ""
    client = store.client()
    client.delete_experiment(experiment)
    restore, empty = re.findall("`(.*?)`", refused(job))
    assert store.in_bin(fingerprint) == restore and "experiments restore" in restore
    assert (done := typed(restore)).returncode == 0, done.stderr
    (run,) = store.find_runs(fingerprint)
    client.delete_run(run.info.run_id)
    assert (done := typed(store.in_bin(fingerprint))).returncode == 0, done.stderr
    assert len(store.find_runs(fingerprint)) == 1
    client.delete_experiment(experiment)
    assert (done := typed(empty)).returncode == 0, done.stderr
    assert store.in_bin(fingerprint) == ""


class Failing:
    """A client whose writing fails while `broken`."""

    def __init__(self, client: Any) -> None:
        self.client, self.broken, self.tried = client, False, 0

    def __getattr__(self, name: str) -> Any:
        if self.broken and name.startswith(("log_", "set_")):
            self.tried += 1
            raise ConnectionError("the server is gone\nwith all its lines")
        return getattr(self.client, name)


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_store_that_fails_later(
    job: Any, comes_back: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "EVERY", 0.0)
    with tracked_job("train_lm", job(), {}) as work:
        failing = Failing(work.run.client)
        work.run.client = failing  # type: ignore[assignment]
        logger = work.run.lightning_logger()
        for step in range(1, 21):
            failing.broken = step > 5
            logger.log_metrics({"train_loss": 1.0 / step}, step=step)
        assert failing.tried == 1  # not one attempt a step
        work.run.metrics({"seconds": 1.0})
        failing.broken = not comes_back
    warnings = capsys.readouterr().err.splitlines()
    assert "warning" in warnings[0] and "mlflow.db" in warnings[0] and "the server is gone" in warnings[0]
    client, experiments = store.prepare(["language models"])
    [run] = client.search_runs([experiments["language models"]])
    known = [point.step for point in client.get_metric_history(run.info.run_id, "train_loss")]
    if comes_back:
        assert len(warnings) == 1
        assert (run.info.status, run.data.metrics["seconds"], known) == ("FINISHED", 1.0, list(range(1, 21)))
    else:
        assert len(warnings) == 2 and run.info.run_id in warnings[1]
        assert (run.info.status, known) == ("RUNNING", list(range(1, 6)))


def test_the_report_goes_without_timings(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (checkout / "mlflow.db").write_bytes(b"no database " * 1000)
    assert report_inputs._runs() == {}
    warnings = capsys.readouterr().err.splitlines()
    assert len(warnings) == 1 and "mlflow.db" in warnings[0] and "dvc repro -f -s report" in warnings[0]
