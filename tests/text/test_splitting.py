"""Splitting by hash: stable, whole documents, no split empty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langladder.errors import InputError
from langladder.text.splitting import TEST, TRAIN, VALIDATION, SplitConfig, assign, place

CONFIG = SplitConfig(validation=0.1, test=0.2)


def places(texts: list[str], seed: int = 1) -> np.ndarray:
    return np.array([place([text], seed) for text in texts])


def test_golden_place_is_the_same_on_every_machine() -> None:
    assert place(["the cat", "sat"], seed=1) == place(iter(["the cat", "sat"]), seed=1)
    assert place(["the cat", "sat"], seed=1) != place(["the cat", "sat"], seed=2)
    assert place(["the cat"], seed=1) == pytest.approx(0.9340868167163707, abs=1e-12)


def test_shares_are_kept_and_a_document_stays_when_others_come() -> None:
    texts = [f"document {number}" for number in range(4000)]
    splits = assign(places(texts), CONFIG)
    assert np.bincount(splits) / 4000 == pytest.approx([0.7, 0.1, 0.2], abs=0.03)
    assert np.array_equal(assign(places(texts[:2000]), CONFIG), splits[:2000])


def test_own_splits_are_not_cut_again() -> None:
    splits = assign(places([str(number) for number in range(500)]), CONFIG, own=["train", "test"])
    assert set(splits) == {TRAIN, VALIDATION}


@given(st.lists(st.integers(0, 30), min_size=1, max_size=60), st.integers(0, 1000))
def test_equal_documents_share_a_split_and_none_is_empty(numbers: list[int], seed: int) -> None:
    texts = [str(number) for number in numbers]
    if len(set(texts)) < 3:
        with pytest.raises(InputError, match="too few to cut train, validation, test"):
            assign(places(texts, seed), CONFIG)
        return
    splits = assign(places(texts, seed), CONFIG)
    assert set(splits) == {TRAIN, VALIDATION, TEST}
    assert len({(text, split) for text, split in zip(texts, splits, strict=True)}) == len(set(texts))


def test_one_document_corpus_is_refused() -> None:
    with pytest.raises(InputError, match="has 1 different document"):
        assign(places(["all of it"]), CONFIG)


def test_shares_must_leave_training_text() -> None:
    with pytest.raises(ValidationError, match="below 1"):
        SplitConfig(validation=0.5, test=0.5)
