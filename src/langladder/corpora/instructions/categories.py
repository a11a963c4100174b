"""Instructions about classes: list three of one, find the odd one out, choose the class, judge a review."""

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
from langladder.corpora.lexicon import Noun, article
from langladder.corpora.reviews import NEUTRAL, label_review
from langladder.corpora.world import World

NUMBERS = {"two": 2, "three": 3}
ALL_OF_KIND = {"wild": "animal"}  # groups whose word applies to every noun of the kind: a dog is also an animal
REVIEW_WORDS = 12
VERDICTS = {True: "good", False: "bad"}


def members(world: World, group: str) -> list[Noun]:
    """The nouns to which a group's word applies."""
    return [noun for noun in world.lexicon.nouns.values() if noun.group == group or noun.kind == ALL_OF_KIND.get(group)]


def groups(world: World, least: int) -> list[str]:
    """The groups with at least this many nouns."""
    return [group for group in world.lexicon.classes if len(members(world, group)) >= least]


@instruction("list")
class List:
    """Two or three nouns of a class: apple , pear , banana."""

    phrasings = (
        "name {number} {group} .",
        "list {number} {group} .",
        "give me {number} {group} .",
        "which {group} are there ? say {number} .",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """Draw a class, and the number of nouns."""
        number = rng.choice(sorted(NUMBERS))
        group = rng.choice(groups(world, NUMBERS[number]))
        word = world.lexicon.classes[group].plural
        named = rng.sample([noun.singular for noun in members(world, group)], NUMBERS[number])
        fields = {"group": group, "number": number}
        return Request({"group": word, "number": number}, fields, (f"{' , '.join(named)} .",), f"list {number} {word}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """True: right nouns / max(requested number, nouns in the answer)."""
        number = NUMBERS[fields["number"]]
        named = listed(bare(words))
        forms = known(world).noun_forms
        nouns = [forms[word][0][0] for word in named if word in forms]
        if not named or len(nouns) < len(named):
            return Judgement(0.0, 0.0, 0.0, length(words, number + 1))
        right = {noun.singular for noun in members(world, fields["group"])} & {noun.singular for noun in nouns}
        form = len(named) == number and len(set(nouns)) == number
        true = len(right) / max(number, len(named))
        return Judgement(1.0, true, float(form), length(words, number + 1))


def listed(words: Words) -> list[str]:
    """The words of a list, "a , b and c"; [] if it is not a list."""
    parts = " ".join(words).replace(" , and ", " , ").replace(" and ", " , ").split(" , ")
    return parts if all(len(part.split()) == 1 and part[0].isalpha() for part in parts) else []


@instruction("odd_one_out")
class OddOneOut:
    """Find the one of four nouns that belongs to another kind."""

    phrasings = (
        "which word is the odd one ? {words} .",
        "one is not like the others . {words} .",
        "{words} . which one does not belong here ?",
        "find the odd one among {words} .",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """Three nouns of a class and one of another kind, in any order."""
        same = rng.sample(members(world, group := rng.choice(groups(world, 3))), 3)
        kind = world.lexicon.nouns[same[0].singular].kind
        others = [noun for noun in world.lexicon.nouns.values() if noun.kind != kind]
        odd = rng.choice(others).singular
        words = [odd, *(noun.singular for noun in same)]
        key = " ".join((group, *sorted(words)))
        rng.shuffle(words)
        return Request({"words": " , ".join(words)}, {"words": words, "odd": odd}, (f"{odd} .",), key)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: one of the four."""
        return one_word(words, {fields["odd"]}, set(fields["words"]), known(world).is_word)


@instruction("choose_class", unseen=True)
class ChooseClass:
    """Choose the class of a noun from two: fruit."""

    phrasings = ("is {noun} {one} or {other} ?", "what is {noun} , {one} or {other} ?")

    def draw(self, world: World, rng: Random) -> Request:
        """A noun, its class and one of another kind."""
        classes = world.lexicon.classes
        noun = rng.choice(list(world.lexicon.nouns.values()))
        kinds = {one.group: one.kind for one in world.lexicon.nouns.values()}
        right = classes[noun.group].singular
        wrong = classes[rng.choice([group for group, kind in kinds.items() if kind != noun.kind])].singular
        two = rng.sample([right, wrong], 2)
        words = (noun.singular, *two)
        slots = dict(zip(("noun", "one", "other"), (f"{article(word)} {word}" for word in words), strict=True))
        return Request(slots, {"right": right, "of": two}, (f"{right} .",), f"{noun.singular} {wrong}")

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: one of the two, with its article or without."""
        said = words[1:] if words[0] in ("a", "an") and words[1:] and words[0] == article(words[1]) else words
        return one_word(said, {fields["right"]}, set(fields["of"]), known(world).is_word)


@instruction("classify")
class Classify:
    """Whether a review is good or bad."""

    phrasings = (
        "is this review good or bad ? {review}",
        "good or bad ? {review}",
        "{review} is that good or bad ?",
        "{review} say good or bad .",
    )

    def draw(self, world: World, rng: Random) -> Request:
        """A review that is good or bad as a whole."""
        while True:
            tree = world.grammar.sample(rng, ("Review",)).tree
            review = " ".join((*tree.source(), "."))
            label = label_review(world, tree).label
            if label != NEUTRAL and len(review.split()) <= REVIEW_WORDS:
                break
        verdict = VERDICTS[label > NEUTRAL]
        return Request({"review": review}, {"verdict": verdict}, (f"{verdict} .",), review)

    def judge(self, world: World, fields: Fields, words: Words) -> Judgement:
        """In form: good or bad."""
        return one_word(words, {fields["verdict"]}, set(VERDICTS.values()), known(world).is_word)
