"""`dvc repro` with several jobs at once: every job whose inputs are ready runs beside the others.

    python -m pipeline.parallel            # as many jobs as processors, at most 8; JOBS=… for another number

DVC decides what is out of date and runs each job (`dvc repro --single-item`), so outcome, cache and dvc.lock are
those of `dvc repro`; only the order differs, and each job gets its share of the processors.
"""

import os
import subprocess
import sys
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import Any

from pipeline import ROOT

DVC = ["dvc", "--wait-for-lock", "repro", "--single-item"]


def graph() -> dict[str, set[str]]:
    """Job → the jobs that it waits for: the whole DAG as params.yaml has it now."""
    from dvc.repo import Repo

    with Repo(str(ROOT)) as repo:
        jobs = repo.index.graph
        return {job.addressing: {up.addressing for up in jobs.successors(job)} for job in jobs.nodes}


def stale(needs: dict[str, set[str]]) -> set[str]:
    """The jobs that are out of date, and everything that waits for them."""
    from dvc.repo import Repo

    with Repo(str(ROOT)) as repo:
        found = set(repo.status())
    for job in TopologicalSorter(needs).static_order():
        if needs[job] & found:
            found.add(job)
    return found & set(needs)


def run_all(needs: dict[str, set[str]], jobs: int) -> list[str]:
    """Run the jobs in any order that their needs allow, `jobs` at a time; returns those that failed.

    After a failure nothing new is begun; what runs is let finish.
    """
    threads = str(max(1, (os.cpu_count() or 1) // jobs))
    environment: dict[str, str] = {"OMP_NUM_THREADS": threads, **os.environ}
    order: TopologicalSorter[str] = TopologicalSorter(needs)
    order.prepare()
    failed: list[str] = []
    running: dict[Future[int], str] = {}
    with ThreadPoolExecutor(jobs) as pool:
        while order.is_active() and not (failed and not running):
            if not failed:
                running |= {pool.submit(_run, job, environment): job for job in order.get_ready()}
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                if future.result():
                    failed.append(job)
                else:
                    order.done(job)
    return failed


def _run(job: str, environment: dict[str, str]) -> int:
    """One job through DVC; the lines of its own output, each under the job's name."""
    command: Any = subprocess.Popen(
        [*DVC, job], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for line in command.stdout:
        if line.strip() and not line.startswith(("Updating lock", "Use `dvc push", "To track", "To enable", "\t")):
            print(f"{job:32} {line.rstrip()}", flush=True)
    return int(command.wait())


def main() -> None:
    jobs = int(os.environ.get("JOBS") or min(8, os.cpu_count() or 1))
    if subprocess.run(["dvc", "repro", "-q", "resolve"], cwd=ROOT, check=False).returncode:  # which jobs there are
        sys.exit(1)
    needs = graph()
    todo = stale(needs)
    failed = run_all({job: needs[job] & todo for job in needs if job in todo}, jobs)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; what was running has finished, nothing else was begun")
    if not todo:
        print("everything is up to date")


if __name__ == "__main__":
    main()
