"""The words of microworld: tables in `microworld_data/`, sliced by size, with every inflected form in both languages.

Rows are ordered by frequency, so that a smaller size takes the first part of each row, and rank r within a row has the
weight 1 / (r + 1): Zipf's law inside each semantic group. Regular forms follow the spelling rules of English and the
endings of Esperanto (Fundamento de Esperanto, rules 2-6).
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import resources
from itertools import product
from typing import Literal

# ---- inflection


VOWELS = "aeiou"


def plural_of(noun: str) -> str:
    """dog → dogs, box → boxes, baby → babies."""
    return _with_s(noun)


def third_person_of(verb: str) -> str:
    """see → sees, watch → watches, hurry → hurries, go → goes."""
    return verb + "es" if verb.endswith("o") else _with_s(verb)


def _with_s(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "ies"
    return word + "s"


def past_of(verb: str) -> str:
    """walk → walked, bake → baked, hurry → hurried, stop → stopped."""
    return _with_vowel_ending(verb, "ed")


def progressive_of(verb: str) -> str:
    """walk → walking, bake → baking, hurry → hurrying, stop → stopping, see → seeing."""
    if verb.endswith(("ee", "y")):
        return verb + "ing"
    return _with_vowel_ending(verb, "ing")


def comparative_of(adjective: str) -> str:
    """tall → taller, nice → nicer, happy → happier, big → bigger."""
    return _with_vowel_ending(adjective, "er")


def superlative_of(adjective: str) -> str:
    """tall → tallest, nice → nicest, happy → happiest, big → biggest."""
    return _with_vowel_ending(adjective, "est")


def _with_vowel_ending(word: str, ending: str) -> str:
    if word.endswith("e"):
        return word[:-1] + ending
    if word.endswith("y") and word[-2] not in VOWELS:
        return word[:-1] + "i" + ending
    if _doubles(word):
        return word + word[-1] + ending
    return word + ending


def _doubles(word: str) -> bool:
    """One syllable that ends in a single vowel and a single consonant: stop, big, swim; not rain, fix, play."""
    return (
        len(word) >= 3
        and sum(letter in VOWELS for letter in word) == 1
        and word[-2] in VOWELS
        and word[-1] not in VOWELS + "wxy"
    )


def article(word: str) -> str:
    """The indefinite article before a word: a cat, an owl, an honest heir, a useful uniform."""
    vowel = word[0] in VOWELS and not word.startswith(("eu", "us", "uni"))
    return "an" if vowel or word.startswith(("hon", "heir")) else "a"


def esperanto_noun(root: str, number: str, case: str = "") -> str:
    """root + o, plural j, accusative n: hundo, hundoj, hundon, hundojn. number: "s" or "p"; case: "" or "n"."""
    return root + "o" + ("j" if number == "p" else "") + case


def esperanto_adjective(root: str, number: str, case: str = "") -> str:
    """root + a, agreeing in number and case: granda, grandaj, grandan, grandajn."""
    return root + "a" + ("j" if number == "p" else "") + case


# ---- words


Size = Literal["tiny", "small", "base"]

SLICE: dict[str, dict[Size, float]] = {
    # share of each row that a size uses
    "nouns": {"tiny": 0.2, "small": 0.46, "base": 1.0},
    "couples": {"tiny": 0.3, "small": 0.75, "base": 1.0},
    "verbs": {"tiny": 0.2, "small": 0.44, "base": 1.0},
    "adjectives": {"tiny": 0.3, "small": 0.62, "base": 1.0},
    "opinions": {"tiny": 0.3, "small": 0.7, "base": 1.0},
    "adverbs": {"tiny": 0.3, "small": 0.6, "base": 1.0},
    "countries": {"tiny": 0.15, "small": 0.6, "base": 1.0},
    "names": {"tiny": 0.12, "small": 1.0, "base": 1.0},
}
MADE_NAMES = {"tiny": 0, "small": 0, "base": 1200}
OPPOSITE = "mal"  # Esperanto: granda big, malgranda small
FEMALE = "in"  # Esperanto: reĝo king, reĝino queen


@dataclass(frozen=True)
class Noun:
    """A noun that names a kind of thing. gender: "m", "f", or "" if the word does not show it."""

    singular: str
    plural: str
    root: str
    kind: str
    group: str
    rank: int
    gender: str = ""
    partner: str = ""

    def form(self, number: str) -> str:
        """The English form: number "s" or "p"."""
        return self.plural if number == "p" else self.singular


@dataclass(frozen=True)
class Verb:
    """A verb and its frame: stay (no object), move (to a place), act and use (object), give (object, to a person)."""

    base: str
    third: str
    past: str
    progressive: str
    root: str
    frame: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    rank: int

    @property
    def forms(self) -> tuple[str, ...]:
        """Every English form."""
        return self.base, self.third, self.past, self.progressive


@dataclass(frozen=True)
class Adjective:
    """An adjective. Comparative and superlative are "" if it has none. pole: 1, -1 for the opposite, or 0."""

    positive: str
    comparative: str
    superlative: str
    root: str
    kinds: tuple[str, ...]
    rank: int
    pole: int = 0
    opposite: str = ""


@dataclass(frozen=True)
class Country:
    """A country with its capital, its nationality (also the name of its language) and its currency."""

    rank: int
    name: str
    capital: str
    nationality: str
    currency: str
    name_root: str
    capital_root: str
    nationality_root: str
    currency_root: str

    @property
    def words(self) -> tuple[str, ...]:
        """The four English words that belong to the country."""
        return self.name, self.capital, self.nationality, self.currency


@dataclass(frozen=True)
class Name:
    """A given name. gender: "m" or "f"."""

    name: str
    gender: str
    rank: int


@dataclass(frozen=True)
class Opinion:
    """An adjective that judges. valence: -2, -1, 1 or 2."""

    word: str
    root: str
    valence: int
    rank: int


@dataclass(frozen=True)
class Adverb:
    """An adverb or adverbial of several words."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    rank: int


