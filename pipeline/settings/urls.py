"""Files from outside that are named by URL: which DVC can watch, so that `dvc repro` notices when they change.

DVC asks the server for the ETags (of a folder: of everything below, by its listing), keeps them in dvc.lock and fetches
nothing; the stage then reads what it needs, block by block. DVC has a package for each sort of server.
"""

from importlib.util import find_spec

from langladder.remote import is_url

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
