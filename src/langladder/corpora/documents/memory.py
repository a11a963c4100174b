"""A reader's memory of a document: the people, what was said about them, and open questions and lists.

The memory is a function of the sentences so far: `Memory.after` applies the effects of a sentence's one derivation. It
has two kinds of content. The *structure* (how many people, their sex, which facts are known, who was mentioned when,
which question is open) determines which kinds of line are possible and their probabilities. The *values* (names, towns,
things) only determine words. No probability of the structure depends on a value: given the structure and the subject,
each value has the distribution from which it was drawn. `forgotten` uses this: it keeps the structure and replaces the
values by unknown ones, as for a reader who has not read the sentences.
"""

from dataclasses import dataclass, field, replace
from typing import Self

from langladder.corpora.documents.grammar import Effect, Node

UNKNOWN = "?"
"""A value that the text contains but the reader does not know."""
MOST_OF_A_SEX = 2
FACTS = ("job", "home", "likes", "fears", "drinks", "plays", "wears", "place")


@dataclass(frozen=True)
class Person:
    """A person. sex: "m" or "f". facts: kind of fact → value. holds: a thing, "" for none. last: line of the last
    mention."""

    sex: str
    name: str
    last: int
    facts: dict[str, str] = field(default_factory=dict)
    holds: str = ""


@dataclass(frozen=True)
class Pet:
    """The pet of a person."""

    owner: int
    noun: str
    name: str
    last: int


@dataclass(frozen=True)
class Question:
    """A question about a fact of a person that is not answered yet."""

    person: int
    fact: str


@dataclass(frozen=True)
class Memory:
    """What was said so far.

    Attributes:
        line: the number of lines so far.
        people: in the order in which they were introduced; at most two of a sex.
        kin: (person, other) → the first one's relation to the second; first < second.
        he, she: the man and the woman who were mentioned last; the pronouns refer to them.
        described: the person whose job was mentioned last; "the farmer" refers to this person.
        held: the person whose thing was mentioned last; "the knife" refers to this thing.
        country: the country of the document; countries: the number of countries so far (at most two; the second one
            stays).
        weather: the weather; saying: the words that people repeat, in both languages.
        question: the open question. listing: how many items of a list are still to come, and its length.
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
        """The memory after a sentence."""
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
        """The same structure with unknown values."""
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
        """Whether "he" or "she" refers to this person."""
        return person in (self.he, self.she)

    def age(self, person: int) -> int:
        """The number of lines since a person was mentioned: 1 for the previous line."""
        return self.line - self.people[person].last

    def of_sex(self, sex: str) -> list[int]:
        """The people of a sex, in order."""
        return [number for number, person in enumerate(self.people) if person.sex == sex]

    # -- effects ---------------------------------------------------------------------------------------------

    def meet(self, sex: str, name: str) -> "Memory":
        """Add a person."""
        person = Person(sex, name, self.line)
        return replace(self, people=(*self.people, person)).mention(len(self.people))

    def mention(self, person: int, name: str = "") -> "Memory":
        """Record that a person is mentioned, possibly by name."""
        memory = self._person(person, last=self.line, **({"name": name} if name else {}))
        if self.people[person].sex == "m":
            return replace(memory, he=person)
        return replace(memory, she=person)

    def fact(self, person: int, fact: str, value: str) -> "Memory":
        """Record a fact about a person."""
        memory = self._person(person, facts=self.people[person].facts | {fact: value})
        return replace(memory, described=person) if fact == "job" else memory

    def relate(self, person: int, other: int, relation: str) -> "Memory":
        """Record a person's relation to another; relations are stored from the first to the second."""
        return replace(self, kin=self.kin | {(person, other): relation})

    def keep_pet(self, owner: int, noun: str, name: str) -> "Memory":
        """Record that a person has a pet."""
        return replace(self, pet=Pet(owner, noun, name, self.line))

    def mention_pet(self, part: str = "", value: str = "") -> "Memory":
        """Record that the pet is mentioned, by its name or noun, which is then known."""
        assert self.pet is not None
        pet = replace(self.pet, last=self.line)
        if part:
            pet = replace(pet, **{part: value})  # type: ignore[arg-type]
        return replace(self, pet=pet)

    def hold(self, person: int, thing: str) -> "Memory":
        """Record that a person holds a thing."""
        return replace(self._person(person, holds=thing), held=person)

    def drop(self, person: int) -> "Memory":
        """Record that a person no longer holds a thing."""
        return replace(self._person(person, holds=""), held=None if self.held == person else self.held)

    def pass_on(self, person: int, other: int, thing: str) -> "Memory":
        """Record that a person gives a thing to another."""
        return self.drop(person).hold(other, thing)

    def speak_of(self, country: str) -> "Memory":
        """Record the country of the document."""
        return replace(self, country=country, countries=max(self.countries, 1))

    def change_country(self, country: str) -> "Memory":
        """Record that another country replaces the document's country."""
        return replace(self, country=country, countries=2)

    def forecast(self, weather: str) -> "Memory":
        """Record the weather."""
        return replace(self, weather=weather)

    def ask(self, person: int, fact: str) -> "Memory":
        """Record an open question."""
        return replace(self, question=Question(person, fact))

    def answer(self) -> "Memory":
        """Record that the open question is answered."""
        return replace(self, question=None)

    def begin_list(self, items: int) -> "Memory":
        """Record that a list of this many lines follows."""
        return replace(self, listing=(items, items))

    def next_item(self) -> "Memory":
        """Record one line of the list."""
        left, items = self.listing
        return replace(self, listing=(left - 1, items if left > 1 else 0))

    def _person(self, number: int, **changes: object) -> "Memory":
        people = list(self.people)
        people[number] = replace(people[number], **changes)  # type: ignore[arg-type]
        return replace(self, people=tuple(people))
