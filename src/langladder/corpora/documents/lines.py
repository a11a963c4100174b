"""The kinds of line, and the lines that are not about a single person.

The memory determines which kinds of line are possible, and the subject tilts their weights. Some lines begin with a
connective, which keeps or changes the mood of the document.
"""

from collections.abc import Sequence
from functools import cache

from langladder.corpora.documents.cast import MEMORABLE, recent, remembering, value_symbol
from langladder.corpora.documents.grammar import Grammar, Rule, Symbol
from langladder.corpora.documents.language import Language, line_tilt, wording
from langladder.corpora.documents.memory import FACTS, MOST_OF_A_SEX, UNKNOWN, Memory

LINE: Symbol = ("Line",)

MEETING = (8.0, 0.9, 0.35, 0.15)  # weight of a new person by the number of people
OPENED = ("Event", "Pet", "Feeling", "Opinion", "WeatherLine")  # kinds of line that may begin with a connective
KEEPS = (("then", "poste", 0.4), ("so", "do", 0.2), ("after that ,", "post tio ,", 0.2), ("later ,", "poste ,", 0.2))
TURNS = (("but", "sed", 0.4), ("suddenly ,", "subite ,", 0.35), ("however ,", "tamen ,", 0.25))
TIMES = (("yesterday", "hieraŭ", 0.5), ("last week", "pasintsemajne", 0.3), ("in the evening", "vespere", 0.2))
ORDINALS = (("first", "unue"), ("second", "due"), ("third", "trie"))
QUESTIONS = {
    # fact → question; a short answer, with a gap for the value
    "job": ("what does {who} do ?", "kion faras {who} ?", "{value} .", "{value} ."),
    "home": ("where does {who} live ?", "kie loĝas {who} ?", "in {value} .", "en {value} ."),
    "likes": ("what does {who} like ?", "kion ŝatas {who} ?", "{value} .", "{value} ."),
    "fears": ("what does {who} fear ?", "kion timas {who} ?", "{value} .", "{value} ."),
    "drinks": ("what does {who} drink ?", "kion trinkas {who} ?", "{value} .", "{value} ."),
    "plays": ("what does {who} play ?", "kion ludas {who} ?", "{value} .", "{value} ."),
    "wears": ("what does {who} wear ?", "kion portas {who} ?", "{value} .", "{value} ."),
    "place": ("where is {who} ?", "kie estas {who} ?", "in {value} .", "en {value} ."),
}
ASKABLE = tuple(fact for fact in FACTS if fact != "place")  # weight for a person whose fact is not known


def line_grammar(here: Language, memory: Memory) -> Grammar:
    """The grammar of the next line."""

    def expand(symbol: Symbol) -> Sequence[Rule] | None:
        rules = MEMORABLE.get(str(symbol[0]))
        return None if rules is None else rules(here, memory, *symbol[1:])

    return Grammar(expand, here.grammar)


# ---- lines -------------------------------------------------------------------------------------------------------


def _weights(memory: Memory) -> dict[str, float]:
    """Kind of line → its weight, before the subject tilts it; only the kinds that the memory allows."""
    if memory.listing[0]:
        return {"Item": 1.0}
    people = len(memory.people)
    kinds = {
        "Country": 0.4,
        "WeatherLine": 0.25,
        "Creatures": 0.3,
        "Workers": 0.2,
        "Couple": 0.12,
        "Compare": 0.25,
        "Meal": 0.25,
        "Opinion": 2.2,
    }
    if people < 2 * MOST_OF_A_SEX:
        kinds["Meeting"] = MEETING[people]
    if people:
        kinds |= {"Fact": 3.4, "Event": 3.6, "Feeling": 1.8, "ListOpening": 0.25}
        kinds["Saying"] = 0.4 if memory.saying is None else 1.5
        if memory.question is None:
            kinds["Question"] = 0.9
        if memory.pet is None:
            kinds["NewPet"] = 0.35
    if memory.pet is not None:
        kinds["Pet"] = 0.7
    if people > 1:
        kinds["Kin"] = 0.5
    if memory.question is not None:
        kinds["Answer"] = 9.0
    return kinds


@remembering
def line(_here: Language, memory: Memory) -> list[Rule]:
    """Line → one of the kinds, with its full stop."""
    rules = []
    for kind, weight in _weights(memory).items():
        body: Symbol = ("Opened", kind) if kind in OPENED else (kind,)
        if kind in ("Question", "Answer"):  # which end with their own punctuation
            rules.append(Rule(weight, (body,), (0,), line_tilt(kind)))
        else:
            rules.append(Rule(weight, (body, "."), (0, "."), line_tilt(kind)))
    return rules


@remembering
def opened(_here: Language, _memory: Memory, kind: str) -> list[Rule]:
    """Opened → line | then line | yesterday line | but line; the last one changes the mood."""
    return _opened(kind)


@cache
def _opened(kind: str) -> list[Rule]:
    rest: Symbol = (kind,)
    rules = [Rule(0.7, (rest,), (0,))]
    for share, words in ((0.18, KEEPS), (0.06, TIMES), (0.06, TURNS)):
        if words is TIMES and kind == "WeatherLine":
            continue
        rules += [
            wording(share * part, f"{english} {{rest}}", f"{esperanto} {{rest}}", rest=rest, turns=words is TURNS)
            for english, esperanto, part in words
        ]
    return rules


