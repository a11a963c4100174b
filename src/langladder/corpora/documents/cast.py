"""The people of a document: how they are named, and what is said about them and their pet.

A line prefers people who were mentioned recently, and refers to them by name, pronoun or job. Known facts about them
are repeated unchanged (the memory determines their words); unknown facts are drawn. All rules are pairs of an English
and an Esperanto side.
"""

from collections.abc import Callable

from langladder.corpora.documents.grammar import Rule, Symbol
from langladder.corpora.documents.language import Language, line_tilt, wording
from langladder.corpora.documents.memory import FACTS, MOST_OF_A_SEX, UNKNOWN, Memory

PRONOUNS = {"m": ("he", "him", "li"), "f": ("she", "her", "ŝi")}
STATEMENTS: dict[str, tuple[tuple[float, str, str, str], ...]] = {
    # fact → (share, English, Esperanto, part of the country, or "after" an Esperanto preposition)
    "job": (
        (0.5, "{who} is {value}", "{who} estas {value}", ""),
        (0.3, "{who} works as {value}", "{who} laboras kiel {value}", ""),
        (0.2, "{who} has been {value} for years", "{who} estas {value} dum jaroj", ""),
    ),
    "home": (
        (0.4, "{who} lives in {value}", "{who} loĝas en {value}", "capital"),
        (0.15, "{who} has a house in {value}", "{who} havas domon en {value}", "capital"),
        (0.25, "{who} speaks {value}", "{who} parolas {value}", "language"),
        (0.2, "{who} lives in {value}", "{who} loĝas en {value}", "name"),
    ),
    "likes": (
        (0.6, "{who} likes {value}", "{who} ŝatas {value}", ""),
        (0.4, "{who} often dreams of {value}", "{who} ofte revas pri {value}", "after"),
    ),
    "fears": (
        (0.6, "{who} fears {value}", "{who} timas {value}", ""),
        (0.4, "{who} runs away from {value}", "{who} evitas {value}", ""),
    ),
    "drinks": (
        (0.6, "{who} drinks {value} every morning", "{who} trinkas {value} ĉiumatene", ""),
        (0.4, "{who} never drinks anything but {value}", "{who} trinkas nur {value}", ""),
    ),
    "plays": (
        (0.6, "{who} plays {value}", "{who} ludas {value}", ""),
        (0.4, "{who} is learning to play {value}", "{who} lernas ludi {value}", ""),
    ),
    "wears": (
        (0.6, "{who} always wears {value}", "{who} ĉiam portas {value}", ""),
        (0.4, "{who} never goes out without {value}", "{who} neniam eliras sen {value}", "after"),
    ),
    "place": (
        (0.6, "{who} is in {value}", "{who} estas en {value}", ""),
        (0.4, "{who} is still in {value}", "{who} ankoraŭ estas en {value}", ""),
    ),
}

MEMORABLE: dict[str, Callable[..., list[Rule]]] = {}


def remembering(function: Callable[..., list[Rule]]) -> Callable[..., list[Rule]]:
    """Register the rules of a nonterminal: function(language, memory, *features)."""
    MEMORABLE["".join(part.capitalize() for part in function.__name__.split("_"))] = function
    return function


# ---- who -----------------------------------------------------------------------------------------------------------


def recent(memory: Memory, but: int | None = None) -> list[tuple[int, float]]:
    """(person, weight): recently mentioned people have higher weights."""
    return [(i, 0.08 + 2.0 ** -memory.age(i)) for i in range(len(memory.people)) if i != but]


@remembering
def who(_here: Language, memory: Memory, person: int) -> list[Rule]:
    """Who → she | anna | the farmer."""
    return _mention(memory, person, 0, "")


@remembering
def whom(_here: Language, memory: Memory, person: int, case: str) -> list[Rule]:
    """Whom → her | anna | the farmer, as an object or after a preposition."""
    return _mention(memory, person, 1, case)


def _mention(memory: Memory, number: int, form: int, case: str) -> list[Rule]:
    person = memory.people[number]
    rules = []
    if memory.by_pronoun(number):
        weight = 1.6 if memory.age(number) == 1 else 0.6
        pronoun = PRONOUNS[person.sex]
        rules.append(wording(weight, pronoun[form], pronoun[2] + case, effects=(("mention", number),)))
    named: Symbol = ("Named", number)
    rules.append(wording(0.8, "{name}", "{name}", name=named, effects=(("mention", number, "{name}"),)))
    if memory.described == number:
        noun: Symbol = ("Job", person.facts["job"], 0)
        if not case:
            effects = (("mention", number), ("fact", number, "job", "{job}"))
            rules.append(wording(0.35, "the {job}", "la {job}", job=noun, effects=effects))
    return rules


