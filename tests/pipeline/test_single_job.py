"""One job through DVC: a signal while DVC writes dvc.lock leaves a whole file; a stage ends with DVC from the first."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline import ROOT
from pipeline.tracking.processes import started

WRITER = """
import os, signal, sys, time, types
from pipeline import single

def dvc(_):
    with open("dvc.lock", "w") as file:
        file.write("half ")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.25)  # the signal is tried again, and waits again
        file.write("whole")
    time.sleep(20)

sys.modules["dvc.cli"] = types.SimpleNamespace(main=dvc)
single.main("job", str(os.getppid()), sys.argv[1])
"""


def test_dvc_lock_is_written_whole_before_the_end(tmp_path: Path) -> None:
    code = subprocess.run([sys.executable, "-c", WRITER, str(tmp_path)], check=False, timeout=15).returncode
    assert (tmp_path / "dvc.lock").read_text() == "half whole" and code == 128 + signal.SIGTERM


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
