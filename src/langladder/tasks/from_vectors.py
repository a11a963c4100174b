"""Training a sequence model whose input embedding starts with existing word vectors.

Each token that is a whole word starts with the vector of that word, unchanged (neither scaled nor centred). Every other
token, also a special one, keeps its random values. The table is then trained like all other weights, or frozen as a
whole, see `inputs`.

With tied weights the output layer is the same table: it also starts with the vectors, and cannot be frozen.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import Damage, InputError
from langladder.ground.schema import locate
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult
from langladder.tasks import language_modelling
from langladder.tasks.inputs import check_dimension, start_embedding
from langladder.tasks.settings import InputSettings, InputVectors, LMTrainingConfig, TunedSettings
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer, word_tokens


def start_from_vectors(
    model: NeuralLanguageModel, tokenizer: Tokenizer, settings: InputVectors, damage: Damage | None = None
) -> np.ndarray:
    """Copy word vectors into the model's input embedding, in place, and freeze it if requested.

    Call it before training and before a checkpoint is read back.

    Args:
        damage: counts damaged entries of the vector file; None: uses the policy of the settings.

    Returns:
        covered (V,) bool: the tokens that start with a vector; none if `settings.vectors` is null.

    Raises:
        InputError: the model has no input embedding or another dimension, shares no word with the vectors, or is frozen
            with tied weights.
    """
    if settings.vectors is None:
        return np.zeros(tokenizer.vocab_size, dtype=bool)
    embedding = model.input_embedding()
    if embedding is None:
        raise InputError(f"input.vectors: a {type(model).__name__} has no input embedding to put word vectors into")
    vectors = read_vectors(Path(settings.vectors), damage or Damage(settings.damaged))
    check_dimension(model, embedding, vectors.matrix.shape[1], settings.vectors)
    words = {token: word for token, word in word_tokens(tokenizer).items() if word in vectors}
    if not words:
        raise InputError(
            f"input.vectors: {settings.vectors} has a vector for none of the words that tokenizer {tokenizer.kind!r} "
            "writes as one token; make the vectors from the same text, or choose a tokenizer with whole words"
        )
    rows = np.array(list(words))  # (N,)
    results = np.stack([vectors[word] for word in words.values()]).astype(np.float32)  # (N, D)
    start_embedding(model, embedding, rows, results, frozen=settings.frozen, path=settings.vectors)
    covered = np.zeros(tokenizer.vocab_size, dtype=bool)
    covered[rows] = True
    return covered


def make(
    model: NeuralLanguageModel,
    tokenizer: Tokenizer,
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: InputSettings[InputVectors, LMTrainingConfig],
    run: Run,
) -> TrainingResult:
    """Start with the vectors of `settings.input`, then train; see `models.making`."""
    damage = Damage(settings.input.damaged)
    start_from_vectors(model, tokenizer, settings.input, damage)
    result = language_modelling.make(model, tokenizer, train, validation, settings=settings, run=run)
    return replace(result, vectors_skipped=sum(damage.counts.values()))


def make_tuned(
    base: Path, tokenizer: Tokenizer, train: TokenStream, validation: TokenStream, *, settings: TunedSettings, run: Run
) -> tuple[NeuralLanguageModel, TrainingResult]:
    """A language model with the rung's settings that starts with the word vectors of the rung in `base`; see `make`."""
    assert settings.target is not None  # word vectors are not a network
    model: NeuralLanguageModel = locate(settings.target)(settings.model, tokenizer.vocab_size)
    start_from_vectors(model, tokenizer, InputVectors(vectors=str(base)))
    return model, language_modelling.make(model, tokenizer, train, validation, settings=settings, run=run)
