"""Documents with a memory: exact probabilities, one derivation, facts that stay true, what context is worth."""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, pairwise, permutations, product
from pathlib import Path
from random import Random

import numpy as np
import pyarrow.parquet as pq
import pytest

from langladder.corpora.documents import writing
from langladder.corpora.documents.floors import both_names, jackknife, readings, worth
from langladder.corpora.documents.grammar import EVEN, MOODS, STATES, SUBJECTS, Grammar, Node, Rule, Symbol
from langladder.corpora.documents.language import one_of_two
from langladder.corpora.documents.lines import LINE
from langladder.corpora.documents.memory import UNKNOWN, Memory, Person
from langladder.corpora.documents.next_words import END, hidden_word, next_words
from langladder.corpora.documents.process import PRIOR, Process, Reader, follow, process, turned, turned_from
from langladder.corpora.documents.words import language
from langladder.corpora.documents.writing import (
    DocumentsConfig,
    PairedDocumentsConfig,
    Task,
    generate_documents,
    labelled_document,
    write_documents,
    write_paired_documents,
)
from langladder.ground.artefacts import read_json
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import read_batches

GOLDEN = "e4a9a97dc5502bfd"


@pytest.fixture(scope="module")
def tiny() -> Process:
    return process("tiny")


@pytest.fixture(scope="module")
def documents() -> list[list[str]]:
    """A few hundred documents of size small, as lines."""
    table = generate_documents(DocumentsConfig(size="small", sentences=3000))["train"]
    found: dict[int, list[str]] = {}
    for number, line in zip(table["document"].to_pylist(), table["text"].to_pylist(), strict=True):
        found.setdefault(number, []).append(line)
    return list(found.values())


# ---- a toy, whole ------------------------------------------------------------------------------------------------

BRIGHT = tuple(4.0 if mood == "bright" else 1.0 for _, mood in STATES)
FOOD = tuple(3.0 if subject == "food" else 1.0 for subject, _ in STATES)
TOY: dict[Symbol, list[Rule]] = {
    LINE: [
        Rule(3.0, (("Noun",), "is", ("Opinion",)), (0, 1)),
        Rule(1.0, (("Turned",),), (0,)),
    ],
    ("Turned",): [Rule(1.0, ("but", ("Noun",), "is", ("Opinion",)), (0, 1), turns=True)],
    ("Noun",): [Rule(1.0, ("soup",), ("supo",), FOOD), Rule(2.0, ("rain",), ("pluvo",))],
    ("Opinion",): [Rule(1.0, ("good",), ("bona",), BRIGHT), Rule(1.0, ("bad",), ("aĉa",))],
}


def derivations(grammar: Grammar, symbol: Symbol) -> Iterator[Node]:
    """Every derivation of a grammar without recursion."""
    expansion = grammar.expansion(symbol)
    for index, rule in enumerate(expansion.rules):
        inner = [list(derivations(grammar, item)) for item in rule.source if not isinstance(item, str)]
        for children in product(*inner):
            yield Node(expansion, index, children)


def test_probabilities_of_all_documents_of_a_toy_sum_to_one() -> None:
    sentences = list(derivations(Grammar(TOY.get), LINE))
    assert len(sentences) == 8
    for state in range(len(STATES)):
        assert math.fsum(math.exp(node.log_likelihoods()[state]) for node in sentences) == pytest.approx(1.0)
    total = 0.0
    for document in product(sentences, repeat=2):
        reader, log_prob = Reader(), 0.0
        for node in document:
            reader, one = follow(reader, node)
            log_prob += one
        total += math.exp(log_prob)
        assert log_prob == pytest.approx(math.log(over_all_paths(document)))
    assert total == pytest.approx(1.0)


def over_all_paths(document: tuple[Node, ...]) -> float:
    """Σ over every sequence of states of P(states) Π P(sentence | state): what the forward recursion sums."""
    total = 0.0
    turns = [node.turns() for node in document]
    likelihoods = [[math.exp(log) for log in node.log_likelihoods()] for node in document]
    for path in product(range(len(STATES)), repeat=len(document)):
        p = 1.0
        for number, state in enumerate(path):
            before = PRIOR if number == 0 else tuple(float(z == path[number - 1]) for z in range(len(STATES)))
            now = turned(before) if turns[number] else before
            p *= now[state] * likelihoods[number][state]
            if not p:
                break
        total += p
    return total


