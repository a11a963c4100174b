"""Every page of the site as Markdown, and the order in which they stand."""

import re
from typing import Any

from langladder.families import families
from pipeline import ROOT
from pipeline.site import lessons, links, reference, story

Navigation = list[dict[str, Any]]


def pages() -> dict[str, str]:
    """Page → Markdown. What is a document of docs/ keeps its place; the rest is generated."""
    texts = documents()
    places = {source: links.page_of(source) for source in texts}
    written = {page: links.for_the_site(texts[source], source, page) for source, page in places.items()}
    return written | links.copied(texts) | story.story() | reference.library() | reference.choices() | lessons.pages()


def documents() -> dict[str, str]:
    """Documents of the repository: path → text."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return {file.relative_to(ROOT).as_posix(): file.read_text(encoding="utf-8") for file in files}


def navigation() -> Navigation:
    """The order of the pages, as MkDocs reads it."""
    rooms = [{f"langladder.{room.name}": f"reference/{room.name}.md"} for room in reference.rooms()]
    titles = {name: family.title for name, family in families().items()}
    titles |= {"probe": "Claims of trained models"}
    return [
        {"langladder": links.START},
        {"Lessons": ["lessons/index.md", *(f"lessons/{name}.md" for name in lessons.names())]},
        {"The story": ["story/index.md", *({titles[name]: f"story/{name}.md"} for name in families())]},
        {"Guides": [links.GUIDES, *guides()]},
        {"Reference": ["reference/index.md", *rooms]},
        {"Choices": ["choices/index.md", *({group: f"choices/{group}.md"} for group in reference.groups())]},
    ]


def guides() -> Navigation:
    """The guides under the headings of docs/README.md."""
    found: Navigation = []
    for line in (ROOT / "docs" / "README.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            found.append({line[3:]: []})
        elif match := re.match(r"- \[([^\]]+)\]\(([^)]+)\)", line):
            next(iter(found[-1].values())).append({match[1]: match[2]})
    return found
