"""Co-occurrence counting against SciPy and `collections.Counter`, counts compared: pairs a second.

    python benchmarks/counting_speed.py

All sides run here, medians of `--repeats`. SciPy gets all pairs as COO and makes CSR of them, on one thread, as it has
no more; `Counter` counts the first lines only. GloVe's C program cannot be installed everywhere; its figure is quoted.
"""

import json
import os
import time
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from public_data import data
from rich.console import Console
from rich.table import Table
from scipy.sparse import coo_matrix, csr_matrix
from wiki_words import word_ids

from langladder.counts.cooccurrence import CooccurrenceConfig, count_cooccurrence
from langladder.ground.artefacts import write_text

QUOTED = "GloVe C `cooccur` + `shuffle`: 18 s for 22,957,134 non-zeros of 17 M words (quoted, 2 threads, not run here)"


def timed(work: Callable[[], Any], repeats: int) -> tuple[Any, float, float]:
    """The result, and medians of seconds by the clock and of the processor (other work may share the machine)."""
    runs = []
    for _ in range(repeats):
        started = time.perf_counter(), time.process_time()
        result = work()
        runs.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    wall, processor = (median(column) for column in zip(*runs, strict=True))
    return result, wall, processor


def scipy_counts(ids: np.ndarray, offsets: np.ndarray, vocab_size: int, window: int) -> csr_matrix:
    """COO → CSR of all pairs, distance by distance, both ways."""
    line = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    rows, columns = [], []
    for distance in range(1, window + 1):
        together = line[distance:] == line[:-distance]
        before, after = ids[:-distance][together], ids[distance:][together]
        rows += [before, after]
        columns += [after, before]
    pairs = np.concatenate(rows), np.concatenate(columns)
    return coo_matrix((np.ones(len(pairs[0])), pairs), shape=(vocab_size, vocab_size)).tocsr()


def counter_counts(ids: np.ndarray, offsets: np.ndarray, window: int) -> Counter[tuple[int, int]]:
    """Plain Python."""
    counts: Counter[tuple[int, int]] = Counter()
    for begin, end in pairwise(offsets):
        line = ids[begin:end].tolist()
        for t, word in enumerate(line):
            counts.update((word, other) for other in line[max(0, t - window) : t] + line[t + 1 : t + window + 1])
    return counts


def compare(ids: np.ndarray, offsets: np.ndarray, size: int, window: int, repeats: int) -> list[dict[str, Any]]:
    """Rows of the table for one window."""
    config = CooccurrenceConfig(window=window)
    theirs, wall, processor = timed(lambda: scipy_counts(ids, offsets, size, window), repeats)
    pairs = int(theirs.sum())
    rows = [{"window": window, "side": "SciPy COO → CSR", "seconds": wall, "processor": processor, "pairs": pairs}]
    for threads in sorted({1, min(2, os.cpu_count() or 1)}):
        run = timed(lambda n=threads: count_cooccurrence(ids, offsets, size, config, threads=n), repeats)  # type: ignore[misc]
        if (run[0] != theirs).nnz:
            raise AssertionError(f"window {window}: the counts differ")
        side = f"langladder, {threads} thread{'s' * (threads > 1)}"
        rows.append({"window": window, "side": side, "seconds": run[1], "processor": run[2], "pairs": pairs})

    lines = int(np.searchsorted(offsets, 100_000))
    small_ids, small = ids[: offsets[lines]], offsets[: lines + 1]
    counter, wall, processor = timed(lambda: counter_counts(small_ids, small, window), 1)
    ours = count_cooccurrence(small_ids, small, size, config)
    coordinates = ours.tocoo()
    found = dict(zip(zip(coordinates.row.tolist(), coordinates.col.tolist(), strict=True), ours.data, strict=True))
    if found != counter:
        raise AssertionError(f"window {window}: the counts of Counter differ")
    total = counter.total()
    rows.append({"window": window, "side": "Counter (a part)", "seconds": wall, "processor": processor, "pairs": total})
    return rows


@click.command()
@data
@click.option("--min-count", default=5, show_default=True)
@click.option("--window", "windows", multiple=True, default=(2, 5, 10), show_default=True, type=int)
@click.option("--repeats", default=3, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the rows here too.")
def main(data: Path, min_count: int, windows: tuple[int, ...], repeats: int, json_path: Path | None) -> None:
    """Measure and print."""
    ids, offsets, words = word_ids(data, min_count)
    count_cooccurrence(ids[:100], np.array([0, 100]), len(words), threads=1)  # compiles
    rows = [row for window in windows for row in compare(ids, offsets, len(words), window, repeats)]
    table = Table(title=f"Counting {len(ids):,} words, {len(words):,} different; counts identical")
    for column in ("window", "side", "seconds", "processor s", "M pairs/s", "× SciPy", "× SciPy, processor"):
        table.add_column(column, justify="left" if column == "side" else "right")
    for row in rows:
        scipy = next(other for other in rows if other["window"] == row["window"])
        row["ratio"] = row["pairs"] / row["seconds"] / (scipy["pairs"] / scipy["seconds"])
        row["processor_ratio"] = row["pairs"] / row["processor"] / (scipy["pairs"] / scipy["processor"])
        figures = (row["seconds"], row["processor"], row["pairs"] / row["seconds"] / 1e6)
        cells = [f"{value:.2f}" for value in (*figures, row["ratio"], row["processor_ratio"])]
        table.add_row(str(row["window"]), row["side"], *cells)
    Console().print(table, QUOTED, sep="\n")
    if json_path:
        write_text(json_path, json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
