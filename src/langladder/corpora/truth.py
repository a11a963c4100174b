"""Truth sets of microworld: the knowledge that a model of the text should have, from the same tables and rules as the
text.

    analogies.txt        Google format (Mikolov et al. 2013): ": section" lines, then "a b c d" with a : b = c : d
    similarity.tsv       word, word, score 0..10: depth of the two words' common class (Wu & Palmer 1994, equation 1)
    groups.txt           ": group" lines, then the group's words, for k-means clustering and odd-one-out
    sentiment_trees.txt  five-class binary trees (Socher et al. 2013)
    agreement.jsonl      two sentences that differ in the number of one verb, one of them grammatical, by the number of
                         relative clauses between subject and verb, 0 to 4; the noun directly before the verb has the
                         other number (an attractor; Linzen, Dupoux & Goldberg 2016)
    entailment.tsv       premise, hypothesis, label (entailment, contradiction, neutral; Bowman et al. 2015)
    qa.jsonl             question and answer

Only words of the training text are used, and analogies only ask for words that are frequent in it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

from langladder.corpora import entailment, reviews
from langladder.corpora.lexicon import Lexicon, Noun, Verb
from langladder.corpora.rules.statements import questions
from langladder.corpora.world import World, draw
from langladder.ground.artefacts import write_text

# ---- agreement


OTHER = {"s": "p", "p": "s"}
MOST_CLAUSES = 4
LIVING = ("animal", "person")


def probes(world: World, counts: Mapping[str, int], count: int, rng: Random) -> list[str]:
    """`count` distinct probes for each number of clauses, as JSON lines {"good", "bad", "clauses"}."""
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


# ---- all sets


QUESTIONS_PER_SECTION = 150
FREQUENT = {"tiny": 8, "small": 60, "base": 200}  # minimum count in train of a word in an analogy
SIMILARITY_PAIRS = 400
SENTIMENT_TREES = {"tiny": 300, "small": 3000, "base": 10000}
PROBES_PER_CLAUSES = 200
ENTAILMENT_TRIPLES = 300
# groups of similar kinds: the level above kind in the taxonomy
REALMS = {"animal": "living", "person": "living", "plant": "living", "food": "food", "drink": "food"}


def write_truth_sets(world: World, counts: Mapping[str, int], seed: int, folder: Path) -> None:
    """Write every truth set.

    Args:
        world: the world of the corpus's size.
        counts: word → its count in the training split.
        seed: of the random draws, which are independent of those of the text.
        folder: the target folder of the files.
    """
    files = {
        "analogies.txt": analogies(world, counts, Random(f"{seed} analogies")),
        "similarity.tsv": similarity(world, counts, Random(f"{seed} similarity")),
        "groups.txt": groups(world, counts),
        "sentiment_trees.txt": reviews.trees(
            world, counts, SENTIMENT_TREES[world.lexicon.size], Random(f"{seed} sentiment")
        ),
        "agreement.jsonl": probes(world, counts, PROBES_PER_CLAUSES, Random(f"{seed} agreement")),
        "entailment.tsv": entailment.triples(world, counts, ENTAILMENT_TRIPLES, Random(f"{seed} entailment")),
        "qa.jsonl": answers(world, counts),
    }
    for name, lines in files.items():
        write_text(Path(folder) / name, "".join(line + "\n" for line in lines))


def sections(lexicon: Lexicon) -> dict[str, list[tuple[str, str]]]:
    """Analogy section → its pairs of words."""
    countries, nouns = lexicon.countries.values(), lexicon.nouns.values()
    verbs = lexicon.verbs.values()
    graded = [adjective for adjective in lexicon.adjectives.values() if adjective.pole]
    return {
        "capital-country": [(country.capital, country.name) for country in countries],
        "country-currency": [(country.name, country.currency) for country in countries],
        "country-nationality": [(country.name, country.nationality) for country in countries],
        "family": [(noun.singular, noun.partner) for noun in nouns if noun.gender == "m"],
        "plural": [(noun.singular, noun.plural) for noun in nouns],
        "past-tense": [(verb.progressive, verb.past) for verb in verbs],
        "present-participle": [(verb.base, verb.progressive) for verb in verbs],
        "plural-verbs": [(verb.base, verb.third) for verb in verbs],
        "comparative": [(adjective.positive, adjective.comparative) for adjective in graded],
        "superlative": [(adjective.positive, adjective.superlative) for adjective in graded],
    }


def analogies(world: World, counts: Mapping[str, int], rng: Random) -> list[str]:
    """Up to 150 questions per section, over all ordered pairs of its frequent pairs."""
    least = FREQUENT[world.lexicon.size]
    lines = []
    for section, pairs in sections(world.lexicon).items():
        frequent = [pair for pair in pairs if min(counts.get(word, 0) for word in pair) >= least]
        asked = [(first, second) for first in frequent for second in frequent if first != second]
        rng.shuffle(asked)
        lines.append(f": {section}")
        lines += [" ".join((*first, *second)) for first, second in asked[:QUESTIONS_PER_SECTION]]
    return lines


def similarity(world: World, counts: Mapping[str, int], rng: Random) -> list[str]:
    """Pairs of nouns with a gold score, in equal numbers for each score."""
    nouns = [noun for noun in world.lexicon.nouns.values() if counts.get(noun.singular, 0) > 0]
    by_score: dict[float, list[tuple[str, str]]] = {}
    for index, first in enumerate(nouns):
        for second in nouns[index + 1 :]:
            by_score.setdefault(likeness(first, second), []).append((first.singular, second.singular))
    lines = []
    for score, pairs in sorted(by_score.items(), reverse=True):
        rng.shuffle(pairs)
        lines += [f"{first}\t{second}\t{score:.1f}" for first, second in pairs[: SIMILARITY_PAIRS // len(by_score)]]
    return lines


def groups(world: World, counts: Mapping[str, int]) -> list[str]:
    """The nouns of each semantic group, and the words of the countries, each word in one group."""
    found: dict[str, list[str]] = {}
    for noun in world.lexicon.nouns.values():
        found.setdefault(noun.group if noun.group == noun.kind else f"{noun.kind}-{noun.group}", []).append(
            noun.singular
        )
    for country in world.lexicon.countries.values():
        for name in ("name", "capital", "nationality", "currency"):
            found.setdefault("country" if name == "name" else f"country-{name}", []).append(getattr(country, name))
    lines = ["# semantic groups: a group opens with a colon, its words stand below it"]
    for group, words in found.items():
        known = [word for word in dict.fromkeys(words) if counts.get(word, 0) > 0]
        if known:
            lines += [f": {group}", " ".join(known)]
    return lines


def likeness(first: Noun, second: Noun) -> float:
    """Wu-Palmer similarity times 10 in the taxonomy entity > realm > kind > group > noun; a couple scores 9."""
    if first.partner == second.singular:
        return 9.0
    paths = [(REALMS.get(noun.kind, "object"), noun.kind, noun.group, noun.singular) for noun in (first, second)]
    # depth of the lowest class that both belong to; the root (entity) has depth 1
    shared = 1
    for one, other in zip(*paths, strict=True):
        if one != other:
            break
        shared += 1
    # sim = 2·depth(lowest common class) / (depth(first) + depth(second))
    depth = 1 + len(paths[0])
    return 10.0 * 2 * shared / (2 * depth)


def answers(world: World, counts: Mapping[str, int]) -> list[str]:
    """Questions about countries, each with its answer, as JSON lines."""
    lines = []
    for country in world.lexicon.countries.values():
        for _, (question, answer), _ in questions(country):
            if all(word in counts for word in (*question, "?", *answer)):
                record = {"question": " ".join((*question, "?")), "answer": " ".join(answer)}
                lines.append(json.dumps(record, ensure_ascii=False))
    return lines
