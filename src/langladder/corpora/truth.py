"""Truth sets of microworld: what a model of the text should know, taken from the same tables and rules as the text.

    analogies.txt        Google format (Mikolov et al. 2013): ": section" lines, then "a b c d" with a : b = c : d
    similarity.tsv       word, word, score 0..10: how deep the two words' classes meet (Wu & Palmer 1994, equation 1)
    groups.txt           ": group" lines, then the group's words: what k-means clusters or odd-one-out should find
    sentiment_trees.txt  five-class binary trees (Socher et al. 2013)
    agreement.jsonl      good and bad sentence, by the number of clauses between subject and verb (Linzen et al. 2016)
    entailment.tsv       premise, hypothesis, label (entailment, contradiction, neutral; Bowman et al. 2015)
    qa.jsonl             question and answer

Only words of the training text are used, and analogies only ask for words that are frequent in it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random

from langladder.corpora import agreement, entailment, sentiment
from langladder.corpora.lexicon import Lexicon, Noun
from langladder.corpora.rules.geography import questions
from langladder.corpora.world import World
from langladder.ground.artefacts import write_text

QUESTIONS_PER_SECTION = 150
FREQUENT = {"tiny": 8, "small": 60, "base": 200}  # least count in train of a word that an analogy asks for
SIMILARITY_PAIRS = 400
SENTIMENT_TREES = {"tiny": 300, "small": 3000, "base": 10000}
PROBES_PER_CLAUSES = 200
ENTAILMENT_TRIPLES = 300
# Kinds that are alike beyond their own kind: the level above kind in the taxonomy.
REALMS = {"animal": "living", "person": "living", "plant": "living", "food": "food", "drink": "food"}


def write(world: World, counts: Mapping[str, int], seed: int, folder: Path) -> None:
    """Write every truth set.

    Args:
        world: the world of the corpus's size.
        counts: word → its count in the training split.
        seed: of the drawing; independent of the text's stream.
        folder: where the files go.
    """
    files = {
        "analogies.txt": analogies(world, counts, Random(f"{seed} analogies")),
        "similarity.tsv": similarity(world, counts, Random(f"{seed} similarity")),
        "groups.txt": groups(world, counts),
        "sentiment_trees.txt": sentiment.trees(
            world, counts, SENTIMENT_TREES[world.lexicon.size], Random(f"{seed} sentiment")
        ),
        "agreement.jsonl": agreement.probes(world, counts, PROBES_PER_CLAUSES, Random(f"{seed} agreement")),
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
    """Up to 150 questions a section, over all ordered pairs of its frequent pairs."""
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
    """Pairs of nouns with a gold score, as many for each score."""
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
