"""The format of saved models: a folder with `model.safetensors` (arrays) and `config.json` (class and settings).

config.json has the format version, the class (`_target_`), the vocabulary sizes by name, the settings and, for models
that read words, the normalisation of their training text (`normalisation`). Only classes of this package, and of
packages that the user has listed (`ground.plugins`), are ever created from it.
"""

from collections.abc import Callable, Mapping, Sequence
from inspect import isabstract
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from langladder.ground import artefacts, plugins, schema
from langladder.ground.atomic import Owner, atomic_folder
from langladder.ground.errors import InputError
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import CONVENTIONS

ARRAYS = "model.safetensors"
READING = "reading.json"
"""The file with the labels and units of a model of whole texts."""
MOST_IDS = 2**31 - 1  # tokens are stored as int32


def _is_model(folder: Path) -> bool:
    try:
        target = str(artefacts.read_json(folder / "config.json")["_target_"])
    except (InputError, KeyError, TypeError):
        return False
    return target.startswith("langladder.") or plugins.package_of(target) is not None


BESIDE = (
    "tokenizer.json",
    "source.json",
    "target.json",
    "codes.json",
    CONVENTIONS,
    READING,
    "provenance.json",
    "README.md",
)  # set by the pipeline
MODEL = Owner("a model that langladder saved", (ARRAYS, "config.json", *BESIDE), _is_model)


class Saved(NamedTuple):
    """The description of a saved model: class, checked settings, sizes in the order of the class's `SIZES`.

    normalisation: of its training text, for a model that reads words.
    """

    kind: Any
    config: schema.Config
    sizes: list[int]
    normalisation: Normalisation = Normalisation()


def write_model(
    folder: Path,
    model: object,
    config: schema.Config,
    sizes: Mapping[str, int],
    arrays: Mapping[str, np.ndarray],
    beside: Callable[[Path], object] | None = None,
) -> None:
    """Write both files and the model's further files, atomically.

    Args:
        sizes: vocabulary sizes by their names in config.json.
        beside: a function that writes further necessary files into the folder.
    """
    description = {
        "format": artefacts.FORMAT_VERSION,
        "_target_": f"{type(model).__module__}.{type(model).__qualname__}",
        **sizes,
        "config": config.model_dump(mode="json"),
    }
    if names := getattr(model, "normalisation", Normalisation()).names:
        description["normalisation"] = list(names)
    with atomic_folder(Path(folder), MODEL) as temporary:
        artefacts.write_arrays(temporary / ARRAYS, arrays)
        artefacts.write_json(temporary / "config.json", description)
        if beside is not None:
            beside(temporary)


def read_description(folder: Path, wanted: type, what: str) -> Saved:
    """Read and check config.json.

    Args:
        wanted: the required class, or a base class of it. what: such a model in words, for messages.

    Raises:
        InputError: the file is missing or damaged, or has another format version or another kind of model.
    """
    path = Path(folder) / "config.json"
    description = artefacts.read_json(path)
    if not isinstance(description, dict):
        raise InputError(f"{path}: not a saved {what} (a {type(description).__name__}, not an object)")
    _check_keys(path, description, ("format", "_target_", "config"), what)
    if description["format"] != artefacts.FORMAT_VERSION:
        raise InputError(
            f"{path}: format {str(description['format'])[:40]}; this version reads {artefacts.FORMAT_VERSION}"
        )
    kind = located(path, description["_target_"])
    if not issubclass(kind, wanted) or isabstract(kind):
        raise InputError(f"{path}: holds a {description['_target_']}, not a {wanted.__name__}")
    sizes: Sequence[str] = kind.SIZES  # type: ignore[attr-defined]
    _check_keys(path, description, sizes, what)
    config = schema.checked(kind.Config, description["config"], f"{path}: config")  # type: ignore[attr-defined]
    written = Normalisation.checked(description.get("normalisation"), f"{path}: normalisation")
    return Saved(kind, config, [checked_size(path, name, description[name]) for name in sizes], written)


def _check_keys(path: Path, description: Mapping[str, object], keys: Sequence[str], what: str) -> None:
    if missing := sorted(set(keys) - set(description)):
        raise InputError(f"{path}: not a saved {what} (lacks {', '.join(missing)})")


def located(path: Path, target: str) -> type:
    """The class in a file. Raises InputError with the file's name if the class is not allowed or does not exist."""
    try:
        kind: type = schema.locate(target)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return kind


def checked_size(path: Path, name: str, size: object) -> int:
    """A size in a file. Raises InputError with the file's name unless it is a whole number from 1 to MOST_IDS."""
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_IDS:
        described = (
            size if isinstance(size, float) else f"a {type(size).__name__}" if not isinstance(size, int) else "it"
        )
        raise InputError(f"{path}: {name}: {described} is not a whole number from 1 to {MOST_IDS:,}")
    return size
