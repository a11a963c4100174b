"""The input of networks, and the word vectors that their input tables start with. (Does not load Lightning.)

The table is trained like all other weights ("non-static"), or frozen with its random rows ("static"; Kim 2014,
"Convolutional Neural Networks for Sentence Classification", section 3.1).

In networks that read whole texts, each word or subword with a vector starts with it; all others keep their random
values. All vectors are multiplied by one number, so that their scale fits the network: trained vectors are often many
times longer, and would then change too little. Words with a vector that are in no training text also get a row, because
a test text can have them.

Shape legend: V ids, D dimensions of the table, N rows with a vector.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import nn

from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import Damage, InputError
from langladder.models.network import Network
from langladder.models.units import SubwordUnits, Units, WordUnits
from langladder.tasks.settings import ReadingInput
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import NAMES
from langladder.text.tokenize.tokenizers import Tokenizer, word_tokens
from langladder.text.words.normalisation import lower, lower_of

Table = tuple[np.ndarray, np.ndarray]
"""Vectors (V, D) float32, 0 for ids without one, and (V,) bool for ids with one."""


def units_for(
    settings: ReadingInput,
    train: Sequence[Example],
    *,
    tokenizer: Path | None = None,
    vectors: Path | WordVectors | None = None,
    damage: Damage | None = None,
    language: str | None = None,
) -> tuple[Units, Table | None]:
    """The units of a rung, and the vectors of its ids if it starts with word vectors.

    Args:
        tokenizer: of the text, for subwords. vectors: the initial vectors, or their path, instead of those in the
            settings.
        damage: counts damaged entries of the vector file; None: uses the policy of the settings.
        language: of the training texts, a BCP 47 tag; lower case depends on it.

    Raises:
        InputError: no word is left, subwords have no tokenizer, or the vectors cannot be read or share no word.
    """
    if isinstance(vectors, WordVectors):
        results: WordVectors | None = vectors
    else:
        path = vectors or settings.vectors
        results = None if path is None else read_vectors(Path(path), damage or Damage(settings.damaged))
    if settings.units == "subwords":
        if tokenizer is None:
            raise InputError("input.units=subwords: needs the tokenizer of the text; set input.units to words")
        units: Units = SubwordUnits(Tokenizer.load(tokenizer))
    else:
        texts = [text for example in train for text in (example.text, example.second) if text is not None]
        treed = any(example.tree is not None or example.heads is not None for example in train)
        units = WordUnits.of(
            texts,
            mode="whitespace" if treed else settings.words,
            lowercase=lower_of(settings.lowercase, language),
            min_count=settings.min_count,
        )
    if results is None:
        return units, None
    if not table_of(units, results)[1].any():
        named = "the vectors given have" if isinstance(vectors, WordVectors) else f"{vectors or settings.vectors} has"
        raise InputError(f"input.vectors: {named} a vector for no word of the training texts")
    if isinstance(units, WordUnits):
        units = units.with_words(results.words)
    return units, table_of(units, results)


def table_of(units: Units, vectors: WordVectors) -> Table:
    """The vector of each id: that of the word itself, or else of the word in another case."""
    if isinstance(units, SubwordUnits):
        names = word_tokens(units.tokenizer)
    else:
        assert isinstance(units, WordUnits)
        names = dict(enumerate(units.words, start=len(NAMES)))
    how = units.lowercase if isinstance(units, WordUnits) and units.lowercase else True
    folded = spellings(vectors, partial(lower, how=how))
    table = np.zeros((units.full_vocab_size, vectors.matrix.shape[1]), dtype=np.float32)
    covered = np.zeros(units.full_vocab_size, dtype=bool)
    for token, name in names.items():
        known = name if name in vectors else folded.get(lower(name, how))
        if known is not None:
            table[token], covered[token] = vectors[known], True
    return table, covered


def spellings(vectors: WordVectors, fold: Callable[[str], str]) -> dict[str, str]:
    """Folded word → its word in the vectors. Of several spellings, the most frequent one, which comes first."""
    results: dict[str, str] = {}
    for word in vectors.words:
        results.setdefault(fold(word), word)
    return results


def start_embedding(
    model: Network, embedding: nn.Embedding, rows: np.ndarray, vectors: np.ndarray, *, frozen: bool, path: str = ""
) -> None:
    """E[rows] ← vectors in an input table of the model, in place. If frozen, the whole table is not trained.

    Call it before training and before a checkpoint is read back.

    Args:
        rows: (N,) int64; vectors: (N, D). path: their file, for messages.

    Raises:
        InputError: their dimension differs from the table's; or the table is frozen, but it is also the output layer.
    """
    check_dimension(model, embedding, vectors.shape[1], path)
    with torch.no_grad():
        embedding.weight[torch.from_numpy(rows)] = torch.from_numpy(vectors).to(embedding.weight)
    sharing = [name for name, part in model.named_parameters(remove_duplicate=False) if part is embedding.weight]
    if frozen and len(sharing) > 1:
        raise InputError(
            f"input.frozen=true, but model.tie_weights=true makes this table ({' = '.join(sharing)}) also the output "
            "layer, which must be trained: set model.tie_weights to false, or input.frozen to false"
        )
    embedding.weight.requires_grad_(not frozen)


def check_dimension(model: Network, embedding: nn.Embedding, dim: int, path: str = "") -> None:
    """Raise InputError, naming the settings' key, unless vectors of `dim` fit the table."""
    if dim != embedding.embedding_dim:
        key = "embedding_dim" if "embedding_dim" in type(model.config).model_fields else "width"
        raise InputError(
            f"input.vectors: {path and f'{path} has '}vectors of dimension {dim}, but the model's input embedding has "
            f"{embedding.embedding_dim}: set model.{key} to {dim}, or name vectors of {embedding.embedding_dim}"
        )


def start_from_table(model: Network, table: Table | None, *, frozen: bool, spread: float | None = None) -> None:
    """Start the input table of a classifier with vectors, see `table_of` and `start_embedding`.

    Args:
        spread: standard deviation of the table's numbers; None: D^−½, that of its random rows.
    """
    if table is None:
        return
    embedding = model.embedding
    assert isinstance(embedding, nn.Embedding)
    vectors, covered = table[0][table[1]], table[1]  # (N, D), (V,)
    check_dimension(model, embedding, vectors.shape[1])
    wanted = embedding.embedding_dim**-0.5 if spread is None else spread
    with torch.no_grad():
        embedding.weight[torch.from_numpy(~covered)] *= wanted * embedding.embedding_dim**0.5
    # E ← v · s / std(v)
    scaled = vectors * (wanted / max(float(vectors.std()), 1e-12))
    start_embedding(model, embedding, np.flatnonzero(covered), scaled, frozen=frozen)
    if embedding.padding_idx is not None:
        with torch.no_grad():
            embedding.weight[embedding.padding_idx] = 0.0
