"""Fetch the public sets with open licences from the Hugging Face Hub, as docs/data.md lists them (`make data`).

    python benchmarks/fetch.py [--data FOLDER] [SET ...]

Each set becomes a folder of plain text, compressed, with its source and licence beside it. What is there already is
left alone. Needs a network.
"""

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from public_data import data
from rich.console import Console
from rich.progress import Progress

from langladder.atomic import atomic_folder


@dataclass(frozen=True)
class Part:
    """A split of a Hub data set and the file that it becomes."""

    file: str
    split: str
    columns: tuple[str, ...] = ("text",)
    rows: int | None = None
    """The first so many; None: all."""


@dataclass(frozen=True)
class Set:
    """A data set of the Hub."""

    name: str
    config: str | None
    licence: str
    parts: tuple[Part, ...]
    revision: str | None = None
    title: str | None = None
    """Column that becomes a heading, `= title =`."""


SETS = {
    "wikitext-2": Set(
        "Salesforce/wikitext",
        "wikitext-2-v1",
        "CC BY-SA 3.0 and GFDL",
        (Part("train.txt", "train"), Part("valid.txt", "validation"), Part("test.txt", "test")),
    ),
    "tinyshakespeare": Set(
        "karpathy/tiny_shakespeare",
        None,
        "public domain",
        (Part("input.txt", "train+validation+test"),),
        revision="refs/convert/parquet",
    ),
    "wiki-en": Set(
        "wikimedia/wikipedia",
        "20231101.en",
        "CC BY-SA 3.0 and GFDL",
        (Part("wiki_en.txt", "train", rows=20_000),),
        title="title",
    ),
    "wiki-zh": Set(
        "wikimedia/wikipedia",
        "20231101.zh",
        "CC BY-SA 3.0 and GFDL",
        (Part("wiki_zh.txt", "train", rows=10_000),),
        title="title",
    ),
    "tatoeba-en-fr": Set(
        "sentence-transformers/parallel-sentences-tatoeba",
        "en-fr",
        "CC BY 2.0 FR (Tatoeba)",
        (Part("fra.txt", "train", columns=("english", "non_english")),),
    ),
}


def lines(rows: Iterable[dict[str, Any]], part: Part, title: str | None) -> Iterator[str]:
    """The lines of a file: columns side by side with tabs between, or a text's own lines under its heading."""
    for number, row in enumerate(rows):
        if number == part.rows:
            return
        if title:
            yield f"= {row[title]} ="
        if len(part.columns) > 1:
            yield "\t".join(" ".join(str(row[column]).split()) for column in part.columns)
        else:
            yield from str(row[part.columns[0]]).removesuffix("\n").split("\n")


def fetch(data: Path, name: str, progress: Progress) -> None:
    """Write one set to `data/name`, whole or not at all."""
    from datasets import load_dataset

    source = SETS[name]
    with atomic_folder(data / name) as folder:
        for part in source.parts:
            rows = load_dataset(
                source.name, source.config, split=part.split, revision=source.revision, streaming=part.rows is not None
            )
            task = progress.add_task(f"{name}/{part.file}", total=part.rows or len(rows))
            with gzip.GzipFile(folder / f"{part.file}.gz", "wb", mtime=0) as file:
                for line in lines(progress.track(rows, task_id=task), part, source.title):
                    file.write(f"{line}\n".encode())
        origin = f"Hugging Face Hub: {source.name} {source.config or ''} {source.revision or ''}".strip()
        (folder / "SOURCE.txt").write_text(f"{origin}\nLicence as stated: {source.licence}\n", encoding="utf-8")


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
