"""The floors of readers who saw only some lines, against sums over all that they did not see."""

import math
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import pytest

from microworld.engine import Reader, World, world
from microworld.floors import Structures, check, document_floor, read_alone, window_floor, window_log_prob
from microworld.lexicon import Extent
from microworld.memory import FACTS, UNKNOWN, Memory, Person
from tests.microworld.enumeration import Text, probabilities, probability

SMALL = Path(__file__).with_name("small.rules")


@pytest.fixture(scope="module")
def small() -> World:
    return World(Extent(subjects=2, moods=2, words=2), SMALL)


@pytest.fixture(scope="module")
def least() -> World:
    return World(Extent(subjects=2, moods=2, words=1), SMALL)


def drawn(world: World, seed: str, lines: int) -> Text:
    return tuple(tuple(line.words) for line in world.draw(Random(seed), lines))


@pytest.mark.parametrize("story", range(8))
def test_a_second_line_alone_is_its_sum_over_all_first_lines(small: World, story: int) -> None:
    text = drawn(small, f"second {story}", 2)
    expected = math.log(sum(probability(small, (first, text[1])) for (first,) in probabilities(small, 1)))
    assert window_log_prob(small, Structures(small), text, 1, 0) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("story", range(8))
def test_a_third_line_after_the_second_is_its_sum_over_all_first_lines(small: World, story: int) -> None:
    text = drawn(small, f"third {story}", 3)
    firsts = [first for (first,) in probabilities(small, 1)]
    both = sum(probability(small, (first, *text[1:])) for first in firsts)
    expected = math.log(both / sum(probability(small, (first, text[1])) for first in firsts))
    assert window_log_prob(small, Structures(small), text, 2, 1) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seen", [
    ("where does he live ?", "in london .", "the cook left england ."),
    ("where does john live ?", "in london .", "john washed the soup ."),
    ("john washed the soup .", "everything was lost .", "john washed the soup ."),
    ("mary is a cook from paris .", "he washed the soup .", "but she washed the soup ."),
])  # fmt: skip
def test_a_value_that_was_seen_is_known_from_then_on(small: World, seen: tuple[str, ...]) -> None:
    """The last line after the two before it, by its sum over all first lines."""
    text = [tuple(line.split()) for line in seen]
    firsts = [first for (first,) in probabilities(small, 1)]
    whole = sum(probability(small, (first, *text)) for first in firsts)
    expected = math.log(whole / sum(probability(small, (first, *text[:2])) for first in firsts))
    assert window_log_prob(small, Structures(small), ((), *text), 3, 2) == pytest.approx(expected, rel=1e-9)


@pytest.mark.long
def test_a_third_line_alone_is_its_sum_over_all_texts(least: World) -> None:
    structures, by_last = Structures(least), dict[tuple[str, ...], float]()
    for text, p in probabilities(least, 3).items():
        by_last[text[2]] = by_last.get(text[2], 0.0) + p
    for line, p in by_last.items():
        assert window_log_prob(least, structures, ((), (), line), 2, 0) == pytest.approx(math.log(p), rel=1e-9)


def test_in_the_whole_language_a_second_line_is_its_sum_over_all_first_lines() -> None:
    english = World(Extent(subjects=2, moods=2, words=2))
    firsts = [first for (first,) in probabilities(english, 1)]
    for story in range(4):
        text = drawn(english, f"english {story}", 2)
        expected = math.log(sum(probability(english, (first, text[1])) for first in firsts))
        assert window_log_prob(english, Structures(english), text, 1, 0) == pytest.approx(expected, rel=1e-9)


def test_who_saw_all_lines_reads_as_the_engine_does() -> None:
    here, text = world(), drawn(world(), "all", 7)
    reading = here.read(text)
    assert reading is not None
    for line in range(7):
        expected = math.fsum(reading.log_probs[line])
        assert window_log_prob(here, Structures(here), text, line, line) == pytest.approx(expected, rel=1e-9)


def without_values(memory: Memory) -> Memory:
    """The same memory with every value unknown: who is there, what was asked, whether something is said."""
    people = {
        sex: Person(**{fact: UNKNOWN for fact in FACTS if getattr(person, fact)}, last=person.last)
        for sex, person in memory.people.items()
    }
    return Memory(memory.line, people, memory.lead, memory.question, UNKNOWN if memory.saying else "")


