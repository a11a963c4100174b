"""Scenes and their sentences: sentences of the grammar, held-out combinations, a vector that says everything."""

import math
from random import Random

import pytest

from langladder.corpora.scenes import (
    Scene,
    SceneConfig,
    all_facts,
    generate_scenes,
    phrases,
    recovered,
    sentences,
    split_of,
)
from langladder.corpora.world import world

TINY = SceneConfig(size="tiny")
BIG_DOGS = Scene("dog", "many", "big", "see", "past", "yes", "cat", "one", "old", "quickly")


def test_golden_sentences() -> None:
    assert sentences(world("small"), BIG_DOGS) == [
        "the big dogs did not see the old cat quickly .",
        "the big dogs did not see an old cat quickly .",
        "some big dogs did not see the old cat quickly .",
        "some big dogs did not see an old cat quickly .",
    ]
    sleeping = Scene("owl", "one", "", "sleep", "progressive", where="near", place="garden")
    assert sentences(world("small"), sleeping)[-1] == "an owl is sleeping near a garden ."
    facts = "agent=owl agents=one deed=sleep time=progressive where=near place=garden"
    assert sleeping.facts() == facts.split()


def test_sentences_are_the_grammars() -> None:
    grammar = world("tiny").grammar
    examples = generate_scenes(TINY)["train"]
    for example in Random(1).sample(examples, 60):
        found = sentences(world("tiny"), example.scene)
        assert example.sentence in found and len(set(found)) == len(found)
        for sentence in (found[0], found[-1], example.sentence):
            assert grammar.inside(sentence.split()) > -math.inf, sentence


def test_every_fact_has_its_place_in_the_vector() -> None:
    names = all_facts("tiny")
    assert len(set(names)) == len(names)
    splits = generate_scenes(TINY)
    known = set(names)
    assert all(known.issuperset(example.scene.facts()) for examples in splits.values() for example in examples)


def test_held_out_combinations() -> None:
    splits = generate_scenes(TINY)
    pairs = {split: {one.scene[:1] + one.scene[3:4] for one in examples} for split, examples in splits.items()}
    assert not pairs["train"] & pairs["test"] and not pairs["train"] & pairs["validation"]
    assert not pairs["test"] & pairs["validation"]
    words = {word for one in splits["train"] for word in one.sentence.split()}
    for split in ("validation", "test"):
        assert len(splits[split]) > 50
        assert len({one.scene for one in splits[split]}) == len(splits[split])
        assert all(words.issuperset(one.sentence.split()) for one in splits[split])
        assert all(split_of(one.scene) == split for one in splits[split])


def test_same_seed_same_scenes() -> None:
    three, four = (SceneConfig(size="tiny", seed=seed) for seed in (3, 4))
    assert generate_scenes(three) == generate_scenes(three)
    assert generate_scenes(three)["train"][:20] != generate_scenes(four)["train"][:20]


@pytest.mark.parametrize(
    ("caption", "missing"),
    [
        ("some big dogs did not see the old cat quickly .", set()),
        ("the dogs did not see an old cat quickly .", {"agent_is"}),
        ("the big dog did not see an old cat quickly .", {"agent"}),
        ("the big dogs did see an old cat quickly .", {"deed"}),
        ("the old cat did not see the big dogs quickly .", {"patient_is", "patient", "deed", "manner"}),
        ("", {"agent_is", "agent", "deed", "patient_is", "patient", "manner"}),
    ],
)
def test_golden_recovered_facts(caption: str, missing: set[str]) -> None:
    found = recovered(world("small"), BIG_DOGS, caption.split())
    assert set(found) == set(phrases(world("small"), BIG_DOGS))
    if caption.startswith("the old cat"):  # after the big dogs nothing of what belongs before them is left
        assert not found["deed"] and found["agent"]
    else:
        assert {question for question, told in found.items() if not told} == missing
