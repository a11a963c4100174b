"""Sentences of microworld and their parts: noun phrases, verb phrases, clauses.

Noun phrases: determiners, adjectives and relative clauses, with number, case and possessor.

Features. number: "s" or "p". case: "" or "n" (accusative; not visible in English). depth: the number of further nested
relative clauses. owner: "m", "f" or "p" if the clause's subject can own the thing (his, her, their), else "".

Verb phrases: tense, number, negation, objects, goals, recipients, tools, places and adverbs of manner.

Features. tense: present, past, progressive or future. key and number: those of the subject, with which the verb agrees.

Plain clauses and their openings: a time adverb at the start determines the tense of a verb much later.

The kinds of sentence and their shares.
"""

from langladder.corpora.grammar import Rule, Symbol
from langladder.corpora.lexicon import Noun, Verb, article, esperanto_adjective, esperanto_noun
from langladder.corpora.world import DIRECT, Being, World, favour, numbered, production, zipf

# ---- noun phrases


RELATIVE = {True: 0.22, False: 0.4}  # share of noun phrases with a relative clause: outermost, nested
DEPTH = 4
ADJECTIVE = 0.42
OWNED = 0.4
POSSESSIVES = {"m": "his", "f": "her", "p": "their"}
PRONOUNS = {"he": "li", "she": "ŝi", "they": "ili", "it": "ĝi"}
DETERMINERS: dict[str, list[tuple[str, str, float]]] = {
    # English, Esperanto (ending in a: agrees like an adjective; in u: takes j and n like a correlative), weight
    "s": [("the", "la", 6.0), ("this", "ĉi tiu", 0.8), ("every", "ĉiu", 0.4), ("my", "mia", 0.7), ("our", "nia", 0.4)],
    "p": [
        *(("the", "la", 5.0), ("these", "ĉi tiu", 0.7), ("some", "kelka", 0.8), ("many", "multa", 0.5)),
        *(("two", "du", 0.5), ("three", "tri", 0.3), ("my", "mia", 0.6), ("our", "nia", 0.4)),
    ],
}
INDEFINITE = 1.6  # weight of a/an, relative to the singular determiners


@production("NP")
def noun_phrase(world: World, key: str, number: str, case: str, depth: int, owner: str) -> list[Rule]:
    """NP → name | pronoun | Core | Core "that" Relative."""
    if key in PRONOUNS:
        return [Rule(1.0, (key,), (PRONOUNS[key],))]
    if key in world.lexicon.names:
        return [Rule(1.0, (key,), (key,))]
    core = ("Core", key, number, case, owner)
    anchors = (world.lexicon.nouns[key].form(number),)
    if depth == 0:
        return [Rule(1.0, (core,), (0,), anchors)]
    relative = RELATIVE[depth == DEPTH]
    clause = ("Relative", key, number, depth)
    return [Rule(1.0 - relative, (core,), (0,), anchors), Rule(relative, (core, clause), (0, 1), anchors)]


@production("Core")
def core(_world: World, key: str, number: str, case: str, owner: str) -> list[Rule]:
    """Core → determiner Nominal | Indefinite."""
    nominal = ("Nominal", key, number, case)
    plain = 1.0 - OWNED if owner else 1.0
    rules = []
    determiners = DETERMINERS[number]
    total = sum(weight for *_, weight in determiners) + (INDEFINITE if number == "s" else 0.0)
    for english, esperanto, weight in determiners:
        rules.append(Rule(plain * weight / total, (english, nominal), (*_agree(esperanto, number, case), 0)))
    if number == "s":
        rules.append(Rule(plain * INDEFINITE / total, (("Indefinite", key, case),), (0,)))
    if owner:
        # sia: the subject's own, for any subject
        rules.append(Rule(OWNED, (POSSESSIVES[owner], nominal), (esperanto_adjective("si", number, case), 0)))
    return rules


def _agree(determiner: str, number: str, case: str) -> tuple[str, ...]:
    """Esperanto determiner in number and case; la and the numerals do not change."""
    *before, word = determiner.split()
    if word.endswith("u") and word != "du":
        word += ("j" if number == "p" else "") + case
    elif word.endswith("a") and word != "la":
        word = esperanto_adjective(word[:-1], number, case)
    return (*before, word)


