"""Arrays as safetensors: the bytes that the library itself writes, whatever is written piece by piece."""

from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch

from langladder.ground import artefacts
from langladder.ground.artefacts import map_arrays, read_arrays, read_weights, write_arrays
from langladder.ground.errors import InputError

KINDS = (
    "bool",
    "uint8",
    "int8",
    "int16",
    "uint16",
    "float16",
    "int32",
    "uint32",
    "float32",
    "float64",
    "int64",
    "uint64",
)


@pytest.mark.parametrize("about", [None, {}, {"format": "pt"}])
@pytest.mark.parametrize("piece", [2, 1 << 20])
def test_bytes_are_the_librarys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, about: dict[str, str] | None, piece: int
) -> None:
    monkeypatch.setattr(artefacts, "_PIECE", piece)
    arrays: dict[str, np.ndarray] = {
        f"{kind}{size}": np.arange(size).astype(kind) for kind in KINDS for size in (0, 1, 5)
    }
    arrays |= {'é\n"\\\x07/\x7f': np.zeros((2, 0, 3)), "turned": np.arange(12.0).reshape(3, 4).T, "one": np.array(3.0)}
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, tmp_path / "theirs", about)
    write_arrays(tmp_path / "ours", arrays, about)
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


def test_types_that_numpy_lacks_raise_a_named_error(tmp_path: Path) -> None:
    save_torch({"a": torch.ones(2), "half": torch.ones(2).bfloat16()}, tmp_path / "x")
    with pytest.raises(InputError, match=r"x: half is BF16; supported are U64, .*F32"):
        read_arrays(tmp_path / "x")
    weights = read_weights(tmp_path / "x", ["half"])
    assert list(weights) == ["half"] and weights["half"].dtype == np.float32 and weights["half"].tolist() == [1, 1]
    with pytest.raises(InputError, match="not a safetensors file that can be read"):
        read_weights(tmp_path / "x", ["other"])


def test_what_is_mapped_can_be_written(tmp_path: Path) -> None:
    arrays: dict[str, np.ndarray] = {"x": np.arange(1 << 19), "y": np.zeros(0, dtype=np.float32)}
    write_arrays(tmp_path / "once", arrays)
    write_arrays(tmp_path / "twice", map_arrays(tmp_path / "once"))
    assert (tmp_path / "twice").read_bytes() == (tmp_path / "once").read_bytes()
