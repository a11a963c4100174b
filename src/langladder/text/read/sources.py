"""Settings of the readers, and the files that they name: which files of a folder are read, which are not, and why."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from langladder.ground.errors import InputError
from langladder.ground.remote import File, below, in_order, located
from langladder.ground.schema import Config
from langladder.text.read.lines import MAX_LINE_BYTES, FileFacts, known
from langladder.text.storage.shards import SPLITS

FileFormat = Literal["auto", "txt", "jsonl", "parquet"]
DocumentRule = Literal["line", "blank_line", "file", "record", "heading"]
Layout = Literal["auto", "columns", "two_files", "fields"]
TEXT_ENDINGS = ("txt", "text", "jsonl", "ndjson", "parquet")
PAIR_ENDINGS = ("tsv", *TEXT_ENDINGS)
NAMED = 20  # skipped files that a report names; others are counted
_LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")  # en, deu, zh-CN, eng_Latn
_NO_LANGUAGES = ("tsv", "txt", "csv", "zip", "pdf", "xml", "doc")
_README = re.compile(r"readme(\..*)?", re.IGNORECASE)
_OWN_FILES = (".gitignore", ".gitkeep")


class FileSource(Config):
    """Files of text, with the corpus' own splits or without."""

    endings: ClassVar[tuple[str, ...]] = TEXT_ENDINGS

    path: str  # a file, or the folder that the globs of `files` start from; a local path, or a URL (s3://, https://, …)
    # One glob for everything (`clean` then makes the splits), or {train: glob, validation: glob, test: glob}.
    # A glob that ends in a bare * takes files with a known ending; hidden files and READMEs are never read.
    files: str | dict[str, str] = "*"
    format: FileFormat = "auto"  # by the ending of the name: .jsonl, .parquet, else text; each also .gz
    encoding: str = "utf-8"  # of text files and jsonl: gb18030, cp1251, latin-1, utf-16, …
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
    """What a document is; splits are made of whole documents."""

    # line: each line; blank_line: blank lines separate documents; file: each file; record: each jsonl or parquet row;
    # heading: a line that matches `heading` begins one. A new file always begins a document.
    documents: DocumentRule = "line"
    heading: str | None = None  # a regular expression for the whole line; WikiText: "= [^=].* ="
    sentences: Literal["keep", "split"] = "keep"  # split: lines are cut into sentences, each a line (`words.sentences`)

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
    # fields: two fields of a jsonl row or two columns of a parquet file; auto: by the file names, see `pair_files`.
    layout: Layout = "columns"
    # for auto: endings of the aligned files, source and target; null: the only two that exist, in alphabetical order
    languages: list[str] | None = Field(default=None, min_length=2, max_length=2)
    columns: list[int] = Field(default=[0, 1], min_length=2, max_length=2)
    fields: list[str] = Field(default=["source", "target"], min_length=2, max_length=2)
    target_files: str | dict[str, str] | None = None  # for two_files: globs of the target side, keys as in `files`
    swap: bool = False  # translate in the other direction

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
    """Raise ValueError unless the names of the splits are known and include train."""
    if isinstance(files, dict) and not ({"train"} <= set(files) <= set(SPLITS)):
        raise ValueError(f"{key}: splits {sorted(files)}; allowed: train (always), validation, test")


def _keys(files: str | dict[str, str]) -> list[str]:
    return sorted(files) if isinstance(files, dict) else ["all"]


# ---- which files are read


def files_of(source: FileSource, globs: str | dict[str, str]) -> dict[str, list[File]]:
    """The files of each split, sorted by name; `all` if the corpus has no splits.

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
    owner: dict[File, str] = {}
    for split, pattern in (globs if isinstance(globs, dict) else {"all": globs}).items():
        found[split] = _matching(root, pattern, source.endings)
        if not found[split]:
            raise InputError(f"files: {pattern!r} {_nothing_matches(root, source.endings)}")
    for split, files in found.items():
        for file in files:
            if owner.setdefault(file, split) != split:
                raise InputError(f"files: {file} is in both {owner[file]} and {split}; make the globs disjoint")
    return found


def format_of(path: File, declared: FileFormat) -> FileFormat:
    """The declared format, or the one of the file's ending."""
    if declared != "auto":
        return declared
    formats: dict[str, FileFormat] = {"jsonl": "jsonl", "ndjson": "jsonl", "parquet": "parquet"}
    return formats.get(ending(path), "txt")


def ending(file: File) -> str:
    """The file's ending in lower case, without the dot and without `.gz`."""
    return file.name.lower().removesuffix(".gz").rpartition(".")[2] if "." in file.name else ""


def language(file: File) -> str | None:
    """The language in a file's name: `en` of x.en, x.en.txt and x.en.gz; None for x.txt and x.tsv."""
    name = file.name.removesuffix(".gz").removesuffix(".txt")
    code = name.rpartition(".")[2] if "." in name else ""
    return code if _LANGUAGE.fullmatch(code) and code not in _NO_LANGUAGES else None


def _matching(root: File, pattern: str, endings: tuple[str, ...]) -> list[File]:
    files = [file for file in in_order(root.glob(pattern)) if file.is_file()]
    files = [file for file in files if not _hidden(root, file) and not _README.fullmatch(file.name)]
    return [file for file in files if _known(file, endings)] if Path(pattern).name == "*" else files


