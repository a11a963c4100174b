"""`langladder new`: a project folder for your own data, which runs the installed stages.

The installed package `pipeline` has the files of a project in project/: those of the checkout, with dvc.yaml as
stages.yaml (DVC reads every dvc.yaml that it finds below a project). This module imports no code of it.

The project's requirements.txt names the version that it runs, and DVC tracks that file. So a project has no path of the
machine that it was made on, and a new version of langladder is a change like any other.
"""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError
from importlib.util import find_spec
from pathlib import Path

import click
import yaml

from langladder.faces.cli.options import FOLDER
from langladder.faces.cli.output import echo
from langladder.faces.cli.recognise import Found, is_small, recognised
from langladder.ground.artefacts import write_text
from langladder.ground.errors import InputError, needs
from langladder.ground.remote import copy

TOOLS = ("dvc", "hydra", "mlflow")


@dataclass(frozen=True)
class Kind:
    """One kind of the user's data.

    Attributes:
        side: its folder in input/, and its key in paths, only and data of params.yaml.
        example: the rung of an example file of conf/ for a new project, by its family, and the setting that differs.
        added: rungs that a new project lists beside those of the default ladder, by their list.
    """

    side: str
    example: tuple[str, str]
    changed: str
    added: tuple[tuple[str, str], ...] = ()


SMALL_TEXT: dict[str, str | list[str]] = {
    "size": "tiny",
    "tokenizer": "character",
    "embeddings": ["svd", "subword"],
    "lms": ["kneser_ney_3", "kneser_ney"],
}
"""What params.yaml has for a small text: the choices of conf/preset/small_corpus.yaml, and rungs to compare with."""
KINDS = {
    "labels": Kind("labels", ("classifier", "textcnn"), "  widths: [2, 3, 4, 5]"),
    "text": Kind("text", ("lm", "lstm"), "  layers: 2"),
    "tags": Kind("tags", ("tagger", "bilstm_crf"), "  dropout: 0.5", added=(("taggers", "feature_crf"),)),
    "pairs": Kind("parallel", ("translator", "attention"), "  bidirectional: true"),
}


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
    sentences), text. params.yaml then names that kind only, and the rungs that use it. If the names of a folder's files
    give splits (train, dev or valid, test), params.yaml has these.

    \b
    Examples:
      langladder new mine
      langladder new mine --data reviews.csv
      langladder new mine --data corpus/ --kind text
      langladder new mine --data conll2003/
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
    recognised_kind = None if data is None else recognised(data, kind, [*KINDS])
    for line in make(folder, parts, data, recognised_kind):
        echo(line)


