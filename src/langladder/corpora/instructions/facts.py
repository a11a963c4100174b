"""Instructions about facts of countries: answer in one word, in a sentence, say whether a claim is true, find the
country.

Questions without an answer in the world must be refused: "i do not know .".
"""

from random import Random
from zlib import crc32

from langladder.corpora.instructions.kinds import (
    RELATIONS,
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
from langladder.corpora.lexicon import Country
from langladder.corpora.world import World, draw, favour, zipf

QUESTIONS = {
    "capital": "what is the capital of {} ?",
    "currency": "what is the currency of {} ?",
    "nationality": "what do people speak in {} ?",
}
SENTENCES = {
    # relation → sentences that state it; the last one is used in "is it true that …"
    "capital": ("{capital} is the capital of {name}", "the capital of {name} is {capital}"),
    "currency": ("the currency of {name} is the {currency}",),
    "nationality": (
        "people speak {nationality} in {name}",
        "in {name} people speak {nationality} and pay with the {currency}",
    ),
}
UNKNOWN = (
    *("how old is {} ?", "where does {} live ?", "what is the capital of {} ?", "what is the currency of {} ?"),
    *("what does {} want ?", "who is the friend of {} ?", "what do people speak in {} ?", "when was {} born ?"),
)
REFUSAL = ("i", "do", "not", "know")
STATED = 10  # words of the longest sentence that states a fact


def draw_country(world: World, rng: Random) -> Country:
    """Draw a country, with frequent ones more often."""
    country: Country = draw(favour(zipf(world.lexicon.countries.values())), rng)
    return country


def stated(world: World, words: Words) -> dict[str, str]:
    """The fields that a sentence states: the country's name and its facts; {} if it is no such sentence."""
    tables = known(world).countries
    said = bare(words)
    for patterns in SENTENCES.values():
        for pattern in patterns:
            parts = pattern.split()
            if len(parts) != len(said) or said == words:
                continue
            found = {part[1:-1]: word for part, word in zip(parts, said, strict=True) if part.startswith("{")}
            plain = all(part == word for part, word in zip(parts, said, strict=True) if not part.startswith("{"))
            if plain and all(word in tables[part] for part, word in found.items()):
                return found
    return {}


@instruction("fact_word")
class FactWord:
    """Answer a question about a country in one word: tokyo."""

    phrasings = (
        "{question} answer in one word .",
        "in one word , {question}",
        "{question} say one word and no more .",
        "with one word , tell me , {question}",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A country and what is asked of it."""
        country, relation = draw_country(world, rng), rng.choice(RELATIONS)
        fields = {"country": country.name, "relation": relation}
        slots = {"question": QUESTIONS[relation].format(country.name)}
        return Request(slots, fields, (f"{getattr(country, relation)} .",), f"{relation} {country.name}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """A sentence can also be true, but does not have the requested form."""
        country, relation = world.lexicon.countries[fields["country"]], fields["relation"]
        about, right = known(world), getattr(country, relation)
        if facts := stated(world, words):  # right, but not one word
            true = facts.get("name") == country.name and facts.get(relation) == right
            return Judgement(1.0, float(true), 0.0, length(words, 1))
        return one_word(words, {right}, about.countries[relation], about.is_word)


@instruction("fact_sentence")
class FactSentence:
    """Answer a question about a country in a sentence: the capital of japan is tokyo."""

    phrasings = (
        "{question} answer in a sentence .",
        "in a whole sentence , {question}",
        "{question} say it in a sentence .",
        "with a whole sentence , tell me , {question}",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A country and what is asked of it."""
        country, relation = draw_country(world, rng), rng.choice(RELATIONS)
        fields = {"country": country.name, "relation": relation}
        slots = {"question": QUESTIONS[relation].format(country.name)}
        facts = {part: getattr(country, part) for part in ("name", *RELATIONS)}
        answers = [f"{pattern.format(**facts)} ." for pattern in SENTENCES[relation]]
        rng.shuffle(answers)
        return Request(slots, fields, tuple(answers), f"{relation} {country.name}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """A word can also be true, but does not have the requested form. A sentence is true if everything in it is
        true."""
        country, relation = world.lexicon.countries[fields["country"]], fields["relation"]
        facts = stated(world, words)
        if not facts:
            word = one_word(words, {getattr(country, relation)}, set(), known(world).is_word)
            return word._replace(length=length(words, STATED))
        true = relation in facts and all(getattr(country, part) == word for part, word in facts.items())
        return Judgement(1.0, float(true), float(relation in facts), length(words, STATED))


@instruction("yes_no")
class YesNo:
    """Say whether a statement is true: yes or no."""

    phrasings = (
        "is it true that {claim} ?",
        "is this true ? {claim} .",
        "{claim} , yes or no ?",
        "{claim} . true or not ?",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """Draw a statement about a country. Each fact has one true and one false statement, so always "no" is right
        half the time."""
        country, relation = draw_country(world, rng), rng.choice(RELATIONS)
        facts = {part: getattr(country, part) for part in ("name", *RELATIONS)}
        right = rng.random() < 0.5
        if not right:
            others = sorted(known(world).countries[relation] - {facts[relation]})
            facts[relation] = others[crc32(f"{relation} {country.name}".encode()) % len(others)]
        claim = SENTENCES[relation][0].format(**facts)
        return Request({"claim": claim}, {"true": right}, ("yes ." if right else "no .",), f"{relation} {country.name}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """True: the right one of yes and no."""
        right = "yes" if fields["true"] else "no"
        return one_word(words, {right}, {"yes", "no"}, known(world).is_word)


@instruction("refuse")
class Refuse:
    """Refuse a question without an answer in the world: i do not know."""

    phrasings = ("{question}", "{question} answer in a sentence .", "tell me , {question}", "can you say {question}")

    def draw(self, world: World, rng: Random) -> Request:
        """Draw a question that no table of the world answers."""
        lexicon = world.lexicon
        someone = rng.choice([*lexicon.names, *(f"the {noun.singular}" for noun in lexicon.nouns.values())])
        question = rng.choice(UNKNOWN).format(someone)
        return Request({"question": question}, {}, (f"{' '.join(REFUSAL)} .",), question)

    def judge(self, world: World, _fields: Fields, words: Words) -> Judgement:
        """True and in form: only a refusal. Other answers can still be grammatical."""
        refused = float(bare(words) == REFUSAL)
        about = known(world)
        grammatical = bool(refused or stated(world, words) or one_word(words, set(), set(), about.is_word).grammatical)
        return Judgement(float(grammatical), refused, refused, length(words, len(REFUSAL)))


@instruction("country", unseen=True)
class CountryOf:
    """A reversed fact: which country has the capital tokyo?"""

    phrasings = (
        "which country has the {relation} {word} ? answer in one word .",
        "in one word , which country has the {relation} {word} ?",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A capital or a currency."""
        country, relation = draw_country(world, rng), rng.choice(RELATIONS[:2])
        word = getattr(country, relation)
        right = [one.name for one in world.lexicon.countries.values() if getattr(one, relation) == word]
        slots = {"relation": relation, "word": word}
        return Request(slots, dict(slots), tuple(f"{name} ." for name in right), f"{relation} {word}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """True: a country that has it; several may share a currency."""
        found = world.lexicon.countries.values()
        right = {country.name for country in found if getattr(country, fields["relation"]) == fields["word"]}
        about = known(world)
        return one_word(words, right, about.countries["name"], about.is_word)
