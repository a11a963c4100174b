"""What texts are read as: words or subwords with their ids, kept as a description and refused where it is none."""

from pathlib import Path

import pytest

from langladder.ground.errors import InputError
from langladder.models.units import SubwordUnits, WordUnits, units_from
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import NAMES, UNK
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

TEXTS = ["The film was good, very good.", "A dull film!"]


def test_words_are_numbered_by_falling_frequency_behind_the_specials() -> None:
    units = WordUnits.of(TEXTS)
    assert units.words[:2] == ["film", "good"]
    assert units.text("Film?").ids.tolist() == [len(NAMES), UNK]
    assert units.vocab_size == len(NAMES) + len(units.words)


def test_punctuation_is_removed_unless_it_stands_apart_already() -> None:
    assert WordUnits.of(TEXTS).text("good, film").pieces == ["good", ",", "film"]
    apart = WordUnits.of(["good , film .", "dull , really ."])
    assert apart.text("good, film").pieces == ["good,", "film"]
    assert WordUnits.of(["很好看"]).text("很好").pieces == ["很", "好"]  # a script without spaces


def test_words_of_trees_are_taken_as_they_are() -> None:
    units = WordUnits.of(TEXTS)
    assert units.example(Example("good, film", tree="(1 (1 good,) (1 film))")).pieces == ["good,", "film"]


def test_a_pair_is_one_row_with_a_separator_between() -> None:
    units = WordUnits.of(TEXTS)
    read = units.example(Example("dull film", "good film"))
    assert read.pieces == ["dull", "film", "<sep>", "good", "film"]
    assert read.ids[2] == units.separator == units.vocab_size
    assert read.ids.max() < units.full_vocab_size


def test_words_of_vectors_get_ids_too_and_rare_ones_none() -> None:
    units = WordUnits.of(TEXTS, min_count=2).with_words(["Opera", "film"])
    assert units.words == ["film", "good", "opera"]
    with pytest.raises(InputError, match="min_count=9"):
        WordUnits.of(TEXTS, min_count=9)


@pytest.mark.parametrize("kind", ["words", "subwords"])
def test_saved_and_read_back_they_read_the_same(kind: str, tmp_path: Path) -> None:
    if kind == "words":
        units: WordUnits | SubwordUnits = WordUnits.of(TEXTS, lowercase=False)
    else:
        units = SubwordUnits(train_tokenizer(TEXTS, TokenizerConfig(kind="bpe_bytes", vocab_size=270)))
    units.save_beside(tmp_path)
    back = units_from(tmp_path / "reading.json", units.description())
    example = Example("A good film?", "Dull!")
    assert back.example(example).ids.tolist() == units.example(example).ids.tolist()
    assert (back.vocab_size, back.full_vocab_size) == (units.vocab_size, units.full_vocab_size)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {"kind": "bytes"},
        {"kind": "words", "mode": "apart", "lowercase": True},
        {"kind": "words", "mode": "os.system", "lowercase": True, "words": ["a"]},
        {"kind": "words", "mode": "apart", "lowercase": 1, "words": ["a"]},
        {"kind": "words", "mode": "apart", "lowercase": True, "words": ["a", "a"]},
        {"kind": "subwords"},
    ],
)
def test_refuses_what_describes_no_units(bad: object, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"reading\.json|tokenizer\.json"):
        units_from(tmp_path / "reading.json", bad)


def test_golden_lower_case_has_no_stray_dot() -> None:
    units = WordUnits.of(["İzmir ΟΔΟΣ"])
    assert units.words == ["izmir", "οδος"] and units.ids(["İZMİR", "I\u0307zmir"]).tolist() == [len(NAMES)] * 2
