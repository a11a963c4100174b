"""`langladder new`: a project folder for one's own data, which runs the installed stages.

The installed package `pipeline` holds the files that a project is made of, in project/: those of the checkout, with
dvc.yaml as stages.yaml (DVC reads every dvc.yaml that it finds below a project). No code of it is imported here.

The folder names the version that it runs in requirements.txt, and DVC watches that file: a project knows no path of
the machine that it was made on, and another version of langladder is an edit like any other.
"""

import csv
import json
import re
import shutil
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

ROWS = 2000  # of a table that are looked at
FEW = 0.5  # of a column that may hold labels: at most this share of its values are different
TOOLS = ("dvc", "hydra", "mlflow")


@dataclass(frozen=True)
class Kind:
    """One kind of data of one's own.

    Attributes:
        side: its folder in input/, and its key in params.yaml: paths, only and data.
        group: the key of params.yaml that chooses a corpus, and the choice for files.
        kept: the lists of rungs that read it; a new project empties the others.
        example: a file of conf/ that a new project gets as an example, and the rung that it differs from.
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
    """What a file is taken for: its kind, and what `data` in params.yaml says of it."""

    kind: str
    settings: Mapping[str, str | int] = field(default_factory=dict)


@click.command(short_help="A project folder for data of your own.")
@click.argument("folder", type=FOLDER)
@click.option(
    "--data", type=click.Path(exists=True, path_type=Path), metavar="FILE", help="A file or folder, which is copied."
)
@click.option("--kind", type=click.Choice([*KINDS]), help="What FILE holds, where its name and content do not say so.")
@click.option("--update", is_flag=True, help="Write dvc.yaml and requirements.txt of a project for this version.")
def new(folder: Path, data: Path | None, kind: str | None, update: bool) -> None:
    """Make FOLDER, a project that trains ladders with the installed langladder, outside any checkout.

    It holds params.yaml (what is chosen), dvc.yaml (the stages), conf/ (files of your own, which come before the
    installed ones of the same name), input/ (your data) and requirements.txt (the version that it runs). FOLDER must
    not be there, or be empty. Where git is installed it becomes a repository, unless it lies in one already.

    Of FILE the kind is guessed: labels (a table of texts and labels), tags (a word and its tag a line), pairs (of
    sentences), text. params.yaml then names that kind alone, and the rungs that read it.

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
            raise InputError("--update writes dvc.yaml and requirements.txt alone; leave out --data and --kind")
        _see_project(folder)
        _write_version(folder, parts)
        echo(f"{folder}: dvc.yaml and requirements.txt are those of langladder {_version()}; next: dvc repro")
        return
    if kind and data is None:
        raise InputError(f"--kind {kind} says what --data holds; give --data FILE, too")
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise InputError(f"{folder}: is there already, and not empty; name a new folder (nothing was written)")
    found = None if data is None else _found(data, kind)
    for line in make(folder, parts, data, found):
        echo(line)


def make(folder: Path, parts: Path, data: Path | None, found: Found | None) -> Iterator[str]:
    """Write a project; says what is in it, and what comes next.

    Args:
        parts: the installed files.
        data: the user's file or folder, which is copied; found: what it is.
    """
    kind = KINDS[found.kind] if found else KINDS["labels"]
    text = (parts / "params.yaml").read_text(encoding="utf-8")
    for side in sorted(set(re.findall(r"(?m)^  \w+: input/(\w+)", text))):
        write_text(folder / "input" / side / ".gitkeep", "")
    path = f"input/{kind.side}"
    if data is not None:
        if data.is_dir():
            shutil.copytree(data, folder / path, dirs_exist_ok=True)
        else:
            path = f"{path}/{data.name}"
            shutil.copyfile(data, folder / path)
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
    git = _git(folder)
    write_text(folder / ".dvc" / "config", _dvc_config(git))
    write_text(folder / ".dvc" / ".gitignore", "/config.local\n/tmp\n/cache\n")
    if found and data is not None:
        columns = ", ".join(f"{key}: {value!r}" for key, value in found.settings.items())
        yield f"{data}: taken for {found.kind}{columns and f' ({columns})'}; change it in params.yaml"
    yield f"{folder}: a project of langladder {_version()}; next:"
    yield f"  cd {folder}"
    yield "  dvc repro                   # or python -m pipeline.parallel: several jobs at a time → reports/index.html"
    if git:
        yield "  git add -A && git commit -m 'The first ladder'"


# ---- what a project is made of -------------------------------------------------------------------------------------