@dataclass(frozen=True)
class Lexicon:
    """All words of one size; each table is in order of frequency within its groups."""

    size: Size

    @cached_property
    def nouns(self) -> dict[str, Noun]:
        """Singular → noun, couples (king, queen) included."""
        nouns = {}
        for row in table("nouns"):
            kind, group, cell = row
            for rank, (forms, root) in enumerate(_entries(cell, self.size, "nouns")):
                singular, *irregular = forms.split("/")
                nouns[singular] = Noun(singular, _plural(singular, irregular), root, kind, group, rank)
        for group, cell in table("couples"):
            for rank, (male, female, roots) in enumerate(_entries(cell, self.size, "couples")):
                root, *female_root = roots.split("/")
                pair = [male.split("/"), female.split("/")]
                for gender, (singular, *irregular), other in (("m", pair[0], pair[1]), ("f", pair[1], pair[0])):
                    stem = root if gender == "m" else (female_root or [root + FEMALE])[0]
                    forms_ = (singular, _plural(singular, irregular), stem)
                    nouns[singular] = Noun(*forms_, "person", group, rank, gender, other[0])
        return nouns

    @cached_property
    def classes(self) -> dict[str, Noun]:
        """Group → the noun for the whole group: fruit, vehicle, ..."""
        return {group: Noun(word, plural_of(word), root, "class", group, 0) for group, word, root in table("classes")}

    @cached_property
    def verbs(self) -> dict[str, Verb]:
        """Base form → verb; a verb in several rows keeps the first."""
        verbs: dict[str, Verb] = {}
        for frame, subjects, objects, cell in table("verbs"):
            kinds = (tuple(subjects.split()), tuple(objects.replace("-", "").split()))
            for rank, (forms, root) in enumerate(_entries(cell, self.size, "verbs")):
                base, *irregular = forms.split("/")
                past = irregular[0] if irregular else past_of(base)
                progressive = irregular[1] if len(irregular) > 1 else progressive_of(base)
                verb = Verb(base, third_person_of(base), past, progressive, root, frame, *kinds, rank)
                verbs.setdefault(base, verb)
        return verbs

    @cached_property
    def adjectives(self) -> dict[str, Adjective]:
        """Positive form → adjective; one in several rows joins their kinds of noun."""
        adjectives: dict[str, Adjective] = {}
        for kinds, cell in table("adjectives"):
            for rank, (words, roots) in enumerate(_entries(cell, self.size, "adjectives")):
                for new in _adjectives(words, roots, tuple(kinds.split()), rank):
                    old = adjectives.get(new.positive)
                    adjectives[new.positive] = replace(old, kinds=old.kinds + new.kinds) if old else new
        return adjectives

    @cached_property
    def countries(self) -> dict[str, Country]:
        """Name → country."""
        rows = table("countries")
        count = math.ceil(len(rows) * SLICE["countries"][self.size])
        return {row[0]: Country(rank, *row) for rank, row in enumerate(rows[:count])}

    @cached_property
    def names(self) -> dict[str, Name]:
        """Given names; the largest size adds generated ones."""
        names = {}
        for gender, cell in table("names"):
            entries = [name for (name,) in _entries(cell, self.size, "names")]
            entries += _made_names(gender, MADE_NAMES[self.size] // 2)
            names.update({name: Name(name, gender, rank) for rank, name in enumerate(entries)})
        return names

    @cached_property
    def opinions(self) -> dict[str, Opinion]:
        """Word → judging adjective."""
        return {
            word: Opinion(word, root, int(valence), rank)
            for valence, cell in table("opinions")
            for rank, (word, root) in enumerate(_entries(cell, self.size, "opinions"))
        }

    @cached_property
    def adverbs(self) -> dict[str, list[Adverb]]:
        """Use (manner, past, present, progressive, future) → adverbs."""
        return {
            use: [
                Adverb(tuple(source.split("_")), tuple(target.split("_")), rank)
                for rank, (source, target) in enumerate(_entries(cell, self.size, "adverbs"))
            ]
            for use, cell in table("adverbs")
        }


def _plural(singular: str, irregular: list[str]) -> str:
    return irregular[0] if irregular else plural_of(singular)


def _adjectives(words: str, roots: str, kinds: tuple[str, ...], rank: int) -> Iterator[Adjective]:
    """One adjective, or the two poles of a pair written big|small."""
    if words.startswith("~"):
        yield Adjective(words[1:], "", "", roots, kinds, rank)
        return
    first_root, *second_root = roots.split("/")
    stems = (first_root, (second_root or [OPPOSITE + first_root])[0])
    poles = [word.split("/") for word in words.split("|")]
    for pole, forms, other, root in zip((1, -1), poles, reversed(poles), stems, strict=True):
        positive = forms[0]
        regular = (comparative_of(positive), superlative_of(positive))
        comparative, superlative = forms[1:] or regular
        yield Adjective(positive, comparative, superlative, root, kinds, rank, pole, other[0])


def _made_names(gender: str, count: int) -> list[str]:
    """Generated pronounceable names, in an order that mixes their syllables: balor … for men, balora … for women."""
    starts = [consonant + vowel for consonant, vowel in product("bdfgklmnprstvz", VOWELS_MADE)]
    ends = ["lor", "nim", "rak", "tun", "vel", "zed", "mor", "dal", "gis", "bun", "kar", "sil", "pet"]
    all_names = [starts[(7 * index) % len(starts)] + end for end in ends for index in range(len(starts))]
    return [name + ("a" if gender == "f" else "") for name in all_names[:count]]


VOWELS_MADE = "aeiou"


def _entries(cell: str, size: Size, table: str) -> list[list[str]]:
    """The first part of a row's entries, each split at spaces; at least two if the row has two."""
    entries = [entry.split() for entry in cell.split(", ")]
    return entries[: max(2, math.ceil(len(entries) * SLICE[table][size]))]


@cache
def table(name: str) -> tuple[tuple[str, ...], ...]:
    """Rows of `microworld_data/<name>.tsv`, without comments."""
    text = resources.files("langladder.corpora").joinpath("microworld_data", f"{name}.tsv").read_text(encoding="utf-8")
    return tuple(tuple(line.split("\t")) for line in text.splitlines() if line and not line.startswith("#"))
