"""What tests of texts share. Property tests draw the same examples on every run, and no deadline fails them on a busy
machine."""

from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.load_profile("steady")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Empty, beside where a reader writes."""
    (tmp_path / "texts").mkdir()
    return tmp_path / "texts"