def test_memories_without_values_are_as_frequent_as_their_probabilities() -> None:
    here, rng, draws, line = world(), Random("memories"), 1_000, 5
    counts: Counter[tuple[object, ...]] = Counter()
    for _ in range(draws):
        readers = here.begun([item.words for item in here.draw(rng, line)])
        counts[without_values(readers[0].memory).key()] += 1
    expected = {memory.key(): p for memory, p in Structures(here).before(line)}
    assert math.fsum(expected.values()) == pytest.approx(1, abs=1e-12)
    assert counts.keys() <= expected.keys()
    for key, p in expected.items():
        assert abs(counts[key] - p * draws) <= 5 * math.sqrt(p * draws * (1 - p)) + 1, key


@pytest.mark.long
def test_the_floor_falls_with_the_lines_that_are_seen_to_that_of_the_whole_story() -> None:
    here = world()
    stories = [drawn(here, f"floor {number}", 9) for number in range(12)]
    log_probs = [[math.fsum(line) for line in here.read(text).log_probs] for text in stories]
    floors = [window_floor(here, stories, seen, 60, Random(1)) for seen in (0, 1, 3)]
    whole = document_floor(log_probs, stories)
    assert floors[0].nats > floors[1].nats > floors[2].nats > whole.nats
    assert window_floor(here, stories, 9, 60, Random(1)).nats == pytest.approx(whole.nats, rel=1e-9)
    assert all(0 < floor.error < 0.2 for floor in floors)


def test_the_end_of_a_line_may_count_as_a_certain_word() -> None:
    assert document_floor([[-6.0]], [[["a", "b"]]]).perplexity == pytest.approx(math.exp(3))
    assert document_floor([[-6.0]], [[["a", "b"]]], ends=1).perplexity == pytest.approx(math.exp(2))


def test_floors_of_a_story_of_another_world_are_refused() -> None:
    with pytest.raises(ValueError, match="story 2 is not of this world"):
        window_floor(world(), [drawn(world(), "one", 2), [["no", "such", "line"]]], 0, 2, Random(1))


def test_the_error_of_one_line_is_unknown() -> None:
    assert math.isinf(window_floor(world(), [drawn(world(), "one", 1)], 0, 1, Random(1)).error)


def test_the_rules_are_ll1() -> None:
    check(world())


# ---- a line of which nothing before is known


@cache
def memories() -> list[Memory]:
    """All that can be remembered before any of the first lines of a story."""
    structures = Structures(world())
    return [memory for line in range(6) for memory, _ in structures.before(line)]


def readers_after_anything(words: Sequence[str]) -> list[Reader]:
    """All readers of a line, after everything that can be remembered."""
    here = world()
    return [item for memory in memories() for item in here.ended(here.read_words([here.reader(memory.copy())], words))]


def test_a_line_can_be_read_alone_if_some_story_has_it() -> None:
    rng = Random("alone")
    lines = [line.words for _ in range(12) for line in world().draw(rng)]
    assert all(read_alone(world(), words) for words in lines)
    spoiled = []  # with a word of another line at its place
    for line in lines:
        other, index = rng.choice(lines), rng.randrange(len(line) - 1)
        spoiled.append([*line[:index], *other[index : index + 1], *line[index + 1 :]])
    result = [read_alone(world(), line) is not None for line in spoiled]
    assert result == [bool(readers_after_anything(line)) for line in spoiled]
    assert 5 <= sum(result) <= len(result) - 5
    for text in ("", ".", "the cows", "the cows sleep . .", "she", "anna"):
        assert read_alone(world(), text.split()) is None
    for text in ("in rome .", "coffee .", "where does he live ?", "anna is a cook from rome who likes tea ."):
        assert read_alone(world(), text.split())


def test_emission_probabilities_do_not_depend_on_earlier_lines() -> None:
    rng = Random("belief")
    for line in world().draw(rng, 12)[1::2]:
        reader = read_alone(world(), line.words)
        assert reader is not None
        expected = reader.belief / reader.belief.sum()
        for other in readers_after_anything(line.words):
            np.testing.assert_allclose(other.belief / other.belief.sum(), expected, atol=1e-12)
