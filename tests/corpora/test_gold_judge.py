"""The gold judge: judgements worked out by hand, a few of each kind, and answers that try to please it otherwise."""

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from langladder.corpora.instructions.demonstrations import InstructionsConfig, demonstrations
from langladder.corpora.instructions.judge import gold_rewards, judge, judgements
from langladder.corpora.instructions.kinds import KINDS, NOTHING, UNSEEN, Judgement, Known, known, length, words_of
from langladder.corpora.world import world
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import Dialogue, Message

TINY = InstructionsConfig(size="tiny", seed=3)
JAPAN = {"country": "japan"}
DOGS = "the dogs saw the cat ."
PEARS = {"group": "fruit", "number": "three"}
ODD = {"words": ["apple", "dog", "pear", "banana"], "odd": "dog"}


def asked(kind: str, **fields: Any) -> str:
    return json.dumps({"kind": kind, "size": "tiny", **fields})


# (kind, fields, answer, grammatical, true, form, length)
GOLDEN: list[tuple[str, dict[str, Any], str, tuple[float, float, float, float]]] = [
    *(
        ("fact_word", {**JAPAN, "relation": "capital"}, answer, parts)
        for answer, parts in (
            ("tokyo .", (1, 1, 1, 1)),
            ("tokyo", (1, 1, 1, 1)),
            ("tokyo.", (1, 1, 1, 1)),  # however punctuation is written
            ("paris .", (1, 0, 1, 1)),
            ("yen .", (1, 0, 0, 1)),
            ("tokoy .", (0, 0, 0, 1)),
            ("the capital of japan is tokyo .", (1, 1, 0, 0)),
            ("the capital of japan is paris .", (1, 0, 0, 0)),
            ("tokyo tokyo .", (0, 0, 0, 0)),
            ("", (0, 0, 0, 0)),
        )
    ),
    *(
        ("fact_sentence", {**JAPAN, "relation": "currency"}, answer, parts)
        for answer, parts in (
            ("the currency of japan is the yen .", (1, 1, 1, 1)),
            ("the currency of japan is the yen", (0, 0, 0, 1)),  # a sentence ends with a full stop
            ("the currency of japan is the mark .", (1, 0, 1, 1)),
            ("the currency of france is the yen .", (1, 0, 1, 1)),
            ("in japan people speak japanese and pay with the yen .", (1, 1, 1, 1)),
            ("tokyo is the capital of japan .", (1, 0, 0, 1)),  # true, but not asked
            ("yen .", (1, 1, 0, 1)),
            ("the currency of japan is the yen . the yen .", (0, 0, 0, 1)),
        )
    ),
    ("fact_sentence", {**JAPAN, "relation": "nationality"}, "people speak japanese in japan .", (1, 1, 1, 1)),
    ("fact_sentence", {**JAPAN, "relation": "nationality"}, "people speak french in japan .", (1, 0, 1, 1)),
    ("yes_no", {"true": True}, "yes .", (1, 1, 1, 1)),
    ("yes_no", {"true": True}, "no .", (1, 0, 1, 1)),
    ("yes_no", {"true": False}, "no", (1, 1, 1, 1)),
    ("yes_no", {"true": False}, "yes no .", (0, 0, 0, 0)),
    ("refuse", {}, "i do not know .", (1, 1, 1, 1)),
    ("refuse", {}, "tokyo .", (1, 0, 0, 1)),
    ("refuse", {}, "i do not know tokyo .", (0, 0, 0, 0.75)),
    ("opposite", {"word": "big"}, "small .", (1, 1, 1, 1)),
    ("opposite", {"word": "big"}, "slow .", (1, 0, 1, 1)),
    ("opposite", {"word": "big"}, "big .", (1, 0, 0, 1)),
    ("plural", {"answer": "the big dogs ."}, "the big dogs .", (1, 1, 1, 1)),
    ("plural", {"answer": "the big dogs ."}, "the big dog .", (1, 0, 0, 1)),
    ("plural", {"answer": "the big dogs ."}, "the dogs .", (1, 0, 1, 1)),
    ("plural", {"answer": "these dogs ."}, "this dogs .", (0, 0, 0, 1)),
    ("translate", {"answer": "la granda hundo ."}, "la granda hundo .", (1, 1, 1, 1)),
    ("translate", {"answer": "la granda hundo ."}, "la granda kato .", (1, 0.25, 1, 1)),
    ("translate", {"answer": "la granda hundo ."}, "la malgranda kato .", (1, 0, 1, 1)),
    ("translate", {"answer": "la granda hundo ."}, "la grandaj hundo .", (0, 0, 0, 1)),
    ("translate", {"answer": "la granda hundo ."}, "the big dog .", (0, 0, 0, 1)),
    ("translate", {"answer": "la granda hundo ."}, "la hundo .", (1, 0, 1, 1)),
    ("past", {"answer": DOGS}, DOGS, (1, 1, 1, 1)),
    ("past", {"answer": DOGS}, "the dogs see the cat .", (1, 0, 0, 1)),
    ("past", {"answer": DOGS}, "the dogs saw cat .", (0, 0, 1, 1)),
    ("past", {"answer": "anna saw the cat ."}, "anna sees the cat .", (1, 0, 0, 1)),
    ("past", {"answer": "anna saw the cat ."}, "anna saw the dog .", (1, 0, 1, 1)),
    ("agreement", {"answer": "anna sees the cat ."}, "anna sees the cat .", (1, 1, 1, 1)),
    ("agreement", {"answer": "anna sees the cat ."}, "anna see the cat .", (0, 0, 1, 1)),
    ("agreement", {"answer": "anna sees the cat ."}, "anna saw the cat .", (1, 0, 1, 1)),
    ("continue", {"beginning": "the king"}, "the king is sleeping .", (1, 1, 1, 1)),
    ("continue", {"beginning": "the king"}, "the king are sleeping .", (0, 0, 1, 1)),
    ("continue", {"beginning": "the king"}, "the queen is sleeping .", (1, 0, 0, 1)),
    ("continue", {"beginning": "the king"}, "is sleeping .", (0, 0, 0, 1)),
    ("about", {"noun": "king", "number": "four"}, "the king sleeps .", (1, 1, 1, 1)),
    ("about", {"noun": "king", "number": "four"}, "the old kings sleep well .", (1, 1, 1, 0.75)),
    ("about", {"noun": "king", "number": "four"}, "the queen sleeps .", (1, 0, 1, 1)),
    ("about", {"noun": "king", "number": "four"}, "king king king .", (0, 0, 1, 1)),
    ("list", PEARS, "apple , pear , banana .", (1, 1, 1, 1)),
    ("list", PEARS, "apple , pear and cherry .", (1, 1, 1, 1)),
    ("list", PEARS, "apple , pear , dog .", (1, 2 / 3, 1, 1)),
    ("list", PEARS, "apple , apple , apple .", (1, 1 / 3, 0, 1)),
    ("list", PEARS, "apple , pear .", (1, 2 / 3, 0, 1)),
    ("list", PEARS, "apple pear banana .", (0, 0, 0, 1)),
    ("list", {"group": "wild", "number": "two"}, "dog , wolf .", (1, 1, 1, 1)),  # an animal is whatever is of that kind
    ("odd_one_out", ODD, "dog .", (1, 1, 1, 1)),
    ("odd_one_out", ODD, "pear .", (1, 0, 1, 1)),
    ("odd_one_out", ODD, "cat .", (1, 0, 0, 1)),
    ("classify", {"verdict": "bad"}, "bad .", (1, 1, 1, 1)),
    ("classify", {"verdict": "bad"}, "good .", (1, 0, 1, 1)),
    ("classify", {"verdict": "bad"}, "bad good .", (0, 0, 0, 0)),
    ("country", {"relation": "capital", "word": "tokyo"}, "japan .", (1, 1, 1, 1)),
    ("country", {"relation": "capital", "word": "tokyo"}, "france .", (1, 0, 1, 1)),
    ("country", {"relation": "capital", "word": "tokyo"}, "tokyo .", (1, 0, 0, 1)),
    ("choose_class", {"right": "fruit", "of": ["bird", "fruit"]}, "fruit .", (1, 1, 1, 1)),
    ("choose_class", {"right": "fruit", "of": ["bird", "fruit"]}, "a fruit .", (1, 1, 1, 1)),
    ("choose_class", {"right": "fruit", "of": ["bird", "fruit"]}, "an fruit .", (0, 0, 0, 0)),
    ("choose_class", {"right": "fruit", "of": ["bird", "fruit"]}, "bird .", (1, 0, 1, 1)),
    ("opposite_phrase", {"phrase": "the big dog", "answer": "the small dog ."}, "the small dog .", (1, 1, 1, 1)),
    ("opposite_phrase", {"phrase": "the big dog", "answer": "the small dog ."}, "the big dog .", (1, 0, 0, 1)),
    ("opposite_phrase", {"phrase": "the big dog", "answer": "the small dog ."}, "small .", (0, 0, 0, 1)),
    ("translate_plural", {"answer": "la grandaj hundoj ."}, "la grandaj hundoj .", (1, 1, 1, 1)),
    ("translate_plural", {"answer": "la grandaj hundoj ."}, "la granda hundo .", (1, 0, 1, 1)),
]


