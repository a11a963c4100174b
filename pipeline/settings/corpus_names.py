"""What the corpora are called: the report's titles speak of the text that was read, not of the file in conf/."""

from pathlib import Path
from typing import Any

from langladder.ground.remote import is_url, located
from pipeline import ROOT
from pipeline.settings.params import Choices
from pipeline.settings.yaml_files import read_yaml

OWN = {"text", "hub", "pairs", "columns", "conllu"}  # files of conf/ that name no corpus
SIDES = ("text", "parallel", "labels", "tags")


def corpus_names(chosen: Choices) -> dict[str, str]:
    """`text`, `pairs`, `labels` and `tags`, the fields of the report's `Meta`."""
    sides = {"text": ("text", chosen.corpus), "pairs": ("parallel", chosen.parallel)}
    sides |= {"labels": ("labels", chosen.labels), "tags": ("tags", chosen.tags)}
    return {field: _name(side, choice) for field, (side, choice) in sides.items()}


def _name(side: str, choice: str) -> str:
    """The choice where it is a corpus's name; else that of the files or of the data set on the Hub."""
    resolved = ROOT / "resolved" / "corpus" / f"{side}.yaml"
    if choice not in OWN or not resolved.is_file():
        return choice
    source: dict[str, Any] = read_yaml(resolved)["corpus"]["source"]
    if "path" in source:
        path = source["path"]
        return bare(located(path).name) if is_url(path) else file_name(ROOT / path, path)
    return str(source.get("name", choice))


def file_name(path: Path, said: str) -> str:
    """A file's name without its ending; a folder's own, or that of the one file or folder that it holds."""
    if path.is_dir():
        held = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
        if len(held) == 1:
            return file_name(held[0], held[0].name)
        return said if path.name in SIDES else path.name
    return bare(path.name) or said


def bare(name: str) -> str:
    """A file's name without its ending."""
    for ending in (".gz", ".txt", ".tsv", ".csv", ".conll", ".conllu", ".jsonl", ".parquet"):
        name = name.removesuffix(ending)
    return name
