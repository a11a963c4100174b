"""What MkDocs asks while it builds the site (mkdocs.yml: hooks): the pages of pipeline/site, and their order."""

import os
import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException
from mkdocs.plugins import event_priority
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).absolute().parents[1]))

from pipeline.site import equations, lessons, pages

failed: dict[str, str] = {}
"""Lesson → the error that it raised."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Order the pages."""
    config.nav = pages.navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the generated pages beside, or in the place of, the documents of docs/."""
    for document in [file for file in files if file.src_uri.endswith(".md")]:
        files.remove(document)
    failed.clear()
    failed.update(lessons.execute_all())
    print("site: writing the pages", flush=True)
    for path, text in pages.pages().items():
        files.append(File.generated(config, path, content=text))
    for path, content in lessons.pictures().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_content(html: str, **_: object) -> str:
    """Typeset the equations."""
    return equations.typeset_blocks(html)


@event_priority(-100)  # after the search has written its index
def on_post_build(config: MkDocsConfig) -> None:
    """Say where the site is; fail if a lesson did."""
    print(f"site: → {os.path.relpath(config.site_dir)}/index.html", flush=True)
    if failed:
        reasons = "; ".join(f"lessons/{name}.py: {problem}" for name, problem in failed.items())
        raise MkDocsException(f"the site is built, but a lesson failed: {reasons}")
