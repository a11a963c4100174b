"""The DAG of a project with all its jobs in forks of one process, which has loaded the libraries once.

    python tests/dag/forked.py      # in the project's folder; JOBS=… for another number of jobs at a time than 2

Commands, settings and outputs are those of `dvc repro`; what DVC does after each job, `dvc commit` does once in the
end. Starting the interpreter and DVC for each job takes longer than the job itself in ladders as small as the tests'.
"""

import importlib
import json
import multiprocessing
import os
import pkgutil
import runpy
import shlex
import subprocess
import sys
import time
from graphlib import TopologicalSorter
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

ROOMS = ("families", "corpora", "text", "models", "tasks", "evaluation", "experiments", "faces.report")
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
    """What jobs load, apart from the stage modules themselves."""
    for name in ("mlflow.store.tracking.sqlalchemy_store", "pandas", "sklearn", "scipy.stats", "datasets"):
        importlib.import_module(name)
    for room in ("pipeline.settings", "pipeline.tracking", *[f"langladder.{name}" for name in ROOMS]):
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            importlib.import_module(module.name)


def run_job(command: str, log: Path) -> None:
    """Run `python -m MODULE …` in this process, what it prints going to `log`."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(output, 1)
    os.dup2(output, 2)
    _, _, module, *arguments = shlex.split(command)
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def main() -> int:
    sys.path.insert(0, str(Path.cwd()))
    folder = Path(".dvc", "tmp", "forked")
    folder.mkdir(parents=True, exist_ok=True)
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
