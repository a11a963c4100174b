"""The gold judge: judgements worked out by hand, a few of each kind, and answers that try to please it otherwise."""

import json
import time
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from langladder.corpora.instructions.answers import NOTHING, Judgement, content_words, is_line, length, words_of
from langladder.corpora.instructions.demonstrations import InstructionsConfig, demonstrations
from langladder.corpora.instructions.judge import gold_rewards, judge, judgements
from langladder.corpora.instructions.requests import KINDS, UNSEEN
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Dialogue, Message
from microworld.engine import world
from microworld.lexicon import table

TINY = InstructionsConfig(size="tiny", seed=3)
ANNA = "anna is a singer from rome who likes tea ."
FED = "anna fed the pig ."
SWIM = {"right": ["duck", "goose"], "number": 2}
ODD = {"among": ["apple", "dog", "pie", "egg"], "right": ["dog"]}


def request_text(kind: str, **fields: Any) -> str:
    return json.dumps({"kind": kind, **fields})


# (kind, what is wanted, answer, grammatical, true, form, length)
GOLDEN: list[tuple[str, dict[str, Any], str, tuple[float, float, float, float]]] = [
    *(
        ("fact_word", {"right": ["italy"], "among": "lands.country"}, answer, parts)
        for answer, parts in (
            ("italy .", (1, 1, 1, 1)),
            ("italy", (1, 1, 1, 1)),
            ("italy.", (1, 1, 1, 1)),  # however punctuation is written
            ("france .", (1, 0, 1, 1)),
            ("rome .", (1, 0, 0, 1)),
            ("itlay .", (0, 0, 0, 1)),
            ("in italy .", (0, 0, 0, 0)),
            ("italy italy .", (0, 0, 0, 0)),
            ("", (0, 0, 0, 0)),
        )
    ),
    ("fact_reversed", {"right": ["feed"], "among": "verbs.infinitive"}, "feed .", (1, 1, 1, 1)),
    ("fact_reversed", {"right": ["feed"], "among": "verbs.infinitive"}, "fed .", (1, 0, 0, 1)),
    ("yes_no", {"right": ["yes"], "among": ["yes", "no"]}, "yes .", (1, 1, 1, 1)),
    ("yes_no", {"right": ["yes"], "among": ["yes", "no"]}, "no", (1, 0, 1, 1)),
    ("yes_no", {"right": ["yes"], "among": ["yes", "no"]}, "yes no .", (0, 0, 0, 0)),
    ("answer", {"right": "rome", "among": "lands.town"}, "rome .", (1, 1, 1, 1)),
    ("answer", {"right": "rome", "among": "lands.town"}, "in rome .", (1, 1, 1, 1)),  # as the stories answer
    ("answer", {"right": "rome", "among": "lands.town"}, "in paris", (1, 0, 1, 1)),
    ("answer", {"right": "rome", "among": "lands.town"}, "a rome .", (0, 0, 0, 0)),
    ("answer", {"right": "rome", "among": "lands.town"}, "tea .", (1, 0, 0, 1)),
    ("answer", {"right": "singer", "among": "jobs.word"}, "a singer .", (1, 1, 1, 1)),
    ("answer", {"right": "singer", "among": "jobs.word"}, "a queen .", (1, 0, 0, 1)),
    ("refuse", {}, "i do not know .", (1, 1, 1, 1)),
    ("refuse", {}, "rome .", (1, 0, 0, 1)),
    ("refuse", {}, "in rome .", (1, 0, 0, 1)),
    ("refuse", {}, "i do not know rome .", (0, 0, 0, 0.75)),
    *(
        ("answer_sentence", {"story": ANNA, "verb": verb}, answer, parts)
        for verb, answer, parts in (
            ("lives in", "she lives in rome .", (1, 1, 1, 1)),
            ("lives in", "anna lives in rome , italy .", (1, 1, 1, 1)),
            ("lives in", "the singer lives in rome .", (1, 1, 1, 1)),
            ("lives in", "she lives in rome", (0, 0, 0, 1)),  # a sentence ends with a full stop
            ("lives in", "she lives in paris .", (1, 0, 1, 1)),
            ("lives in", "he lives in rome .", (1, 0, 1, 1)),
            ("lives in", "emma lives in rome .", (1, 0, 1, 1)),
            ("lives in", "anna lives in rome , france .", (0, 0, 1, 1)),
            ("lives in", "she likes tea .", (1, 0, 0, 1)),  # true, but not asked
            ("lives in", "in rome .", (1, 0, 0, 1)),
            ("lives in", "she lives in rome . in rome .", (0, 0, 0, 1)),
            ("likes", "anna likes tea .", (1, 1, 1, 1)),
            ("is a", "she is a singer .", (1, 1, 1, 1)),
            ("is a", "she is a farmer .", (1, 0, 1, 1)),
            ("is a", "john is a singer from rome who likes tea .", (1, 0, 1, 1)),  # somebody else
        )
    ),
    ("list", SWIM, "ducks , geese .", (1, 1, 1, 1)),
    ("list", SWIM, "duck and geese .", (1, 1, 1, 1)),
    ("list", SWIM, "ducks , cows .", (1, 0.5, 1, 1)),
    ("list", SWIM, "ducks , ducks .", (1, 0.5, 0, 1)),
    ("list", SWIM, "ducks , geese , cows .", (1, 2 / 3, 0, 1)),
    ("list", SWIM, "ducks .", (1, 0.5, 0, 1)),
    ("list", SWIM, "ducks geese .", (0, 0, 0, 1)),
    ("odd_one_out", ODD, "dog .", (1, 1, 1, 1)),
    ("odd_one_out", ODD, "pie .", (1, 0, 1, 1)),
    ("odd_one_out", ODD, "cat .", (1, 0, 0, 1)),
    ("choose", {"right": ["swim"], "among": ["grow", "swim"]}, "swim .", (1, 1, 1, 1)),
    ("choose", {"right": ["swim"], "among": ["grow", "swim"]}, "grow .", (1, 0, 1, 1)),
    ("choose", {"right": ["swim"], "among": ["grow", "swim"]}, "sleep .", (1, 0, 0, 1)),
    ("mood", {"right": ["sad"], "among": ["happy", "sad"]}, "sad .", (1, 1, 1, 1)),
    ("mood", {"right": ["sad"], "among": ["happy", "sad"]}, "happy .", (1, 0, 1, 1)),
    ("mood", {"right": ["sad"], "among": ["happy", "sad"]}, "gloomy .", (1, 0, 0, 1)),
    ("mood", {"right": ["sad"], "among": ["happy", "sad"]}, "sad happy .", (0, 0, 0, 0)),
    ("plural", {"given": "this cow sleeps .", "right": "these cows sleep ."}, "these cows sleep .", (1, 1, 1, 1)),
    ("plural", {"given": "this cow sleeps .", "right": "these cows sleep ."}, "this cow sleeps .", (1, 0, 0, 1)),
    ("plural", {"given": "this cow sleeps .", "right": "these cows sleep ."}, "these cows sleeps .", (0, 0, 1, 1)),
    ("plural", {"given": "this cow sleeps .", "right": "these cows sleep ."}, "these pigs sleep .", (1, 0, 1, 1)),
    ("done", {"given": "anna wanted to feed the pig .", "right": FED}, FED, (1, 1, 1, 1)),
    ("done", {"given": "anna wanted to feed the pig .", "right": FED}, "anna feed the pig .", (0, 0, 1, 1)),
    ("done", {"given": "anna wanted to feed the pig .", "right": FED}, "emma fed the pig .", (1, 0, 1, 1)),
    ("agreement", {"given": "the cows sleeps .", "right": "the cows sleep ."}, "the cows sleep .", (1, 1, 1, 1)),
    ("agreement", {"given": "the cows sleeps .", "right": "the cows sleep ."}, "the cow sleeps .", (1, 0, 1, 1)),
    ("agreement", {"given": "the cows sleeps .", "right": "the cows sleep ."}, "the cows sleeps .", (0, 0, 0, 1)),
    ("continue", {"begins": "the cow", "most": 12}, "the cow sleeps in the barn .", (1, 1, 1, 1)),
    ("continue", {"begins": "the cow", "most": 12}, "the cow sleeps in the ocean .", (0, 0, 1, 1)),
    ("continue", {"begins": "the cow", "most": 12}, "the horse jumps .", (1, 0, 0, 1)),
    ("continue", {"begins": "the cow", "most": 12}, "sleeps in the barn .", (0, 0, 0, 1)),
    ("about", {"mentions": ["cow", "cows"], "most": 4}, "the cow sleeps .", (1, 1, 1, 1)),
    ("about", {"mentions": ["cow", "cows"], "most": 4}, "the lovely cows sleep quietly .", (1, 1, 1, 0.75)),
    ("about", {"mentions": ["cow", "cows"], "most": 4}, "the horse jumps .", (1, 0, 0, 1)),
    ("about", {"mentions": ["cow", "cows"], "most": 4}, "cow cow cow .", (0, 0, 1, 1)),
    ("translate", {"right": "la bela hundo"}, "la bela hundo .", (1, 1, 1, 1)),
    ("translate", {"right": "la bela hundo"}, "la bela kato .", (1, 0.25, 1, 1)),
    ("translate", {"right": "la bela hundo"}, "la malbela kato .", (1, 0, 1, 1)),
    ("translate", {"right": "la bela hundo"}, "la belaj hundo .", (0, 0, 0, 1)),
    ("translate", {"right": "la bela hundo"}, "the lovely dog .", (0, 0, 0, 1)),
    ("translate", {"right": "la bela hundo"}, "la hundo .", (1, 0, 1, 1)),
    ("translate", {"right": "la bela hundo"}, "la .", (0, 0, 0, 1)),
    ("translate", {"right": "la bela hundo"}, "la bela bela hundo .", (0, 0, 0, 2 / 3)),
    ("translate", {"right": "du hundoj"}, "du hundoj .", (1, 1, 1, 1)),
    ("translate", {"right": "du hundoj"}, "du hundo .", (0, 0, 0, 1)),
    ("translate_plural", {"right": "la belaj hundoj"}, "la belaj hundoj .", (1, 1, 1, 1)),
    ("translate_plural", {"right": "la belaj hundoj"}, "la bela hundo .", (1, 0, 1, 1)),
]


