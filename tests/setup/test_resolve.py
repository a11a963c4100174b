"""The lock files against the package index: metadata for every Python and platform, one build of torch, `make lock`.

Wheels of folders that pip is configured to search are ignored: what is tested is what a stranger's installer finds.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from lock_files import LOCKED_EXTRAS, LOCKS, PYTHONS, TORCH_BUILD, declared, marker_values, pins
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pipeline import ROOT

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

SOURCES: dict[str, list[str]] = {
    "antlr4-python3-runtime": [],
    "kenlm": [],
    "seqeval": ["numpy>=1.14.0", "scikit-learn>=0.21.3"],
}  # on the index as source: nothing is compiled here to read what they require
PLATFORMS = {
    "Linux x86_64": "x86_64-manylinux_2_34",
    "Linux aarch64": "aarch64-manylinux_2_34",
    "macOS arm64": "aarch64-apple-darwin",
}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Skips where no index answers."""
    nowhere = tmp_path_factory.mktemp("no-wheels")
    own = {key: value for key, value in os.environ.items() if not key.startswith("UV_")}
    variables = {**own, "PIP_FIND_LINKS": str(nowhere), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    probe = ["install", "--dry-run", "--ignore-installed", "--no-deps", "--retries", "1", "--timeout", "20", "six"]
    if subprocess.run(
        [sys.executable, "-m", "pip", *probe], env=variables, capture_output=True, check=False
    ).returncode:
        pytest.skip("no package index can be reached from here")
    return variables


class Resolver:
    """uv, which resolves an environment in seconds, where pip takes a minute and a half of CPU time."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.environment = folder, environment | {"MACOSX_DEPLOYMENT_TARGET": "15.0"}
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "-q", "uv"], env=environment, check=True)

    def resolve(
        self, python: str, platform: str, wanted: list[str], locked: dict[str, str], *words: str
    ) -> dict[str, str]:
        """Package → version of what would be installed there; the pins are constraints, and each has a wheel."""
        binary = [f"--only-binary {name}" for name in locked if name not in SOURCES]
        (self.folder / "wanted.txt").write_text("\n".join([*wanted, *binary]))
        (self.folder / "pins.txt").write_text("\n".join(f"{name}=={version}" for name, version in locked.items()))
        known = [
            f"[[dependency-metadata]]\nname = '{name}'\nversion = '{locked[name]}'\nrequires-dist = {requires}\n"
            for name, requires in SOURCES.items()
            if name in locked
        ]
        (self.folder / "uv.toml").write_text("\n".join(known))
        command = [str(self.folder / "bin" / "uv"), "pip", "compile", "-q", "--config-file", "uv.toml"]
        command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "-c", "pins.txt"]
        command += ["--python-version", f"{python}.1", "--python-platform", PLATFORMS[platform], *words, "wanted.txt"]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        requirements = [Requirement(line) for line in re.findall(r"(?m)^[\w.-]+==\S+", done.stdout)]
        return {canonicalize_name(item.name): next(iter(item.specifier)).version for item in requirements}


@pytest.fixture(scope="module")
def resolver(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Resolver:
    return Resolver(tmp_path_factory.mktemp("resolver"), environment)


@pytest.mark.parametrize(("python", "platform"), list(zip(PYTHONS, reversed(PLATFORMS), strict=True)))
def test_locked_packages_meet_each_others_requirements(python: str, platform: str, resolver: Resolver) -> None:
    """A wheel of each pin exists, and each requirement of each package has its pin.

    Each Python and each platform is tested once.
    """
    where = marker_values(python, platform)
    locked = pins(LOCKS, where)
    each = [f"{name}=={version}" for name, version in locked.items()]
    assert resolver.resolve(python, platform, each, locked, "--no-deps") == locked
    for extras, locks in (("pipeline",), LOCKS[:1]), (("dev", "bench"), LOCKS[:2]), (LOCKED_EXTRAS, LOCKS):
        some = pins(locks, where)
        result = resolver.resolve(python, platform, declared(*extras), some)
        assert {
            name: version for name, version in result.items() if not TORCH_BUILD.match(name)
        }.items() <= some.items()


@pytest.mark.parametrize("python", PYTHONS)
def test_torch_finds_what_its_build_depends_on(python: str, resolver: Resolver) -> None:
    """As set-up requests it: with dependencies, at the lock's versions; beyond the lock only the build's own."""
    locked = pins(LOCKS[:1], marker_values(python, "Linux x86_64"))
    result = resolver.resolve(python, "Linux x86_64", [f"torch=={locked['torch']}"], locked)
    more = result.keys() - locked.keys()
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