# ---- the world -----------------------------------------------------------------------------------------------------


@remembering
def opinion(_here: Language, memory: Memory) -> list[Rule]:
    """Opinion → the knife was terrible | anna saw a film and found it wonderful | the soup is not bad."""
    judged: Symbol = ("JudgedSo",)
    rules = [
        wording(0.5, "{thing} is {judged}", "{thing} estas {judged}", thing=("Relished",), judged=judged),
        wording(0.3, "everything was {judged}", "ĉio estis {judged}", judged=judged),
    ]
    if memory.held is not None:
        thing: Symbol = ("TheThing", memory.people[memory.held].holds, "")
        effects = (("hold", memory.held, "{thing}"),)
        rules.append(
            wording(
                0.8,
                "{thing} was {judged}",
                "{thing} estis {judged}",
                thing=thing,
                judged=judged,
                effects=effects,
            )
        )
    for person, weight in recent(memory):
        english, esperanto = "{who} saw {work} and found it {judged}", "{who} vidis {work} kaj trovis ĝin {judged}"
        rules.append(wording(0.4 * weight, english, esperanto, who=("Who", person), work=("AWork",), judged=judged))
    return rules


@remembering
def country(_here: Language, memory: Memory) -> list[Rule]:
    """Country → a fact about the document's country, or about another country, which becomes the document's country."""
    # a reader who does not know the second country still knows that it is not the first
    fact = "OtherCountry" if memory.country == UNKNOWN and memory.countries == 2 else "CountryFact"
    same = wording(1.0, "{fact}", "{fact}", fact=(fact, memory.country), effects=(("speak_of", "{fact}"),))
    if memory.countries != 1:
        return [same]
    other = wording(
        0.15, "{fact}", "{fact}", fact=("OtherCountry", memory.country), effects=(("change_country", "{fact}"),)
    )
    return [same, other]


@remembering
def weather_line(_here: Language, memory: Memory) -> list[Rule]:
    """WeatherLine → it is (still) raining | it is raining in the garden | the weather is wonderful."""
    known = memory.weather
    effects = (("forecast", "{weather}"),)
    judged = wording(0.4, "the weather was {judged}", "la vetero estis {judged}", judged=("JudgedSo",))
    new: Symbol = ("Weather", "", 0)
    there = wording(
        0.3,
        "{weather} over {place}",
        "{weather} super {place}",
        weather=new,
        place=("Spot", ""),
        effects=effects,
    )
    if not known:
        return [wording(0.6, "{weather}", "{weather}", weather=new, effects=effects), there, judged]
    again: Symbol = ("Weather", known, 1)
    return [wording(0.7, "{weather}", "{weather}", weather=again, effects=effects), there, judged]


MEMORABLE["Creatures"] = lambda _here, _memory: [Rule(1.0, (("General", "animal"),), (0,))]
MEMORABLE["Workers"] = lambda _here, _memory: [Rule(1.0, (("General", "person"),), (0,))]
MEMORABLE["Meal"] = lambda _here, _memory: [Rule(1.0, (("Recipe",),), (0,))]


# ---- questions, lists ----------------------------------------------------------------------------------------------


@remembering
def question(_here: Language, memory: Memory) -> list[Rule]:
    """Question → where does anna live ? The fact can be known or not."""
    rules = []
    for person, weight in recent(memory):
        known = memory.people[person].facts
        for about, (english, esperanto, *_) in QUESTIONS.items():
            if about in known or about in ASKABLE:
                share = weight * (1.0 if about in known else 0.15)
                rules.append(wording(share, english, esperanto, who=("Who", person), effects=(("ask", person, about),)))
    return rules


@remembering
def answer(_here: Language, memory: Memory) -> list[Rule]:
    """Answer → in lisbon. | she lives in lisbon."""
    assert memory.question is not None
    person, about = memory.question.person, memory.question.fact
    known = memory.people[person].facts.get(about, "")
    _, _, english, esperanto = QUESTIONS[about]
    short = wording(
        0.6,
        english,
        esperanto,
        value=value_symbol(about, known),
        effects=(
            ("fact", person, about, "{value}"),
            ("mention", person),
            ("answer",),
        ),
    )
    whole: Symbol = ("Stated", person, about)
    return [short, wording(0.4, "{whole} .", "{whole} .", whole=whole, effects=(("answer",),))]


@remembering
def list_opening(_here: Language, _memory: Memory) -> list[Rule]:
    """ListOpening → three things happened; one line for each follows."""
    return [
        wording(share, f"{number} things happened", f"{nombro} aferoj okazis", effects=(("begin_list", count),))
        for number, nombro, count, share in (("two", "du", 2, 0.5), ("three", "tri", 3, 0.5))
    ]


@remembering
def item(_here: Language, memory: Memory) -> list[Rule]:
    """Item → first , anna went to the garden."""
    left, items = memory.listing
    english, esperanto = ORDINALS[items - left]
    rest: Symbol = ("Event",)
    return [wording(1.0, f"{english} , {{rest}}", f"{esperanto} , {{rest}}", rest=rest, effects=(("next_item",),))]
