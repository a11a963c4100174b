"""The cache of compiled kernels: a folder for every state of their source."""

import subprocess
import sys
from pathlib import Path

import numba
import pytest

from langladder.kernels.compiled import PACKAGE, njit, version

KERNELS = {
    "__init__.py": "",
    "helper.py": "from numba import njit\n\n@njit\ndef helper(x):\n    return x + 1\n",
    "caller.py": "from langladder.kernels.compiled import njit\n",
    "text/tokenize/specials.py": "PAD = 0\n",
    "plain.py": "x = 1\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    for name, source in KERNELS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    return tmp_path


@pytest.mark.parametrize("file", ["helper.py", "caller.py", "text/tokenize/specials.py"])
def test_an_edit_of_a_kernel_changes_the_version(package: Path, file: str) -> None:
    before = version(package)
    (package / file).write_text(KERNELS[file] + "y = 2\n")
    assert version(package) != before


def test_an_edit_elsewhere_does_not(package: Path) -> None:
    before = version(package)
    (package / "plain.py").write_text("x = 2\n")
    assert version(package) == before


def test_the_cache_lies_in_a_folder_of_the_version() -> None:
    assert Path(numba.config.CACHE_DIR).name == f"kernels-{version(PACKAGE)}"  # type: ignore[attr-defined]


def test_a_helper_that_changed_is_compiled_anew(tmp_path: Path) -> None:
    """What Numba's own cache gets wrong: `caller` would go on calling the old `helper`."""
    copy = tmp_path / "langladder"
    copy.mkdir()
    (copy / "__init__.py").write_text("")
    (copy / "compiled.py").write_text((PACKAGE / "compiled.py").read_text())
    imports = "from langladder.kernels.compiled import njit\n"
    (copy / "caller.py").write_text(
        f"{imports}from langladder.helper import helper\n\n\n@njit()\ndef caller(x):\n    return helper(x)\n"
    )
    found = []
    for step in (1, 10):
        (copy / "helper.py").write_text(f"{imports}\n\n@njit()\ndef helper(x):\n    return x + {step}\n")
        code = "from langladder.caller import caller; print(caller(1))"
        found.append(subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True).stdout)
    assert found == ["2\n", "11\n"]
    assert len(list((copy / "__pycache__").glob("kernels-*"))) == 2


def test_compiled_functions_are_kept() -> None:
    @njit()
    def double(x: int) -> int:
        return 2 * x

    assert double(4) == 8
    assert getattr(double, "stats").cache_path.startswith(numba.config.CACHE_DIR)  # type: ignore[attr-defined]  # noqa: B009 - a dispatcher
