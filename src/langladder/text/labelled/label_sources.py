"""Where labelled text is and how it is laid out: the settings of its readers."""

from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from langladder.errors import Policy
from langladder.schema import Config
from langladder.text.read.sources import FileSource

Layout = Literal["auto", "columns", "fields", "folders", "files", "first_word", "trees", "conllu"]
AUTO = {"tsv": "columns", "csv": "columns", "jsonl": "fields", "ndjson": "fields", "parquet": "fields"}
AUTO |= {"ptb": "trees", "mrg": "trees", "conllu": "conllu"}
Place = int | str
"""A column: its number from 0, or its name in the first line."""


class FoldedSource(FileSource):
    """Files that are cut into folds where that is wanted."""

    # Cross-validation: `folds` parts, of which number `fold` (from 0) is the test split and the rest train.
    folds: int | None = Field(default=None, ge=2, le=1000)
    fold: int = Field(default=0, ge=0)
    fold_by: Literal["order", "hash"] = (
        "order"  # order: each fold takes every k-th example of a label; hash: of the text
    )

    @model_validator(mode="after")
    def _one_fold_of_one_corpus(self) -> Self:
        if self.folds is not None and (self.fold >= self.folds or isinstance(self.files, dict)):
            raise ValueError(
                f"folds: {self.folds}, fold: {self.fold}, files: {self.files!r}; a fold is one of 0 to folds − 1, and "
                "`files` one glob: the folds cut the test split themselves"
            )
        return self


class LabelledSource(FoldedSource):
    """Texts with a label each."""

    endings: ClassVar[tuple[str, ...]] = (*AUTO, "txt", "text")

    # columns: tab- or comma-separated; fields: jsonl or parquet; folders: <label>/<file>; files: a file a label, which
    # is its name; first_word: "label text"; trees: bracketed, the root's label; conllu: heads, and a comment
    # "# label = …"; auto: by the name's ending, .txt inside folders by folders
    layout: Layout = "auto"
    text: Place = "text"  # columns and fields
    label: Place = "label"
    second: Place | None = None  # the other text, of pairs
    delimiter: str | None = Field(default=None, min_length=1, max_length=1)  # null: comma of .csv, else tab
    texts: Literal["line", "file"] = "line"  # of folders: what one text is
    label_before: str | None = Field(default=None, min_length=1)  # ":" reads DESC:manner as DESC
    rename: dict[str, str | None] = Field(default_factory=dict)  # label → its name here; null: the example is left out
    phrases: bool = False  # of trees: each different labelled phrase of the training trees is an example, too

    @model_validator(mode="after")
    def _columns_are_alike(self) -> Self:
        wanted = [place for place in (self.text, self.label, self.second) if place is not None]
        if len(set(map(type, wanted))) > 1 or len(set(wanted)) < len(wanted):
            raise ValueError(
                f"text: {self.text!r}, label: {self.label!r}, second: {self.second!r}; give different columns, all by "
                "name (the first line has the names) or all by number from 0 (there are no names)"
            )
        if any(isinstance(place, int) and place < 0 for place in wanted):
            raise ValueError(f"columns {wanted}: numbers count from 0")
        return self


class TagColumns(Config):
    """Columns of a file with a word a line, numbered from 0."""

    form: int = Field(default=0, ge=0)
    tag: int = Field(default=1, ge=0)
    head: int | None = Field(default=None, ge=0)  # the place of the word's head from 1, 0 for the root
    id: int | None = Field(default=None, ge=0)  # CoNLL-U's numbers: 3-4 and 5.1 are no words

    def wanted(self) -> list[int]:
        """The columns that a line must have."""
        return [place for place in (self.form, self.tag, self.head, self.id) if place is not None]


class TaggedSource(FoldedSource):
    """Sentences with a tag a word: a word a line, a blank line between sentences."""

    endings: ClassVar[tuple[str, ...]] = ("conll", "conllu", "iob", "bio", "tsv", "txt")

    columns: TagColumns = TagColumns()
    # Of tags that bracket phrases: which may follow which is checked. auto: the scheme that the tags look like. IOB1
    # (I-X may open a phrase) is written as IOB2, BILOU and BMES as IOBES. none: any tag after any.
    scheme: Literal["auto", "none", "IOB1", "IOB2", "IOBES", "BILOU", "BMES"] = "auto"
    # A sentence with an empty word or tag, or with a tag that train does not have: skip (left out and counted) | strict
    damaged: Policy = "skip"
