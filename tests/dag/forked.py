"""Jobs of a project in forks of one process, which has loaded the libraries once.

    python tests/dag/forked.py          # the whole DAG, in the project's folder; JOBS=… at a time instead of 2
    python tests/dag/forked.py serve    # `python -m pipeline.…` in this folder, as long as this runs

Commands, settings and outputs are those of `dvc repro`. In the whole DAG, `dvc commit` does once in the end what DVC
does after each job. When it serves, `dvc repro` runs as always: with .dvc/tmp/forked first in PATH, `python` is a
script that hands each job over. Starting the interpreter and the libraries for each job takes longer than the job
itself in ladders as small as the tests'. Jobs run the code, and know the families, of when the process began.
"""

import gc
import importlib
import json
import multiprocessing
import os
import pkgutil
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from graphlib import TopologicalSorter
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

ROOMS = ["families", "corpora", "text", "embeddings", "models", "tasks", "evaluation", "experiments", "answers"]
ROOMS += ["formats", "faces.report", "faces.mlflow"]
LIBRARIES = ["mlflow.store.tracking.sqlalchemy_store", "alembic.command", "sqlalchemy.dialects.sqlite", "pandas"]
LIBRARIES += ["sklearn.ensemble", "sklearn.manifold", "scipy.stats", "datasets", "ftfy", "hydra.main", "torch.profiler"]
PLAN = """
import json, sys
from dvc.repo import Repo
from pipeline.parallel import find_jobs
needs, todo = find_jobs()
commands = {one.addressing: one.cmd for one in Repo(".").index.stages}
json.dump({job: [commands[job], sorted(needs[job] & todo)] for job in sorted(todo)}, open(sys.argv[1], "w"))
"""


def plan(file: Path) -> dict[str, tuple[str, list[str]]]:
    """Job → its command and the jobs that it waits for, of those out of date; DVC runs `resolve` for it."""
    subprocess.run([sys.executable, "-c", PLAN, str(file)], check=True)
    return {job: (command, needs) for job, (command, needs) in json.loads(file.read_text()).items()}


def load() -> None:
    """What jobs load, apart from the stage modules themselves; what MLflow finds out once a process.

    Python's collector then leaves all of it alone: in each fork it would read, and so copy, these objects.
    """
    for name in LIBRARIES:
        importlib.import_module(name)
    for room in ("pipeline.settings", "pipeline.tracking", *[f"langladder.{name}" for name in ROOMS]):
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            importlib.import_module(module.name)
    importlib.import_module("langladder.kernels.compiled").prepare()
    importlib.import_module("hydra.core.plugins").Plugins.instance()
    with tempfile.TemporaryDirectory() as folder:  # the first model makes MLflow list all installed packages
        importlib.import_module("mlflow.pyfunc").save_model(
            f"{folder}/model", loader_module="langladder.faces.mlflow", pip_requirements=["langladder"]
        )
    gc.collect()
    gc.freeze()


def run_job(command: str, log: Path) -> None:
    """Run `python -m MODULE …` in this process, what it prints going to `log`."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    _, _, module, *arguments = shlex.split(command)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


CLIENT = """#!{python} -SE
import json, os, socket, sys
if sys.argv[1:2] != ["-m"] or not sys.argv[2].startswith("pipeline.") or os.getcwd() != {project!r}:
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
socket.send_fds(server, [b"0"], [0, 1, 2])
server.sendall(json.dumps([sys.argv[2:], dict(os.environ)]).encode() + b"\\n")
sys.exit((server.recv(1) or b"1")[0])
"""


def serve(folder: Path) -> None:
    """Run what the script `python` in `folder` is called with, each command in a fork, as long as the script is there
    and the process lives that started this one."""
    starter = os.getppid()
    load()
    address = f"/tmp/forked-{os.getpid()}"  # the path of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        script = folder / "python.new"
        script.write_text(CLIENT.format(python=sys.executable, project=str(Path.cwd()), address=address))
        script.chmod(0o755)
        script.rename(folder / "python")
        server.settimeout(1)
        while os.getppid() == starter and (folder / "python").exists():
            with suppress(TimeoutError):
                connection, _ = server.accept()
                multiprocessing.get_context("fork").Process(target=answer, args=(connection,)).start()
                connection.close()
    Path(address).unlink()


def answer(connection: socket.socket) -> None:
    """Run one command with the streams and the environment of its caller, and be killed with the caller."""
    _, streams, _, _ = socket.recv_fds(connection, 1, 3)
    for stream, own in enumerate(streams):
        os.dup2(own, stream)
    sys.argv, environment = json.loads(connection.makefile().readline())
    os.environ.clear()
    os.environ.update(environment)

    def be_killed() -> None:
        if not connection.recv(1):
            os.kill(os.getpid(), signal.SIGKILL)

    Thread(target=be_killed, daemon=True).start()
    code: object = 1
    try:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code or 0
        if isinstance(code, str):
            print(code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    connection.sendall(bytes([code if isinstance(code, int) else 1]))


def main() -> int:
    sys.path.insert(0, str(Path.cwd()))
    folder = Path(".dvc", "tmp", "forked")
    folder.mkdir(parents=True, exist_ok=True)
    if sys.argv[1:] == ["serve"]:
        serve(folder)
        return 0
    jobs = plan(folder / "plan.json")
    load()
    fork, free = multiprocessing.get_context("fork"), int(os.environ.get("JOBS", "2"))
    order = TopologicalSorter({job: needs for job, (_, needs) in jobs.items()})
    order.prepare()
    ready: list[str] = []
    running: dict[int, tuple[str, Any, float]] = {}
    while order.is_active():
        ready += order.get_ready()
        while ready and len(running) < free:
            job = ready.pop(0)
            process = fork.Process(target=run_job, args=(jobs[job][0], folder / f"{job}.log"))
            process.start()
            running[process.sentinel] = job, process, time.monotonic()
        for sentinel in wait(list(running)):
            job, process, began = running.pop(sentinel)  # type: ignore[arg-type]
            process.join()
            text = (folder / f"{job}.log").read_text(errors="replace")
            print(f"===== {job}: {time.monotonic() - began:.1f} s\n{text}", flush=True)
            if process.exitcode:
                print(f"{job}: exit code {process.exitcode}")
                return 1
            order.done(job)
    return subprocess.run(["dvc", "commit", "--force", "--quiet"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
