"""`langladder new`: a project folder for your own data, which runs the installed stages.

The installed package `pipeline` has the files of a project in project/: those of the checkout, with dvc.yaml as
stages.yaml (DVC reads every dvc.yaml that it finds below a project). This module imports no code of it.

The project's requirements.txt names the version that it runs, and DVC tracks that file. So a project has no path of the
machine that it was made on, and a new version of langladder is a change like any other.
"""

import csv
import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Literal

import click
import yaml

from langladder.faces.cli.options import FOLDER
from langladder.faces.cli.output import echo
from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError, needs
from langladder.ground.remote import copy

ROWS = 2000  # of a table that are looked at
FEW = 0.5  # a column can be labels if at most this share of its values are different
TOOLS = ("dvc", "hydra", "mlflow")


@dataclass(frozen=True)
class Kind:
    """One kind of the user's data.

    Attributes:
        side: its folder in input/, and its key in paths, only and data of params.yaml.
        group: the key of params.yaml that chooses a corpus, and the value for the user's files.
        kept: the lists of rungs that read it; a new project empties the others.
        example: an example file of conf/ for a new project, and the rung that it is derived from.
    """

    side: str
    group: tuple[str, str]
    kept: tuple[str, ...]
    example: tuple[str, str]
    changed: str


KINDS = {
    "labels": Kind("labels", ("labels", "text"), ("classifiers",), ("classifier", "textcnn"), "  widths: [2, 3, 4, 5]"),
    "text": Kind("text", ("corpus", "text"), ("embeddings", "lms"), ("lm", "lstm"), "  layers: 2"),
    "tags": Kind("tags", ("tags", "columns"), ("taggers",), ("tagger", "bilstm_crf"), "  dropout: 0.5"),
    "pairs": Kind(
        "parallel", ("parallel", "text"), ("translators",), ("translator", "attention"), "  bidirectional: true"
    ),
}
ENDINGS = {"txt": "text", "text": "text", "conll": "tags", "conllu": "tags", "iob": "tags", "bio": "tags"}
TABLES = ("csv", "tsv", "jsonl", "ndjson", "parquet")


@dataclass(frozen=True)
class Found:
    """The detected kind of a file, and its settings for `data` in params.yaml."""

    kind: str
    settings: Mapping[str, str | int] = field(default_factory=dict)


@click.command(short_help="Make a project folder for your own data.")
@click.argument("folder", type=FOLDER)
@click.option("--data", type=click.Path(exists=True, path_type=Path), metavar="FILE", help="A file or folder to copy.")
@click.option("--kind", type=click.Choice([*KINDS]), help="The kind of data, if it is not clear from FILE.")
@click.option("--update", is_flag=True, help="Rewrite a project's dvc.yaml and requirements.txt for this version.")
def new(folder: Path, data: Path | None, kind: str | None, update: bool) -> None:
    """Make FOLDER, a project that trains ladders with the installed langladder. You need no checkout.

    It contains params.yaml (your choices), dvc.yaml (the stages), conf/ (your own configs, which override installed
    ones of the same name), input/ (your data) and requirements.txt (the version that it runs). FOLDER must not exist,
    or be empty. If git is installed, FOLDER becomes a repository, unless it is already inside one.

    The kind of FILE is guessed: labels (a table of texts and labels), tags (one word and its tag per line), pairs (of
    sentences), text. params.yaml then names that kind only, and the rungs that use it.

    \b
    Examples:
      langladder new mine
      langladder new mine --data reviews.csv
      langladder new mine --data corpus/ --kind text
      langladder new mine --update
    """
    parts = _parts()
    if update:
        if data or kind:
            raise InputError("--update writes dvc.yaml and requirements.txt only; do not use it with --data or --kind")
        _see_project(folder)
        _write_version(folder, parts)
        echo(f"{folder}: wrote dvc.yaml and requirements.txt of langladder {_version()}; next: dvc repro")
        return
    if kind and data is None:
        raise InputError(f"--kind {kind} describes --data; also give --data FILE")
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise InputError(f"{folder}: exists already and is not empty; choose a new folder (nothing was written)")
    found = None if data is None else _found(data, kind)
    for line in make(folder, parts, data, found):
        echo(line)


