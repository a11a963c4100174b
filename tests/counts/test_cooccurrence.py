"""Co-occurrence counts: the worked matrices, brute force over every setting, symmetry, storage."""

from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix

from langladder.counts import cooccurrence
from langladder.counts.cooccurrence import CooccurrenceConfig, DocumentCounting, count_cooccurrence
from langladder.counts.stored import read_sparse, write_sparse
from langladder.ground.artefacts import write_arrays
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

WORDS = ["I", "like", "enjoy", "deep", "learning", "NLP", "flying", "."]
LINES = ["I like deep learning .", "I like NLP .", "I enjoy flying ."]
WINDOW_2 = [
    [0, 2, 1, 1, 0, 1, 1, 0],
    [2, 0, 0, 1, 1, 1, 0, 1],
    [1, 0, 0, 0, 0, 0, 1, 1],
    [1, 1, 0, 0, 1, 0, 0, 1],
    [0, 1, 0, 1, 0, 0, 0, 1],
    [1, 1, 0, 0, 0, 0, 0, 1],
    [1, 0, 1, 0, 0, 0, 0, 1],
    [0, 1, 1, 1, 1, 1, 1, 0],
]
WINDOW_1 = [
    [0, 2, 1, 0, 0, 0, 0, 0],
    [2, 0, 0, 1, 0, 1, 0, 0],
    [1, 0, 0, 0, 0, 0, 1, 0],
    [0, 1, 0, 0, 1, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, 1],
    [0, 1, 0, 0, 0, 0, 0, 1],
    [0, 0, 1, 0, 0, 0, 0, 1],
    [0, 0, 0, 0, 1, 1, 1, 0],
]


def encode(lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
    rows = [[WORDS.index(word) for word in line.split()] for line in lines]
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return np.array([word for row in rows for word in row], dtype=np.int32), offsets


def brute_force(ids: np.ndarray, offsets: np.ndarray, vocab_size: int, config: CooccurrenceConfig) -> np.ndarray:
    counts = np.zeros((vocab_size, vocab_size))
    for first, last in pairwise(offsets):
        for t, s in product(range(first, last), repeat=2):
            distance = abs(s - t)
            wanted = {"symmetric": True, "left": s < t, "right": s > t}[config.sides]
            if wanted and 1 <= distance <= config.window:
                counts[ids[t], ids[s]] += 1 if config.weighting == "flat" else 1 / distance
    return counts


@pytest.mark.parametrize(("window", "expected"), [(2, WINDOW_2), (1, WINDOW_1)])
def test_window_counts_golden(window: int, expected: list[list[int]]) -> None:
    counts = count_cooccurrence(*encode(LINES), 8, CooccurrenceConfig(window=window))
    assert counts.toarray().tolist() == expected


def test_singular_values_golden() -> None:
    counts = count_cooccurrence(*encode(LINES), 8, CooccurrenceConfig(window=2))
    values = np.linalg.svd(counts.toarray(), compute_uv=False)
    expected = [4.603135, 2.997820, 1.776154, 1.384665, 1.051734, 1.000000, 0.803020, 0.034889]
    assert values.tolist() == pytest.approx(expected, abs=1e-6)


def test_counts_leave_read_only_ids_as_they_are() -> None:
    ids, offsets = np.array([2, 0, 1, 0], dtype=np.int32), np.array([0, 4])
    ids.setflags(write=False)
    text = WordCorpus(TokenStream(ids, offsets), Vocabulary(list("abc"), np.array([2, 1, 1])))
    assert DocumentCounting().count(text).toarray().ravel().tolist() == [2, 1, 1]
    assert count_cooccurrence(ids, offsets, 3).sum() > 0
    assert ids.tolist() == [2, 0, 1, 0]


def test_term_document_golden() -> None:
    ids, offsets = encode(LINES)
    counts = DocumentCounting().count(WordCorpus(TokenStream(ids, offsets), Vocabulary(WORDS, np.bincount(ids))))
    expected = [[1, 1, 1], [1, 1, 0], [0, 0, 1], [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    assert counts.toarray().tolist() == expected


@given(
    seed=st.integers(0, 10_000),
    window=st.integers(1, 8),
    sides=st.sampled_from(["symmetric", "left", "right"]),
    weighting=st.sampled_from(["flat", "inverse_distance"]),
)
@settings(max_examples=60, deadline=None)
def test_counts_equal_brute_force(seed: int, window: int, sides: str, weighting: str) -> None:
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 12, rng.integers(0, 9)))])
    ids = rng.integers(0, 6, offsets[-1]).astype(np.int32)
    config = CooccurrenceConfig(window=window, sides=sides, weighting=weighting)  # type: ignore[arg-type]
    counts = count_cooccurrence(ids, offsets, 7, config)
    expected = brute_force(ids, offsets, 7, config)
    if weighting == "flat":
        assert np.array_equal(counts.toarray(), expected)
    else:  # equal but for the order of the sums
        np.testing.assert_allclose(counts.toarray(), expected, rtol=1e-14)
    assert counts.has_canonical_format and (counts.data > 0).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_many_words_parity_with_scipy(threads: int) -> None:
    words, window = 20_000, 3
    rng = np.random.default_rng(1)
    ids = np.concatenate([rng.zipf(1.2, 60_000) % words, rng.integers(0, words, 20_000), [words - 1, 0, words - 1]])
    counts = count_cooccurrence(ids, np.array([0, len(ids)]), words, CooccurrenceConfig(window=window), threads=threads)
    expected = csr_matrix((words, words))
    for distance in range(1, window + 1):
        pairs = (np.ones(len(ids) - distance), (ids[:-distance], ids[distance:]))
        expected += coo_matrix(pairs, shape=expected.shape) + coo_matrix(pairs, shape=expected.shape).T
    expected.sort_indices()
    assert np.array_equal(counts.indptr, expected.indptr)
    assert np.array_equal(counts.indices, expected.indices)
    assert np.array_equal(counts.data, expected.data)


