"""Shell commands as tasks of a Dask cluster: what `pipeline.parallel` sends out, and a worker's side of it.

A command runs in the project's folder, which all machines share, with the worker's own Python first on its path. Its
lines come back while it runs. It does not outlive its worker: were it to go on, the cluster would begin it a second
time beside itself. A command whose worker is lost runs again on another, which is why it must bear that.
"""

import os
import platform
import subprocess
import sys
import time
import uuid
from collections.abc import Generator, Mapping
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from langladder.ground.errors import InputError

# Runs "$1". When the other end of its input closes (the worker has died, or has done with it), nothing of it is left.
GUARDED = 'exec 3<&0; (read -r _ <&3; kill -KILL 0) >/dev/null 2>&1 & sh -c "$1" </dev/null 3<&-'
LOOK = 0.5  # seconds between two looks whether the task is still wanted
LOST = "the worker was lost; it begins again on another"

Lines = Generator[str, None, int]


def run(client: Any, name: str, command: str, folder: Path, environment: Mapping[str, str], **needs: float) -> Lines:
    """Run a command on a worker; gives its lines as they come and returns its exit code.

    Args:
        client: `distributed.Client`.
        environment: what it finds set, beside the worker's own.
        needs: resources, as workers offer them: gpu=1.
    """
    from distributed.scheduler import KilledWorker

    topic, said, seen = f"{name}-{uuid.uuid4().hex[:8]}", SimpleQueue[Any](), {"": 0}
    client.subscribe_topic(topic, lambda event: said.put(event[1]))
    future = client.submit(
        _run, command, str(folder), dict(environment), topic, key=topic, pure=False, resources=needs or None
    )
    future.add_done_callback(lambda _: said.put(None))
    try:
        while (event := said.get()) is not None:
            attempt, line = event
            if attempt not in seen and len(seen) > 1:
                yield LOST
            seen[attempt] = seen.get(attempt, 0) + 1
            yield line
        attempt, code, lines = future.result()
    except KilledWorker as error:
        yield f"every worker that had it was lost: {str(error)[:200]}"
        return 1
    except InputError as error:
        yield str(error)
        return 2
    finally:
        client.unsubscribe_topic(topic)
        if not future.done():  # the one who asked has gone
            future.cancel()
    yield from lines[seen.get(attempt, 0) :]  # those that are still under way
    return int(code)


def sees(file: str) -> tuple[str, bool]:
    """The name of the machine that this runs on, and whether a file is there."""
    return platform.node(), Path(file).is_file()


def _run(command: str, folder: str, environment: dict[str, str], topic: str) -> tuple[str, int, list[str]]:
    """A worker's call: which attempt it was, the command's exit code, all that it said."""
    from distributed import get_worker

    if not Path(folder).is_dir():
        raise InputError(f"a worker on {platform.node()} does not see {folder}; all must share it (docs/cluster.md)")
    worker, attempt, lines = get_worker(), uuid.uuid4().hex[:8], list[str]()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    process = subprocess.Popen(
        ["sh", "-c", GUARDED, "sh", command],
        cwd=folder,
        env=os.environ | {"PATH": path} | environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )

    def listen(output: IO[str]) -> None:
        for line in map(str.rstrip, output):
            lines.append(line)
            worker.log_event(topic, (attempt, line))

    assert process.stdin and process.stdout
    listener = Thread(target=listen, args=(process.stdout,), daemon=True)
    listener.start()
    while process.poll() is None and _wanted(worker, topic):
        time.sleep(LOOK if lines else LOOK / 5)
    process.stdin.close()  # the end of what it has left, or of all of it
    code = process.wait()
    listener.join(10)
    return attempt, code, lines


def _wanted(worker: Any, key: str) -> bool:
    """Whether the task has not been cancelled, as it is when the one who sent it goes away."""
    task = worker.state.tasks.get(key)
    return task is not None and task.state == "executing"
