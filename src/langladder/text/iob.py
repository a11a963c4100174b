"""Tags that bracket phrases, as names in a text: which of them may follow which.

    IOB2     B-X opens a phrase of kind X, I-X goes on with it, O is outside (Tjong Kim Sang & Veenstra 1999)
    IOBES    E-X is a phrase's last word, S-X a phrase of one word; a phrase of several is B-X (I-X …) E-X

Any other tags, such as parts of speech, may follow one another freely.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

Scheme = Literal["IOB2", "IOBES"]
_TAG = re.compile(r"O|[BIES](?:-.*)?", re.DOTALL)


def scheme_of(tags: Iterable[str]) -> Scheme | None:
    """The scheme that the names of a tag set speak of; None where they bracket nothing."""
    names = set(tags)
    if not all(_TAG.fullmatch(name) for name in names) or names <= {"O"}:
        return None
    letters = {name[0] for name in names}
    if letters & {"E", "S"}:
        return "IOBES"
    return "IOB2" if "B" in letters else None


def may_follow(before: str | None, after: str | None, scheme: Scheme) -> bool:
    """Whether a tag may follow another; None stands for the beginning and the end of the sentence."""
    inside = before is not None and before[0] in ("BI" if scheme == "IOBES" else "BIES")  # a phrase is open
    goes_on = after is not None and after[0] in "IE"
    if goes_on:
        return inside and before is not None and after is not None and before[1:] == after[1:]
    return scheme == "IOB2" or not inside  # IOBES: what is open must be closed


def bad_steps(tags: Sequence[str], scheme: Scheme) -> list[int]:
    """Places of tags (0-based; the number of tags for the end) that must not follow what stands before them."""
    path = [None, *tags, None]
    return [place for place in range(len(tags) + 1) if not may_follow(path[place], path[place + 1], scheme)]