@production("Nominal")
def nominal(world: World, key: str, number: str, case: str) -> list[Rule]:
    """Nominal → noun | adjective noun."""
    noun = world.lexicon.nouns[key]
    english, esperanto = noun.form(number), esperanto_noun(noun.root, number, case)
    rules = [Rule(1.0 - ADJECTIVE, (english,), (esperanto,))]
    for adjective, weight in world.adjectives(noun):
        described = esperanto_adjective(adjective.root, number, case)
        rules.append(Rule(ADJECTIVE * weight, (adjective.positive, english), (described, esperanto)))
    return rules


@production("Indefinite")
def indefinite(world: World, key: str, case: str) -> list[Rule]:
    """Indefinite → a/an noun | a/an adjective noun; Esperanto has no such article."""
    rules = nominal(world, key, "s", case)
    return [Rule(rule.weight, (article(str(rule.source[0])), *rule.source), rule.target, (key,)) for rule in rules]


@production("Relative")
def relative(world: World, key: str, number: str, depth: int) -> list[Rule]:
    """Relative → "that" verb object | "that" subject verb; kiu(j) as subject, kiu(j)n as object."""
    rules = []
    pronoun = "kiuj" if number == "p" else "kiu"
    being = world.beings[key]
    for tense, share in (("present", 0.6), ("past", 0.4)):
        if being.kind in ("animal", "person"):
            rules.append(Rule(0.85 * share, ("that", ("Acts", key, number, tense, depth - 1)), (pronoun, 0)))
        if agents(world, world.lexicon.nouns[key]):
            rules.append(Rule(0.15 * share, ("that", ("Agent", key, tense)), (pronoun + "n", 0)))
    return rules


@production("Acts")
def acts(world: World, key: str, number: str, tense: str, depth: int) -> list[Rule]:
    """Acts → verb object, within a relative clause; the object is a living thing, and can have a relative clause."""
    rules = []
    for verb, weight in world.verbs(world.beings[key], ("animal", "person")):
        rules.append(
            Rule(weight, (("Verb", verb.base, number, tense), ("Object", verb.base, depth, "")), (0, 1), verb.forms)
        )
    return rules


@production("Agent")
def agent(world: World, key: str, tense: str) -> list[Rule]:
    """Agent → subject verb, with `key` as the object: (the bread that) the baker bakes."""
    noun = world.lexicon.nouns[key]
    rules = []
    for subject, number, weight in numbered(agents(world, noun)):
        subject_phrase = ("NP", subject.singular, number, "", 0, "")
        source = (subject_phrase, ("ActsOn", subject.singular, number, tense, key))
        rules.append(Rule(weight, source, (0, 1), (subject.form(number),)))
    return rules


def agents(world: World, noun: Noun) -> list[tuple[Noun, float]]:
    """Beings that can be the subject of a verb with this noun as its object."""
    kinds = {
        kind
        for verb in world.lexicon.verbs.values()
        if verb.frame in DIRECT and {noun.kind, noun.group} & set(verb.objects)
        for kind in verb.subjects
    }
    return world.nouns([kind for kind in ("animal", "person") if kind in kinds])


@production("ActsOn")
def acts_on(world: World, subject: str, number: str, tense: str, key: str) -> list[Rule]:
    """ActsOn → a verb that the subject can do to the noun `key`."""
    noun = world.lexicon.nouns[key]
    verbs = world.verbs(world.beings[subject], (noun.kind, noun.group))
    return [Rule(weight, (("Verb", verb.base, number, tense),), (0,), verb.forms) for verb, weight in verbs]


# ---- verb phrases


NEGATED = 0.15
PREPOSITIONS = (("in", "en", 0.6), ("near", "apud", 0.25), ("behind", "malantaŭ", 0.15))
TOOLS = {"food": ("kitchenware",), "plant": ("tool",)}  # object's kind → instruments of the action


@production("VP")
def verb_phrase(world: World, key: str, number: str, tense: str) -> list[Rule]:
    """VP → Deed, for every verb that the subject can do."""
    verbs = world.verbs(world.beings[key])
    return [Rule(weight, (("Deed", verb.base, key, number, tense),), (0,), verb.forms) for verb, weight in verbs]


