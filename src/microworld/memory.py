"""What a reader of a story knows of what was said: with subject and mood all that later words depend on."""

from dataclasses import dataclass, field
from inspect import signature

from microworld.notation import RuleError

SEXES = ("m", "f")
FACTS = ("name", "job", "town", "like")
UNKNOWN = "?"
"""The value of a fact that was said where a reader of only some lines did not see it."""


@dataclass(slots=True)
class Person:
    """A person of a story. A value is a word, `UNKNOWN`, or "": nothing was said.

    Attributes:
        last: the last line in which the person is named or meant.
    """

    name: str = ""
    job: str = ""
    town: str = ""
    like: str = ""
    last: int = 0


@dataclass(slots=True)
class Memory:
    """Of a story so far.

    Attributes:
        line: the number of the current line, from 0.
        people: sex → the person of that sex, at most one.
        lead: the sex of the first person; "": nobody yet.
        question: (sex, fact) that was asked in the line before, e.g. ("f", "town"); None: nothing was.
        saying: what "they say"; "": nothing yet.
        heard: words of this line that later ones of the line depend on: slot → row of the lexicon.
    """

    line: int = 0
    people: dict[str, Person] = field(default_factory=dict)
    lead: str = ""
    question: tuple[str, str] | None = None
    saying: str = ""
    heard: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "Memory":
        """An independent copy."""
        people = {
            sex: Person(person.name, person.job, person.town, person.like, person.last)
            for sex, person in self.people.items()
        }
        return Memory(self.line, people, self.lead, self.question, self.saying, dict(self.heard))

    def key(self) -> tuple[object, ...]:
        """Equal for equal memories; when somebody was mentioned last counts only back to the line before."""
        people = tuple(
            (sex, person.name, person.job, person.town, person.like, max(person.last, self.line - 2))
            for sex, person in sorted(self.people.items())
        )
        return self.line, people, self.lead, self.question, self.saying, tuple(sorted(self.heard.items()))

    def next_line(self) -> None:
        """A line has ended."""
        self.line += 1
        self.heard.clear()

    def value(self, slot: str, sex: str) -> str:
        """A fact: `name`, `job`, `town` or `like` of a person, or `saying`.

        Raises:
            RuleError: it was not said.
        """
        value: str = self.saying if not sex else getattr(self.people[sex], slot) if sex in self.people else ""
        if not value:
            raise RuleError(f"${'.'.join(filter(None, (slot, sex)))} was not said before")
        return value

    def learn(self, slot: str, sex: str, value: str) -> None:
        """Record a fact. The first fact about somebody introduces that person."""
        if not sex:
            self.saying = value
            return
        if sex not in self.people:
            self.people[sex] = Person(last=self.line)
            self.lead = self.lead or sex
        setattr(self.people[sex], slot, value)

    # ---- effects: what the rules write as !name.argument

    def mention(self, sex: str) -> None:
        """Somebody was named or meant.

        Raises:
            RuleError: nobody of that sex was introduced.
        """
        if sex not in self.people:
            raise RuleError(f"mention.{sex}: nobody of that sex was introduced before")
        self.people[sex].last = self.line

    def ask(self, sex: str, fact: str) -> None:
        """A question was asked."""
        self.question = (sex, fact)

    def answered(self) -> None:
        """It was answered."""
        self.question = None

    # ---- features: what the weights of the rules name

    def nobody(self) -> float:
        """1 if nobody was introduced."""
        return float(not self.people)

    def free(self) -> float:
        """1 if somebody was introduced and no question is open."""
        return float(bool(self.people) and self.question is None)

    def open_question(self, sex: str, fact: str) -> float:
        """1 if this question is open."""
        return float(self.question == (sex, fact))

    def met(self, sex: str) -> float:
        """1 if this person was introduced."""
        return float(sex in self.people)

    def new(self, sex: str) -> float:
        """1 if somebody was introduced, but not this person."""
        return float(bool(self.people) and sex not in self.people)

    def two(self) -> float:
        """1 if both were introduced."""
        return float(len(self.people) == 2)

    def leads(self, sex: str) -> float:
        """1 if this person was introduced first."""
        return float(self.lead == sex)

    def recent(self, sex: str) -> float:
        """0 if this person was not introduced; 2 if meant in the line before or in this one, else 1."""
        person = self.people.get(sex)
        return 0.0 if person is None else 1.0 + (person.last >= self.line - 1)

    def no_saying(self) -> float:
        """1 if "they" said nothing yet."""
        return float(not self.saying)

    def has_saying(self) -> float:
        """1 if they did."""
        return float(bool(self.saying))


EFFECTS = ("mention", "ask", "answered")
FEATURES = ("nobody", "free", "open_question", "met", "new", "two", "leads", "recent", "no_saying", "has_saying")


def parameters(name: str) -> list[tuple[str, ...]]:
    """What each argument of an effect or a feature may be."""
    allowed = {"sex": SEXES, "fact": FACTS}
    return [allowed[entry] for entry in list(signature(getattr(Memory, name)).parameters)[1:]]