@remembering
def named(here: Language, memory: Memory, number: int) -> list[Rule]:
    """Named → the name of a person."""
    person = memory.people[number]
    if here.one(person.name):
        return [Rule(1.0, (person.name,), (person.name,), value=person.name)]
    same = memory.of_sex(person.sex)
    other = next((memory.people[one].name for one in same if one != number), "")
    return [Rule(1.0, (("Name", person.sex, int(same[0] != number), other),), (0,))]


@remembering
def meeting(_here: Language, memory: Memory) -> list[Rule]:
    """Meeting → a new person, with one or two facts; of a sex that does not have the maximum number of people yet."""
    rules = []
    new = len(memory.people)
    for sex in "mf":
        before = memory.of_sex(sex)
        if len(before) == MOST_OF_A_SEX:
            continue
        name: Symbol = ("Name", sex, len(before), memory.people[before[0]].name if before else "")
        meet = ("meet", sex, "{name}")
        job, home = ("fact", new, "job", "{job}"), ("fact", new, "home", "{town}")
        work: Symbol = ("Job", "", 1)
        town: Symbol = ("Land", "", "capital")
        for share, english, esperanto in (
            (0.35, "{name} is {job} from {town}", "{name} estas {job} el {town}"),
            (0.2, "there is {job} called {name} in {town}", "estas {job} nomata {name} en {town}"),
        ):
            effects = (meet, job, home)
            rules.append(wording(share, english, esperanto, name=name, job=work, town=town, effects=effects))
        english, esperanto = "this is {name} , {job}", "jen {name} , {job}"
        rules.append(wording(0.25, english, esperanto, name=name, job=work, effects=(meet, job)))
        english, esperanto = "{name} comes from {town}", "{name} venas el {town}"
        rules.append(wording(0.2, english, esperanto, name=name, town=town, effects=(meet, home)))
        for person, weight in recent(memory):
            rules.append(
                wording(
                    0.5 * weight,
                    "{who} has {relative} called {name}",
                    "{who} havas {relative} nomatan {name}",
                    who=("Who", person),
                    relative=("RelativeWord", "", sex, memory.people[person].sex, "n", 0, 1),
                    name=name,
                    effects=(
                        meet,
                        ("relate", person, new, "{relative}"),
                    ),
                )
            )
    return rules


# ---- facts ---------------------------------------------------------------------------------------------------------


def value_symbol(fact: str, value: str, part: str = "capital") -> Symbol:
    """The nonterminal of the value of a fact."""
    if fact == "job":
        return ("Job", value, 1)
    if fact == "home":
        return ("Land", value, part)
    if fact == "place":
        return ("Spot", value)
    return ("Kind", fact, value, "" if part == "after" else "n")


def _sayable(memory: Memory, person: int) -> list[tuple[str, float]]:
    """(fact, weight) of the facts that can be stated about a person now. A known fact is repeated; any other is new."""
    question, facts = memory.question, memory.people[person].facts
    weights = []
    for fact in FACTS:
        if question is not None and (question.person, question.fact) == (person, fact):
            continue  # it would answer the open question
        if fact in facts:
            weights.append((fact, 1.0))
        elif fact != "place":
            weights.append((fact, 0.25))
    return weights


@remembering
def fact(_here: Language, memory: Memory) -> list[Rule]:
    """Fact → a fact of one of the people."""
    return [
        Rule(weight * share, (("Stated", person, about),), (0,), line_tilt(about))
        for person, weight in recent(memory)
        for about, share in _sayable(memory, person)
    ]


@remembering
def stated(_here: Language, memory: Memory, person: int, about: str) -> list[Rule]:
    """Stated → anna lives in lisbon | she speaks portuguese | …"""
    known = memory.people[person].facts.get(about, "")
    return [
        wording(
            share,
            english,
            esperanto,
            who=("Who", person),
            value=value_symbol(about, known, part),
            effects=(("fact", person, about, "{value}"),),
        )
        for share, english, esperanto, part in STATEMENTS[about]
    ]


