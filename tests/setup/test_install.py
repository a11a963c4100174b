"""scripts/install.py: the wanted build of torch with what it depends on; nothing of pip's errors is hidden."""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from pipeline import ROOT
from scripts import install as install_script

BACKEND = """
import zipfile
def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "langladder-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{folder}/{name}", "w") as wheel:
        info = "langladder-0.1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\\nName: langladder\\nVersion: 0.1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
    return name
"""


def make_wheel(folder: Path, name: str, version: str, requires: list[str], files: dict[str, str]) -> str:
    """Its pin for a lock file."""
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    contents = files | {
        f"{info}/METADATA": metadata + "".join(f"Requires-Dist: {line}\n" for line in requires),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    records = []
    file = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as wheel:
        for path, text in contents.items():
            wheel.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            records.append(f"{path},sha256={digest},{len(text.encode())}")
        wheel.writestr(f"{info}/RECORD", "\n".join([*records, f"{info}/RECORD,,"]) + "\n")
    return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of one package and torch, and a folder of wheels that has two builds of it."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "scripts").mkdir()
    (folder / "wheels").mkdir()
    shutil.copy(ROOT / "scripts" / "install.py", folder / "scripts")
    shutil.copy(ROOT / "Makefile", folder)
    (folder / "backend.py").write_text(BACKEND)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'
    )
    (folder / "requirements-dev.lock").write_text("# pins\n")
    wheels = folder / "wheels"
    plain = make_wheel(wheels, "plain", "1.0", [], {"plain.py": ""})
    make_wheel(wheels, "plain", "2.0", [], {"plain.py": ""})
    make_wheel(wheels, "nvidia_cudnn", "9.0", ["nvidia-blas"], {"cudnn.py": ""})
    make_wheel(wheels, "nvidia_blas", "9.0", [], {"blas.py": ""})
    facts = "from typing import Optional\n\ncuda: Optional[str] = {}\nhip: Optional[str] = None\n"
    make_wheel(wheels, "torch", "2.13.0+cpu", ["plain"], {"torch/version.py": facts.format(None)})
    torch = make_wheel(
        wheels, "torch", "2.13.0", ["plain", "nvidia-cudnn"], {"torch/version.py": facts.format("'13.0'")}
    )
    (folder / "requirements.lock").write_text(f"# pins\n{plain}{torch}")
    return folder


def install(project: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "scripts/install.py", ".venv", "requirements.lock", *words]
    offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(project / "wheels"), "PIP_CONFIG_FILE": os.devnull}
    return subprocess.run(
        command, cwd=project, env={**os.environ, **offline, **environment}, capture_output=True, text=True, check=False
    )


def packages(project: Path) -> set[str]:
    infos = next((project / ".venv").glob("lib/python*/site-packages")).glob("*.dist-info")
    return {info.name.removesuffix(".dist-info") for info in infos} - {"langladder-0.1.0"}


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has one build of torch")
def test_each_build_of_torch_comes_with_what_it_depends_on(project: Path) -> None:
    def kept() -> set[str]:
        return {name for name in packages(project) if not name.startswith(("pip", "setuptools"))}

    first = install(project)
    assert first.returncode == 0, first.stdout + first.stderr
    assert kept() == {"plain-1.0", "torch-2.13.0+cpu"}, "the build that pip finds first"
    assert "2 packages of requirements.lock" in first.stdout and "NVIDIA GPU here: torch for" in first.stdout
    again = install(project)
    assert "0 packages of requirements.lock" in again.stdout and "GPU here" not in again.stdout

    other = install(project, "--torch", "cuda")
    assert other.returncode == 0, other.stdout + other.stderr
    assert kept() == {"plain-1.0", "torch-2.13.0", "nvidia_cudnn-9.0", "nvidia_blas-9.0"}

    assert (project / ".venv" / "torch-build").read_text() == "cuda\n", "remembered for the next time"

    back = install(project, "--torch", "cpu")
    assert back.returncode == 0, back.stdout + back.stderr
    assert "removing torch 2.13.0 and 2 packages" in back.stdout
    assert kept() == {"plain-1.0", "torch-2.13.0+cpu"}, "and what only the other build needed is gone"

    lock = project / "requirements.lock"
    text = lock.read_text()
    lock.write_text(re.sub(r"(torch==.*\n.*sha256:)\w{8}", r"\g<1>00000000", text))
    failed = install(project, "--torch", "cuda")
    lock.write_text(text)
    assert "DO NOT MATCH THE HASHES" in failed.stdout, "the index' own build is that of the lock"


