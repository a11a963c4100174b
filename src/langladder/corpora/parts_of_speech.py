"""The part of speech of each word of a microworld sentence, by the universal tags (Nivre et al. 2020).

Words of the lexicon have the tag of their table, function words that of `CLOSED`. A few go by the rule that wrote them:
what is noun in one rule and verb in another, and words whose tag only the draw knows (`rules.tagged`).
"""

from collections.abc import Iterator

from langladder.corpora.grammar import Tree
from langladder.corpora.lexicon import Lexicon

CLOSED = {
    "DET": "the a an this every these some many my our his her their",
    "AUX": "is are was were do does did will",
    "PRON": "he she it they them him what that",
    "ADP": "in near behind to of with for from than at",
    "CCONJ": "and but",
    "SCONJ": "because while",
    "NUM": "one two three four five",
    "PART": "not",
    "ADV": "very rather really extremely never there here",
    "ADJ": "other",
    "NOUN": "capital currency people",
    "PUNCT": ". , ?",
    "VERB": "lives speaks pays speak pay learn paid left born loves travelled came returned saw liked disliked looked",
}
TIMES = {"NOUN": "week year night day morning evening moment", "DET": "every the", "ADP": "at", "NUM": "one"}
TIMES |= {"ADJ": "last next"}  # other words of an opening: adverbs
BY_DRAW = ("DeedNoun", "State", "Direction")  # nonterminals whose target side is the tag


class PartsOfSpeech:
    """Tags of the words of a size's sentences."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._of: dict[str, str] = {}
        for word, tag in _entries(lexicon):
            self._of.setdefault(word, tag)
        self._times = {word: tag for tag, words in TIMES.items() for word in words.split()}
        self._verbs = {form for verb in lexicon.verbs.values() for form in verb.forms}
        self._openings = {adverb.source for adverbs in lexicon.adverbs.values() for adverb in adverbs}

    def tags(self, tree: Tree) -> list[str]:
        """The tag of every word of a derivation."""
        return [tag for _, tag in self._tagged(tree)]

    def _tagged(self, tree: Tree) -> Iterator[tuple[str, str]]:
        """(word, tag), left to right."""
        name, source = tree.symbol[0], tree.rule.source
        if name in BY_DRAW:
            yield str(source[0]), str(tree.rule.target[0])
            return
        children = iter(tree.children)
        for place, item in enumerate(source):
            if not isinstance(item, str):
                yield from self._tagged(next(children))
            elif name == "Opening" or source in self._openings:
                yield item, self._times.get(item, "ADV")
            else:
                yield item, self._tag(name, item, source[place + 1 : place + 2])

    def _tag(self, name: str, word: str, after: tuple[object, ...]) -> str:
        if name in ("Verb", "Tenses") and word in self._verbs:
            return "VERB"
        if word == "her" and name == "Tenses":
            return "PRON"
        if word == "to" and after == ("learn",):
            return "PART"
        if name == "Folk" and self._of[word] == "PROPN":
            return "ADJ"  # french bakers; french alone is the language
        return self._of[word]


def _entries(lexicon: Lexicon) -> Iterator[tuple[str, str]]:
    """(word, tag); of several tags the first counts."""
    for tag, words in CLOSED.items():
        yield from ((word, tag) for word in words.split())
    yield from ((name, "PROPN") for name in lexicon.names)
    for country in lexicon.countries.values():
        yield from ((word, "PROPN") for word in (country.name, country.capital, country.nationality))
        yield country.currency, "NOUN"
    for noun in (*lexicon.nouns.values(), *lexicon.classes.values()):
        yield from ((form, "NOUN") for form in (noun.singular, noun.plural))
    for adjective in lexicon.adjectives.values():
        yield from (
            (form, "ADJ") for form in (adjective.positive, adjective.comparative, adjective.superlative) if form
        )
    yield from ((word, "ADJ") for word in lexicon.opinions)
    for verb in lexicon.verbs.values():
        yield from ((form, "VERB") for form in verb.forms)
    for adverbs in lexicon.adverbs.values():
        yield from ((word, "ADV") for adverb in adverbs for word in adverb.source)
