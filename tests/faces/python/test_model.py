"""`import langladder as ll`: what a loaded model answers is what the functions beneath answer; examples are true."""

import doctest
import inspect
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import langladder as ll
from langladder.answers import requests
from langladder.answers.classify import classify, example_of
from langladder.answers.generate import generate
from langladder.answers.loading import read_model, read_tagger, read_translator
from langladder.answers.score import score_sentences
from langladder.answers.tag import tag
from langladder.answers.translate import translate
from langladder.faces.mlflow.functions import load as python_function
from langladder.faces.python import model as module
from langladder.faces.python import results as ll_results
from langladder.models.classification.classifier import Classifier
from pipeline import ROOT

LINES = ["the cat sleeps .", "the old king"]


def test_the_examples_are_true(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    tried = 0
    for documented in (ll, module):
        result = doctest.testmod(documented, extraglobs={"ll": ll}, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
        assert not result.failed
        tried += result.attempted
    assert tried > 20
    undocumented = [name for name in module.NAMES - {"chat"} if ">>>" not in (getattr(ll.Model, name).__doc__ or "")]
    assert not undocumented


def test_the_python_of_the_page_works(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the models of `project` where the page has those of a checkout."""
    (tmp_path / "models").symlink_to(project / "models")
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), {})
    for name in module.NAMES | {"predict"}:
        assert f"`{name}" in page


def test_importing_imports_nothing_heavy() -> None:
    code = (
        "import sys, langladder as ll\n"
        "assert 'load' in dir(ll) and ll.__version__ and issubclass(ll.InputError, ValueError)\n"
        "heavy = {'torch', 'numpy', 'pydantic', 'pandas', 'datasets'} & sys.modules.keys()\n"
        "print(sorted(heavy), hasattr(ll, 'lode'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] False"
    kinds = "import sys; from langladder.answers import kinds; from langladder.families import families; families()"
    code = f"{kinds}; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


def test_language_models_score_and_go_on(project: Path) -> None:
    for name in ("gpt", "kneser_ney"):
        folder = project / "models" / "lm" / name
        model, loaded = ll.load(folder), read_model(folder)
        result = model.score(LINES)
        assert [item.text for item in result] == LINES  # not in order of rank
        for item in result:
            (wanted,) = score_sentences(loaded, [item.text])
            assert (item.bits, item.tokens) == (wanted["bits"], wanted["tokens"])
            assert item.perplexity == pytest.approx(2 ** (item.bits / len(item.tokens)))
        assert model.score(LINES[0]) == result[0] and result[1:] == [result[1]]
        options: dict[str, Any] = {"temperature": 0.5, "seed": 3, "max_tokens": 4}
        continued = generate(loaded, LINES, requests.GenerateRequest(**options).sampling())
        assert [(item.text, item.continuation) for item in model.generate(LINES, **options)] == continued
        greedy: dict[str, Any] = {"greedy": True, "max_tokens": 4}
        drafted = model.generate(LINES, **greedy, draft=project / "models" / "lm" / "kneser_ney")
        assert [item.text for item in drafted] == [item.text for item in model.generate(LINES, **greedy)]
        assert model.tokenizer.vocab_size == loaded.tokenizer.vocab_size == model.network.vocab_size


def test_each_family_answers_as_its_functions_do(project: Path) -> None:
    at = project / "models"
    result = ll.load(at / "translator" / "attention").translate(LINES, beam=3, n_best=2, max_length=6)
    wanted = translate(
        read_translator(at / "translator" / "attention"),
        LINES,
        requests.TranslateRequest(beam=3, n_best=2, max_length=6).search(),
    )
    assert [item.candidates for item in result] == [item.candidates for item in wanted]
    assert [item.text for item in result] == [item.candidates[0].text for item in wanted]
    model = Classifier.load(at / "classifier" / "logistic")
    texts = ["good .", "", "good\tbad ."]
    labelled = ll.load(at / "classifier" / "logistic").classify(texts, explain=False)
    [first, third] = classify(
        model, [example_of(model, text) for text in texts if text], requests.ClassifyRequest(top=None)
    )
    assert [dict(first.top), {}, dict(third.top)] == [item.labels for item in labelled]
    assert labelled[1].label is None and sum(labelled[0].labels.values()) == pytest.approx(1)
    [line] = tag(read_tagger(at / "tagger" / "hmm"), ["the dog"], requests.TagRequest(explain=True))
    words = ll.load(at / "tagger" / "hmm").tag("the dog")
    assert (words.words, words.tags, words.probabilities) == (line.words, line.tags, line.probabilities)
    vectors = ll.load(at / "embedding" / "skipgram")
    assert np.allclose(vectors.embed("the king").vector, [1.0, 0.5])
    assert vectors.neighbours(["king"], count=1, measure="euclidean")[0].words == ["queen"]
    instructed = ll.load(at / "instruct" / "sft")
    rows = python_function(at / "instruct" / "sft").predict([{"text": "say cat"}], {"max_tokens": 4})
    assert instructed.chat("say cat", max_tokens=4).answer == rows[0]["answer"]
    assert instructed.tokenizer is not None and instructed.score("say cat").bits > 0


def test_answers_are_data_frames_where_they_are_requested(project: Path) -> None:
    at = project / "models"
    frame = ll.load(at / "lm" / "gpt").score([*LINES, ""]).to_frame()
    assert isinstance(frame, pd.DataFrame) and frame["text"].tolist() == [*LINES, ""] and (frame["bits"] > 0).all()
    tags = ll.load(at / "tagger" / "hmm").tag(["the dog", "", "the"]).to_frame()
    assert tags["word"].tolist() == ["the", "dog", "the"] and tags["text"].tolist() == ["the dog", "the dog", "the"]
    gaps = ll.load(at / "encoder" / "bert_mini").fill("the <mask> <mask> .", best=2).to_frame()
    assert gaps["gap"].tolist() == [0, 0, 1, 1]
    assert len(ll.load(at / "embedding" / "skipgram").neighbours("king").to_frame()) == 2
    assert len(ll.load(at / "lm" / "gpt").score([]).to_frame()) == 0
    series: Any = pd.Series(LINES)
    assert ll.load(at / "lm" / "gpt").score(series)[1].text == LINES[1]
    answer = ll.load(at / "reward" / "reward").predict(pd.DataFrame({"text": ["say cat"], "answer": ["cat"]}))
    assert list(answer.columns) == ["reward"]


def test_a_text_of_probability_0_has_infinite_figures() -> None:
    token: Any = {"token": "the", "bits": None}
    score = ll_results.Score("the", math.inf, [token])
    perplexity: float = score.perplexity
    assert perplexity == math.inf == ll_results.Score("the", 5000.0, [token]).perplexity
    assert ll_results.Score("the", 3.0, [token, token]).perplexity == pytest.approx(2**1.5)
    assert ll_results.Score("the", 3.0, [token]).to_frame()["perplexity"].dtype == float


def test_answers_are_printed_on_a_line_and_shown_as_a_table(project: Path) -> None:
    at = project / "models"
    [item, other] = result = ll.load(at / "classifier" / "logistic").classify(["good <b>", "bad ."], explain=True)
    assert repr(item) == str(item) == f"Classified(text='good <b>', label='yes', probability={item.probability})"
    assert repr(result) == f"[{item},\n {other}]"
    assert result.to_frame()["labels"][0] == item.labels and set(item.labels) == {"yes", "no"}
    page = result._repr_html_()
    assert page.count("<tr>") == 3 and "good &lt;b&gt;" in page and f"yes {item.probability:.4g}, no" in page
    many = ll_results.Answers([item] * 100)
    assert repr(many).count("Classified") == 10 and "… 90 more" in repr(many)
    assert many._repr_html_().count("<tr>") == 61 and "100 rows, of which 60 are shown" in many._repr_html_()
    assert "<td></td>" in ll.load(at / "classifier" / "logistic").classify("")._repr_html_()
    short = {
        "Score(text='the cat', bits=": ll.load(at / "lm" / "gpt").score("the cat"),
        "Tagged(text='the dog', tags=['D', 'N'])": ll.load(at / "tagger" / "hmm").tag("the dog"),
        "Filled(text='the <mask>', best=['": ll.load(at / "encoder" / "bert_mini").fill("the <mask>"),
        "Neighbours(word='king', words=['queen', ": ll.load(at / "embedding" / "skipgram").neighbours("king"),
        "Embedded(text='king', vector of 2 numbers)": ll.load(at / "embedding" / "skipgram").embed("king"),
        "Translated(source='the cat', text='": ll.load(at / "translator" / "attention").translate("the cat"),
    }
    for begin, answer in short.items():
        assert repr(answer).startswith(begin) and len(repr(answer)) < 200
        assert "<table>" in answer._repr_html_()


def test_without_pandas_it_says_what_to_install(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = ll.load(project / "models" / "lm" / "gpt").score("the cat")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ll.InputError, match=r"pip install 'langladder\[frames\]'"):
        result.to_frame()


def test_what_a_model_lacks_is_reported_in_a_line(project: Path, tmp_path: Path) -> None:
    at = project / "models"
    gpt, reward, n_grams = (ll.load(at / name) for name in ("lm/gpt", "reward/reward", "lm/kneser_ney"))
    with pytest.raises(ll.InputError) as error:
        gpt.translate("the cat")
    assert str(error.value) == (
        "gpt: a model of family lm has no translate(); it has score, generate, neighbours, embed, predict"
    )
    with pytest.raises(ll.InputError, match=r"family reward has no score\(\); it has predict$"):
        reward.score("the cat")
    with pytest.raises(ll.InputError, match=r"no neighbours\(\)"):
        n_grams.neighbours("the")
    with pytest.raises(ll.InputError, match="'temp' is not an option; options: greedy, temperature"):
        gpt.generate("the cat", temp=1.0)
    with pytest.raises(ll.InputError, match=r"temperature: -1\.0 is not allowed"):
        gpt.generate("the cat", temperature=-1.0)
    for texts, message in (
        (["the cat", 7], "text 1: 7 is not a string but of type int"),
        (7, "7 is neither a text nor a list"),
    ):
        wrong: Any = texts
        with pytest.raises(ll.InputError, match=message):
            gpt.score(wrong)
    with pytest.raises(ll.InputError, match="no model; expected a folder such as"):
        ll.load(tmp_path)
    assert "translate" not in dir(gpt) and {"score", "embed", "predict"} <= {*dir(gpt)} and "score" in repr(gpt)


def test_options_of_a_method_are_its_signature_and_its_help() -> None:
    options = inspect.signature(ll.Model.translate).parameters
    assert list(options) == ["self", "texts", *requests.TranslateRequest.model_fields]
    assert options["beam"].default == requests.TranslateRequest().beam
    assert inspect.signature(ll.Model.classify).parameters["top"].default is None
    assert "beam: Beam width; 1 is greedy." in (ll.Model.translate.__doc__ or "")
