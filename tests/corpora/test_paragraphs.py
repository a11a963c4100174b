"""Paragraphs of microworld: answers stand where they are said to, one statement each, splits apart, some without."""

import re
from pathlib import Path

import pytest

from langladder.corpora.paragraphs import ParagraphConfig, draw_paragraphs, write_paragraphs
from langladder.ground.errors import InputError
from langladder.text.labelled.questions import Question, normalised, read_questions

TINY = ParagraphConfig(size="tiny")


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[Question]]:
    return draw_paragraphs(TINY)


def test_every_question_is_whole_and_no_paragraph_is_in_two_splits(drawn: dict[str, list[Question]]) -> None:
    every = [one for split in drawn.values() for one in split]
    assert [one.wrong() for one in every if one.wrong()] == []
    contexts = [{one.context for one in split} for split in drawn.values()]
    assert [len(one) for one in contexts] == [120, 15, 15] and len(set.union(*contexts)) == 150
    assert len({one.id for one in every}) == len({(one.context, one.question) for one in every}) == len(every)
    share = sum(not one.answers for one in every) / len(every)
    assert 0.15 < share < 0.35


def test_answers_follow_from_a_sentence_of_the_paragraph(drawn: dict[str, list[Question]]) -> None:
    """Those to "who ate the apple ?" by a pattern over the paragraph, read anew."""
    asked = 0
    for one in (one for split in drawn.values() for one in split):
        if found := re.fullmatch(r"who (\w+) the (\w+) \?", one.question):
            said = set(re.findall(rf"(\w+) {found[1]} the (?:\w+ )?{found[2]}\b", one.context))
            assert said == {answer.text for answer in one.answers}, one
            asked += 1
        if found := re.fullmatch(r"what is the capital of (\w+) \?", one.question):
            forms = (rf"the capital of {found[1]} is (\w+)", rf"(\w+) is the capital of {found[1]}\b")
            said = {city for form in forms for city in re.findall(form, one.context)}
            assert said == {answer.text for answer in one.answers}, one
    assert asked > 10


def test_questions_without_an_answer_speak_of_the_paragraph(drawn: dict[str, list[Question]]) -> None:
    for one in (one for split in drawn.values() for one in split if not one.answers):
        shared = set(one.question.split()) & set(one.context.split())
        assert shared - {"the", "of", "in", "is", "to", "with"}, one


def test_one_option_is_right(drawn: dict[str, list[Question]]) -> None:
    for one in (one for split in drawn.values() for one in split):
        assert 2 <= len(one.options) <= 4 and "" in one.options
        assert len({normalised(option) for option in one.options}) == len(one.options)
        golds = {normalised(gold) for gold in one.gold()}
        assert sum(normalised(option) in golds for option in one.options) == 1


def test_same_seed_same_bytes_and_the_report_counts(tmp_path: Path) -> None:
    config = TINY.model_copy(update={"paragraphs": 20, "unanswerable": 0.0})
    facts = [write_paragraphs(config, tmp_path / name) for name in ("one", "two")]
    assert facts[0] == facts[1] and facts[0]["splits"]["train"]["paragraphs"] == 16
    assert {split["unanswerable"] for split in facts[0]["splits"].values()} == {0}
    for split in ("train", "validation", "test"):
        one, two = (tmp_path / name / f"{split}.parquet" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()
        assert all("" not in question.options for question in read_questions(one))
    other = draw_paragraphs(config.model_copy(update={"seed": 2}))
    assert other["train"] != read_questions(tmp_path / "one" / "train.parquet")


def test_more_paragraphs_than_can_be_new_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langladder.corpora.paragraphs._paragraph", lambda *_: [Question("a b", "who ?")])
    with pytest.raises(InputError, match="there are fewer different ones"):
        draw_paragraphs(TINY)