@pytest.mark.parametrize(("kind", "fields", "answer", "parts"), GOLDEN)
def test_golden_judgements(
    kind: str, fields: dict[str, Any], answer: str, parts: tuple[float, float, float, float]
) -> None:
    assert judge(asked(kind, **fields), answer) == pytest.approx(Judgement(*parts))


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
    return [one for split, count in (("train", 140), ("unseen", 50)) for one in demonstrations(TINY, split, count)]


def test_a_demonstration_has_the_highest_reward(dialogues: list[Dialogue]) -> None:
    assert set(gold_rewards(dialogues)) == {1.0}
    assert {found.followed for found in judgements(dialogues)} == {True}
    prompts = [dialogue._replace(messages=dialogue.prompt) for dialogue in dialogues]
    assert set(gold_rewards(prompts)) == {0.0}


Policy = Callable[[Dialogue], str]
VOCABULARY = sorted(known(world("tiny")).words)
HOSTILE: dict[str, Policy] = {
    "nothing": lambda _: " ",
    "a full stop": lambda _: ".",
    "the prompt": lambda one: one.prompt[-1].text,
    "the prompt and the answer": lambda one: f"{one.prompt[-1].text} {one.response}",
    "the answer twice": lambda one: f"{one.response} {one.response}",
    "the answer 20 times": lambda one: f"{one.response} " * 20,
    "one word 50 times": lambda one: f"{str(one.response).split()[0]} " * 50,
    "every word": lambda _: " ".join(VOCABULARY),
    "every word in a list": lambda _: " , ".join(VOCABULARY),
    "rubbish behind": lambda one: f"{one.response} the dog the .",
    "rubbish at the end": lambda one: f"{str(one.response)[:-2]} the dog the .",
    "rubbish before": lambda one: f"the dog the {one.response}",
    "two answers": lambda _: "yes . no .",
    "a refusal before": lambda one: f"i do not know . {one.response}",
    "another script": lambda _: "東京 ٣ \N{ZERO WIDTH JOINER} \x00",
    "very long": lambda _: "a" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_answers_score_low(name: str, dialogues: list[Dialogue]) -> None:
    rewards = gold_rewards(
        [one._replace(messages=(*one.prompt, Message("assistant", HOSTILE[name](one)))) for one in dialogues]
    )
    assert max(rewards) <= 0.3
    assert sum(rewards) / len(rewards) <= 0.12


@pytest.mark.parametrize("answer", ["i do not know .", "yes .", "good .", "the king sleeps .", "apple , pear ."])
def test_no_one_answer_pleases_everywhere(answer: str, dialogues: list[Dialogue]) -> None:
    rewards = [found.reward for found in judgements([one.answered(answer) for one in dialogues])]
    assert sum(rewards) / len(rewards) < 0.35


# ---- what is asked, and what makes a sentence


@pytest.mark.parametrize(
    "text", [None, "", "{", "[]", "7", '{"kind": "fact_word"}', '{"kind": "sing", "size": "tiny"}', "[" * 100_000]
)
def test_a_request_of_another_sort_is_refused(text: str | None) -> None:
    with pytest.raises(InputError, match="asked: "):
        judge(text, "tokyo .")


def test_a_request_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match="size 'huge'"):
        judge('{"kind": "refuse", "size": "huge"}', "no .")


def test_a_sentence_is_what_the_grammar_derives() -> None:
    place, rng = world("tiny"), Random(5)
    about = Known(place)
    for _ in range(10):
        words = tuple(place.grammar.sample(rng).tree.source())
        assert about.sentence(words) == (len(words) <= 16)
        assert not about.sentence(words[:-1])
    assert about.phrase(("the", "dog")) == {"s"}
    assert about.phrase(("the", "dogs")) == {"p"}
    assert about.phrase(("a", "owl")) == set()
    assert not about.phrase(("dog",))
    assert not about.phrase(())


def test_every_word_of_a_world_is_known() -> None:
    place, rng = world("tiny"), Random(5)
    closed = {"the", "that", "a", "an", "is", "are", "and", "but", "of", "in"}
    drawn = {word for _ in range(100) for word in place.grammar.sample(rng, ("Sentence",)).tree.source()}
    about = known(place)
    assert len({word for word in drawn if about.is_word(word)}) > 0.7 * len(drawn)
    assert not any(about.is_word(word) for word in closed)