def _nothing_matches(root: File, endings: tuple[str, ...]) -> str:
    files = [f"{name} ({why})" for name, why in _unread(root, FileFacts(), endings)]
    message = f"matches no file in {str(root)!r}"
    if files:
        message += f"; not read: {', '.join(files[:5])}{' …' if len(files) > 5 else ''}"
    known_endings = ", ".join(f".{one}" for one in endings)
    return f"{message}. Known endings are {known_endings}, each also with .gz; name others by their glob (`files`)"


# ---- which files are not read, and why


def skipped(root: File, facts: FileFacts, endings: tuple[str, ...]) -> dict[str, Any]:
    """For the data report: how many files were not read, and each with the reason; {} if there are none."""
    found = _unread(root, facts, endings) if root.is_dir() else []
    named = [{"file": file, "why": why} for file, why in found[:NAMED]]
    return {"skipped_files": len(found), "skipped": named} if found else {}


def not_read(report: dict[str, Any]) -> str:
    """The skipped files of a data report in a sentence; "" if there are none."""
    named = ", ".join(f"{one['file']} ({one['why']})" for one in report.get("skipped", []))
    more = report.get("skipped_files", 0) - len(report.get("skipped", []))
    return f"not read: {named}{f' and {more:,} more' if more else ''}" if named else ""


def _unread(root: File, facts: FileFacts, endings: tuple[str, ...]) -> list[tuple[str, str]]:
    others = [file for file in in_order(root.rglob("*")) if file not in facts.read and file.name not in _OWN_FILES]
    others = [file for file in others if file.is_file() or _broken(file)]
    return [(str(below(root, file)), _why(root, file, endings, facts)) for file in others]


def _why(root: File, file: File, endings: tuple[str, ...], facts: FileFacts) -> str:
    if file in facts.empty:
        return "it is empty"
    if _broken(file):
        return "a link to a file that does not exist"
    if _hidden(root, file):
        return "hidden"
    if _README.fullmatch(file.name):
        return "a README"
    if not _known(file, endings):
        return f"its ending, .{ending(file)}, is not known" if ending(file) else "it has no ending"
    if "tsv" in endings and ending(file) not in endings:
        return "no file of the same name in another language"
    return "`files` does not name it"


def _broken(file: File) -> bool:
    return isinstance(file, Path) and file.is_symlink() and not file.exists()


def _hidden(root: File, file: File) -> bool:
    return any(part.startswith(".") for part in below(root, file).parts)


def _known(file: File, endings: Iterable[str]) -> bool:
    """Whether a bare * takes the file; files of sentence pairs may end in their language."""
    return ending(file) in endings or ("tsv" in endings and language(file) is not None)


# ---- files of sentence pairs


def pair_files(files: list[File], source: ParallelSource) -> list[tuple[File, File | None]]:
    """Files that hold sentence pairs (layout: auto), in order: (file, None), or the two aligned files.

    x.tsv, x.txt         columns: source TAB target
    x.jsonl, x.parquet   fields of a row
    x.en and x.fr        line i of one translates line i of the other; also x.en.txt and x.fr.txt

    A file in one language without its counterpart is left out.

    Raises:
        InputError: there are none, or files of one name in more than two languages without `languages`.
    """
    if located(source.path).is_file():
        return [(file, None) for file in files]
    by_name: dict[str, dict[str, File]] = defaultdict(dict)
    for file in files:
        if code := language(file):
            name = file.name.removesuffix(".gz").removesuffix(".txt")
            by_name[f"{file.parent}/{name.rpartition('.')[0]}"][code] = file
    aligned = [two for them in by_name.values() if (two := _aligned(them, source.languages))]
    used = {file for two in aligned for file in two}
    single = [file for file in files if ending(file) in PAIR_ENDINGS and file not in used]
    found = [*aligned, *((file, None) for file in single)]
    if not found:
        names = ", ".join(file.name for file in files[:5])
        raise InputError(
            f"layout: auto finds no sentence pairs in {names}; two aligned files have one name and their languages as "
            "endings (x.en, x.fr), or set layout (conf/parallel)"
        )
    return sorted(found, key=lambda pair: pair[0].parts)


def _aligned(files: dict[str, File], languages: list[str] | None) -> tuple[File, File] | None:
    """The files of source and target, None if one is missing."""
    if languages is None and len(files) > 2:
        raise InputError(
            f"{next(iter(files.values())).parent}: files of one name in {len(files)} languages ({', '.join(files)}); "
            "say which two: languages: [source, target] (conf/parallel)"
        )
    one, two = languages or (sorted(files) if len(files) == 2 else ("", ""))
    return (files[one], files[two]) if one in files and two in files else None


def aligned_report(read: set[File], source: ParallelSource) -> dict[str, Any]:
    """For the data report: which files were read as source and target; {} if none are aligned."""
    if source.layout != "auto" or located(source.path).is_file() or not read:
        return {}
    pairs = [(one.name, two.name) for one, two in pair_files(in_order(read), source) if two is not None]
    pairs = [pair[::-1] if source.swap else pair for pair in pairs]
    return {"aligned": [f"{one} → {two}" for one, two in pairs[:20]]} if pairs else {}
