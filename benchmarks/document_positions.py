"""How much of a story's memory language models use: perplexity by position in the story, and excess by kind of word.

    python benchmarks/document_positions.py FOLDER

FOLDER: a checkout whose DAG has run with `corpus: microworld`. Its models (models/lm/*) score stories of the test
split, each as a whole. The floor is that of who reads whole stories: exp(−Σ log P(w_t | w_1 … w_{t−1}) / words). The
excess of a model on words of a kind is the mean of log P − log Q in nats, Q being the model's: what it lacks there.
"""

import math
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from langladder.answers.surprisal import surprisal
from langladder.models.language.language_model import LanguageModel
from langladder.text.storage.shards import SPLITS, TEXT
from langladder.text.storage.tables import read_batches
from langladder.text.tokenize.tokenizers import Tokenizer
from microworld.engine import world

POSITIONS = ((0, 1), (1, 2), (2, 4), (4, 7), (7, 10), (10, 12))
LEAST = 30
"""Words of a kind that has a row."""


class Word(NamedTuple):
    """A word of a test story, or the end of a line: the number of its line, what it is, −log P of the truth in nats."""

    line: int
    kind: str
    floor: float


def read(folder: Path) -> list[list[str]]:
    """The test stories, by line."""
    rows: list[tuple[int, str]] = []
    for batch in read_batches(folder / "data/clean/text" / SPLITS[-1], TEXT):
        rows += zip(batch["document"].to_pylist(), batch["text"].to_pylist(), strict=True)
    return [[text for _, text in story] for _, story in groupby(rows, key=lambda row: row[0])]


def words_of(story: list[str]) -> list[Word]:
    """What is known of each word."""
    reading = world().read(line.split() for line in story)
    if reading is None:
        raise click.ClickException(f"no story of microworld: {story[0]}")
    found = []
    for number, (log_probs, kinds) in enumerate(zip(reading.log_probs, reading.kinds, strict=True)):
        found += [Word(number, kind, -p) for kind, p in zip(kinds, log_probs, strict=True)]
        found.append(Word(number, "end", 0.0))
    return found


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--stories", default=700, show_default=True)
def main(folder: Path, stories: int) -> None:
    """Measure and print."""
    texts = read(folder)[:stories]
    words = [word for story in texts for word in words_of(story)]
    lost: dict[str, np.ndarray] = {"floor": np.array([word.floor for word in words])}
    for place in sorted((folder / "models" / "lm").iterdir()):
        model, tokenizer = LanguageModel.load(place), Tokenizer.load(place / "tokenizer.json")
        scored = [surprisal(model, tokenizer, "\n".join(story)) for story in texts]
        lost[place.name] = np.array([word.bits for story in scored for word in story.words]) * math.log(2)
    console, lines = Console(), np.array([word.line for word in words])
    table = Table(
        "perplexity per word", *(f"line {a + 1}–{b}" if b - a > 1 else f"line {b}" for a, b in POSITIONS), "all"
    )
    for name, nats in lost.items():
        cells = [f"{math.exp(nats[(lines >= a) & (lines < b)].mean()):.2f}" for a, b in POSITIONS]
        table.add_row(name, *cells, f"{math.exp(nats.mean()):.2f}")
    console.print(table)
    kinds = np.array([word.kind for word in words])
    table = Table("excess, nats a word", "words", "floor, nats", *(name for name in lost if name != "floor"))
    for kind in sorted(set(kinds.tolist())):
        here = kinds == kind
        if here.sum() >= LEAST:
            excess = [
                f"{(nats[here] - lost['floor'][here]).mean():.2f}" for name, nats in lost.items() if name != "floor"
            ]
            table.add_row(kind, str(here.sum()), f"{lost['floor'][here].mean():.2f}", *excess)
    console.print(table)


if __name__ == "__main__":
    main()
