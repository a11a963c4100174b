"""word2vec beside gensim, both in one run on the same text: words per second, and what the vectors are worth.

    python benchmarks/word2vec_speed.py speed                 # interleaved, medians of 3
    python benchmarks/word2vec_speed.py quality --seeds 3     # 5 epochs: analogies, WordSim-353, SimLex-999

Dimension 100, window 5, 5 negatives, minimum count 5, subsampling at 1e-3, the same number of threads. Words are
counted before subsampling, as gensim counts them. gensim's time is that of `train` (its vocabulary is built before)
from lists in memory or from a file, whichever is faster; ours is that of the whole `make`. Compiling the kernels is not
counted.
"""

import json
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import click
import numpy as np
from gensim.models import Word2Vec as Gensim
from public_data import data, find
from rich.console import Console
from rich.table import Table
from wiki_words import word_ids

from langladder.embeddings.base import WordVectors
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.evaluation.analogy import evaluate_analogies
from langladder.evaluation.similarity import evaluate_similarity
from langladder.ground.artefacts import write_text
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

# What is compared: gensim's settings, and ours as in conf/embedding (gensim's default learning rates suit its updates).
METHODS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "skipgram": ({"sg": 1, "negative": 5}, {"architecture": "skipgram", "lr": 0.05}),
    "cbow": ({"sg": 0, "negative": 5}, {"architecture": "cbow", "lr": 0.2, "block": 16, "shared_negatives": 8}),
    "skipgram_hs": ({"sg": 1, "hs": 1, "negative": 0}, {"output": "hierarchical", "lr": 0.05}),
    "cbow_hs": (
        {"sg": 0, "hs": 1, "negative": 0},
        {"architecture": "cbow", "output": "hierarchical", "context_step": "whole", "lr": 0.035},
    ),
}


def read_corpus(data: Path, words: int | None) -> WordCorpus:
    """The text, or its lines up to so many words; words that occur 5 times or more in that part."""
    ids, offsets, names = word_ids(data, 5)
    offsets = offsets if words is None else offsets[offsets <= words]
    ids = ids[: offsets[-1]]
    counts = np.bincount(ids, minlength=len(names))
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] >= 5]
    renumbered = np.full(len(names), -1, dtype=np.int32)
    renumbered[order] = np.arange(len(order), dtype=np.int32)
    kept = renumbered[ids] >= 0
    bounds = np.concatenate([[0], np.cumsum(kept)])[offsets]
    vocabulary = Vocabulary([names[word] for word in order], counts[order].astype(np.int64))
    return WordCorpus(TokenStream(renumbered[ids[kept]], bounds), vocabulary)


def as_lists(corpus: WordCorpus) -> list[list[str]]:
    """The lines as gensim takes them."""
    words, ids = corpus.vocabulary.words, corpus.stream.ids
    return [[words[word] for word in ids[begin:end]] for begin, end in pairwise(corpus.stream.offsets)]


def clocked(work: Any) -> tuple[Any, dict[str, float]]:
    """The result, seconds by the clock, and processor seconds of all threads (other work may share the machine)."""
    started = time.perf_counter(), time.process_time()
    result = work()
    return result, {"seconds": time.perf_counter() - started[0], "processor": time.process_time() - started[1]}


def fit_ours(corpus: WordCorpus, settings: dict[str, Any], epochs: int, threads: int, seed: int) -> WordVectors:
    """Our vectors."""
    config = Word2VecConfig(epochs=epochs, threads=threads, **settings)
    return Word2Vec(config).make(corpus, seed=seed, progress=lambda _: None).vectors


def gensim_model(lines: list[list[str]], settings: dict[str, Any], threads: int, seed: int) -> Any:
    """A gensim model with its vocabulary, not yet trained."""
    model = Gensim(vector_size=100, window=5, min_count=5, sample=1e-3, workers=threads, seed=seed, **settings)
    model.build_vocab(lines)
    return model


def train_gensim(model: Any, lines: list[list[str]], file: Path | None, words: int, epochs: int) -> Any:
    """Train it from lists, or from a file."""
    source = {"corpus_iterable": lines} if file is None else {"corpus_file": str(file)}
    model.train(**source, total_examples=len(lines), total_words=words, epochs=epochs)
    return model


@click.group()
def main() -> None:
    """Compare with gensim."""


def shared_options(command: Any) -> Any:
    """Options of both commands."""
    for option in (
        data,
        click.option("--words", type=int, help="Only so many words of it: a shorter run."),
        click.option("--methods", default="skipgram,cbow,skipgram_hs", show_default=True, help=", ".join(METHODS)),
        click.option("--threads", default=2, show_default=True),
        click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the rows here too."),
    ):
        command = option(command)
    return command


