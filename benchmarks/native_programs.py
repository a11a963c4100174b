"""GloVe's C programs and KenLM's, run beside ours: processor seconds of each, of all its threads.

`--glove-c` names the folder of `vocab_count`, `cooccur`, `shuffle` and `glove` (github.com/stanfordnlp/GloVe: `make`),
`--kenlm` that of `lmplz`, `build_binary` and `query` (github.com/kpu/kenlm: `cmake`, `make`); the PyPI packages
`crucyble` and `kenlm` hold the sources of both.
"""

import resource
import subprocess
from itertools import pairwise
from pathlib import Path

import click
import numpy as np

glove_c = click.option("--glove-c", type=click.Path(path_type=Path, exists=True), help="Folder of GloVe's C programs.")
kenlm = click.option("--kenlm", type=click.Path(path_type=Path, exists=True), help="Folder of KenLM's programs.")


def run(command: list[str | Path], source: Path | None = None, target: Path | None = None) -> float:
    """Processor seconds of a program; what it says of its work is dropped."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with (source or Path("/dev/null")).open("rb") as stdin, (target or Path("/dev/null")).open("wb") as stdout:
        code = subprocess.run(command, stdin=stdin, stdout=stdout, stderr=subprocess.DEVNULL, check=False).returncode
    if code != 0:  # below 0: ended by a signal
        raise click.ClickException(f"{command[0]} ended with code {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def write_lines(path: Path, ids: np.ndarray, offsets: np.ndarray, words: list[str]) -> None:
    """The text that the programs read: the same words, line by line."""
    names = np.array(words, dtype=object)
    with path.open("w", encoding="utf-8") as file:
        for begin, end in pairwise(offsets):
            file.write(" ".join(names[ids[begin:end]]) + "\n")


def glove_counting(programs: Path, folder: Path, window: int, min_count: int) -> dict[str, float]:
    """Processor seconds from `text.txt` in the folder to `shuffled.bin`, as GloVe's demo.sh goes."""
    text, vocabulary, pairs = folder / "text.txt", folder / "vocab.txt", folder / "pairs.bin"
    count: list[str | Path] = [programs / "vocab_count", "-min-count", str(min_count), "-verbose", "0"]
    rest = ["-memory", "4", "-verbose", "0"]
    more = ["-vocab-file", vocabulary, "-window-size", str(window), "-overflow-file", folder / "overflow"]
    return {
        "vocab_count": run(count, text, vocabulary),
        "cooccur": run([programs / "cooccur", *rest, *more], text, pairs),
        "shuffle": run(
            [programs / "shuffle", "-memory", "2", "-verbose", "0", "-temp-file", folder / "temporary"],
            pairs,
            folder / "shuffled.bin",
        ),
    }


def glove_iterations(programs: Path, folder: Path, dim: int, threads: int, iterations: int) -> float:
    """Processor seconds of so many iterations, start and end included."""
    command: list[str | Path] = [programs / "glove", "-input-file", folder / "shuffled.bin"]
    command += ["-vocab-file", folder / "vocab.txt", "-save-file", folder / "vectors", "-verbose", "0"]
    command += ["-x-max", "100", "-vector-size", str(dim), "-threads", str(threads)]
    return run([*command, "-iter", str(iterations)])
