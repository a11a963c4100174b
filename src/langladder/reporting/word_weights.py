"""Words with their weights, as marks of the page: blue speaks for the label, red against it, the fuller the more.

Colour is not alone in telling the sign: a straight line stands under what speaks for the label, a wavy one under what
speaks against it, and the number is told under the mouse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langladder.text.tokenize.specials import RESERVED

LEVELS = 4  # of colour; what has less than half of the first is plain
SEPARATOR = "‖"  # between the two texts of a pair


@dataclass(frozen=True)
class Mark:
    """A piece of a text: its weight as shown, and its class on the page; both empty where it hardly counts."""

    text: str
    weight: str = ""
    kind: str = ""


def marked(pieces: Sequence[str], weights: Sequence[float]) -> list[Mark]:
    """The pieces with their weights, the largest of the text in full colour."""
    most = max(map(abs, weights), default=0.0)
    return list(_marks(pieces, weights, most, ("for", "against")))


def attended(pieces: Sequence[str], weights: Sequence[float]) -> list[Mark]:
    """The pieces with their attention, which is never below 0."""
    return list(_marks(pieces, weights, max(weights, default=0.0), ("seen", "seen")))


def _marks(pieces: Sequence[str], weights: Sequence[float], most: float, kinds: tuple[str, str]) -> Iterator[Mark]:
    for piece, weight in zip(pieces, weights, strict=True):
        text = SEPARATOR if piece == RESERVED[0] else piece.strip("▁ ") or "␣"
        level = round(LEVELS * abs(weight) / most) if most > 0 else 0
        kind = kinds[0] if weight > 0 else kinds[1]
        yield Mark(text, f"{weight:+.2f}".replace("-", "−"), f"{kind}-{level}") if level else Mark(text)