def make(folder: Path, parts: Path, data: Path | None, found: Found | None) -> Iterator[str]:
    """Write a project; print what is in it, and the next commands.

    Args:
        parts: the installed files.
        data: the user's file or folder, which is copied; found: its kind.
    """
    kind = KINDS[found.kind] if found else KINDS["labels"]
    text = (parts / "params.yaml").read_text(encoding="utf-8")
    path = f"input/{kind.side}"
    if data is not None:
        path += "" if data.is_dir() else f"/{data.name}"
        copy(data, folder / path)
    for side in sorted(set(re.findall(r"(?m)^  \w+: input/(\w+)", text))):
        write_text(folder / "input" / side / ".gitkeep", "")
    write_text(folder / "params.yaml", params_text(text, kind, path, found.settings) if found else _headed(text))
    _write_version(folder, parts)
    family, base = kind.example
    write_text(folder / "conf" / family / f"my_{base}.yaml", _example(parts, kind))
    (listed,) = (name for name in kind.kept if name.startswith(family))
    about = {"version": _version(), "example": f"conf/{family}/my_{base}.yaml", "listed": listed, "path": path}
    readme = (parts / "README.md").read_text(encoding="utf-8")
    write_text(folder / "README.md", re.sub(r"\{(\w+)\}", lambda name: about[name[1]], readme))
    write_text(folder / ".gitignore", (parts / "gitignore").read_text(encoding="utf-8"))
    write_text(folder / ".dvcignore", (parts / "dvcignore").read_text(encoding="utf-8"))
    write_text(folder / ".gitattributes", "* -text\n")  # the same bytes in every clone: DVC hashes them
    git = _git(folder)
    write_text(folder / ".dvc" / "config", _dvc_config(git))
    write_text(folder / ".dvc" / ".gitignore", "/config.local\n/tmp\n/cache\n/mlflow.lock\n")
    if found and data is not None:
        columns = ", ".join(f"{key}: {value!r}" for key, value in found.settings.items())
        yield f"{data}: read as {found.kind}{columns and f' ({columns})'}; change this in params.yaml"
    yield f"{folder}: a project of langladder {_version()}; next:"
    yield f"  cd {folder}"
    yield "  dvc repro                   # or python -m pipeline.parallel: several jobs at a time → reports/index.html"
    if git:
        yield "  git add -A && git commit -m 'The first ladder'"


# ---- the files of a project ----------------------------------------------------------------------------------------


def _parts() -> Path:
    """The installed files.

    Raises:
        InputError: this installation has no stages, or lacks the tools that they need.
    """
    spec = find_spec("pipeline")
    folder = Path(spec.origin).parent / "project" if spec and spec.origin else None
    if folder is None or not (folder / "stages.yaml").is_file():
        raise InputError("langladder new: the stages are not installed: pip install 'langladder[pipeline]'")
    with needs("pipeline", "langladder new"):
        for tool in TOOLS:
            if find_spec(tool) is None:
                raise ModuleNotFoundError(name=tool)
    return folder


def _version() -> str:
    return _distribution().version


def _distribution() -> Distribution:
    try:
        return Distribution.from_name("langladder")
    except PackageNotFoundError as error:
        raise InputError("langladder new: langladder is not installed: pip install it first") from error


def _see_project(folder: Path) -> None:
    file = folder / "dvc.yaml"
    if not file.is_file() or "python -m pipeline.resolve" not in file.read_text(encoding="utf-8"):
        raise InputError(
            f"{folder}: not a langladder project (its dvc.yaml has none of our stages); give the project's folder"
        )
    if (folder / "pipeline").exists():
        raise InputError(f"{folder}: this is a checkout, which has its own code; use git pull to update it")


def _write_version(folder: Path, parts: Path) -> None:
    """Write the stages of the installed version, and the file that names the version."""
    write_text(folder / "dvc.yaml", stages_text((parts / "stages.yaml").read_text(encoding="utf-8")))
    origin = ""
    with suppress(ValueError, TypeError):
        url = json.loads(_distribution().read_text("direct_url.json") or "{}").get("url", "")
        origin = f"# It was installed from {url}\n" if url.endswith(".whl") else ""
    write_text(
        folder / "requirements.txt",
        "# The version that this project runs; DVC tracks this file. For another version, pip install it, then\n"
        f"# langladder new --update .\n{origin}langladder[pipeline]=={_version()}\n",
    )


