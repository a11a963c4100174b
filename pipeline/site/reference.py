"""The reference: one page per package of the library and per folder of conf/, from docstrings and comments."""

import ast
from pathlib import Path

from langladder.families import families
from pipeline import ROOT
from pipeline.settings import params
from pipeline.settings.titles import idea
from pipeline.settings.yaml_files import read_yaml
from pipeline.site.links import fenced
from pipeline.site.story import escaped, sentences

SOURCE = ROOT / "src"
LIBRARY = SOURCE / "langladder"
CONF = ROOT / "conf"


def library() -> dict[str, str]:
    """Page → Markdown; mkdocstrings puts a module's classes and functions where it is named."""
    pages = {f"reference/{package.name}.md": _package(package) for package in packages()}
    rows = [f"| [`{dotted(package)}`]({package.name}.md) | {_first(package)} |" for package in packages()]
    top = [f"::: langladder.{file.stem}\n" for file in _modules(LIBRARY)]
    head = ["# The library", "", "| package | content |", "| --- | --- |", *rows, ""]
    return {"reference/index.md": "\n".join([*head, *top])} | pages


def packages() -> list[Path]:
    """The packages directly in the library, and those beside it."""
    own = sorted(path.parent for path in LIBRARY.glob("*/__init__.py"))
    return [*own, *sorted(path.parent for path in SOURCE.glob("*/__init__.py") if path.parent != LIBRARY)]


def dotted(path: Path) -> str:
    """Its name in an import."""
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts)


def _package(package: Path) -> str:
    parts = [f"# {dotted(package)}\n", sentences(_docstring(package / "__init__.py"))]
    folders = sorted({file.parent for file in package.rglob("*.py")})
    files = [file for folder in folders for file in _modules(folder)]
    return "\n".join([*parts, *(f"::: {dotted(file)}\n" for file in files)])


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
    names = {group: ", ".join(f"`{name}`" for name in _names(group)) for group in groups()}
    rows = [f"| [{group}]({group}.md) | {listed} |" for group, listed in names.items()]
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
    """The folders of conf/, here and in plugins."""
    own = {str(file.parent.relative_to(CONF)) for file in CONF.rglob("*.yaml")} - {"."}
    return sorted(own | {group for group, _ in params.plugin_files()})


def _names(group: str) -> list[str]:
    """The files of a folder, whichever family they belong to."""
    own = [family.name for family in families().values() if family.group == group]
    return sorted(name for entry in own or [group] for name in params.conf_names(entry))


def _group(group: str) -> str:
    lines = [f"# conf/{group}", ""]
    if own := [family for family in families().values() if family.group == group]:
        up = "../" * (1 + group.count("/"))
        links = ", ".join(f"[{family.title}]({up}story/{family.name}.md)" for family in own)
        lines += [f"Rungs of the ladder: {links}.", ""]
    for name in _names(group):
        file = params.conf_file(group, name)
        content = read_yaml(file)
        title = content.get("title") if isinstance(content, dict) else None
        lines += [f"## {name}" + (f": {title}" if title else ""), "", escaped(idea(file)), ""]
        lines += [fenced(file.read_text(encoding="utf-8"), "yaml")]
    return "\n".join(lines)