@main.command()
@shared_options
@click.option("--repeats", default=3, show_default=True)
def speed(data: Path, words: int | None, methods: str, threads: int, json_path: Path | None, repeats: int) -> None:
    """One epoch each, in turn; medians of words per second and their ratio."""
    corpus = read_corpus(data, words)
    lines, total = as_lists(corpus), len(corpus.stream.ids)
    for method in methods.split(","):  # compile, or load what was compiled before
        small = WordCorpus(TokenStream(corpus.stream.ids[:2000], np.array([0, 2000])), corpus.vocabulary)
        fit_ours(small, METHODS[method][1], 1, threads, 1)
    runs: dict[tuple[str, str], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "lines.txt"
        file.write_text("\n".join(map(" ".join, lines)) + "\n")
        for repeat in range(repeats):
            for method in methods.split(","):
                theirs, ours = METHODS[method]
                for source in (None, file):
                    model = gensim_model(lines, theirs, threads, repeat)
                    _, took = clocked(lambda m=model, s=source: train_gensim(m, lines, s, total, 1))
                    runs.setdefault((method, "gensim, lists" if source is None else "gensim, file"), []).append(took)
                _, took = clocked(lambda o=ours, r=repeat: fit_ours(corpus, o, 1, threads, r))
                runs.setdefault((method, "langladder"), []).append(took)

    rows = []
    for method in methods.split(","):
        medians = {
            side: {clock: median(run[clock] for run in taken) for clock in ("seconds", "processor")}
            for (name, side), taken in runs.items()
            if name == method
        }
        peers = [side for side in medians if side != "langladder"]
        row: dict[str, Any] = {"method": method, "words": total, "threads": threads, "runs": medians}
        for clock in ("seconds", "processor"):
            row[f"ratio_{clock}"] = min(medians[side][clock] for side in peers) / medians["langladder"][clock]
        rows.append(row)
    table = Table(title=f"{total:,} words, {threads} threads, medians of {repeats}: million words per second")
    for column in ("method", "gensim, lists", "gensim, file", "langladder", "ratio", "ratio of processor time"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for row in rows:
        rates = [
            f"{total / row['runs'][side]['seconds'] / 1e6:.3f}"
            for side in ("gensim, lists", "gensim, file", "langladder")
        ]
        table.add_row(row["method"], *rates, f"{row['ratio_seconds']:.1f} ×", f"{row['ratio_processor']:.1f} ×")
    Console().print(table)
    if json_path:
        write_text(json_path, json.dumps(rows, indent=2) + "\n")


def scores(vectors: WordVectors, data: Path) -> dict[str, float]:
    """Google analogies among the 30,000 most frequent words, per cent; Spearman's ρ of the similarity sets."""
    analogies = evaluate_analogies(vectors, find(data, "analogy/questions-words.txt"), restrict_vocabulary=30_000)
    sets = {found.name: found.spearman for found in evaluate_similarity(vectors, find(data, "wordsim")).sets}
    accuracy = analogies.overall.accuracy
    return {
        "analogies": 100 * (accuracy or 0.0),
        "wordsim_353": sets["EN-WS-353-ALL"] or 0.0,
        "simlex_999": sets["EN-SIMLEX-999"] or 0.0,
    }


def fit_gensim(
    lines: list[list[str]], total: int, settings: dict[str, Any], kinds: list[str], epochs: int, threads: int, seed: int
) -> tuple[dict[str, WordVectors], dict[str, float]]:
    """gensim's vectors of each kind from one training, and what that took."""
    model = gensim_model(lines, settings, threads, seed)
    _, took = clocked(lambda: train_gensim(model, lines, None, total, epochs))
    tables = {"input": lambda: model.wv.vectors, "sum": lambda: model.wv.vectors + model.syn1neg}
    return {kind: WordVectors(model.wv.index_to_key, tables[kind]()) for kind in kinds}, took


def print_quality(rows: list[dict[str, Any]], title: str) -> None:
    """Mean ± standard deviation over the seeds."""
    table = Table(title=title)
    columns = ("analogies", "wordsim_353", "simlex_999", "seconds", "processor")
    for column in ("method", "side", "vectors", *columns):
        table.add_column(column, justify="right" if column in columns else "left")
    for key in dict.fromkeys((row["method"], row["side"], row["vectors"]) for row in rows):
        part = [row for row in rows if (row["method"], row["side"], row["vectors"]) == key]
        cells = []
        for column in columns:
            values = [row[column] for row in part]
            spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
            cells.append(f"{mean(values):.3f}{spread}")
        table.add_row(*key, *cells)
    Console(width=140).print(table)


@main.command()
@shared_options
@click.option("--epochs", default=5, show_default=True)
@click.option("--seeds", default=3, show_default=True)
@click.option("--sides", default="gensim,langladder", show_default=True, help="Measure one side only.")
@click.option("--gensim-lr", type=float, help="gensim's first learning rate; its own default is 0.025.")
def quality(
    data: Path,
    words: int | None,
    methods: str,
    threads: int,
    json_path: Path | None,
    epochs: int,
    seeds: int,
    sides: str,
    gensim_lr: float | None,
) -> None:
    """Scores of both sides over seeds: mean ± standard deviation, with what training took; v, and v + u."""
    corpus = read_corpus(data, words)
    lines, total = as_lists(corpus), len(corpus.stream.ids)
    rows: list[dict[str, Any]] = []
    for method in methods.split(","):
        theirs, ours = METHODS[method]
        theirs = theirs if gensim_lr is None else theirs | {"alpha": gensim_lr}
        kinds = ["input"] if ours.get("output") == "hierarchical" else ["input", "sum"]
        for seed in range(1, seeds + 1):
            found: list[tuple[str, str, dict[str, float], WordVectors]] = []
            if "gensim" in sides.split(","):
                trained, took = fit_gensim(lines, total, theirs, kinds, epochs, threads, seed)
                found += [("gensim", kind, took, vectors) for kind, vectors in trained.items()]
            for kind in kinds if "langladder" in sides.split(",") else []:
                settings = ours | {"vectors": kind}
                vectors, took = clocked(lambda o=settings, s=seed: fit_ours(corpus, o, epochs, threads, s))
                found.append(("langladder", kind, took, vectors))
            for side, kind, took, vectors in found:
                row = {"method": method, "side": side, "vectors": kind, "seed": seed, **took}
                rows.append(row | scores(vectors, data))
                Console(width=200).print(rows[-1])
    print_quality(rows, f"{total:,} words, {epochs} epochs, {seeds} seeds, {threads} threads; input: v, sum: v + u")
    if json_path:
        write_text(json_path, json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
