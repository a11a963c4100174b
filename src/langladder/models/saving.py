"""How every model is kept: a folder of `model.safetensors` (its arrays) and `config.json` (what it is).

config.json holds the format version, the class (`_target_`), the vocabulary sizes by name, and the settings. Only
classes of this package are ever built from it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from langladder import artefacts, schema
from langladder.errors import InputError

ARRAYS = "model.safetensors"


class Saved(NamedTuple):
    """What a folder says it holds: the class, its checked settings, the vocabulary sizes in the order asked for."""

    kind: Any
    config: schema.Config
    sizes: list[int]


def write_model(
    folder: Path, model: object, config: schema.Config, sizes: Mapping[str, int], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write both files, atomically. `sizes` by their names in config.json."""
    description = {
        "format": artefacts.FORMAT_VERSION,
        "_target_": f"{type(model).__module__}.{type(model).__qualname__}",
        **sizes,
        "config": config.model_dump(mode="json"),
    }
    with artefacts.atomic(Path(folder)) as temporary:
        temporary.mkdir()
        artefacts.write_arrays(temporary / ARRAYS, arrays)
        artefacts.write_json(temporary / "config.json", description)


def read_description(folder: Path, wanted: type, sizes: Sequence[str], what: str) -> Saved:
    """Read and check config.json.

    Args:
        wanted: the class, or a class above it, that the folder must hold.
        sizes: names of the vocabulary sizes. what: such a model in words, for messages.

    Raises:
        InputError: missing or damaged, another format version, another kind of model.
    """
    path = Path(folder) / "config.json"
    description = artefacts.read_json(path)
    missing = {"format", "_target_", "config", *sizes} - set(description)
    if missing:
        raise InputError(f"{path}: not a saved {what} (lacks {', '.join(sorted(missing))})")
    if description["format"] != artefacts.FORMAT_VERSION:
        raise InputError(f"{path}: format {description['format']}; this version reads {artefacts.FORMAT_VERSION}")
    kind = schema.locate(description["_target_"])
    if not (isinstance(kind, type) and issubclass(kind, wanted)):
        raise InputError(f"{path}: holds a {description['_target_']}, not a {wanted.__name__}")
    config = kind.Config.model_validate(description["config"])  # type: ignore[attr-defined]
    return Saved(kind, config, [description[name] for name in sizes])
