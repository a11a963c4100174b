"""The engine's probabilities against plain sums over all texts and all sequences of states, and against frequencies."""

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy import stats

from microworld.engine import END, LINES, Line, Reader, World, world
from microworld.grammar import Rule
from microworld.lexicon import MOODS, STRAY, SUBJECTS, ZIPF, Extent, table
from tests.microworld.enumeration import Text, derivations, probabilities, probability

SMALL = Path(__file__).with_name("small.rules")
GOLDEN = """\
john is a cook from paris .
mary is a baker from london .
everything was poor .
he filled the lost soups .
where does he live ?
in paris .
she washed the soup .
she filled the poor soups .
"""


@pytest.fixture(scope="module")
def small() -> World:
    return World(Extent(subjects=2, moods=2, words=2), SMALL)


@pytest.fixture(scope="module")
def least() -> World:
    return World(Extent(subjects=2, moods=2, words=1), SMALL)


@pytest.fixture(scope="module")
def turning() -> World:
    """The whole world, with more changes of mood."""
    return World(curves={"turns": (12.0,)})


def words(story: list[Line]) -> list[list[str]]:
    return [line.words for line in story]


def read_probability(world: World, text: Text) -> float:
    reading = world.read(text)
    return 0.0 if reading is None else math.exp(math.fsum(p for line in reading.log_probs for p in line))


@pytest.mark.parametrize(("extent", "path", "lines"), [
    (Extent(2, 2, 2), None, 1),
    (Extent(2, 2, 2), SMALL, 1),
    (Extent(2, 2, 1), SMALL, 2),
    (Extent(1, 3, 1), SMALL, 2),
    (Extent(3, 1, 1), SMALL, 2),
])  # fmt: skip
def test_all_texts_add_up_to_one_and_each_is_read_with_its_probability(
    extent: Extent, path: Path | None, lines: int
) -> None:
    world = World(extent, path) if path else World(extent)
    result = probabilities(world, lines)
    assert math.fsum(result.values()) == pytest.approx(1, abs=1e-12)
    assert len(result) >= 32
    for text, p in result.items():
        assert read_probability(world, text) == pytest.approx(p, rel=1e-9), text


def test_no_text_has_two_derivations(small: World) -> None:
    choices: dict[Text, set[tuple[int, ...]]] = {}
    for derivation in derivations(small, 2):
        choices.setdefault(derivation.text, set()).add(derivation.choices)
    assert all(len(choice) == 1 for choice in choices.values())


@pytest.mark.long
def test_texts_of_three_lines_add_up_to_one(least: World) -> None:
    result = probabilities(least, 3)
    assert math.fsum(result.values()) == pytest.approx(1, abs=1e-12)
    for text in Random(1).sample(sorted(result), 500):
        assert read_probability(least, text) == pytest.approx(result[text], rel=1e-9), text


def test_a_text_of_another_world_is_not_read(small: World) -> None:
    assert small.read([["john", "is", "a", "farmer", "from", "london", "."], ["she", "fed", "the", "cow"]]) is None
    assert small.read([["john", "is"]]) is None
    assert small.read([[]]) is None


def explicit(world: World, count: int) -> list[tuple[list[list[str]], float]]:
    """Drawn stories of six lines in which the mood changes, with the sum over all sequences of states."""
    result = []
    for seed in range(100):
        story = words(world.draw(Random(f"explicit {seed}"), 6))
        if 2 <= sum(line[0] in ("but", "suddenly") for line in story) <= 3:
            result.append((story, math.log(probability(world, story))))
        if len(result) == count:
            break
    return result


@pytest.fixture(scope="module")
def summed(turning: World) -> list[tuple[list[list[str]], float]]:
    return explicit(turning, 3)


def disagreement(world: World, summed: list[tuple[list[list[str]], float]]) -> float:
    """The largest difference between the recursion and the sum, in nats."""
    result = []
    for story, log_prob in summed:
        reading = world.read(story)
        assert reading is not None
        result.append(abs(math.fsum(p for line in reading.log_probs for p in line) - log_prob))
    return max(result)


