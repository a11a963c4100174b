"""`dvc repro` with several jobs at once: every job whose inputs are ready runs beside the others.

    python -m pipeline.parallel     # as many jobs as there are processors for their threads; JOBS=… for another number

    python -m pipeline.parallel train_lm embed@svd              # these stages and jobs, and what they wait for

    python -m pipeline.parallel --summary                       # all, and what `pipeline.summary` prints in the end

Where params.yaml has `engine: dask` (or another of Dask's), the jobs about rungs run on its workers (`cluster`).

DVC decides what is out of date and runs each job (`dvc repro --single-item`), so outcome, cache and dvc.lock are
those of `dvc repro`: how many threads a job computes with is one of its settings. Only the order differs.
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from graphlib import TopologicalSorter
from time import monotonic, time
from types import TracebackType
from typing import Protocol, Self

from langladder.ground import progress
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline import cluster as clusters
from pipeline.cluster import Cluster
from pipeline.settings import plan
from pipeline.settings.resources import jobs_at_once
from pipeline.tracking.processes import REPRO, repro_name

# What DVC prints of each job that only the last of them need print, if at all.
IGNORED_LINES = "Updating lock", "Generating lock", "Use `dvc push", "To track", "To enable", "\t", "> python"

SUMMARY = "--summary"

Needs = dict[str, set[str]]
FROM = ROOT
"""Where the processes of jobs begin; the project's folder is their argument."""


class Process(Protocol):
    """The process of a job: a `Popen`, or the command of a worker."""

    @property
    def stdout(self) -> Iterable[str] | None:
        """Its lines."""

    def terminate(self) -> None:
        """End it."""

    def wait(self) -> int:
        """Its exit code."""


# ---- the plan: which jobs there are, and which are out of date -----------------------------------------------------


def find_jobs() -> tuple[Needs, set[str]]:
    """Job → the jobs that it waits for, of the whole DAG as params.yaml has it now; and the jobs that are out of date.

    Raises:
        SystemExit: the settings are wrong (`resolve` has printed how), or DVC cannot work here.
    """
    with progress.working("looking for what is out of date") as task:
        from dvc.exceptions import DvcException
        from dvc.repo import Repo

        logging.getLogger("dvc").setLevel(logging.WARNING)  # what it skips need not be printed
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
    if paths := modified_outputs(status):
        some = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        print(
            f"warning: no longer what dvc.lock says: {some}. They are removed and made anew, with any file "
            "of yours in them; keep those in input/",
            file=sys.stderr,
        )
    return needs, out_of_date(needs, set(status))


def reason(error: BaseException) -> str:
    """The message of an error and of what caused it, and who holds DVC's lock where that is it."""
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    message = ": ".join(" ".join(str(one).split()) for one in chain)
    if "acquire lock" not in message:
        return message
    with suppress(OSError, ValueError):  # the holder has written its number there
        pid = int((ROOT / ".dvc" / "tmp" / "lock").read_text())
        listed = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
        message += f" It is held by process {pid} ({listed.stdout.strip()[:200] or 'which has ended'})"
    return message


def modified_outputs(status: Mapping[str, object]) -> list[str]:
    """The outputs that are no longer what DVC has made, by DVC's own status: a file of the user's may be among them."""
    lists = (changes for changes in status.values() if isinstance(changes, list))
    entries = (entry for changes in lists for entry in changes if isinstance(entry, dict))
    outs = (out for entry in entries for out in entry.get("changed outs", {}).items())
    return sorted({str(path) for path, how in outs if how == "modified"})


def out_of_date(needs: Needs, changed: set[str]) -> set[str]:
    """The jobs that have changed, and everything that waits for them."""
    found = changed & set(needs)
    for job in TopologicalSorter(needs).static_order():
        if needs[job] & found:
            found.add(job)
    return found


def with_needs(needs: Needs, targets: list[str]) -> set[str]:
    """The jobs that are named (`embed@svd`) or belong to a stage that is (`embed`), and all that they wait for.

    Raises:
        InputError: there is no such job.
    """
    found = {job for job in needs if {job, job.partition("@")[0]} & set(targets)}
    if unknown := set(targets) - found - {job.partition("@")[0] for job in found}:
        raise InputError(f"no such job: {', '.join(sorted(unknown))}; there are {', '.join(needs)}")
    for job in reversed(list(TopologicalSorter(needs).static_order())):
        if job in found:
            found |= needs[job]
    return found


