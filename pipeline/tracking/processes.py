"""Whether a process is alive: the one that opened a run, the parent; and a lock that ends with its process.

A process is identified by its machine, process namespace and user, its number, and its start time, because numbers are
reused. The state of a process on another host or in another container is unknown.
"""

import fcntl
import hashlib
import os
import platform
import re
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from pipeline.tracking.fingerprint import home


@cache
def namespace() -> str:
    """8 hex digits: the place in which process numbers are unique and all processes are visible."""
    address = uuid.getnode()
    parts = [platform.node(), "" if address >> 40 & 1 else str(address), str(os.getuid())]  # bit 40: made up
    for file in (Path("/etc/machine-id"), Path("/proc/self/ns/pid")):
        try:
            parts.append(str(file.readlink()) if file.is_symlink() and "ns" in file.parts else file.read_text())
        except OSError:
            parts.append("")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:8]


def started(pid: int) -> str | None:
    """When a process was started, independent of changes of the clock; None if there is none."""
    if not Path("/proc/self/stat").is_file():
        listed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return "_".join(listed.stdout.split()) or None
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()[:8]
    return None if state in "ZX" else f"{boot}.{fields[18]}"  # a zombie is dead; ticks from the machine's start


def this_process() -> str:
    """Name of this process, as `is_dead` takes it."""
    return f"{platform.node()} {namespace()} {os.getpid()} {started(os.getpid())}"


def is_dead(process: str) -> bool:
    """Whether a process of the same machine and namespace has ended; False if unknown."""
    parts = process.split()
    return len(parts) == 4 and parts[1] == namespace() and parts[2].isdigit() and started(int(parts[2])) != parts[3]


@contextmanager
def only(fingerprint: str, patience: float = 0.0) -> Iterator[bool]:
    """True while no other process of this checkout works on this fingerprint; any end of the process releases it.

    Args:
        patience: seconds to wait for another process to end, whose parent may have been killed.
    """
    until = time.monotonic() + patience
    file = home() / ".dvc" / "tmp" / "runs.lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a+b") as locks:
        while not (alone := _locked(locks, fingerprint)) and time.monotonic() < until:
            time.sleep(0.5)
        yield alone


def _locked(locks: IO[bytes], fingerprint: str) -> bool:
    try:
        fcntl.lockf(locks, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(fingerprint[:15], 16))  # a byte of its own
    except OSError:  # held by another, or a file system without locks
        return False
    return True


GRACE = 10.0
"""Seconds that a process has to end its run in MLflow after SIGTERM."""


def end_with(*above: int) -> None:
    """End this process, as SIGTERM does, when one of its ancestors has ended.

    Args:
        above: the numbers of its parent, its parent's parent and so on.
    """
    began = [started(pid) for pid in above]
    threading.Thread(target=_end_with, args=(list(above), began), daemon=True).start()


def _end_with(above: list[int], began: list[str | None]) -> None:
    while os.getppid() == above[0] and None not in began and [started(pid) for pid in above[1:]] == began[1:]:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE)
    os._exit(1)


DVC_STAGE = "DVC_STAGE"
"""What DVC sets in the environment of the commands that it runs."""
RUNNER = "LANGLADDER_RUNNER"
"""The environment variable in which `pipeline.single` gives its stage its own process number."""
FORCED = re.compile(r"--force.*|-[a-zA-Z]*f[a-zA-Z]*")


def unrecorded() -> bool:
    """Whether DVC runs this job because it has no record of it, so without `--force`; False if unknown."""
    if DVC_STAGE not in os.environ:
        return False
    import psutil  # type: ignore[import-untyped]

    with suppress(psutil.Error):
        for process in psutil.Process().parents():
            words = process.cmdline()
            if "pipeline.single" in words[:4]:
                return True
            if any(Path(word).name == "dvc" for word in words[:3]):
                return not any(FORCED.fullmatch(word) for word in words)
    return False


REPRO = "LANGLADDER_REPRO"
"""The environment variable in which `pipeline.parallel` gives its jobs the name of its run."""


def repro_name(started: float, number: int) -> str:
    """The common name of the runs of one `make repro` or `dvc repro`: the start time and number of its process."""
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(started))} ({number})"


def repro() -> str:
    """The name of the `make repro` or `dvc repro` that this job belongs to; "" if there is none."""
    if os.environ.get(REPRO) or DVC_STAGE not in os.environ:
        return os.environ.get(REPRO, "")
    import psutil

    with suppress(psutil.Error):
        for process in psutil.Process().parents():
            if any(Path(word).name == "dvc" for word in process.cmdline()[:3]):
                return repro_name(process.create_time(), process.pid)
    return ""
