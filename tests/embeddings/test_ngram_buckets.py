"""Character n-grams and their buckets: the paper's example, published hash values, fastText's own buckets."""

import numpy as np
import pytest
from gensim.models.fasttext import ft_ngram_hashes

from langladder.embeddings.subword_vectors import NgramBuckets
from langladder.kernels.fasttext import fnv1a

WORDS = ["where", "a", "naïve", "ĉevaloj", "苹果", "Straße", "žluťoučký", "👍🏽", "é", "the", "banana"]


@pytest.mark.parametrize(
    ("text", "value"),
    [("", 0x811C9DC5), ("a", 0xE40C292C), ("b", 0xE70C2DE5), ("foobar", 0xBF9CF968), ("hello", 0x4F9F2CAB)],
)
def test_fnv1a_golden(text: str, value: int) -> None:
    """Values of the hash's authors (draft-eastlake-fnv, section 8.3)."""
    assert fnv1a(text.encode()) == value


def test_ngrams_of_where_golden() -> None:
    assert NgramBuckets(3, 3).ngrams("where") == ["<wh", "whe", "her", "ere", "re>"]
    both = NgramBuckets(3, 6).ngrams("her")
    assert both == ["<he", "<her", "<her>", "her", "her>", "er>"]
    assert NgramBuckets(1, 2).ngrams("né") == ["<n", "n", "né", "é", "é>"]
    assert NgramBuckets(3, 6).ngrams("") == []


@pytest.mark.parametrize(("min_n", "max_n"), [(3, 6), (1, 3), (4, 4), (2, 9)])
def test_buckets_are_the_hashes_of_the_ngrams(min_n: int, max_n: int) -> None:
    cut = NgramBuckets(min_n, max_n, 1000)
    buckets, bounds = cut.of(WORDS)
    for number, word in enumerate(WORDS):
        expected = [fnv1a(ngram.encode()) % 1000 for ngram in cut.ngrams(word)]
        assert buckets[bounds[number] : bounds[number + 1]].tolist() == expected


@pytest.mark.parametrize("buckets", [7, 50_000, 2_000_000])
def test_parity_with_fasttext_buckets(buckets: int) -> None:
    for word in WORDS:
        theirs = ft_ngram_hashes(word, 3, 6, buckets)
        ours, _ = NgramBuckets(3, 6, buckets).of([word])
        assert sorted(ours.tolist()) == sorted(np.asarray(theirs).tolist())


def test_no_words() -> None:
    buckets, bounds = NgramBuckets().of([])
    assert len(buckets) == 0 and bounds.tolist() == [0]
