"""Truth sets of microworld: the knowledge that a model of the text should have, from the same tables and rules as the
text.

    analogies.txt        Google format (Mikolov et al. 2013): ": section" lines, then "a b c d" with a : b = c : d
    similarity.tsv       word, word, score 0..10: depth of the two words' common class (Wu & Palmer 1994, equation 1)

Only words of the training text are used, and analogies only ask for words that are frequent in it.
"""

from collections.abc import Mapping
from pathlib import Path
from random import Random

from langladder.corpora.lexicon import Lexicon, Noun
from langladder.corpora.world import World
from langladder.ground.artefacts import write_text

QUESTIONS_PER_SECTION = 150
FREQUENT = {"tiny": 8, "small": 60, "base": 200}  # minimum count in train of a word in an analogy
SIMILARITY_PAIRS = 400
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
