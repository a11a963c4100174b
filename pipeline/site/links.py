"""Links of documents that are read in two places: as files of the repository, and as pages of the site.

A link to another document becomes a link to its page; one to any other file of the repository (`../dvc.yaml`) leads to
a page with a copy of it, so that only links that begin with http leave the site.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from pipeline import ROOT

LINK = re.compile(r"(!?\[[^\]]*\]\()([^)#\s]+)(#[^)\s]*)?(\))")
FENCE = re.compile(r"^\s*(```|~~~)")
ITEM = re.compile(r"^(- |\d+\. )")
GUIDES, START, COPIES = "guides.md", "index.md", "files"
LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".json": "json", ".sh": "bash"}


def page_of(path: str) -> str:
    """The page of a file or folder of the repository."""
    if path in ("README.md", "docs/README.md"):
        return START if path == "README.md" else GUIDES
    if (ROOT / path).is_dir():
        return GUIDES
    return path.removeprefix("docs/") if path.startswith("docs/") else f"{COPIES}/{path}.md"


def for_the_site(text: str, source: str, page: str) -> str:
    """A document as the site's page `page`; `source` is its path in the repository."""
    here, there = posixpath.dirname(source), posixpath.dirname(page)

    def turned(match: re.Match[str]) -> str:
        opening, target, anchor, closing = match.groups(default="")
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = posixpath.normpath(posixpath.join(here, target))
        return f"{opening}{posixpath.relpath(page_of(path), there or '.')}{anchor}{closing}"

    return "\n".join(line if code else LINK.sub(turned, line) for line, code in _spaced(text)) + "\n"


def copied(texts: dict[str, str]) -> dict[str, str]:
    """Copies of the files that these documents (source → text) link to: page → its Markdown."""
    copies: dict[str, str] = {}
    for source, text in texts.items():
        for line, code in _spaced(text):
            for match in () if code else LINK.finditer(line):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(source), match[2]))
                page = page_of(path)
                if page.startswith(f"{COPIES}/") and (ROOT / path).is_file():
                    copies[page] = copy_of(path)
    return copies


def copy_of(path: str) -> str:
    """A file of the repository as a page."""
    language = LANGUAGES.get(PurePosixPath(path).suffix, "text")
    return f"# {path}\n\n{fenced((ROOT / path).read_text(encoding='utf-8'), language)}"


def fenced(text: str, language: str) -> str:
    """A block of code with any content."""
    ticks = max([2, *map(len, re.findall(r"`{3,}", text))]) + 1
    return f"{'`' * ticks}{language}\n{text.rstrip()}\n{'`' * ticks}\n"


def _spaced(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and which are code; a list gets the blank line above it that Python-Markdown wants."""
    code, before = False, ""
    for line in text.splitlines():
        fence = bool(FENCE.match(line))
        starts_list = ITEM.match(line) and before and not before.startswith((" ", "#")) and not ITEM.match(before)
        if starts_list and not code:
            yield "", False
        yield line, code or fence
        code, before = code != fence, line