@remembering
def kin(_here: Language, memory: Memory) -> list[Rule]:
    """Kin → anna is the sister of john."""
    rules = []
    for one, weight in recent(memory):
        for other, share in recent(memory, but=one):
            pair = (min(one, other), max(one, other))
            known = memory.kin.get(pair, "")
            sexes = (memory.people[one].sex, memory.people[other].sex)
            rules.append(
                wording(
                    weight * share * (1.5 if known else 0.5),
                    "{who} is the {relative} of {whom}",
                    "{who} estas la {relative} de {whom}",
                    who=("Who", one),
                    relative=("RelativeWord", known, *sexes, "", int(one < other), 0),
                    whom=("Whom", other, ""),
                    effects=(("relate", *pair, "{relative}"),),
                )
            )
    return rules


# ---- deeds ---------------------------------------------------------------------------------------------------------


@remembering
def event(_here: Language, memory: Memory) -> list[Rule]:
    """Event → what one of the people did, possibly while others did something."""
    meanwhile = "{deeds} while {others}", "{deeds} dum {others}"
    rules = []
    for person, weight in recent(memory):
        deeds: Symbol = ("Deeds", person)
        rules.append(Rule(0.75 * weight, (deeds,), (0,)))
        rules.append(wording(0.25 * weight, *meanwhile, deeds=deeds, others=("Others",)))
    return rules


@remembering
def deeds(_here: Language, memory: Memory, person: int) -> list[Rule]:
    """Deeds → anna found a knife | lost the knife | gave it to john | went to the garden | sang | greeted john."""
    who: Symbol = ("Who", person)
    me = memory.people[person]
    place: Symbol = ("Spot", me.facts.get("place", ""))
    placed = ("fact", person, "place", "{place}")
    rules = [
        wording(
            1.1,
            "{who} {went} to {place}",
            "{who} {went} al {place}",
            who=who,
            went=("Went",),
            place=("Spot", ""),
            effects=(placed,),
        ),
        wording(0.7, "{who} {rested}", "{who} {rested}", who=who, rested=("Rested", "person")),
        wording(
            0.5,
            f"{{who}} {{rested}} because {PRONOUNS[me.sex][0]} was {{felt}}",
            f"{{who}} {{rested}} ĉar {PRONOUNS[me.sex][2]} estis {{felt}}",
            who=who,
            rested=("Rested", "person"),
            felt=("Felt",),
        ),
        wording(
            0.6,
            "{who} {rested} in {place}",
            "{who} {rested} en {place}",
            who=who,
            rested=("Rested", "person"),
            place=place,
            effects=(placed,),
        ),
    ]
    return [*rules, *_with_thing(memory, person, who, place), *_to_others(memory, person, who)]


def _with_thing(memory: Memory, person: int, who: Symbol, place: Symbol) -> list[Rule]:
    """Deeds with a thing. A person who holds one: used or lost the knife; a person without: found a knife."""
    me = memory.people[person]
    if me.holds:
        return [
            wording(
                1.2,
                "{who} {handling}",
                "{who} {handling}",
                who=who,
                handling=("Handling", me.holds, 0),
                effects=(("hold", person, "{handling}"),),
            ),
            wording(
                0.6,
                "{who} {handling}",
                "{who} {handling}",
                who=who,
                handling=("Handling", me.holds, 1),
                effects=(("drop", person),),
            ),
        ]
    held, placed = ("hold", person, "{thing}"), ("fact", person, "place", "{place}")
    return [
        wording(
            1.0,
            "{who} {found} {thing}",
            "{who} {found} {thing}",
            who=who,
            found=("Acquired",),
            thing=("AThing",),
            effects=(held,),
        ),
        wording(
            0.6,
            "{who} {found} {thing} in {place}",
            "{who} {found} {thing} en {place}",
            who=who,
            found=("Acquired",),
            thing=("AThing",),
            place=place,
            effects=(held, placed),
        ),
    ]


def _to_others(memory: Memory, person: int, who: Symbol) -> list[Rule]:
    """greeted john | gave the knife to john."""
    me, rules = memory.people[person], []
    for other, weight in recent(memory, but=person):
        whom: Symbol = ("Whom", other, "n")
        share = weight / 2
        rules.append(
            wording(
                0.8 * share,
                "{who} {did} {whom}",
                "{who} {did} {whom}",
                who=who,
                did=("DidTo", "person", "person"),
                whom=whom,
            )
        )
        if me.holds and not memory.people[other].holds:
            rules.append(
                wording(
                    0.7 * share,
                    "{who} gave {thing} to {whom}",
                    "{who} donis {thing} al {whom}",
                    who=who,
                    thing=("TheThing", me.holds, "n"),
                    whom=("Whom", other, ""),
                    effects=(("pass_on", person, other, "{thing}"),),
                )
            )
    return rules


