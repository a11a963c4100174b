"""`dvc repro` with several jobs at a time: every job whose inputs are ready can run.

    python -m pipeline.parallel     # as many jobs as processors allow with their threads; JOBS=… for another number

    python -m pipeline.parallel train_lm embed@svd              # these stages and jobs, and what they depend on

    python -m pipeline.parallel --summary                       # all, then the output of `pipeline.summary`

If params.yaml has `engine: dask` (or another Dask engine), the jobs of rungs run on its workers (`cluster`).

DVC decides which jobs are outdated and runs each job (`dvc repro --single-item`), so results, cache and dvc.lock are
those of `dvc repro` (the number of threads of a job is one of its settings). Only the order differs.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from graphlib import TopologicalSorter
from pathlib import Path
from time import monotonic, time
from types import TracebackType
from typing import Self

from langladder.ground import progress
from langladder.ground.atomic import disk_error, explain
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline import cluster as clusters
from pipeline.settings import plan
from pipeline.settings.resources import jobs_at_once
from pipeline.tracking.processes import REPRO, repro_name

# Messages that DVC prints for each job, although the last one is enough.
IGNORED_LINES = "Updating lock", "Generating lock", "Use `dvc push", "To track", "To enable", "\t", "> python"

SUMMARY = "--summary"

Needs = dict[str, set[str]]
FROM = ROOT
"""The program that runs a job; the project's folder is an argument."""


# ---- the plan: all jobs, and the outdated ones -----------------------------------------------------------------------


def find_jobs() -> tuple[Needs, set[str]]:
    """Job → the jobs that it depends on, for the whole DAG of the current params.yaml; and the outdated jobs.

    Raises:
        SystemExit: the settings are wrong (`resolve` has printed the errors), or DVC cannot run here.
    """
    with progress.working("looking for outdated jobs") as task:
        from dvc.exceptions import DvcException
        from dvc.repo import Repo

        logging.getLogger("dvc").setLevel(logging.WARNING)  # do not print skipped stages
        try:
            with Repo(str(ROOT)) as repo:
                task.note("checking every setting (resolve)")
                repo.reproduce("resolve", single_item=True)  # which jobs there are
                task.note("comparing every job with dvc.lock")
                graph = repo.index.graph
                needs = {job.addressing: {up.addressing for up in graph.successors(job)} for job in graph.nodes}
                status = repo.status()
        except DvcException as error:
            sys.exit(f"parallel: {reason(error)}")
        except OSError as error:  # a file of DVC's
            if (number := disk_error(error)) is None:
                raise
            sys.exit(f"parallel: {explain(Path(error.filename or ROOT), number)}")
    if paths := modified_outputs(status):
        some = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        print(
            f"warning: these outputs differ from dvc.lock: {some}. They will be deleted and made again, with any "
            "files of yours in them; keep your files in input/",
            file=sys.stderr,
        )
    return needs, out_of_date(needs, set(status))


def reason(error: BaseException) -> str:
    """The message of an error and its cause; if DVC is locked, also the process that holds the lock."""
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    message = ": ".join(" ".join(str(error).split()) for error in chain)
    if "acquire lock" not in message:
        return message
    with suppress(OSError, ValueError):  # the file contains the holder's process number
        pid = int((ROOT / ".dvc" / "tmp" / "lock").read_text())
        listed = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
        message += f" It is held by process {pid} ({listed.stdout.strip()[:200] or 'which has ended'})"
    return message


def modified_outputs(status: Mapping[str, object]) -> list[str]:
    """The outputs that differ from dvc.lock, by DVC's own status; they can contain files of the user."""
    lists = (changes for changes in status.values() if isinstance(changes, list))
    entries = (entry for changes in lists for entry in changes if isinstance(entry, dict))
    outs = (out for entry in entries for out in entry.get("changed outs", {}).items())
    return sorted({str(path) for path, how in outs if how == "modified"})


def out_of_date(needs: Needs, changed: set[str]) -> set[str]:
    """The jobs that have changed, and everything that depends on them."""
    jobs = changed & set(needs)
    for job in TopologicalSorter(needs).static_order():
        if needs[job] & jobs:
            jobs.add(job)
    return jobs


def with_needs(needs: Needs, targets: list[str]) -> set[str]:
    """The named jobs (`embed@svd`) and those of named stages (`embed`), and everything that they depend on.

    Raises:
        InputError: there is no such job.
    """
    jobs = {job for job in needs if {job, job.partition("@")[0]} & set(targets)}
    if unknown := set(targets) - jobs - {job.partition("@")[0] for job in jobs}:
        raise InputError(f"no such job: {', '.join(sorted(unknown))}; there are {', '.join(needs)}")
    for job in reversed(list(TopologicalSorter(needs).static_order())):
        if job in jobs:
            jobs |= needs[job]
    return jobs


def steps_until_end(needs: Needs) -> dict[str, int]:
    """Job → length of the longest chain of jobs that begins with it, in training steps; other jobs count as 1."""
    until = {job: 1 + plan.training_steps(ROOT, job) for job in needs}
    own = dict(until)
    for job in reversed(list(TopologicalSorter(needs).static_order())):
        for before in needs[job]:
            until[before] = max(until[before], own[before] + until[job])
    return until


# ---- running them --------------------------------------------------------------------------------------------------