def test_the_recursion_is_the_sum_over_all_sequences_of_states(
    turning: World, summed: list[tuple[list[list[str]], float]]
) -> None:
    assert len(summed) == 3
    assert disagreement(turning, summed) < 1e-9


def _wrong_turn(patch: pytest.MonkeyPatch, world: World) -> None:
    patch.setattr(world, "turn", np.kron(np.eye(world.extent.subjects), np.full((4, 4), 1 / 4)))


def _no_shares(patch: pytest.MonkeyPatch, _world: World) -> None:
    right = Rule.shares

    def weights(rule: Rule, memory: object) -> tuple[list[float], list[float]]:
        shares, cumulative = right(rule, memory)
        return [share * 1.5 for share in shares], cumulative

    patch.setattr(Rule, "shares", weights)


def _no_update(patch: pytest.MonkeyPatch, world: World) -> None:
    right = world.advance

    def advance(readers: list[Reader], word: str) -> tuple[list[Reader], str]:
        after, kind = right(readers, word)
        for item in after:
            item.belief = world.prior * item.belief.sum()
        return after, kind

    patch.setattr(world, "advance", advance)


@pytest.mark.parametrize("mistake", [_wrong_turn, _no_shares, _no_update])
def test_a_recursion_with_a_mistake_is_not_that_sum(
    monkeypatch: pytest.MonkeyPatch,
    turning: World,
    summed: list[tuple[list[list[str]], float]],
    mistake: Callable[[pytest.MonkeyPatch, World], None],
) -> None:
    mistake(monkeypatch, turning)
    assert disagreement(turning, summed) > 1e-3


def surprisals(drawn: World, reader: World, stories: int) -> np.ndarray:
    """(−log P(word), entropy of its distribution) of each word: (words, 2)."""
    result = []
    for seed in range(stories):
        lines = words(drawn.draw(Random(f"entropy {seed}")))
        readers = [reader.reader()]
        for line in lines:
            for item in readers:
                item.stack.append(reader.start)
            for word in [*line, END]:
                chances = reader.next_words(readers)
                p = np.array(list(chances.values()))
                assert p.sum() == pytest.approx(1, abs=1e-12)
                result.append((-math.log(chances[word]), -float(p @ np.log(p))))
                if word != END:
                    readers, _ = reader.advance(readers, word)
                    total = readers[0].belief.sum()
                    readers[0].belief = readers[0].belief / total
                    assert chances[word] == pytest.approx(total, rel=1e-9)
            readers = list(reader.ended(readers))
    return np.array(result)


def test_a_story_of_hundreds_of_lines_has_next_words(small: World) -> None:
    story = words(small.draw(Random("long"), 400))
    chances = small.next_words(small.begun(story[:-1], story[-1][:1]))
    assert sum(chances.values()) == pytest.approx(1, abs=1e-12)
    reading = small.read(story)
    assert reading is not None
    assert chances[story[-1][1]] == pytest.approx(math.exp(reading.log_probs[-1][1]), rel=1e-9)


def z_score(result: np.ndarray) -> float:
    """Of the sum of −log P − entropy, a martingale under the right probabilities."""
    difference = result[:, 0] - result[:, 1]
    return float(difference.sum() / math.sqrt((difference**2).sum()))


def test_the_next_words_add_up_to_one_and_tell_the_entropy(turning: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert abs(z_score(surprisals(turning, turning, 40))) < 4
    wrong = World(curves={"turns": (12.0,)})
    monkeypatch.setattr(wrong, "turn", np.eye(wrong.extent.states))  # who believes that no mood ever changes
    assert abs(z_score(surprisals(turning, wrong, 40))) > 8


def hidden_places(world: World, kind: str) -> tuple[list[list[str]], int, int]:
    """A drawn story with a word of a kind, and where it stands: line and place."""
    for seed in range(100):
        story = words(world.draw(Random(f"hidden {seed}"), 6))
        reading = world.read(story)
        assert reading is not None
        for line, kinds in enumerate(reading.kinds[:-1]):
            if kind in kinds:
                return story, line, kinds.index(kind)
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["NAME.m", "NAME.f", "TOWN", "JOB", "LIKE", "SAYING", "known name", "known town"])
def test_a_hidden_word_that_is_remembered(turning: World, kind: str) -> None:
    assert_share_of_the_story(turning, kind)


