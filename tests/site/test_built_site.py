"""The site as readers have it: built strictly, its lessons executed, nothing in it loaded from elsewhere."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from langladder.families import families
from pipeline import ROOT
from pipeline.settings.params import conf_names
from pipeline.site import lessons, story

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(1200)]

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
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag in LOADED and values.get("rel") not in ("canonical", "next", "prev"):
            self.links.append(values.get(LOADED[tag]) or "")


def test_equations_are_typeset_and_code_stays(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in sorted(site.rglob("*.html"))}
    assert len([page for page, text in pages.items() if '<div class="equations"' in text]) > 30
    assert re.search(r"<code>[^/]*make repro", pages[site / "index.html"])


def test_no_page_loads_anything_from_outside(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 100
    for page in pages:
        reader = Loads()
        reader.feed(page.read_text(encoding="utf-8"))
        assert reader.links
        outside = [target for target in reader.links if re.match(r"(https?:)?//", target)]
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
        assert f'href="{name}-handout.html"' in page and "This lesson did not finish" not in page
        assert "Three questions" not in page, "the answers are on the teacher's page"
        assert "Three questions" in (site / "lessons" / f"{name}-handout.html").read_text(encoding="utf-8")


def test_the_search_knows_rungs_lessons_and_functions(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    titles = " ".join(re.sub(r"<[^>]*>", "", page["title"]) for page in index["docs"])
    for title in ("Kneser–Ney 3-gram, 1995", "Lesson 4: attention by hand", "langladder.nn.attention"):
        assert title in titles


@pytest.fixture
def lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], lessons.Outcome]:
    """Execute a lesson of two cells: one that prints 4, and the given one."""
    for package in ("jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(package, reason="the site's packages: pip install 'langladder[site]'")
    monkeypatch.setattr(lessons, "LESSONS", tmp_path)
    monkeypatch.setattr(lessons, "KEPT", tmp_path / "kept")

    def execute(name: str, cell: str) -> lessons.Outcome:
        cells = "# %% [markdown]\n# # Lesson 1: sums\n\n# %%\nprint(2 + 2)\n"
        (tmp_path / f"{name}.py").write_text(f"{cells}\n# %%\n{cell}\n")
        return lessons.executed(name)

    return execute


def test_a_lesson_that_holds_is_kept(lesson: Callable[[str, str], lessons.Outcome], tmp_path: Path) -> None:
    mine, older = (tmp_path / "kept" / f"right-{name}.ipynb" for name in ("mine", "0123456789abcdef"))
    mine.parent.mkdir()
    mine.touch()
    older.touch()
    outcome = lesson("right", "assert 2 + 2 == 4")
    assert not outcome.problem and "```text\n4\n```" in lessons.as_markdown("right", outcome)
    assert len(list((tmp_path / "kept").iterdir())) == 2 and mine.exists() and not older.exists()


def test_a_lesson_whose_claim_does_not_hold_says_so_on_its_page(
    lesson: Callable[[str, str], lessons.Outcome], tmp_path: Path
) -> None:
    outcome = lesson("wrong", "assert 2 + 2 == 5, 'no <sum>'")
    assert outcome.raised and outcome.problem == "AssertionError: no <sum>"
    page = lessons.as_markdown("wrong", outcome)
    assert "did not finish" in page and "no &lt;sum>" in page.replace("&gt;", ">") and "```text\n4\n```" in page
    assert not (tmp_path / "kept").exists(), "it is executed again the next time"


def test_a_lesson_that_takes_too_long_is_stopped_and_said_in_one_line(
    lesson: Callable[[str, str], lessons.Outcome], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lessons, "LIMIT", 8)  # a busy machine starts no process in that time: the same words
    outcome = lesson("slow", "import time; time.sleep(60)")
    assert not outcome.raised and outcome.problem.startswith("stopped after 8 s, the time limit")
    printed, errors = capfd.readouterr()
    assert printed.splitlines() == ["Lesson 1: sums: executing …", f"Lesson 1: sums: {outcome.problem}"] and not errors


def test_a_site_with_a_failed_lesson_is_written_and_the_command_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    mkdocs = pytest.importorskip("mkdocs.exceptions", reason="the site's packages: pip install 'langladder[site]'")
    from scripts import site_hook

    config = SimpleNamespace(site_dir="site")
    site_hook.on_post_build(config)
    monkeypatch.setitem(site_hook.failed, "sums", "AssertionError: no sum")
    with pytest.raises(mkdocs.MkDocsException, match=r"the site is built.*lessons/sums.py: AssertionError: no sum"):
        site_hook.on_post_build(config)
