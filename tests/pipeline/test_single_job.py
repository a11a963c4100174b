"""One job through DVC: a signal that comes while DVC writes dvc.lock leaves a whole file."""

import signal
import subprocess
import sys
from pathlib import Path

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
