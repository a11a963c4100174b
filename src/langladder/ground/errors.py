"""The error for users (what is wrong, where, what is allowed, where to change it), and skipped entries."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

# Besides ASCII's: those that change the direction of a text, https://www.unicode.org/reports/tr9/ (section 2).
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""A text that is safe for a terminal: control characters except tab and line feed as `\x1b` and `\u202e`.

    A foreign label, word or file name can contain escape sequences that move the cursor or set the clipboard, and
    characters that show the text after them in another order.
    """
    return CONTROL.sub(lambda match: ("\\x%02x" if match[0] < "\u0100" else "\\u%04x") % ord(match[0]), text)


class InputError(ValueError):
    """Bad input (a file, a config value), with a message that helps the user to fix it.

    The message names the file and line or the config key, the value, what is allowed, and where to change it.
    Entry points print it without a traceback and exit with a code other than 0. Control characters are escaped.
    """

    def __str__(self) -> str:
        return printable(super().__str__().encode(errors="backslashreplace").decode())


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Import packages of an extra of the wheel: if one is absent, the message says how to install it.

    Args:
        what: the feature that needs it.

    Raises:
        InputError: a package is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("langladder"):
            raise
        raise InputError(f"{what}: {error.name} is not installed: pip install 'langladder[{extra}]'") from error


Policy = Literal["strict", "skip"]
"""What a reader of foreign files does with a damaged entry: `strict` refuses the file at that line, `skip` leaves the
entry out, counts it and reports it."""


class Damage:
    """The damaged entries of a foreign file: counts by kind, and the position of the first of each."""

    def __init__(self, policy: Policy = "skip") -> None:
        self.policy = policy
        self.counts: dict[str, int] = {}
        self.first: dict[str, str] = {}

    def found(self, where: object, kind: str, advice: str = "") -> None:
        """One damaged entry.

        Args:
            where: the file and its line, for the beginning of the message: `vectors.txt:17`.
            kind: the problem, in the same words for all entries of this kind: `a word that occurs twice`.
            advice: what the user can do, for the message of `strict`.

        Raises:
            InputError: if the policy is `strict`.
        """
        if self.policy == "strict":
            raise InputError(f"{where}: {kind}" + (f"; {advice}" if advice else ""))
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.first.setdefault(kind, str(where))

    def report(self) -> dict[str, dict[str, int | str]]:
        """Kind → {"count", "first"}, for the JSON reports; {} if nothing was skipped."""
        return {kind: {"count": count, "first": self.first[kind]} for kind, count in self.counts.items()}

    def summary(self) -> str:
        """One line for the terminal: `2 entries skipped: a word that occurs twice (2, first at v.txt:17)`."""
        total = sum(self.counts.values())
        kinds = (f"{kind} ({count:,}, first at {self.first[kind]})" for kind, count in self.counts.items())
        noun = "entry" if total == 1 else "entries"
        return printable(f"{total:,} {noun} skipped: {'; '.join(kinds)}") if total else ""
