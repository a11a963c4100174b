"""What `make publish` writes, in Chromium: the same ids, probabilities, translation, label and neighbours as Python.

LANGLADDER_EXPLORED names a folder with models/ and reports/ to publish instead of a small run.
"""

import os
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.answers.classify import normalised
from langladder.answers.loading import read_classifier, read_model, read_translator
from langladder.answers.surprisal import row_of
from langladder.answers.translate import search, weights
from langladder.decoding.beam_search import BeamConfig
from langladder.embeddings.saved import load_vectors
from langladder.text.labelled.labelled import Example
from langladder.text.storage.tables import read_column
from langladder.text.tokenize.specials import EOS
from pipeline.site.publish import PAGES, Rung, publish
from tests.browser.looking import Visit, settled, submit
from tests.browser.test_every_page import findings
from tests.site.small_run import LINES, small_run

ODD = [
    "",
    "   ",
    "The cat’s 3 dogs, they'll SLEEP!!  At 10:45…\tİstanbul ΟΔΟΣ ﬁn",
    "猫が「ねこ」を見る。 你好，世界 ไทยน้ำใจ བོད་སྐད 한국어",
    "👩🏽‍🚀🇫🇷 e\u0301 e\u0327\u0301 \u00ad\u200b\u200dx\u0085y\u00a0z\u3000.",
    "الولد كَتَبَ رسالة שלום (עולם)?",
    "a\r\nthe king\u2028sees\x1cthe old\n\ncat .",
    '(the U.S., J. Smith’s... "twenty-one") -- 5%, don\'t #1.',
    "ሰላም፡ለዓለም፡፡ ፡ וכו׳, (צה״ל) 'שלום' 我❤\ufe0f👩\u200d💻သားများ می\u200cخواهم我",
    "<unk> < pad > <b>&amp;</b> \\x41 \U0001f600\U00010330",
]
ENGINE = """async ({{ rung, given }}) => {{
  const model = await (await import("/static/models.js")).load(rung);
  return given.map((one) => {{ {body} }});
}}"""
CLOSE = 1e-4
ROUNDED = 2e-5  # of unlikely tokens PyTorch's LSTM is 1.7e-4 from what it gives in float64, JavaScript 4e-6


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = os.environ.get("LANGLADDER_EXPLORED")
    return Path(folder) if folder else small_run(tmp_path_factory.mktemp("run"))


@pytest.fixture(scope="session")
def rungs(run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Rung | str], Path]:
    out = tmp_path_factory.mktemp("published") / "folder"
    return publish(run, out), out


@pytest.fixture(scope="session")
def published(rungs: tuple[dict[str, Rung | str], Path]) -> Iterator[str]:
    handler = partial(Quiet, directory=str(rungs[1]))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def computed(visit: Visit, published: str, rungs: tuple[dict[str, Rung | str], Path]) -> Any:
    """computed(kind, body, items) → what JavaScript makes of each `one` of them with the rung's `model`."""
    page = visit("/index.html", base=published)
    return lambda kind, body, items: page.evaluate(ENGINE.format(body=body), {"rung": rungs[0][kind], "given": items})


def texts_of(run: Path, table: str, column: str) -> list[str]:
    """Texts of the test split, where the run has any, and odd ones."""
    path = run / "data" / "clean" / table
    return [*(next(read_column(path, column)) if path.exists() else LINES)[:4], *ODD]


@pytest.mark.parametrize(("kind", "name"), [("ngram", "kneser_ney"), ("lstm", "lstm"), ("gpt", "gpt")])
def test_language_models_give_the_same_ids_and_log_probabilities(
    kind: str, name: str, run: Path, computed: Any
) -> None:
    loaded = read_model(run / "models" / "lm" / name)
    texts = texts_of(run, "text/test", "text")
    texts += ["\n".join(texts[:4])]  # longer than GPT's context
    body = "const ids = model.ids(one); return [ids, model.score(ids), [...model.next(ids.slice(0, -1))[0]].slice(3)]"
    for text, (ids, scores, following) in zip(texts, computed(kind, body, texts), strict=True):
        assert ids == loaded.model.as_read(row_of(loaded.tokenizer, text).ids), text
        rows = torch.tensor([ids])
        np.testing.assert_allclose(scores, loaded.model.log_probs(rows)[0], atol=CLOSE, rtol=ROUNDED, err_msg=text)
        expected = loaded.model.next_log_probs(rows[:, :-1])[0, EOS:]
        np.testing.assert_allclose(following, expected, atol=CLOSE, rtol=ROUNDED, err_msg=text)


def test_tokens_are_spelled_alike(run: Path, computed: Any) -> None:
    tokenizer = read_model(run / "models" / "lm" / "gpt").tokenizer
    every = list(range(tokenizer.vocab_size))
    assert computed("gpt", "return model.tokenizer.piece(one)", every) == [tokenizer.piece(token) for token in every]
    ids = [tokenizer.encode(text).tolist() for text in ODD]
    cut = [[*row[:5], *row[6:]] for row in ids]  # characters that lack a byte
    result = computed("gpt", "return model.tokenizer.decode(one)", [*ids, *cut])
    assert result == [tokenizer.decode(row) for row in [*ids, *cut]]


