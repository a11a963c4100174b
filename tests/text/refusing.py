"""A reader that refuses what it is given, whole."""

from collections.abc import Callable
from pathlib import Path

import pytest

from langladder.ground.errors import InputError


def refused(read: Callable[[], object], folder: Path, message: str) -> None:
    """It says `message`, and nothing is written to `raw` beside the folder."""
    with pytest.raises(InputError, match=message):
        read()
    assert not (folder.parent / "raw").exists() and not list(folder.parent.glob(".raw*"))
