"""Fetch the public sets with open licences from the Hugging Face Hub, as docs/data.md lists them (`make data`).

    python benchmarks/fetch.py [--data FOLDER] [SET ...]

Each set becomes a folder of plain text, compressed, with its source and licence beside it. What is there already is
left alone. Needs a network.

A set is fetched at the commit that stands here, and a text is kept only if it has the SHA-256 that stands here. Where
one is not known yet, the checksum of what came is printed, to be written here.
"""

import gzip
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import click
from public_data import data
from rich.console import Console
from rich.progress import Progress

from langladder.ground.atomic import atomic_folder


@dataclass(frozen=True)
class Part:
    """A split of a Hub data set and the file that it becomes."""

    file: str
    split: str
    columns: tuple[str, ...] = ("text",)
    rows: int | None = None
    """The first so many; None: all."""
    sha256: str | None = None
    """Of the text, before it is compressed."""


@dataclass(frozen=True)
class Set:
    """A data set of the Hub."""

    name: str
    config: str | None
    licence: str
    parts: tuple[Part, ...]
    revision: str | None = None
    """Commit (or branch) of the Hub's repository."""
    title: str | None = None
    """Column that becomes a heading, `= title =`."""
    joined: bool = False
    """The rows are pieces of one text, cut anywhere, even inside a line."""


WIKIPEDIA = "b04c8d1ceb2f5cd4588862100d08de323dccfbaa"

SETS = {
    "wikitext-2": Set(
        "Salesforce/wikitext",
        "wikitext-2-v1",
        "CC BY-SA 3.0 and GFDL",
        (Part("train.txt", "train"), Part("valid.txt", "validation"), Part("test.txt", "test")),
        revision="b08601e04326c79dfdd32d625aee71d232d685c3",
    ),
    "tinyshakespeare": Set(
        "karpathy/tiny_shakespeare",
        None,
        "public domain",
        (
            Part(
                "input.txt",
                "train+validation+test",
                sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",  # of char-rnn's input.txt
            ),
        ),
        revision="refs/convert/parquet",  # a branch; the checksum says what came
        joined=True,
    ),
    "wiki-en": Set(
        "wikimedia/wikipedia",
        "20231101.en",
        "CC BY-SA 3.0 and GFDL",
        (Part("wiki_en.txt", "train", rows=20_000),),
        revision=WIKIPEDIA,
        title="title",
    ),
    "wiki-zh": Set(
        "wikimedia/wikipedia",
        "20231101.zh",
        "CC BY-SA 3.0 and GFDL",
        (Part("wiki_zh.txt", "train", rows=10_000),),
        revision=WIKIPEDIA,
        title="title",
    ),
    "tatoeba-en-fr": Set(
        "sentence-transformers/parallel-sentences-tatoeba",
        "en-fr",
        "CC BY 2.0 FR (Tatoeba)",
        (Part("fra.txt", "train", columns=("english", "non_english")),),
    ),
}


def text(rows: Iterable[dict[str, Any]], part: Part, source: Set) -> Iterator[str]:
    """The pieces of a file: columns side by side with tabs between, or a text's own lines under its heading."""
    for row in islice(rows, part.rows):
        if source.title:
            yield f"= {row[source.title]} =\n"
        if len(part.columns) > 1:
            yield "\t".join(" ".join(str(row[column]).split()) for column in part.columns) + "\n"
        else:
            piece = str(row[part.columns[0]])
            yield piece if source.joined else piece.removesuffix("\n") + "\n"


def fetch(data: Path, name: str, progress: Progress) -> None:
    """Write one set to `data/name`, whole or not at all.

    Raises:
        ValueError: a text has another checksum than the one that is known.
    """
    from datasets import load_dataset

    source = SETS[name]
    with atomic_folder(data / name) as folder:
        origin = f"Hugging Face Hub: {source.name} {source.config or ''} {source.revision or ''}".strip()
        about = [origin, f"Licence as stated: {source.licence}"]
        for part in source.parts:
            rows = load_dataset(
                source.name, source.config, split=part.split, revision=source.revision, streaming=part.rows is not None
            )
            task = progress.add_task(f"{name}/{part.file}", total=part.rows or len(rows))
            digest = hashlib.sha256()
            with gzip.GzipFile(folder / f"{part.file}.gz", "wb", mtime=0) as file:
                for piece in text(progress.track(rows, task_id=task), part, source):
                    file.write(piece.encode())
                    digest.update(piece.encode())
            found = digest.hexdigest()
            if part.sha256 not in (None, found):
                raise ValueError(f"{part.file} has SHA-256 {found}, not {part.sha256}: the Hub serves another text")
            if part.sha256 is None:
                progress.console.print(f"{name}/{part.file}: sha256 {found} (benchmarks/fetch.py does not have it yet)")
            about.append(f"SHA-256 of {part.file}: {found}")
        (folder / "SOURCE.txt").write_text("\n".join(about) + "\n", encoding="utf-8")


@click.command(help=__doc__)
@click.argument("names", metavar="[SET]...", nargs=-1, type=click.Choice(list(SETS)))
@data
def main(names: tuple[str, ...], data: Path) -> None:
    """Fetch what is not there yet."""
    console = Console(stderr=True)
    with Progress(console=console) as progress:
        for name in names or SETS:
            if (data / name).exists():
                console.print(f"{data / name}: already there, left alone")
                continue
            try:
                fetch(data, name, progress)
            except (OSError, ValueError, RuntimeError) as error:
                raise click.ClickException(
                    f"{name}: {SETS[name].name} cannot be loaded from the Hub ({error}). Is there a network?"
                ) from error
    console.print(f"Benchmarks and tests find them with  export LANGLADDER_DATA={data.resolve()}")


if __name__ == "__main__":
    main()
