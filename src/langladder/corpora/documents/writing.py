"""The corpus of documents as a table a split, with its truth: probabilities, floors, sets of questions."""

import math
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
from pydantic import Field

from langladder.corpora import truth
from langladder.corpora.documents.floors import worth
from langladder.corpora.documents.process import LINES, Process, Sentence, process
from langladder.corpora.lexicon import Size
from langladder.corpora.microworld import SENTENCE_COUNTS, SPLITS, count_words, floor
from langladder.ground.artefacts import write_json
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import write_table

SEEN = (0, 1, 4)  # sentences before the one to predict, whose worth is measured
FLOOR_SAMPLES = {"tiny": (10, 40), "small": (30, 80), "base": (60, 150)}
"""Documents whose sentences are predicted, and documents that stand for what is not seen."""


class DocumentsConfig(Config):
    """What to draw. `size` sets the lexicon and, unless it is given, the number of sentences."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    sentences: int | None = Field(default=None, ge=10 * LINES[1])

    @property
    def sentence_count(self) -> int:
        """Sentences over all splits, up to the last ones of a document."""
        return SENTENCE_COUNTS[self.size] if self.sentences is None else self.sentences


def write_documents(config: DocumentsConfig, folder: Path) -> dict[str, Any]:
    """Draw the corpus into a folder, a table a split, and its truth sets into `truth/`.

    Returns:
        How many lines each split has, for the data report.
    """
    tables = generate_documents(config)
    counts = count_words(tables["train"]["text"].to_pylist())
    truth.write_truth_sets(process(config.size).language.world, counts, config.seed, folder / "truth")
    write_json(folder / "truth" / "floors.json", measure_floors(config, tables["test"]))
    for split, table in tables.items():
        write_table(folder / split, table)
    return {"splits": {split: {"lines": table.num_rows} for split, table in tables.items()}}


def measure_floors(config: DocumentsConfig, test: pa.Table) -> dict[str, Any]:
    """The entropy floors of a test table, in perplexity per word.

    Returns:
        `document`: exact, of who reads whole documents; `windows`: of who sees only the last `sentences` before the
        one to predict, estimated, with the standard errors of their distance to the first in per cent of it.
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
        natural log of the sentence's probability, its end included, given the sentences of its document before it).
    """
    rng, number = Random(f"{config.seed} documents"), 0
    tables = {}
    for split, share in SPLITS.items():
        columns: dict[str, list[Any]] = {"document": [], "text": [], "log_prob": []}
        for document in _documents(process(config.size), round(share * config.sentence_count), rng, split):
            columns["document"] += [number] * len(document)
            columns["text"] += [sentence.text for sentence in document]
            # The last bits of a logarithm differ between machines.
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
