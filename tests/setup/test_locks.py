"""The lock files: nothing in them is one machine's own; for each Python and platform they name all that is required."""

import importlib.metadata
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from lock_files import (
    LOCKED_EXTRAS,
    LOCKS,
    PROJECT,
    TORCH_BUILD,
    declared,
    environments,
    marker_values,
    pins,
    read_hashes,
    read_lock,
    unmet,
)
from packaging.requirements import Requirement

from pipeline import ROOT


@cache
def installed_requirements(name: str) -> list[str] | None:
    try:
        return importlib.metadata.requires(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def test_a_lock_is_plain_pins_with_the_hashes_of_their_files() -> None:
    for lock in LOCKS:
        for pin, hashes in read_hashes(lock).items():
            assert re.fullmatch(r"[a-z0-9.-]+==[\w.]+( ; .+)?", pin), (lock.name, pin)
            assert hashes and all(re.fullmatch(r"sha256:[0-9a-f]{64}", item) for item in hashes), (lock.name, pin)
        assert not [pin.name for pin in read_lock(lock) if TORCH_BUILD.match(pin.name)], "a build's own libraries"


def test_the_project_declares_ranges_and_the_locks_hold_the_versions() -> None:
    extras = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    assert not [line for line in PROJECT["dependencies"] + extras if "==" in line.split(";")[0]]


def test_the_locks_name_each_package_once() -> None:
    names = [pin.name for lock in LOCKS for pin in read_lock(lock)]
    assert sorted(names) == sorted(set(names))


@pytest.mark.parametrize(("python", "platform"), environments())
def test_every_requirement_is_locked(python: str, platform: str) -> None:
    """By the metadata of the packages installed here, their markers read as there."""
    where = marker_values(python, platform)
    assert not unmet(declared("pipeline"), pins(LOCKS[:1], where), where, installed_requirements)
    assert not unmet(declared("dev", "bench"), pins(LOCKS[:2], where), where, installed_requirements)
    assert not unmet(declared(*LOCKED_EXTRAS), pins(LOCKS, where), where, installed_requirements)


def test_a_pin_that_is_missing_or_too_old_is_found() -> None:
    where = marker_values("3.12", "Linux x86_64")
    locked = pins(LOCKS[:1], where)
    without = {name: version for name, version in locked.items() if name != "markupsafe"}
    assert any(
        "markupsafe" in line.lower() for line in unmet(declared("pipeline"), without, where, installed_requirements)
    )
    assert any(
        "locked at 2.12" in line
        for line in unmet(declared("pipeline"), locked | {"torch": "2.12"}, where, installed_requirements)
    )


def test_the_bill_of_materials_names_every_pin_and_file(tmp_path: Path) -> None:
    subprocess.run([sys.executable, ROOT / "scripts" / "sbom.py", tmp_path / "sbom.json"], check=True)
    content = json.loads((tmp_path / "sbom.json").read_text())
    assert (content["bomFormat"], content["specVersion"]) == ("CycloneDX", "1.6")
    packages = {component["name"]: component for component in content["components"]}
    assert (
        len(packages)
        == len(content["components"])
        == len({component["bom-ref"] for component in content["components"]})
    )
    for lock, scope in zip(LOCKS, ("required", "excluded", "excluded"), strict=True):
        for pin, hashes in read_hashes(lock).items():
            package = packages[Requirement(pin).name]
            assert package["purl"] == f"pkg:pypi/{pin.split(' ')[0].replace('==', '@')}" and package["scope"] == scope
            files = [file["hashes"][0] for file in package["externalReferences"]]
            assert [f"{file['alg']}:{file['content']}" for file in files] == [
                h.replace("sha256", "SHA-256") for h in hashes
            ]
