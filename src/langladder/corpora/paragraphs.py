"""microworld's questions about paragraphs as files of the pipeline, for training and evaluating readers.

What is drawn is `microworld.questions.draw_questions`.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import Field

from langladder.ground.progress import tracked
from langladder.ground.schema import Config
from langladder.text.labelled.questions import QUESTIONS, count_questions
from langladder.text.storage.shards import SPLITS
from langladder.text.storage.tables import write_table
from microworld.corpora import SIZES, Size
from microworld.questions import QUESTIONS_EACH, draw_questions


class ParagraphConfig(Config):
    """Settings of questions; `paragraphs`: of the training split, instead of the number that belongs to the size."""

    size: Size = "small"
    seed: int = Field(default=1, ge=0)
    paragraphs: int | None = Field(default=None, ge=10)
    unanswerable: float = Field(default=0.25, ge=0, lt=1)  # share of the questions
    options: int = Field(default=4, ge=2, le=8)  # number of options


def write_paragraphs(config: ParagraphConfig, folder: Path) -> dict[str, Any]:
    """Draw questions into a folder, one table per split. No paragraph is in two splits. Same settings, same bytes.

    Returns:
        The number of questions of each split, for the data report.
    """
    facts, seen = {}, set[str]()
    for split, standard in zip(SPLITS, SIZES[config.size].paragraphs, strict=True):
        count = config.paragraphs if config.paragraphs and split == "train" else standard
        drawn = draw_questions(config.seed, split, count, config.unanswerable, config.options)
        every = tracked(drawn, f"drawing {split}", total=QUESTIONS_EACH * count, unit="questions")
        rows = [row for row in every if row["context"] not in seen]
        seen |= {row["context"] for row in rows}
        write_table(folder / f"{split}.parquet", pa.Table.from_pylist(rows, schema=QUESTIONS))
        facts[split] = count_questions(folder / f"{split}.parquet")
    return {"splits": facts}
