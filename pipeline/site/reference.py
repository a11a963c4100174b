"""The reference: one page per package of the library and per folder of conf/, from docstrings and comments."""

import ast
from pathlib import Path

from langladder.families import families
from pipeline import ROOT
from pipeline.settings.titles import idea
from pipeline.settings.yaml_files import read_yaml
from pipeline.site.links import fenced
from pipeline.site.story import escaped, sentences

SOURCE = ROOT / "src" / "langladder"
CONF = ROOT / "conf"


def library() -> dict[str, str]:
    """Page → Markdown; mkdocstrings puts a module's classes and functions where it is named."""
    found = {f"reference/{package.name}.md": _package(package) for package in packages()}
    rows = [f"| [`langladder.{package.name}`]({package.name}.md) | {_first(package)} |" for package in packages()]
    top = [f"::: langladder.{file.stem}\n" for file in _modules(SOURCE)]
    head = ["# The library", "", "| package | content |", "| --- | --- |", *rows, ""]
    return {"reference/index.md": "\n".join([*head, *top])} | found


def packages() -> list[Path]:
    """The packages directly in the library."""
    return sorted(path.parent for path in SOURCE.glob("*/__init__.py"))


def _package(package: Path) -> str:
    parts = [f"# langladder.{package.name}\n", sentences(_docstring(package / "__init__.py"))]
    folders = sorted({file.parent for file in package.rglob("*.py")})
    files = [file for folder in folders for file in _modules(folder)]
    names = (".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in files)
    return "\n".join([*parts, *(f"::: langladder.{name}\n" for name in names)])


def _modules(folder: Path) -> list[Path]:
    """The public modules."""
    return sorted(file for file in folder.glob("*.py") if not file.stem.startswith("_"))


def _first(package: Path) -> str:
    """One sentence about a package: its docstring, or the names of its modules."""
    content = _docstring(package / "__init__.py").split("\n\n")[0].replace("\n", " ")
    return escaped(content) or ", ".join(file.stem.replace("_", " ") for file in _modules(package)[:8])


def _docstring(file: Path) -> str:
    return ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""


def choices() -> dict[str, str]:
    """Page → Markdown: the choices of params.yaml, and each folder of conf/ with its files and their comments."""
    pages = {f"choices/{group}.md": _group(group) for group in groups()}
    rows = [f"| [{group}]({group}.md) | {', '.join(f'`{name}`' for name in _names(group))} |" for group in groups()]
    chosen = (ROOT / "params.yaml").read_text(encoding="utf-8")
    order = {file.name: file.read_text(encoding="utf-8") for file in sorted(CONF.glob("*.yaml"))}
    index = [
        "# What can be chosen",
        "",
        "`params.yaml` says what is chosen, conf/ what can be chosen: one folder per group, one file per choice.",
        "",
        "| folder of conf/ | choices |",
        "| --- | --- |",
        *rows,
        "",
        "## params.yaml",
        "",
        fenced(chosen, "yaml"),
        *(line for name, text in order.items() for line in (f"## conf/{name}", "", fenced(text, "yaml"))),
    ]
    return {"choices/index.md": "\n".join(index)} | pages


def groups() -> list[str]:
    """The folders of conf/."""
    return sorted({str(file.parent.relative_to(CONF)) for file in CONF.rglob("*.yaml")} - {"."})


def _names(group: str) -> list[str]:
    return sorted(file.stem for file in (CONF / group).glob("*.yaml"))


def _group(group: str) -> str:
    lines = [f"# conf/{group}", ""]
    if group in families():
        up = "../" * (1 + group.count("/"))
        lines += [f"Rungs of the ladder: [{families()[group].title}]({up}story/{group}.md).", ""]
    for name in _names(group):
        file = CONF / group / f"{name}.yaml"
        content = read_yaml(file)
        title = content.get("title") if isinstance(content, dict) else None
        lines += [f"## {name}" + (f": {title}" if title else ""), "", escaped(idea(file)), ""]
        lines += [fenced(file.read_text(encoding="utf-8"), "yaml")]
    return "\n".join(lines)
