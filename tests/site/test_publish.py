"""The folder of `make publish`: complete, of this host alone, and plain about what is not in it."""

import json
import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline.site.publish import KINDS, PAGES, publish, without_checkout
from tests.site.small_run import LINES, small_run

SVG = "http://www.w3.org/2000/svg"  # a name, not an address
LINKED = re.compile(r"""(?:href|src)="([^"#]+)"|from "([^"]+)";""")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="module")
def out(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("out") / "publish"
    rungs = publish(run, folder, ["history"])
    assert all(isinstance(rung, dict) for rung in rungs.values())
    return folder


def test_everything_that_a_page_needs_is_in_the_folder(out: Path) -> None:
    files = [file for file in out.rglob("*") if file.suffix in (".html", ".js")]
    linked = {
        (file.parent / target).resolve()
        for file in files
        for match in LINKED.finditer(file.read_text(encoding="utf-8"))
        if not (target := match[1] or match[2]).startswith("data:")
    }
    assert linked
    assert all(path.is_file() for path in linked)
    listed = {
        path: size
        for rung in read_json(out / "rungs.json").values()
        for path, size in zip(rung["files"], rung["bytes"], strict=True)
    }
    assert {path: (out / path).stat().st_size for path in listed} == listed
    assert {path.relative_to(out).as_posix() for path in (out / "models").iterdir()} == set(listed)
    start = (out / "index.html").read_text(encoding="utf-8")
    scripts = {file.relative_to(out).as_posix() for file in (out / "static").iterdir()}
    assert all(f'<code class="small faint">{path}</code>' in start for path in {*listed, *scripts})
    assert f'data-text="{LINES[0]}"' in (out / "translate.html").read_text(encoding="utf-8")
    assert 'data-text="the dogs that the"' in (out / "continue.html").read_text(encoding="utf-8")
    assert 'href="report-history/index.html">Report: history</a>' in start
    assert (out / "report" / "index.html").is_file() and (out / ".nojekyll").is_file()


def test_no_page_names_another_host(out: Path) -> None:
    for file in (file for file in out.rglob("*") if file.suffix in (".html", ".js", ".css")):
        text = file.read_text(encoding="utf-8").replace(f'"{SVG}"', "")
        assert not re.search(r"https?:|[\"'(]//|@import", text), file
        if file.suffix == ".html" and file.parent == out:
            assert "content=\"default-src 'self';" in text


def test_a_page_knows_its_own_rungs_and_says_which_are_not_there(run: Path, tmp_path: Path) -> None:
    models = tmp_path / "models" / "lm"
    copies = ("kneser_ney", "kneser_ney"), ("kneser_ney", "another"), ("gpt", "gpt"), ("lstm", "of_our_own")
    for name, copied in copies:
        shutil.copytree(run / "models" / "lm" / name, models / copied)
    described = read_json(models / "gpt" / "config.json")
    write_json(models / "gpt" / "config.json", described | {"config": described["config"] | {"norm": "post"}})
    rungs = publish(tmp_path, tmp_path / "out")
    assert {name for name, rung in rungs.items() if isinstance(rung, dict)} == {"ngram", "lstm"}
    assert rungs["ngram"]["name"] == "kneser_ney"  # type: ignore[index]
    assert rungs["gpt"] == "not in the browser: gpt has norm: post, and the browser runs norm: pre"
    pages = {page.name: (tmp_path / "out" / f"{page.name}.html").read_text(encoding="utf-8") for page in PAGES}
    listed = {name: json.loads(unescape(re.findall(r'data-rungs="([^"]*)"', text)[0])) for name, text in pages.items()}
    assert {name: set(own) for name, own in listed.items() if own} == {"continue": {"ngram", "lstm"}}
    assert "GPT: not in the browser: gpt has norm: post" in pages["continue"]
    assert "Attention translator: not in this run." in pages["translate"] and "<form" not in pages["translate"]
    assert pages["index"].count("not in this run") == len(KINDS) - 3
    assert "Report" not in pages["index"]


def test_a_rung_that_the_browser_cannot_run_is_left_out_with_the_reason(run: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    for rung in ("lm/kneser_ney", "translator/attention", "classifier/textcnn", "embedding/skipgram"):
        shutil.copytree(run / "models" / rung, models / rung)
    reading = models / "classifier" / "textcnn" / "reading.json"
    described = read_json(reading)
    write_json(reading, described | {"units": described["units"] | {"mode": "jieba"}})
    by_word = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    by_word.save(models / "translator" / "attention" / "source.json")
    save_file({"data": np.zeros(3, np.float32)}, models / "embedding" / "skipgram" / "vectors.safetensors")
    rungs = publish(tmp_path, tmp_path / "out")
    assert {kind for kind, rung in rungs.items() if isinstance(rung, dict)} == {"ngram"}
    for kind, reason in (("classifier", "words: jieba"), ("translator", "kind word"), ("vectors", "a sparse matrix")):
        assert reason in rungs[kind]


def test_the_report_of_another_ladder_is_published_only_if_named(run: Path, tmp_path: Path) -> None:
    publish(run, tmp_path / "out")
    assert not (tmp_path / "out" / "report-history").exists()
    assert "report-history" not in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="--ladder histroy: no report; reports in ladders/: history"):
        publish(run, tmp_path / "other", ["histroy"])
    assert not (tmp_path / "other").exists()


def test_only_a_published_folder_is_replaced(run: Path, out: Path, tmp_path: Path) -> None:
    publish(run, out)
    (out / "blog").mkdir()
    for mine in ("CNAME", "blog/first.html"):
        (out / mine).touch()
        with pytest.raises(InputError, match=rf"it holds {mine}: not in what `make publish` wrote, or edited since"):
            publish(run, out)
        (out / mine).unlink()
    page = (out / "index.html").read_text(encoding="utf-8")
    (out / "index.html").write_text(page + "<p>mine</p>", encoding="utf-8")
    with pytest.raises(InputError, match=r"it holds index\.html: not"):
        publish(run, out)
    (out / "index.html").write_text(page, encoding="utf-8")
    publish(run, out)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError, match="not replaced"):
        publish(run, tmp_path / "mine")
    (out / ".git").mkdir()
    (out / ".git" / "HEAD").touch()
    with pytest.raises(InputError, match=r"it holds \.git/HEAD"):
        publish(run, out)
    shutil.rmtree(out / ".git")
    with pytest.raises(InputError, match="no rung that runs in the browser"):
        publish(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_report_has_no_link_to_a_file_that_is_not_published() -> None:
    links = '<a href="../src/a.py"><code>a.py</code></a> <a href="../../../docs/b.md">b</a> <a href="#c">c</a>'
    assert without_checkout(links, guides=False) == '<code>a.py</code> b <a href="#c">c</a>'
    assert without_checkout(links, guides=True) == (
        '<code>a.py</code> <a href="../docs/b.html">b</a> <a href="#c">c</a>'
    )
