"""The page of each rung within the report: gathered from its file, its module, its model and the run; its claims."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_run_files import HOSTILE, entry, language_model, report_of, write

from langladder.evaluation.predictions import Prediction
from langladder.faces.report.claims import placed_claims
from langladder.faces.report.docstrings import docstring, equations, papers, prose, sentences
from langladder.faces.report.inputs import Entry, ReportInputs, Timing, load_report
from langladder.faces.report.page import build_page
from langladder.faces.report.rung_pages import Kind, parts, sections
from langladder.families import families
from langladder.ground.artefacts import write_arrays
from pipeline import ROOT

RECURRENT = "langladder.models.language.recurrent"


def lm(name: str, year: int | None, per_word: float, **about: Any) -> Entry[Any]:
    rung_entry = entry("lm", language_model(name, name.upper(), per_word, 1000), timing=Timing(seconds=10.0))
    about = {"year": year, "module": RECURRENT, "idea": f"The {name} (Nobody 1990)."} | about
    return replace(rung_entry, metadata=rung_entry.metadata.model_copy(update=about))


def claim(name: str, trains: list[str], module: str) -> Entry[Any]:
    findings = {"holds": True, "verdict": f"{name} holds.", "columns": [], "rows": [], "plots": [], "figures": {}}
    claim_entry = entry("claim", {"name": name, "title": name.title(), "fingerprint": "f", "findings": findings})
    about = {"trains": trains, "module": f"claims.{module}"}
    return replace(claim_entry, metadata=claim_entry.metadata.model_copy(update=about))


def kinds(inputs: ReportInputs) -> list[Kind]:
    [section] = sections(inputs)
    result: list[Kind] = section.context["kinds"]
    return result


def test_a_docstring_is_parsed() -> None:
    text = (
        "Counting (Markov 1913; Shannon 1948, section 3). It is fast. It sees:\n\n    p = n / N    (eq. 1)\n\n"
        "with N all words. Smoothed by Chen et al. (2000). `x` stays.\n\n    γ\n\nShape legend: B rows.\n\n    B"
    )
    assert equations(text) == "p = n / N    (eq. 1)\n\nγ"
    assert sentences(prose(text)) == ["Counting.", "It is fast.", "Smoothed by Chen et al. (2000).", "`x` stays."]
    assert papers(prose(text)) == "Markov 1913; Shannon 1948, section 3"
    assert "softmax(W h_t + b)" in equations(docstring(RECURRENT))
    led = "The scores sum to 1, whatever is left out:\n\n    p = 1\n\nNey 1994, section 2:\n\n    q = 2\n\nThe losses:"
    assert sentences(prose(led)) == ["The scores sum to 1, whatever is left out."]
    assert docstring("langladder.no.such") == docstring("no_such_package.module") == equations("") == ""


def test_the_parts_of_a_model_stand_as_a_text_passes_them() -> None:
    """A part that holds nearly all is taken apart; layers of one kind are counted; shares are of all numbers."""
    inner: dict[str, tuple[int, ...]]
    inner = {f"body.layers.{i}.{name}.weight": (4, 4) for i in range(3) for name in ("attention", "feed")}
    inner |= {"body.norm.bias": (4,), "body.position": (2, 4)}
    result = parts({"head.bias": (2,)} | inner | {"body.embedding.weight": (50, 4)})
    assert [(item.name, item.shape, item.numbers, item.inside) for item in result] == [
        ("embedding", "50 × 4", "200", ""), ("position", "2 × 4", "8", ""),
        ("3 × layers", "4 × 4", "96", "attention, feed"), ("norm", "4", "4", ""), ("head", "2", "2", ""),
    ]  # fmt: skip
    assert sum(item.share for item in result) == pytest.approx(1) and result[0].share == pytest.approx(200 / 310)
    assert parts({}) == []
    assert [part.name for part in parts({"counts": (9, 9), "prior": (3,)})] == ["counts", "prior"]


def test_a_rung_tells_its_idea_what_changed_and_what_it_gets_wrong() -> None:
    settings = {"_target_": "x.RecurrentLM", "cell": "rnn", "width": 8}
    rnn = replace(lm("rnn", 1990, 50.0), settings=settings)
    predictions = [Prediction(i, f"line {i}", "", "", loss=float(i)) for i in range(9)]
    idea = "The lstm (Nobody 1990). Recurrent language models: mine."  # as the docstring begins
    lstm = replace(
        lm("lstm", 1997, 40.0, base="lm/rnn", idea=idea), settings=settings | {"cell": "lstm"}, predictions=predictions
    )
    [kind] = kinds(report_of(lm=[lstm, rnn]))  # history, not the list's order
    first, second = kind.rungs
    assert (first.id, first.before, first.step, first.changed) == ("rung-lm-rnn", "", "", [])
    assert (
        second.idea.startswith("The lstm. Recurrent language models: mine. An n-gram reads a fixed")
        and second.papers == "Nobody 1990"
    )
    assert second.equations.startswith("h_t = cell(") and second.code == "langladder/models/language/recurrent.py"
    assert (second.base, second.before, second.changed) == ("RNN", "RNN", [("cell", "rnn", "lstm")])
    assert second.step.startswith("LSTM predicts 20 % better than RNN (")
    assert ("perplexity per word", "40.00") in second.figures and ("time", "10 s") in second.figures
    assert [mistake.text for mistake in second.mistakes] == ["line 8", "line 7", "line 6"]
    assert second.mistakes[0].loss == "8.0 nats" and second.samples[0] == (
        "the queen", " of spain reads an old book ."
    )  # fmt: skip
    assert not list(sections(report_of(lm=[lm("x", 1, 2.0, idea="", module=None)])))  # nothing beside its figures


def test_a_rung_with_fresh_weights_did_not_learn_from_its_base() -> None:
    for pretrained, says in ((True, "begins with what lm/gpt has learnt"), (False, "but begins with fresh weights")):
        inputs = report_of(lm=[replace(lm("x", 2019, 50.0, base="lm/gpt"), settings={"pretrained": pretrained})])
        page = build_page(inputs)
        assert says in page and ('id="tree"' in page) is pretrained


def test_a_changed_setting_is_shown_as_a_file_has_it() -> None:
    before = {"_target_": "x.GPT", "pretrained": False, "width": 8}
    now = before | {"pretrained": True, "width": None}
    rungs = [
        replace(lm(*item), settings=settings)
        for item, settings in ((("a", 2018, 9.0), before), (("b", 2019, 8.0), now))
    ]
    sentence = (
        "The rung before it is A. From that rung to this one: pretrained: false → true; width: 8 → null. B predicts"
    )
    assert sentence in build_page(report_of(lm=rungs))


def test_a_card_has_the_equations_of_its_own_settings() -> None:
    text = docstring("langladder.models.language.gpt")
    common = {"bias": True, "tie_weights": True}
    gpt = common | {"norm_kind": "layer", "feed_forward": "gelu", "positions": "learned", "key_value_heads": None}
    own = equations(text, gpt)
    assert "x⁰ = E w + P" in own and "rms" not in own and "SiLU" not in own and "of queries share" not in own
    of_llama = {"norm_kind": "rms", "feed_forward": "swiglu", "positions": "rotary", "key_value_heads": 2}
    llama = equations(text, common | of_llama)
    assert "√(mean(x²) + ε)" in llama and "SiLU" in llama and "of queries share" in llama and "tie_weights" not in llama
    assert equations(text).count("\n") > llama.count("\n")


def test_what_was_right_is_no_mistake() -> None:
    predictions = [Prediction(0, "a", "x", "x", True), Prediction(1, "b", "y", "x", False, probability=0.9)]
    [kind] = kinds(report_of(lm=[replace(lm("lstm", 1997, 40.0), predictions=predictions)]))
    assert [tuple(mistake) for mistake in kind.rungs[0].mistakes] == [("b", "y", "x", "")]


def test_texts_say_their_direction_and_their_language() -> None:
    predictions = [Prediction(0, "GPT نموذج لغوي", "", "", loss=1.0)]
    inputs = report_of(lm=[replace(lm("lstm", 1997, 40.0), predictions=predictions)])
    page = build_page(replace(inputs, languages={"text": "fa"}))
    assert '<li><bdi dir="rtl" lang="fa">GPT نموذج لغوي</bdi> <span class="faint">1.0 nats' in page
    assert '<bdi dir="ltr" lang="fa">the queen</bdi></span> → <bdi dir="ltr" lang="fa"> of spain' in page


def test_a_claim_stands_with_the_rung_that_it_is_about() -> None:
    """The last that it trains; where the ladder has none of them, with all of its kind, or in the list alone."""
    about = [
        claim("gradients", ["rnn", "lstm", "lstm_closed"], "foundations.gradient_flow"),
        claim("agreement", [], "language.agreement"),
        claim("activations", ["perceptron"], "foundations.activations"),
        claim("beams", ["transformer"], "translation.beam_width"),
    ]
    inputs = report_of(lm=[lm("rnn", 1990, 50.0), lm("lstm", 1997, 40.0)], claim=about)
    claims_of = {key: [item.name for item in claims] for key, claims in placed_claims(inputs).items()}
    assert claims_of == {("lm", "lstm"): ["gradients"], ("lm", ""): ["agreement"]}
    [kind] = kinds(inputs)
    assert [[item.name for item in rung.claims] for rung in kind.rungs] == [[], ["gradients"]]
    assert [item.name for item in kind.claims] == ["agreement"]
    page = build_page(inputs)
    for item in about:
        assert page.count(f'id="claim-{item.name}"') == 1 and page.count(f'href="#claim-{item.name}"') == 1
    rungs, listed = page.index('<h2 id="rungs">'), page.index('<h2 id="claims">')
    assert rungs < page.index('id="claim-gradients"') < listed < page.index('id="claim-activations"')
    assert page.index('id="rung-lm-lstm"') < page.index("gradients holds.") < page.index('id="claim-agreement"')


def test_the_page_links_rungs_code_and_guides_and_escapes_all() -> None:
    rung = replace(lm("lstm", 1997, 40.0, idea=f"Says {HOSTILE}"), arrays={"embedding.weight": (3, 2)})
    inputs = report_of(lm=[rung])
    page = build_page(inputs)
    assert '<th scope="row"><a href="#rung-lm-lstm">LSTM</a>' in page and "<script>alert" not in page
    assert "Says the &lt;script&gt;" in page and '<li style="--share: 100.0%"><strong>embedding</strong>' in page
    assert "<code>langladder/models/language/recurrent.py</code>" in page and 'href="../' not in page
    other = lm("mine", 2026, 30.0, module="my_rung.model")  # of a package elsewhere
    page = build_page(replace(report_of(lm=[rung, other]), code="../src/", guides="../docs/"))
    assert "Code: <code>my_rung/model.py</code>" in page
    assert '<a href="../src/langladder/models/language/recurrent.py">' in page
    assert '<a href="../docs/language-models.md">' in page


def test_a_model_at_hand_is_read_and_a_remote_one_is_not_needed(tmp_path: Path) -> None:
    write(tmp_path / "reports" / "rungs" / "lm" / "lstm.json", language_model("lstm", "LSTM", 35.2, 10))
    model = tmp_path / "models" / "lm" / "lstm"
    described = {"lm": {"lstm": {"title": "LSTM"}}}

    def read() -> Entry[Any]:
        only = [families()["lm"]]
        return load_report(tmp_path, only, described, {}, [], {}).of("lm")[0]

    for stage in ("clean", "tokenize"):
        for side in ("text", "parallel"):
            write(tmp_path / "metrics" / stage / f"{side}.json", {})
    assert (read().settings, read().arrays) == ({}, {})
    write(model / "provenance.json", json.dumps({"settings": {"lm": {"_target_": "a.B", "model": {"width": 3}}}}))
    write_arrays(model / "model.safetensors", {"head": np.zeros((2, 3), dtype=np.float32)})
    assert read().settings == {"_target_": "a.B", "width": 3} and read().arrays == {"head": (2, 3)}


def test_every_family_of_rungs_has_a_guide() -> None:
    assert all((ROOT / "docs" / family.guide).is_file() for family in families().values())
