"""The sliding window: scores by hand, the two steps of choosing a span, options, the threshold, saving."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from langladder.ground.artefacts import write_arrays
from langladder.ground.errors import InputError
from langladder.models.reading.reader import Reader
from langladder.models.reading.sliding_window import (
    SlidingWindow,
    grams,
    make,
    sliding_window,
    words_of,
)
from langladder.text.labelled.questions import Answer, Question

TEXT = "Anna ate the apple. Peter saw the pear."


def build(**settings: Any) -> SlidingWindow:
    return SlidingWindow(SlidingWindow.Config.model_validate(settings))


def test_golden_sliding_window_of_richardson() -> None:
    """P = a b a c, S = {a, c}: IC(a) = ln 3/2, IC(c) = ln 2; the best two neighbours are a c."""
    assert sliding_window(["a", "b", "a", "c"], {"a", "c"}) == pytest.approx(np.log(1.5) + np.log(2))
    assert sliding_window(["a", "b", "a", "c"], {"a", "x", "y"}) == pytest.approx(2 * np.log(1.5))
    assert sliding_window(["a"], {"a", "b", "c"}) == pytest.approx(np.log(2))  # it may reach beyond the end
    assert sliding_window(["a"], {"b"}) == 0 and sliding_window([], {"b"}) == 0 and sliding_window(["a"], {"?"}) == 0


def test_golden_overlap_counts_words_and_pairs() -> None:
    assert grams(["who", "ate", "the", "?"]) == {("who",), ("ate",), ("the",), ("who", "ate"), ("ate", "the")}
    assert words_of("Anna's pear .").words == ["anna", "'", "s", "pear", "."]


def test_golden_words_keep_their_marks_in_every_form() -> None:
    assert words_of("हिन्दी क्‍या है।").words == ["हिन्दी", "क्‍या", "है", "।"]
    assert words_of("الوَلَدُ؟").words == ["الوَلَدُ", "؟"]
    for text in ("Café İzmir?", "CAFE\u0301 I\u0307zmir?", "ca\u00adfe\u0301\u200f \u200eizmir\u200f?"):
        assert words_of(text).words == ["café", "izmir", "?"]
        start, end = words_of(text).positions[0]
        assert text[start:end].strip("\u200f") == text.split()[0].strip("\u200f")


def test_an_answer_is_found_in_another_form() -> None:
    context = "लड़का किताब देखता है। लड़की ठण्डा पानी पीती है।"
    (result,) = build().candidates([Question(context, "किताब कौन देखता है?")], 9)
    assert (result[0].text, result[0].start) == ("लड़का", 0)
    other = build().candidates([Question(context, "कि\u00adताब कौन \u200eदेखता है?")], 9)[0]
    assert other == result


@pytest.mark.parametrize(
    ("context", "question", "longest", "answer"),
    [
        ("安娜住在巴黎。彼得住在罗马。", "安娜住在哪里？", 2, "巴黎"),
        ("ອານາຢູ່ປາຣີ. ປີເຕີຢູ່ໂຣມ.", "ອານາຢູ່ໃສ?", 4, "ປາຣີ"),
        ("ອານາ ຢູ່ ປາຣີ . ປີເຕີ ຢູ່ ໂຣມ .", "ອານາ ຢູ່ ໃສ ?", 1, "ປາຣີ"),
        ("ອານາ​ຢູ່​ປາຣີ. ປີເຕີ​ຢູ່​ໂຣມ.", "ອານາ​ຢູ່​ໃສ?", 1, "ປາຣີ"),
        ("ཨ་ན་པ་རིས་ལ་ཡོད། པེ་ཏེར་རོ་མ་ལ་ཡོད།", "ཨ་ན་ག་ལ་ཡོད།", 2, "པ་རིས"),
        ("민수는 大學에 갔다. 영희는 市場에 갔다.", "민수는 어디에 갔다?", 1, "大學에"),
    ],
    ids=["Chinese", "Lao", "Lao with spaces", "Lao with zero-width spaces", "Tibetan", "Korean"],
)
def test_golden_words_of_scripts_without_spaces(context: str, question: str, longest: int, answer: str) -> None:
    (result,) = build(longest=longest).candidates([Question(context, question)], 99)
    assert answer in {item.text for item in result if item.score == result[0].score}
    assert all(context[item.start :].startswith(item.text) for item in result)
    chosen = build(options=True).candidates([Question(context, question, (), (answer, "ໂຣມ"))], 1)[0]
    assert chosen[0].text == answer


def test_golden_spans_stand_in_the_sentence_most_like_the_question() -> None:
    """'ate', 'the', 'apple' and their two pairs are 5 of the 7 of 'who ate the apple'."""
    candidate = build().candidates([Question(TEXT, "Who ate the apple?")], 9)[0]
    assert (candidate[0].text, candidate[0].start) == ("Anna", 0)
    assert candidate[0].score == pytest.approx(5 / 7)
    assert {item.text for item in candidate[1:]} == {"Peter", "saw", "pear"} and candidate[1].score == pytest.approx(
        1 / 7
    )
    longer = build(longest=2).candidates([Question(TEXT, "Who ate the apple?")], 9)[0]
    assert "Peter saw" in {item.text for item in longer} and longer[0].text == "Anna"


def test_of_options_the_one_beside_the_question_s_words() -> None:
    options = ("pear", "apple", "")
    network = build(options=True)
    candidate = network.candidates([Question(TEXT, "What did Anna eat?", (), options)], 9)[0]
    assert [item.text for item in candidate] == ["apple", "pear"] and candidate[0].start == -1
    with pytest.raises(InputError, match=r"set model\.options to false"):
        network.candidates([Question(TEXT, "What?")], 1)


def test_the_threshold_says_when_there_is_no_answer() -> None:
    questions = [Question(TEXT, "Who ate the apple?", (Answer("Anna", 0),)), Question(TEXT, "Where is Rome?")]
    settings = SimpleNamespace(model=SlidingWindow.Config())
    model, made_so = make(SlidingWindow, questions, questions, settings=settings)
    assert model.threshold == pytest.approx(5 / 14) and model.number_of_parameters() == 1
    assert [some[0].text for some in model.answers(questions)] == ["Anna", ""] and made_so.curve == []
    always, _ = make(SlidingWindow, questions[:1], questions, settings=settings)
    assert always.threshold is None and always.answers(questions[1:])[0][0].text
    with pytest.raises(InputError, match="no training question"):
        make(SlidingWindow, [], [], settings=settings)
    assert always.answers([Question("...", "who ?")])[0][0].text == ""  # nothing that could be one


def test_save_and_load_and_what_is_refused(tmp_path: Path) -> None:
    model = build(longest=3)
    model.threshold = 0.25
    model.save(tmp_path)
    loaded = Reader.load(tmp_path)
    assert isinstance(loaded, SlidingWindow) and (loaded.threshold, loaded.config) == (0.25, model.config)
    (tmp_path / "reading.json").write_text(json.dumps({"threshold": "much"}))
    with pytest.raises(InputError, match="is no finite number"):
        Reader.load(tmp_path)
    model.save(tmp_path)
    write_arrays(tmp_path / "model.safetensors", {"weights": np.zeros(3)})
    with pytest.raises(InputError, match="a sliding window has no arrays"):
        Reader.load(tmp_path)
