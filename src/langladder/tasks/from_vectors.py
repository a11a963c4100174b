"""Training a sequence model that begins with word vectors made elsewhere, in its input embedding.

Each token that is a whole word begins with the vector of that word, as it is (neither scaled nor centred); every other
token, specials among them, keeps its random beginning. The table is then trained on like all else ("non-static"), or
frozen as a whole, the random rows with it ("static"; Kim 2014, "Convolutional Neural Networks for Sentence
Classification", section 3.1).

With tied weights the output layer is the same table: it begins with the vectors as well, and cannot be frozen.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import Damage, InputError
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import TrainingResult
from langladder.tasks import language_modelling
from langladder.tasks.settings import InputVectors
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer, word_tokens


def initial_table(tokenizer: Tokenizer, vectors: WordVectors, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of the tokens that are words with a vector.

    Returns:
        table (V, D) float32, 0 where not covered; covered (V,) bool.

    Raises:
        InputError: the vectors have another dimension than `dim`.
    """
    if vectors.matrix.shape[1] != dim:
        raise InputError(f"word vectors of dimension {vectors.matrix.shape[1]}, where {dim} is needed")
    table = np.zeros((tokenizer.vocab_size, dim), dtype=np.float32)
    covered = np.zeros(tokenizer.vocab_size, dtype=bool)
    for token, word in word_tokens(tokenizer).items():
        if word in vectors:
            table[token] = vectors[word]
            covered[token] = True
    return table, covered


def start_from_vectors(
    model: NeuralLanguageModel, tokenizer: Tokenizer, settings: InputVectors, damage: Damage | None = None
) -> np.ndarray:
    """Put word vectors into the model's input embedding, in place, and freeze it where asked to.

    Call it before training and before a checkpoint is read back.

    Args:
        damage: counts the damaged entries of the vectors; None: by the policy of the settings.

    Returns:
        covered (V,) bool: the tokens that begin with a vector; none where `settings.vectors` is null.

    Raises:
        InputError: no input embedding, another dimension, no word in common, or frozen with tied weights.
    """
    if settings.vectors is None:
        return np.zeros(tokenizer.vocab_size, dtype=bool)
    embedding = model.input_embedding()
    if embedding is None:
        raise InputError(f"input.vectors: a {type(model).__name__} has no input embedding to put word vectors into")
    vectors, dim = read_vectors(Path(settings.vectors), damage or Damage(settings.damaged)), embedding.embedding_dim
    if vectors.matrix.shape[1] != dim:
        key = "embedding_dim" if "embedding_dim" in type(model.config).model_fields else "width"
        raise InputError(
            f"input.vectors: {settings.vectors} has vectors of dimension {vectors.matrix.shape[1]}, but the model's "
            f"input embedding has {dim}: set model.{key} to {vectors.matrix.shape[1]}, or name vectors of {dim}"
        )
    table, covered = initial_table(tokenizer, vectors, dim)
    if not covered.any():
        raise InputError(
            f"input.vectors: {settings.vectors} has a vector for none of the words that tokenizer {tokenizer.kind!r} "
            "writes as one token; make the vectors from the same text, or choose a tokenizer with whole words"
        )
    with torch.no_grad():
        embedding.weight[torch.from_numpy(covered)] = torch.from_numpy(table[covered]).to(embedding.weight)
    if settings.frozen:
        _freeze(model, embedding.weight)
    return covered


def _freeze(model: NeuralLanguageModel, table: torch.Tensor) -> None:
    sharing = [name for name, part in model.named_parameters(remove_duplicate=False) if part is table]
    if len(sharing) > 1:
        raise InputError(
            f"input.frozen=true, but model.tie_weights=true makes this table ({' = '.join(sharing)}) the output layer "
            "too, which must learn: set model.tie_weights to false, or input.frozen to false"
        )
    table.requires_grad_(False)


def make(
    model: NeuralLanguageModel,
    tokenizer: Tokenizer,
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: Any,
    **others: Any,
) -> TrainingResult:
    """Begin with the vectors that `settings.input` names, then train; see `models.making`."""
    damage = Damage(settings.input.damaged)
    start_from_vectors(model, tokenizer, settings.input, damage)
    made = language_modelling.make(model, tokenizer, train, validation, settings=settings, **others)
    return made._replace(vectors_skipped=sum(damage.counts.values()))
