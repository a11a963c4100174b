"""One-hot vectors: all words equally unlike each other."""

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.embeddings.one_hot import OneHot, OneHotConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus


def one_hot(words: list[str]) -> WordVectors:
    size = len(words)
    stream = TokenStream(np.arange(size, dtype=np.int32), np.array([0, size]))
    corpus = WordCorpus(stream, Vocabulary(words, np.ones(size, dtype=np.int64)))
    return OneHot(OneHotConfig()).make(corpus, seed=0).vectors


def test_one_hot_golden() -> None:
    vectors = one_hot(["the", "cat", "sat", "on", "mat"])
    assert vectors.is_sparse
    assert vectors.matrix.toarray().tolist() == np.eye(5).tolist()
    assert vectors["on"].tolist() == [0, 0, 0, 1, 0]


def test_every_two_words_are_orthogonal_golden() -> None:
    vectors = one_hot(["star", "sun", "cat"])
    assert vectors.similarity("star", "sun") == 0
    assert vectors.similarity("sun", "cat") == 0
    assert vectors.similarity("sun", "sun") == 1


def test_space_grows_with_the_words_not_their_square() -> None:
    words = [f"w{number}" for number in range(100_000)]
    assert one_hot(words).matrix.shape == (100_000, 100_000)
    assert one_hot(words).bytes_per_word < 13
