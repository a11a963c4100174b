"""Scenes and sentences as ids: facts on the source side, words on the target side of ordinary pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np

from langladder.corpora.scenes import Described, Scene, all_facts
from langladder.ground.artefacts import read_json, word_list, write_json
from langladder.ground.errors import InputError
from langladder.text.storage.token_streams import PairStream, Rows
from langladder.text.tokenize.specials import BOS, EOS, NAMES

CODES = "codes.json"
"""The file beside a saved captioner with the meaning of vector positions and word ids."""


@dataclass(frozen=True)
class SceneCodes:
    """facts: the positions of the feature vector; words: those of the sentences. Ids begin after the special ones."""

    facts: list[str]
    words: list[str]

    @classmethod
    def of(cls, facts: Sequence[str], sentences: Iterable[str]) -> Self:
        """The codes of all facts and of the words of training sentences, in alphabetical order."""
        return cls(list(facts), sorted({word for sentence in sentences for word in sentence.split()}))

    @classmethod
    def of_corpus(cls, train: Iterable[Described]) -> Self:
        """The codes of all facts of microworld and of the words of training sentences."""
        return cls.of(all_facts(), (pair.sentence for pair in train))

    @cached_property
    def _ids(self) -> tuple[dict[str, int], dict[str, int]]:
        first = len(NAMES)
        facts, words = ({name: first + i for i, name in enumerate(names)} for names in (self.facts, self.words))
        return facts, words

    def _numbered(self, side: int, names: list[str]) -> list[int]:
        ids = self._ids[side]
        if strange := [name for name in names if name not in ids]:
            raise InputError(
                f"{strange[0]!r} is not one of this captioner's {('facts', 'words')[side]}; train it on these scenes"
            )
        return [ids[name] for name in names]

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of ids on either side, specials included."""
        return len(NAMES) + len(self.facts), len(NAMES) + len(self.words)

    def source(self, scene: Scene) -> np.ndarray:
        """Ids of the scene's facts, then EOS: (S,) int32. Raises InputError for a fact of another world."""
        return np.array([*self._numbered(0, scene.facts()), EOS], dtype=np.int32)

    def target(self, sentence: str) -> np.ndarray:
        """BOS, ids of the words, EOS: (T + 1,) int32. Raises InputError for a word that train does not have."""
        return np.array([BOS, *self._numbered(1, sentence.split()), EOS], dtype=np.int32)

    def sentence(self, tokens: Sequence[int]) -> str:
        """Ids without BOS and EOS → text."""
        names = [*NAMES, *self.words]
        return " ".join(names[token] for token in tokens)

    def pairs(self, examples: Sequence[Described]) -> PairStream:
        """Examples as training pairs, in memory."""
        sources = [self.source(example.scene) for example in examples]
        targets = [self.target(example.sentence) for example in examples]
        return PairStream(_rows(sources), _rows(targets))

    def save(self, path: Path) -> None:
        """Write both lists as JSON."""
        write_json(path, {"facts": self.facts, "words": self.words})

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote. Raises InputError if the file is something else."""
        value = read_json(path)
        if not isinstance(value, dict) or set(value) != {"facts", "words"}:
            raise InputError(f"{path}: not the facts and words of a captioner")
        return cls(**{name: word_list(path, words) for name, words in value.items()})


def _rows(rows: Sequence[np.ndarray]) -> Rows:
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return Rows(np.concatenate(rows), bounds)
