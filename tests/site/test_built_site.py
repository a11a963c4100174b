"""The site as readers have it: built strictly, its lessons executed, nothing in it loaded from elsewhere."""

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from langladder.families import families
from pipeline import ROOT
from pipeline.settings.params import conf_names
from pipeline.site import lessons, story

pytestmark = [pytest.mark.long, pytest.mark.timeout(1200)]

LOADED = dict.fromkeys(("script", "img", "iframe", "source"), "src") | {"link": "href", "use": "href", "object": "data"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    for package in ("material", "mkdocstrings", "jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(package, reason="the site's packages: pip install 'langladder[site]'")
    folder = tmp_path_factory.mktemp("built") / "site"
    environment = {key: value for key, value in os.environ.items() if key != "LANGLADDER_DATA"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env=environment | {"NO_MKDOCS_2_WARNING": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


class Loads(HTMLParser):
    """What a page loads by itself: styles, scripts, pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in LOADED and values.get("rel") not in ("canonical", "next", "prev"):
            self.found.append(values.get(LOADED[tag]) or "")


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        assert reader.found
        outside = [target for target in reader.found if re.match(r"(https?:)?//", target)]
        assert not outside, (page, outside)
        assert 'class="mermaid"' not in page.read_text(encoding="utf-8"), "its script would come from elsewhere"
    for style in site.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style


def test_every_rung_can_be_linked_to(site: Path) -> None:
    for family in families():
        page = (site / "story" / f"{family}.html").read_text(encoding="utf-8")
        for name in conf_names(family):
            assert f'id="{story.anchor(name)}"' in page


def test_every_lesson_is_executed_and_shown_with_what_it_gave(site: Path) -> None:
    for name in lessons.names():
        page = (site / "lessons" / f"{name}.html").read_text(encoding="utf-8")
        assert page.count("lesson-output") > 5 and page.count("<details>") >= 3
        pictures = re.findall(rf'src="({name}-\d+\.svg)"', page)
        assert pictures and all((site / "lessons" / picture).read_text().startswith("<?xml") for picture in pictures)
        assert (site / "lessons" / f"{name}.ipynb").is_file()


def test_the_search_knows_rungs_lessons_and_functions(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = " ".join(re.sub(r"<[^>]*>", "", page["title"]) for page in index["docs"])
    for title in ("Kneser–Ney 3-gram, 1995", "Lesson 3: attention by hand", "langladder.nn.attention"):
        assert title in titles


def test_a_lesson_whose_claim_does_not_hold_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(package, reason="the site's packages: pip install 'langladder[site]'")
    monkeypatch.setattr(lessons, "LESSONS", tmp_path)
    monkeypatch.setattr(lessons, "KEPT", tmp_path / "kept")
    for name, sum_ in (("right", 4), ("wrong", 5)):
        cells = "# %% [markdown]\n# # Lesson 1: sums\n\n# %%\nprint(2 + 2)\n"
        (tmp_path / f"{name}.py").write_text(f"{cells}assert 2 + 2 == {sum_}\n")
    assert "```text\n4\n```" in lessons.as_markdown("right", lessons.executed("right"))
    assert list((tmp_path / "kept").iterdir())
    with pytest.raises(Exception, match="AssertionError"):
        lessons.executed("wrong")
