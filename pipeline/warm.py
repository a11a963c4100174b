"""Jobs that begin at once: forks of a process that has DVC, and what the stages import, loaded already.

A job of `dvc repro` is a process for DVC and one for the stage: a second or two of imports for the first, another for
a stage's settings, four to six more where it needs torch, Lightning and MLflow. `pipeline.parallel` has two servers,
for stages with rungs and for those of the data (which need no torch, so their memory is their own), that import all
that once and compute nothing. A job is a fork that runs DVC's own `repro --single-item`; the command that DVC runs for
it goes to another fork, made before DVC began, with the command's folder, environment and arguments. What DVC decides,
writes and locks is its own affair. Where forks of loaded libraries are not safe (macOS), or a command is another, it
is as without; LANGLADDER_COLD=1 does without everywhere.
"""

import atexit
import gc
import json
import os
import re
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any, Self, cast

from langladder import placeholders
from langladder.collector import rarely
from pipeline.settings import plan
from pipeline.settings.launch import end_with

COMMAND = re.compile(r"python -m (pipeline\.\w+)( [\w./@=-]+)*")
"""What a fork can run in the shell's place: nothing in it means anything to a shell."""
SINGLE = "--single"
REPRO = ["--wait-for-lock", "repro", "--single-item"]
LIMIT = 1 << 16  # bytes of a request
DVC = ("dvc.commands.repro", "dvc.repo.reproduce", "dvc.stage.cache", "dvc.dependency", "dvc.parsing")
KERNELS = "langladder.kernels.compiled"
TRAINING = ("pipeline.settings.stage", "langladder.tasks.training", "pytorch_lightning", KERNELS)
TRACKING = ("mlflow.store.tracking.sqlalchemy_store", "mlflow.store.artifact.local_artifact_repo", "alembic.command")


class Server:
    """A warm process, started at once and asked later."""

    def __init__(self, folder: Path, modules: list[str]) -> None:
        self._socket, theirs = socket.socketpair()
        self._lock = threading.Lock()
        command = [sys.executable, "-m", "pipeline.warm", str(theirs.fileno()), *modules]
        self._process = subprocess.Popen(command, cwd=folder, pass_fds=[theirs.fileno()])
        theirs.close()

    def run(self, job: str) -> "Job | None":
        """The job's process; None where the server is gone. It ends when this process does."""
        output, written = os.pipe()
        status, told = os.pipe()
        try:
            with self._lock:
                socket.send_fds(self._socket, [json.dumps(job).encode()], [written, told])
                begun = self._socket.recv(16)
        except OSError:
            begun = b""
        finally:
            os.close(written)
            os.close(told)
        if begun:
            return Job(os.fdopen(output, errors="replace"), status, int(begun))
        os.close(output)
        os.close(status)
        return None

    def close(self) -> None:
        """Nothing more will be asked."""
        self._socket.close()
        self._process.wait()


class Servers:
    """The warm processes that some jobs ask for; none where they are not possible."""

    def __init__(self, folder: Path, jobs: Iterable[str]) -> None:
        self._of: dict[str, Server] = {}
        if possible():
            stages = sorted({job.partition("@")[0] for job in jobs})
            rungs = [
                name for name in stages if name == "report" or (name in plan.stages() and plan.stages()[name].family)
            ]
            for some, more in ((rungs, TRAINING + TRACKING), ([name for name in stages if name not in rungs], ())):
                modules = [*DVC, *(f"pipeline.{stage}" for stage in some), *more]
                self._of |= dict.fromkeys(some, Server(folder, modules)) if some else {}

    def begin(self, job: str) -> "Job | None":
        """The process of a job; None where no server has one."""
        server = self._of.get(job.partition("@")[0])
        return server.run(job) if server else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in set(self._of.values()):
            server.close()