def _parts() -> Path:
    """The installed files.

    Raises:
        InputError: this installation has no stages, or lacks the tools that they work with.
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
        raise InputError("langladder new: langladder is not installed here: pip install it first") from error


def _see_project(folder: Path) -> None:
    file = folder / "dvc.yaml"
    if not file.is_file() or "python -m pipeline.resolve" not in file.read_text(encoding="utf-8"):
        raise InputError(f"{folder}: no project of langladder (its dvc.yaml has no stage of ours); name its folder")
    if (folder / "pipeline").exists():
        raise InputError(f"{folder}: a checkout, which has code of its own: git pull brings another version of it")


def _write_version(folder: Path, parts: Path) -> None:
    """The stages of the installed version, and the file that says which that is."""
    write_text(folder / "dvc.yaml", stages_text((parts / "stages.yaml").read_text(encoding="utf-8")))
    origin = ""
    with suppress(ValueError, TypeError):
        url = json.loads(_distribution().read_text("direct_url.json") or "{}").get("url", "")
        origin = f"# It was installed from {url}\n" if url.endswith(".whl") else ""
    write_text(
        folder / "requirements.txt",
        "# The version that this project runs; DVC watches this file. For another: pip install it, then\n"
        f"# langladder new --update .\n{origin}langladder[pipeline]=={_version()}\n",
    )


def stages_text(text: str) -> str:
    """dvc.yaml as a project has it: requirements.txt stands for the code, and conf/ holds the user's files alone.

    Raises:
        InputError: the installed dvc.yaml is not what this expects.
    """
    found = f"# The stages of langladder {_version()}, which `langladder new --update .` writes again.\n"
    found += text[text.index("metrics:") :]
    for old, new in (
        ("deps: [conf, params.yaml, pipeline, src/langladder, ", "deps: [conf, params.yaml, requirements.txt, "),
        ("scenes: conf/scenes", "scenes: requirements.txt # nothing from outside"),
        ("speech: conf/speech", "speech: requirements.txt"),
    ):
        if found.count(old) != 1:
            raise InputError(f"langladder new: the installed dvc.yaml has no {old!r}: install langladder again")
        found = found.replace(old, new)
    return found


def params_text(text: str, kind: Kind, path: str, settings: Mapping[str, str | int]) -> str:
    """params.yaml for one kind of data: that alone, from a path, with the rungs that read it."""
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
    """params.yaml with what its first lines say of conf/ for a project."""
    first = "# What IS chosen for `dvc repro`. What CAN be chosen: files of conf/, here and installed (README.md)."
    return f"{first}\n{text.split(chr(10), 1)[1]}"


def _replaced(text: str, key: str, value: object) -> str:
    """YAML with another value of a key at its top, in block style as DVC writes it; its comment stays."""
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
        f"# A file called {base}.yaml here would take the place of the installed one.\n"
        f"defaults:\n  - {base} # everything that does not stand here\n  - _self_\n"
        f"name: my_{base}\ntitle: {title}, mine\nyear: {year}\nmodel:\n{kind.changed}\n"
    )


def _git(folder: Path) -> bool:
    """Make the folder a repository, unless it lies in one; whether git is there."""
    try:
        inside = subprocess.run(["git", "rev-parse", "--git-dir"], cwd=folder, capture_output=True, check=False)
        if inside.returncode:
            subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _dvc_config(git: bool) -> str:
    return "[core]\n    analytics = false\n    autostage = false\n" + ("" if git else "    no_scm = true\n")


# ---- what a file holds -----------------------------------------------------------------------------------------------


def _found(data: Path, kind: str | None) -> Found:
    """What a file or folder is taken for.

    Raises:
        InputError: neither its name nor its content says what it is.
    """
    from langladder.text.read.files import ending

    unknown = InputError(f"{data}: what does it hold? Say so: --kind {' | '.join(KINDS)}")
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
    """The kind of a table: labels repeat, and one column, or two long ones, do not."""
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
    """The kind of lines of text: pairs have a tab each, sentences of words with tags end in blank lines."""
    if (known := ENDINGS.get(of)) != "text":
        return known
    lines = [*islice(_lines(data), ROWS)]
    filled = [line for line in lines if line.strip()]
    if filled and all(line.count("\t") == 1 for line in filled):
        short = [line for line in filled if len(line.split()) == 2]
        return "tags" if len(filled) < len(lines) and len(short) > 0.9 * len(filled) else "pairs"
    return "text"


def _columns(rows: list[list[str]], data: Path, of: str) -> dict[str, str | int]:
    """What `data` in params.yaml has to say of a table of texts and labels: where its columns have other names."""
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
    """The column of the labels: the one of that name, or the one with the fewest different values, which repeat."""
    names, body = rows[0], rows[1:]
    named = [at for at, name in enumerate(names) if name.casefold() == "label"]
    if named or len(names) < 2:
        return named[0] if named else None
    different = [len({row[at] for row in body if len(row) > at}) for at in range(len(names))]
    fit = [at for at, count in enumerate(different) if 2 <= count <= FEW * len(body)]
    return min(fit, key=different.__getitem__) if fit else None


def _table(data: Path, of: str) -> Iterator[list[str]]:
    """The names of a table's columns, then its rows; nothing of what cannot be read, as who reads it will say why."""
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
    """What separates the columns: the character that is most frequent in the first line."""
    from langladder.text.labelled.label_files import DELIMITERS

    first = next((line for line in _lines(data) if line.strip()), "")
    usual = "," if of == "csv" else "\t"
    return max(DELIMITERS, key=lambda one: (first.count(one), one == usual))


def _lines(data: Path) -> Iterator[str]:
    """The lines of a text file, for a look: in whatever encoding, the separators are the same."""
    from langladder.text.read.lines import read_lines

    try:
        yield from read_lines(data)
    except InputError:
        yield from read_lines(data, encoding="latin-1")
