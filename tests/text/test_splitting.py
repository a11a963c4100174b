"""Splitting by hash: stable, whole documents, no split empty."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from langladder.ground.errors import InputError
from langladder.text.clean.splitting import TEST, TRAIN, VALIDATION, SplitConfig, assign, cut, hash_fraction

CONFIG = SplitConfig(validation=0.1, test=0.2)


def fractions(texts: list[str], seed: int = 1) -> np.ndarray:
    return np.array([hash_fraction([text], seed) for text in texts])


def test_golden_place_is_the_same_on_every_machine() -> None:
    assert hash_fraction(["the cat", "sat"], seed=1) == hash_fraction(iter(["the cat", "sat"]), seed=1)
    assert hash_fraction(["the cat", "sat"], seed=1) != hash_fraction(["the cat", "sat"], seed=2)
    assert hash_fraction(["the cat"], seed=1) == pytest.approx(0.9340868167163707, abs=1e-12)


def test_shares_are_kept_and_a_document_stays_when_others_come() -> None:
    texts = [f"document {number}" for number in range(4000)]
    splits = assign(fractions(texts), CONFIG)
    assert np.bincount(splits) / 4000 == pytest.approx([0.7, 0.1, 0.2], abs=0.03)
    assert np.array_equal(assign(fractions(texts[:2000]), CONFIG), splits[:2000])


def test_own_splits_are_not_cut_again() -> None:
    splits = assign(fractions([str(number) for number in range(500)]), CONFIG, own=["train", "test"])
    assert set(splits) == {TRAIN, VALIDATION}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(0, 1000))
def test_equal_documents_share_a_split_and_none_is_empty(numbers: list[int], seed: int) -> None:
    texts = [str(number) for number in numbers]
    if len(set(texts)) < 3:
        with pytest.raises(InputError, match="too few to cut train, validation, test"):
            assign(fractions(texts, seed), CONFIG)
        return
    splits = assign(fractions(texts, seed), CONFIG)
    assert set(splits) == {TRAIN, VALIDATION, TEST}
    assert len({(text, split) for text, split in zip(texts, splits, strict=True)}) == len(set(texts))


def test_one_document_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="has 1 different documents"):
        assign(fractions(["all of it"]), CONFIG)


def test_shares_must_leave_training_text() -> None:
    with pytest.raises(ValidationError, match="below 1"):
        SplitConfig(validation=0.5, test=0.5)


# ---- by words: few documents, unequal ones


def novels(number: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Places and lengths: 10,000 to 600,000 words each."""
    lengths = np.exp(np.random.default_rng(seed).uniform(np.log(10_000), np.log(600_000), number)).astype(np.int64)
    return fractions([f"novel {index}" for index in range(number)], seed), lengths


def share(splits: np.ndarray, words: np.ndarray, split: int) -> float:
    return float(words[splits == split].sum() / words.sum())


@pytest.mark.parametrize("seed", range(8))
def test_sixty_novels_are_balanced_by_words(seed: int) -> None:
    where, words = novels(60, seed)
    result = cut(where, words, SplitConfig())
    for split in (VALIDATION, TEST):
        assert 0.05 / 1.5 <= share(result.splits, words, split) <= 0.05 * 1.5
    assert not result.warnings
    again = cut(where[::-1].copy(), words[::-1].copy(), SplitConfig())  # the order of the files is nothing
    assert np.array_equal(again.splits[::-1], result.splits)


def test_what_the_cut_by_documents_made_of_novels() -> None:
    """Its splits differ by a factor of ten, and it says so, with words and documents."""
    where, words = novels(60, seed=5)
    result = cut(where, words, SplitConfig(by="documents"))
    assert result.by == "documents" and np.array_equal(result.splits, assign(where, SplitConfig()))
    (warning,) = result.warnings
    for split, name in ((VALIDATION, "validation"), (TEST, "test")):
        mine = result.splits == split
        assert f"{name} {words[mine].sum():,} words in {mine.sum()} documents" in warning
    assert "of 5.0% requested" in warning and "conf/split/hash.yaml" in warning


def test_many_small_documents_are_cut_as_ever() -> None:
    where = fractions([f"document {number}" for number in range(3000)])
    words = np.random.default_rng(0).integers(1, 40, 3000)
    result = cut(where, words, SplitConfig())
    assert (result.by, result.warnings) == ("documents", [])
    assert np.array_equal(result.splits, assign(where, SplitConfig()))


def test_most_documents_keep_their_split_when_others_come() -> None:
    where, words = novels(200)
    config = SplitConfig(by="words")
    before, after = (cut(where[:count], words[:count], config).splits for count in (195, 200))
    held_out = before != TRAIN
    assert (
        held_out.sum() > 10 and (before == after[:195])[held_out].mean() > 0.6 and (before == after[:195]).mean() > 0.95
    )


def test_documents_larger_than_a_split_leave_it_the_smallest() -> None:
    words = np.array([900, 800, 1000, 700, 5000])
    result = cut(fractions(list("abcde")), words, SplitConfig(validation=0.01, test=0.01))
    assert result.by == "words" and words[result.splits == TEST].tolist() == [700]
    assert words[result.splits == VALIDATION].tolist() == [800] and len(result.warnings) == 1


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 500)), min_size=3, max_size=40), st.integers(0, 100))
@example([(0, 1), (1, 1), (2, 29)], 0)
def test_copies_share_a_split_and_none_is_empty_by_words(documents: list[tuple[int, int]], seed: int) -> None:
    texts = [str(number) for number, _ in documents]
    sizes = dict(documents)
    words = np.array([sizes[number] for number, _ in documents])
    if len(set(texts)) < 3:
        return
    splits = cut(fractions(texts, seed), words, SplitConfig(by="words")).splits
    assert set(splits) == {TRAIN, VALIDATION, TEST}
    assert len(set(zip(texts, splits.tolist(), strict=True))) == len(set(texts))
