"""n-gram models against KenLM and NLTK on WikiText-2 words: time to build from the raw text, tokens scored a second.

    python benchmarks/language_models.py ngram-speed

Ours and NLTK's are measured in this run, medians of `--repeats`, on one core. NLTK is too slow for the whole text: it
fits the first `--nltk-lines` lines and scores `--nltk-tokens` tokens. With `--kenlm` its programs run beside ours, else
their figures are quoted: `lmplz` writes ARPA, `query` reads the text that it scores from a binary model.
"""

import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click
import numpy as np
import torch
from native_programs import kenlm, run
from public_data import data
from rich.console import Console
from rich.table import Table
from wikitext import split_text, stream, word_ids

from langladder.counts.ngrams import count_ngrams
from langladder.formats.arpa import write_arpa
from langladder.models.ngrams.kneser_ney import KneserNey, KneserNeyConfig
from langladder.text.tokenize.specials import BOS, EOS, NAMES


class Seconds(NamedTuple):
    """Of the clock, and of the processor: on a machine with other work to do, the second says what was done."""

    wall: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.wall:.2f} s (cpu {self.cpu:.2f})"


def timed(work: Callable[[], object], repeats: int) -> Seconds:
    """Medians of `repeats` runs."""
    runs = []
    for _ in range(repeats):
        started = time.perf_counter(), time.process_time()
        work()
        runs.append((time.perf_counter() - started[0], time.process_time() - started[1]))
    return Seconds(*(median(column) for column in zip(*runs, strict=True)))


def build(path: Path, order: int) -> tuple[KneserNey, list[str]]:
    """Raw text file → fitted model: reading, numbering the words, counting, discounting."""
    ids, words = word_ids(path.read_bytes())
    model = KneserNey(KneserNeyConfig(order=order), len(NAMES) + len(words))
    model.fit(stream(ids))
    return model, words


def nltk_speed(ids: np.ndarray, order: int, tokens: int, repeats: int) -> tuple[float, float]:
    """NLTK's interpolated Kneser-Ney: tokens fitted and tokens scored a second."""
    from nltk.lm import KneserNeyInterpolated
    from nltk.lm.preprocessing import padded_everygram_pipeline

    starts = np.append(np.flatnonzero(ids == BOS), len(ids))
    sentences = [[str(word) for word in ids[a + 1 : b - 1]] for a, b in pairwise(starts)]

    def fit() -> KneserNeyInterpolated:
        model = KneserNeyInterpolated(order)
        model.fit(*padded_everygram_pipeline(order, sentences))
        return model

    fit_seconds, model = timed(fit, repeats).wall, fit()
    words = [word for sentence in sentences for word in sentence][: tokens + order]
    score_seconds = timed(
        lambda: [model.score(words[t], words[t - order + 1 : t]) for t in range(order, len(words))], repeats
    )
    return int((ids != BOS).sum()) / fit_seconds, (len(words) - order) / score_seconds.wall


def kenlm_seconds(programs: Path, scratch: Path, test: bytes, order: int, repeats: int) -> tuple[float, float]:
    """Median processor seconds of `lmplz` on train.txt and of `query` on the test text."""
    arpa, binary, text = scratch / "kenlm.arpa", scratch / "kenlm.binary", scratch / "test.txt"
    text.write_bytes(test.replace(b"<unk>", b"UNK"))
    raw = scratch / "kenlm.txt"
    raw.write_bytes((scratch / "train.txt").read_bytes().replace(b"<unk>", b"UNK"))
    command: list[str | Path] = [programs / "lmplz", "-o", str(order), "-S", "20%", "-T", scratch / "kenlm"]
    build_seconds = median(run(command, raw, arpa) for _ in range(repeats))
    run([programs / "build_binary", arpa, binary])
    return build_seconds, median(run([programs / "query", "-v", "summary", binary], text) for _ in range(repeats))


@click.command()
@data
@kenlm
@click.option("--order", type=click.IntRange(1, 6), default=5, show_default=True)
@click.option("--repeats", type=click.IntRange(1), default=3, show_default=True, help="medians are of so many runs")
@click.option("--nltk-lines", type=click.IntRange(1), default=500, show_default=True, help="lines NLTK is fitted on")
@click.option("--nltk-tokens", type=click.IntRange(1), default=50, show_default=True, help="tokens NLTK scores")
def main(data: Path, kenlm: Path | None, order: int, repeats: int, nltk_lines: int, nltk_tokens: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as scratch:
        raw = Path(scratch) / "train.txt"  # lmplz reads plain text
        raw.write_bytes(split_text(data, "train"))
        model, words = build(raw, order)  # compiles
        ids, _ = word_ids(raw.read_bytes())
        reading = timed(lambda: word_ids(raw.read_bytes()), repeats)
        counting = timed(lambda: count_ngrams(ids, order, model.vocab_size), repeats)
        building = timed(lambda: build(raw, order), repeats)
        tokens = [*NAMES, *words]
        theirs = None
        if kenlm:
            theirs = kenlm_seconds(kenlm, Path(scratch), split_text(data, "test"), order, repeats)
        arpa = timed(lambda: write_arpa(Path(scratch) / "model.arpa", model, tokens), repeats)

    test, _ = word_ids(split_text(data, "test"), words)
    row = torch.from_numpy(test.astype(np.int64))[None]  # (1, T)
    model.log_probs(row)
    scoring = timed(lambda: model.log_probs(row), repeats)
    scored = [int((test != BOS).sum()) / seconds for seconds in scoring]

    part = ids[: int(np.flatnonzero(ids == EOS)[nltk_lines - 1]) + 1]
    nltk_fitted, nltk_scored = nltk_speed(part, order, nltk_tokens, repeats)
    fitted = [int((ids != BOS).sum()) / seconds for seconds in building]
    discounting = Seconds(*(whole - a - b for whole, a, b in zip(building, reading, counting, strict=True)))

    known = f"cpu {int((test != BOS).sum()) / theirs[1]:,.0f}" if theirs else "6–9 M"
    table = Table(
        "work",
        "langladder",
        "KenLM" if theirs else "KenLM (quoted)",
        f"NLTK ({nltk_lines} lines)",
        title=f"{order}-gram, Kneser-Ney",
    )
    table.add_row(
        "raw text file → model",
        str(building),
        f"cpu {theirs[0]:.2f} (lmplz, with ARPA)" if theirs else "2.6–2.8 s (lmplz)",
        "–",
    )
    table.add_row("  of it reading, word ids", str(reading), "", "")
    table.add_row("  of it counting", str(counting), "", "")
    table.add_row("  of it discounts, tables", str(discounting), "", "")
    table.add_row("writing ARPA", str(arpa), "within the above", "–")
    table.add_row("tokens fitted a second", f"{fitted[0]:,.0f} (cpu {fitted[1]:,.0f})", "", f"{nltk_fitted:,.0f}")
    table.add_row("tokens scored a second", f"{scored[0]:,.0f} (cpu {scored[1]:,.0f})", known, f"{nltk_scored:,.1f}")
    Console(width=110).print(table)
