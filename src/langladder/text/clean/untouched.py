"""Which lines no cleaning step changes, seen from the bytes of many lines at once.

Of a line of printable ASCII it is known which characters each step acts on. Lines with others go through the steps one
by one (`steps`), which is the rule; this is its short cut, and a test compares the two.
"""

import string

import numpy as np

from langladder.text.clean.line_words import SPACE, Bytes
from langladder.text.clean.steps import StepsConfig


def touched(lines: Bytes, config: StepsConfig) -> np.ndarray:
    """(L,) bool: lines that a step may change."""
    if config.contractions == "expand_slang":  # words without any mark
        return np.ones(len(lines.bounds) - 1, dtype=bool)
    data = lines.data
    marked = (data < SPACE) | (data > 126)
    for sign in _signs(config):
        marked |= data == sign
    if config.lowercase:
        marked |= (data >= ord("A")) & (data <= ord("Z"))
    found = np.zeros(len(lines.bounds) - 1, dtype=bool)
    if config.whitespace and len(data):
        blank = data == SPACE
        marked[1:] |= blank[1:] & blank[:-1]
        full = np.flatnonzero(np.diff(lines.bounds))
        found[full] = blank[lines.bounds[full]] | blank[lines.bounds[full + 1] - 1]
    found |= lines.any(np.flatnonzero(marked))
    return found


def _signs(config: StepsConfig) -> bytes:
    """ASCII characters without which the steps leave a line of ASCII as it is."""
    signs = "<&" if config.html else ""
    signs += ":." if config.url is not None else ""  # :// or www.
    signs += "@" if config.email is not None or config.handle is not None else ""
    signs += "'" if config.contractions == "expand" else ""
    signs += string.digits if config.digits != "keep" else ""
    signs += string.punctuation if config.punctuation != "keep" else ""
    return "".join(sorted(set(signs))).encode()
