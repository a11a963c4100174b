"""Words with their weights, as marks of the page: blue speaks for the label, red against it, the fuller the more.

Colour is not alone in telling the sign: a straight line stands under what speaks for the label, a wavy one under what
speaks against it, and the number is told under the mouse.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from langladder.text.tokenize.specials import RESERVED

LEVELS = 4  # of colour; what has less than half of the first is plain
_SPACES = "▁ "  # of tokens that bring their own
SEPARATOR = "‖"  # between the two texts of a pair


@dataclass(frozen=True)
class Mark:
    """A piece of a text: its weight as shown, and its class on the page; both empty where it hardly counts.

    `after` is what stands behind it: a space, or nothing where the text goes on at once (Chinese, Thai).
    """

    text: str
    weight: str = ""
    kind: str = ""
    after: str = " "


def marked(pieces: Sequence[str], weights: Sequence[float], text: str = "") -> list[Mark]:
    """The pieces of a text with their weights, the largest of the text in full colour."""
    most = max(map(abs, weights), default=0.0)
    return list(_marks(pieces, weights, most, ("for", "against"), text))


def attended(pieces: Sequence[str], weights: Sequence[float], text: str = "") -> list[Mark]:
    """The pieces of a text with their attention, which is never below 0."""
    return list(_marks(pieces, weights, max(weights, default=0.0), ("seen", "seen"), text))


def _marks(
    pieces: Sequence[str], weights: Sequence[float], most: float, kinds: tuple[str, str], whole: str
) -> Iterator[Mark]:
    for piece, weight, after in zip(pieces, weights, _between(pieces, whole), strict=True):
        text = SEPARATOR if piece == RESERVED[0] else piece.strip(_SPACES) or "␣"
        level = round(LEVELS * abs(weight) / most) if most > 0 else 0
        kind = kinds[0] if weight > 0 else kinds[1]
        yield (
            Mark(text, f"{weight:+.2f}".replace("-", "−"), f"{kind}-{level}", after)
            if level
            else Mark(text, after=after)
        )


def _between(pieces: Sequence[str], text: str) -> Iterator[str]:
    """What stands behind each piece: nothing where the next one is found right there in the text, else a space."""
    places: list[tuple[int, int]] = []
    end = 0
    for piece in (piece.strip(_SPACES) for piece in pieces):
        start = text.find(piece, end) if piece else -1
        end = end if start < 0 else start + len(piece)
        places.append((start, end))
    for (_, end), (start, _) in pairwise([*places, (-1, -1)]):
        yield "" if start == end else " "
