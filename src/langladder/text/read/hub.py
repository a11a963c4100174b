"""Reader of public data sets on the Hugging Face Hub, through the `datasets` library; needs a network or its cache."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.read.lines import FileFacts
from langladder.text.read.readers import write_raw_pairs, write_raw_text
from langladder.text.read.records import text_field
from langladder.text.read.sources import Documents, check_splits

_LOST = (OSError, ValueError, RuntimeError)


class HubData(Config):
    """Which data set of the Hub."""

    name: str  # e.g. Salesforce/wikitext
    config: str | None = None  # e.g. wikitext-2-v1
    revision: str | None = None  # a commit or tag: pins the content
    # Our splits to theirs, or the one split that `clean` cuts.
    streaming: bool = False  # rows come over the network as they are read; true keeps nothing of them here
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


def read_hub(source: HubSource, out_folder: Path) -> dict[str, Any]:
    """Read a data set into `out_folder`, as `readers.read_text` does.

    Raises:
        InputError: the Hub cannot be reached, or the data set, configuration, split or column does not exist.
    """

    def texts(rows: Iterator[dict[str, Any]], split: str) -> Iterator[str]:
        for number, row in enumerate(rows):
            yield text_field(row, source.column, f"{source.name}, {split}, row {number}")

    splits = {split: texts(rows, split) for split, rows in _load(source).items()}
    return {"splits": write_raw_text(splits, source, source.name, out_folder)}


def read_hub_parallel(source: HubParallelSource, out_folder: Path) -> dict[str, Any]:
    """Read a parallel data set into `out_folder`. Raises as `read_hub`."""

    def pairs(rows: Iterator[dict[str, Any]], split: str) -> Iterator[tuple[str, str]]:
        one, two = source.columns
        for number, row in enumerate(rows):
            where = f"{source.name}, {split}, row {number}"
            yield text_field(row, one, where), text_field(row, two, where)

    splits = {split: pairs(rows, split) for split, rows in _load(source).items()}
    return {"splits": write_raw_pairs(splits, source.swap, source.name, out_folder, FileFacts())}


def _load(source: HubData) -> dict[str, Iterator[dict[str, Any]]]:
    from datasets import load_dataset

    wanted = source.splits if isinstance(source.splits, dict) else {"all": source.splits}
    settings = {"revision": source.revision} | ({"streaming": True} if source.streaming else {})
    loaded = {}
    for ours, theirs in wanted.items():
        try:
            rows = iter(load_dataset(source.name, source.config, split=theirs, **settings))
        except _LOST as error:
            raise _told(source, theirs, error) from error
        loaded[ours] = _streamed(rows, source, theirs) if source.streaming else rows
    return loaded


def _streamed(rows: Iterator[dict[str, Any]], source: HubData, split: str) -> Iterator[dict[str, Any]]:
    """Rows that come over the network, which may break; `datasets` tries again before it gives up."""
    while True:
        try:
            row = next(rows)
        except StopIteration:
            return
        except _LOST as error:
            raise _told(source, split, error) from error
        yield row


def _told(source: HubData, split: str, error: Exception) -> InputError:
    return InputError(
        f"Hub data set {source.name!r} (config {source.config!r}, split {split!r}) cannot be loaded: {error}. "
        "Check the names and the network; without a network use corpus=microworld or corpus=text"
    )
