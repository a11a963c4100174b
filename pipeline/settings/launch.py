"""The other processes of a training on this machine (`training.devices`): each runs the stage's job as this one does.

Lightning would start them during the training with the command line of this process. In a sweep that is the command
line of the whole sweep, and in a job of Slurm or joblib it is theirs. So they are started here, before anything is
read, with the settings of this job as a resolved file. They only train; this process has number 0 and does everything
else. If torchrun or srun has started the processes already, there is nothing to do.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped]

from langladder.ground.errors import InputError
from langladder.ground.ranks import Ranks, part, ranks
from langladder.ground.schema import Config
from pipeline import ROOT
from pipeline.settings import plan
from pipeline.settings.schema import FamilyJob
from pipeline.settings.yaml_files import Values, for_hydra
from pipeline.tracking.processes import DVC_STAGE, RUNNER, end_with

if TYPE_CHECKING:
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    from langladder.tasks.optimisation import TrainingConfig

STARTER = "LANGLADDER_STARTED_BY"
LOOPBACK = {"linux": "lo", "darwin": "lo0"}
END = 60.0
"""Seconds for a process to end after the training has ended or another process has failed."""

Process = subprocess.Popen[bytes]


@contextmanager
def others(stage: str, rung: str, values: Values, settings: Config) -> Iterator[None]:
    """Start the processes if the job's rung needs several, and end them.

    Args:
        values: the job's plain settings, as in a resolved file; settings: the same, checked.

    Raises:
        InputError: this machine has fewer GPUs; or several machines, and the processes were not started.
    """
    training = _training(stage, settings)
    if training is None or training.devices * training.nodes == 1 or ranks().size > 1:
        yield
        return
    if training.nodes > 1:
        raise InputError(
            f"training.nodes={training.nodes}: a stage only starts processes on its own machine; start them with "
            "torchrun or srun (docs/gpu-and-cluster.md), or set training.nodes to 1"
        )
    from langladder.tasks.devices import check_devices

    count = training.devices
    check_devices(training, Ranks(size=count, local_size=count))
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="langladder-") as folder:
        _write(Path(folder), stage, rung, values)
        store = _rendezvous(count)
        started = [_start(Path(folder), stage, rung, number) for number in range(1, count)]
        over = threading.Event()
        threading.Thread(target=_monitor, args=(started, Path(folder), over), daemon=True).start()
        try:
            yield
            _wait(started)
        finally:
            over.set()
            for process in started:
                process.kill()
                process.wait()
            part()
            del store
            os.environ.clear()
            os.environ |= before


def _training(stage: str, settings: Config) -> "TrainingConfig | None":
    """The training settings of the job's rung; None if the stage does not train by gradient."""
    known = plan.stages().get(stage)
    if known is None or not known.makes:
        return None
    return getattr(settings.rung, "training", None) if isinstance(settings, FamilyJob) else None


def _write(folder: Path, stage: str, rung: str, values: Values) -> None:
    from pipeline.resolve import HYDRA

    job = {"_job_": f"resolved/{stage}/{rung}.yaml"} | HYDRA | dict(values)
    (folder / f"{rung}.yaml").write_text(for_hydra(job), encoding="utf-8")


def _rendezvous(count: int) -> "TCPStore":
    """A key store on a free port, where the processes find each other, and the environment variables for it."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore("127.0.0.1", 0, None, is_master=True, wait_for_workers=False)
    own = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    os.environ |= own | where
    if sys.platform in LOOPBACK:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK[sys.platform])
    return store


def _start(folder: Path, stage: str, rung: str, number: int) -> Process:
    command = [sys.executable, "-m", *plan.stages()[stage].command, "-cd", str(folder), "-cn", rung]
    own = {"RANK": str(number), "LOCAL_RANK": str(number), STARTER: str(os.getpid())}
    with _error_file(folder, number).open("wb") as errors:
        return subprocess.Popen(command, cwd=ROOT, env=os.environ | own, stdout=subprocess.DEVNULL, stderr=errors)


def _error_file(folder: Path, number: int) -> Path:
    return folder / f"{number}.txt"


def _wait(started: list[Process]) -> None:
    until = time.monotonic() + END
    for process in started:
        try:
            process.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()


def _monitor(started: list[Process], folder: Path, over: threading.Event) -> None:
    """Report why a process has died. The others, which might wait for it forever, are ended."""
    while not over.wait(1.0):
        for number, process in enumerate(started, start=1):
            if process.poll():
                errors = _error_file(folder, number).read_text(encoding="utf-8", errors="replace").strip().splitlines()
                last = "; ".join(errors[-3:]) or "no word"
                print(f"process {number} of the training ended with {process.returncode}: {last}", file=sys.stderr)
                if not over.wait(END):
                    for entry in started:
                        entry.kill()
                    os._exit(1)
                return


def end_with_starter() -> None:
    """In a process that DVC or another process of the training has started: end when the parent has died."""
    starter = int(os.environ.get(STARTER) or 0)
    if starter and ranks().rank:
        end_with(starter)
    elif DVC_STAGE in os.environ:
        above, runner = _up_to_dvc(), int(os.environ.get(RUNNER) or 0)
        if runner and runner not in above:  # it was killed before this process could look
            sys.exit(128 + signal.SIGTERM)
        end_with(*above)


def _up_to_dvc() -> list[int]:
    """The process numbers of this process's parents up to DVC; a shell can be among them.

    DVC sets DVC_STAGE for the shell, which passes it on to this process; DVC's own process does not have it.
    """
    numbers = []
    for process in psutil.Process().parents():
        numbers.append(process.pid)
        with suppress(psutil.Error):  # another user's process: not a shell of this stage
            if DVC_STAGE in process.environ():
                continue
        break
    return numbers
