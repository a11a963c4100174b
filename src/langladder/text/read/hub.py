"""Reader of public data sets on the Hugging Face Hub, through the `datasets` library; needs a network or its cache."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from langladder.ground.errors import InputError, needs
from langladder.ground.schema import Config
from langladder.text.read.files import Documents, check_splits, write_raw_text
from langladder.text.read.lines import FileFacts, ReadReport, text_field
from langladder.text.read.pairs import write_raw_pairs

HubRow = dict[str, Any]
"""A row of a data set, column → value, as `datasets` gives it."""


class HubData(Config):
    """Which data set of the Hub."""

    name: str  # e.g. Salesforce/wikitext
    config: str | None = None  # e.g. wikitext-2-v1
    revision: str | None = None  # a commit or tag: pins the content
    # Our splits to theirs, or one split, of which `clean` makes all.
    streaming: bool = False  # true: rows are read over the network and not stored
    splits: str | dict[str, str] = Field(default={"train": "train", "validation": "validation", "test": "test"})

    @model_validator(mode="after")
    def _known_splits(self) -> Self:
        check_splits("splits", self.splits)
        return self


class HubSource(HubData, Documents):
    """A monolingual data set of the Hub."""

    column: str = "text"


class HubParallelSource(HubData):
    """A parallel data set of the Hub; `translation.fr` names a field inside a column."""

    columns: list[str] = Field(default=["translation.en", "translation.fr"], min_length=2, max_length=2)
    swap: bool = False


def read_hub(source: HubSource, out_folder: Path) -> ReadReport:
    """Read a data set into `out_folder`, as `files.read_text` does.

    Raises:
        InputError: the Hub cannot be reached, or the data set, configuration, split or column does not exist.
    """

    def texts(rows: Iterator[HubRow], split: str) -> Iterator[str]:
        for number, row in enumerate(rows):
            yield text_field(row, source.column, f"{source.name}, {split}, row {number}")

    splits = {split: texts(rows, split) for split, rows in _load(source).items()}
    return {"splits": write_raw_text(splits, source, source.name, out_folder)}


def read_hub_parallel(source: HubParallelSource, out_folder: Path) -> ReadReport:
    """Read a parallel data set into `out_folder`. Raises as `read_hub`."""

    def pairs(rows: Iterator[HubRow], split: str) -> Iterator[tuple[str, str]]:
        source_column, two = source.columns
        for number, row in enumerate(rows):
            where = f"{source.name}, {split}, row {number}"
            yield text_field(row, source_column, where), text_field(row, two, where)

    splits = {split: pairs(rows, split) for split, rows in _load(source).items()}
    return {"splits": write_raw_pairs(splits, source.swap, source.name, out_folder, FileFacts())}


def _load(source: HubData) -> dict[str, Iterator[HubRow]]:
    """The rows of each split."""
    with needs("hub", "corpus of the Hub"):
        from datasets import load_dataset

    wanted = source.splits if isinstance(source.splits, dict) else {"all": source.splits}
    settings = {"revision": source.revision} | ({"streaming": True} if source.streaming else {})
    loaded = {}
    for ours, theirs in wanted.items():
        with _errors(source, theirs):
            loaded[ours] = _rows(load_dataset(source.name, source.config, split=theirs, **settings), source, theirs)
    return loaded


def _rows(rows: Iterable[HubRow], source: HubData, split: str) -> Iterator[HubRow]:
    with _errors(source, split):  # while rows come over the network; `datasets` has retried before
        yield from rows


@contextmanager
def _errors(source: HubData, split: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"Hub data set {source.name!r} (config {source.config!r}, split {split!r}) cannot be loaded: {error}. "
            "Check the names and the network; without a network use corpus=microworld or corpus=text"
        ) from error
