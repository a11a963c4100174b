"""What the gold judge looks up: the words of a world by what they are, and whether words make a sentence of it."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import inf

from langladder.corpora import rules  # noqa: F401 - registers the productions of the grammar
from langladder.corpora.grammar import Symbol
from langladder.corpora.inflection import esperanto_adjective, esperanto_noun
from langladder.corpora.instructions.kinds import Words
from langladder.corpora.lexicon import Noun
from langladder.corpora.world import World

LONGEST = 16  # words of a sentence that is parsed; no instruction asks for so many
SAID = ("yes", "no", "i", "do", "not", "know")  # of answers, beside the world's own words
RELATIONS = ("capital", "currency", "nationality")
REMEMBERED = 200_000  # parses
DETERMINERS = {"la": "sp", "mia": "s", "nia": "s", "miaj": "p", "niaj": "p", "kelkaj": "p", "multaj": "p"}
"""Determiners of Esperanto in plain letters, and the numbers that they go with; numerals beside them."""
DETERMINERS |= {"du": "p", "tri": "p"}


@dataclass(eq=False)
class Known:
    """The words of a world, and what it knows of them."""

    world: World
    _parsed: dict[tuple[Symbol, Words], bool] = field(default_factory=dict, repr=False)

    @cached_property
    def noun_forms(self) -> dict[str, list[tuple[Noun, str]]]:
        """Form → the nouns that have it, each with the number."""
        forms: dict[str, list[tuple[Noun, str]]] = {}
        for noun in self.world.lexicon.nouns.values():
            for number in "sp":
                forms.setdefault(noun.form(number), []).append((noun, number))
        return forms

    @cached_property
    def countries(self) -> dict[str, set[str]]:
        """What a country has (and "name") → the words for it."""
        found = self.world.lexicon.countries.values()
        return {part: {getattr(country, part) for country in found} for part in ("name", *RELATIONS)}

    @cached_property
    def past_forms(self) -> set[str]:
        """What shows that a sentence is in the past."""
        return {"did", *(verb.past for verb in self.world.lexicon.verbs.values())}

    @cached_property
    def words(self) -> set[str]:
        """Content words that sentences of the world may hold, and the words of the answers to instructions."""
        lexicon = self.world.lexicon
        words = {*self.noun_forms, *lexicon.names, *lexicon.opinions, *SAID}
        words.update(form for noun in lexicon.classes.values() for form in (noun.singular, noun.plural))
        words.update(form for verb in lexicon.verbs.values() for form in verb.forms)
        adverbs = [adverb.source for of_use in lexicon.adverbs.values() for adverb in of_use]
        words.update(adverb[0] for adverb in adverbs if len(adverb) == 1)
        words.update(word for forms in self.countries.values() for word in forms)
        for one in lexicon.adjectives.values():
            words.update(form for form in (one.positive, one.comparative, one.superlative) if form)
        return words

    @cached_property
    def esperanto(self) -> tuple[dict[str, str], dict[str, str]]:
        """Adjectives and nouns of Esperanto, each with its number, "s" or "p"."""
        lexicon = self.world.lexicon
        adjectives = {esperanto_adjective(one.root, n): n for one in lexicon.adjectives.values() for n in "sp"}
        return adjectives, {esperanto_noun(one.root, n): n for one in lexicon.nouns.values() for n in "sp"}

    def is_word(self, word: str) -> bool:
        """Whether the language has a content word."""
        return word in self.words

    # -- phrases and sentences -----------------------------------------------------------------------------------

    def sentence(self, words: Words) -> bool:
        """Whether words, with their full stop, are one sentence of the grammar; False for more than `LONGEST`."""
        return self._parses(("Sentence",), words)

    def phrase(self, words: Words) -> set[str]:
        """The numbers ("s", "p") of which words can be a noun phrase without a relative clause; none: they are none."""
        if not words or words[-1] not in self.noun_forms:
            return set()
        return {
            number
            for noun, number in self.noun_forms[words[-1]]
            if self._parses(("NP", noun.singular, number, "", 0, ""), words)
        }

    def esperanto_phrase(self, words: Words) -> bool:
        """Whether words are a noun of Esperanto behind a determiner, an adjective, both or none, all of one number."""
        adjectives, nouns = self.esperanto
        if not 1 <= len(words) <= 3 or words[-1] not in nouns:
            return False
        number, before = nouns[words[-1]], words[:-1]
        if before and number in DETERMINERS.get(before[0], ""):
            before = before[1:]
        return len(before) <= 1 and all(adjectives.get(word) == number for word in before)

    def _parses(self, symbol: Symbol, words: Words) -> bool:
        if len(words) > LONGEST:
            return False
        key = (symbol, words)
        if key not in self._parsed:
            if len(self._parsed) >= REMEMBERED:
                self._parsed.clear()
            # log P(words) > −inf under the grammar: there is a derivation
            self._parsed[key] = self.world.grammar.inside(words, symbol) > -inf
        return self._parsed[key]


@lru_cache(maxsize=3)
def known(world: World) -> Known:
    """What is known of a world; made once."""
    return Known(world)
