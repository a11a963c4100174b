"""Lists of words for debiasing and its audit: JSON as in Bolukbasi et al.'s `debiaswe`, or plain text.

JSON is a list of words, a list of lists of words (pairs), or, for professions, a list of [word, definitional score,
stereotype score]. Text has one entry per line, with words separated by spaces or tabs; lines that begin with # are
comments.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.read.lines import filled_lines
from microworld.lexicon import table


def read_words(path: Path) -> list[str]:
    """A list of words: of entries with several parts (professions) the first.

    Raises:
        InputError: the file is missing, malformed (names the entry) or empty.
    """
    return [str(entry[0]) for entry in _entries(Path(path))]


def read_word_sets(path: Path) -> list[list[str]]:
    """A list of pairs, or larger sets, of different words.

    Raises:
        InputError: the file is missing, malformed (names the entry) or empty.
    """
    sets = [[str(word) for word in entry] for entry in _entries(Path(path))]
    for number, words in enumerate(sets, start=1):
        if len(words) < 2 or len(set(words)) < len(words):
            raise InputError(f"{path}: entry {number} {words} is not a pair (or larger set) of different words")
    return sets


def read_stereotypes(path: Path) -> dict[str, float]:
    """Word → stereotype score of a list of professions; empty where the list has no scores.

    Raises:
        InputError: see `read_words`.
    """
    scores = {}
    for entry in _entries(Path(path)):
        if len(entry) == 3:
            try:
                scores[str(entry[0])] = float(entry[2])
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"{path}: {entry} is not [word, definitional score, stereotype score]") from error
    return scores


def _entries(path: Path) -> list[list[Any]]:
    """Every entry as a list with at least a word."""
    if path.suffix == ".json":
        value = read_json(path)
        if not isinstance(value, list):
            raise InputError(f"{path}: not a list, but {type(value).__name__}")
        entries = [entry if isinstance(entry, list) else [entry] for entry in value]
    else:
        entries = [line.split() for _, line in filled_lines(path) if not line.startswith("#")]
    for number, entry in enumerate(entries, start=1):
        if not entry or not isinstance(entry[0], str) or not entry[0]:
            raise InputError(f"{path}: entry {number} {entry!r} is not a word or a list of words")
    if not entries:
        raise InputError(f"{path}: has no words")
    return entries


@dataclass(frozen=True)
class BiasLists:
    """The word lists that define a bias for hard debiasing, and those of its audit.

    Attributes:
        definitional: pairs (or larger sets) that differ in nothing but the bias: woman, man; she, he.
        equalise: sets whose words should differ in nothing else afterwards; can share words with `definitional`.
        specific: words to which the bias belongs by meaning (actress, beard): left as they are.
        professions: words that should be neutral; the audit asks about them.
        stereotypes: how people judged them, where known: below 0 for the first words of the pairs.
    """

    definitional: list[list[str]]
    equalise: list[list[str]]
    specific: list[str]
    professions: list[str]
    stereotypes: dict[str, float]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """The files of a folder, each `.json` or `.txt`: definitional_pairs, equalize_pairs, gender_specific_full
        (or `specific`), professions.

        Raises:
            InputError: one is missing (names it) or malformed.
        """
        professions = _find(folder, "professions")
        return cls(
            definitional=read_word_sets(_find(folder, "definitional_pairs")),
            equalise=read_word_sets(_find(folder, "equalize_pairs")),
            specific=read_words(_find(folder, "gender_specific_full", "specific")),
            professions=read_words(professions),
            stereotypes=read_stereotypes(professions),
        )


def _find(folder: Path, *names: str) -> Path:
    wanted = [Path(folder) / f"{name}{suffix}" for name in names for suffix in (".json", ".txt")]
    for path in wanted:
        if path.is_file():
            return path
    raise InputError(f"{folder}: has no {' or '.join(path.name for path in wanted)}")


def microworld_lists() -> BiasLists:
    """The bias of sex in microworld: its couples as definitional and equalised pairs, jobs as professions.

    Words of couples and given names have a sex by meaning; nobody has judged the jobs.
    """
    couples = [[row["female"], row["male"]] for row in table("roles")]
    pairs = [["she", "he"], ["her", "his"], *couples]
    names, jobs = ([row["word"] for row in table(name)] for name in ("names", "jobs"))
    return BiasLists(pairs, couples, names, jobs, {})


def microworld_weat() -> dict[str, list[str]]:
    """Targets X, Y and attributes A, B of a test of microworld: are women near happy words, men near angry ones?"""
    women, men = ([row[sex] for row in table("roles")] for sex in ("female", "male"))
    happy, angry = ([row["word"] for row in table("looks") if row["mood"] == mood] for mood in ("happy", "angry"))
    return {"women": women, "men": men, "happy": happy, "angry": angry}
