"""Word vectors that experiments train on the unlabelled text: skip-gram with negative sampling (`embeddings.word2vec`).

They are scaled to D^−½, the standard deviation of a random input table. So only the positions of words differ from such
a table, and not the scale of the network's input.
"""

from dataclasses import replace
from itertools import islice

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.experiments.experiment import Data
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.segmentation import conventions_of
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, WordCorpus


def small_vectors(data: Data, *, dim: int, epochs: int, lines: int, seed: int) -> WordVectors:
    """Vectors of the words of the first lines of the training text.

    Args:
        lines: maximum number of lines.

    Raises:
        InputError: the text has fewer than two distinct words.
    """
    text = list(islice(data.lines("train"), lines))
    split = conventions_of(data.clean).split
    vocabulary = Vocabulary.build(text, VocabularyConfig(words="auto"), split)
    rows = [vocabulary.encode(split(line)) for line in text]
    if len(vocabulary) < 2:
        raise InputError(f"{data.clean}/train: {len(vocabulary)} words are too few for word vectors")
    stream = TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))
    settings = Word2VecConfig(dim=dim, epochs=epochs, window=5, lr=0.05, vectors="sum")
    vectors = Word2Vec(settings).make(WordCorpus(stream, vocabulary), seed=seed, progress=lambda _: None).vectors
    scale = dim**-0.5 / max(float(vectors.matrix.std()), 1e-12)
    return replace(vectors, matrix=(vectors.matrix * scale).astype(np.float32))
