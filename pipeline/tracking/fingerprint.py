"""The name of a job's result before it exists: a hash of its settings (code included) and of its inputs' content.

Checkpoints are in `checkpoints/<fingerprint>`, so only the same job resumes from them after an interruption;
MLflow runs have it as a tag, which links an artefact to the run that made it.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pipeline import ROOT


def home() -> Path:
    """The checkout that owns checkpoints and runs.

    Queued experiments work in copies of it under .dvc/tmp, the full ladder in ladders/full/.
    """
    if ROOT.parent.name == "ladders" and (ROOT / "dvc.yaml").is_symlink():
        return ROOT.parent.parent
    parts = ROOT.parts
    for i in range(len(parts) - 2):
        if parts[i : i + 3] == (".dvc", "tmp", "exps"):
            return Path(*parts[:i])
    return ROOT


def digest(path: Path) -> str:
    """SHA-256 (16 hex digits) of a file, or of a folder's files by name and content."""
    hasher = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            hasher.update(str(file.relative_to(path)).encode())
            with file.open("rb") as stream:
                hasher.update(hashlib.file_digest(stream, "sha256").digest())
    return hasher.hexdigest()[:16]


def fingerprint(stage: str, settings: Mapping[str, object], inputs: dict[str, str]) -> str:
    """16 hex digits; equal jobs have equal fingerprints on every machine."""
    text = json.dumps([stage, settings, inputs], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
