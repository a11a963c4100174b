"""Word vectors out of a language model: its input embedding, read back as words.

The rows of the table belong to tokens. A word that is one token has that token's row; a word of several pieces the
mean of their rows (as if it were a small bag of pieces; the network itself reads them one after the other). A word
with a piece that the tokenizer does not know (UNK) has no vector.
"""

from pathlib import Path
from typing import Any

import numpy as np

from langladder.embeddings.base import WordVectors
from langladder.ground.errors import InputError
from langladder.models.base import LanguageModel
from langladder.models.neural import NeuralLanguageModel
from langladder.text.tokenize.specials import UNK
from langladder.text.tokenize.tokenizers import Tokenizer, word_pieces, word_tokens
from langladder.text.words.vocabulary import Vocabulary


def input_embedding(model_folder: Path, vocabulary: Vocabulary | None = None) -> WordVectors:
    """The input embedding of a saved language model as word vectors.

    Args:
        model_folder: holds config.json, model.safetensors and tokenizer.json.
        vocabulary: whose words, in whose order; None: the words that are one token, in the tokenizer's order.

    Raises:
        InputError: files are missing or damaged, the model has no input embedding, or no word is left.
    """
    folder = Path(model_folder)
    model = LanguageModel.load(folder)
    embedding = model.input_embedding() if isinstance(model, NeuralLanguageModel) else None
    if embedding is None:
        raise InputError(f"{folder}: a {type(model).__name__} has no input embedding, only neural language models have")
    tokenizer = Tokenizer.load(folder / "tokenizer.json")
    table = embedding.weight.detach().float().cpu().numpy()  # (tokens, D)
    if len(table) not in (tokenizer.vocab_size, tokenizer.full_vocab_size):  # the latter: with its reserved specials
        raise InputError(f"{folder}: the model has {len(table)} tokens, its tokenizer.json {tokenizer.vocab_size}")

    about: dict[str, Any] = {
        "method": f"input embedding of {type(model).__name__}",
        "config": model.config.model_dump(mode="json"),
    }
    if vocabulary is None:
        single = word_tokens(tokenizer)
        vectors = WordVectors(list(single.values()), table[list(single)], None, about)
    else:
        vectors = _of_vocabulary(table, tokenizer, vocabulary, about)
    if not len(vectors):
        raise InputError(f"{folder}: its tokenizer ({tokenizer.kind}) knows none of the words; give another vocabulary")
    return vectors


def _of_vocabulary(
    table: np.ndarray, tokenizer: Tokenizer, vocabulary: Vocabulary, about: dict[str, Any]
) -> WordVectors:
    pieces = word_pieces(tokenizer, vocabulary.words)
    known = np.array([len(ids) > 0 and UNK not in ids for ids in pieces], dtype=bool)
    pieces = [ids for ids, is_known in zip(pieces, known, strict=True) if is_known]
    lengths = np.array([len(ids) for ids in pieces], dtype=np.int64)
    words = [word for word, is_known in zip(vocabulary.words, known, strict=True) if is_known]
    matrix: np.ndarray = np.empty((0, table.shape[1]), dtype=np.float32)
    if words:
        starts = np.cumsum(lengths) - lengths
        # v(word) = (1/n) Σ_i E[piece_i]
        matrix = np.add.reduceat(table[np.concatenate(pieces)], starts) / lengths[:, None].astype(np.float32)
    about = about | {"words_of_one_token": int((lengths == 1).sum()), "words_left_out": int((~known).sum())}
    return WordVectors(words, matrix, vocabulary.counts[known], about)
