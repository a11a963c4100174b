"""Which files of a folder are read, and which are not and why, so that none is left out in silence."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from langladder.remote import File, below, in_order
from langladder.text.read.lines import FileFacts

TEXT_ENDINGS = ("txt", "text", "jsonl", "ndjson", "parquet")
PAIR_ENDINGS = ("tsv", *TEXT_ENDINGS)
LANGUAGE = re.compile(r"[a-z]{2,3}([-_][A-Za-z0-9]{2,8})*")  # en, deu, zh-CN, eng_Latn
NAMED = 20  # skipped files that a report names; the rest is counted
_README = re.compile(r"readme(\..*)?", re.IGNORECASE)
_OURS = (".gitignore", ".gitkeep")


def ending(file: File) -> str:
    """The file's ending in lower case, without its dot and whether or not `.gz` follows."""
    return file.name.lower().removesuffix(".gz").rpartition(".")[2] if "." in file.name else ""


def language(file: File) -> str | None:
    """The language that a file is named after: `en` of x.en, x.en.txt, x.en.gz; None of x.txt and x.tsv."""
    name = file.name.removesuffix(".gz").removesuffix(".txt")
    code = name.rpartition(".")[2] if "." in name else ""
    return code if LANGUAGE.fullmatch(code) and code not in ("tsv", "txt", "csv", "zip", "pdf", "xml", "doc") else None


def matching(root: File, pattern: str, endings: tuple[str, ...]) -> list[File]:
    """The files that a glob takes, sorted by name.

    Args:
        endings: what a glob that ends in a bare * goes by; files of sentence pairs may end in their language too.
    """
    files = [file for file in in_order(root.glob(pattern)) if file.is_file()]
    files = [file for file in files if not _hidden(root, file) and not _README.fullmatch(file.name)]
    return [file for file in files if _known(file, endings)] if Path(pattern).name == "*" else files


def nothing_in(root: File, endings: tuple[str, ...]) -> str:
    """What to say where a glob takes nothing: what there is instead, and what would be taken."""
    there = [f"{name} ({why})" for name, why in _skipped(root, FileFacts(), endings)]
    known = ", ".join(f".{one}" for one in endings)
    said = f"matches no file in {str(root)!r}"
    if there:
        said += f"; not read: {', '.join(there[:5])}{' …' if len(there) > 5 else ''}"
    return f"{said}. Known endings are {known}, each also with .gz; name others by their glob (`files`)"


def skipped(root: File, facts: FileFacts, endings: tuple[str, ...]) -> dict[str, Any]:
    """For the data report: {"skipped_files": how many, "skipped": each file and why}; {} where all was read."""
    found = _skipped(root, facts, endings) if root.is_dir() else []
    named = [{"file": file, "why": why} for file, why in found[:NAMED]]
    return {"skipped_files": len(found), "skipped": named} if found else {}


def not_read(report: dict[str, Any]) -> str:
    """What a stage says of a data report with `skipped` files; "" where there are none."""
    named = ", ".join(f"{one['file']} ({one['why']})" for one in report.get("skipped", []))
    more = report.get("skipped_files", 0) - len(report.get("skipped", []))
    return f"not read: {named}{f' and {more:,} more' if more else ''}" if named else ""


def _skipped(root: File, facts: FileFacts, endings: tuple[str, ...]) -> list[tuple[str, str]]:
    others = [file for file in in_order(root.rglob("*")) if file not in facts.read and file.name not in _OURS]
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
    return ending(file) in endings or ("tsv" in endings and language(file) is not None)
