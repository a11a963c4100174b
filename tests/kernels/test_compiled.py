"""The cache of compiled kernels: a folder for every state of their source."""

import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from langladder.kernels.compiled import PACKAGE, njit, version

FILES = {
    "kernels/helper.py": "x = 1\n",
    "kernels/word2vec/rows.py": "x = 1\n",
    "text/tokenize/specials.py": "PAD = 0\n",
    "text/plain.py": "x = 1\n",
}


@pytest.mark.parametrize(("file", "counts"), [(name, name != "text/plain.py") for name in FILES])
def test_an_edit_of_a_kernel_changes_the_version_and_no_other_edit(tmp_path: Path, file: str, counts: bool) -> None:
    for name, source in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(source)
    before = version(tmp_path / "kernels")
    (tmp_path / file).write_text("y = 2\n")
    assert (version(tmp_path / "kernels") != before) == counts


def test_a_helper_that_changed_is_compiled_again(tmp_path: Path) -> None:
    """What Numba's own cache gets wrong: `caller` would go on calling the old `helper`."""
    kernels, specials = tmp_path / "langladder" / "kernels", Path("text") / "tokenize" / "specials.py"
    (tmp_path / "langladder" / specials).parent.mkdir(parents=True)
    kernels.mkdir()
    for file in ("__init__.py", "kernels/__init__.py", specials):
        (tmp_path / "langladder" / file).write_text("")
    (kernels / "compiled.py").write_text((PACKAGE / "compiled.py").read_text())
    imports = "from langladder.kernels.compiled import njit\n"
    (kernels / "caller.py").write_text(
        f"{imports}from langladder.kernels.helper import helper\n\n\n@njit()\ndef caller(x):\n    return helper(x)\n"
    )
    result = []
    for step in (1, 10):
        (kernels / "helper.py").write_text(f"{imports}\n\n@njit()\ndef helper(x):\n    return x + {step}\n")
        code = "from langladder.kernels.caller import caller; print(caller(1))"
        result.append(subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True).stdout)
    assert result == ["2\n", "11\n"]
    assert len(list((kernels / "__pycache__").glob("kernels-*"))) == 2


def test_without_a_folder_to_write_to_kernels_are_compiled_in_each_process(tmp_path: Path) -> None:
    package = tmp_path / "langladder"
    shutil.copytree(PACKAGE, package / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    (package / "text" / "tokenize").mkdir(parents=True)
    for file in ("__init__.py", "text/__init__.py", "text/tokenize/__init__.py", "text/tokenize/specials.py"):
        (package / file).write_text((PACKAGE.parent / file).read_text() if file.endswith("specials.py") else "")
    for folder in (package / "kernels", tmp_path / "home"):
        folder.mkdir(exist_ok=True)
        (folder / "__pycache__").write_text("a file, in which nothing can be written")
    (tmp_path / "home" / ".cache").write_text("")
    code = (
        "import numpy as np; from langladder.kernels.crf import copy; from langladder.kernels import compiled\n"
        "print(compiled.__file__, copy.stats.cache_path)"
    )
    free = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=free, capture_output=True, text=True)
    assert done.stdout == f"{package / 'kernels' / 'compiled.py'} None\n", done.stderr


def test_compiled_functions_are_kept_in_a_folder_of_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where Numba has read its settings anew, as it does when a variable of its own changes."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", "1")

    def double(x: int) -> int:
        return 2 * x

    numba.njit()(double)(3)
    kept = njit()(double)
    assert kept(4) == 8
    assert f"kernels-{version(PACKAGE)}" in Path(getattr(kept, "stats").cache_path).parts  # noqa: B009 - a dispatcher