@pytest.mark.parametrize("kind", ["word", "NOUN.s", "LOOK", "ACT.pl", "DEED"])
def test_a_hidden_word(turning: World, kind: str) -> None:
    assert_share_of_the_story(turning, kind)


def assert_share_of_the_story(world: World, kind: str) -> None:
    """Each word of the language put into the story, and the whole story read."""
    story, line, index = hidden_places(world, kind)
    classes = {word for noun in world.classes.values() for form in noun.line.forms for word in noun.form(form).words}
    derived = {row[column] for column in ("country", "language") for row in table("lands")}
    others = {word for rule in world.rules.rules.values() for _, text in rule.lines for word in text.split()}
    expected = {}
    for word in classes | derived | others | {"he", "she", "him", "her", "is", "are"}:
        changed = [list(item) for item in story]
        changed[line][index] = word
        if p := read_probability(world, changed):
            expected[word] = p
    assert story[line][index] in expected
    total = math.fsum(expected.values())
    result = world.hidden_word(story, line, index)
    assert result == pytest.approx({word: p / total for word, p in expected.items()}, rel=1e-9)
    assert list(result.values()) == sorted(result.values(), reverse=True)


def test_drawn_lines_are_as_frequent_as_their_probabilities(small: World) -> None:
    expected = probabilities(small, 1)
    rng, draws = Random("frequencies"), 20_000
    counts = Counter(tuple(map(tuple, words(small.draw(rng, 1)))) for _ in range(draws))
    assert counts.keys() <= expected.keys()
    result = stats.chisquare([counts[text] for text in expected], [p * draws for p in expected.values()])
    assert result.pvalue > 1e-4


@pytest.mark.long
def test_drawn_second_lines_are_as_frequent_as_their_probabilities(least: World) -> None:
    expected = probabilities(least, 2)
    rng, draws = Random("second"), 30_000
    counts = Counter(tuple(map(tuple, words(least.draw(rng, 2)))) for _ in range(draws))
    assert counts.keys() <= expected.keys()
    often = [text for text, p in expected.items() if p * draws >= 10]
    assert len(often) > 50
    rest = draws - sum(counts[text] for text in often)
    shares = [expected[text] * draws for text in often]
    result = stats.chisquare([*(counts[text] for text in often), rest], [*shares, draws - sum(shares)])
    assert result.pvalue > 1e-4


def test_the_same_seed_draws_the_same_story(small: World) -> None:
    story = small.draw(Random("golden"), 8)
    assert "".join(line.text + "\n" for line in story) == GOLDEN


def test_stories_have_seven_to_twelve_lines() -> None:
    rng = Random(1)
    counts = Counter(len(world().draw(rng)) for _ in range(600))
    assert set(counts) == set(range(LINES[0], LINES[1] + 1))
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


def test_a_word_has_the_probability_of_its_subject_or_mood_and_rank() -> None:
    """P(v | z) ∝ ((1 − stray)·[k = z's] + stray / number of them) · w_k(v), w by Zipf's law."""
    here = world()
    for name, tilt, stray in (("NOUN", SUBJECTS, STRAY["subject"]), ("LOOK", MOODS, STRAY["mood"])):
        words = here.classes[name].form("s" if name == "NOUN" else "")
        column = "subject" if name == "NOUN" else "mood"
        owners = [table(here.classes[name].line.table)[row][column] for row in words.rows]
        for state in range(here.extent.states):
            mine = here.subject_of(state) if name == "NOUN" else here.mood_of(state)
            expected = []
            for number, owner in enumerate(owners):
                weights = [(rank + 2) ** -ZIPF for rank in range(owners.count(owner))]
                share = weights[owners[:number].count(owner)] / sum(weights)
                expected.append(((1 - stray) * (owner == mine) + stray / len(tilt)) * share)
            assert math.fsum(expected) == pytest.approx(1, abs=1e-12)
            assert words.p[state] == pytest.approx(expected, rel=1e-9)