def test_the_widest_window() -> None:
    ids = np.random.default_rng(0).integers(0, 5, 2_600).astype(np.int32)
    counts = count_cooccurrence(ids, np.array([0, 100, 2_600]), 5, CooccurrenceConfig(window=1_000))
    expected = np.zeros((5, 5))
    for line in (ids[:100], ids[100:]):
        before = np.concatenate([np.zeros((1, 5)), np.cumsum(np.eye(5)[line], axis=0)])  # how often each word stood
        for t, word in enumerate(line):
            expected[word] += before[min(t + 1_001, len(line))] - before[max(t - 1_000, 0)] - np.eye(5)[word]
    assert np.array_equal(counts.toarray(), expected)


def test_sides_are_each_others_transpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "PAIRS_AT_ONCE", 30_000)  # so that the text is counted in several parts
    rng = np.random.default_rng(0)
    ids = np.minimum(rng.zipf(1.3, 20_000) - 1, 299).astype(np.int32)
    offsets = np.arange(0, 20_001, 20)
    left, right, both = (
        count_cooccurrence(ids, offsets, 300, CooccurrenceConfig(window=4, sides=sides))
        for sides in ("left", "right", "symmetric")
    )
    assert (left != right.T).nnz == 0  # type: ignore[attr-defined, comparison-overlap]
    assert (both != left + right).nnz == 0  # type: ignore[attr-defined, comparison-overlap]
    assert (both != both.T).nnz == 0  # type: ignore[attr-defined, comparison-overlap]
    per_line = 2 * (19 + 18 + 17 + 16)
    assert both.sum() == 1000 * per_line


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_roundtrip_and_same_bytes(tmp_path: Path, dtype: type[np.signedinteger]) -> None:
    ids, offsets = encode(LINES)
    counts = count_cooccurrence(ids.astype(dtype), offsets, 8)
    write_sparse(tmp_path / "one.safetensors", counts)
    write_sparse(tmp_path / "two.safetensors", count_cooccurrence(ids, offsets, 8))
    assert (read_sparse(tmp_path / "one.safetensors") != counts).nnz == 0  # type: ignore[attr-defined, comparison-overlap]
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()


def test_bad_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="ids 0 … 4"):
        count_cooccurrence(np.array([1, 5]), np.array([0, 2]), 5)
    with pytest.raises(ValueError, match="window"):
        CooccurrenceConfig(window=0)
    write_arrays(tmp_path / "other.safetensors", {"vectors": np.zeros(3)})
    with pytest.raises(InputError, match="not a sparse matrix"):
        read_sparse(tmp_path / "other.safetensors")


@pytest.mark.parametrize("sides", ["symmetric", "left", "right"])
def test_threads_leave_the_counts_as_they_are(sides: str) -> None:
    rng = np.random.default_rng(0)
    ids = np.minimum(rng.zipf(1.3, 20_000) - 1, 299).astype(np.int32)
    offsets = np.array([0, 0, 15_000, 15_007, 20_000])  # an empty line, and one that the threads share
    config = CooccurrenceConfig(window=7, sides=sides, weighting="inverse_distance")  # type: ignore[arg-type]
    item, *others = (count_cooccurrence(ids, offsets, 300, config, threads=threads) for threads in (1, 2, 5))
    for other in others:
        assert item.data.tobytes() == other.data.tobytes()
        assert np.array_equal(item.indices, other.indices) and np.array_equal(item.indptr, other.indptr)