def stages_text(text: str) -> str:
    """dvc.yaml of a project: stages depend on requirements.txt instead of code, and conf/ has the user's files only.

    Raises:
        InputError: the installed dvc.yaml is not what this expects.
    """
    found = f"# The stages of langladder {_version()}. `langladder new --update .` rewrites this file.\n"
    found += text[text.index("metrics:") :]
    for old, new in (
        ("deps: [conf, params.yaml, pipeline, src/langladder, ", "deps: [conf, params.yaml, requirements.txt, "),
        ("scenes: conf/scenes", "scenes: requirements.txt # needs no input files"),
        ("speech: conf/speech", "speech: requirements.txt"),
    ):
        if found.count(old) != 1:
            raise InputError(f"langladder new: the installed dvc.yaml has no {old!r}: install langladder again")
        found = found.replace(old, new)
    return found


def params_text(text: str, kind: Kind, path: str, settings: Mapping[str, str | int]) -> str:
    """params.yaml for one kind of data: only that kind, from a path, with the rungs that read it."""
    from langladder.families import families

    group, choice = kind.group
    values: dict[str, object] = {"only": [kind.side], group: choice}
    if settings:
        values["data"] = {kind.side: dict(settings)}
    for family in families().values():
        if family.listed not in kind.kept:
            values[family.listed] = {} if family.bases else []
    for key, value in values.items():
        text = _replaced(text, key, value)
    place = re.compile(rf"(?m)^  {kind.side}: input/\w+ *")
    return _headed(place.sub(lambda old: f"  {kind.side}: {_scalar(path)} ".ljust(len(old[0])), text))


def _headed(text: str) -> str:
    """params.yaml with the first lines that a project needs."""
    first = "# Your choices for `dvc repro`. Possible values: the files of conf/, here and installed (README.md)."
    return f"{first}\n{text.split(chr(10), 1)[1]}"


def _replaced(text: str, key: str, value: object) -> str:
    """YAML with a new value for a top-level key, in block style as DVC writes it; the comment stays."""
    block = re.compile(rf"(?m)^{key}:(?P<value>[^#\n]*)(?P<comment>#.*)?\n(?:(?:- |  ).*\n)*")
    found = block.search(text)
    if found is None:
        raise InputError(f"langladder new: the installed params.yaml has no {key}: install langladder again")
    inline = value if isinstance(value, str) else ("" if value else json.dumps(value))
    comment = f"{' ' * max(1, 22 - len(f'{key}: {inline}'))} {found['comment']}" if found["comment"] else ""
    lines = [f"{key}: {inline}".rstrip() + comment, *_block(value)]
    return text[: found.start()] + "\n".join(lines) + "\n" + text[found.end() :]


