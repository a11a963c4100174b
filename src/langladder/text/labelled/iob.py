"""Tags that bracket phrases, as names in a text: which of them may follow which.

    IOB2     B-X opens a phrase of kind X, I-X goes on with it, O is outside (Tjong Kim Sang & Veenstra 1999)
    IOBES    E-X is a phrase's last word, S-X a phrase of one word; a phrase of several is B-X (I-X …) E-X
    BILOU    IOBES with L for E and U for S (Ratinov & Roth 2009)
    BMES     IOBES with M for I, as in Chinese; also W for S (BMEWO)

Readers write BILOU and BMES as IOBES. Any other tags, such as parts of speech, may follow one another freely.
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


OTHER_LETTERS = {"BILOU": str.maketrans("LU", "ES"), "BMES": str.maketrans("MW", "IS")}
"""Scheme → what its letters are in IOBES."""
_OTHERS = {"BILOU": re.compile(r"O|[BILU](?:-.*)?", re.DOTALL), "BMES": re.compile(r"O|[BMESW](?:-.*)?", re.DOTALL)}
_PREFIX = re.compile(r"[BIESLUMWbieslumw][-_:/.].+|.+[-_:/.][BIESLUMW]", re.DOTALL)


def read_scheme(tags: Iterable[str]) -> str | None:
    """The scheme of the tags in somebody's files, which may also be IOB1, BILOU or BMES; None where they are of none.

    Letters alone (B, M, E, S, as in word segmentation) are tags of BILOU or BMES only where a phrase of several words
    can be written with them, so that parts of speech of one letter are none.
    """
    names = set(tags)
    if {name.partition("-")[0] for name in names} == {"I", "O"} and all("-" in name for name in names - {"O"}):
        return "IOB1"
    if found := scheme_of(names):
        return found
    for scheme, tag in _OTHERS.items():
        if not names or not all(tag.fullmatch(name) for name in names):
            continue
        letters = {name[0] for name in names}
        last = "L" if scheme == "BILOU" else "E"
        if (any("-" in name for name in names) and letters - {"O", "B"}) or {"B", last} <= letters:
            return scheme
    return None


def as_iobes(tag: str, scheme: str) -> str:
    """A tag of BILOU or BMES in IOBES.

    >>> as_iobes("U-PER", "BILOU"), as_iobes("M-LOC", "BMES"), as_iobes("O", "BMES")
    ('S-PER', 'I-LOC', 'O')
    """
    return tag[:1].translate(OTHER_LETTERS[scheme]) + tag[1:]


def look_like_phrases(tags: Iterable[str]) -> list[str]:
    """Those of some tags that look as if they bracket phrases (B_PER, i-loc, PER-B), where the others are O or none."""
    names = set(tags)
    looks = sorted(name for name in names if _PREFIX.fullmatch(name))
    return looks if len(looks) > 1 and names & {"O", "o"} else []


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