@pytest.mark.parametrize(("kind", "fields", "answer", "parts"), GOLDEN)
def test_golden_judgements(
    kind: str, fields: dict[str, Any], answer: str, parts: tuple[float, float, float, float]
) -> None:
    assert judge(request_text(kind, **fields), answer) == pytest.approx(Judgement(*parts))


def test_every_kind_has_golden_judgements() -> None:
    perfect = {kind for kind, _, _, parts in GOLDEN if set(parts) == {1}}
    flawed = {kind for kind, _, _, parts in GOLDEN if min(parts) < 1}
    assert perfect == flawed == set(KINDS)
    assert len(set(KINDS) - UNSEEN) >= 12
    assert len(UNSEEN) >= 2


def test_golden_reward() -> None:
    assert Judgement(1.0, 1.0, 1.0, 1.0).reward == 1.0
    assert Judgement(1.0, 0.0, 1.0, 1.0).reward == 0.5
    assert Judgement(1.0, 1.0, 0.0, 0.5).reward == 0.75
    assert NOTHING.reward == 0.0
    assert Judgement(1.0, 1.0, 1.0, 1.0).followed
    assert not Judgement(1.0, 1.0, 1.0, 0.75).followed


def test_golden_length() -> None:
    four = words_of("a b, c d.")
    assert four == ("a", "b", ",", "c", "d", ".")
    assert [length(four, most) for most in (5, 4, 3, 2, 1)] == pytest.approx([1, 1, 2 / 3, 0, 0])
    assert length((".",), 1) == 0


