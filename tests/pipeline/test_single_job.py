"""One job through DVC: a signal leaves the records that DVC writes whole; a stage ends with DVC from the first."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline import ROOT
from pipeline.tracking.processes import started

WRITES = """
import signal, time
from dvc.stage import cache
from pipeline import single

signal.signal(signal.SIGTERM, single._end)
signal.signal(signal.SIGALRM, single._end)
source = "signal.raise_signal(signal.SIGTERM); time.sleep(0.3); print('written', flush=True)"
exec(compile(source, FILE, "exec"))
time.sleep(10)
print("not ended")
"""


@pytest.mark.parametrize(("file", "output"), [("cache.__file__", "written\n"), ("time.__name__", "")])
def test_a_signal_ends_dvc_only_after_it_has_written_its_records(file: str, output: str) -> None:
    """An empty folder in its cache of runs, for example, is an error in every later run."""
    code = WRITES.replace("FILE", file)
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (128 + signal.SIGTERM, output), ended.stderr


SLOW_TO_BEGIN = """
import os, time
from pathlib import Path
Path("pid").write_text(str(os.getpid()))
time.sleep(2)  # Python loads the modules of a stage
from pipeline.settings.launch import end_with_starter
end_with_starter()
Path("went_on").touch()
time.sleep(30)
"""


@pytest.mark.long
@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
def test_a_stage_whose_dvc_was_killed_before_it_could_look_ends(tmp_path: Path, shell: str) -> None:
    (tmp_path / "slow.py").write_text(SLOW_TO_BEGIN)
    (tmp_path / "dvc.yaml").write_text("stages: {slow: {cmd: python slow.py, outs: [went_on]}}\n")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {"SHELL": shell, "PATH": path, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    environment = os.environ | own | {"DVC_NO_ANALYTICS": "1"}
    subprocess.run(["dvc", "init", "-q", "--no-scm"], cwd=tmp_path, env=environment, check=True)
    command = [sys.executable, "-m", "pipeline.single", "slow", str(os.getpid()), str(tmp_path)]
    dvc = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not ((tmp_path / "pid").is_file() and (tmp_path / "pid").read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    dvc.kill()
    dvc.wait()
    stage = int((tmp_path / "pid").read_text())
    while started(stage) is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert started(stage) is None and not (tmp_path / "went_on").exists()
