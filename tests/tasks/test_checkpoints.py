"""Checkpoints: whatever training holds comes back, without pickle."""

from pathlib import Path
from typing import Any

import pytest
import torch

from langladder.ground.errors import InputError
from langladder.tasks.checkpoints import read_checkpoint, write_checkpoint


def same(a: Any, b: Any) -> bool:
    """Equal in kind and value, all the way down."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


def test_roundtrip_of_nested_state(tmp_path: Path):
    shared = torch.randn(3, 4)
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.randn(2, 2))], betas=(0.8, 0.9))
    optimizer.param_groups[0]["params"][0].sum().backward()
    optimizer.step()
    state = {
        "optimizer": optimizer.state_dict(),
        "carried": (torch.ones(1, 2), None, [True, 1, 0.1, "x"]),
        "tied": {"a": shared, "b": shared.view_as(shared)},
        "kinds": [torch.tensor(3), torch.zeros(0), torch.randn(2, 3).T, torch.ones(2, dtype=torch.bfloat16)],
        "$odd": {("a", 1): 2.5},
    }
    path = tmp_path / "c.safetensors"
    write_checkpoint(path, state)
    back = read_checkpoint(path)
    assert same(back, state)
    assert back["optimizer"]["param_groups"][0]["betas"] == (0.8, 0.9)
    assert path.stat().st_size < 10_000
    write_checkpoint(tmp_path / "again", back)
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_only_plain_values_are_written(tmp_path: Path):
    with pytest.raises(TypeError, match="not <class 'object'>"):
        write_checkpoint(tmp_path / "c", {"x": object()})
    assert list(tmp_path.iterdir()) == []


def test_damaged_or_missing_files_are_named(tmp_path: Path):
    path = tmp_path / "c.safetensors"
    with pytest.raises(InputError, match="no such checkpoint"):
        read_checkpoint(path)
    path.write_bytes(b"\x00" * 100)
    with pytest.raises(InputError, match="damaged checkpoint"):
        read_checkpoint(path)
    torch.save({"x": 1}, path)
    with pytest.raises(InputError, match="damaged checkpoint"):
        read_checkpoint(path)
