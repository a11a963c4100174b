"""`langladder copy`: what was made to a URL, and back."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.faces.cli.options import PathOrURL, json_option, overwrite_option
from langladder.faces.cli.output import claim, print_json, report_written, to
from langladder.ground.atomic import Owner

if TYPE_CHECKING:
    from langladder.ground.remote import File

FOLDER = Owner("a copy that may be replaced", (), lambda _: False)  # only an empty folder is filled


@click.command()
@click.argument("source", type=PathOrURL())
@click.argument("out", type=PathOrURL())
@overwrite_option
@json_option
def copy(source: "File", out: "File", overwrite: bool, as_json: bool) -> None:
    """Copy a file or folder SOURCE to OUT; either may be a URL.

    s3://bucket/… needs `pip install 'langladder[cluster]'`, gs://… gcsfs; https://… and hf://… are only read. A folder
    is copied with all that is below it. Here it stands in its place when it is whole; behind a URL, what was written is
    taken away again where the copy breaks off.

    \b
    Examples:
      langladder copy models/lm/gpt s3://bucket/models/gpt
      langladder copy s3://bucket/encoders/mine input/encoders/mine
    """
    from langladder.ground.remote import copy as copied

    reads = source if isinstance(source, Path) else None
    place = claim(out, overwrite, [reads], FOLDER if source.is_dir() else None, answers=as_json)
    if isinstance(place, Path):
        with to(place) as path:
            files, size = copied(source, path, overwrite=overwrite)
    else:
        files, size = copied(source, place, overwrite=overwrite)
    if as_json:
        print_json({"out": str(out), "files": files, "bytes": size})
    else:
        report_written(place, f"{source} → {out} ({files:,} file{'s' * (files != 1)}, {size:,} bytes)")
