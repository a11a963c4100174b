"""WikiText-2 as one stream of word ids, as KenLM's lmplz reads it: words between white space, a line a sentence."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from public_data import find, read

from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, NAMES


def split_text(data: Path, split: str) -> bytes:
    """The split `train`, `valid` or `test`.

    Raises:
        Missing: the folder of public sets does not hold it.
    """
    return read(find(data, f"wikitext-2/{split}.txt"))


def word_ids(text: bytes, known: list[str] | None = None) -> tuple[np.ndarray, list[str]]:
    """Number the words of a text by their first occurrence, lines as BOS … EOS, blank ones left out.

    Args:
        known: the words that have ids already, from id 4 on.

    Returns:
        (T,) int32 ids, and all words from id 4 on.
    """
    whole = pa.array([text], pa.binary()).cast(pa.large_string())
    lines = pc.utf8_trim(pc.split_pattern(whole, "\n").values, " ")
    lines = lines.filter(pc.greater(pc.binary_length(lines), 0))
    split = pc.ascii_split_whitespace(lines)
    words = pa.concat_arrays([pa.array(known or [], pa.large_string()), split.values]).dictionary_encode()
    numbers = words.indices.to_numpy()[len(known or []) :] + len(NAMES)  # (words,)

    lengths = np.diff(split.offsets.to_numpy())
    ends = np.cumsum(lengths + 2)  # a line takes two places more
    ids = np.empty(int(ends[-1]), dtype=np.int32)
    inner = np.ones(len(ids), dtype=np.bool_)
    inner[ends - 1] = inner[ends - lengths - 2] = False
    ids[ends - 1], ids[ends - lengths - 2], ids[inner] = EOS, BOS, numbers
    return ids, words.dictionary.to_pylist()


def stream(ids: np.ndarray) -> TokenStream:
    """The whole text as one document."""
    return TokenStream(ids, np.array([0, len(ids)]))
