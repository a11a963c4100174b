"""MLflow's server with passwords before PostgreSQL: many writers at once, and nothing that they log is lost.

PostgreSQL is Debian's (`apt-get install postgresql`); it refuses to run as root, so root runs it as `nobody`.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipeline import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

WRITERS, EACH, POINTS = 16, 2, 20  # processes, runs of each, points of a run's curve
COMPOSE = ROOT / "deploy" / "tracking" / "compose.yaml"
USER = {"MLFLOW_TRACKING_USERNAME": "anna", "MLFLOW_TRACKING_PASSWORD": "a long enough secret"}
ADMIN = {"MLFLOW_TRACKING_USERNAME": "admin", "MLFLOW_TRACKING_PASSWORD": "another long secret"}


def program(name: str) -> str:
    """A program of PostgreSQL, which Debian keeps out of the path."""
    paths = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True))]
    result = next((path for path in paths if path), None)
    if result is None:
        pytest.skip(f"{name} is not installed (apt-get install postgresql)")
    return result


def free_port() -> int:
    with socket.socket() as item:
        item.bind(("127.0.0.1", 0))
        return int(item.getsockname()[1])


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of an empty database of a PostgreSQL server of our own."""
    initdb, postgres = program("initdb"), program("postgres")
    folder, port = tmp_path_factory.mktemp("postgres"), free_port()
    other: dict[str, Any] = {}
    if os.getuid() == 0:
        other = {"user": 65534, "group": 65534}
        folder = Path("/tmp") / f"langladder-postgres-{os.getpid()}"
        folder.mkdir(mode=0o700)
        os.chown(folder, 65534, 65534)
    data = str(folder / "data")
    (folder / "password").write_text("p")
    (folder / "password").chmod(0o644)
    options: dict[str, Any] = {"cwd": folder, "stdout": subprocess.DEVNULL} | other
    init_command = [
        initdb,
        "-D",
        data,
        "-U",
        "mlflow",
        "-A",
        "scram-sha-256",
        "--pwfile",
        "password",
        "-E",
        "UTF8",
        "--no-sync",
    ]
    subprocess.run(init_command, check=True, **options)
    command = [postgres, "-D", data, "-p", str(port), "-k", str(folder), "-h", "127.0.0.1"]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL, **options)
    try:
        yield f"postgresql+psycopg2://mlflow:p@127.0.0.1:{port}/postgres"
    finally:
        server.terminate()
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def composed(database: str, folder: Path, port: int) -> tuple[list[str], dict[str, str]]:
    """Command and environment of the server as the compose file has them, without its containers."""
    text = COMPOSE.read_text().replace(":5000", f":{port}")
    text = text.replace("postgresql+psycopg2://mlflow:${DATABASE_PASSWORD:?}@database/mlflow", database)
    values = {"ADMIN_PASSWORD": ADMIN["MLFLOW_TRACKING_PASSWORD"], "SECRET_KEY": "x", "HOST": "127.0.0.1"}
    values |= {"DATABASE_PASSWORD": "p"}
    file = yaml.safe_load(re.sub(r"\$\{(\w+)(:\?)?\}", lambda result: values[result[1]], text))
    (folder / "auth.ini").write_text(file["configs"]["auth"]["content"])
    program, *options = file["services"]["server"]["command"].replace("/artifacts", str(folder / "artifacts")).split()
    options[options.index("0.0.0.0")] = "127.0.0.1"
    options[options.index("5000")] = str(port)
    environment = file["services"]["server"]["environment"] | {"MLFLOW_AUTH_CONFIG_PATH": str(folder / "auth.ini")}
    return [sys.executable, "-m", program, *options], environment


@pytest.fixture(scope="module")
def server(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of MLflow's server, as deploy/tracking/compose.yaml starts it."""
    pytest.importorskip("flask_wtf", reason="pip install 'langladder[cluster]'")
    folder, port = tmp_path_factory.mktemp("server"), free_port()
    command, further = composed(database, folder, port)
    environment = os.environ | further
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 180
        while not answers(address):
            assert process.poll() is None and time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.5)
        yield address
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # its workers too
        process.wait(30)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


WRITER = """
import sys
from pathlib import Path
from pipeline.tracking import fingerprint, run
from pipeline.tracking.run_facts import Job

home, number, runs, points = Path(sys.argv[1]), *map(int, sys.argv[2:])
fingerprint.ROOT = home
for one in range(runs):
    name = f"writer_{number}_{one}"
    settings = {"lm": {"name": name, "_target_": "langladder.models.ngrams.add_k.AddK", "title": name}, "seed": number}
    job = Job("lm", "train_lm", settings, f"{number:08x}{one:08x}", {})
    with run.tracked(job, home / name) as tracked:
        tracked.curve([{"step": step, "validation_loss": step / 7 + number} for step in range(1, points + 1)])
        tracked.metrics({"figure": number + one / 10})
"""


def write(address: str, home: Path, number: int, **user: str) -> subprocess.Popen[str]:
    environment = os.environ | {"MLFLOW_TRACKING_URI": address, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"} | user
    command = [sys.executable, "-c", WRITER, str(home), str(number), str(EACH), str(POINTS)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def counted(address: str) -> tuple[int, int, int]:
    """Runs, parameters, points of curves; every one as it was written."""
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=address)
    experiment = client.get_experiment_by_name("language models")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id], "attributes.status = 'FINISHED'", max_results=1000)
    points = 0
    for run in runs:
        number, item = map(int, run.data.tags["rung"].split("_")[1:])
        assert run.data.params["seed"] == str(number)
        assert run.data.metrics["figure"] == number + item / 10
        curve = client.get_metric_history(run.info.run_id, "validation_loss")
        assert {(point.step, point.value) for point in curve} == {(s, s / 7 + number) for s in range(1, POINTS + 1)}
        points += len(curve)
    assert len({run.data.tags["rung"] for run in runs}) == len(runs)
    return len(runs), sum("seed" in run.data.params for run in runs), points


def all_written(address: str, home: Path, **user: str) -> None:
    writers = [write(address, home, number, **user) for number in range(WRITERS)]
    for writer in writers:
        output, _ = writer.communicate()
        assert writer.returncode == 0 and "warning" not in output, output


WHOLE = WRITERS * EACH, WRITERS * EACH, WRITERS * EACH * POINTS


def test_a_server_with_passwords_before_postgresql_loses_nothing(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in ADMIN.items():
        monkeypatch.setenv(key, value)
    from mlflow.server import get_app_client

    client = get_app_client("basic-auth", tracking_uri=server)
    client.create_user(USER["MLFLOW_TRACKING_USERNAME"], USER["MLFLOW_TRACKING_PASSWORD"])
    refused = write(server, tmp_path, 0, **USER | {"MLFLOW_TRACKING_PASSWORD": "a guess"})
    output, _ = refused.communicate()
    assert refused.returncode != 0 and "tracking store cannot be used" in output and "401" in output, output
    all_written(server, tmp_path, **USER)
    for key, value in USER.items():
        monkeypatch.setenv(key, value)
    assert counted(server) == WHOLE


def test_an_sqlite_file_on_one_machine_loses_nothing(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'mlflow.db'}"
    all_written(address, tmp_path)
    assert counted(address) == WHOLE
    assert json.loads(next(tmp_path.glob("writer_*/run.json")).read_text())["run"]
