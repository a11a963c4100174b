"""Questions about stories: an answer is what a plain pattern finds in the paragraph; without one, there is none."""

import re
from collections import Counter
from pathlib import Path

import pytest

from langladder.corpora.paragraphs import ParagraphConfig, write_paragraphs
from langladder.text.labelled.questions import Question, normalised, read_questions
from langladder.text.storage.shards import SPLITS
from microworld.corpora import SIZES
from microworld.engine import world
from microworld.lexicon import table
from microworld.questions import Facts, draw_questions

TINY = ParagraphConfig(size="tiny")
NAMES = {row["word"]: row["sex"] for row in table("names")}
PAST = {row["infinitive"]: row["past"] for row in table("verbs")}
DO = r"what did (\w+) (?!want to)(\w+) \?"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Question]]:
    folder = tmp_path_factory.mktemp("questions")
    write_paragraphs(TINY.model_copy(update={"paragraphs": 400}), folder)
    return {split: read_questions(folder / f"{split}.parquet") for split in SPLITS}


@pytest.fixture(scope="module")
def every(drawn: dict[str, list[Question]]) -> list[Question]:
    return [item for split in drawn.values() for item in split]


def test_every_question_is_whole_and_no_paragraph_is_in_two_splits(drawn: dict[str, list[Question]]) -> None:
    every = [item for split in drawn.values() for item in split]
    assert [item.wrong() for item in every if item.wrong()] == []
    contexts = [{item.context for item in split} for split in drawn.values()]
    assert [len(context) for context in contexts] == [400, *SIZES["tiny"].paragraphs[1:]]
    assert len(set.union(*contexts)) == sum(map(len, contexts))
    assert len({item.id for item in every}) == len(every)
    assert 0.2 < sum(not item.answers for item in every) / len(every) < 0.3


def people(context: str) -> dict[str, str]:
    """Every way to name somebody in a question → the name."""
    result = dict(re.findall(r"\b(\w+) is a (\w+) from", context))
    return {name: name for name in result} | {"he" if NAMES[name] == "m" else "she": name for name in result}


def test_facts_are_those_of_who_is_requested(every: list[Question]) -> None:
    """Parsed again: NAME is a JOB from TOWN who likes LIKE."""
    counts = Counter[str]()
    forms = {
        r"where does (\w+) live \?": r"\b{} is a \w+ from (\w+)",
        r"what does (\w+) like \?": r"\b{} is a \w+ from \w+ who likes (\w+)",
        r"what is (\w+) \?": r"\b{} is (a \w+) from",
        r"who lives in (\w+) \?": r"(\w+) is a \w+ from {}\b",
        r"who likes (\w+) \?": r"(\w+) is a \w+ from \w+ who likes {}\b",
        r"who is a (\w+) \?": r"(\w+) is a {} from",
    }
    for item in every:
        for question, statement in forms.items():
            if match := re.fullmatch(question, item.question):
                about = people(item.context).get(match[1], match[1])
                assert re.findall(statement.format(about), item.context) == item.gold()[: len(item.answers)], item
                counts[question, bool(item.answers)] += 1  # type: ignore[index]
    assert len(counts) == 12 and min(counts.values()) > 5, counts


def test_what_somebody_did_is_in_one_statement(every: list[Question]) -> None:
    """Parsed again: SOMEBODY VERBED a thing, or a thing that SOMEBODY VERBED."""
    counts = Counter[bool]()
    for item in every:
        if match := re.fullmatch(DO, item.question):
            ways = [way for way, name in people(item.context).items() if name == people(item.context).get(match[1])]
            first = re.findall(r"(\w+) is a (\w+) from", item.context)[0]
            ways += [f"the {first[1]}"] * (people(item.context).get(match[1]) == first[0])
            who, verb = "|".join(ways) or "nobody", PAST[match[2]]
            thing = r"((?:the|this|these|two)(?: \w+)?? {})"
            noun = "(?:" + "|".join(row[form] for row in table("nouns") for form in ("singular", "plural")) + ")"
            statements = re.findall(rf"(?<!that )\b(?:{who}) {verb} {thing.format(noun)}\b", item.context)
            statements += re.findall(rf"\b{thing.format(noun)} that (?:{who}) {verb}\b", item.context)
            assert statements == [answer.text for answer in item.answers], item
            counts[bool(item.answers)] += 1
    assert counts[True] > 40 and counts[False] > 8


def facts(*lines: str) -> Facts:
    reading = world().read(line.split() for line in lines)
    assert reading is not None, lines
    return Facts(" ".join(lines).split(), [kind for line in reading.kinds for kind in line])


ANNA = "anna is a farmer from rome who likes tea ."
PETER = "peter is a vet from paris who likes books ."


@pytest.mark.parametrize(
    ("line", "meaning", "answer"),
    [
        ("then she herded the lovely cows in the barn .", "do f herd", "the lovely cows"),
        ("then she herded the lovely cows in the barn .", "where f herd cows", "the barn"),
        ("then she herded the lovely cows in the barn .", "who herded the-cows", "anna"),
        ("the farmer fed this pig .", "do f feed", "this pig"),
        ("these cows that peter herded in the meadow are big .", "do m herd", "these cows"),
        ("these cows that peter herded in the meadow are big .", "where m herd cows", "the meadow"),
        ("he wanted to feed two pigs .", "want m feed", "two pigs"),
        ("she thanked him .", "who thanked peter", "anna"),
        ("the uncle was glad because he loved the cow .", "who loved the-cow", "the uncle"),
        ("peter was glad because he loved the cow .", "who loved the-cow", "peter"),
        ("the queen signed her letter .", "who signed her-letter", "the queen"),
    ],
)
def test_golden_facts_of_a_line(line: str, meaning: str, answer: str) -> None:
    question = tuple(part.replace("-", " ") for part in meaning.split())
    result = facts(ANNA, PETER, line)
    assert [result.text(span) for span in result.answers[question]] == [answer]
    # what was only wanted was not done
    assert ("do", *question[1:]) not in result.answers or question[0] != "want"


def test_facts_that_are_stated_twice_are_no_questions() -> None:
    result = facts(ANNA, "she fed the pig .", "anna fed these hens .", "the pigs that she fed are heavy .")
    assert len(result.answers["do", "f", "feed"]) == 3 and ("do", "f", "feed") not in result.answered()
    assert ("who", "fed", "the pig") in result.answered()


def test_one_option_is_right(every: list[Question]) -> None:
    for item in every:
        assert 2 <= len(item.options) <= 4 and "" in item.options
        assert len({normalised(option) for option in item.options}) == len(item.options)
        golds = {normalised(gold) for gold in item.gold()}
        assert sum(normalised(option) in golds for option in item.options) == 1


def test_questions_without_an_answer_can_be_left_out() -> None:
    rows = list(draw_questions(1, "train", 30, unanswerable=0.0))
    assert all(row["answers"] and "" not in row["options"] for row in rows) and len(rows) == 60


def test_same_seed_same_bytes_and_the_report_counts(tmp_path: Path) -> None:
    for folder, seed in (("a", 3), ("b", 3), ("c", 4)):
        facts = write_paragraphs(TINY.model_copy(update={"paragraphs": 20, "seed": seed}), tmp_path / folder)
    assert facts["splits"]["train"]["paragraphs"] == 20 and facts["splits"]["train"]["questions"] == 40
    a, b, c = ((tmp_path / folder / "train.parquet").read_bytes() for folder in "abc")
    assert a == b != c
