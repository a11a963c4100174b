"""Text that a filter reads beside the corpus: good text, corpora to mix in, test sets."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from langladder.errors import InputError
from langladder.remote import is_url
from langladder.text.labelled.labelled import LABELLED, TAGGED, read_labelled, read_tagged
from langladder.text.read.readers import read_text
from langladder.text.read.sources import TextSource
from langladder.text.storage.tables import present_splits, read_column


def opened(source: TextSource, folder: Path, key: str) -> Path:
    """Read a source into a folder; the table of all its text.

    Raises:
        InputError: it is missing, empty or no text; or it has splits of its own (names the key).
    """
    try:
        read_text(source, folder)
    except InputError as error:
        raise InputError(f"{key}: {error} (conf/filter/)") from error
    if present_splits(folder) != ["all"]:
        raise InputError(f"{key}.files: names splits; give one glob, all of which is read (conf/filter/)")
    return folder / "all"


def set_lines(source: TextSource, folder: Path, key: str) -> Iterator[str]:
    """The lines of a test set: of files of text, or of a table of labelled texts or tagged sentences.

    Raises:
        InputError: as `opened`.
    """
    path = Path(source.path)
    names = [] if is_url(source.path) else _columns(path)
    if names == TAGGED.names:
        yield from (" ".join(one.words) for one in read_tagged(path))
    elif names == LABELLED.names:
        for one in read_labelled(path):
            yield from filter(None, (one.text, one.second))
    else:
        for lines in read_column(opened(source, folder, key), "text"):
            yield from lines


def _columns(path: Path) -> list[str]:
    if path.suffix != ".parquet" or not path.is_file():
        return []
    try:
        return list(pq.read_schema(path).names)
    except (pa.ArrowException, OSError):
        return []  # `opened` says what is wrong with it
