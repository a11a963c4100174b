"""n-gram counts: the numbers of a hand-counted text, brute force, and refused texts."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from langladder.counts.ngram_pieces import Pieces, continuation_counts
from langladder.counts.ngrams import count_ngrams
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import BOS, EOS

# Four sentences, one symbol a word: 我爱吃苹果 / 我爱吃香蕉 / 我喜欢苹果 / 他爱吃苹果 (WE: 我)
WE, LOVE, EAT, APPLE, BANANA, LIKE, HE = range(4, 11)
SENTENCES = [[WE, LOVE, EAT, APPLE], [WE, LOVE, EAT, BANANA], [WE, LIKE, APPLE], [HE, LOVE, EAT, APPLE]]


def stream(sentences: list[list[int]]) -> np.ndarray:
    return np.array([word for sentence in sentences for word in [BOS, *sentence, EOS]], dtype=np.int32)


def random_lines(seed: int, vocab_size: int = 9, lines: int = 60) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return stream([rng.integers(4, vocab_size, rng.integers(0, 7)).tolist() for _ in range(lines)])


def all_ngrams(ids: np.ndarray, order: int) -> list[tuple[int, ...]]:
    result = []
    for t, word in enumerate(ids):
        gram = tuple(ids[max(0, t - order + 1) : t + 1].tolist())
        if len(gram) == order and (order == 1 or (word != BOS and BOS not in gram[1:])):
            result.append(gram)
    return result


def test_maximum_likelihood_golden() -> None:
    counts = count_ngrams(stream(SENTENCES), 3, 11)
    assert counts.count([WE, LOVE]) / counts.count([WE]) == pytest.approx(2 / 3)
    assert counts.count([WE, LIKE]) / counts.count([WE]) == pytest.approx(1 / 3)
    assert counts.count([LOVE, EAT, APPLE]) / counts.count([LOVE, EAT]) == pytest.approx(2 / 3)
    assert counts.count([LOVE, EAT, HE]) == 0
    # P(我 爱 吃 苹果) by bigrams, the 15 words as the unigram total
    chain = 3 / 15 * 2 / 3 * 3 / 3 * counts.count([EAT, APPLE]) / counts.count([EAT])
    assert chain == pytest.approx(0.0888889, abs=1e-7)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 6])
def test_counts_equal_brute_force(order: int) -> None:
    ids = random_lines(order)
    counts = count_ngrams(ids, order, 9)
    assert counts.order == order and counts.vocab_size == 9
    for n in range(1, order + 1):
        expected = Counter(all_ngrams(ids, n))
        level = counts.level(n)
        if n > 1:
            assert level.stop - level.start == len(expected)
        assert counts.counts[level].sum() == sum(expected.values())
        for gram, count in expected.items():
            assert counts.count(list(gram)) == count
            assert counts.suffixes[counts.number(list(gram))] == (counts.number(list(gram[1:])) if n > 1 else -1)


def test_continuation_counts_equal_brute_force() -> None:
    ids = random_lines(7)
    counts = count_ngrams(ids, 3, 9)
    adjusted = np.concatenate([continuation_counts(Pieces(counts), order) for order in (1, 2, 3)])
    for n in (1, 2):
        companions = defaultdict(set)
        for gram in all_ngrams(ids, n + 1):
            companions[gram[1:]].add(gram[0])
        for gram, count in Counter(all_ngrams(ids, n)).items():
            plain = gram[0] == BOS
            expected = (0 if n == 1 else count) if plain else len(companions[gram])
            assert adjusted[counts.number(list(gram))] == expected
    assert np.array_equal(adjusted[counts.level(3)], counts.counts[counts.level(3)])


def test_lines_are_apart() -> None:
    counts = count_ngrams(stream([[4, 5], [6, 7]]), 4, 8)
    assert counts.count([5, EOS]) == 1
    assert counts.count([EOS, BOS]) == 0
    assert counts.count([EOS, BOS, 6]) == 0
    assert counts.count([BOS, 6, 7, EOS]) == 1


@pytest.mark.parametrize(
    ("ids", "message"),
    [([], "no words"), ([4, 5, EOS], "opens with id 4"), ([BOS, 9, EOS], "id 9"), ([BOS, -1, EOS], "id -1")],
)
def test_bad_text_is_refused(ids: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        count_ngrams(np.array(ids, dtype=np.int32), 3, 8)