@production("Deed")
def deed(world: World, base: str, key: str, number: str, tense: str) -> list[Rule]:
    """Deed → Verb and the parts that its frame requires."""
    owner = "p" if number == "p" else world.beings[key].gender
    head = ("Verb", base, number, tense)
    rules = []
    for share, tail, adverb in _tails(world.lexicon.verbs[base], key, owner):
        target = tuple(range(len(tail) + 1))
        if adverb:  # last in English, before the verb in Esperanto
            target = (len(tail), *target[:-1])
        rules.append(Rule(share, (head, *tail), target))
    return rules


def _tails(verb: Verb, key: str, owner: str) -> list[tuple[float, list[Symbol], bool]]:
    """(share, the parts after the verb, whether they end in an adverb)."""
    adverb: Symbol = ("Manner", verb.base)
    where: Symbol = ("Where", key)
    if verb.frame == "stay":
        return [(0.3, [], False), (0.3, [adverb], True), (0.4, [where], False)]
    if verb.frame == "move":
        goal: Symbol = ("Goal", verb.base)
        return [(0.8, [goal], False), (0.2, [goal, adverb], True)]
    thing: Symbol = ("Object", verb.base, 1, owner)
    if verb.frame == "give":
        return [(1.0, [thing, ("Recipient", verb.base)], False)]
    tool = next((kinds for kind, kinds in TOOLS.items() if kind in verb.objects), None)
    if tool and "animal" not in verb.subjects:
        return [(0.5, [thing], False), (0.3, [thing, ("Tool", verb.base, *tool)], False), (0.2, [thing, adverb], True)]
    return [(0.65, [thing], False), (0.3, [thing, adverb], True), (0.05, [thing, where], False)]


@production("Verb")
def verb_form(world: World, base: str, number: str, tense: str) -> list[Rule]:
    """Verb → its form, or auxiliary + not + form."""
    verb = world.lexicon.verbs[base]
    positive, negative, esperanto = forms(verb, number, tense)
    return [Rule(1.0 - NEGATED, positive, esperanto), Rule(NEGATED, negative, ("ne", *esperanto))]


