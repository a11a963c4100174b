"""`langladder copy`: what was made to a URL, and back."""

import click

from langladder.cli.out import overwrite_option
from langladder.cli.output import json_option, print_json


@click.command()
@click.argument("source")
@click.argument("target")
@overwrite_option
@json_option
def copy(source: str, target: str, overwrite: bool, as_json: bool) -> None:
    """Copy a file or folder SOURCE to TARGET; either may be a URL.

    s3://bucket/… needs `pip install 'langladder[cluster]'`, gs://… gcsfs; https://… and hf://… are only read. A folder
    is copied with all that is below it. Here it stands in its place when it is whole; behind a URL, what was written is
    taken away again where the copy breaks off.

    \b
    Examples:
      langladder copy models/lm/gpt s3://bucket/models/gpt
      langladder copy s3://bucket/encoders/mine input/encoders/mine
    """
    from langladder.remote import located
    from langladder.remote_copies import copy as copied

    files, size = copied(located(source), located(target), overwrite=overwrite)
    if as_json:
        print_json({"out": target, "files": files, "bytes": size})
    else:
        click.echo(f"{source} → {target} ({files:,} file{'s' * (files != 1)}, {size:,} bytes)")