def steps_until_end(needs: Needs) -> dict[str, int]:
    """Job → the most training steps from its beginning until the last job that waits for it; one for any other job."""
    until = {job: 1 + plan.training_steps(ROOT, job) for job in needs}
    own = dict(until)
    for job in reversed(list(TopologicalSorter(needs).static_order())):
        for before in needs[job]:
            until[before] = max(until[before], own[before] + until[job])
    return until


# ---- running them --------------------------------------------------------------------------------------------------


def run_all(needs: Needs, jobs: int, cluster: Cluster | None = None) -> list[str]:
    """Run the jobs in any order that their needs allow, `jobs` at a time; returns those that failed.

    Those that go to a cluster are not counted; they are as many as it has room for. After a failure nothing new is
    begun; what runs is let finish. Of those that could begin the first is the one with the longest way to the end.
    """
    order: TopologicalSorter[str] = TopologicalSorter(needs)
    order.prepare()
    until = steps_until_end(needs)
    processes = Processes()
    failed: list[str] = []
    running: dict[Future[int], str] = {}
    ready: list[str] = []
    remote = {job for job in needs if cluster and cluster.goes(job)}
    free = jobs
    with ExitStack() as stack:
        task = stack.enter_context(progress.working("jobs", len(needs)))
        here = stack.enter_context(ThreadPoolExecutor(jobs))
        there = stack.enter_context(ThreadPoolExecutor(cluster.slots)) if cluster else here
        stack.enter_context(processes)
        while order.is_active() and not (failed and not running):
            if not failed:
                ready = sorted([*ready, *order.get_ready()], key=until.__getitem__, reverse=True)
                for job in list(ready):
                    if job in remote:
                        running[there.submit(run_job, job, processes, cluster)] = job
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
    """The processes of the jobs that run: they are ended where an error or a signal ends this one."""

    def __init__(self) -> None:
        self._running: dict[str, Process] = {}
        self._over = False

    def started(self, job: str, process: Process) -> None:
        """Note the process of a job."""
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


def run_job(job: str, processes: Processes, cluster: Cluster | None = None) -> int:
    """One job through DVC, its exit code; its lines are printed, each under the job's name."""
    began = monotonic()
    with progress.working(job) as task:
        process: Process = cluster.begin(job, _command(job)) if cluster else _begin(job)
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


def _command(job: str) -> list[str]:
    return [sys.executable, "-m", "pipeline.single", job, str(os.getpid()), str(ROOT)]


def _begin(job: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        _command(job),
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
        print("parallel: interrupted; the jobs that ran have been ended", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; what was running has finished, nothing else was begun")
    if SUMMARY in sys.argv[1:]:
        from pipeline import summary

        summary.main()


def _end(signum: int, _: object) -> None:
    signal.signal(signum, signal.SIG_IGN)  # the second comes too late
    print(f"parallel: {signal.Signals(signum).name}; the jobs that run are ended", file=sys.stderr)
    sys.exit(128 + signum)


def repro(targets: list[str]) -> list[str]:
    """Run what is out of date of the named jobs, or of all; returns those that failed.

    Raises:
        InputError: params.yaml is wrong, there is no such job, or no such cluster.
    """
    from pipeline.settings import checks, params
    from pipeline.settings.errors import combined
    from pipeline.tracking import store

    os.chdir(ROOT)
    store.end_dead_runs()
    progress.show()
    chosen = params.load()
    # of a circle or a broken link DVC's own message has less
    if wrong := [*checks.growth_problems(chosen), *checks.broken_links(chosen.paths.model_dump())]:
        raise combined(wrong)
    needs, todo = find_jobs()
    todo &= with_needs(needs, targets) if targets else set(needs)
    if not todo:
        print("everything is up to date", flush=True)
        return []
    chosen = params.load()
    jobs = jobs_at_once(chosen.threads)
    progress.show(_terminal())  # where there is none, each job prints its own progress
    print(f"{len(todo)} of {len(needs)} jobs are out of date; {jobs} at a time", flush=True)
    with clusters.connected(ROOT, chosen) as cluster:
        if cluster:
            address, dashboard = cluster.client.scheduler.address, cluster.client.dashboard_link
            print(f"jobs about rungs go to {address}, {cluster.slots} at a time; dashboard: {dashboard}", flush=True)
        return run_all({job: needs[job] & todo for job in needs if job in todo}, jobs, cluster)


if __name__ == "__main__":
    main()
