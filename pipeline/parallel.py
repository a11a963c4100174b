"""`dvc repro` with several jobs at once: every job whose inputs are ready runs beside the others.

    python -m pipeline.parallel     # as many jobs as there are processors for their threads; JOBS=… for another number

    python -m pipeline.parallel train_lm embed@svd              # these stages and jobs, and what they wait for

    python -m pipeline.parallel --summary                       # all, and what `pipeline.summary` says in the end

Where params.yaml has `engine: dask` (or another of Dask's), the jobs about rungs run on its workers (`elsewhere`).

DVC decides what is out of date and runs each job (`dvc repro --single-item`), so outcome, cache and dvc.lock are
those of `dvc repro`: how many threads a job computes with is one of its settings. Only the order differs, and jobs
begin sooner (`warm`).
"""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from threading import Thread
from time import monotonic
from types import MappingProxyType
from typing import Any, Self

from langladder.collector import rarely
from langladder.ground import progress
from langladder.ground.errors import InputError
from pipeline import ROOT, elsewhere
from pipeline.elsewhere import Cluster
from pipeline.settings.threads import jobs_at_once, processors
from pipeline.warm import REPRO, SINGLE, Servers

DVC = ["dvc", *REPRO]
# What DVC says of each job that only the last of them need say, if at all.
UNSAID = "Updating lock", "Generating lock", "Use `dvc push", "To track", "To enable", "\t", "> python"

SUMMARY = "--summary"

Needs = dict[str, set[str]]


def plan() -> tuple[Needs, set[str]]:
    """Job → the jobs that it waits for, of the whole DAG as params.yaml has it now; and the jobs that are out of date.

    Raises:
        SystemExit: the settings are wrong (`resolve` has said how), or DVC cannot work here.
    """
    with progress.working("looking for what is out of date") as task:
        from dvc.exceptions import DvcException
        from dvc.repo import Repo

        logging.getLogger("dvc").setLevel(logging.WARNING)  # what it skips need not be said
        try:
            with Repo(str(ROOT)) as repo:
                task.note("checking every setting (resolve)")
                repo.reproduce("resolve", single_item=True)  # which jobs there are
                task.note("comparing every job with dvc.lock")
                graph = repo.index.graph
                needs = {job.addressing: {up.addressing for up in graph.successors(job)} for job in graph.nodes}
                status = repo.status()
                if paths := touched(status):
                    some = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
                    print(
                        f"warning: no longer what dvc.lock says: {some}. They are removed and made anew, with any file "
                        "of yours in them; keep those in input/",
                        file=sys.stderr,
                    )
                return needs, stale(needs, set(status))
        except DvcException as error:
            sys.exit(f"parallel: {reason(error)}")


def reason(error: BaseException) -> str:
    """What DVC says of an error and of what caused it, and who holds its lock where that is it."""
    chain = [error]
    while chain[-1].__cause__ is not None:
        chain.append(chain[-1].__cause__)
    said = ": ".join(" ".join(str(one).split()) for one in chain)
    if "acquire lock" not in said:
        return said
    with suppress(OSError, ValueError):  # the holder has written its number there
        pid = int((ROOT / ".dvc" / "tmp" / "lock").read_text())
        shown = subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False)
        said += f" It is held by process {pid} ({shown.stdout.strip()[:200] or 'which has ended'})"
    return said


def touched(status: Mapping[str, Any]) -> list[str]:
    """The outputs that are no longer what DVC has made, by DVC's own status: a file of the user's may be among them."""
    entries = (entry for changes in status.values() for entry in changes if isinstance(entry, dict))
    outs = (out for entry in entries for out in entry.get("changed outs", {}).items())
    return sorted({str(path) for path, how in outs if how == "modified"})


def stale(needs: Needs, changed: set[str]) -> set[str]:
    """The jobs that have changed, and everything that waits for them."""
    found = changed & set(needs)
    for job in TopologicalSorter(needs).static_order():
        if needs[job] & found:
            found.add(job)
    return found


def wanted(needs: Needs, targets: list[str]) -> set[str]:
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


def run_all(
    needs: Needs,
    jobs: int,
    cluster: Cluster | None = None,
    until: Mapping[str, float] = MappingProxyType({}),
    beside_last: Callable[[], None] | None = None,
) -> list[str]:
    """Run the jobs in any order that their needs allow, `jobs` at a time; returns those that failed.

    Those that go to a cluster are not counted; they are as many as it has room for. After a failure nothing new is
    begun; what runs is let finish.

    Args:
        until: of those that could begin the first is the one with the longest way to the end, see `Estimate`.
        beside_last: done in a thread while the last job runs, and waited for; what it raises is of no matter.
    """
    order: TopologicalSorter[str] = TopologicalSorter(needs)
    order.prepare()
    commands = Commands()
    failed: list[str] = []
    running: dict[Future[int], str] = {}
    ready: list[str] = []
    places = jobs
    with ExitStack() as stack:
        task = stack.enter_context(progress.working("jobs", len(needs)))
        here = stack.enter_context(ThreadPoolExecutor(jobs))
        there = stack.enter_context(ThreadPoolExecutor(cluster.slots)) if cluster else here
        warm = stack.enter_context(Servers(ROOT, [job for job in needs if not (cluster and cluster.goes(job))]))
        stack.enter_context(commands)
        while order.is_active() and not (failed and not running):
            if not failed:
                ready = sorted([*ready, *order.get_ready()], key=lambda job: until.get(job, 0.0), reverse=True)
                for job in list(ready):
                    away = cluster if cluster and cluster.goes(job) else None
                    if away or places:
                        places -= away is None
                        ready.remove(job)
                        running[(there if away else here).submit(_run, job, warm, away, commands)] = job
            if beside_last and len(running) == len(needs) - task.done == 1:
                thread = Thread(target=_quietly, args=[beside_last])
                thread.start()
                stack.callback(thread.join)  # two threads that import the same at once may see half of it
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                job = running.pop(future)
                places += not (cluster and cluster.goes(job))
                task.advance()
                if future.result():
                    failed.append(job)
                else:
                    order.done(job)
                outcome = "failed" if job in failed else "done"
                _say(job, f"{outcome}, {task.done} of {task.total} jobs")
    return failed


