"""Checkpoints without pickle: tensors as safetensors, everything else as JSON in the same file's header.

It is one file, written under a temporary name and then renamed. So at any moment the folder has a complete checkpoint
(the new one or the previous one), even if the process dies. Reading runs no code.
"""

import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning.plugins.io import CheckpointIO
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from langladder.ground.artefacts import FORMAT_VERSION
from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError

SUFFIX = ".safetensors"
Checkpoint = dict[str, Any]
"""Nested dicts, lists and tuples of tensors, numbers and strings."""
_TENSOR, _TUPLE, _ITEMS = "$tensor", "$tuple", "$items"


def write_checkpoint(path: Path, checkpoint: Mapping[str, object]) -> None:
    """Write nested dicts, lists, tuples, tensors, numbers, strings, None. Raises TypeError for anything else."""
    tensors: dict[str, torch.Tensor] = {}
    state = _encode(dict(checkpoint), tensors, {})
    # one entry only, because safetensors writes several in no fixed order
    header = {"checkpoint": json.dumps({"format": FORMAT_VERSION, "state": state})}
    with atomic_file(Path(path)) as temporary:
        save_file(tensors, temporary, metadata=header)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read what `write_checkpoint` wrote; tensors come back on the CPU.

    Raises:
        InputError: no such file, or not a checkpoint of this format.
    """
    if not Path(path).is_file():
        raise InputError(f"{path}: no such checkpoint")
    try:
        with safe_open(path, framework="pt") as file:
            header = json.loads((file.metadata() or {}).get("checkpoint", "{}"))
            if header.get("format") != FORMAT_VERSION:
                raise InputError(f"{path}: not a checkpoint of format {FORMAT_VERSION}; delete it to start afresh")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        checkpoint: Checkpoint = _decode(header["state"], tensors)
    except InputError:
        raise
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path}: damaged checkpoint ({error}); delete it to start afresh") from error
    return checkpoint


def _encode(value: object, tensors: dict[str, torch.Tensor], names: dict[Hashable, str]) -> object:
    """JSON form of `value`. Its tensors go to `tensors`; a shared tensor (tied weights) goes there only once."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, torch.Tensor):
        identity = (
            (value.data_ptr(), value.shape, value.stride(), value.dtype, value.device) if value.numel() else value
        )
        if identity not in names:
            names[identity] = f"{len(names)}"
            tensors[names[identity]] = value.detach().clone(memory_format=torch.contiguous_format).cpu()
        return {_TENSOR: names[identity]}
    if isinstance(value, tuple):
        return {_TUPLE: [_encode(item, tensors, names) for item in value]}
    if isinstance(value, list):
        return [_encode(item, tensors, names) for item in value]
    if isinstance(value, Mapping):
        if all(isinstance(key, str) and not key.startswith("$") for key in value):
            return {key: _encode(item, tensors, names) for key, item in value.items()}
        items = [[_encode(key, tensors, names), _encode(item, tensors, names)] for key, item in value.items()]
        return {_ITEMS: items}
    raise TypeError(f"a checkpoint holds numbers, strings, tensors and their collections, not {type(value)}")


def _decode(value: Any, tensors: Mapping[str, torch.Tensor]) -> Any:
    if isinstance(value, list):
        return [_decode(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if _TENSOR in value:
        return tensors[value[_TENSOR]]
    if _TUPLE in value:
        return tuple(_decode(value[_TUPLE], tensors))
    if _ITEMS in value:
        return {_decode(key, tensors): _decode(item, tensors) for key, item in value[_ITEMS]}
    return {key: _decode(item, tensors) for key, item in value.items()}


class SafetensorsCheckpointIO(CheckpointIO):
    """Lightning's interface to these files."""

    def save_checkpoint(self, checkpoint: Checkpoint, path: str | Path, storage_options: object = None) -> None:
        """Write one checkpoint; `storage_options` is ignored."""
        del storage_options
        write_checkpoint(Path(path), checkpoint)

    def load_checkpoint(
        self, path: str | Path, map_location: object = None, weights_only: bool | None = None
    ) -> Checkpoint:
        """Read one checkpoint onto the CPU; Lightning moves it to the device."""
        del map_location, weights_only
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: str | Path) -> None:
        """Delete one checkpoint."""
        Path(path).unlink(missing_ok=True)
