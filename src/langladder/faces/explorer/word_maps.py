"""Maps of words: computed once, in the background, and cached; requests get the progress meanwhile.

PCA takes part of a second and runs here; t-SNE and UMAP take up to a minute and run in their own process, one at a
time, so that they do not block the server and their memory is freed. The points are those of `langladder map`.

    python -m langladder.faces.explorer.word_maps METHOD FOLDER

is that process: it reads `rows.safetensors` of the folder, (W, D) vectors, prints its progress and writes
`points.safetensors`, (W, 2).
"""

import hashlib
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.evaluation.maps import ITERATIONS, MapMethod, WordMap, check_method, word_map
from langladder.faces.http.server import Json
from langladder.ground import artefacts
from langladder.ground.errors import InputError

MOST_WORDS = 5000
MOST_NUMBERS = 2 * 10**7  # words × dimensions: more would take minutes, and gigabytes
KEPT = 24  # maps
PATIENCE = 25.0  # seconds that one answer lasts; then the client sends its request again
_ITERATION = re.compile(r"Iteration (\d+)")


@dataclass
class Job:
    """A map that is being computed.

    Attributes:
        share: progress from 0 to 1. doing: the current step, in words.
    """

    words: list[str]
    share: float = 0.0
    doing: str = "waiting for its turn"
    result: WordMap | None = None
    error: str | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)

    def update(
        self,
        doing: str | None = None,
        share: float | None = None,
        result: WordMap | None = None,
        error: str | None = None,
    ) -> None:
        """Change the state, and notify waiting requests."""
        with self.changed:
            self.doing = self.doing if doing is None else doing
            self.share = self.share if share is None else share
            self.result, self.error = result, error
            self.changed.notify_all()

    @property
    def over(self) -> bool:
        """Whether the map is complete or has failed."""
        return self.result is not None or self.error is not None


class Maps:
    """All maps of a server."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def job(self, vectors: WordVectors, count: int, method: MapMethod) -> Job:
        """The map of the most frequent words, started if it is not there yet.

        Raises:
            InputError: the map is too large, or needs a package that is not installed.
        """
        check_method(method)
        words = vectors.words[: min(count, MOST_WORDS)]
        width = int(vectors.matrix.shape[1])
        if len(words) * width > MOST_NUMBERS:
            most = f"{MOST_NUMBERS // width:,} words at most"
            raise InputError(f"count: {len(words):,} words of {width:,} dimensions are too much for a map; {most}")
        rows = vectors.dense(np.arange(len(words))) if vectors.is_sparse else vectors.matrix[: len(words)]  # (W, D)
        rows = np.ascontiguousarray(rows)
        key = hashlib.sha256(f"{method} {rows.shape} {words}".encode() + rows.tobytes()).hexdigest()
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.error is not None:
                job = self._jobs[key] = Job(words)
                threading.Thread(target=self._compute, args=(job, rows, method), daemon=True).start()
            self._jobs.move_to_end(key)
            for old in [old for old, other in self._jobs.items() if other.over][: max(0, len(self._jobs) - KEPT)]:
                del self._jobs[old]
        return job

    def _compute(self, job: Job, rows: np.ndarray, method: MapMethod) -> None:
        try:
            if method == "pca":
                job.update("principal components")
                job.update(result=word_map(WordVectors(job.words, rows), job.words, "pca"))
                return
            with self._turn:
                job.update(result=WordMap(job.words, _in_a_process(job, rows, method)))
        except InputError as error:
            job.update(error=str(error))
        except Exception as error:
            job.update(error=f"the map could not be made ({type(error).__name__}); try again, or with fewer words")


def _in_a_process(job: Job, rows: np.ndarray, method: MapMethod) -> np.ndarray:
    """Points from its own process, (W, 2)."""
    job.update("starting")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        artefacts.write_arrays(folder / "rows.safetensors", {"rows": rows})
        path = os.pathsep.join(filter(None, sys.path))
        settings = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "langladder.faces.explorer.word_maps", method, temporary]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=settings
        ) as child:
            assert child.stdout is not None
            for line in child.stdout:
                if match := _ITERATION.search(line):
                    done = int(match[1])
                    job.update(f"iteration {done} of {ITERATIONS}", share=done / ITERATIONS)
                elif "[t-SNE]" in line and not job.share:
                    job.update("looking for neighbours")
        if child.returncode:
            raise InputError(f"the map by {method} could not be made (its process ended with {child.returncode})")
        return artefacts.read_arrays(folder / "points.safetensors")["points"]


def events(job: Job, patience: float = PATIENCE) -> Iterator[Json]:
    """The progress of a map, and at the end the map; {"again": true} if `patience` ends before that.

    Raises:
        InputError: it could not be made.
    """
    until, sent = time.monotonic() + patience, ("", -1.0)
    while not job.over and time.monotonic() < until:
        if sent != (job.doing, job.share):
            sent = (job.doing, job.share)
            yield {"said": job.doing, "share": round(job.share, 3)}
        with job.changed:
            if not job.over and sent == (job.doing, job.share):
                job.changed.wait(1)
    if job.error is not None:
        raise InputError(job.error)
    yield {"again": True} if job.result is None else _as_json(job.result)


def _as_json(result: WordMap) -> Json:
    """Points between −1 and 1, with one scale for both axes."""
    points = result.points
    if len(points):
        points = points - (points.max(axis=0) + points.min(axis=0)) / 2
        points /= float(np.abs(points).max()) or 1.0
    x, y = points.round(4).T.tolist()
    explained = None if result.explained is None else round(result.explained, 4)
    return {"words": result.words, "x": x, "y": y, "explained": explained}


def place_words(method: MapMethod, folder: Path) -> None:
    """The main function of that process."""
    rows = artefacts.read_arrays(folder / "rows.safetensors")["rows"]
    words = [str(row) for row in range(len(rows))]
    result = word_map(WordVectors(words, rows), words, method, verbose=True)
    artefacts.write_arrays(folder / "points.safetensors", {"points": result.points})


if __name__ == "__main__":
    place_words(cast(MapMethod, sys.argv[1]), Path(sys.argv[2]))
