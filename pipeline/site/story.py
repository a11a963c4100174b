"""The story, rung by rung: year, idea, equations, settings and figures of the last run of each.

All content comes from conf/, docstrings and tables, so a new rung appears automatically.
"""

import re
from typing import Any

from langladder.faces.report.claims import findings_plot
from langladder.faces.report.docstrings import docstring
from langladder.families import families
from langladder.families.family import AnyFamily
from pipeline.document import CLAIM_FAMILIES, published
from pipeline.settings.params import conf_file, conf_names, display_file
from pipeline.settings.titles import description, idea, module_of
from pipeline.settings.yaml_files import read_yaml
from pipeline.site import figures
from pipeline.site.links import fenced

Pages = dict[str, str]
SOURCES = "the last run in this checkout.", "the last run that was published; after `make repro` it is your own."
NOT_TRAINED = (
    "*Not in the last run:* name it in `params.yaml`, or type `make repro LADDER=full`, which trains all rungs."
)


def story() -> Pages:
    """Page → Markdown: one per family, and an overview."""
    pages = {f"story/{name}.md": _family(family) for name, family in families().items()}
    return {"story/index.md": _history()} | pages


def _history() -> str:
    """All rungs that have a model, in order of history."""
    rungs = [
        (description(name, rung).year, family, rung, description(name, rung).title)
        for name, family in families().items()
        if family.trained
        for rung in conf_names(name)
    ]
    rows = [
        f"| {year} | [{title}]({family.name}.md#{anchor(rung)}) | {family.title} |"
        for year, family, rung, title in sorted(rungs, key=lambda row: (row[0], row[1].position, row[2]))
    ]
    untrained = {name: family for name, family in families().items() if not family.trained}
    claims = [f"- [{family.title}: conf/{name}]({name}.md)" for name, family in untrained.items()]
    return "\n".join(
        [
            "# The story, rung by rung",
            "",
            "Each rung is one idea: a paper, a module with its equations, a file of settings, and its "
            "figures on the text of the last run. Every rung of conf/ is listed here.",
            "",
            "| year | rung | family |",
            "| ---: | --- | --- |",
            *rows,
            "",
            "Claims of the literature about them are measured, too:",
            "",
            *claims,
            "",
        ]
    )


def _family(family: AnyFamily) -> str:
    names = conf_names(family.name)
    dated = sorted(names, key=lambda name: description(family.name, name).year)
    documented: dict[str, str] = {}  # module → the rung with its docstring
    parts = [f"# {family.title}\n", f"{sentences(docstring(type(family).__module__))}\n", _ladder(family)]
    return "\n".join([*parts, *(_rung(family, name, documented) for name in dated)])


def _ladder(family: AnyFamily) -> str:
    """The table of the last run for this kind of rung, each rung a link."""
    table = figures.tables().get(families()[family.group].title)
    if table is None:
        return ""
    kind = {entry.name: conf_names(entry.name) for entry in families().values() if entry.group == family.group}
    anchors = {
        description(entry, name).title: f"{'' if entry == family.name else f'{entry}.md'}#{anchor(name)}"
        for entry, names in kind.items()
        for name in names
    }
    lines = ["| rung | " + " | ".join(table.headings) + " |", "| --- |" + " ---: |" * len(table.headings)]
    for title, row in table.rungs.items():
        name = f"[{title}]({anchors[title]})" if title in anchors else title
        lines.append(f"| {name} | " + " | ".join(row) + " |")
    return "\n".join(
        ["## The last run", "", *lines, "", f"From {table.source}: {SOURCES[table.source in figures.PUBLISHED]}", ""]
    )


def _rung(family: AnyFamily, name: str, documented: dict[str, str]) -> str:
    about, file = description(family.name, name), conf_file(family.name, name)
    lines = [f"## {about.title}, {about.year} {{#{anchor(name)}}}", "", escaped(idea(file)), ""]
    if about.claim:
        lines += [f"*Claim:* {about.claim}" + (f" ({about.paper})" if about.paper else ""), ""]
    lines += [_figures(family, name, about.title), "", *_plots(name, family)]
    module = module_of(family.name, settings(family.name, name))
    if module and module not in documented:
        documented[module] = name
        lines += [_folded(f"The equations: `{module}`", f"{sentences(docstring(module))}\n\n{code(module)}", "???+")]
    elif module:
        lines += [
            f"The equations of `{module}` are under [{description(family.name, documented[module]).title}]"
            f"(#{anchor(documented[module])}).",
            "",
        ]
    lines += [_folded(f"Its settings: `{display_file(family.name, name)}`", fenced(file.read_text("utf-8"), "yaml"))]
    return "\n".join(lines)


def _figures(family: AnyFamily, name: str, title: str) -> str:
    """Its figures in the last run, or those of a claim, or how to measure it."""
    if name in figures.claims() and not family.trained:
        link, claim = figures.claims()[name]
        return f"*Measured* ([more](../{link})): {claim}" if claim else f"*Measured:* [figures](../{link})"
    table = figures.tables().get(families()[family.group].title)
    if table is None or title not in table.rungs:
        return NOT_TRAINED
    pairs = zip(table.headings, table.rungs[title], strict=True)
    return "*In the last run:* " + "; ".join(f"{head} {cell.strip('*')}" for head, cell in pairs if cell != "–")


def _plots(name: str, family: AnyFamily) -> list[str]:
    """The plots of a claim; none for other families, or if it was not measured."""
    if family.name not in CLAIM_FAMILIES or (measured := published().get(name)) is None:
        return []
    drawn = (findings_plot(plot, f"{name}-{i}") for i, plot in enumerate(measured.page.findings.plots))
    return [line for svg in drawn if svg for line in (f"<figure>{' '.join(svg.split())}</figure>", "")]


def settings(family: str, name: str) -> dict[str, Any]:
    """A rung's settings, merged with the files of its folder that it extends."""
    own: dict[str, Any] = read_yaml(conf_file(family, name))
    below: dict[str, Any] = {}
    for other in own.get("defaults", []):
        group, rung = next(iter(other.items())) if isinstance(other, dict) else (f"/{family}@_here_", other)
        if group.endswith("@_here_") and rung != "_self_":
            below |= settings(group[1:].partition("@")[0], rung)
    return below | own


def code(module: str) -> str:
    """A link to a module in the reference."""
    return f"The code: [`{module}`][{module}]."


def sentences(text: str) -> str:
    """A docstring as Markdown: indented text is an equation or a table, the rest prose."""
    lines = [line if line.startswith("    ") else escaped(line) for line in text.splitlines()]
    return "\n".join(lines)


def escaped(line: str) -> str:
    """Prose that may hold `<eos>`: outside of code it is escaped."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else part.replace("<", "&lt;") for part in parts)


def anchor(name: str) -> str:
    """The anchor of a rung on its family's page."""
    return name.replace("_", "-")


def _folded(title: str, content: str, mark: str = "???") -> str:
    """A collapsible part; with the mark `???+` it is open at first."""
    body = "\n".join(f"    {line}" if line else "" for line in content.splitlines())
    return f'{mark} note "{title}"\n\n{body}\n'
