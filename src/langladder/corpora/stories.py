"""microworld's stories as corpora of the pipeline: text with its floors, pairs, labelled texts, tagged lines.

What is drawn, and its probabilities, are those of the package `microworld`; here it gets its files.
"""

import math
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from random import Random
from typing import Any, Literal

import pyarrow as pa
from pydantic import Field

from langladder.ground.artefacts import write_json
from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.storage.shards import SPLITS, TEXT
from langladder.text.storage.tables import write_table
from microworld.corpora import SIZES, Size, Tagging, Task, draw_labels, draw_pairs, draw_shards, draw_tags, shards
from microworld.engine import world
from microworld.floors import window_floor
from microworld.questions import draw_entailment, draw_kinds
from microworld.reviews import draw_reviews
from microworld.truth import write_questions

SEEN = (0, 1, 4)
"""Numbers of lines before the predicted one, for which the floor is measured."""
FLOOR_LINES = 400
"""Lines on which it is measured."""
MANY_SHARDS = 16
"""From so many shards on, several processes draw them."""
FREQUENT = {"tiny": 8, "small": 60, "medium": 60, "base": 60}
"""Least count in the training text of a word that an analogy asks for."""


class _Drawn(Config):
    """What all settings of the stories have."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)


class StoriesConfig(_Drawn):
    """Settings of the text; `stories`: of the training split, instead of the number that belongs to the size."""

    stories: int | None = Field(default=None, ge=10)


def write_stories(config: StoriesConfig, folder: Path) -> dict[str, Any]:
    """Draw the text into a folder, one table per split, and its truth sets and floors into `truth/`.

    Returns:
        The number of lines of each split, and the floors of the test split, for the data report.
    """
    facts: dict[str, Any] = {"splits": {}}
    before = 0
    for split, count in zip(SPLITS, SIZES[config.size].stories, strict=True):
        stories = config.stories if config.stories and split == "train" else count
        parts = len(shards(stories))
        drawn = draw_shards(config.seed, split, stories, 1 if parts < MANY_SHARDS else os.cpu_count() or 1)
        table = pa.concat_tables(tracked(drawn, f"drawing {split}", total=parts, unit="shards"))
        document = pa.array(table["document"].to_numpy() + before)
        table = table.set_column(0, TEXT.field("document"), document)
        before += stories
        write_table(folder / split, table)
        facts["splits"][split] = {"lines": table.num_rows}
        if split == "train":
            counts = Counter(word for line in table["text"].to_pylist() for word in line.split())
            write_questions(folder / "truth", counts, FREQUENT[config.size], config.seed)
        if split == "test":
            facts["floors"] = measure_floors(table, config.seed)
            write_json(folder / "truth" / "floors.json", facts["floors"])
    return facts


def stories_of(table: pa.Table) -> list[list[list[str]]]:
    """The stories of a table of text: their lines, as words."""
    rows = zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True)
    return [[text.split() for _, text in lines] for _, lines in groupby(rows, key=lambda row: row[0])]


def measure_floors(test: pa.Table, seed: int) -> dict[str, Any]:
    """The entropy floors of a test table, in perplexity per word; the end of a line counts as a word.

    Returns:
        `document`: the exact floor of a reader of whole stories. `windows`: of readers of only the last `sentences`
            lines before the predicted one, with the standard errors of their distance to `document` in per cent of it.
    """
    stories = stories_of(test)
    words = sum(len(line) + 1 for story in stories for line in story)
    exact = math.exp(-math.fsum(test["log_prob"].to_pylist()) / words)
    windows = []
    for seen in tracked(SEEN, "floors", unit="readers"):
        measured = window_floor(world(), stories, seen, FLOOR_LINES, Random(f"{seed} floors"), ends=1)
        error = 100 * (math.exp(measured.error) - 1)
        windows.append(
            {"sentences": seen, "perplexity": round(measured.perplexity, 6), "error_percent": round(error, 6)}
        )
    return {"document": round(exact, 6), "windows": windows}


class PairedStoriesConfig(_Drawn):
    """Settings of pairs; `pairs`: of the training split, instead of the number that belongs to the size."""

    pairs: int | None = Field(default=None, ge=10)


def write_pairs(config: PairedStoriesConfig, folder: Path) -> dict[str, Any]:
    """Draw English–Esperanto pairs, two lines of a story each. No source text of train is in validation or test.

    Returns:
        The number of pairs of each split, for the data report.
    """
    facts, seen = {}, set[str]()
    for split, count in zip(SPLITS, SIZES[config.size].pairs, strict=True):
        table = draw_pairs(config.seed, split, config.pairs if config.pairs and split == "train" else count)
        new = {row["source"]: row for row in table.to_pylist() if row["source"] not in seen}
        seen |= new.keys()
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(list(new.values()), schema=table.schema))
        facts[split] = {"lines": len(new)}
    return {"splits": facts}


class LabelledStoriesConfig(_Drawn):
    """Settings of labelled texts; `examples`: of the training split, instead of the number that belongs to the size."""

    task: Task | Literal["questions", "entailment", "reviews"] = "mood"
    examples: int | None = Field(default=None, ge=10)
    ambiguity: float = Field(default=0.3, ge=0, lt=1)  # share of questions, pairs or opinions whose words do not tell


def write_labels(config: LabelledStoriesConfig, folder: Path) -> dict[str, Any]:
    """Draw labelled texts into a folder, one table per split, no text in two of them. Same settings, same bytes.

    Returns:
        The number of examples of each split, for the data report.
    """
    facts, seen = dict[str, Any](), set[tuple[str, str]]()
    for split, standard in reversed(list(zip(SPLITS, SIZES[config.size].labelled, strict=True))):
        count = config.examples if config.examples and split == "train" else standard
        drawn = _labelled(config, split, count)
        new = islice((row for row in drawn if _texts(row) not in seen), count)
        rows: Sequence[dict[str, Any]] = list(tracked(new, f"drawing {split}", total=count, unit="examples"))
        seen |= set(map(_texts, rows))
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=LABELLED))
        facts = {split: {"examples": len(rows)}} | facts
    return {"splits": facts}


def _texts(row: dict[str, Any]) -> tuple[str, str]:
    return row["text"], row.get("second", "")


def _labelled(config: LabelledStoriesConfig, split: str, count: int) -> Iterator[dict[str, Any]]:
    if config.task == "questions":
        return draw_kinds(Random(f"{config.seed} kinds {split}"), config.ambiguity)
    if config.task == "entailment":
        return draw_entailment(Random(f"{config.seed} entailment {split}"), config.ambiguity)
    if config.task == "reviews":
        return draw_reviews(Random(f"{config.seed} reviews {split}"), config.ambiguity)
    return draw_labels(config.seed, split, count, config.task)


class TaggedStoriesConfig(_Drawn):
    """Settings of tagged lines; `examples`: of the training split, instead of the number that belongs to the size."""

    task: Tagging = "pos"
    examples: int | None = Field(default=None, ge=10)


def write_tags(config: TaggedStoriesConfig, folder: Path) -> dict[str, Any]:
    """Draw tagged lines into a folder; see `write_labels`."""
    facts = {}
    for split, standard in zip(SPLITS, SIZES[config.size].tagged, strict=True):
        count = config.examples if config.examples and split == "train" else standard
        rows = [
            {**row, "log_prob": 0.0, "ceilings": [1.0] * len(row["words"])}
            for row in tracked(draw_tags(config.seed, split, count, config.task), f"drawing {split}", total=count)
        ]
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=TAGGED))
        facts[split] = {"sentences": count}
    return {"splits": facts}
