"""Agreement probes: two sentences that differ in the number of one verb; only one of them is grammatical.

Between subject and verb stand 0 to 4 relative clauses, and the noun right before the verb has the other number
(an attractor; Linzen, Dupoux & Goldberg 2016).
"""

import json
from collections.abc import Mapping
from random import Random

from langladder.corpora.lexicon import Verb
from langladder.corpora.world import World, draw

OTHER = {"s": "p", "p": "s"}
MOST_CLAUSES = 4
LIVING = ("animal", "person")


def probes(world: World, counts: Mapping[str, int], count: int, rng: Random) -> list[str]:
    """`count` different probes for each number of clauses, as JSON lines {"good", "bad", "clauses"}."""
    lines: dict[str, None] = {}
    for clauses in range(MOST_CLAUSES + 1):
        before = len(lines)
        for _ in range(20 * count):
            good, bad = probe(world, clauses, rng)
            if all(word in counts for word in (good + " " + bad).split()):
                lines[json.dumps({"good": good, "bad": bad, "clauses": clauses}, ensure_ascii=False)] = None
            if len(lines) == before + count:
                break
    return list(lines)


def probe(world: World, clauses: int, rng: Random) -> tuple[str, str]:
    """One pair: the grammatical sentence, and the same with the last verb in the other number."""
    subject, number = draw(world.nouns(LIVING), rng), rng.choice("sp")
    words = ["the", subject.form(number)]
    noun, current = subject, number
    for _ in range(clauses):
        verb = draw(world.verbs(world.beings[noun.singular], LIVING), rng)
        words += ["that", _present(verb, current)]
        noun, current = draw(world.objects(verb), rng), OTHER[number]
        words += ["the", noun.form(current)]
    at_rest = [pair for pair in world.verbs(world.beings[subject.singular]) if pair[0].frame == "stay"]
    last = draw(at_rest, rng)
    good, bad = (" ".join([*words, _present(last, shown), "."]) for shown in (number, OTHER[number]))
    return good, bad


def _present(verb: Verb, number: str) -> str:
    return verb.base if number == "p" else verb.third