def test_a_turn_keeps_the_subject_and_loses_no_probability() -> None:
    assert math.fsum(PRIOR) == pytest.approx(1.0)
    for state, (subject, mood) in enumerate(STATES):
        after = turned_from(state)
        assert math.fsum(after) == pytest.approx(1.0)
        assert after[state] == 0.0 and {STATES[z][0] for z, p in enumerate(after) if p} == {subject}, mood
    assert math.fsum(turned(EVEN)) == pytest.approx(len(STATES))
    assert len(STATES) % len(MOODS) == 0


# ---- the process ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", ["tiny", "small"])
def test_a_sentence_has_one_derivation_that_reading_finds(size: str) -> None:
    source, rng = process(size), Random(5)  # type: ignore[arg-type]
    for _ in range(7):
        reader = Reader()
        for sentence in source.draw(rng):
            (node,) = source.grammar(reader.memory).parse(LINE, sentence.text.split())
            assert " ".join(node.target()) == sentence.translation
            after, log_prob = follow(reader, node)
            assert log_prob == pytest.approx(sentence.log_prob, abs=1e-9)
            assert after.memory == reader.memory.after(sentence.node)
            reader = after


def test_an_impossible_sentence_has_no_probability(tiny: Process) -> None:
    assert list(tiny.log_probs(["he was happy ."])) == [-math.inf]  # nobody is there yet
    known = ["john comes from paris .", "he lives in paris .", "he lives in london ."]
    assert [math.isfinite(one) for one in tiny.log_probs(known)] == [True, True, False]


def chi_squared(counts: Counter[str], expected: dict[str, float], draws: int) -> tuple[float, int]:
    """Of the sentences that are expected at least five times, and all others as one."""
    often = {text: p for text, p in expected.items() if p * draws >= 5}
    rest = 1 - sum(often.values())
    others = draws - sum(counts[text] for text in often)
    total = sum((counts[text] - p * draws) ** 2 / (p * draws) for text, p in often.items())
    return total + (others - rest * draws) ** 2 / (rest * draws), len(often)


BEGINNING = ["john comes from paris .", "he bought a knife .", "but everything was terrible ."]


def test_probabilities_are_those_of_drawing(tiny: Process) -> None:
    """χ² between drawn sentences and the forward sum, after the beginning of a document."""
    reader, rng, draws = Reader(), Random(11), 3000
    for text in BEGINNING:
        read = tiny.read(reader, text)
        assert read is not None
        reader = read[0]
    counts: Counter[str] = Counter()
    grammar = tiny.grammar(reader.memory)
    for state in rng.choices(range(len(STATES)), reader.belief, k=draws):
        counts[" ".join(tiny.draw_line(grammar, state, rng)[0].source())] += 1
    found = {text: grammar.parse(LINE, text.split()) for text, count in counts.items() if count > 2}
    expected = {text: math.exp(follow(reader, node)[1]) for text, (node,) in found.items()}
    value, freedom = chi_squared(counts, expected, draws)
    assert freedom > 30
    assert value < freedom + 4 * math.sqrt(2 * freedom)


def test_who_knows_the_structure_alone_expects_what_is_said_of_all_values_together(tiny: Process) -> None:
    """Σ over names and jobs (towns) of P(sentence) is the same with the values of the memory and without them."""
    lexicon, rng = tiny.language.lexicon, Random(12)
    jobs = [" ".join(map(str, rule.source)) for rule in tiny.language.grammar.expansion(("Job", "", 1)).rules]
    sentences = [f"{name} is {job} ." for name in lexicon.names for job in jobs]
    towns = [country.capital for country in lexicon.countries.values()]
    sentences += [f"{name} lives in {town} ." for name in lexicon.names for town in towns]
    for _ in range(3):
        memory = Memory()
        for sentence in tiny.draw(rng, 6):
            memory = memory.after(sentence.node)
        totals = []
        for one in (memory, memory.forgotten()):
            grammar = tiny.grammar(one)
            totals.append(sum(p for text in sentences for _, p in readings(tiny, Reader(one), grammar, text)))
        assert totals[0] > 0 and totals[0] == pytest.approx(totals[1])


