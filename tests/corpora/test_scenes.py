"""Scenes and their lines: lines of the stories, facts read back, held-out pairs, a vector that says everything."""

from random import Random

import pytest

from langladder.corpora.scenes import (
    BEFORE,
    Described,
    Scene,
    SceneConfig,
    all_facts,
    generate_scenes,
    recovered,
    scene_of,
    sentences,
    split_of,
)
from microworld.engine import world
from microworld.lexicon import table

PLATES = Scene("she", "one", "", "yes", "wash", "plate", "many", "lovely", "", "gladly")
WASHED = "she wanted to wash the lovely plates gladly ."


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Described]]:
    return generate_scenes(SceneConfig(size="tiny"))


@pytest.mark.parametrize(
    ("facts", "lines"),
    [
        (
            "agent=she agents=one wanted=yes deed=wash patient=plate patients=many patient_is=lovely manner=gladly",
            [WASHED, "she wanted to wash these lovely plates gladly ."],
        ),
        ("agent=he agents=one deed=lost patient=cow patients=two", ["he lost two cows ."]),
        (
            "agent=goose agents=many agent_is=grey deed=swim place=pond",
            ["the grey geese swim in the pond .", "these grey geese swim in the pond ."],
        ),
        ("agent=goose agents=one state=heavy", ["the goose is heavy .", "this goose is heavy ."]),
        ("agent=cow agents=many state=dark", ["the cows are dark .", "these cows are dark ."]),
        ("agent=queen agents=one deed=signed patient=letter patients=one", ["the queen signed her letter ."]),
        (
            "agent=uncle agents=one deed=told patient=joke patients=one patient_is=poor manner=sadly",
            ["the uncle told his poor joke sadly ."],
        ),
        ("agent=she agents=one deed=kissed patient=he patients=one", ["she kissed him ."]),
        ("agent=he agents=one deed=kissed patient=she patients=one manner=sadly", ["he kissed her sadly ."]),
        ("agent=aunt agents=one state=afraid", ["the aunt was afraid ."]),
    ],
)
def test_golden_lines(facts: str, lines: list[str]) -> None:
    scene = Scene(**dict(fact.split("=") for fact in facts.split()))
    assert scene.facts() == facts.split()
    assert sentences(scene) == lines
    assert all(scene_of(line.split()) == scene for line in lines)


@pytest.mark.parametrize(
    "line",
    [
        "john is a farmer .",
        "she likes tea .",
        "mary washed the plates .",
        "she was happy because she found this cow .",
        "the plates that she washed are old .",
        "the plates are older than the cups .",
        "then she washed the plates .",
        "everybody was nervous .",
    ],
)
def test_a_line_that_tells_more_is_no_scene(line: str) -> None:
    assert world().read([*(earlier.split() for earlier in BEFORE), line.split()]) is not None
    assert line not in sentences(scene_of(line.split()))


def test_every_line_of_a_scene_is_one_of_the_stories_and_tells_the_scene(splits: dict[str, list[Described]]) -> None:
    before = [line.split() for line in BEFORE]
    for example in [*Random(1).sample(splits["train"], 300), *splits["test"]]:
        result = sentences(example.scene)
        assert example.sentence in result and len(set(result)) == len(result)
        for line in result:
            assert world().read([*before, line.split()]) is not None, line
            assert scene_of(line.split()) == example.scene


def test_every_fact_has_its_position_in_the_vector(splits: dict[str, list[Described]]) -> None:
    names = all_facts()
    assert len(set(names)) == len(names)
    facts = {fact for examples in splits.values() for example in examples for fact in example.scene.facts()}
    assert set(names) >= facts and {name.partition("=")[0] for name in facts} == set(Scene._fields)
    nouns = {row["singular"] for row in table("nouns")}
    assert nouns <= {name.partition("=")[2] for name in names if name.startswith("patient=")}


def test_held_out_combinations(splits: dict[str, list[Described]]) -> None:
    pairs = {
        split: {(scene.deed or scene.state, scene.patient or scene.agent) for scene, _ in examples}
        for split, examples in splits.items()
    }
    assert not pairs["train"] & pairs["test"] and not pairs["train"] & pairs["validation"]
    assert not pairs["test"] & pairs["validation"]
    words = {word for item in splits["train"] for word in item.sentence.split()}
    for split in ("validation", "test"):
        assert len(splits[split]) > 50
        assert len({item.scene for item in splits[split]}) == len(splits[split])
        assert all(words.issuperset(item.sentence.split()) for item in splits[split])
        assert all(split_of(item.scene) == split for item in splits[split])


def test_same_seed_same_scenes() -> None:
    three, four = (SceneConfig(size="tiny", scenes=500, seed=seed) for seed in (3, 4))
    assert generate_scenes(three) == generate_scenes(three)
    assert generate_scenes(three)["train"][:20] != generate_scenes(four)["train"][:20]


@pytest.mark.parametrize(
    ("caption", "missing"),
    [
        ("she wanted to wash these lovely plates gladly .", set()),
        ("she wanted to wash the plates gladly .", {"patient_is"}),
        ("she wanted to wash two lovely plates gladly .", {"patients"}),
        ("she washed the lovely plate gladly", {"wanted", "patients"}),
        ("he wanted to wash the lovely plates gladly .", {"agent"}),
        ("she wanted to wash the lovely plates in the kitchen .", {"manner"}),
        ("she wanted to wash the lovely the plates gladly .", {"patient", "patients", "manner"}),
        ("wanted to wash the lovely plates gladly .", set(PLATES._fields) - {"agent_is", "state", "place"}),
        ("", set(PLATES._fields) - {"agent_is", "state", "place"}),
    ],
)
def test_golden_recovered_facts(caption: str, missing: set[str]) -> None:
    result = recovered(PLATES, caption.split())
    assert [f"{question}={getattr(PLATES, question)}" for question in result] == PLATES.facts()
    assert {question for question, correct in result.items() if not correct} == missing