class Commands:
    """The processes of the jobs that run: they are ended where an error or a signal ends this process."""

    def __init__(self) -> None:
        self._running: dict[str, Any] = {}
        self._over = False

    def begun(self, job: str, command: Any) -> None:
        """Note the process of a job."""
        self._running[job] = command
        if self._over:
            command.terminate()

    def ended(self, job: str) -> None:
        """Forget it."""
        self._running.pop(job, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._over = True
            for command in list(self._running.values()):
                command.terminate()


def _quietly(run: Callable[[], None]) -> None:
    with suppress(Exception):
        run()


def _run(job: str, warm: Servers, cluster: Cluster | None, commands: Commands) -> int:
    """One job through DVC; the lines of its own output, each under the job's name."""
    began = monotonic()
    with progress.working(job) as task:
        command: Any = cluster.begin(job, [*DVC, job]) if cluster else warm.begin(job) or _begin(job)
        commands.begun(job, command)
        if not _terminal():
            _say(job, "begins")
        for line in map(str.rstrip, command.stdout):
            if line.startswith(progress.MARK) and _terminal():
                task.note(line.removeprefix(progress.MARK))
            elif line and not line.startswith(UNSAID):
                _say(job, line)
        commands.ended(job)
        code = int(command.wait())
    if code:
        _say(job, f"exit code {code} after {monotonic() - began:.0f} s")
    return code


def _begin(job: str) -> Any:
    command = [sys.executable, "-m", "pipeline.warm", SINGLE, job, str(os.getpid()), str(ROOT)]
    code = Path(__file__).resolve().parent.parent
    return subprocess.Popen(
        command, cwd=code, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )


def _terminal() -> bool:
    return sys.stderr.isatty()


def _say(job: str, line: str) -> None:
    text = f"{job:32} {line}"
    if _terminal():
        progress.say(text)  # above the bars
    else:
        print(text, flush=True)


@rarely()
def main() -> None:
    """See the module's first lines."""
    for signum in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signum) == signal.SIG_DFL:
            signal.signal(signum, _end)
    targets = [name for name in sys.argv[1:] if name != SUMMARY]
    said = SUMMARY in sys.argv[1:]
    if {"-h", "--help"} & set(targets):
        print((__doc__ or "").strip())
        return
    try:
        if unknown := [name for name in targets if name.startswith("-")]:
            raise InputError(f"no such option: {', '.join(unknown)}; there are {SUMMARY} and --help")
        failed = _make(targets, _summary("prepare") if said else None)
    except InputError as error:
        print(f"parallel: {error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("parallel: interrupted; the jobs that ran have been ended", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; what was running has finished, nothing else was begun")
    if said:
        _summary("main")()


def _end(signum: int, _: object) -> None:
    signal.signal(signum, signal.SIG_IGN)  # the second comes too late
    print(f"parallel: {signal.Signals(signum).name}; the jobs that run are ended", file=sys.stderr)
    sys.exit(128 + signum)


def _summary(name: str) -> Callable[[], None]:
    """A function of `pipeline.summary`, which is loaded when it is called."""
    return lambda: getattr(import_module("pipeline.summary"), name)()


def _make(targets: list[str], beside_last: Callable[[], None] | None) -> list[str]:
    """What is out of date of the named jobs, or of all; returns those that failed."""
    from pipeline.provenance import store
    from pipeline.provenance.estimate import estimate
    from pipeline.settings import growth, params, urls
    from pipeline.settings.errors import together

    os.chdir(ROOT)
    store.end_dead_runs()
    progress.show()
    chosen = params.load()
    # of a circle or a broken link DVC would say less
    if wrong := [*growth.problems(chosen), *urls.broken_links(chosen.paths.model_dump())]:
        raise together(wrong)
    needs, todo = plan()
    todo &= wanted(needs, targets) if targets else set(needs)
    if not todo:
        print("everything is up to date", flush=True)
        return []
    chosen = params.load()
    jobs = jobs_at_once(chosen.threads)
    progress.show(_terminal())  # elsewhere each job speaks for itself
    order = {job: needs[job] & todo for job in needs if job in todo}
    many = processors()
    about = estimate(order, ROOT, min(jobs, many))  # less where DVC's cache has what a job makes
    where = f"{many} processors" if many > 1 else "one processor"
    print(
        f"{len(todo)} of {len(needs)} jobs are out of date; {jobs} at a time, at most about {about} on {where}",
        flush=True,
    )
    with elsewhere.cluster(ROOT, chosen) as cluster:
        if cluster:
            where, dashboard = cluster.client.scheduler.address, cluster.client.dashboard_link
            print(f"jobs about rungs go to {where}, {cluster.slots} at a time; dashboard: {dashboard}", flush=True)
        return run_all(order, jobs, cluster, about.until, beside_last)


if __name__ == "__main__":
    main()
