"""Known damage to text: documents of a corpus made worse in ways that a filter should find, each marked by its kind.

shuffled     the words of every line in random order: single words tell nothing of it
characters   letters replaced by others: words that nobody writes
foreign      other lines in place of the document's own: here Esperanto of microworld's grammar
boilerplate  a copy of one of a few documents with one line of another: good text that is there many times
"""

from collections.abc import Sequence
from random import Random
from string import ascii_lowercase
from typing import NamedTuple

from langladder.corpora.microworld import MicroworldConfig, generate_parallel

KINDS = ("shuffled", "characters", "foreign", "boilerplate")
CLEAN = "clean"
REPLACED = 0.15  # of the letters
PAIRS = 400  # sentences that foreign lines are drawn from
TEMPLATES = 4  # documents that boilerplate is copied from


class Marked(NamedTuple):
    """A document of some lines, and what was done to it (`CLEAN`: nothing)."""

    lines: tuple[str, ...]
    kind: str

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)


def noisy(clean: Sequence[tuple[str, ...]], share: float, seed: int) -> list[Marked]:
    """The documents, a share of them damaged, all kinds alike, in random order.

    Args:
        clean: documents as their lines; those that boilerplate is copied from are among them.
    """
    random = Random(f"{seed} noise")
    damaged = round(share * len(clean))
    foreign = generate_parallel(MicroworldConfig(size="tiny", pairs=PAIRS))["train"]["target"].to_pylist()
    templates = clean[-TEMPLATES:]
    found = [Marked(lines, CLEAN) for lines in clean[damaged:]]
    for number, lines in enumerate(clean[:damaged]):
        kind = KINDS[number % len(KINDS)]
        if kind == "shuffled":
            made = tuple(" ".join(random.sample(line.split(), len(line.split()))) for line in lines)
        elif kind == "characters":
            made = tuple("".join(_letter(letter, random) for letter in line) for line in lines)
        elif kind == "foreign":
            made = tuple(random.choice(foreign) for _ in lines)
        else:
            made = (*random.choice(templates)[: len(lines) - 1], lines[-1])
        found.append(Marked(made, kind))
    random.shuffle(found)
    return found


def _letter(letter: str, random: Random) -> str:
    return random.choice(ascii_lowercase) if letter.isalpha() and random.random() < REPLACED else letter
