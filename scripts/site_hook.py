"""What MkDocs asks while it builds the site (mkdocs.yml: hooks): the pages of pipeline/site, and their order."""

import sys
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).absolute().parents[1]))

from pipeline.site import pages


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Order the pages."""
    config.nav = pages.navigation()
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Put the generated pages beside, or in the place of, the documents of docs/."""
    for document in [file for file in files if file.src_uri.endswith(".md")]:
        files.remove(document)
    for path, text in pages.pages().items():
        files.append(File.generated(config, path, content=text))
    for path, content in pages.lessons.pictures().items():
        files.append(File.generated(config, path, content=content))
    return files
