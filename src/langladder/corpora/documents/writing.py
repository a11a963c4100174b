"""Documents as corpora: text with its floors, texts labelled by subject or mood, English–Esperanto pairs.

A labelled text is a document of few lines. Its label is the subject, or the mood at its end: positive (bright) or
negative (dark). Its probability follows from the belief b of a reader of the text; documents that end in neither mood
are left out:

    P(subject | text) = b(subject),   P(positive | text) = b(bright) / (b(bright) + b(dark))
"""

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field

from langladder.corpora import truth
from langladder.corpora.documents.floors import worth
from langladder.corpora.documents.grammar import STATES
from langladder.corpora.documents.process import (
    LINES,
    Process,
    Reader,
    Sentence,
    follow,
    moods,
    process,
    subject_chances,
)
from langladder.corpora.lexicon import Size
from langladder.corpora.microworld import PAIR_COUNTS, SENTENCE_COUNTS, SPLITS, count_words, floor
from langladder.ground.artefacts import write_json
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.labelled.labelled import LABELLED
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import PAIRS, write_table

SEEN = (0, 1, 4)  # numbers of sentences before the predicted one, for which the floor is measured
FLOOR_SAMPLES = {"tiny": (10, 40), "small": (30, 80), "base": (60, 150)}
"""Number of documents whose sentences are predicted, and of documents that represent the unseen text."""


class DocumentsConfig(Config):
    """Settings of the corpus. `size` sets the lexicon and, if `sentences` is not set, the number of sentences."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    sentences: int | None = Field(default=None, ge=10 * LINES[1])

    @property
    def sentence_count(self) -> int:
        """Sentences over all splits; the last document is always complete."""
        return SENTENCE_COUNTS[self.size] if self.sentences is None else self.sentences


def write_documents(config: DocumentsConfig, folder: Path) -> dict[str, Any]:
    """Draw the corpus into a folder, one table per split, and its truth sets into `truth/`.

    Returns:
        The number of lines of each split, and the floors of the test split, for the data report.
    """
    tables = generate_documents(config)
    counts = count_words(tables["train"]["text"].to_pylist())
    truth.write_truth_sets(process(config.size).language.world, counts, config.seed, folder / "truth")
    floors = measure_floors(config, tables["test"])
    write_json(folder / "truth" / "floors.json", floors)
    for split, table in tables.items():
        write_table(folder / split, table)
    return {"splits": {split: {"lines": table.num_rows} for split, table in tables.items()}, "floors": floors}


def measure_floors(config: DocumentsConfig, test: pa.Table) -> dict[str, Any]:
    """The entropy floors of a test table, in perplexity per word.

    Returns:
        `document`: the exact floor of a reader of whole documents. `windows`: estimates for readers of only the last
            `sentences` before the predicted one, with the standard errors of their distance to `document` in per cent
            of it.
    """
    words = sum(len(line.split()) + 1 for line in test["text"].to_pylist())
    exact = floor(test["log_prob"].to_pylist(), words)
    documents, others = FLOOR_SAMPLES[config.size]
    windows = []
    for seen in SEEN:
        found = worth(process(config.size), seen, documents, others, Random(f"{config.seed} floors"))
        perplexity, error = exact * math.exp(found.nats), 100 * (math.exp(found.error) - 1)
        windows.append({"sentences": seen, "perplexity": round(perplexity, 6), "error_percent": round(error, 6)})
    return {"document": round(exact, 6), "windows": windows}


def generate_documents(config: DocumentsConfig) -> dict[str, pa.Table]:
    """Draw the corpus: train, validation and test, in documents of 8 to 20 lines.

    Returns:
        split → table with the columns document (int64), text (one tokenised sentence) and log_prob (float64: exact
        natural log of the probability of the sentence and its end, given the previous sentences of its document).
    """
    rng, number = Random(f"{config.seed} documents"), 0
    tables = {}
    for split, share in SPLITS.items():
        columns: dict[str, list[Any]] = {"document": [], "text": [], "log_prob": []}
        for document in _documents(process(config.size), round(share * config.sentence_count), rng, split):
            columns["document"] += [number] * len(document)
            columns["text"] += [sentence.text for sentence in document]
            # the last bits of a logarithm differ between machines
            columns["log_prob"] += [round(sentence.log_prob, 9) for sentence in document]
            number += 1
        tables[split] = pa.table(columns, schema=TEXT)
    return tables


def _documents(source: Process, sentences: int, rng: Random, split: str) -> Iterator[list[Sentence]]:
    """Documents up to a number of sentences."""

    def drawn() -> Iterator[list[Sentence]]:
        left = sentences
        while left > 0:
            document = source.draw(rng)
            left -= len(document)
            yield document

    return tracked(drawn(), f"drawing {split}", total=sentences, unit="sentences", sizes=True)


# ---- labelled texts, pairs ---------------------------------------------------------------------------------------


EXAMPLES = {"tiny": 100, "small": 500, "base": 500}
HELD_OUT = {"tiny": 60, "small": 1000, "base": 2000}
"""Number of examples in each of validation and test."""
Task = Literal["subject", "mood"]
VALENCES = {"bright": "positive", "dark": "negative"}
LABELLED_LINES = (5, 9)


class LabelledDocumentsConfig(Config):
    """Settings of labelled texts: few training examples, and enough for evaluation."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    task: Task = "subject"
    examples: int | None = Field(default=None, ge=10)  # examples of the training split


