"""Which words a tokenizer writes as one token, and into which pieces it cuts the others.

A word is taken as it stands inside a line: byte-level BPE writes it with the space before it (`Ġcat`), Unigram with
its mark (`▁cat`), word BPE with its end (`cat</w>`). Whether such a token is a word of the language or only the
beginning of longer ones (`Ġmicro`) cannot be told from the tokenizer.
"""

from collections.abc import Sequence

import numpy as np

from langladder.text.tokenize.tokenizers import Tokenizer


def word_pieces(tokenizer: Tokenizer, words: Sequence[str]) -> list[np.ndarray]:
    """The tokens of each word as it stands inside a line: (length,) int32 ids each."""
    before = " " if tokenizer.kind == "bpe_bytes" else ""
    return tokenizer.encode_lines([before + word for word in words])


def word_tokens(tokenizer: Tokenizer) -> dict[int, str]:
    """Token → word, in the order of the ids, for each token that is the whole of a word; specials are none."""
    spelled = {token: tokenizer.decode([token]).strip() for token in tokenizer.ordinary}
    candidates = {token: word for token, word in spelled.items() if word and len(word.split()) == 1}
    pieces = word_pieces(tokenizer, list(candidates.values()))
    return {
        token: word
        for (token, word), ids_of_word in zip(candidates.items(), pieces, strict=True)
        if ids_of_word.tolist() == [token]
    }
