"""The site's pages before MkDocs sees them: every rung stands in the story, every link leads somewhere."""

import ast
import json
import posixpath
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from langladder.faces.report.docstrings import docstring
from langladder.families import families
from pipeline import ROOT
from pipeline.settings import titles
from pipeline.settings.params import conf_file, conf_names
from pipeline.site import equations, figures, lessons, links, pages, reference, story

LESSONS = sorted((ROOT / "lessons").glob("*.py"))
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]*)(?:#[^)\s]*)?\)")


@cache
def written() -> dict[str, str]:
    """All pages but the lessons, which would be executed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lessons, "pages", lambda: {f"lessons/{file.stem}.md": "" for file in LESSONS})
        return pages.pages()


@pytest.mark.parametrize("family", families())
def test_every_rung_of_conf_stands_in_the_story(family: str) -> None:
    page = written()[f"story/{family}.md"]
    for name in conf_names(family):
        settings = yaml.safe_load(conf_file(family, name).read_text(encoding="utf-8"))
        part = page.split(f"{{#{story.anchor(name)}}}")[1].split("\n## ")[0]
        assert f"## {settings['title']}, {settings['year']}" in page
        assert f"conf/{families()[family].group}/{name}.yaml" in part
        module = titles.module_of(family, story.settings(family, name))
        assert module and docstring(module) and module in part
        measured = "last run:*" if families()[family].trained else "*Measured"
        assert measured in part


def test_a_rung_without_a_class_of_its_own_has_that_which_it_builds_on() -> None:
    assert titles.module_of("encoder", story.settings("encoder", "roberta_mini")) == "langladder.models.encoders.bert"
    assert (
        titles.module_of("classifier_transfer", story.settings("classifier_transfer", "textcnn_skipgram_frozen"))
        == "langladder.models.classification.textcnn"
    )
    assert titles.module_of("align", story.settings("align", "dpo")) == "langladder.tasks.policy.dpo"
    assert titles.module_of("instruct", story.settings("instruct", "sft")) == "langladder.tasks.instruction"


def test_equations_keep_their_lines_and_markers_are_no_tags() -> None:
    text = "The end is <eos>, in code `<eos>`:\n\n    p = <a, b>\n"
    assert story.sentences(text).splitlines() == ["The end is &lt;eos>, in code `<eos>`:", "", "    p = <a, b>"]


def test_figures_are_those_of_the_last_run_and_else_the_published_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    head = "**Language models**\n\n| rung | perplexity per word | time |\n| --- | ---: | ---: |\n"
    table = head + "| GPT | **{}** | – |\n"
    published = tmp_path / figures.PUBLISHED[0]
    published.parent.mkdir(parents=True)
    published.write_text("Text.\n\n" + table.format("9.38") + "\nMore.\n")
    figures.tables.cache_clear()
    result = figures.Table(figures.PUBLISHED[0], ["perplexity per word", "time"], {"GPT": ["**9.38**", "–"]})
    assert figures.tables()["Language models"] == result
    (tmp_path / figures.PUBLISHED[1]).write_text(table.format("9.40") + "| LSTM | 9.50 | 5 s |\n")
    figures.tables.cache_clear()
    assert list(figures.tables()["Language models"].rungs) == ["GPT", "LSTM"], "the table with the most rungs"
    (tmp_path / "reports").mkdir()
    (tmp_path / "reports" / "ladder.md").write_text(table.format("9.01"))
    figures.tables.cache_clear()
    assert figures.tables()["Language models"].rungs == {"GPT": ["**9.01**", "–"]}
    assert "perplexity per word 9.01" in story._figures(families()["lm"], "gpt", "GPT")
    figures.tables.cache_clear()


def test_figures_of_a_claim_are_a_row_of_the_results_or_a_section_of_a_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "ROOT", tmp_path)
    (tmp_path / "docs" / "results").mkdir(parents=True)
    (tmp_path / "docs" / "results" / "claims.md").write_text("| claim | found |\n| --- | --- |\n| `heads` | holds |\n")
    guide = "# Guide\n\n| task | says |\n| --- | --- |\n| `own` | help |\n| `told` | help |\n\n"
    guide += "## What was measured\n\n| task | GPT |\n| --- | ---: |\n| `own` (new) | 30 |\n| `heads` | no |\n\n"
    guide += "`text` ([claims.md](claims.md)) reads.\n\n### Best, or last (`losses`)\n\nFigures.\n"
    (tmp_path / "docs" / "guide.md").write_text(guide)
    figures.claims.cache_clear()
    assert figures.claims() == {
        "heads": figures.Claim("results/claims.md", "found: holds"),
        "own": figures.Claim("guide.md#what-was-measured", "GPT: 30"),
        "text": figures.Claim("guide.md#what-was-measured", ""),
        "losses": figures.Claim("guide.md#best-or-last-losses", ""),
    }
    figures.claims.cache_clear()


def test_every_document_stands_among_the_guides() -> None:
    listed = set(LINK.findall((ROOT / "docs" / "README.md").read_text(encoding="utf-8")))
    documents = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*.md")}
    assert listed - {"../README.md"} == documents - {"README.md"}


def test_links_lead_to_pages_or_to_copies() -> None:
    text = (
        "[a](../dvc.yaml) [b](stages.md#tokens) ![c](mlflow.png) [d](../README.md#comparing) [e](https://x.org/y.md)\n"
    )
    text += "Items:\n- one\n- two\n```\n[f](../dvc.yaml)\n```\n"
    turned = links.for_the_site(text, "docs/results/../comparing.md", "comparing.md").splitlines()
    assert turned[0] == (
        "[a](files/dvc.yaml.md) [b](stages.md#tokens) ![c](mlflow.png) [d](index.md#comparing) [e](https://x.org/y.md)"
    )
    assert turned[1:5] == ["Items:", "", "- one", "- two"] and turned[6] == "[f](../dvc.yaml)"
    assert "stages:" in links.copied({"docs/comparing.md": text})["files/dvc.yaml.md"]


def test_no_link_leads_out_of_the_site() -> None:
    assets = {file.relative_to(ROOT / "docs").as_posix() for file in (ROOT / "docs").rglob("*") if file.is_file()}
    for page, text in written().items():
        prose = re.sub(r"(?ms)^ *(`{3,}).*?^ *\1|^    .*?$|`[^`\n]*`", "", text)
        for target in filter(None, LINK.findall(prose)):
            if "://" not in target:
                path = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
                assert path in written() or path in assets, (page, target)


def test_the_reference_has_every_module_and_every_choice() -> None:
    text = "\n".join(reference.library().values())
    for file in (ROOT / "src" / "langladder").rglob("*.py"):
        name = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
        assert file.stem.startswith("_") or f"::: {name}\n" in text, name
    choices = "\n".join(reference.choices().values())
    for file in (ROOT / "conf").rglob("*.yaml"):
        assert file.read_text(encoding="utf-8").rstrip() in choices, file


def test_the_order_of_the_pages_names_each_once() -> None:
    def flat(node: object) -> list[str]:
        if isinstance(node, str):
            return [node]
        parts = node.values() if isinstance(node, dict) else node
        return [page for part in parts for page in flat(part)]  # type: ignore[attr-defined]

    named = flat(pages.navigation())
    assert len(named) == len(set(named))
    copies = {page for page in written() if page.startswith(links.COPIES)}
    assert set(named) == (written().keys() | {"lessons/index.md"}) - copies


def test_lessons_a_class_each_and_one_for_each_step() -> None:
    assert len(LESSONS) == 8


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
def test_a_handout_fills_45_minutes_and_answers_three_questions(file: Path) -> None:
    sheet = lessons.handout(file.stem)
    assert sheet.startswith(f"# {lessons.title(file.stem)}\n") and 120 < len(sheet.split()) < 420, "one page"
    parts = [sheet.index(f"**{part}**") for part in ("Goal.", "On the board.", "Three questions.")]
    assert parts == sorted(parts)
    times = [[int(minute) for minute in row] for row in re.findall(r"(?m)^\| (\d+)–(\d+) \|", sheet)]
    assert [begin for begin, _ in times] == [0, *(end for _, end in times[:-1])] and times[-1][1] == 45
    answers = re.findall(r"(?m)^\d\. \*[^*]+\?\* \S", sheet.partition("**Three questions.**")[2].replace("\n   ", " "))
    assert len(answers) == 3


@pytest.mark.parametrize("file", LESSONS, ids=lambda file: file.stem)
def test_a_lesson_asks_asserts_and_answers(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") <= 420
    assert re.search(r"(?m)^# # Lesson \d: .*\n#\n# \*\*.*\?", text), "a title and a question"
    exercises = len(re.findall(r"(?m)^# \*\*Exercise \d\.\*\*", text))
    assert exercises >= 3 and exercises == text.count("<details>") == text.count("</details>")
    assert sum(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(text))) >= 8
    assert text.count("plt.subplots") == text.count('# %% alt="')


def test_a_notebook_that_was_edited_is_not_written_again(tmp_path: Path) -> None:
    assert lessons.write_notebooks(tmp_path) == []
    first, second = sorted(tmp_path.glob("*.ipynb"))[:2]
    first.write_text(first.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    edited = first.read_bytes()
    assert lessons.write_notebooks(tmp_path) == lessons.write_notebooks(tmp_path) == [first.name]
    assert first.read_bytes() == edited and json.loads(second.read_text(encoding="utf-8"))["cells"]
    first.unlink()
    assert lessons.write_notebooks(tmp_path) == [] and first.is_file()


def test_the_gpt_of_the_lesson_has_at_most_100_lines() -> None:
    text = (ROOT / "lessons" / "a_gpt_in_100_lines.py").read_text(encoding="utf-8")
    [cell] = [cell for cell in text.split("# %%") if "class GPT" in cell]
    assert "def fit(" in cell and "class Attention" in cell and len(cell.splitlines()) <= 100


def test_the_lessons_stand_in_their_order() -> None:
    titles = [lessons.title(name) for name in lessons.names()]
    assert [title.partition(":")[0] for title in titles] == [f"Lesson {n}" for n in range(1, len(titles) + 1)]


def test_of_code_blocks_only_equations_are_typeset() -> None:
    block = '<div class="highlight"><pre><span></span><code>{}</code></pre></div>'
    blocks = equations.typeset_blocks(
        block.format("p_t = a / (b + c)\n") + block.format("make repro &amp;&amp; echo x_1")
    )
    assert blocks.count("<mfrac>") == 1
    assert blocks.endswith(block.format("make repro &amp;&amp; echo x_1"))