def write_labelled_documents(config: LabelledDocumentsConfig, folder: Path) -> dict[str, Any]:
    """Draw labelled texts into a folder, one table per split. Same settings, same bytes.

    Returns:
        The number of examples of each split, for the data report.
    """
    source, rng, held = process(config.size), Random(f"{config.seed} labelled documents"), HELD_OUT[config.size]
    train = EXAMPLES[config.size] if config.examples is None else config.examples
    facts = {}
    for split, count in (("train", train), ("validation", held), ("test", held)):
        drawn = tracked(range(count), f"drawing {split}", unit="examples")
        rows = [labelled_document(source, rng, config.task) for _ in drawn]
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=LABELLED))
        facts[split] = {"examples": count}
    return {"splits": facts}


def labelled_document(source: Process, rng: Random, task: Task = "subject") -> dict[str, Any]:
    """One labelled text: a row of `LABELLED`."""
    while True:
        document = source.draw(rng, rng.randint(*LABELLED_LINES))
        subject, mood = STATES[document[-1].state]
        if task == "subject" or mood in VALENCES:
            break
    reader = Reader()
    for sentence in document:
        reader, _ = follow(reader, sentence.node)
    if task == "subject":
        label, chances = subject, subject_chances(reader.belief)
    else:
        label, chances = VALENCES[mood], {name: moods(reader.belief)[mood] for mood, name in VALENCES.items()}
    # P(label | text), given that the document has a label
    whole = sum(chances.values())
    return {
        "text": " ".join(sentence.text for sentence in document),
        "label": label,
        "log_prob": round(math.log(chances[label] / whole), 9),
        "ceiling": round(max(chances.values()) / whole, 9),
    }


class PairedDocumentsConfig(Config):
    """Settings of sentence pairs."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    pairs: int | None = Field(default=None, ge=20)


def write_paired_documents(config: PairedDocumentsConfig, folder: Path) -> dict[str, Any]:
    """Draw English–Esperanto sentence pairs, in the order of the documents. No training pair is in validation or test.

    Returns:
        The number of pairs of each split, for the data report.
    """
    source, rng = process(config.size), Random(f"{config.seed} paired documents")
    total = PAIR_COUNTS[config.size] if config.pairs is None else config.pairs
    facts, seen = {}, set[str]()
    for split, share in SPLITS.items():
        pairs: dict[str, str] = {}
        for document in _documents(source, max(1, round(share * total)), rng, split):
            pairs |= {one.text: one.translation for one in document if one.text not in seen}
        seen |= pairs.keys()
        table = pa.table({"source": list(pairs), "target": list(pairs.values())}, schema=PAIRS)
        write_table(folder / f"{split}.parquet", table)
        facts[split] = {"lines": table.num_rows}
    return {"splits": facts}
