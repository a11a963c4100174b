"""Which words of a text a model has never met, and what it reads instead."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from langladder.answers.unknown import Lexicon, lexicon_of, unknown_words, words_of
from langladder.embeddings.base import WordVectors
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.faces.explorer import small_readers

LINES = ["the cat sees the old king .", "the king was awful ."]
MET = words_of(LINES, "auto")


def test_reading_ends_when_all_wanted_words_were_found() -> None:
    read: list[str] = []

    def lines() -> Iterator[str]:
        for line in ("the cat", "the king", "a dog"):
            read.append(line)
            yield line

    assert words_of(lines(), "auto", frozenset({"the", "king"})) == {"the", "king"} and len(read) == 2
    assert words_of(LINES, "auto", frozenset({"king", "zebra"})) == {"king"}
    assert words_of(LINES, "auto", frozenset()) == set()


@pytest.fixture(scope="module")
def pieces() -> Tokenizer:
    return train_tokenizer(LINES, TokenizerConfig(kind="bpe_bytes", vocab_size=300))


def texts(coverage: dict) -> list[str]:
    return [word["text"] for word in coverage["unknown"]]


def test_a_word_that_training_lacks_is_unknown_however_it_is_cut(pieces: Tokenizer) -> None:
    result = unknown_words("The movie was awful\nmovie", Lexicon(None, pieces), MET)
    assert texts(result) == ["The", "movie"] and (result["words"], result["count"]) == (5, 3)
    the, movie = result["unknown"]
    assert the["written"] == "the" and movie["written"] is None
    assert "".join(movie["pieces"]) == "movie" and len(movie["pieces"]) > 1
    assert not unknown_words(LINES[0], Lexicon(None, pieces), MET)["unknown"]


def test_without_the_training_text_only_what_has_no_token_is_unknown(pieces: Tokenizer) -> None:
    assert not unknown_words("the movie", Lexicon(None, pieces))["unknown"]
    words = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    result = unknown_words("the movie was", Lexicon(None, words))
    assert result["unknown"] == [{"text": "movie", "pieces": ["<unk>"], "written": None}]


def test_a_model_with_a_list_of_words_says_what_it_has(tmp_path: Path) -> None:
    small_readers.classifiers(tmp_path)
    small_readers.tagger(tmp_path)
    lexicon = lexicon_of(tmp_path / "classifier" / "attentive")
    assert lexicon.listed == {"good", "bad", "film", "not", "."} and lexicon.lowercase
    assert texts(unknown_words("A GOOD movie .", lexicon)) == ["A", "movie"]
    assert lexicon_of(tmp_path / "classifier" / "logistic").listed is None  # it keeps features
    assert texts(unknown_words("the movie", lexicon_of(tmp_path / "tagger" / "hmm"))) == ["movie"]
    WordVectors(["king", "cat"], np.eye(2, dtype=np.float32)).save(tmp_path / "svd")
    assert texts(unknown_words("king queen", lexicon_of(tmp_path / "svd"))) == ["queen"]


def test_small_letters_and_digits_as_the_model_reads_them() -> None:
    folds = Lexicon(frozenset({"the", "00"}), None, lowercase=True, digits=True)
    assert not unknown_words("The 42 <mask>", folds)["unknown"]
    assert unknown_words("", folds) == {"words": 0, "count": 0, "unknown": []}
