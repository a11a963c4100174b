"""Every page of the site as Markdown, and their order."""

import re
from typing import Any

from langladder.families import families
from pipeline import ROOT
from pipeline.site import lessons, links, reference, story

Navigation = list[dict[str, Any]]


def pages() -> dict[str, str]:
    """Page → Markdown. Documents of docs/ keep their paths; the rest is generated."""
    texts = documents()
    paths = {source: links.page_of(source) for source in texts}
    written = {page: links.for_the_site(texts[source], source, page) for source, page in paths.items()}
    return written | links.copied(texts) | story.story() | reference.library() | reference.choices() | lessons.pages()


def documents() -> dict[str, str]:
    """Documents of the repository: path → text."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def navigation() -> Navigation:
    """The order of the pages, as MkDocs reads it: a tab for each kind of page, as docs/README.md lists them."""
    packages = [{reference.dotted(package): f"reference/{package.name}.md"} for package in reference.packages()]
    titles = {name: family.title for name, family in families().items()}
    titles |= {"probe": "Claims of trained models"}
    kinds = guides()
    kinds["Tutorials"] += [{"Lessons": ["lessons/index.md", *(f"lessons/{name}.md" for name in lessons.names())]}]
    kinds["Reference"] += [{"Modules": ["reference/index.md", *packages]}]
    groups = [{group: f"choices/{group}.md"} for group in reference.groups()]
    kinds["Reference"] += [{"Choices": ["choices/index.md", *groups]}]
    stories = [{titles[name]: f"story/{name}.md"} for name in families()]
    kinds["Explanation"] += [{"The story": ["story/index.md", *stories]}]
    return [
        {"langladder": [links.START, {"Guides": links.GUIDES}]},
        *({kind: entries} for kind, entries in kinds.items()),
    ]


def guides() -> dict[str, Navigation]:
    """Kind of page → the guides under its heading in docs/README.md, in groups where that has some."""
    results: dict[str, Navigation] = {}
    group: Navigation = []
    for line in (ROOT / "docs" / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            group = results.setdefault(line[3:], [])
        elif line.startswith("### "):
            group = []
            list(results.values())[-1].append({line[4:]: group})
        elif match := re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line):
            group.append({match[1]: match[2]})
    return results