def test_golden_bytes() -> None:
    tables = generate_documents(DocumentsConfig(size="tiny", sentences=600))
    rows = [(split, *row.values()) for split, table in tables.items() for row in table.to_pylist()]
    assert hashlib.sha256("\n".join(map(repr, rows)).encode()).hexdigest()[:16] == GOLDEN


def test_what_context_is_worth(tiny: Process) -> None:
    """Who sees the sentence alone loses most, who sees the one before it less."""
    alone, one_before = (worth(tiny, seen, documents=6, others=25, rng=Random(3)) for seen in (0, 1))
    assert alone.nats > 0.1 and alone.nats > 3 * alone.error
    assert alone.nats > one_before.nats > 0


@pytest.mark.long
def test_the_floors_that_are_written_are_those_of_the_test_split(
    tmp_path: Path, tiny: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing, "FLOOR_SAMPLES", {"tiny": (5, 15)})
    facts = write_documents(DocumentsConfig(size="tiny", sentences=400), tmp_path)
    floors = read_json(tmp_path / "truth" / "floors.json")
    assert floors == facts["floors"]
    rows = [row for batch in read_batches(tmp_path / "test", TEXT, 100) for row in batch.to_pylist()]
    words = sum(len(row["text"].split()) + 1 for row in rows)
    found = [list(group) for _, group in groupby(rows, lambda row: row["document"])]
    log_probs = [one for document in found for one in tiny.log_probs(row["text"] for row in document)]
    assert floors["document"] == pytest.approx(math.exp(-math.fsum(log_probs) / words), abs=1e-6)
    assert [one["sentences"] for one in floors["windows"]] == [0, 1, 4]
    assert floors["windows"][0]["perplexity"] > floors["document"]
    assert all(one["error_percent"] > 0 for one in floors["windows"])


def test_golden_jackknife_of_a_mean_is_its_variance() -> None:
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    without = (values.sum() - values) / 5
    assert jackknife(without) == pytest.approx(values.var(ddof=1) / 6)


def test_both_names_of_a_sex_are_expected_together(tiny: Process) -> None:
    """Of a reader who knows that there are two, the pairs of names have the probabilities of drawing them in turn."""
    shares = tiny.language.shares["m"]
    unknown = Memory(people=(Person("m", UNKNOWN, 0), Person("m", UNKNOWN, 0)))
    total, seen = 0.0, 0
    for first in shares:
        for second in set(shares) - {first}:
            both = replace(unknown, people=(Person("m", first, 1), Person("m", second, 1)))
            apart = shares[first] * one_of_two(shares, True, UNKNOWN)[second]
            p = apart * both_names(tiny, unknown, both)
            assert p == pytest.approx(shares[first] * shares[second] / (1 - shares[first]))
            total += p
    assert total == pytest.approx(1)
    pairs = {pair: shares[pair[0]] * shares[pair[1]] / (1 - shares[pair[0]]) for pair in permutations(shares, 2)}
    named = {pair: replace(unknown, people=tuple(Person("m", name, 0) for name in pair)) for pair in pairs}
    (first, second), rng = next(iter(pairs)), Random(5)
    lines = [tiny.draw_line(tiny.grammar(named[first, second]), 0, rng)[0].source() for _ in range(1500)]
    for text in sorted({" ".join(line) for line in lines if first in line and second in line})[:3]:
        expected = sum(
            p * sum(q for _, q in readings(tiny, Reader(named[pair]), None, text)) for pair, p in pairs.items()
        )
        assert sum(p for _, p in readings(tiny, Reader(unknown), None, text)) == pytest.approx(expected)
        seen += 1
    assert seen
    once = replace(unknown, people=(Person("m", "tom", 1), Person("m", UNKNOWN, 0)))
    assert both_names(tiny, unknown, once) == both_names(tiny, once, once) == 1


