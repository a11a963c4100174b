"""Several jobs at once: the order respects what waits for what, and a failure stops what has not begun.

Jobs are shell commands of a small DVC project here; what the real ones make in parallel is compared in
`test_dag.py`.
"""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from project_copy import ENVIRONMENT, run

from langladder.ground.errors import InputError
from pipeline import ROOT, parallel
from pipeline.settings import resources
from pipeline.tracking import processes

STAGES = """
stages:
  resolve: {cmd: echo settings > resolved, outs: [resolved]}
  a: {cmd: echo from a; echo a > a, deps: [resolved], outs: [a]}
  b: {cmd: COMMAND, deps: [a], outs: [b]}
  c: {cmd: sleep 1; echo c > c, deps: [a], outs: [c]}
  d: {cmd: cat b c > d, deps: [b, c], outs: [d]}
  alone: {cmd: echo alone > alone, deps: [resolved], outs: [alone]}
"""

Make = Callable[[str], Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """A DVC project of shell commands around our own runner; its job b is the given command."""

    def project_of(command: str) -> Path:
        (tmp_path / "dvc.yaml").write_text(STAGES.replace("COMMAND", command))
        if not (tmp_path / ".dvc").exists():
            run(tmp_path, "dvc", "init", "-q", "--no-scm")
        return tmp_path

    return project_of


def drive(folder: Path, *targets: str, before: str = "pass", **environment: str) -> tuple[int, str]:
    """Exit code and output of the runner on the project in `folder`; `before`: what changes the runner first."""
    process = start(folder, *targets, before=before, **environment)
    output, errors = process.communicate()
    return process.returncode, output + errors


def start(folder: Path, *targets: str, before: str = "pass", **environment: str) -> subprocess.Popen[str]:
    """The runner's process. An interrupt reaches it, also where the tests run in the background of a script."""
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"import pipeline.parallel as p; from pathlib import Path; p.ROOT = Path({str(folder)!r}); {before}; p.main()"
    )
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    return subprocess.Popen(
        [sys.executable, "-c", script, *targets],
        cwd=folder,
        env=ENVIRONMENT | path | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


SLOW_STAGE = """
import os, time
from pathlib import Path
from pipeline.settings.launch import end_with_starter
end_with_starter()
Path("pid").write_text(str(os.getpid()))
time.sleep(100)
"""


def alive(pid: int) -> bool:
    return processes.started(pid) is not None


@pytest.mark.long
@pytest.mark.dag
@pytest.mark.parametrize(
    ("signum", "shell"),
    [
        (signal.SIGTERM, "/bin/bash"),
        (signal.SIGKILL, "/bin/sh"),
        (signal.SIGINT, "/bin/sh"),
        (signal.SIGKILL, "/bin/bash"),
    ],
)
def test_jobs_end_with_the_runner_however_it_ends(make: Make, signum: int, shell: str) -> None:
    """Also where the signal goes to the runner alone, as of `kill` or systemd; DVC's lock is free then.

    Between DVC and its stage stands a shell, unless it has put the stage into its own place, as bash does.
    """
    folder = make("python slow.py")
    (folder / "slow.py").write_text(SLOW_STAGE)
    process = start(folder, SHELL=shell)
    deadline = time.monotonic() + 100
    while not ((folder / "pid").is_file() and (folder / "pid").read_text()) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.1)
    pid = int((folder / "pid").read_text())
    code, output = drive(folder)  # a second runner at the same time
    assert code == 1 and re.search(r"blocked by: \(PID \d+\): |It is held by process \d+ \(", output), output
    process.send_signal(signum)
    output = "".join(process.communicate(timeout=60))
    assert process.returncode == (-signum if signum == signal.SIGKILL else 128 + signum), output
    assert "Traceback" not in output
    deadline = time.monotonic() + 15
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not alive(pid)
    (folder / "slow.py").write_text("print('b', file=open('b', 'w'))")
    code, output = drive(folder)
    while "is busy" in output and time.monotonic() < deadline + 30:  # DVC's own process has not ended yet
        time.sleep(1)
        code, output = drive(folder)
    assert code == 0, output


