"""A lexicon made by people: sets of synonyms with hypernyms, and the similarity of two words in it.

WordNet (Miller 1995, "WordNet: A Lexical Database for English"). A lexicon file is UTF-8 text, one synonym set a line,
two or three columns with a tab between them, in any order; empty lines and lines that open with # are skipped:

    # id <tab> its words <tab> the ids of its hypernyms (what it is a kind of; none for the most general)
    dog.n       dog dogs hound      animal.n pet.n
    animal.n    animal beast        entity.n
    entity.n    entity

Words and ids hold no spaces (science_fiction); a word of several senses stands in several sets.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from langladder.embeddings.base import did_you_mean
from langladder.ground.errors import InputError


@dataclass(frozen=True)
class Synset:
    """A set of synonyms: its words, and the ids of the sets it is a kind of."""

    words: tuple[str, ...]
    hypernyms: tuple[str, ...] = ()


@dataclass(frozen=True)
class Synsets:
    """A lexicon: id → synonym set. Every hypernym is in it, and no set is its own hypernym, however far up."""

    sets: Mapping[str, Synset]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a lexicon file.

        Raises:
            InputError: the file is missing or empty, a line is malformed, a hypernym is unknown, or hypernyms form a
                ring (names file and line).
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (FileNotFoundError, IsADirectoryError) as error:
            raise InputError(
                f"{path}: no such file; a lexicon has lines of `id <tab> words <tab> hypernyms`"
            ) from error
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror})") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from error
        return cls.parse(text.split("\n"), str(path))

    @classmethod
    def parse(cls, lines: Iterable[str], name: str) -> Self:
        """The lines of a lexicon file; `name` stands for the file in messages. Raises InputError as `read` does."""
        sets: dict[str, Synset] = {}
        positions: dict[str, int] = {}
        for number, line in enumerate(lines, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            key, synset = _parse(line.rstrip("\r"), f"{name}:{number}")
            if key in sets:
                raise InputError(f"{name}:{number}: synonym set {key!r} was given in line {positions[key]} already")
            sets[key], positions[key] = synset, number
        if not sets:
            raise InputError(f"{name}: has no synonym sets")
        for key, synset in sets.items():
            for hypernym in synset.hypernyms:
                if hypernym not in sets:
                    hint = did_you_mean(hypernym, sets)
                    raise InputError(
                        f"{name}:{positions[key]}: hypernym {hypernym!r} is not an id of this lexicon{hint}"
                    )
        ring = _ring(sets)
        if ring:
            raise InputError(f"{name}:{positions[ring[0]]}: a cycle of hypernyms: {' → '.join([*ring, ring[0]])}")
        return cls(sets)

    @classmethod
    def of_wordnet(cls, words: Iterable[str], reader: Any = None) -> Self:
        """The part of WordNet above these words, as NLTK reads it; endings are stripped as NLTK does (dogs → dog).

        A set's words are those of `words` that NLTK finds it for. Nothing is downloaded.

        Args:
            reader: an NLTK `WordNetCorpusReader`; None: `nltk.corpus.wordnet`.

        Raises:
            InputError: NLTK or its WordNet data is not there.
        """
        reader = _nltk_wordnet() if reader is None else reader
        members: dict[str, list[str]] = {}
        above: dict[str, tuple[str, ...]] = {}
        for word in words:
            fresh = list(reader.synsets(word))
            for synset in fresh:
                members.setdefault(synset.name(), []).append(word)
            while fresh:
                synset = fresh.pop()
                if synset.name() not in above:
                    higher = synset.hypernyms() + synset.instance_hypernyms()
                    above[synset.name()] = tuple(other.name() for other in higher)
                    fresh += higher
        return cls({key: Synset(tuple(members.get(key, ())), hypernyms) for key, hypernyms in above.items()})

    @cached_property
    def index(self) -> dict[str, list[str]]:
        """Word → ids of its sets (its senses), in the lexicon's order."""
        index: dict[str, list[str]] = {}
        for key, synset in self.sets.items():
            for word in synset.words:
                index.setdefault(word, []).append(key)
        return index

    def senses(self, word: str) -> list[str]:
        """Ids of the sets that hold a word, or where none does, its lower-case form; maybe none."""
        return self.index.get(word) or self.index.get(word.lower(), [])

    def synonyms(self, word: str) -> set[str]:
        """All words that share a set with this one."""
        return {other for key in self.senses(word) for other in self.sets[key].words} - {word}

    def distances(self, key: str) -> dict[str, int]:
        """The set itself and all above it → the fewest steps up; nearest first."""
        steps = {key: 0}
        level = [key]
        while level:
            above = dict.fromkeys(h for lower in level for h in self.sets[lower].hypernyms if h not in steps)
            steps |= dict.fromkeys(above, steps[level[0]] + 1)
            level = list(above)
        return steps

    def path_similarity(self, first: str, second: str) -> float:
        """The similarity of two words, from 0 (no common hypernym) to 1 (synonyms): that of their two nearest senses.

            sim = 1 / (1 + d),     d: steps on the shortest way up from one sense and down to the other

        Verbs and adjectives of WordNet have no common root, so many pairs have 0 (NLTK makes one up for verbs).

        Raises:
            InputError: a word is not in the lexicon; names the nearest spellings.
        """
        ways = []
        for synset in self._known(first):
            up = self.distances(synset)
            for other in self._known(second):
                down = self.distances(other)
                ways += [up[shared] + down[shared] for shared in up.keys() & down.keys()]
        return 1 / (1 + min(ways)) if ways else 0.0

    def _known(self, word: str) -> list[str]:
        senses = self.senses(word)
        if not senses:
            hint = did_you_mean(word, self.index)
            raise InputError(f"{word!r} is not among the {len(self.index):,} words of the lexicon{hint}")
        return senses


def _parse(line: str, where: str) -> tuple[str, Synset]:
    columns = line.split("\t")
    if len(columns) not in (2, 3) or len(columns[0].split()) != 1 or not columns[1].split():
        raise InputError(f"{where}: {line[:60]!r} is not `id <tab> words <tab> hypernyms` (the last may be left out)")
    hypernyms = columns[2].split() if len(columns) == 3 else []
    return columns[0].strip(), Synset(tuple(dict.fromkeys(columns[1].split())), tuple(dict.fromkeys(hypernyms)))


def _ring(sets: Mapping[str, Synset]) -> list[str]:
    """Ids that form a cycle of hypernyms; none if there is no cycle."""
    done: set[str] = set()
    for start in sets:
        way: dict[str, None] = {}  # from `start` up to where we are
        left = [(start, False)]
        while left:
            key, leaving = left.pop()
            if leaving:
                del way[key]
                done.add(key)
            elif key in way:
                ids = list(way)
                return ids[ids.index(key) :]
            elif key not in done:
                way[key] = None
                left.append((key, True))
                left += [(hypernym, False) for hypernym in sets[key].hypernyms]
    return []


def _nltk_wordnet() -> Any:
    try:
        from nltk.corpus import wordnet
    except ImportError as error:
        raise InputError("lexicon: wordnet needs NLTK, which is not installed: pip install nltk") from error
    try:
        wordnet.ensure_loaded()
    except LookupError as error:
        raise InputError(
            "lexicon: wordnet needs NLTK's WordNet data, which is not on this machine; download it once with "
            "`python -m nltk.downloader wordnet`, or use a lexicon file instead"
        ) from error
    return wordnet
