"""Documents of lines that belong together, made of a text whose lines need not.

Next sentences can be told only where a document's lines have something in common; those of microworld are independent
draws. Here lines that share their rarest token become a document, so what follows is known by what it is about, which
is most of what there is to know on real text, too (Lan et al. 2020, section 3.1).

Shape legend: L lines, P pairs of a line and one of its tokens.
"""

import numpy as np

from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS


def related(text: TokenStream) -> TokenStream:
    """The same lines, put into other documents; those that share no token with another line stand alone."""
    starts = np.flatnonzero(text.ids == BOS)  # (L,)
    ends = np.append(starts[1:], len(text.ids))
    keys = rarest_shared(text.ids, starts)
    order = np.argsort(keys, kind="stable")
    found = np.concatenate([text.ids[starts[line] : ends[line]] for line in order])
    first = np.append(True, (np.diff(keys[order]) != 0) | (keys[order][1:] < 0))  # of a document
    lengths = (ends - starts)[order]
    before = np.cumsum(lengths) - lengths
    return TokenStream(found, np.append(before[first], len(found)))


def rarest_shared(ids: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(L,) int64: of each line's tokens which other lines have, too, the one that fewest have; −1: there is none.

    Args:
        starts: (L,), where the lines begin.
    """
    line = np.searchsorted(starts, np.arange(len(ids)), side="right") - 1
    inner = (ids != BOS) & (ids != EOS)
    pairs = np.unique(np.stack([line[inner], ids[inner].astype(np.int64)], axis=1), axis=0)  # (P, 2)
    lines_with = np.bincount(pairs[:, 1])[pairs[:, 1]]  # (P,)
    pairs, lines_with = pairs[lines_with > 1], lines_with[lines_with > 1]
    pairs = pairs[np.lexsort((pairs[:, 1], lines_with, pairs[:, 0]))]
    of, first = np.unique(pairs[:, 0], return_index=True)
    keys = np.full(len(starts), -1, dtype=np.int64)
    keys[of] = pairs[first, 1]
    return keys
