"""Where stages write. Hydra's folder of a single run or a sweep is checked before it starts.

A stage replaces only files in `OUTPUT_FOLDERS` below the project's root, whatever its settings, its
command line or links say. In other folders (`hydra.run.dir=/another/disk`) it only makes new files and folders.
"""

import os
from dataclasses import replace
from pathlib import Path

from langladder.ground.atomic import STAGE
from langladder.ground.errors import InputError
from langladder.ground.schema import checked_name
from pipeline import ROOT

OUTPUT_FOLDERS = ("models", "data", "reports", "metrics", "curves", "resolved", "checkpoints", "multirun", "outputs")
"""The folders whose content stages can replace. In a single run each of them can be a link to another disk."""


def replaceable(path: Path) -> bool:
    """Whether a stage can replace this file or folder, after following links."""
    root, real = ROOT.resolve(), path.resolve()
    linked = {name: (ROOT / name).resolve() for name in OUTPUT_FOLDERS}
    # not for outputs: a link to another folder of the project, or to a folder above it
    outside = [folder for folder in linked.values() if not (folder.is_relative_to(root) or root.is_relative_to(folder))]
    folders = [*outside, *(folder for name, folder in linked.items() if folder == root / name)]
    return real == root / "resolved" or any(folder in real.parents for folder in folders)


OUTPUT = replace(
    STAGE,
    what=f"in a folder of the project whose content stages replace ({'/, '.join(OUTPUT_FOLDERS)}/)",
    marked=replaceable,
)
"""Owner of the folders that stages make, for `langladder.ground.atomic.atomic_folder`."""


def output(out: Path, folder: str, *names: str, ending: str = "") -> Path:
    """The path where a stage writes: only this function makes a path from names in settings.

    Args:
        out: the folder of the run.
        folder: below it, e.g. `reports/rungs`.
        names: family, rung, side.

    Raises:
        InputError: a name would lead outside of the folder, or the path has a file that is not the stage's.
    """
    for name in names:
        try:
            checked_name(name)
        except ValueError as error:
            raise InputError(f"{name!r}: {error}; change the name in params.yaml or conf/") from error
    path = out.joinpath(folder, *names)
    path = path.with_name(f"{path.name}{ending}")
    if path.is_file() and not replaceable(path.parent / "file"):  # a link to a file is replaced itself
        raise InputError(f"{path}: this file is not replaced because it is not {OUTPUT.what}; choose another folder")
    return path


def check_below(folder: str, above: str) -> None:
    """Check that the folder of a sweep's job is inside the folder of the sweep, whatever its overrides contain.

    Raises:
        InputError: a value such as `../../x` leads out of it.
    """
    if not Path(folder).resolve().is_relative_to(Path(above).resolve()):
        raise InputError(f"{folder}: leads out of the sweep's folder {above}; use absolute paths on the command line")


def check(arguments: list[str]) -> None:
    """Check that Hydra can make its run folder; otherwise it prints a traceback before the stage starts.

    Raises:
        InputError: the folder above it cannot be written, or it has settings of another run, which Hydra would replace.
    """
    sweeps = any(argument in ("-m", "--multirun") for argument in arguments)
    key, folder = ("hydra.sweep.dir=", "multirun") if sweeps else ("hydra.run.dir=", "outputs")
    chosen = next((argument.removeprefix(key) for argument in arguments if argument.startswith(key)), folder)
    path = Path(chosen.strip("'\"").partition("${")[0] or ".")
    near = next(parent for parent in [path.absolute(), *path.absolute().parents] if parent.exists())
    if not near.is_dir():
        raise InputError(f"{chosen}: {near} is a file, not a folder; set {key}… to another path")
    if not os.access(near, os.W_OK):
        raise InputError(
            f"{chosen}: {near} cannot be written (read-only, or no permission); set {key}… to another path"
        )
    settings = path / ".hydra"
    kept = any(argument.startswith("hydra.output_subdir=") for argument in arguments) or "${" in chosen
    if not sweeps and not kept and settings.exists() and not replaceable(settings):
        raise InputError(f"{chosen}: has a folder .hydra, which Hydra would write over; set {key}… to a new folder")