def test_drawn_tokens_follow_the_model(run: Path, computed: Any) -> None:
    body = """
    const share = { temperature: 1, most: 1, random: () => one };
    return [...model.sample([2], share)].concat(3)[0]"""
    loaded = read_model(run / "models" / "lm" / "kneser_ney")
    p = loaded.model.next_log_probs(torch.tensor([[2]]))[0].exp().double().numpy()
    shares = [0.05, 0.3, 0.5, 0.7, 0.999]
    assert computed("ngram", body, shares) == [
        int(np.searchsorted(np.cumsum(p), share, side="right")) for share in shares
    ]


def test_the_translation_and_what_it_reads_are_the_same(run: Path, computed: Any) -> None:
    loaded = read_translator(run / "models" / "translator" / "attention")
    loaded.model.eval()
    texts = texts_of(run, "parallel/test.parquet", "source")
    for text, result in zip(texts, computed("translator", "return model.translate(one)", texts), strict=True):
        source = np.append(loaded.source.encode(text), EOS)
        expected = search(loaded, source, BeamConfig(width=1))["greedy"]
        assert (result["ids"], result["text"]) == (expected["ids"], expected["text"]), text
        assert result["logProb"] == pytest.approx(expected["log_prob"], abs=CLOSE), text
        read = weights(loaded, source, expected["ids"])
        assert (result["source"], result["target"]) == (read["source"], read["target"])
        np.testing.assert_allclose(result["attention"], read["layers"][0]["weights"][0], atol=6e-4)  # three digits


@pytest.mark.parametrize("multi_label", [False, True], ids=["one label", "several"])
def test_the_label_is_the_same(multi_label: bool, run: Path, computed: Any) -> None:
    model: Any = read_classifier(run / "models" / "classifier" / "textcnn")
    model.multi_label = multi_label
    texts = [text for text in texts_of(run, "labels/test.parquet", "text") if text.strip()]
    body = f"model.multiLabel = {str(multi_label).lower()};"
    body += "const { pieces, ids } = model.read(one); return [pieces, [...ids], [...model.logProbs(ids)]]"
    for text, (pieces, ids, log_probs) in zip(texts, computed("classifier", body, texts), strict=True):
        example = normalised(model, Example(text))
        read = model.as_read(example)
        assert (pieces, ids) == (read.pieces, read.ids.tolist())
        expected = model.log_probs([example])[0]
        np.testing.assert_allclose(log_probs, expected, atol=CLOSE, err_msg=text)
        assert np.argmax(log_probs) == np.argmax(expected)


def test_neighbours_and_analogies_are_the_same(run: Path, computed: Any) -> None:
    vectors = load_vectors(run / "models" / "embedding" / "skipgram")
    words = vectors.words[:20]
    body = "return [model.nearest(model.find(one[0]), 5), model.analogy(...one.map((word) => model.find(word)), 5)]"
    questions = [list(three) for three in zip(words, words[1:], words[2:], strict=False)]
    for (a, b, c), result in zip(questions, computed("vectors", body, questions), strict=True):
        for own, expected in zip(result, (vectors.nearest(a, 5), vectors.analogy(a, b, c, 5)), strict=True):
            assert [word for word, _ in own] == [word for word, _ in expected]
            assert [score for _, score in own] == pytest.approx([score for _, score in expected], abs=CLOSE)


LOOKS = [("light", 1280), ("dark", 400)]


@pytest.mark.parametrize("look", LOOKS, ids=["light", "dark and narrow"])
@pytest.mark.parametrize("name", [page.name for page in PAGES])
def test_every_page_answers_within_two_seconds_and_loads_its_own_models_only(
    name: str, look: tuple[str, int], visit: Visit, published: str, rungs: tuple[dict[str, Rung | str], Path]
) -> None:
    page = visit(f"/{name}.html", *look, base=published)
    kinds = next(item.kinds for item in PAGES if item.name == name)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})  # the page's own seconds, on a busy machine too
    page.reload()
    if kinds:
        page.wait_for_selector("#found table")
    metrics = {metric["name"]: metric["value"] for metric in session.send("Performance.getMetrics")["metrics"]}
    assert 0 < metrics["TaskDuration"] < 2
    settled(page)
    loaded = page.evaluate("performance.getEntriesByType('resource').map((one) => new URL(one.name).pathname)")
    own = {f"/{path}" for kind in kinds for path in rungs[0][kind]["files"]}  # type: ignore[index]
    assert {path for path in loaded if path.startswith("/models/")} == own
    assert not findings(page)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("name", ["continue", "translate", "classify"])
def test_what_is_typed_is_text(name: str, visit: Visit, published: str) -> None:
    page = visit(f"/{name}.html", base=published)
    page.locator("textarea").fill("<img src=x onerror=alert(1)> 猫 שלום")
    submit(page)
    page.wait_for_selector("#found table")
    assert page.locator("#found img").count() == 0


def test_an_unknown_word_is_named(visit: Visit, published: str) -> None:
    page = visit("/words.html", base=published)
    page.locator("input[name=word]").fill("<b>qqq</b>")
    submit(page)
    assert "“<b>qqq</b>” is not among the" in page.locator("#alert").inner_text()