def test_an_error_of_pip_is_shown(project: Path) -> None:
    lock = project / "requirements.lock"
    text = lock.read_text()
    lock.write_text(text + f"no-such-package==1.0 --hash=sha256:{'0' * 64}\n")
    failed = install(project)
    lock.write_text(text)
    assert failed.returncode == 1
    assert "No matching distribution found for no-such-package==1.0" in failed.stdout
    assert "setting up failed" in failed.stderr and "Traceback" not in failed.stderr


@pytest.mark.parametrize("other", [f" --hash=sha256:{'0' * 64}", ""])
def test_a_file_is_refused_whose_hash_the_lock_lacks(project: Path, other: str) -> None:
    lock = project / "requirements.lock"
    text = lock.read_text()
    lock.write_text(re.sub(r"plain==1.0 .*\n.*", f"plain==2.0{other}", text))
    failed = install(project)
    lock.write_text(text)
    assert failed.returncode == 1
    assert re.search("DO NOT MATCH THE HASHES|Hashes are required", failed.stdout), failed.stdout
    assert "plain-2.0" not in packages(project)


PIN = "torch==2.13.0 --hash=sha256:00"
CPU_INDEX = "--extra-index-url https://download.pytorch.org/whl/cpu"


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has one build of torch")
@pytest.mark.parametrize(
    ("build", "there", "gpu", "words"),
    [
        ("", "", False, [CPU_INDEX, "torch==2.13.0"]),
        ("", "", True, ["torch==2.13.0"]),
        ("", "cpu", True, [CPU_INDEX, "torch==2.13.0"]),  # an environment keeps its build
        ("", "cuda", False, ["torch==2.13.0"]),
        ("cpu", "", True, [CPU_INDEX, "torch==2.13.0+cpu"]),
        ("cuda", "", False, ["torch===2.13.0 --hash=sha256:00"]),
    ],
)
def test_without_a_word_the_build_is_that_for_this_machine(
    build: str, there: str, gpu: bool, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install_script, "has_nvidia_gpu", lambda: gpu)
    assert install_script.choose_torch(PIN, build, there) == words


@pytest.mark.skipif(bool(list(Path("/dev").glob("nvidia[0-9]*"))), reason="a GPU")
def test_a_gpu_is_one_that_the_driver_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver without a GPU is none: nvidia-smi stays where a card was taken out."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not install_script.has_nvidia_gpu()
    for line, result in (
        ("echo 'GPU 0: NVIDIA A100'", True),
        ("echo 'No devices were found'", False),
        ("exit 9", False),
    ):
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
        assert install_script.has_nvidia_gpu() == result


def test_an_unknown_build_is_refused(project: Path) -> None:
    failed = install(project, "--torch", "gpu")
    assert failed.returncode == 1
    assert "TORCH=gpu: one of cpu, cuda" in failed.stderr


def test_make_acts_on_another_build(project: Path, tmp_path: Path) -> None:
    """The stamps are new, but TORCH names another build than the installed one."""

    def would_run(*words: str) -> str:
        command = ["make", "-n", "setup", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    for name in ("Makefile", "requirements.lock", "requirements-dev.lock", "pyproject.toml", "scripts"):
        (tmp_path / name).symlink_to(project / name)
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "torch-build").write_text("cpu\n")
    for stamp in ("ready", "ready-dev"):
        (tmp_path / ".venv" / stamp).touch()
    assert "install.py" not in would_run()
    assert "install.py" not in would_run("TORCH=cpu")
    assert "install.py" in would_run("TORCH=cuda")
