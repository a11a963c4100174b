"""Lock files and packages' metadata: has every requirement of every package its pin, wherever the project runs?"""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from pipeline import ROOT

LOCKS = [ROOT / name for name in ("requirements.lock", "requirements-dev.lock", "requirements-peers.lock")]
TORCH_BUILD = re.compile(r"(nvidia|cuda|triton)\b")  # what a build of torch brings along: in no lock
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKED_EXTRAS = ("dev", "bench", "onnx", "peers")
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = {
    "Linux x86_64": {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"},
    "Linux aarch64": {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "aarch64"},
    "macOS arm64": {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
}

Metadata = Callable[[str], list[str] | None]  # a package's requirements; None: not known here


def marker_values(python: str, platform: str) -> dict[str, str]:
    """What markers see there."""
    return PLATFORMS[platform] | {
        "python_version": python,
        "python_full_version": f"{python}.1",
        "implementation_name": "cpython",
        "implementation_version": f"{python}.1",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_version": "",
        "os_name": "posix",
    }


def applies(marker: Marker | None, where: dict[str, str], extra: str = "") -> bool:
    return marker is None or marker.evaluate({**where, "extra": extra})


def read_hashes(lock: Path) -> dict[str, list[str]]:
    """Each pin as it stands, without its hashes → its hashes."""
    text = lock.read_text(encoding="utf-8").replace(" \\\n    ", " ")
    lines = [line.split(" --hash=") for line in text.splitlines() if line and not line.startswith("#")]
    return {pin: hashes for pin, *hashes in lines}


def read_lock(lock: Path) -> list[Requirement]:
    return [Requirement(pin) for pin in read_hashes(lock)]


def pins(locks: list[Path], where: dict[str, str]) -> dict[str, str]:
    """Package → version there."""
    return {
        canonicalize_name(pin.name): next(iter(pin.specifier)).version
        for lock in locks
        for pin in read_lock(lock)
        if applies(pin.marker, where)
    }


def declared(*extras: str) -> list[str]:
    """The project's own requirements."""
    result, todo = list(PROJECT["dependencies"]), list(extras)
    while todo:
        for line in PROJECT["optional-dependencies"][todo.pop(0)]:
            own = Requirement(line)
            todo += own.extras if own.name == PROJECT["name"] else []
            result += [line] if own.name != PROJECT["name"] else []
    return list(dict.fromkeys(result))


def unmet(wanted: list[str], locked: dict[str, str], where: dict[str, str], metadata: Metadata) -> list[str]:
    """What somebody requires there and no pin serves."""
    problems: list[str] = []
    seen: set[tuple[str, str]] = set()
    todo = [("pyproject.toml", line, "") for line in wanted]
    while todo:
        who, line, extra = todo.pop()
        need = Requirement(line)
        name = canonicalize_name(need.name)
        if not applies(need.marker, where, extra) or (who == "torch" and TORCH_BUILD.match(name)):
            continue
        if name == "langladder":
            todo += [(name, more, "") for more in declared(*need.extras)]
        elif name not in locked:
            problems.append(f"{who} requires {need}: not locked")
        else:
            if not need.specifier.contains(locked[name], prereleases=True):
                problems.append(f"{who} requires {need}: locked at {locked[name]}")
            new = {(name, extra) for extra in ("", *need.extras)} - seen
            seen |= new
            todo += [(name, more, item) for _, item in sorted(new) for more in metadata(name) or []]
    return problems


def environments() -> list[tuple[str, str]]:
    return [(python, platform) for python in PYTHONS for platform in PLATFORMS]