def _block(value: object, depth: int = 1) -> Iterator[str]:
    """Lines of YAML below a key."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (f"- {one}" for one in value)
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            nested = isinstance(inner, Mapping)
            yield f"{'  ' * depth}{key}:" + ("" if nested else f" {_scalar(inner)}")
            if nested:
                yield from _block(inner, depth + 1)


def _scalar(value: object) -> str:
    """A value as YAML, on one line."""
    return yaml.safe_dump(value, allow_unicode=True, width=10**6).removesuffix("\n").removesuffix("\n...")


def _example(parts: Path, kind: Kind) -> str:
    """A file of conf/: a rung that differs from an installed one."""
    family, base = kind.example
    installed = (parts / "conf" / family / f"{base}.yaml").read_text(encoding="utf-8")
    title, year = (re.findall(rf"(?m)^{key}: (.+)$", installed)[0] for key in ("title", "year"))
    return (
        f"# An example: {base} with one setting changed. Name it in params.yaml to train it, or remove this file.\n"
        f"# A file called {base}.yaml here would override the installed one.\n"
        f"defaults:\n  - {base} # everything that is not set here\n  - _self_\n"
        f"name: my_{base}\ntitle: {title}, mine\nyear: {year}\nmodel:\n{kind.changed}\n"
    )


def _git(folder: Path) -> bool:
    """Make the folder a repository, unless it is inside one; returns whether git is installed."""
    try:
        inside = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=folder, capture_output=True, check=False)
        if inside.returncode:
            subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _dvc_config(git: bool) -> str:
    return "[core]\n    analytics = false\n    autostage = false\n" + ("" if git else "    no_scm = true\n")


# ---- the kind of a file ----------------------------------------------------------------------------------------------


def _found(data: Path, kind: str | None) -> Found:
    """The kind of a file or folder.

    Raises:
        InputError: its kind is clear neither from its name nor from its content.
    """
    from langladder.text.read.files import ending

    unknown = InputError(f"{data}: cannot tell what kind of data this is; give --kind {' | '.join(KINDS)}")
    if data.is_dir():
        if kind is None:
            raise unknown
        return Found(kind)
    of = ending(data)
    rows = [*islice(_table(data, of), ROWS)] if of in TABLES and kind in (None, "labels") else []
    if kind is None:
        kind = _kind(rows, of) or _kind_of_lines(data, of)
    if kind is None:
        raise unknown
    return Found(kind, _columns(rows, data, of) if kind == "labels" else {})


def _kind(rows: list[list[str]], of: str) -> str | None:
    """The kind of a table: labels if one column repeats its values; else text (one column) or pairs (two long ones)."""
    if len(rows) < 2:
        return None
    names = [name.casefold() for name in rows[0]]
    if {"source", "target"} <= set(names):
        return "pairs"
    if _label(rows) is not None and len(names) > 1:
        return "labels"
    if of in ("tsv", "csv"):
        return "pairs" if of == "tsv" and len(names) == 2 else None
    return "text" if "text" in names else None


def _kind_of_lines(data: Path, of: str) -> str | None:
    """The kind of lines of text: each line of pairs has a tab; blank lines separate tagged sentences."""
    if (known := ENDINGS.get(of)) != "text":
        return known
    lines = [*islice(_lines(data), ROWS)]
    filled = [line for line in lines if line.strip()]
    if filled and all(line.count("\t") == 1 for line in filled):
        short = [line for line in filled if len(line.split()) == 2]
        return "tags" if len(filled) < len(lines) and len(short) > 0.9 * len(filled) else "pairs"
    return "text"


def _columns(rows: list[list[str]], data: Path, of: str) -> dict[str, str | int]:
    """Settings for `data` in params.yaml: the columns of texts and labels, if their names are not the default."""
    if len(rows) < 2 or (label := _label(rows)) is None:
        return {}
    names, body = rows[0], rows[1:]
    settings: dict[str, str | int] = {}
    if not {"text", "label"} <= {name.casefold() for name in names}:
        length = [sum(len(row[at]) for row in body if len(row) > at) for at in range(len(names))]
        text = max((at for at in range(len(names)) if at != label), key=length.__getitem__)
        settings = {"text": names[text], "label": names[label]}
    delimiter = _delimiter(data, of)
    if of in ("csv", "tsv") and delimiter != {"csv": ",", "tsv": "\t"}[of]:
        settings["delimiter"] = delimiter
    return settings


def _label(rows: list[list[str]]) -> int | None:
    """The column of the labels: the one with that name, or the repeating one with the fewest different values."""
    names, body = rows[0], rows[1:]
    named = [at for at, name in enumerate(names) if name.casefold() == "label"]
    if named or len(names) < 2:
        return named[0] if named else None
    different = [len({row[at] for row in body if len(row) > at}) for at in range(len(names))]
    fit = [at for at, count in enumerate(different) if 2 <= count <= FEW * len(body)]
    return min(fit, key=different.__getitem__) if fit else None


def _table(data: Path, of: str) -> Iterator[list[str]]:
    """The names of a table's columns, then its rows; nothing if it cannot be read (the reader reports why)."""
    with suppress(InputError, csv.Error, ValueError):
        if of in ("csv", "tsv"):
            delimiter = _delimiter(data, of)
            quoting: Literal[0, 3] = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
            lines = (f"{line}\n" for line in _lines(data) if line.strip())
            for cells in csv.reader(lines, delimiter=delimiter, quoting=quoting):
                yield [cell.strip() for cell in cells]
            return
        rows: Iterator[Mapping[str, object]]
        if of == "parquet":
            import pyarrow.parquet as pq

            rows = iter(next(pq.ParquetFile(data).iter_batches(ROWS)).to_pylist())
        else:
            rows = (json.loads(line) for line in _lines(data) if line.strip())
        names: list[str] = []
        for row in rows:
            if not names:
                names = [name for name, value in row.items() if isinstance(value, str | int)]
                yield names
            yield [str(row.get(name, "")) for name in names]


def _delimiter(data: Path, of: str) -> str:
    """The delimiter of the columns: the most frequent candidate in the first line."""
    from langladder.text.labelled.label_files import DELIMITERS

    first = next((line for line in _lines(data) if line.strip()), "")
    usual = "," if of == "csv" else "\t"
    return max(DELIMITERS, key=lambda one: (first.count(one), one == usual))


def _lines(data: Path) -> Iterator[str]:
    """The lines of a text file, to guess its kind: the separators are the same in every encoding."""
    from langladder.text.read.lines import read_lines

    try:
        yield from read_lines(data)
    except InputError:
        yield from read_lines(data, encoding="latin-1")
