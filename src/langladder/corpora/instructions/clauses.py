"""Instructions about whole sentences: change to past tense, correct the agreement, complete, write a sentence."""

from random import Random
from typing import NamedTuple

from langladder.corpora.instructions.kinds import Fields, Judgement, Request, Words, instruction, known, length
from langladder.corpora.lexicon import Verb
from langladder.corpora.rules.clauses import forms
from langladder.corpora.world import PLURAL, World, draw, favour

OTHER = {"s": "p", "p": "s"}
SHORT = 8  # maximum words of a sentence in an instruction
FINISHED = 12  # maximum words of a completed sentence
TRIES = 200
NUMBERS = ("four", "five", "six", "seven", "eight")
AT_MOST = dict(zip(NUMBERS, range(4, 9), strict=True))


class Clause(NamedTuple):
    """The parts of a sentence: a subject with its number, a verb, and the rest."""

    subject: Words
    number: str
    verb: Verb
    rest: Words

    def sentence(self, tense: str, number: str = "") -> str:
        """The sentence in a tense; number: of the verb, if it should not agree with the subject."""
        verb, _, _ = forms(self.verb, number or self.number, tense)
        return " ".join((*self.subject, *verb, *self.rest, "."))


def draw_clause(world: World, rng: Random, key: str = "", most: int = SHORT) -> Clause:
    """A clause of the grammar without a relative clause, of at most `most` words; key: its subject (drawn if "")."""
    for _ in range(TRIES):
        subject = key or _subject(world, rng)
        number = "p" if subject in world.lexicon.nouns and rng.random() < PLURAL else "s"
        if number == "p" and len(set(known(world).noun_forms[world.lexicon.nouns[subject].plural])) > 1:
            number = "s"
        phrase = tuple(world.grammar.sample(rng, ("NP", subject, number, "", 0, "")).tree.source())
        verb = draw(world.verbs(world.beings[subject]), rng)
        deed = world.grammar.sample(rng, ("Deed", verb.base, subject, number, "present")).tree
        rest = tuple(word for child in deed.children[1:] for word in child.source())
        if "that" not in rest and len(phrase) + 1 + len(rest) <= most:
            break
    return Clause(phrase, number, verb, rest)


def _subject(world: World, rng: Random) -> str:
    """Draw an animal, a person or a name whose singular and plural differ."""
    if rng.random() < 0.25:
        return draw(world.names(), rng)
    nouns = [(noun.singular, weight) for noun, weight in favour(world.nouns(("animal", "person")))]
    return draw([(key, weight) for key, weight in nouns if world.lexicon.nouns[key].plural != key], rng)


def _ends(words: Words) -> bool:
    """Whether the words end with one full stop, have no other, and are more than that."""
    return len(words) > 2 and words[-1] == "." and words.count(".") == 1


def exact_sentence(world: World, words: Words, right: Words, form: bool) -> Judgement:
    """The judgement of an answer that should be one specific sentence."""
    same = words == right
    grammatical = same or known(world).sentence(words)
    return Judgement(float(grammatical), float(same), float(same or (form and _ends(words))), length(words, len(right)))


@instruction("past")
class Past:
    """A sentence in the past: anna saw the dog."""

    phrasings = (
        "put this into the past . {sentence}",
        "make it past tense . {sentence}",
        "say it in the past . {sentence}",
        "it happened yesterday , say so . {sentence}",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A sentence that is not in the past."""
        clause = draw_clause(world, rng)
        while clause.verb.past in (clause.verb.base, clause.verb.third):
            clause = draw_clause(world, rng)
        given = clause.sentence(rng.choice(("present", "present", "progressive", "future")))
        answer = clause.sentence("past")
        return Request({"sentence": given}, {"answer": answer}, (answer,), answer)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: one sentence, in the past."""
        past = not known(world).past_forms.isdisjoint(words)
        return exact_sentence(world, words, tuple(fields["answer"].split()), past)


@instruction("agreement")
class Agreement:
    """Correct the verb of a sentence: the dogs see the cat."""

    phrasings = (
        "correct the mistake . {sentence}",
        "one word is wrong , correct it . {sentence}",
        "say this without the mistake . {sentence}",
        "mend this sentence . {sentence}",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """Draw a sentence whose verb has the wrong number."""
        clause = draw_clause(world, rng)
        tense = rng.choice(("present", "progressive"))
        answer, wrong = clause.sentence(tense), clause.sentence(tense, OTHER[clause.number])
        return Request({"sentence": wrong}, {"answer": answer}, (answer,), answer)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: one sentence."""
        return exact_sentence(world, words, tuple(fields["answer"].split()), True)


@instruction("continue")
class Continue:
    """A sentence that begins with the given words."""

    phrasings = (
        "finish the sentence . {beginning}",
        "continue . {beginning}",
        "say a whole sentence that begins so . {beginning}",
        "how does this go on ? {beginning}",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """The first words of a sentence that the grammar draws."""
        while True:
            words = world.grammar.sample(rng, ("Action",)).tree.source()
            if 5 <= len(words) < FINISHED:
                break
        beginning = " ".join(words[: rng.randint(2, min(4, len(words) - 2))])
        return Request({"beginning": beginning}, {"beginning": beginning}, (f"{' '.join(words)} .",), beginning)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """True: it begins with these words, and the grammar can produce it, so it is possible in the world."""
        beginning = tuple(fields["beginning"].split())
        begins = words[: len(beginning)] == beginning
        grammatical = known(world).sentence(words)
        return Judgement(
            float(grammatical), float(grammatical and begins), float(begins and _ends(words)), length(words, FINISHED)
        )


@instruction("about")
class About:
    """Write a sentence about something, with a maximum number of words."""

    phrasings = (
        "say something about the {noun} in at most {number} words .",
        "in at most {number} words , say something about the {noun} .",
        "say a sentence with the word {noun} in at most {number} words .",
        "tell me something about the {noun} , no more than {number} words .",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """Draw a noun and the number of words."""
        number = rng.choice(NUMBERS)
        clause = draw_clause(world, rng)
        while not clause.subject[1:] or len(clause.sentence("present").split()) - 1 > AT_MOST[number]:
            clause = draw_clause(world, rng)
        noun = known(world).noun_forms[clause.subject[-1]][0][0].singular
        slots = {"noun": noun, "number": number}
        answer = clause.sentence(rng.choice(("present", "past")))
        return Request(slots, slots, (answer,), f"{noun} {number}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """True: a sentence of the grammar that holds the noun in either number."""
        noun = world.lexicon.nouns[fields["noun"]]
        mentions = not {noun.singular, noun.plural}.isdisjoint(words)
        grammatical = known(world).sentence(words)
        return Judgement(
            float(grammatical),
            float(grammatical and mentions),
            float(grammatical or (_ends(words) and mentions)),
            length(words, AT_MOST[fields["number"]]),
        )