# ---- demonstrations are perfect, and nothing else is for free


@pytest.fixture(scope="module")
def dialogues() -> list[Dialogue]:
    return [
        demonstration
        for split, count in (("train", 140), ("unseen", 50))
        for demonstration in demonstrations(TINY, split, count)
    ]


def test_a_demonstration_has_the_highest_reward(dialogues: list[Dialogue]) -> None:
    assert set(gold_rewards(dialogues)) == {1.0}
    assert {judgement.followed for judgement in judgements(dialogues)} == {True}
    prompts = [dialogue._replace(messages=dialogue.prompt) for dialogue in dialogues]
    assert set(gold_rewards(prompts)) == {0.0}


Policy = Callable[[Dialogue], str]
VOCABULARY = sorted(content_words())
HOSTILE: dict[str, Policy] = {
    "nothing": lambda _: " ",
    "a full stop": lambda _: ".",
    "the prompt": lambda item: item.prompt[-1].text,
    "the prompt and the answer": lambda item: f"{item.prompt[-1].text} {item.response}",
    "the answer twice": lambda item: f"{item.response} {item.response}",
    "the answer 20 times": lambda item: f"{item.response} " * 20,
    "one word 50 times": lambda item: f"{str(item.response).split()[0]} " * 50,
    "every word": lambda _: " ".join(VOCABULARY),
    "every word in a list": lambda _: " , ".join(VOCABULARY),
    "rubbish behind": lambda item: f"{item.response} the cow the .",
    "rubbish at the end": lambda item: f"{str(item.response)[:-2]} the cow the .",
    "rubbish before": lambda item: f"the cow the {item.response}",
    "two answers": lambda _: "yes . no .",
    "a refusal before": lambda item: f"i do not know . {item.response}",
    "another script": lambda _: "東京 ٣ \N{ZERO WIDTH JOINER} \x00",
    "very long": lambda _: "a" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_score_low(name: str, dialogues: list[Dialogue]) -> None:
    rewards = gold_rewards(
        [
            dialogue._replace(messages=(*dialogue.prompt, Message("assistant", HOSTILE[name](dialogue))))
            for dialogue in dialogues
        ]
    )
    assert max(rewards) <= 0.3
    assert sum(rewards) / len(rewards) <= 0.12


@pytest.mark.parametrize("answer", ["i do not know .", "yes .", "happy .", "the cow sleeps .", "cows , pigs ."])
def test_no_one_answer_pleases_everywhere(answer: str, dialogues: list[Dialogue]) -> None:
    rewards = [judgement.reward for judgement in judgements([dialogue.answered(answer) for dialogue in dialogues])]
    assert sum(rewards) / len(rewards) < 0.35


@pytest.mark.parametrize("answer", ["the cow " * 5_000, "(" * 10_000, "\x00\ud800" * 500, "the " * 199 + "."])
def test_a_long_or_strange_answer_is_judged_at_once(answer: str, dialogues: list[Dialogue]) -> None:
    start = time.perf_counter()
    rewards = gold_rewards([dialogue.answered(answer) for dialogue in dialogues])
    assert max(rewards) <= 0.2
    assert (time.perf_counter() - start) / len(dialogues) < 0.02


# ---- what is asked, and what makes a sentence


@pytest.mark.parametrize("text", [None, "", "{", "[]", "7", '{"kind": "sing"}', "[" * 100_000])
def test_a_request_of_another_sort_is_refused(text: str | None) -> None:
    with pytest.raises(InputError, match="asked: "):
        judge(text, "rome .")


def test_a_request_of_another_version_is_refused() -> None:
    with pytest.raises(InputError, match=r"fact_word: missing a required argument.*run the stage demonstrate again"):
        judge('{"kind": "fact_word"}', "rome .")
    with pytest.raises(InputError, match="refuse: got an unexpected keyword argument 'size'"):
        judge('{"kind": "refuse", "size": "tiny"}', "no .")


def test_a_line_is_what_the_rules_derive() -> None:
    for line in world().draw(Random(5), 12):
        assert is_line(tuple(line.words))
        assert not is_line(tuple(line.words[:-1]))
    assert not is_line(("the", "cow"))
    assert not is_line(())


def test_every_word_of_the_stories_is_a_content_word_or_stands_in_the_rules() -> None:
    closed = {row["word"] for row in table("function_words")}
    drawn = {word for _ in range(100) for line in world().draw(Random(5)) for word in line.words}
    assert drawn <= content_words() | closed
    assert not content_words() & {"the", "that", "a", "is", "are", "and", "in", "lives", "."}