class Job:
    """A job under way, to be read like a `Popen`."""

    def __init__(self, stdout: IO[str], status: int, process: int) -> None:
        self.stdout, self._status, self._process = stdout, status, process

    def terminate(self) -> None:
        """End DVC's process, and with it the stage's."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGTERM)

    def wait(self) -> int:
        """Its exit code; 1 where it died without one."""
        self.stdout.close()
        code = os.read(self._status, 16)
        os.close(self._status)
        return int(code or 1)


def possible() -> bool:
    """Whether forks may take the place of processes here: Linux, and `python` is the one that runs this."""
    found = shutil.which("python")
    same = found is not None and Path(found).parent == Path(sys.executable).parent
    return sys.platform == "linux" and same and not os.environ.get("LANGLADDER_COLD")


def fork(run: Callable[[], Any]) -> int:
    """Process number of a fork that runs the function, and ends with the exit code that a program would."""
    sys.stdout.flush()
    sys.stderr.flush()
    if pid := os.fork():
        return pid
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        code = int(run() or 0)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            cast(Any, threading)._shutdown()  # as at the end of a program: its threads end first
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _stage(requests: socket.socket) -> None:
    """What `python -m module arguments` does, when it is asked to."""
    from runpy import run_module

    with requests, requests.makefile() as lines:
        asked = lines.read()
    if not asked:
        return  # there was nothing to run
    command, folder, environment = json.loads(asked)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    _, _, *sys.argv = shlex.split(command)
    sys.modules.pop(sys.argv[0], None)  # loaded for what it imports
    run_module(sys.argv[0], run_name="__main__", alter_sys=True)


def _dvc(job: str, stage: int, requests: socket.socket) -> int:
    """What `dvc repro` does for one job, whose command is left to the process `stage`."""
    from dvc.cli import main
    from dvc.stage import run as runs
    from dvc.stage.exceptions import StageCmdFailedError

    cold: Any = runs._run

    def warm(executable: str | None, command: str, **options: Any) -> None:
        if not COMMAND.fullmatch(command):
            cold(executable, command, **options)
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stage ends by it, and DVC notes that
        try:
            requests.sendall(json.dumps([command, options["cwd"], options["env"]]).encode())
            requests.shutdown(socket.SHUT_WR)
            code = os.waitstatus_to_exitcode(os.waitpid(stage, 0)[1])
        finally:
            signal.signal(signal.SIGINT, before)
        if code:
            raise StageCmdFailedError(command, code)

    runs._run = warm
    sys.argv = ["dvc", *REPRO, job]
    return int(main(sys.argv[1:]))


def _begin(job: str, output: int, status: int, control: socket.socket) -> int:
    """A request, in a fork of the server: its output goes where the asker reads."""
    control.close()
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    ours, theirs = socket.socketpair()

    def stage() -> None:
        ours.close()
        os.close(status)
        _stage(theirs)

    pid = fork(stage)
    theirs.close()
    code, over = 1, threading.Event()
    threading.Thread(target=_end_with_reader, args=(status, over), daemon=True).start()
    try:
        code = _dvc(job, pid, ours)
    finally:
        over.set()
        os.write(status, str(code).encode())
    return code


def _end_with_reader(status: int, over: threading.Event) -> None:
    """End this process when nobody can read its status any more: the asker has died, however that ended."""
    poll = select.poll()
    poll.register(status, 0)  # an error, as where the other end is closed, is always reported
    poll.poll()
    if not over.is_set():
        os._exit(1)


def single(job: str, parent: int, root: str) -> int:
    """What `dvc repro` does for one job of a project, in a process that ends when its parent has died."""
    end_with(parent)
    os.chdir(root)
    from dvc.cli import main

    return int(main([*REPRO, job]))


def serve(control: socket.socket, modules: list[str]) -> None:
    """Import, then fork for every request until the asker is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a job: its status says how it ended
    from pipeline.settings.stage import QUIET

    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    placeholders.put_all()
    with rarely():
        for module in modules:
            with suppress(Exception):  # the job itself says what is wrong
                loaded = import_module(module)
                if module == KERNELS:
                    loaded.prepare()
    gc.freeze()  # in a fork, looking at an object copies the page it lies in
    while True:
        request, files, _, _ = socket.recv_fds(control, LIMIT, 2)
        if not request:
            return
        output, status = files
        pid = fork(lambda: _begin(json.loads(request), output, status, control))  # noqa: B023 - used before the next
        os.close(output)
        os.close(status)
        control.send(str(pid).encode())


if __name__ == "__main__":
    if sys.argv[1] == SINGLE:
        sys.exit(single(sys.argv[2], int(sys.argv[3]), sys.argv[4]))
    serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
