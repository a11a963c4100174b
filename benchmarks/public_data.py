"""The public sets that benchmarks read: one folder for all of them, `--data` or LANGLADDER_DATA (docs/data.md)."""

import gzip
from pathlib import Path

import click

data = click.option(
    "--data",
    type=click.Path(path_type=Path),
    envvar="LANGLADDER_DATA",
    default=Path("input"),
    show_default=True,
    show_envvar=True,
    help="Folder of the public sets; `make data` fetches them (docs/data.md).",
)


class Missing(click.ClickException):
    """A set that is not there; said in a sentence."""


def find(data: Path, name: str) -> Path:
    """A file of a set, e.g. `wikitext-2/train.txt`, as it is or as .gz; also a folder, e.g. `wordsim`.

    Raises:
        Missing: it is not there.
    """
    for path in (data / name, data / f"{name}.gz"):
        if path.exists():
            return path
    raise Missing(f"{data / name}[.gz]: no such file; `make data`, or name the folder with --data (docs/data.md)")


def read(path: Path) -> bytes:
    """The content of a file, decompressed where it ends in .gz."""
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