def forms(verb: Verb, number: str, tense: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(English, English negated, Esperanto) forms that agree with a third-person subject."""
    plural = number == "p"
    if tense == "present":
        does = "do" if plural else "does"
        return (verb.base if plural else verb.third,), (does, "not", verb.base), (verb.root + "as",)
    if tense == "past":
        return (verb.past,), ("did", "not", verb.base), (verb.root + "is",)
    if tense == "future":
        return ("will", verb.base), ("will", "not", verb.base), (verb.root + "os",)
    be = "are" if plural else "is"
    participle = verb.root + "anta" + ("j" if plural else "")
    return (be, verb.progressive), (be, "not", verb.progressive), ("estas", participle)


@production("Object")
def direct_object(world: World, base: str, depth: int, owner: str) -> list[Rule]:
    """Object → NP in the accusative, one of the verb's objects."""
    nouns = numbered(world.objects(world.lexicon.verbs[base]))
    return [
        Rule(weight, (("NP", noun.singular, number, "n", depth, owner),), (0,), (noun.form(number),))
        for noun, number, weight in nouns
    ]


@production("Goal")
def goal(world: World, base: str) -> list[Rule]:
    """Goal → "to" NP."""
    return [
        Rule(weight, ("to", ("NP", noun.singular, number, "", 0, "")), ("al", 0), (noun.form(number),))
        for noun, number, weight in numbered(world.objects(world.lexicon.verbs[base]))
    ]


@production("Recipient")
def recipient(world: World, base: str) -> list[Rule]:
    """Recipient → "to" a person."""
    people = favour(world.nouns(("person",)), "recipient", base)
    rules = [
        Rule(0.8 * weight, ("to", ("NP", noun.singular, number, "", 0, "")), ("al", 0), (noun.form(number),))
        for noun, number, weight in numbered(people)
    ]
    return rules + [Rule(0.2 * weight, ("to", name), ("al", name), (name,)) for name, weight in favour(world.names())]


@production("Tool")
def tool(world: World, base: str, kind: str) -> list[Rule]:
    """Tool → "with" NP, one of the verb's tools."""
    return [
        Rule(weight, ("with", ("NP", noun.singular, number, "", 0, "")), ("per", 0), (noun.form(number),))
        for noun, number, weight in numbered(favour(world.nouns((kind,)), "tool", base))
    ]


@production("Manner")
def manner(world: World, base: str) -> list[Rule]:
    """Manner → one of the verb's adverbs."""
    adverbs = favour(zipf(world.lexicon.adverbs["manner"]), "manner", base)
    return [Rule(weight, adverb.source, adverb.target) for adverb, weight in adverbs]


@production("Where")
def where(_world: World, key: str) -> list[Rule]:
    """Where → preposition Place."""
    return [Rule(share, (english, ("Place", key)), (esperanto, 0)) for english, esperanto, share in PREPOSITIONS]


@production("Place")
def place(world: World, key: str) -> list[Rule]:
    """Place → NP, a typical place of the subject."""
    lemma = world.beings[key].lemma
    places = favour(world.nouns(("place",)), "place", lemma)
    return [
        Rule(weight, (("NP", noun.singular, number, "", 0, ""),), (0,), (noun.form(number),))
        for noun, number, weight in numbered(places)
    ]


# ---- clauses


TENSES = {"present": 0.37, "past": 0.31, "progressive": 0.23, "future": 0.09}
OPENED = {"present": 0.25, "past": 0.3, "progressive": 0.25, "future": 0.2}  # shares of the tenses after an opening
LINKS = (("because", "ĉar", 0.4), ("and", "kaj", 0.35), ("while", "dum", 0.25))
LINKED = 0.15
SUBJECTS = {"animal": 0.4, "person": 0.36, "name": 0.2, "pronoun": 0.04}


@production("Action")
def action(_world: World) -> list[Rule]:
    """Action → Clause | Opening Clause."""
    rules = [Rule(0.6 * share, (("Clause", tense),), (0,)) for tense, share in TENSES.items()]
    opened = [Rule(0.4 * share, (("Opening", tense), ("Clause", tense)), (0, 1)) for tense, share in OPENED.items()]
    return rules + opened


@production("Opening")
def opening(world: World, tense: str) -> list[Rule]:
    """Opening → a time adverb of the tense."""
    return [Rule(weight, adverb.source, adverb.target) for adverb, weight in zipf(world.lexicon.adverbs[tense])]


@production("Clause")
def clause(world: World, tense: str) -> list[Rule]:
    """Clause → NP Predicate, for every subject in either number."""
    subjects = []
    for kind in ("animal", "person"):
        nouns = numbered(favour(world.nouns((kind,))))
        subjects += [(noun.singular, noun.form(n), n, SUBJECTS[kind] * weight) for noun, n, weight in nouns]
    subjects += [(name, name, "s", SUBJECTS["name"] * weight) for name, weight in favour(world.names())]
    subjects += [(key, key, "p" if key == "they" else "s", SUBJECTS["pronoun"] / 3) for key in ("he", "she", "they")]
    return [
        Rule(weight, (("NP", key, number, "", DEPTH, ""), ("Predicate", key, number, tense)), (0, 1), (anchor,))
        for key, anchor, number, weight in subjects
    ]


@production("Predicate")
def predicate(world: World, key: str, number: str, tense: str) -> list[Rule]:
    """Predicate → VP | VP , link pronoun VP: the pronoun agrees with the subject of the first clause."""
    rules = [Rule(1.0 - LINKED, (("VP", key, number, tense),), (0,))]
    choices = pronouns(world.beings[key], number)
    for english, esperanto, share in LINKS:
        for pronoun, translated in choices:
            source = (("VP", key, number, tense), ",", english, pronoun, ("VP", key, number, tense))
            rules.append(Rule(LINKED * share / len(choices), source, (0, ",", esperanto, translated, 1)))
    return rules


def pronouns(being: Being, number: str) -> list[tuple[str, str]]:
    """The possible pronouns for a being: he and she if the word does not show the gender."""
    if number == "p":
        return [("they", "ili")]
    if being.kind != "person":
        return [("it", "ĝi")]
    return [pair for gender, pair in (("m", ("he", "li")), ("f", ("she", "ŝi"))) if being.gender in ("", gender)]


# ---- sentences


SHARES = {"Action": 0.62, "Geography": 0.08, "Question": 0.02, "Comparison": 0.12, "Review": 0.06, "Pair": 0.1}


@production("Sentence")
def sentence(_world: World) -> list[Rule]:
    """Sentence → one of the kinds, and a full stop."""
    return [Rule(share, ((kind,), "."), (0, ".")) for kind, share in SHARES.items()]
