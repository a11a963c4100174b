"""What a network that reads whole texts reads them as, made from training texts; and word vectors to begin with.

Each word or subword with a vector begins with it; all others keep their random beginning. All vectors are multiplied by
one number, so that what the network reads is of the size that it was laid out for: trained vectors are often many times
longer, and then move too little. The table is trained on, or frozen as a whole (Kim 2014, section 3.1: "static").
Words that have a vector but are in no training text get a row too: a test text may hold them.

Shape legend: V ids, D dimensions of the table.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import Damage, InputError
from langladder.models.units import SubwordUnits, Units, WordUnits
from langladder.tasks.settings import ReadingInput
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import NAMES
from langladder.text.tokenize.tokenizers import Tokenizer, word_tokens
from langladder.text.words.normalisation import lower

Table = tuple[np.ndarray, np.ndarray]
"""Vectors (V, D) float32, 0 where there is none, and where there is one (V,) bool."""


def units_for(
    settings: ReadingInput,
    train: Sequence[Example],
    *,
    tokenizer: Path | None = None,
    vectors: Path | WordVectors | None = None,
    damage: Damage | None = None,
) -> tuple[Units, Table | None]:
    """The units of a rung, and the vectors of its ids where it begins with some.

    Args:
        tokenizer: of the text, for subwords. vectors: to begin with, or their path, instead of those that the settings
            name.
        damage: counts their damaged entries; None: by the policy of the settings.

    Raises:
        InputError: no word is left, subwords without a tokenizer, vectors that cannot be read or share no word.
    """
    if isinstance(vectors, WordVectors):
        found: WordVectors | None = vectors
    else:
        path = vectors or settings.vectors
        found = None if path is None else read_vectors(Path(path), damage or Damage(settings.damaged))
    if settings.units == "subwords":
        if tokenizer is None:
            raise InputError("input.units=subwords: needs the tokenizer of the text; set input.units to words")
        units: Units = SubwordUnits(Tokenizer.load(tokenizer))
    else:
        texts = [text for one in train for text in (one.text, one.second) if text is not None]
        treed = any(one.tree is not None or one.heads is not None for one in train)
        units = WordUnits.of(
            texts,
            mode="whitespace" if treed else settings.words,
            lowercase=settings.lowercase,
            min_count=settings.min_count,
        )
    if found is None:
        return units, None
    if not table_of(units, found)[1].any():
        named = "the vectors given have" if isinstance(vectors, WordVectors) else f"{vectors or settings.vectors} has"
        raise InputError(f"input.vectors: {named} a vector for no word of the training texts")
    if isinstance(units, WordUnits):
        units = units.with_words(found.words)
    return units, table_of(units, found)


def table_of(units: Units, vectors: WordVectors) -> Table:
    """The vector of each id, by the word as it stands or, failing that, in another case."""
    if isinstance(units, SubwordUnits):
        names = word_tokens(units.tokenizer)
    else:
        assert isinstance(units, WordUnits)
        names = dict(enumerate(units.words, start=len(NAMES)))
    folded: dict[str, str] = {}
    for word in vectors.words:  # the most frequent spelling of a word comes first
        folded.setdefault(lower(word), word)
    table = np.zeros((units.full_vocab_size, vectors.matrix.shape[1]), dtype=np.float32)
    covered = np.zeros(units.full_vocab_size, dtype=bool)
    for token, name in names.items():
        known = name if name in vectors else folded.get(lower(name))
        if known is not None:
            table[token], covered[token] = vectors[known], True
    return table, covered


def start_embedding(model: Any, table: Table | None, *, frozen: bool, spread: float | None = None) -> None:
    """Put vectors into the input table of a network (`embedding`), in place, and freeze it where asked to.

    Args:
        spread: standard deviation of the table's numbers; None: D^−½, as its random rows have.

    Raises:
        InputError: they have another dimension.
    """
    if table is None:
        return
    embedding: nn.Embedding = model.embedding
    vectors, covered = table
    if vectors.shape[1] != embedding.embedding_dim:
        raise InputError(
            f"input.vectors: vectors of dimension {vectors.shape[1]}, but model.embedding_dim is "
            f"{embedding.embedding_dim}: set it to {vectors.shape[1]}, or name vectors of {embedding.embedding_dim}"
        )
    known = torch.from_numpy(covered)
    with torch.no_grad():
        # E ← v · s / std(v)
        wanted = embedding.embedding_dim**-0.5 if spread is None else spread
        embedding.weight[~known] *= wanted * embedding.embedding_dim**0.5
        embedding.weight[known] = torch.from_numpy(
            vectors[covered] * (wanted / max(float(vectors[covered].std()), 1e-12))
        ).to(embedding.weight)
        if embedding.padding_idx is not None:
            embedding.weight[embedding.padding_idx] = 0.0
    embedding.weight.requires_grad_(not frozen)
