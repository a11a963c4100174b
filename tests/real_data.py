"""Real corpora and reference files that some tests compare with: where LANGLADDER_DATA says they are.

docs/data.md says where each public set comes from and how its folder is named; without them these tests skip.
"""

import os
from pathlib import Path

import pytest


def real(name: str) -> Path:
    """A file or folder of the real data; the calling test skips where that is absent, and says so."""
    root = os.environ.get("LANGLADDER_DATA")
    if not root:
        pytest.skip(f"needs {name}: set LANGLADDER_DATA to the folder of the real data (docs/data.md)")
    path = Path(root).expanduser() / name
    if not path.exists():
        pytest.skip(f"LANGLADDER_DATA={root} holds no {name}")
    return path