def run_all(needs: Needs, jobs: int, slots: int = 0) -> list[str]:
    """Run the jobs in any order that their dependencies allow, `jobs` at a time; returns those that failed.

    Jobs that run on the workers of a cluster do not count; there are `slots` of them at a time. After a failure no new
    job starts, and running jobs finish. If several jobs are ready, the one with the longest chain of dependent jobs
    starts first.
    """
    order: TopologicalSorter[str] = TopologicalSorter(needs)
    order.prepare()
    until = steps_until_end(needs)
    processes = Processes()
    failed: list[str] = []
    running: dict[Future[int], str] = {}
    ready: list[str] = []
    remote = {job for job in needs if slots and clusters.goes(job)}
    free = jobs
    with ExitStack() as stack:
        task = stack.enter_context(progress.working("jobs", len(needs)))
        here = stack.enter_context(ThreadPoolExecutor(jobs))
        there = stack.enter_context(ThreadPoolExecutor(slots)) if slots else here
        stack.enter_context(processes)
        while order.is_active() and not (failed and not running):
            if not failed:
                ready = sorted([*ready, *order.get_ready()], key=until.__getitem__, reverse=True)
                for job in list(ready):
                    if job in remote:
                        running[there.submit(run_job, job, processes)] = job
                    elif free:
                        free -= 1
                        running[here.submit(run_job, job, processes)] = job
                    else:
                        continue
                    ready.remove(job)
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                free += job not in remote
                task.advance()
                if future.result():
                    failed.append(job)
                else:
                    order.done(job)
                outcome = "failed" if job in failed else "done"
                _print(job, f"{outcome}, {task.done} of {task.total} jobs")
    return failed


class Processes:
    """The processes of the running jobs; they are ended if an error or a signal ends this process."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._over = False

    def started(self, job: str, process: subprocess.Popen[str]) -> None:
        """Register the process of a job."""
        self._running[job] = process
        if self._over:
            process.terminate()

    def ended(self, job: str) -> None:
        """Forget it."""
        self._running.pop(job, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: TracebackType | None) -> None:
        if kind is not None:
            self._over = True
            for process in list(self._running.values()):
                process.terminate()


def run_job(job: str, processes: Processes) -> int:
    """Run one job through DVC; prints its lines with the job's name, returns its exit code."""
    began = monotonic()
    with progress.working(job) as task:
        process = _begin(job)
        processes.started(job, process)
        if not _terminal():
            _print(job, "begins")
        for line in map(str.rstrip, process.stdout or ()):
            if line.startswith(progress.MARK) and _terminal():
                task.note(line.removeprefix(progress.MARK))
            elif line and not line.startswith(IGNORED_LINES):
                _print(job, line)
        processes.ended(job)
        code = process.wait()
    if code:
        _print(job, f"exit code {code} after {monotonic() - began:.0f} s")
    return code


def _begin(job: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipeline.single", job, str(os.getpid()), str(ROOT)],
        cwd=FROM,  # where `-m` finds it
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )


def _terminal() -> bool:
    return sys.stderr.isatty()


def _print(job: str, line: str) -> None:
    text = f"{job:32} {line}"
    if _terminal():
        progress.say(text)  # above the bars
    else:
        print(text, flush=True)


# ---- the command ---------------------------------------------------------------------------------------------------


def main() -> None:
    """See the module's first lines."""
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) == signal.SIG_DFL:
            signal.signal(signum, _end)
    targets = [name for name in sys.argv[1:] if name != SUMMARY]
    os.environ.setdefault(REPRO, repro_name(time(), os.getpid()))
    if {"-h", "--help"} & set(targets):
        print((__doc__ or "").strip())
        return
    try:
        if unknown := [name for name in targets if name.startswith("-")]:
            raise InputError(f"no such option: {', '.join(unknown)}; there are {SUMMARY} and --help")
        failed = repro(targets)
    except InputError as error:
        print(f"parallel: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("parallel: interrupted; the running jobs were ended", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; running jobs have finished, no other jobs were started")
    if SUMMARY in sys.argv[1:]:
        from pipeline import summary

        summary.main()


def _end(signum: int, _: object) -> None:
    signal.signal(signum, signal.SIG_IGN)  # a second signal has no effect
    print(f"parallel: {signal.Signals(signum).name}; ending the running jobs", file=sys.stderr)
    sys.exit(128 + signum)


def repro(targets: list[str]) -> list[str]:
    """Run the outdated jobs among the named ones, or among all; returns those that failed.

    Raises:
        InputError: params.yaml is wrong, there is no such job, or no such cluster.
    """
    from pipeline.settings import checks, params
    from pipeline.settings.errors import combined

    os.chdir(ROOT)
    progress.show()
    chosen = params.load()
    # clearer than DVC's own message about a cycle or a broken link
    wrong = [*checks.base_problems(chosen), *checks.broken_links(chosen.paths.model_dump())]
    if wrong := [*checks.linked_outputs(), *wrong]:
        raise combined(wrong)
    needs, todo = find_jobs()
    todo &= with_needs(needs, targets) if targets else set(needs)
    if not todo:
        print("everything is up to date", flush=True)
        return []
    chosen = params.load()
    jobs = jobs_at_once(chosen.threads)
    progress.show(_terminal())  # without a terminal, each job prints its own progress
    print(f"{len(todo)} of {len(needs)} jobs are outdated; {jobs} at a time", flush=True)
    with clusters.connected(ROOT, chosen) as slots:
        return run_all({job: needs[job] & todo for job in needs if job in todo}, jobs, slots)


if __name__ == "__main__":
    main()