@remembering
def feeling(_here: Language, memory: Memory) -> list[Rule]:
    """Feeling → anna was happy | anna was happy and proud."""
    both = "{who} was {felt} and {too}", "{who} estis {felt} kaj {too}"
    rules = []
    for person, weight in recent(memory):
        who: Symbol = ("Who", person)
        rules.append(wording(0.6 * weight, "{who} was {felt}", "{who} estis {felt}", who=who, felt=("Felt",)))
        rules.append(wording(0.4 * weight, *both, who=who, felt=("Felt",), too=("Felt",)))
    return rules


@remembering
def saying(_here: Language, memory: Memory) -> list[Rule]:
    """Saying → anna says that the dog is bigger than the cat. Later sayings repeat it word for word."""
    rest: Symbol = ("Compare",) if memory.saying is None else ("Repeated",)
    again = "" if memory.saying is None else " again"
    denove = "" if memory.saying is None else " denove"
    return [
        wording(
            weight,
            f"{{who}} says{again} that {{rest}}",
            f"{{who}} diras{denove} , ke {{rest}}",
            who=("Who", person),
            rest=rest,
            effects=(("say", "{rest}"),),
        )
        for person, weight in recent(memory)
    ]


@remembering
def repeated(_here: Language, memory: Memory) -> list[Rule]:
    """Repeated → the words of the saying."""
    assert memory.saying is not None
    if memory.saying[0] == (UNKNOWN,):
        return [Rule(1.0, (("Compare",),), (0,))]
    return [Rule(1.0, *memory.saying)]


# ---- the pet -------------------------------------------------------------------------------------------------------


@remembering
def new_pet(_here: Language, memory: Memory) -> list[Rule]:
    """NewPet → anna has a dog called rex."""
    return [
        wording(
            weight,
            "{who} has {noun} called {name}",
            "{who} havas {noun} nomatan {name}",
            who=("Who", person),
            noun=("PetNoun", "", "n", 1),
            name=("PetName", ""),
            effects=(("keep_pet", person, "{noun}", "{name}"),),
        )
        for person, weight in recent(memory)
    ]


@remembering
def pet(_here: Language, memory: Memory) -> list[Rule]:
    """Pet → the dog barked | rex followed anna | anna fed the dog | the dog of anna is called rex."""
    assert memory.pet is not None
    animal: Symbol = ("ThePet",)
    owner = memory.pet.owner
    place: Symbol = ("Spot", "")
    rules = [
        wording(1.0, "{pet} {rested}", "{pet} {rested}", pet=animal, rested=("Rested", "animal")),
        wording(0.5, "{pet} {went} to {place}", "{pet} {went} al {place}", pet=animal, went=("Went",), place=place),
        wording(
            0.4,
            "the {noun} of {who} is called {name}",
            "la {noun} de {who} nomiĝas {name}",
            noun=("PetNoun", memory.pet.noun, "", 0),
            who=("Whom", owner, ""),
            name=("PetName", memory.pet.name),
            effects=(("keep_pet", owner, "{noun}", "{name}"),),
        ),
    ]
    for person, weight in recent(memory):
        rules += [
            wording(
                0.4 * weight,
                "{pet} {did} {whom}",
                "{pet} {did} {whom}",
                pet=animal,
                did=("DidTo", "animal", "person"),
                whom=("Whom", person, "n"),
            ),
            wording(
                0.5 * weight,
                "{who} {did} the {noun}",
                "{who} {did} la {noun}",
                who=("Who", person),
                did=("DidTo", "person", "animal"),
                noun=("PetNoun", memory.pet.noun, "n", 0),
                effects=(("mention_pet", "noun", "{noun}"),),
            ),
        ]
    return rules


@remembering
def the_pet(_here: Language, memory: Memory) -> list[Rule]:
    """ThePet → rex | the dog | it, in the line after it was mentioned."""
    assert memory.pet is not None
    rules = [
        wording(
            0.5, "{name}", "{name}", name=("PetName", memory.pet.name), effects=(("mention_pet", "name", "{name}"),)
        ),
        wording(
            0.5,
            "the {noun}",
            "la {noun}",
            noun=("PetNoun", memory.pet.noun, "", 0),
            effects=(("mention_pet", "noun", "{noun}"),),
        ),
    ]
    if memory.line - memory.pet.last == 1:
        rules.append(wording(1.0, "it", "ĝi", effects=(("mention_pet",),)))
    return rules
