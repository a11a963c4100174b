"""The predictions of a model for each test item, as a table to read, to filter, and to compare two models.

The stage that evaluates a rung writes it beside the rung's page, as Parquet and as CSV with the same columns. A row is
a text (classifier), a word (tagger), a sentence (translator), a question (reader), a line (language model).
"""

import csv
import math
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from langladder.evaluation.significance import mcnemar, paired_randomisation
from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.text.storage.tables import read_table, write_table

AGAIN = "evaluate the rung again (`dvc repro`, `langladder evaluate`)"
LINES = 100_000
"""Rows of a language model's table: the first lines of the text."""


class Prediction(NamedTuple):
    """One row.

    Attributes:
        item: number of the test item from 0; the words of a sentence share one.
        truth, prediction: of a language model empty.
        right: None of a language model.
        score: how good the prediction is, 0 to 1: a reader's F₁, a translation's chrF; None: right or wrong.
        probability: of the prediction, by the model.
        loss: −log P(truth) in nats, by the model.
        unknown: the words that training has not seen, as the model distinguishes words, with spaces between them.
        context: what the text was read with: the paragraph of a question.
        id: of a row that was read from a file: its id there, else its file and line.
    """

    item: int
    text: str
    truth: str
    prediction: str
    right: bool | None = None
    score: float | None = None
    probability: float | None = None
    loss: float | None = None
    unknown: str = ""
    context: str = ""
    id: str = ""


SCHEMA = pa.schema(
    [
        ("item", pa.int64()),
        *((name, pa.string()) for name in ("text", "truth", "prediction")),
        ("right", pa.bool_()),
        *((name, pa.float64()) for name in ("score", "probability", "loss")),
        *((name, pa.string()) for name in ("unknown", "context", "id")),
    ]
)


def rounded(value: float) -> float:
    """A probability, or a loss, as tables have it."""
    return round(float(value), 6)


def unseen(words: Iterable[str], known: Collection[str]) -> str:
    """The words that training has not seen, each once."""
    return " ".join(dict.fromkeys(word for word in words if word not in known))


def write_predictions(path: Path, rows: Sequence[Prediction]) -> None:
    """Write a table: CSV where the name ends in `.csv`, else Parquet."""
    if path.suffix != ".csv":
        write_table(path, pa.Table.from_pylist([row._asdict() for row in rows], SCHEMA))
        return
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Prediction._fields)
        writer.writerows(["" if cell is None else cell for cell in row] for row in rows)


def read_predictions(path: Path, most: int | None = None) -> list[Prediction]:
    """Read a table that `write_predictions` wrote.

    Args:
        most: maximum rows; None: all.

    Raises:
        InputError: the file does not exist, is damaged, or has other columns.
    """
    if path.suffix == ".csv":
        return _read_csv(path)[:most]
    try:
        table = read_table(path, SCHEMA)
    except InputError as error:
        raise InputError(f"{error}; {AGAIN}") from error
    return [Prediction(**row) for row in table.slice(0, most).to_pylist()]


def _read_csv(path: Path) -> list[Prediction]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: no table of predictions ({error})") from error
    if rows and set(rows[0]) != set(Prediction._fields):
        raise InputError(
            f"{path}: the columns are {', '.join(map(str, rows[0]))}, not {', '.join(Prediction._fields)}; {AGAIN}"
        )
    try:
        return [_of_csv(row) for row in rows]
    except (TypeError, ValueError) as error:
        raise InputError(f"{path}: no table of predictions ({error})") from error


def _of_csv(row: dict[str, str]) -> Prediction:
    values: dict[str, Any] = dict(row) | {"item": int(row["item"])}
    values["right"] = {"True": True, "False": False}.get(row["right"])
    for name in ("score", "probability", "loss"):
        values[name] = float(row[name]) if row[name] else None
    return Prediction(**values)


# ---- two models on the same items ------------------------------------------------------------------------------------


class Difference(NamedTuple):
    """An item for which two models differ.

    Attributes:
        better: 0 or 1, which of them is better there.
    """

    first: Prediction
    second: Prediction
    better: int


class Compared(NamedTuple):
    """Two models on the same items.

    Attributes:
        both, first_only, second_only, neither: rows that are right by these; of language models rows by loss.
        test: what p is of: McNemar's exact test, or the paired randomisation test, where an item has several rows
            or is more than right or wrong.
        means: what each gets on average: its share of right, its score, or its loss.
        differences: rows on which they differ, the largest difference first.
    """

    rows: int
    items: int
    both: int
    first_only: int
    second_only: int
    neither: int
    measure: str
    means: tuple[float, float]
    test: str
    p: float
    differences: list[Difference]


def compare(first: Sequence[Prediction], second: Sequence[Prediction], names: tuple[str, str]) -> Compared:
    """Compare two models item by item, with a significance test.

    Raises:
        InputError: the tables are not of the same test items.
    """
    if not first or not second:
        raise InputError(f"{names[0] if not first else names[1]}: no predictions")
    for a, b in zip(first, second, strict=False):
        if (a.item, a.text, a.truth, a.context) != (b.item, b.text, b.truth, b.context):
            raise InputError(
                f"{names[0]} and {names[1]} do not have the same test items: item {a.item} is {a.text[:60]!r} in the "
                f"first and {b.text[:60]!r} in the second"
            )
    if len(first) != len(second):
        raise InputError(f"{names[0]} has {len(first):,} rows, {names[1]} {len(second):,}: not the same test items")
    by_right = all(prediction.right is not None for prediction in (*first, *second))
    rights = [np.array([bool(row.right) for row in rows]) for rows in (first, second)]
    scored = by_right and any(prediction.score is not None for prediction in (*first, *second))
    measure = "score" if scored else "share right" if by_right else "loss, nats"
    values = [np.array([_value(row, measure) for row in rows]) for rows in (first, second)]  # the higher, the better
    items = np.unique(np.array([prediction.item for prediction in first]), return_inverse=True)[1]
    count = int(items.max()) + 1
    gap = values[0] - values[1]
    if not scored and by_right and count == len(first):
        test, p = "McNemar's exact test", mcnemar(*rights)
    else:
        sums = [np.bincount(items, weights=value, minlength=count) for value in values]
        test, p = "paired randomisation test over items", paired_randomisation(*sums)
    better = gap != 0
    order = sorted(np.flatnonzero(better).tolist(), key=lambda row: -abs(gap[row]))
    wins = rights if by_right else [gap > 0, gap < 0]
    mine, other = wins
    sign = 1.0 if by_right else -1.0
    return Compared(
        rows=len(first),
        items=count,
        both=int((mine & other).sum()),
        first_only=int((mine & ~other).sum()),
        second_only=int((~mine & other).sum()),
        neither=int((~mine & ~other).sum()),
        measure=measure,
        means=(sign * float(values[0].mean()), sign * float(values[1].mean())),
        test=test,
        p=p,
        differences=[Difference(first[row], second[row], int(gap[row] < 0)) for row in order],
    )


def _value(prediction: Prediction, measure: str) -> float:
    if measure == "score":
        return float(prediction.right or 0) if prediction.score is None else prediction.score
    if measure == "share right":
        return float(prediction.right or 0)
    return -min(prediction.loss if prediction.loss is not None else math.inf, 1e6)
