"""What the filter takes out of real text: articles of English Wikipedia, three quarters of them damaged in known ways.

    python benchmarks/filter_quality.py --data FOLDER [--articles 2000] [--weight 1]

Half as many other articles are the good text. For the settings of conf/filter/quality.yaml and changes to them: of each
kind of damage the share that stays, of what is left the share that is clean (precision), and the seconds.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from public_data import data as data_option
from public_data import find, read

from claims.language.filtered_text import CLEAN, KINDS, Marked, noisy
from langladder.text.filtering.filtering import FilterConfig, filter_text
from langladder.text.storage.tables import Document, read_documents, write_documents

VARIANTS: dict[str, dict[str, object]] = {
    "words, alpha 9": {},
    "words, threshold 0.5": {"threshold": 0.5},
    "n-grams to 2, threshold 0.5": {"threshold": 0.5, "ngrams": 2},
    "characters to 3, threshold 0.5": {"threshold": 0.5, "unit": "characters", "ngrams": 3},
}
NEAR = {"near": "documents", "near_threshold": 0.8}


def articles(data: Path, count: int) -> list[tuple[str, ...]]:
    """The first articles, without their titles, each as its paragraphs; those of one paragraph are left out."""
    parts = read(find(data, "wiki-en/wiki_en.txt")).decode("utf-8").split("\n= ")
    found = (tuple(filter(None, map(str.strip, part.split("\n")[1:]))) for part in parts)
    return [lines for lines in found if len(lines) > 1][:count]


def measured(raw: Sequence[Marked], folder: Path, settings: dict[str, object]) -> tuple[list[float], float, float]:
    """Of each kind the share that stays; the precision; seconds."""
    began = time.perf_counter()
    filter_text(folder / "raw", folder / "out", FilterConfig.model_validate(settings), seed=1)
    seconds = time.perf_counter() - began
    left = {document.text for document in read_documents(folder / "out" / "all")}
    kept = [one.kind for one in raw if one.text in left]
    every = [one.kind for one in raw]
    return [kept.count(kind) / every.count(kind) for kind in (CLEAN, *KINDS)], kept.count(CLEAN) / len(kept), seconds


@click.command()
@data_option
@click.option("--articles", "count", default=2000, show_default=True, help="To damage; half as many are good text.")
@click.option("--weight", default=1.0, show_default=True, help="good_weight of the quality filter.")
def main(data: Path, count: int, weight: float) -> None:
    """Filter damaged articles and say what is left."""
    found = articles(data, count + count // 2)
    raw = noisy(found[:count], 0.75, seed=1)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_documents(folder / "raw" / "all", (Document(list(one.lines), [None] * len(one.lines)) for one in raw))
        good = folder / "good.txt"
        good.write_text("\n\n".join("\n".join(lines) for lines in found[count:]), encoding="utf-8")
        source = {"path": str(good), "documents": "blank_line"}
        runs = {name: {"quality": {"good": source, "good_weight": weight, **some}} for name, some in VARIANTS.items()}
        runs["near-duplicates"] = {"duplicates": NEAR}
        runs["words, alpha 9; near-duplicates"] = {**runs["words, alpha 9"], "duplicates": NEAR}
        click.echo(f"| filter | {' | '.join((CLEAN, *KINDS))} | precision | seconds |")
        click.echo("| --- |" + " ---: |" * (len(KINDS) + 3))
        for name, settings in runs.items():
            shares, precision, seconds = measured(raw, folder, settings)
            said = " | ".join(f"{100 * share:.1f} %" for share in (*shares, precision))
            click.echo(f"| {name} | {said} | {seconds:.1f} |")


if __name__ == "__main__":
    main()
