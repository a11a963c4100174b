"""microworld's text and pairs: determinism, exact probabilities, agreement, Esperanto's word classes, Zipf's law."""

import hashlib
import math
import re
from itertools import pairwise
from random import Random

import pytest
from pydantic import ValidationError

from langladder.corpora import microworld
from langladder.corpora.lexicon import Lexicon
from langladder.corpora.microworld import MicroworldConfig, count_words, floor, generate_parallel, generate_text

TINY = MicroworldConfig(size="tiny")
GOLDEN_TEXT = "66e6efca5716a273"
GOLDEN_PAIRS = "85daf0c415f53344"


@pytest.fixture(scope="module")
def text() -> list[str]:
    return generate_text(TINY)["train"]["text"].to_pylist()


@pytest.fixture(scope="module")
def small() -> list[str]:
    """A few thousand sentences of size small."""
    return generate_text(MicroworldConfig(size="small", sentences=4000))["train"]["text"].to_pylist()


@pytest.fixture(scope="module")
def pairs() -> list[tuple[str, str]]:
    table = generate_parallel(MicroworldConfig(size="small", pairs=4000))["train"]
    return list(zip(table["source"].to_pylist(), table["target"].to_pylist(), strict=True))


def test_golden_bytes_of_the_tiny_corpus() -> None:
    digests = []
    for tables in (generate_text(TINY), generate_parallel(TINY)):
        rows = [(split, *row.values()) for split, table in tables.items() for row in table.to_pylist()]
        digests.append(hashlib.sha256("\n".join(map(repr, rows)).encode()).hexdigest()[:16])
    assert digests == [GOLDEN_TEXT, GOLDEN_PAIRS]


def test_another_seed_gives_another_corpus() -> None:
    other = generate_text(MicroworldConfig(size="tiny", seed=2, sentences=60))
    assert other["train"] != generate_text(MicroworldConfig(size="tiny", sentences=60))["train"]


def test_splits_documents_and_columns() -> None:
    tables = generate_text(MicroworldConfig(size="tiny", sentences=1000))
    assert {split: table.num_rows for split, table in tables.items()} == {"train": 920, "validation": 40, "test": 40}
    documents = [number for table in tables.values() for number in table["document"].to_pylist()]
    assert documents == sorted(documents)
    assert set(map(documents.count, documents)) == {20}
    assert all("\n" not in line for table in tables.values() for line in table["text"].to_pylist())


def test_held_out_pairs_do_not_occur_in_train() -> None:
    tables = generate_parallel(TINY)
    train, validation, test = (set(tables[split]["source"].to_pylist()) for split in ("train", "validation", "test"))
    assert not train & validation and not train & test and not validation & test


@pytest.mark.parametrize(("key", "value"), [("size", "huge"), ("seed", -1), ("sentences", 5), ("pairs", "many")])
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        MicroworldConfig(**{key: value})  # type: ignore[arg-type]


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_derivation_probability_is_the_sentence_probability(size: str) -> None:
    """The grammar is unambiguous: the sum over all derivations equals the one that was drawn."""
    table = generate_text(MicroworldConfig(size=size, sentences=400))["train"]  # type: ignore[arg-type]
    grammar = microworld.grammar(size)  # type: ignore[arg-type]
    for line, log_prob in zip(table["text"].to_pylist()[:300], table["log_prob"].to_pylist(), strict=False):
        assert grammar.inside(line.split()) == pytest.approx(log_prob, abs=1e-8), line


def test_rule_probabilities_sum_to_one() -> None:
    grammar = microworld.grammar("tiny")
    rng = Random(5)
    symbols = {node.symbol: None for _ in range(300) for node in _nodes(grammar.sample(rng).tree)}
    for symbol in symbols:
        assert math.fsum(probability for probability, _ in grammar.rules(symbol)) == pytest.approx(1.0)


def _nodes(tree):  # type: ignore[no-untyped-def]
    yield tree
    for child in tree.children:
        yield from _nodes(child)


def test_golden_floor() -> None:
    # Two sentences of probability 1/8 and 1/2 over four words: exp((3 + 1)·ln 2 / 4) = 2
    assert floor([math.log(1 / 8), math.log(1 / 2)], words=4) == pytest.approx(2.0)


def test_english_determines_esperanto(pairs: list[tuple[str, str]]) -> None:
    translations: dict[str, str] = {}
    for english, esperanto in pairs:
        assert translations.setdefault(english, esperanto) == esperanto


def test_golden_translations() -> None:
    translation = {}
    rng = Random(11)
    grammar = microworld.grammar("tiny")
    for _ in range(4000):
        tree = grammar.sample(rng).tree
        translation[" ".join(tree.source())] = " ".join(tree.target())
    known = [(english, esperanto) for english, esperanto in GOLDEN_TRANSLATIONS.items() if english in translation]
    assert len(known) >= 3
    for english, esperanto in known:
        assert translation[english] == esperanto