def make(folder: Path, parts: Path, data: Path | None, recognised_kind: Found | None) -> Iterator[str]:
    """Write a project; print what is in it, and the next commands.

    Args:
        parts: the installed files.
        data: the user's file or folder, which is copied; recognised_kind: its kind.
    """
    from langladder.families import families
    from langladder.text.clean.statistics import SMALL

    kind = KINDS[recognised_kind.kind] if recognised_kind else KINDS["labels"]
    text = (parts / "params.yaml").read_text(encoding="utf-8")
    path = f"input/{kind.side}"
    if data is not None:
        path += "" if data.is_dir() else f"/{data.name}"
        copy(data, folder / path)
    for side in sorted(set(re.findall(r"(?m)^  \w+: input/(\w+)", text))):
        write_text(folder / "input" / side / ".gitkeep", "")
    small = SMALL_TEXT if recognised_kind and data and recognised_kind.kind == "text" and is_small(data, SMALL) else {}
    values = params_text(text, kind, path, recognised_kind.settings, small) if recognised_kind else _headed(text)
    write_text(folder / "params.yaml", values)
    _write_version(folder, parts)
    family, base = kind.example
    write_text(folder / "conf" / family / f"my_{base}.yaml", _example(parts, kind))
    listed = families()[family].listed
    about = {"version": _version(), "example": f"conf/{family}/my_{base}.yaml", "listed": listed, "path": path}
    readme = (parts / "README.md").read_text(encoding="utf-8")
    write_text(folder / "README.md", re.sub(r"\{(\w+)\}", lambda name: about[name[1]], readme))
    write_text(folder / ".gitignore", (parts / "gitignore").read_text(encoding="utf-8"))
    write_text(folder / ".dvcignore", (parts / "dvcignore").read_text(encoding="utf-8"))
    write_text(folder / ".gitattributes", "* -text\n")  # the same bytes in every clone: DVC hashes them
    git = _git(folder)
    write_text(folder / ".dvc" / "config", _dvc_config(git))
    write_text(folder / ".dvc" / ".gitignore", "/config.local\n/tmp\n/cache\n/mlflow.lock\n")
    if recognised_kind and data is not None:
        columns = ", ".join(f"{key}: {value!r}" for key, value in recognised_kind.settings.items())
        yield f"{data}: read as {recognised_kind.kind}{columns and f' ({columns})'}; change this in params.yaml"
        if recognised_kind.note:
            yield f"{data}: {recognised_kind.note}"
        if small:
            changed = yaml.safe_dump(small, default_flow_style=True, sort_keys=False, width=10**6).strip()[1:-1]
            yield f"{data}: at most {SMALL // 1000} kB of text, so params.yaml has {changed} (docs/small-languages.md)"
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
    result = f"# The stages of langladder {_version()}. `langladder new --update .` rewrites this file.\n"
    result += text[text.index("metrics:") :]
    for old, new in (
        (
            "deps: [conf, params.yaml, pipeline, src/claims, src/langladder, src/microworld, ",
            "deps: [conf, params.yaml, requirements.txt, ",
        ),
        ("scenes: conf/scenes", "scenes: requirements.txt # needs no input files"),
        ("speech: conf/speech", "speech: requirements.txt"),
    ):
        if result.count(old) != 1:
            raise InputError(f"langladder new: the installed dvc.yaml has no {old!r}: install langladder again")
        result = result.replace(old, new)
    return result


def params_text(text: str, kind: Kind, path: str, settings: Mapping[str, object], changes: Mapping[str, object]) -> str:
    """params.yaml for one kind of data: only that kind, from a path, with the rungs that read it, then `changes`."""
    from langladder.families import families
    from langladder.families.sides import SIDES

    side = SIDES[kind.side]
    values: dict[str, object] = {"only": [side.name], side.group: side.own}
    if settings:
        values["data"] = {kind.side: dict(settings)}
    for family in families().values():
        if not family.in_new or family.bases or side.name not in family.texts:
            values[family.listed] = {} if family.bases else []
    usual = yaml.safe_load(text)
    for listed, rung in kind.added:
        values[listed] = [*usual[listed], rung]
    for key, value in (values | dict(changes)).items():
        text = _replaced(text, key, value)
    pattern = re.compile(rf"(?m)^  {kind.side}: input/\w+ *")
    return _headed(pattern.sub(lambda old: f"  {kind.side}: {_scalar(path)} ".ljust(len(old[0])), text))


def _headed(text: str) -> str:
    """params.yaml with the first lines that a project needs."""
    first = "# Your choices for `dvc repro`. Possible values: the files of conf/, here and installed (README.md)."
    return f"{first}\n{text.split(chr(10), 1)[1]}"


def _replaced(text: str, key: str, value: object) -> str:
    """YAML with a new value for a top-level key, in block style as DVC writes it; the comment stays."""
    block = re.compile(rf"(?m)^{key}:(?P<value>[^#\n]*)(?P<comment>#.*)?\n(?:(?:- |  ).*\n)*")
    match = block.search(text)
    if match is None:
        raise InputError(f"langladder new: the installed params.yaml has no {key}: install langladder again")
    inline = value if isinstance(value, str) else ("" if value else json.dumps(value))
    comment = f"{' ' * max(1, 22 - len(f'{key}: {inline}'))} {match['comment']}" if match["comment"] else ""
    lines = [f"{key}: {inline}".rstrip() + comment, *_block(value)]
    return text[: match.start()] + "\n".join(lines) + "\n" + text[match.end() :]


def _block(value: object, depth: int = 1) -> Iterator[str]:
    """Lines of YAML below a key."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (f"- {entry}" for entry in value)
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
