"""Instructions about words and noun phrases: translate, find the opposite, form the plural.

Instructions only ask for Esperanto words with plain letters, which every tokenizer of the English text knows.
"""

from collections.abc import Sequence
from random import Random

from langladder.corpora.instructions.kinds import (
    Fields,
    Judgement,
    Request,
    Words,
    bare,
    instruction,
    known,
    length,
    one_word,
)
from langladder.corpora.lexicon import Noun, esperanto_adjective, esperanto_noun
from langladder.corpora.world import PLURAL, World, draw, favour

KINDS_OF_NOUN = ("animal", "person", "food", "thing", "work", "place")
PLAIN = (("the", "la"), ("my", "mia"), ("our", "nia"))  # determiners that both numbers have, with their Esperanto
SEVERAL = (*PLAIN, ("two", "du"), ("three", "tri"), ("many", "multa"))


def draw_noun(world: World, rng: Random) -> Noun:
    """Draw a noun whose plural differs from its singular."""
    nouns = [pair for pair in favour(world.nouns(KINDS_OF_NOUN)) if pair[0].singular != pair[0].plural]
    return draw(nouns, rng)


def draw_adjective(world: World, noun: Noun, rng: Random, *, graded: bool = False) -> str:
    """Draw an adjective that suits a noun, "" if there is none; graded: one with an opposite."""
    found = [pair for pair in world.adjectives(noun) if pair[0].opposite or not graded]
    return draw(found, rng).positive if found else ""


def joined(words: Sequence[str]) -> str:
    """Join the words that are not "", and add a full stop."""
    return " ".join([*(word for word in words if word), "."])


def exact_phrase(world: World, words: Words, right: Words, form: bool) -> Judgement:
    """The judgement of an answer that should be one English noun phrase, of one of these numbers, and the right one."""
    said = bare(words)
    grammatical = said == right or bool(known(world).phrase(said))
    return Judgement(float(grammatical), float(said == right), float(form and grammatical), length(words, len(right)))


@instruction("opposite")
class Opposite:
    """The opposite of an adjective: small."""

    phrasings = (
        "what is the opposite of {word} ?",
        "say the opposite of {word} .",
        "which word is the opposite of {word} ?",
        "give me the opposite of {word} .",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """One adjective of a pair of opposites."""
        word = rng.choice([one for one in world.lexicon.adjectives.values() if one.opposite])
        key = " ".join(sorted((word.positive, word.opposite)))
        return Request({"word": word.positive}, {"word": word.positive}, (f"{word.opposite} .",), key)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: an adjective other than the given one."""
        adjectives = world.lexicon.adjectives
        right = {adjectives[fields["word"]].opposite}
        return one_word(words, right, set(adjectives) - {fields["word"]}, known(world).is_word)


@instruction("plural")
class Plural:
    """A noun phrase in the plural: the big dogs."""

    phrasings = (
        "make this plural . {phrase} .",
        "say the plural . {phrase} .",
        "put this into the plural . {phrase} .",
        "now there are many . {phrase} .",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A noun phrase in the singular."""
        noun, determiner = draw_noun(world, rng), rng.choice((*(english for english, _ in PLAIN), "this"))
        adjective = draw_adjective(world, noun, rng) if rng.random() < 0.6 else ""
        phrase = joined((determiner, adjective, noun.singular))[: -len(" .")]
        answer = joined(({"this": "these"}.get(determiner, determiner), adjective, noun.plural))
        return Request({"phrase": phrase}, {"answer": answer}, (answer,), phrase)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: a noun phrase in the plural."""
        plural = "p" in known(world).phrase(bare(words))
        return exact_phrase(world, words, tuple(fields["answer"].split()[:-1]), plural)


@instruction("opposite_phrase", unseen=True)
class OppositePhrase:
    """A noun phrase with the opposite adjective: the small dog."""

    phrasings = ("say the opposite . {phrase} .", "what is the opposite of {phrase} ?")

    def draw(self, world: World, rng: Random) -> Request:
        """A noun phrase whose adjective has an opposite."""
        while not (adjective := draw_adjective(world, noun := draw_noun(world, rng), rng, graded=True)):
            continue
        determiner = rng.choice(PLAIN)[0]
        opposite = world.lexicon.adjectives[adjective].opposite
        phrase = f"{determiner} {adjective} {noun.singular}"
        answer = f"{determiner} {opposite} {noun.singular} ."
        return Request({"phrase": phrase}, {"phrase": phrase, "answer": answer}, (answer,), phrase)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: a noun phrase other than the given one."""
        form = " ".join(bare(words)) != fields["phrase"]
        return exact_phrase(world, words, tuple(fields["answer"].split()[:-1]), form)


@instruction("translate")
class Translate:
    """A noun phrase in Esperanto: la granda hundo."""

    phrasings = (
        "translate into esperanto . {phrase} .",
        "say this in esperanto . {phrase} .",
        "what is {phrase} in esperanto ?",
        "how do you say {phrase} in esperanto ?",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A noun phrase in either number."""
        number = "p" if rng.random() < PLURAL else "s"
        phrase, answer = _pair(world, rng, number, number)
        return Request({"phrase": phrase}, {"answer": answer}, (answer,), phrase)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """At most half true if only the noun or the adjective is right."""
        return _esperanto(world, words, tuple(fields["answer"].split()[:-1]))


@instruction("translate_plural", unseen=True)
class TranslatePlural:
    """Two steps in one: change a singular noun phrase to the plural and translate it into Esperanto."""

    phrasings = ("say the plural in esperanto . {phrase} .", "translate the plural into esperanto . {phrase} .")

    def draw(self, world: World, rng: Random) -> Request:
        """A noun phrase in the singular."""
        phrase, answer = _pair(world, rng, "s", "p")
        return Request({"phrase": phrase}, {"answer": answer}, (answer,), phrase)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """As `Translate`, of the plural."""
        return _esperanto(world, words, tuple(fields["answer"].split()[:-1]))


def _pair(world: World, rng: Random, given: str, wanted: str) -> tuple[str, str]:
    """A phrase in one number, and its translation in another; drawn until the translation only has plain letters."""
    while True:
        noun = draw_noun(world, rng)
        adjective = draw_adjective(world, noun, rng) if rng.random() < 0.6 else ""
        english, determiner = rng.choice(SEVERAL if given == "p" else PLAIN)
        root = world.lexicon.adjectives[adjective].root if adjective else ""
        if determiner.endswith("ia") or determiner == "multa":
            determiner = esperanto_adjective(determiner[:-1], wanted)
        described = esperanto_adjective(root, wanted) if root else ""
        answer = joined((determiner, described, esperanto_noun(noun.root, wanted)))
        if answer.isascii():
            return joined((english, adjective, noun.form(given)))[: -len(" .")], answer


def _esperanto(world: World, words: Words, right: Words) -> Judgement:
    """The judgement of a phrase in Esperanto; half true if either the noun or its adjective is right."""
    said = bare(words)
    grammatical = known(world).esperanto_phrase(said)
    same = 0
    if grammatical and len(said) == len(right):
        same = sum(one == other for one, other in zip(said[1:], right[1:], strict=True))
    true = 1.0 if said == right else 0.5 * same / (len(right) - 1)
    return Judgement(float(grammatical), true, float(grammatical), length(words, len(right)))
