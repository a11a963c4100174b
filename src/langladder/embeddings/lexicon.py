"""Lexicon vectors: a word as the synonym sets it belongs to and everything above them, as WordNet lists them by hand.

    x_w[a] = 1/|S(w)| Σ_{s ∈ S(w)} [a = s or a above s] · √g(a)          S(w): the senses of w

so that words are alike by what they both are kinds of. For two words of one sense each, in a lexicon that is a tree,

    flat, g = 1:                                       cos = depth(c) / √(depth(v) depth(w))
    information, g(a) = IC(a) − max IC(hypernym):      cos = IC(c) / √(IC(v) IC(w)),     IC(a) = −log P(a)

with c the lowest set above both, and P(a) the share of the text's words with a sense at or below a (a word's count is
shared out among its senses; Resnik 1995). These are the measures of Wu & Palmer (1994) and of Lin (1998), with the
geometric mean below the line where they have the arithmetic one.

What it cannot do shows: words without an entry have a zero vector, and `about["coverage"]` says how many of the text's
words and which those are; words of one set have one vector; and the text teaches it no new sense.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.sparse import csr_matrix

from langladder.embeddings.base import WordVectors
from langladder.embeddings.method import EmbeddingMethod, Progress, TrainedVectors
from langladder.embeddings.synsets import Synset, Synsets
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.vocabulary import Vocabulary, WordCorpus
from microworld.truth import synonym_sets

MISSING = 20  # how many words without an entry are named, most frequent first


class LexiconConfig(Config):
    """Settings of lexicon vectors."""

    lexicon: str = Field(default="microworld", min_length=1)  # microworld, wordnet (NLTK's), or a lexicon file's path
    weighting: Literal["flat", "information"] = "flat"  # g: equal weights, or by information


class LexiconVectors(EmbeddingMethod[LexiconConfig]):
    """Sparse rows, one column a synonym set in use."""

    approach = "without text"
    Config: ClassVar[type[Config]] = LexiconConfig

    @classmethod
    def also_given(cls, config: schema.Config) -> str:
        """The inputs: the lexicon, and only the vocabulary of the text."""
        del config
        return "a lexicon"

    def warm_up(self, corpus: WordCorpus) -> None:
        """Nothing is compiled."""

    def make(self, corpus: WordCorpus, *, seed: int, progress: Progress = print) -> TrainedVectors:
        """Look up the vocabulary. Nothing is trained, and nothing is random.

        Raises:
            InputError: the lexicon cannot be read, or has none of the vocabulary's words.
        """
        config = self.config
        vocabulary = corpus.vocabulary
        lexicon = open_lexicon(config.lexicon, vocabulary.words)
        senses = {word: results for word in vocabulary.words if (results := lexicon.senses(word))}
        if not senses:
            raise InputError(f"lexicon: {config.lexicon} has none of the text's {len(vocabulary):,} words")
        above = {key: list(lexicon.distances(key)) for keys in senses.values() for key in keys}
        gains = information_gains(lexicon, vocabulary, senses, above) if config.weighting == "information" else None
        known = coverage(vocabulary, senses)
        types, tokens = known["types"], known["tokens"]
        progress(f"lexicon {config.lexicon}: has {types:.1%} of the words, {tokens:.1%} of the running words")
        matrix = _rows(vocabulary.words, senses, above, gains)
        about = self.about(seed) | {"coverage": known}
        return TrainedVectors(WordVectors(vocabulary.words, matrix, vocabulary.counts, about))


def open_lexicon(name: str, words: list[str]) -> Synsets:
    """The lexicon for its name in the settings.

    Args:
        words: the words to look up in WordNet.

    Raises:
        InputError: the file does not exist or is malformed.
    """
    if name == "microworld":
        return Synsets({key: Synset(tuple(known), tuple(above)) for key, known, above in synonym_sets()})
    if name == "wordnet":
        return Synsets.of_wordnet(words)
    return Synsets.read(Path(name))


def coverage(vocabulary: Vocabulary, senses: Mapping[str, list[str]]) -> dict[str, object]:
    """The share of a text in the lexicon.

    Returns:
        types, tokens: shares of the different and of the running words with an entry; senses: mean number of those that
        have one; missing: the most frequent words without.
    """
    known = np.array([word in senses for word in vocabulary.words])
    counts = vocabulary.counts
    return {
        "types": round(float(known.mean()), 6),
        "tokens": round(float(counts[known].sum() / counts.sum()), 6),
        "senses": round(sum(map(len, senses.values())) / len(senses), 6),
        "missing": [word for word in vocabulary.words if word not in senses][:MISSING],
    }


def information_gains(
    lexicon: Synsets, vocabulary: Vocabulary, senses: Mapping[str, list[str]], above: Mapping[str, list[str]]
) -> dict[str, float]:
    """g(a) = IC(a) − max IC(hypernym) of every set in use, in nats; IC is relative to the words that have an entry."""
    mass: dict[str, float] = {}
    for word, keys in senses.items():
        share = float(vocabulary.counts[vocabulary.index[word]]) / len(keys)
        for key in keys:
            for a in above[key]:
                mass[a] = mass.get(a, 0.0) + share
    total = sum(float(vocabulary.counts[vocabulary.index[word]]) for word in senses)
    content = {a: -math.log(value / total) for a, value in mass.items()}
    return {
        a: max(0.0, content[a] - max((content[h] for h in lexicon.sets[a].hypernyms), default=0.0)) for a in content
    }


def _rows(
    words: list[str], senses: Mapping[str, list[str]], above: Mapping[str, list[str]], gains: Mapping[str, float] | None
) -> csr_matrix:
    """(V, sets in use) float32."""
    column: dict[str, int] = {}
    bounds, columns, values = [0], [], []
    for word in words:
        row: dict[str, float] = {}
        for key in senses.get(word, []):
            for a in above[key]:
                row[a] = row.get(a, 0.0) + 1 / len(senses[word])
        for a, share in row.items():
            weight = share if gains is None else share * math.sqrt(gains[a])
            if weight:
                columns.append(column.setdefault(a, len(column)))
                values.append(weight)
        bounds.append(len(columns))
    arrays = np.array(values, dtype=np.float32), np.array(columns, dtype=np.int32), np.array(bounds, dtype=np.int32)
    matrix = csr_matrix(arrays, shape=(len(words), len(column)))
    matrix.sort_indices()
    return matrix
