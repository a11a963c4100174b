"""Where a corpus' files are and how they are laid out: the settings of the readers, and the files they name."""

import re
from typing import ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from langladder.errors import InputError
from langladder.remote import File, located
from langladder.schema import Config
from langladder.text.read.chosen_files import PAIR_ENDINGS, TEXT_ENDINGS, matching, nothing_in
from langladder.text.read.encodings import known
from langladder.text.read.lines import MAX_LINE_BYTES
from langladder.text.storage.tables import SPLITS

FileFormat = Literal["auto", "txt", "jsonl", "parquet"]
DocumentRule = Literal["line", "blank_line", "file", "record", "heading"]


class FileSource(Config):
    """Files of text, with the corpus' own splits or without."""

    endings: ClassVar[tuple[str, ...]] = TEXT_ENDINGS

    path: str  # a file, or the folder that the globs of `files` start from; a path here, or a URL (s3://, https://, …)
    # One glob for everything (`clean` then cuts the splits), or {train: glob, validation: glob, test: glob}.
    # One that ends in a bare * takes files whose ending is known; hidden files and READMEs are never taken.
    files: str | dict[str, str] = "*"
    format: FileFormat = "auto"  # by the name's ending: .jsonl, .parquet, else text; each also .gz
    encoding: str = "utf-8"  # of text files, jsonl among them: gb18030, cp1251, latin-1, utf-16, …
    max_line_bytes: int = Field(default=MAX_LINE_BYTES, ge=1)

    @field_validator("encoding")
    @classmethod
    def _is_known(cls, name: str) -> str:
        return known(name)

    @model_validator(mode="after")
    def _known_splits(self) -> Self:
        check_splits("files", self.files)
        return self


class Documents(Config):
    """What one document is; splits are cut between documents, never inside one."""

    # line: each line; blank_line: blank lines part documents; file: each file; record: each jsonl or parquet row;
    # heading: a line that `heading` matches opens one. A new file always opens one.
    documents: DocumentRule = "line"
    heading: str | None = None  # a regular expression over the whole line; WikiText: "= [^=].* ="

    @model_validator(mode="after")
    def _heading_goes_with_its_rule(self) -> Self:
        if (self.documents == "heading") != (self.heading is not None):
            raise ValueError(
                f"documents: {self.documents!r} with heading: {self.heading!r}; give a regular expression exactly "
                "when documents is 'heading'"
            )
        if self.heading is not None:
            try:
                re.compile(self.heading)
            except re.error as error:
                raise ValueError(f"heading: {self.heading!r} is not a regular expression ({error})") from error
        return self


class TextSource(FileSource, Documents):
    """A monolingual corpus in files."""

    field: str = "text"  # the jsonl field or parquet column


class ParallelSource(FileSource):
    """A parallel corpus in files, one pair a line."""

    endings: ClassVar[tuple[str, ...]] = PAIR_ENDINGS

    # columns: tab-separated columns of one file; two_files: line i of one file translates line i of another;
    # fields: two fields of a jsonl row or two columns of a parquet file; auto: by the names, see `pair_files`.
    layout: Literal["auto", "columns", "two_files", "fields"] = "columns"
    # for auto: endings of the aligned files, source and target; null: the two that there are, in the alphabet's order
    languages: list[str] | None = Field(default=None, min_length=2, max_length=2)
    columns: list[int] = Field(default=[0, 1], min_length=2, max_length=2)
    fields: list[str] = Field(default=["source", "target"], min_length=2, max_length=2)
    target_files: str | dict[str, str] | None = None  # for two_files: globs of the target side, keys as in `files`
    swap: bool = False  # translate the other way round

    @model_validator(mode="after")
    def _layout_is_complete(self) -> Self:
        if min(self.columns) < 0 or self.columns[0] == self.columns[1]:
            raise ValueError(f"columns: {self.columns}; two different column numbers from 0 are wanted")
        if self.fields[0] == self.fields[1]:
            raise ValueError(f"fields: {self.fields}; two different fields are wanted")
        if (self.layout == "two_files") != (self.target_files is not None):
            raise ValueError(
                f"layout: {self.layout!r} with target_files: {self.target_files!r}; give target_files exactly when "
                "layout is 'two_files'"
            )
        if self.languages is not None and (self.layout != "auto" or self.languages[0] == self.languages[1]):
            raise ValueError(f"languages: {self.languages} with layout: {self.layout!r}; two endings, and layout: auto")
        if self.target_files is not None:
            check_splits("target_files", self.target_files)
            if _keys(self.files) != _keys(self.target_files):
                raise ValueError(f"target_files: splits {_keys(self.target_files)}, but files: {_keys(self.files)}")
        return self


def check_splits(key: str, files: str | dict[str, str]) -> None:
    """Raise ValueError unless the splits have known names and training text is among them."""
    if isinstance(files, dict) and not ({"train"} <= set(files) <= set(SPLITS)):
        raise ValueError(f"{key}: splits {sorted(files)}; allowed: train (always), validation, test")


def files_of(source: FileSource, globs: str | dict[str, str]) -> dict[str, list[File]]:
    """The files of each split, sorted by name; the one split is `all` where the corpus has none of its own.

    Raises:
        InputError: the path does not exist, a glob matches nothing, or one file is in two splits.
    """
    root = located(source.path)
    if not root.exists():
        raise InputError(f"path: {source.path!r} does not exist; give a file or a folder (corpus config)")
    if root.is_file():
        if isinstance(globs, dict):
            raise InputError(f"path: {source.path!r} is one file, but `files` names splits; give the folder instead")
        return {"all": [root]}
    found: dict[str, list[File]] = {}
    for split, pattern in (globs if isinstance(globs, dict) else {"all": globs}).items():
        found[split] = matching(root, pattern, source.endings)
        if not found[split]:
            raise InputError(f"files: {pattern!r} {nothing_in(root, source.endings)}")
    owner: dict[File, str] = {}
    for split, files in found.items():
        for file in files:
            if owner.setdefault(file, split) != split:
                raise InputError(f"files: {file} is in both {owner[file]} and {split}; make the globs disjoint")
    return found


def format_of(path: File, declared: FileFormat) -> FileFormat:
    """The declared format, or the one that the file's name says (a trailing .gz aside)."""
    if declared != "auto":
        return declared
    ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
    return {"jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}.get(ending, "txt")  # type: ignore[return-value]


def _keys(files: str | dict[str, str]) -> list[str]:
    return sorted(files) if isinstance(files, dict) else ["all"]