GOLDEN_TRANSLATIONS = {
    "the capital of france is paris .": "la ĉefurbo de francio estas parizo .",
    "the currency of japan is the yen .": "la valuto de japanio estas la eno .",
    "in france people speak french and pay with the franc .": (
        "en francio oni parolas la francan kaj pagas per la franko ."
    ),
    "what is the capital of germany ? berlin .": "kio estas la ĉefurbo de germanio ? berlino .",
    "what do people speak in england ? english .": "kion oni parolas en anglio ? la anglan .",
}

FUNCTION_WORDS = """la kaj sed ĉar dum ne tre iom vere ege pli plej ol en de el al per por apud malantaŭ ĉi tie tien tiu
    tiun tiuj tiujn kiu kiun kiuj kiujn kio kion ĉiu ĉiun du tri kvar kvin unu li ŝi ĝi ili lin ŝin ĝin ilin oni nun
    neniam hieraŭ hodiaŭ morgaŭ baldaŭ hieraŭnokte iam tagon iun ĝuste , . ?"""
ESPERANTO_ENDINGS = re.compile(r"^[a-zĉĝĥĵŝŭ]{2,}(oj?n?|aj?n?|as|is|os|e|i)$")


def test_every_esperanto_word_has_a_class(pairs: list[tuple[str, str]]) -> None:
    names = Lexicon("small").names
    words = {word for _, esperanto in pairs for word in esperanto.split()}
    known = {*FUNCTION_WORDS.split(), *names}
    strange = {word for word in words - known if not ESPERANTO_ENDINGS.match(word)}
    assert strange == set()


def test_esperanto_adjectives_agree_with_their_nouns(pairs: list[tuple[str, str]]) -> None:
    """An adjective right before a noun has its plural and its accusative."""
    checked, names = 0, Lexicon("small").names
    for _, esperanto in pairs:
        for first, second in pairwise(esperanto.split()):
            adjective, noun = re.match(r"^\w{2,}a(j?n?)$", first), re.match(r"^\w{2,}o(j?n?)$", second)
            participle = re.match(r"^\w+antaj?$", first)  # estas vizitanta avinon: it agrees with the subject
            if adjective and noun and not participle and first not in names:
                assert adjective[1] == noun[1], esperanto
                checked += 1
    assert checked > 1000


TIMES = [["every", "morning"], ["every", "day"], ["every", "evening"]]


def test_agreement_of_determiner_noun_and_verb(small: list[str]) -> None:
    """Checked from the words alone: this/these and the like with their noun, and a noun with the verb that follows."""
    lexicon = Lexicon("small")
    number = {noun.singular: "s" for noun in lexicon.nouns.values()} | {n.plural: "p" for n in lexicon.nouns.values()}
    demands = dict.fromkeys(["this", "every", "a", "an", "one", "is", "was", "does"], "s")
    demands |= dict.fromkeys(["these", "some", "many", "two", "three", "four", "five", "are", "were", "do"], "p")
    demands |= {verb.third: "s" for verb in lexicon.verbs.values()} | dict.fromkeys(lexicon.verbs, "p")
    determiners, checked = {"this", "every", "a", "an", "these", "some", "many", "two", "three"}, 0
    for line in small:
        words = line.split()
        for index, word in enumerate(words):
            if word in determiners and words[index : index + 2] not in TIMES:
                following = next(number[later] for later in words[index + 1 :] if later in number)
                assert following == demands[word], line
                checked += 1
        # The first noun is the subject, and its verb follows at once unless a clause or a second noun comes between.
        if words[1] in number and words[2] in demands and words[0] == "the":
            assert number[words[1]] == demands[words[2]], line
            checked += 1
    assert checked > 1000


@pytest.mark.parametrize(("size", "least", "most"), [("tiny", 300, 900), ("small", 1400, 2600)])
def test_vocabulary_size(size: str, least: int, most: int) -> None:
    grammar, rng = microworld.grammar(size), Random(1)  # type: ignore[arg-type]
    drawn = [" ".join(grammar.sample(rng).tree.source()) for _ in range(8000)]
    assert least < len(count_words(drawn)) < most


def test_frequencies_are_zipf_like(small: list[str]) -> None:
    """The slope of log frequency over log rank, in the head and the body of the distribution, is about -1."""
    counts = sorted(count_words(small).values(), reverse=True)
    points = [(math.log(rank), math.log(count)) for rank, count in enumerate(counts[:1000], start=1)]
    mean_x, mean_y = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    assert -1.5 < slope < -0.7


def test_each_word_form_belongs_to_one_lemma() -> None:
    """No homonyms, which would blur what the truth sets ask for."""
    for size in ("tiny", "small", "base"):
        lexicon = Lexicon(size)  # type: ignore[arg-type]
        forms = [form for noun in lexicon.nouns.values() for form in (noun.singular, noun.plural)]
        forms += [form for verb in lexicon.verbs.values() for form in dict.fromkeys(verb.forms)]
        graded = [(a.positive, a.comparative, a.superlative) for a in lexicon.adjectives.values()]
        forms += [form for adjective in graded for form in adjective if form]
        forms += [word for country in lexicon.countries.values() for word in country.words]
        forms += [*lexicon.names, *lexicon.opinions]
        assert sorted(forms) == sorted(set(forms))