def test_two_different_values() -> None:
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    joint = {(a, b): shares[a] * shares[b] / (1 - shares[a]) for a in shares for b in shares if a != b}
    assert one_of_two(shares, True, UNKNOWN)["b"] == pytest.approx(joint["a", "b"] + joint["c", "b"])
    assert one_of_two(shares, True, "a")["c"] == pytest.approx(0.2 / 0.5)
    second = joint["a", "b"] + joint["c", "b"]
    assert one_of_two(shares, False, "b")["a"] * second / sum(one_of_two(shares, False, "b").values()) == (
        pytest.approx(joint["a", "b"])
    )


# ---- what documents say ----------------------------------------------------------------------------------------------


def test_facts_stay_true_within_a_document(documents: list[list[str]]) -> None:
    """From the words alone: of whoever is named, everything that is said again is the same."""
    countries = language("small").lexicon.countries.values()
    towns = {word: country.name for country in countries for word in country.words}
    again = 0
    for lines in documents:
        facts: dict[tuple[str, str], str] = {}
        for line in lines:
            for pattern in (
                *(r"(\w+) (lives) in (\w+) \.", r"(\w+) is an? \w+ (from) (\w+) \.", r"(\w+) (speaks) (\w+) \."),
                *(r"(\w+) always (wears) an? (\w+) \.", r"(\w+) (likes) (\w+) \.", r"(\w+) (plays) the (\w+) \."),
            ):
                if (found := re.fullmatch(pattern, line)) and found[1] not in ("he", "she"):
                    what = "home" if found[2] in ("lives", "from", "speaks") else found[2]
                    value = towns[found[3]] if what == "home" else found[3]
                    again += (found[1], what) in facts
                    assert facts.setdefault((found[1], what), value) == value, lines
    assert again > 10


def test_pronouns_agree_with_who_was_named(documents: list[list[str]]) -> None:
    """he or she is said only where a man or a woman was named before."""
    names, checked = language("small").lexicon.names, 0
    for lines in documents:
        sexes = set()
        for line in lines:
            words = line.split()
            if words[0] in ("he", "she"):
                assert {"he": "m", "she": "f"}[words[0]] in sexes, lines
                checked += 1
            sexes |= {names[word].gender for word in words if word in names}
    assert checked > 200


def test_questions_are_answered_and_lists_are_complete(documents: list[list[str]]) -> None:
    answered = open_ = 0
    for lines in documents:
        for number, line in enumerate(lines):
            if line.endswith("?"):
                following = lines[number + 1 : number + 4]
                open_ += len(following) == 3
                answered += len(following) == 3 and any(len(one.split()) <= 4 for one in following)
            if line == "two things happened ." and len(lines) > number + 2:
                assert [one.split()[0] for one in lines[number + 1 : number + 3]] == ["first", "second"]
    assert open_ > 15 and answered > 0.5 * open_


def test_moods_and_subjects_show(documents: list[list[str]]) -> None:
    """Opinions of one document are of one valence more often than chance; so are their words' subjects."""
    opinions = language("small").lexicon.opinions
    same = pairs = 0
    for lines in documents:
        signs = [
            opinions[word].valence * (-1 if "not" in line.split() else 1) > 0
            for line in lines
            for word in line.split()
            if word in opinions
        ]
        same += sum(one == other for one, other in pairwise(signs))
        pairs += max(0, len(signs) - 1)
    assert pairs > 40 and same / pairs > 0.65


def test_a_forgotten_memory_has_no_values(tiny: Process) -> None:
    memory = Memory()
    for sentence in tiny.draw(Random(2), 20):
        memory = memory.after(sentence.node)
    forgotten = memory.forgotten()
    assert {person.name for person in forgotten.people} == {UNKNOWN}
    assert {value for person in forgotten.people for value in person.facts.values()} == {UNKNOWN}
    assert [person.sex for person in forgotten.people] == [person.sex for person in memory.people]
    assert forgotten.line == memory.line


# ---- the next word, a hidden word ------------------------------------------------------------------------------------


def test_next_words_chain_to_the_sentences_probability(tiny: Process) -> None:
    rng = Random(8)
    reader = Reader()
    for sentence in tiny.draw(rng, 4):
        words, total = sentence.text.split(), 0.0
        for word, found in zip([*words, END], next_words(tiny, reader, words), strict=True):
            assert math.fsum(found.values()) == pytest.approx(1.0)
            total += math.log(found[word])
        assert total == pytest.approx(sentence.log_prob)
        reader, _ = follow(reader, sentence.node)
    assert next_words(tiny, Reader(), ["happy"])[1] == {}


