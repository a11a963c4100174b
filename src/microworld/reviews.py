"""Reviews with labelled trees: what each phrase says, from very negative to very positive, and how sure the words are.

    (4 (2 (2 the) (2 cake)) (4 (2 was) (4 (2 very) (3 lovely))))

Labels are those of the Stanford Sentiment Treebank (Socher et al. 2013): 0 very negative, 1, 2 neutral, 3, 4 very
positive. A word of a happy mood is 3, of any other mood 1; the other words are 2, but those that the rules call unclear
are 3 or 1, and nothing shows which. The label of a phrase follows from its two parts:

    very, really X                            stronger: 3 → 4, 1 → 0
    not, never, less, doubted, denied … X     the other side, and weak: 4, 3 → 1 and 0, 1 → 3
    X , but Y;  although X , Y                Y
    X , and Y; any other X Y                  the one further from neutral; Y if both are as far

A text has one derivation, up to how its unclear words are meant. These choices are independent given the words, so the
labels of a phrase have the probabilities

    P(label = c | words) = Σ_{a, b : f(a, b) = c} P(left = a | words) · P(right = b | words)
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from microworld.engine import Line, World
from microworld.grammar import DrawnWord, Rule
from microworld.lexicon import HERE, MOODS, Extent
from microworld.memory import Memory

BAD, NEUTRAL, GOOD = 1, 2, 3
LEVELS = ("0", "1", "2", "3", "4")
POLARITY = ("negative", "negative", "", "positive", "positive")
"""Names of the five labels; reviews whose label has none are left out."""


class Phrase(NamedTuple):
    """A phrase: its label, 0 to 4; label → P(label | words), of the possible ones; a word, or two phrases."""

    label: int
    chances: Mapping[int, float]
    word: str = ""
    parts: tuple["Phrase", ...] = ()

    def bracketed(self, names: Sequence[str] = LEVELS) -> str:
        """The tree in bracket notation; labels without a name are left out."""
        inner = self.word or " ".join(part.bracketed(names) for part in self.parts)
        return f"({names[self.label]} {inner})" if names[self.label] else f"({inner})"


def strengthen(label: int) -> int:
    """very lovely: 3 → 4; very ugly: 1 → 0."""
    return NEUTRAL + 2 * _side(label)


def negate(label: int) -> int:
    """not lovely: 3 → 1; not very ugly: 0 → 3."""
    return NEUTRAL - _side(label)


def stronger(first: int, second: int) -> int:
    """The label that is further from neutral; the second if both are as far."""
    return first if abs(first - NEUTRAL) > abs(second - NEUTRAL) else second


def _side(label: int) -> int:
    return (label > NEUTRAL) - (label < NEUTRAL)


CHANGES: Mapping[str, Callable[[int], int]] = {
    **dict.fromkeys(("very", "really"), strengthen),
    **dict.fromkeys(("not", "never", "less", "doubted", "denied"), negate),
}
"""Word → what it makes of the label of the phrase after it."""
OPERATORS = frozenset({"but", "and", "although", *(word for word, change in CHANGES.items() if change is negate)})
"""Words that change the meaning of the rest."""


def review(line: Line, here: World) -> Phrase:
    """The labelled tree of a drawn line."""
    return _phrase(here.start, iter(line.words), iter(line.ways), here)


def _phrase(rule: Rule, words: Iterator[str], ways: Iterator[int], here: World) -> Phrase:
    way, parts = next(ways), list[Phrase]()
    for symbol in rule.ways[way]:
        if isinstance(symbol, Rule):
            parts.append(_phrase(symbol, words, ways, here))
        elif (word := next(words)) == ",":
            parts.append(_joined(parts.pop(), _certain(NEUTRAL, word)))
        elif rule.call.rule == "unclear":
            parts.append(_unclear(rule, way, word, here))
        elif isinstance(symbol, DrawnWord) and symbol.form in MOODS:
            parts.append(_certain(GOOD if symbol.form == "happy" else BAD, word))
        else:
            parts.append(_certain(NEUTRAL, word))
    phrase = parts.pop()
    while parts:
        phrase = _joined(parts.pop(), phrase)
    return phrase


def _joined(first: Phrase, second: Phrase) -> Phrase:
    chances: dict[int, float] = {}
    combine = _function(first, second)
    for name, p in first.chances.items():
        for other, q in second.chances.items():
            label = combine(name, other)
            chances[label] = chances.get(label, 0.0) + p * q
    return Phrase(combine(first.label, second.label), chances, "", (first, second))


def _function(first: Phrase, second: Phrase) -> Callable[[int, int], int]:
    """The label of a phrase from those of its parts."""
    if change := CHANGES.get(first.word):
        return lambda _, label: change(label)
    clause = first.parts and first.parts[-1].word == ","
    if clause and not (second.parts and second.parts[0].word == "and"):
        return lambda _, label: label
    return stronger


def _certain(label: int, word: str) -> Phrase:
    return Phrase(label, {label: 1.0}, word)


def _unclear(rule: Rule, way: int, word: str, here: World) -> Phrase:
    """A word that is meant well or badly; the rules write both equally often, each word by its weight."""
    p = {}
    for label, meant in ((GOOD, "good"), (BAD, "bad")):
        same = here.grammar.symbol(rule.call._replace(values=(meant,)), "")
        assert isinstance(same, Rule)
        p[label] = same.shares(Memory())[0][way]
    chances = {label: share / sum(p.values()) for label, share in p.items()}
    return Phrase(GOOD if rule.call.values == ("good",) else BAD, chances, word)


def draw_reviews(rng: Random, open_share: float, names: Sequence[str] = LEVELS) -> Iterator[dict[str, Any]]:
    """Reviews without end.

    Args:
        open_share: the share of adjectives of things whose words do not show how they are meant.
        names: of the five labels; see `POLARITY`.

    Yields:
        text, label, tree; log_prob: ln P(label | text), exact; ceiling: P(most probable label | text).
    """
    here = reviews_world(open_share)
    while True:
        (line,) = here.draw(rng, 1)
        result = review(line, here)
        if not names[result.label]:
            continue  # the words always show whether a review is neutral
        chances = dict.fromkeys(names, 0.0)
        for label, p in result.chances.items():
            chances[names[label]] += p
        yield {
            "text": line.text,
            "label": names[result.label],
            "tree": result.bracketed(names),
            "log_prob": round(math.log(chances[names[result.label]]), 9),
            "ceiling": round(max(chances.values()), 9),
        }


@cache
def reviews_world(open_share: float, extent: Extent | None = None) -> World:
    """The world of reviews; see `draw_reviews`."""
    return World(extent, HERE / "reviews.rules", {"clear": (1 - open_share,), "open": (open_share,)})
