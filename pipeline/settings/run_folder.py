"""Where Hydra writes a single run or a sweep: seen to before it begins."""

import os
from pathlib import Path

from langladder.errors import InputError


def check(arguments: list[str]) -> None:
    """See that Hydra can make its run folder: where it cannot, it prints a traceback before a stage has its say.

    Raises:
        InputError: the folder above it cannot be written.
    """
    sweeps = any(argument in ("-m", "--multirun") for argument in arguments)
    key, folder = ("hydra.sweep.dir=", "multirun") if sweeps else ("hydra.run.dir=", "outputs")
    chosen = next((argument.removeprefix(key) for argument in arguments if argument.startswith(key)), folder)
    path = Path(chosen.strip("'\"").partition("${")[0] or ".")
    near = next(parent for parent in [path.absolute(), *path.absolute().parents] if parent.exists())
    if not near.is_dir():
        raise InputError(f"{chosen}: {near} is a file, not a folder; set {key}… to another place")
    if not os.access(near, os.W_OK):
        raise InputError(
            f"{chosen}: {near} cannot be written (read-only, or no permission); set {key}… to another place"
        )