def test_next_words_of_a_toy_are_those_of_all_its_sentences() -> None:
    """The prefix chart, and the sum over every sentence of the toy, after one in which the mood turned."""
    toy = Grammar(TOY.get)

    class Toy(Process):
        def __init__(self) -> None:
            pass

        def grammar(self, memory: Memory) -> Grammar:
            del memory
            return toy

    sentences = list(derivations(toy, LINE))
    first = next(node for node in sentences if node.source() == ["but", "soup", "is", "good"])
    reader, _ = follow(Reader(), first)
    for prefix in ([], ["rain"], ["but"], ["but", "soup", "is"], ["soup", "is", "bad"]):
        totals: dict[str, float] = {}
        for node in sentences:
            words = [*node.source(), END]
            if words[: len(prefix)] == prefix:
                word = words[len(prefix)]
                totals[word] = totals.get(word, 0.0) + math.exp(follow(reader, node)[1])
        found = next_words(Toy(), reader, prefix)[-1]
        assert found == pytest.approx({word: p / sum(totals.values()) for word, p in totals.items()})
    assert next_words(Toy(), reader, ["rain", "soup"])[-1] == {}


def test_a_hidden_word_is_told_by_what_follows(tiny: Process) -> None:
    lines = ["this is john , a teacher .", "he lives in paris .", "he speaks french ."]
    for line, place in ((1, 3), (0, 5), (1, 0)):
        found = hidden_word(tiny, lines, line, place)
        assert math.fsum(found.values()) == pytest.approx(1.0)
        words = lines[line].split()
        texts = {word: " ".join([*words[:place], word, *words[place + 1 :]]) for word in found}
        whole = {
            word: math.fsum(tiny.log_probs([*lines[:line], text, *lines[line + 1 :]])) for word, text in texts.items()
        }
        for word, p in found.items():
            expected = whole[word] - math.log(math.fsum(math.exp(one) for one in whole.values()))
            assert math.log(p) == pytest.approx(expected)
    assert list(hidden_word(tiny, lines, 1, 3)) == ["paris", "france"]
    assert "london" in hidden_word(tiny, lines[:2], 1, 3)


# ---- labelled texts, pairs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("task", "labels"), [("subject", set(SUBJECTS)), ("mood", {"positive", "negative"})])
def test_the_best_guess_is_as_often_right_as_its_probability_says(tiny: Process, task: Task, labels: set[str]) -> None:
    rng = Random(21)
    rows = [labelled_document(tiny, rng, task) for _ in range(150)]
    expected = sum(row["ceiling"] for row in rows) / len(rows)
    right = sum(row["log_prob"] == pytest.approx(math.log(row["ceiling"]), abs=1e-6) for row in rows) / len(rows)
    assert 0.7 < expected < 0.98
    assert abs(right - expected) < 4 * math.sqrt(expected * (1 - expected) / len(rows))
    assert {row["label"] for row in rows} == labels


def test_pairs_are_sentences_of_documents(tmp_path: Path) -> None:
    write_paired_documents(PairedDocumentsConfig(size="tiny", pairs=200), tmp_path)
    tables = {split: pq.read_table(tmp_path / f"{split}.parquet").to_pylist() for split in ("train", "test")}
    assert not {row["source"] for row in tables["train"]} & {row["source"] for row in tables["test"]}


def test_english_determines_esperanto(tiny: Process) -> None:
    reader, found = Reader(), []
    for text in BEGINNING:
        (node,) = tiny.grammar(reader.memory).parse(LINE, text.split())
        found.append(" ".join(node.target()))
        reader, _ = follow(reader, node)
    assert found == ["john venas el parizo .", "li aĉetis tranĉilon .", "sed ĉio estis terura ."]
    translations: dict[str, str] = {}
    rng = Random(4)
    for _ in range(20):
        for sentence in tiny.draw(rng):
            assert translations.setdefault(sentence.text, sentence.translation) == sentence.translation
