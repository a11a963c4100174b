"""Small files that several stages write."""

import csv
import io
import os
from pathlib import Path
from typing import Any

from langladder.artefacts import write_text
from langladder.errors import InputError


def check_run_folder(arguments: list[str]) -> None:
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


def shown(figure: float | None) -> str:
    """A figure in a line of progress; none (nothing was measured) is a dash."""
    return "–" if figure is None else f"{figure:.4f}"


def write_curve(path: Path, rows: list[dict[str, Any]]) -> None:
    """A learning curve as CSV (step, train_loss, validation_loss, lr, what else there is); no steps, a header alone."""
    buffer = io.StringIO()
    columns = dict.fromkeys(["step", "train_loss", "validation_loss", "lr", *(name for row in rows for name in row)])
    writer = csv.DictWriter(buffer, list(columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, buffer.getvalue())
