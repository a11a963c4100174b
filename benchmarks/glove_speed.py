"""GloVe's training: pairs a second, and the cost reached, against a serial run in one random order.

    python benchmarks/glove_speed.py

The serial reference is the C program's procedure: all pairs shuffled once, one thread, one step a pair, through the
same arithmetic. With `--glove-c` the C programs themselves run beside it, from the text to one iteration, and
processor seconds are told: counting (ours from word ids, theirs from text) and training apart.
"""

import json
import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import click
import numpy as np
from counting_speed import QUOTED
from native_programs import glove_c, glove_counting, glove_iterations, write_lines
from public_data import data
from rich.console import Console
from rich.table import Table
from scipy.sparse import csr_matrix
from wiki_words import word_ids

from langladder.counts.cooccurrence import CooccurrenceConfig, count_cooccurrence
from langladder.embeddings.glove import cost, initial_parameters, train_epoch, training_pairs
from langladder.ground.artefacts import write_text
from langladder.kernels.glove import Pairs

TIMES = 3
C_PAIRS_PER_SECOND = 1.95e6  # quoted: one training iteration, 100 dimensions, 2 threads


def shuffled(pairs: Pairs, seed: int) -> Pairs:
    """The same pairs in one random order."""
    order = np.random.default_rng(seed).permutation(len(pairs.rows))
    return Pairs(*(array[order] for array in pairs))


def train(
    side: str, counts: csr_matrix, pairs: Pairs, dim: int, epochs: int, threads: int, seed: int
) -> dict[str, Any]:
    """One run: median seconds of an epoch, online and final cost (½ J a pair)."""
    parameters = initial_parameters(counts.shape[0], dim, biases=True, seed=seed)
    wall, processor = [], []
    for _ in range(epochs):
        started = time.perf_counter(), time.process_time()
        online = train_epoch(parameters, pairs, learning_rate=0.05, biases=True, threads=threads)
        wall.append(time.perf_counter() - started[0])
        processor.append(time.process_time() - started[1])
    final = cost(parameters, pairs) / 2 / len(pairs.rows)
    times = {"seconds": median(wall), "processor": median(processor)}
    return {"side": side, "seed": seed, "threads": threads, **times, "online_cost": online, "final_cost": final}


def beside(programs: Path, ids: np.ndarray, offsets: np.ndarray, words: list[str], dim: int) -> str:
    """Counting, order and one iteration; least processor seconds and their ratios.

    Each does its work several times without a pause: a virtual machine gives back what memory stands idle, and touching
    it again costs whoever comes first a second a gigabyte.
    """
    config = CooccurrenceConfig(window=10, weighting="inverse_distance")
    least: dict[str, float] = {}

    def note(what: str, seconds: float) -> None:
        least[what] = min(seconds, least.get(what, seconds))

    def ours(what: str, work: Callable[[], Any]) -> Any:
        started = time.process_time()
        result = work()
        note(what, time.process_time() - started)
        return result

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "text.txt", ids, offsets, words)
        for _ in range(TIMES):
            for program, seconds in glove_counting(programs, folder, 10, 1).items():
                note(program, seconds)
        for iterations in (1, 2) * TIMES:
            note(f"iterations: {iterations}", glove_iterations(programs, folder, dim, 1, iterations))
        for _ in range(TIMES):
            counts = ours("our counting", lambda: count_cooccurrence(ids, offsets, len(words), config, threads=1))
        for _ in range(TIMES):
            pairs = ours("our order", partial(training_pairs, counts, x_max=100, alpha=0.75, seed=1))
        parameters = initial_parameters(len(words), dim, biases=True, seed=1)
        for _ in range(TIMES):
            ours("our iteration", partial(train_epoch, parameters, pairs, learning_rate=0.05, biases=True))
    ratios = {
        "vocab_count + cooccur": (least["vocab_count"] + least["cooccur"]) / least["our counting"],
        "vocab_count + cooccur + shuffle": (least["vocab_count"] + least["cooccur"] + least["shuffle"])
        / (least["our counting"] + least["our order"]),
        # of two less those of one: neither start nor end count
        "iteration": (least["iterations: 2"] - least["iterations: 1"]) / least["our iteration"],
    }
    seconds = ", ".join(f"{what} {value:.2f}" for what, value in least.items())
    return f"Processor seconds: {seconds}\nRatios: " + ", ".join(f"{k} {v:.1f} ×" for k, v in ratios.items())


@click.command()
@data
@click.option("--min-count", default=5, show_default=True)
@click.option("--max-words", type=int, help="Only the most frequent words: a shorter run.")
@click.option("--dim", default=100, show_default=True)
@click.option("--epochs", default=5, show_default=True)
@click.option("--seeds", default=3, show_default=True, help="Medians of so many runs.")
@glove_c
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the rows here too.")
def main(
    data: Path,
    min_count: int,
    max_words: int | None,
    dim: int,
    epochs: int,
    seeds: int,
    glove_c: Path | None,
    json_path: Path | None,
) -> None:
    """Measure and print."""
    ids, offsets, words = word_ids(data, min_count)
    size = min(len(words), max_words or len(words))
    kept = np.concatenate([[0], np.cumsum(ids < size)])
    config = CooccurrenceConfig(window=10, weighting="inverse_distance")
    counts = count_cooccurrence(ids[ids < size], kept[offsets], size, config)
    if glove_c:
        Console().print(beside(glove_c, ids[ids < size], kept[offsets], words[:size], dim))
    rows = []
    for seed in range(seeds):
        started = time.perf_counter()
        pairs = training_pairs(counts, x_max=100, alpha=0.75, seed=seed)
        ordering = time.perf_counter() - started
        for threads in sorted({1, min(2, os.cpu_count() or 1)}):
            side = f"langladder, {threads} thread{'s' * (threads > 1)}"
            rows.append(train(side, counts, pairs, dim, epochs, threads, seed) | {"ordering_seconds": ordering})
        rows.append(train("serial, one random order", counts, shuffled(pairs, seed), dim, epochs, 1, seed))

    table = Table(title=f"GloVe, {counts.nnz:,} pairs, {size:,} words, dimension {dim}; medians of {seeds} seeds")
    columns = ("side", "s/epoch", "M pairs/s", "M pairs/processor s", "× C (quoted)", "cost, online", "cost after")
    for column in columns:
        table.add_column(column, justify="left" if column == "side" else "right")
    for side in dict.fromkeys(row["side"] for row in rows):
        runs = [row for row in rows if row["side"] == side]
        seconds, processor = (median(run[key] for run in runs) for key in ("seconds", "processor"))
        costs = [f"{median(run[key] for run in runs):.6f}" for key in ("online_cost", "final_cost")]
        speeds = [counts.nnz / seconds / 1e6, counts.nnz / processor / 1e6, counts.nnz / seconds / C_PAIRS_PER_SECOND]
        table.add_row(side, f"{seconds:.2f}", *(f"{speed:.2f}" for speed in speeds), *costs)
    spread = np.std([run["final_cost"] for run in rows if run["side"].startswith("serial")])
    note = f"Costs are ½ J a pair after {epochs} epochs; the serial run's spread over seeds is {spread:.6f}."
    quoted = f"C program, quoted: {C_PAIRS_PER_SECOND / 1e6:.2f} M pairs/s an iteration. {QUOTED}"
    Console().print(table, note, quoted, sep="\n")
    if json_path:
        write_text(json_path, json.dumps({"pairs": counts.nnz, "words": size, "runs": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
