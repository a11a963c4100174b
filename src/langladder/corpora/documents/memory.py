"""What a document's reader remembers: a cast, what was said of it, and what is still open.

The memory is a function of the sentences so far: `Memory.after` applies the effects of a sentence's one derivation.
What it holds comes in two sorts. The *structure* (how many people, their sex, which facts are known, who was mentioned
when, which question is open) decides which kinds of line are possible and how likely each is. The *values* (names,
towns, things) only decide which words stand where. No probability of the structure depends on a value: given the
structure and the subject, each value has the distribution that it was drawn from. `forgotten` uses this: it keeps the
structure and forgets the values, as for someone who did not read the sentences.
"""

from dataclasses import dataclass, field, replace
from typing import Self

from langladder.corpora.documents.grammar import Effect, Node

UNKNOWN = "?"
"""A value that was said, but that the reader does not know."""
MOST_OF_A_SEX = 2
FACTS = ("job", "home", "likes", "fears", "drinks", "plays", "wears", "place")


@dataclass(frozen=True)
class Person:
    """One of the cast. sex: "m" or "f". facts: which → value. holds: a thing, "" for none. last: line of mention."""

    sex: str
    name: str
    last: int
    facts: dict[str, str] = field(default_factory=dict)
    holds: str = ""


@dataclass(frozen=True)
class Pet:
    """The animal of the cast."""

    owner: int
    noun: str
    name: str
    last: int


@dataclass(frozen=True)
class Question:
    """A question that is not answered yet: about a fact of a person."""

    person: int
    fact: str


@dataclass(frozen=True)
class Memory:
    """What was said so far.

    Attributes:
        line: how many lines there were.
        people: in the order in which they were introduced; at most two of a sex.
        kin: (person, other) → what the first is to the second; first < second.
        he, she: the man and the woman who were mentioned last: whom the pronouns mean.
        described: the person whose job was said last, whom "the farmer" means.
        held: the person whose thing was mentioned last, which "the knife" means.
        country: that the document speaks of; countries: how many there were (at most two, the second stays).
        weather, saying: the weather; the words that people repeat, in both languages.
        question: that is open. listing: how many items of a list are still to come, and of how many.
    """

    line: int = 0
    people: tuple[Person, ...] = ()
    kin: dict[tuple[int, int], str] = field(default_factory=dict)
    pet: Pet | None = None
    he: int | None = None
    she: int | None = None
    described: int | None = None
    held: int | None = None
    country: str = ""
    countries: int = 0
    weather: str = ""
    saying: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    question: Question | None = None
    listing: tuple[int, int] = (0, 0)

    def after(self, sentence: Node) -> "Memory":
        """The memory once a sentence was read."""
        memory = self
        for node in sentence.nodes():
            for effect in node.rule.effects:
                memory = memory._apply(effect, node)
        return replace(memory, line=memory.line + 1)

    def _apply(self, effect: Effect, node: Node) -> "Memory":
        if effect.name == "say":
            child = node.children[effect.children[0]]
            return replace(self, saying=(tuple(child.source()), tuple(child.target())))
        values = [node.children[child].value() for child in effect.children]
        return getattr(self, effect.name)(*effect.arguments, *values)  # type: ignore[no-any-return]

    def forgotten(self) -> Self:
        """The structure without the values."""
        people = tuple(
            replace(
                person,
                name=UNKNOWN,
                facts=dict.fromkeys(sorted(person.facts), UNKNOWN),
                holds=UNKNOWN if person.holds else "",
            )
            for person in self.people
        )
        return replace(
            self,
            people=people,
            kin=dict.fromkeys(sorted(self.kin), UNKNOWN),
            pet=replace(self.pet, noun=UNKNOWN, name=UNKNOWN) if self.pet else None,
            country=UNKNOWN if self.country else "",
            weather=UNKNOWN if self.weather else "",
            saying=((UNKNOWN,), (UNKNOWN,)) if self.saying else None,
        )

    # -- questions about the structure -----------------------------------------------------------------------

    def by_pronoun(self, person: int) -> bool:
        """Whether he or she means this person."""
        return person in (self.he, self.she)

    def age(self, person: int) -> int:
        """How many lines ago a person was mentioned: 1 for the line before."""
        return self.line - self.people[person].last

    def of_sex(self, sex: str) -> list[int]:
        """The people of a sex, in order."""
        return [number for number, person in enumerate(self.people) if person.sex == sex]

    # -- effects ---------------------------------------------------------------------------------------------

    def meet(self, sex: str, name: str) -> "Memory":
        """A new person."""
        person = Person(sex, name, self.line)
        return replace(self, people=(*self.people, person)).mention(len(self.people))

    def mention(self, person: int, name: str = "") -> "Memory":
        """Someone is mentioned, perhaps by name."""
        memory = self._person(person, last=self.line, **({"name": name} if name else {}))
        if self.people[person].sex == "m":
            return replace(memory, he=person)
        return replace(memory, she=person)

    def fact(self, person: int, fact: str, value: str) -> "Memory":
        """Something is said of a person."""
        memory = self._person(person, facts=self.people[person].facts | {fact: value})
        return replace(memory, described=person) if fact == "job" else memory

    def relate(self, person: int, other: int, relation: str) -> "Memory":
        """A person is the relation of another; relations are stored from the first to the second."""
        return replace(self, kin=self.kin | {(person, other): relation})

    def keep_pet(self, owner: int, noun: str, name: str) -> "Memory":
        """A person has a pet."""
        return replace(self, pet=Pet(owner, noun, name, self.line))

    def mention_pet(self, part: str = "", value: str = "") -> "Memory":
        """The pet is mentioned; by its name or noun, which is then known."""
        assert self.pet is not None
        pet = replace(self.pet, last=self.line)
        if part:
            pet = replace(pet, **{part: value})  # type: ignore[arg-type]
        return replace(self, pet=pet)

    def hold(self, person: int, thing: str) -> "Memory":
        """A person has a thing in hand."""
        return replace(self._person(person, holds=thing), held=person)

    def drop(self, person: int) -> "Memory":
        """The thing is gone."""
        return replace(self._person(person, holds=""), held=None if self.held == person else self.held)

    def pass_on(self, person: int, other: int, thing: str) -> "Memory":
        """A thing changes hands."""
        return self.drop(person).hold(other, thing)

    def speak_of(self, country: str) -> "Memory":
        """The country of the document is known, or known again."""
        return replace(self, country=country, countries=max(self.countries, 1))

    def change_country(self, country: str) -> "Memory":
        """Another country takes its place."""
        return replace(self, country=country, countries=2)

    def forecast(self, weather: str) -> "Memory":
        """The weather is so."""
        return replace(self, weather=weather)

    def ask(self, person: int, fact: str) -> "Memory":
        """A question is open."""
        return replace(self, question=Question(person, fact))

    def answer(self) -> "Memory":
        """It is answered."""
        return replace(self, question=None)

    def begin_list(self, items: int) -> "Memory":
        """A list of so many lines follows."""
        return replace(self, listing=(items, items))

    def next_item(self) -> "Memory":
        """One of them is here."""
        left, items = self.listing
        return replace(self, listing=(left - 1, items if left > 1 else 0))

    def _person(self, number: int, **changes: object) -> "Memory":
        people = list(self.people)
        people[number] = replace(people[number], **changes)  # type: ignore[arg-type]
        return replace(self, people=tuple(people))
