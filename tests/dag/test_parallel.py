"""Several jobs at once: the order respects what waits for what, and a failure stops what has not begun.

Jobs are shell commands of a small DVC project here; what the real ones make in parallel is compared in
`test_dag.py`.
"""

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
from pipeline import ROOT, warm
from pipeline.provenance import processes
from pipeline.settings import threads

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

    def made(command: str) -> Path:
        (tmp_path / "dvc.yaml").write_text(STAGES.replace("COMMAND", command))
        if not (tmp_path / ".dvc").exists():
            run(tmp_path, "dvc", "init", "-q", "--no-scm")
        return tmp_path

    return made


def drive(folder: Path, *targets: str, before: str = "pass", **environment: str) -> tuple[int, str]:
    """Exit code and output of the runner on the project in `folder`; `before`: what changes the runner first."""
    process = start(folder, *targets, before=before, **environment)
    output, errors = process.communicate()
    return process.returncode, output + errors


def start(folder: Path, *targets: str, before: str = "pass", **environment: str) -> subprocess.Popen[str]:
    """The runner's process."""
    script = (
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
from pipeline.settings.launch import watch_starter
watch_starter()
Path("pid").write_text(str(os.getpid()))
time.sleep(100)
"""


def alive(pid: int) -> bool:
    return processes.started(pid) is not None


@pytest.mark.dag
@pytest.mark.parametrize(
    ("signum", "cold", "shell"),
    [
        (signal.SIGTERM, "", "/bin/bash"),
        (signal.SIGKILL, "", "/bin/sh"),
        (signal.SIGINT, "", "/bin/sh"),
        (signal.SIGKILL, "1", "/bin/bash"),
        (signal.SIGKILL, "1", "/bin/sh"),
    ],
)
def test_jobs_end_with_the_runner_however_it_ends(make: Make, signum: int, cold: str, shell: str) -> None:
    """Also where the signal goes to the runner alone, as of `kill` or systemd; DVC's lock is free then.

    Between DVC and its stage stands a shell, unless it has put the stage into its own place, as bash does.
    """
    folder = make("python slow.py")
    (folder / "slow.py").write_text(SLOW_STAGE)
    process = start(folder, LANGLADDER_COLD=cold, SHELL=shell)
    deadline = time.monotonic() + 100
    while not ((folder / "pid").is_file() and (folder / "pid").read_text()) and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.1)
    pid = int((folder / "pid").read_text())
    code, output = drive(folder)  # a second runner at the same time
    assert code == 1 and re.search(r"blocked by: \(PID \d+\): |It is held by process \d+ \(", output), output
    process.send_signal(signum)
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == (-signum if signum == signal.SIGKILL else 128 + signum), said
    assert "Traceback" not in said
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
def test_it_runs_what_is_out_of_date_in_an_order_that_serves_and_nothing_twice(make: Make) -> None:
    folder = make("echo b > b")
    code, output = drive(folder, JOBS="2")
    assert code == 0, output
    assert (folder / "d").read_text() == "b\nc\n"  # which waits for both
    said = r"^5 of 6 jobs are out of date; 2 at a time, at most about \d+ min \(.*\) on (\d+|one) processors?$"
    assert re.search(said, output, re.MULTILINE)
    assert re.search(r"^a +from a$", output, re.MULTILINE)
    assert re.search(r"^d +done, 5 of 5 jobs$", output, re.MULTILINE)
    assert "git add" not in output and "dvc push" not in output
    assert run(folder, "dvc", "status").strip() == "Data and pipelines are up to date."

    code, output = drive(folder, "nothing")
    assert code == 2 and "no such job: nothing; there are resolve, a, b" in output
    code, output = drive(folder)
    assert code == 0 and output.startswith("everything is up to date\n")

    code, output = drive(folder, "--help")
    assert code == 0 and output.startswith("`dvc repro` with several jobs at once"), output
    code, output = drive(folder, "--jobs=2")
    assert code == 2 and "no such option: --jobs=2; there are --summary and --help" in output

    (folder / "alone").write_text("of the user's\n")
    code, output = drive(folder)
    assert code == 0 and "warning: no longer what dvc.lock says: alone. They are removed and made anew" in output

    make("echo other > b")
    code, output = drive(folder, "b", "alone", JOBS="2")
    assert code == 0 and "1 of 6 jobs" in output, output
    assert (folder / "d").read_text() == "b\nc\n"
    code, output = drive(folder, JOBS="2")
    assert code == 0 and "1 of 6 jobs" in output, output
    assert (folder / "d").read_text() == "other\nc\n"


@pytest.mark.dag
def test_after_a_failure_what_runs_may_finish_and_nothing_else_begins(make: Make) -> None:
    folder = make("echo broken; exit 3")
    code, output = drive(folder, JOBS="4")
    assert code == 1
    assert re.search(r"^b +broken$", output, re.MULTILINE)
    assert "failed: b; what was running has finished" in output
    assert (folder / "c").read_text() == "c\n" and not (folder / "d").exists()
    assert "c" in (folder / "dvc.lock").read_text()  # kept: the next run goes on from here
    assert not re.search(r"^d ", output, re.MULTILINE)

    make("echo b > b")
    code, output = drive(folder)
    assert code == 0 and "2 of 6 jobs" in output, output


SUMMARY = """
import sys, types
from threading import current_thread, main_thread
beside = []
def prepare():
    beside.append("beside" if current_thread() is not main_thread() else "before")
    raise KeyError
sys.modules["pipeline.summary"] = types.SimpleNamespace(prepare=prepare, main=lambda: print("in short,", *beside))
"""


@pytest.mark.dag
def test_the_summary_is_loaded_beside_the_last_job_and_said_in_the_end(make: Make) -> None:
    folder = make("echo b > b")
    code, output = drive(folder, "--summary", before=f"exec({SUMMARY!r})", JOBS="2")
    assert code == 0, output
    assert re.search(r"^d +done, 5 of 5 jobs$", output, re.MULTILINE) and results(output)[-1] == "in short, beside"
    code, output = drive(folder, "--summary", before=f"exec({SUMMARY!r})")
    assert code == 0 and results(output)[-2:] == ["everything is up to date", "in short,"]
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
    monkeypatch.setattr(threads, "processors", lambda: 8)
    monkeypatch.setattr(threads.os, "sysconf", lambda _: 2**20)  # type: ignore[attr-defined]  # 1 TiB: pages times their size
    assert [threads.jobs_at_once(number) for number in (1, 2, 3, 16)] == [8, 4, 2, 1]
    monkeypatch.setattr(threads.os, "sysconf", lambda _: 2**16)  # type: ignore[attr-defined]  # 4 GiB
    assert threads.jobs_at_once(1) == 4
    monkeypatch.setenv("JOBS", "3")
    assert threads.jobs_at_once(16) == 3
    for wrong in ("0", "many", "-1"):
        monkeypatch.setenv("JOBS", wrong)
        with pytest.raises(InputError, match="JOBS"):
            threads.jobs_at_once(1)


OURS = """
stages:
  resolve: {cmd: echo settings > resolved, outs: [resolved]}
  uri: {cmd: python -m pipeline.runs uri, deps: [resolved]}
  wrong: {cmd: python -m pipeline.runs nonsense, deps: [resolved, mlflow.txt]}
  shell: {cmd: echo shell > mlflow.txt, deps: [resolved], outs: [mlflow.txt]}
"""


@pytest.mark.dag
@pytest.mark.skipif(not warm.possible(), reason="forks of loaded libraries are not safe here")
def test_a_command_of_ours_runs_in_a_fork_of_a_warm_process_and_fails_as_elsewhere(make: Make) -> None:
    folder = make("")
    (folder / "dvc.yaml").write_text(OURS)
    code, output = drive(folder, JOBS="1", before="p.subprocess = None")  # which would begin them cold
    assert code == 1, output
    assert re.search(r"^uri +sqlite:///.*mlflow\.db$", output, re.MULTILINE)
    assert re.search(r"^shell +done", output, re.MULTILINE)
    assert "python -m pipeline.runs nonsense, exited with 2" in output and "failed: wrong" in output
    assert run(folder, "dvc", "status", "shell", "uri").strip() == "Data and pipelines are up to date."


def test_only_what_means_nothing_to_a_shell_is_kept_from_it() -> None:
    ours = ["python -m pipeline.train_lm -cd resolved/train_lm -cn lstm", "python -m pipeline.resolve"]
    theirs = ["python -m pipeline.report > log", "python -m pipeline.report; rm x", "python report.py", "echo pipeline"]
    theirs += ["python -m pipeline.report $HOME", "python -m pipelines", "FOO=1 python -m pipeline.report"]
    assert [command for command in ours + theirs if warm.COMMAND.fullmatch(command)] == ours
