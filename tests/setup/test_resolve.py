"""The lock files against the package index: metadata for every Python and platform, one build of torch, `make lock`.

Wheels of folders that pip is configured to look at are left aside: what is looked at is what a stranger's pip finds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from lock_files import (
    LOCKED_EXTRAS,
    LOCKS,
    PLATFORMS,
    PYTHONS,
    TORCH_BUILD,
    declared,
    marker_values,
    pins,
    read_hashes,
    unmet,
)
from packaging.utils import canonicalize_name

from pipeline import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

SOURCES: dict[str, list[str]] = {
    "antlr4-python3-runtime": [],
    "kenlm": [],
    "seqeval": ["numpy>=1.14.0", "scikit-learn>=0.21.3"],
}  # on the index as source
MANYLINUX = [f"manylinux_2_{minor}" for minor in range(5, 35)] + ["manylinux2014", "manylinux2010", "manylinux1"]
TAGS = {
    "Linux x86_64": [f"{tag}_x86_64" for tag in MANYLINUX],
    "Linux aarch64": [f"{tag}_aarch64" for tag in MANYLINUX],
    "macOS arm64": ["macosx_15_0_arm64"],
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Skips where no index answers."""
    nowhere = tmp_path_factory.mktemp("no-wheels")
    variables = {**os.environ, "PIP_FIND_LINKS": str(nowhere), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    probe = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--retries", "1", "--timeout", "20", "six"]
    if subprocess.run(
        [sys.executable, "-m", "pip", *probe], env=variables, capture_output=True, check=False
    ).returncode:
        pytest.skip("no package index can be reached from here")
    return variables


def resolve(environment: dict[str, str], report: Path, python: str, platform: str, *words: str) -> Iterator[dict]:
    """Metadata of what pip would install there; nothing is downloaded but metadata."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--report", str(report)]
    command += [
        "--quiet",
        "--target",
        str(report.with_suffix("")),
        "--only-binary",
        ":all:",
        "--python-version",
        python,
    ]
    command += [word for tag in TAGS[platform] for word in ("--platform", tag)]
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    yield from (item["metadata"] for item in json.loads(report.read_text())["install"])


@pytest.mark.parametrize(("python", "platform"), list(zip(PYTHONS, reversed(PLATFORMS), strict=True)))
def test_locked_packages_meet_each_others_requirements(
    python: str, platform: str, environment: dict[str, str], tmp_path: Path
) -> None:
    """A wheel of each pin is there, and each requirement of each of them has its pin.

    Each Python and each platform once: an environment takes pip most of a minute.
    """
    where = marker_values(python, platform)
    locked = pins(LOCKS, where)
    wanted = tmp_path / "wanted.txt"
    wanted.write_text("\n".join(f"{name}=={version}" for name, version in locked.items() if name not in SOURCES))
    found = resolve(environment, tmp_path / "report.json", python, platform, "--no-deps", "-r", str(wanted))
    metadata: dict[str, list[str]] = {canonicalize_name(one["name"]): one.get("requires_dist", []) for one in found}
    metadata |= {name: none for name, none in SOURCES.items() if name in locked}
    assert metadata.keys() == locked.keys()
    for extras, locks in (("pipeline",), LOCKS[:1]), (("dev", "bench"), LOCKS[:2]), (LOCKED_EXTRAS, LOCKS):
        assert not unmet(declared(*extras), pins(locks, where), where, metadata.get)


@pytest.mark.parametrize("python", PYTHONS)
def test_torch_finds_what_its_build_depends_on(python: str, environment: dict[str, str], tmp_path: Path) -> None:
    """As set-up asks for it: with dependencies, at the lock's versions; beyond the lock only the build's own."""
    locked = pins(LOCKS[:1], marker_values(python, "Linux x86_64"))
    constraints = tmp_path / "constraints.txt"
    constraints.write_text("\n".join(read_hashes(LOCKS[0])))
    words = ["-c", str(constraints), f"torch=={locked['torch']}"]
    found = resolve(environment, tmp_path / "report.json", python, "Linux x86_64", *words)
    more = {canonicalize_name(one["name"]) for one in found} - locked.keys()
    assert any("cudnn" in name for name in more), "the index' build for Linux is the one for NVIDIA GPUs"
    assert all(TORCH_BUILD.match(name) for name in more), more


def test_the_locks_are_those_of_pyproject(environment: dict[str, str], tmp_path: Path) -> None:
    """`make lock` leaves them as they are: nothing was declared without it, nothing was written by hand."""
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE", "scripts/lock", *(lock.name for lock in LOCKS)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / "scripts" / "lock").chmod(0o755)
    subprocess.run(["make", "lock", f"PYTHON={sys.executable}"], cwd=tmp_path, env=environment, check=True)
    for lock in LOCKS:
        assert (tmp_path / lock.name).read_text() == lock.read_text(), lock.name
