"""microworld's words as a hand-made lexicon lists them: synonym sets, each below what it is a kind of.

Nouns stand under entity > realm > kind > group, the levels that the similarity scores of `truth` are made from (so a
method that reads this lexicon has seen the answers of that set); couples also under male or female; countries and
cities under places. Verbs stand under their frame; adjectives that judge alike are synonyms. As in a dictionary, all
inflected forms belong to one entry, and given names, adverbs and function words have none.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from langladder.corpora.lexicon import Lexicon
from langladder.corpora.truth import REALMS
from langladder.ground.artefacts import write_text

ROOT = "entity"
# id → the words for what the tables only number or name by a code word
REALM_WORDS = {"living": "living_thing", "food": "nourishment", "object": "object"}
KIND_WORDS = {"animal": "creature", "plant": "flora", "drink": "liquid"}  # the others are named by their own word
SEX_WORDS = {"m": "male", "f": "female"}
FRAME_WORDS = {"stay": "be_busy", "move": "go_somewhere", "act": "affect", "use": "handle", "give": "hand_over"}
VALENCE_IDS = {2: "delighted", 1: "pleased", -1: "displeased", -2: "disgusted"}


def lines(lexicon: Lexicon | None = None) -> Iterator[str]:
    """Lines `id <tab> words <tab> hypernyms`, as `langladder.embeddings.synsets` reads them.

    Args:
        lexicon: the words of one size; None: the largest, which holds the others.
    """
    lexicon = lexicon or Lexicon("base")
    yield _line(ROOT, [ROOT])
    for realm, word in REALM_WORDS.items():
        yield _line(f"{realm}.realm", [word], [ROOT])
    yield from _nouns(lexicon)
    yield from _geography(lexicon)
    for frame, word in FRAME_WORDS.items():
        yield _line(f"{frame}.frame", [word])
    for base, verb in lexicon.verbs.items():
        yield _line(f"{base}.v", verb.forms, [f"{verb.frame}.frame"])
    for adjective in lexicon.adjectives.values():
        forms = (adjective.positive, adjective.comparative, adjective.superlative)
        yield _line(f"{adjective.positive}.a", [form for form in forms if form])
    for valence, name in VALENCE_IDS.items():
        words = [opinion.word for opinion in lexicon.opinions.values() if opinion.valence == valence]
        if words:
            yield _line(f"{name}.opinion", words)


def _nouns(lexicon: Lexicon) -> Iterator[str]:
    nouns = lexicon.nouns
    for kind in dict.fromkeys(noun.kind for noun in nouns.values()):
        yield _line(f"{kind}.kind", [KIND_WORDS.get(kind, kind)], [f"{REALMS.get(kind, 'object')}.realm"])
    for word in SEX_WORDS.values():
        yield _line(f"{word}.sex", [word], ["person.kind"])
    for group, kind in {noun.group: noun.kind for noun in nouns.values()}.items():
        name = lexicon.classes[group]
        yield _line(f"{group}.group", (name.singular, name.plural), [f"{kind}.kind"])
    for singular, noun in nouns.items():
        sexes = [f"{SEX_WORDS[noun.gender]}.sex"] if noun.gender else []
        yield _line(f"{singular}.n", (singular, noun.plural), [f"{noun.group}.group", *sexes])


def _geography(lexicon: Lexicon) -> Iterator[str]:
    yield _line("country.group", ["country", "countries"], ["place.kind"])
    yield _line("city.group", ["city", "cities"], ["place.kind"])
    yield _line("language.group", ["language", "languages"], ["work.kind"])
    yield _line("currency.group", ["currency", "currencies"], ["thing.kind"])
    seen = set()
    for country in lexicon.countries.values():
        for word, group in zip(country.words, ("country", "city", "language", "currency"), strict=True):
            if (word, group) not in seen:  # several countries pay in shillings
                seen.add((word, group))
                yield _line(f"{word}.{group}", [word], [f"{group}.group"])


def _line(key: str, words: Iterable[str], hypernyms: Iterable[str] = ()) -> str:
    columns = [key, " ".join(dict.fromkeys(words)), " ".join(hypernyms)]
    return "\t".join(column for column in columns if column)


def write(path: Path, lexicon: Lexicon | None = None) -> None:
    """Write microworld's lexicon as a file to read, change and train with."""
    write_text(path, "# id\twords\thypernyms\n" + "".join(line + "\n" for line in lines(lexicon)))