@pytest.mark.dag
def test_it_runs_what_is_out_of_date_in_order_and_nothing_twice(make: Make) -> None:
    folder = make("echo b > b")
    code, output = drive(folder, JOBS="2")
    assert code == 0, output
    assert (folder / "d").read_text() == "b\nc\n"  # which waits for both
    assert re.search(r"^5 of 6 jobs are outdated; 2 at a time$", output, re.MULTILINE)
    assert re.search(r"^a +from a$", output, re.MULTILINE)
    assert re.search(r"^d +done, 5 of 5 jobs$", output, re.MULTILINE)
    assert "git add" not in output and "dvc push" not in output
    assert run(folder, "dvc", "status").strip() == "Data and pipelines are up to date."

    code, output = drive(folder, "nothing")
    assert code == 2 and "no such job: nothing; there are resolve, a, b" in output
    code, output = drive(folder)
    assert code == 0 and output.startswith("everything is up to date\n")

    code, output = drive(folder, "--help")
    assert code == 0 and output.startswith("`dvc repro` with several jobs at a time"), output
    code, output = drive(folder, "--jobs=2")
    assert code == 2 and "no such option: --jobs=2; there are --summary and --help" in output

    (folder / "alone").write_text("of the user's\n")
    code, output = drive(folder)
    assert code == 0 and "warning: these outputs differ from dvc.lock: alone. They will be deleted" in output

    make("echo other > b")
    code, output = drive(folder, "b", "alone", JOBS="2")
    assert code == 0 and "1 of 6 jobs" in output, output
    assert (folder / "d").read_text() == "b\nc\n"
    code, output = drive(folder, JOBS="2")
    assert code == 0 and "1 of 6 jobs" in output, output
    assert (folder / "d").read_text() == "other\nc\n"


@pytest.mark.long
@pytest.mark.dag
def test_after_a_failure_what_runs_may_finish_and_nothing_else_begins(make: Make) -> None:
    folder = make("echo broken; exit 3")
    code, output = drive(folder, JOBS="4")
    assert code == 1
    assert re.search(r"^b +broken$", output, re.MULTILINE)
    assert "failed: b; running jobs have finished" in output
    assert (folder / "c").read_text() == "c\n" and not (folder / "d").exists()
    assert "c" in (folder / "dvc.lock").read_text()  # kept: the next run goes on from here
    assert not re.search(r"^d ", output, re.MULTILINE)

    make("echo b > b")
    code, output = drive(folder)
    assert code == 0 and "2 of 6 jobs" in output, output


SUMMARY = """
import sys, types, pipeline
pipeline.summary = sys.modules["pipeline.summary"] = types.SimpleNamespace(main=lambda: print("in short"))
"""


@pytest.mark.long
@pytest.mark.dag
def test_the_summary_is_printed_in_the_end(make: Make) -> None:
    folder = make("echo b > b")
    code, output = drive(folder, "--summary", before=f"exec({SUMMARY!r})", JOBS="2")
    assert code == 0, output
    assert re.search(r"^d +done, 5 of 5 jobs$", output, re.MULTILINE) and results(output)[-1] == "in short"
    code, output = drive(folder, "--summary", before=f"exec({SUMMARY!r})")
    assert code == 0 and results(output)[-2:] == ["everything is up to date", "in short"]
    make("exit 3")
    code, output = drive(folder, "--summary", before=f"exec({SUMMARY!r})")
    assert code == 1 and "failed: b" in output and "in short" not in output


def results(output: str) -> list[str]:
    """The lines without those about progress, which a slow machine prints."""
    return [line for line in output.splitlines() if not line.startswith("…")]


@pytest.mark.dag
def test_wrong_settings_stop_it_before_it_begins(make: Make) -> None:
    folder = make("echo b > b")
    file = folder / "dvc.yaml"
    file.write_text(file.read_text().replace("echo settings > resolved", "echo '2 problems'; exit 2"))
    code, output = drive(folder)
    assert code == 1 and "2 problems" in output and "Traceback" not in output
    assert not (folder / "a").exists()


def test_how_many_jobs_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOBS", raising=False)
    monkeypatch.setattr(resources, "processors", lambda: 8)
    monkeypatch.setattr(resources.os, "sysconf", lambda _: 2**20)  # type: ignore[attr-defined]  # 1 TiB: pages times their size
    assert [resources.jobs_at_once(number) for number in (1, 2, 3, 16)] == [8, 4, 2, 1]
    monkeypatch.setattr(resources.os, "sysconf", lambda _: 2**16)  # type: ignore[attr-defined]  # 4 GiB
    assert resources.jobs_at_once(1) == 4
    monkeypatch.setenv("JOBS", "3")
    assert resources.jobs_at_once(16) == 3
    for wrong in ("0", "many", "-1"):
        monkeypatch.setenv("JOBS", wrong)
        with pytest.raises(InputError, match="JOBS"):
            resources.jobs_at_once(1)


def test_a_project_that_cannot_be_written_to_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system", ".dvc/tmp/rwlock.lock")

    monkeypatch.setattr("dvc.repo.Repo.reproduce", refuse)
    with pytest.raises(
        SystemExit, match=r"parallel: \.dvc/tmp/rwlock\.lock: cannot be written \(read-only file system\)"
    ):
        parallel.find_jobs()
