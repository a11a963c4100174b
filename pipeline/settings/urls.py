"""Files from outside, named by URL or by path: which DVC can watch, so that `dvc repro` notices when they change.

Of a URL DVC asks the server for the ETags (of a folder: of everything below, by its listing), keeps them in dvc.lock
and fetches nothing; the stage then reads what it needs, block by block. DVC has a package for each sort of server.
"""

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from langladder.ground.remote import is_url

PACKAGES = {"s3": "dvc_s3", "gs": "dvc_gs", "http": "dvc_http", "https": "dvc_http", "ssh": "dvc_ssh"}
INSTALL = {"dvc_s3": "'langladder[cluster]'", "dvc_gs": "dvc-gs gcsfs", "dvc_ssh": "dvc-ssh sshfs"}
READ = ("text", "parallel", "labels", "tags", "questions", "instructions", "filter")
"""The keys of params.yaml: paths that may be URLs; the rest is small and read as a whole."""


def objection(key: str, path: str) -> str | None:
    """Why a path of params.yaml: paths is not taken; None where it is, and where it is no URL."""
    if not is_url(path):
        return None
    scheme = path.partition("://")[0]
    if key not in READ:
        return f"a URL; {', '.join(READ)} may be URLs, this not: copy it here (langladder copy {path} input/{key})"
    if scheme not in PACKAGES:
        hub = "; for a data set of the Hub set corpus: hub" if scheme == "hf" else ""
        return f"a URL that DVC cannot watch; {', '.join(f'{one}://' for one in PACKAGES)} are watched{hub}"
    if scheme.startswith("http") and path.endswith("/"):
        return "a web folder, which has no ETag that DVC could watch; name one file, or copy it here (langladder copy)"
    if find_spec(PACKAGES[scheme]) is None:
        package = PACKAGES[scheme]
        return f"{scheme}:// needs {package.replace('_', '-')}, which is not installed; pip install {INSTALL[package]}"
    return None


def broken_links(paths: Mapping[str, str]) -> list[str]:
    """What is wrong with links at or below the paths of params.yaml: their target does not exist.

    DVC reads every file below a path that it watches, and ends at such a link with the bare error of the system.
    """
    problems = []
    for key, path in paths.items():
        if not is_url(path) and (broken := [link for link in _links(Path(path)) if not link.exists()]):
            more = f" (and {len(broken) - 1:,} more)" if len(broken) > 1 else ""
            said = f"{broken[0]} is a link to {broken[0].readlink()}, which does not exist"
            problems.append(f"paths.{key}: {said}{more}; mend the link, or remove it")
    return problems


def _links(path: Path) -> list[Path]:
    """The links at or below a path."""
    below = (Path(folder, name) for folder, folders, files in os.walk(path) for name in sorted([*folders, *files]))
    return [one for one in (path, *below) if one.is_symlink()]
