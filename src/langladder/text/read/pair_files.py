"""Which files hold sentence pairs, and how, told by their names (`layout: auto`).

x.tsv, x.txt         columns: source TAB target
x.jsonl, x.parquet   fields of a row
x.en and x.fr        two files: line i of one translates line i of the other; also x.en.txt and x.fr.txt
"""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from langladder.errors import InputError
from langladder.remote import File, in_order, located
from langladder.text.read.chosen_files import language

if TYPE_CHECKING:
    from langladder.text.read.sources import ParallelSource

Laid = tuple[File, File | None]  # the file, or that of the source and that of the target


def laid_out(files: list[File], source: "ParallelSource") -> list[Laid]:
    """The files in order, aligned ones together; one whose language stands alone is left out.

    Raises:
        InputError: files of one name in more than two languages, and nothing says which two.
    """
    if located(source.path).is_file():
        return [(file, None) for file in files]
    together: dict[str, dict[str, File]] = defaultdict(dict)
    for file in files:
        if code := language(file):
            together[_stem(file)][code] = file
    aligned = {stem: two for stem, them in together.items() if (two := _two(them, source.languages))}
    alone = [(file, None) for file in files if file.name.lower().removesuffix(".gz").endswith(_ONE_FILE)]
    inside = {file for two in aligned.values() for file in two}
    found: list[Laid] = [*aligned.values(), *(pair for pair in alone if pair[0] not in inside)]
    if not found:
        names = ", ".join(file.name for file in files[:5])
        raise InputError(
            f"layout: auto finds no sentence pairs in {names}; two aligned files have one name and their languages as "
            "endings (x.en, x.fr), or set layout (conf/parallel)"
        )
    return sorted(found, key=lambda pair: pair[0].parts)


_ONE_FILE = (".tsv", ".txt", ".text", ".jsonl", ".ndjson", ".parquet")


def aligned_report(read: set[File], source: "ParallelSource") -> dict[str, Any]:
    """For the data report: which files were taken for which side, {} where none are aligned."""
    if source.layout != "auto" or located(source.path).is_file() or not read:
        return {}
    pairs = [(one.name, two.name) for one, two in laid_out(in_order(read), source) if two is not None]
    pairs = [pair[::-1] if source.swap else pair for pair in pairs]
    return {"aligned": [f"{one} → {two}" for one, two in pairs[:20]]} if pairs else {}


def _stem(file: File) -> str:
    name = file.name.removesuffix(".gz").removesuffix(".txt")
    return f"{file.parent}/{name.rpartition('.')[0]}"


def _two(files: dict[str, File], languages: list[str] | None) -> tuple[File, File] | None:
    """The source's and the target's file, None where one is missing."""
    if languages is not None:
        return (files[languages[0]], files[languages[1]]) if set(languages) <= set(files) else None
    if len(files) > 2:
        raise InputError(
            f"{next(iter(files.values())).parent}: files of one name in {len(files)} languages ({', '.join(files)}); "
            "say which two: languages: [source, target] (conf/parallel)"
        )
    one, two = (files[code] for code in sorted(files)) if len(files) == 2 else (None, None)
    return (one, two) if one is not None and two is not None else None
