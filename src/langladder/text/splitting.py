"""Splits by hash: whole documents to train, validation and test, the same way on every machine.

A document's place is a hash of its text and the seed, read as a number u in [0, 1): test where u < f_test, validation
where u < f_test + f_validation, else train. So no order of files matters, a document keeps its split when others are
added, and two equal documents are never on both sides of a split.
"""

import hashlib
from collections.abc import Iterable
from typing import Self

import numpy as np
from pydantic import Field, model_validator

from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.tables import SPLITS

TRAIN, VALIDATION, TEST = range(3)  # positions in SPLITS


class SplitConfig(Config):
    """How much is held out where the corpus brings no split of its own."""

    validation: float = Field(default=0.05, gt=0, lt=1)  # share of the documents
    test: float = Field(default=0.05, gt=0, lt=1)

    @model_validator(mode="after")
    def _leaves_training_text(self) -> Self:
        if self.validation + self.test >= 1:
            raise ValueError(
                f"split.validation: {self.validation} and split.test: {self.test} leave nothing to train on; "
                "their sum must be below 1"
            )
        return self


def place(texts: Iterable[str], seed: int) -> float:
    """u in [0, 1) for a document given as its lines."""
    digest = hashlib.blake2b(f"{seed}\n".encode(), digest_size=8)
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\n")
    return float(int.from_bytes(digest.digest(), "big") >> 11) / float(1 << 53)


def assign(places: np.ndarray, config: SplitConfig, own: Iterable[str] = ()) -> np.ndarray:
    """The split of each document.

    Args:
        places: (D,) float64, what `place` gave.
        config: shares held out.
        own: splits the corpus brings itself, which are then not cut: any of train, validation, test.

    Returns:
        (D,) int8: positions in SPLITS. No wanted split is empty: where chance left one so, it gets the document whose
        place comes next after its share.

    Raises:
        InputError: fewer different documents than splits.
    """
    wanted = [split for split in (TEST, VALIDATION) if SPLITS[split] not in own]
    different = len(np.unique(places))
    if different < len(wanted) + 1:
        names = ", ".join(SPLITS[split] for split in (TRAIN, *reversed(wanted)))
        raise InputError(
            f"the corpus has {different} different document(s), too few to cut {names}, one document each at least; "
            "give more text, say where documents end (`documents` in the corpus config), or give files for each split"
        )
    shares = {TEST: config.test, VALIDATION: config.validation}
    splits = np.full(len(places), TRAIN, dtype=np.int8)
    bound = 0.0
    for split in wanted:
        splits[(places >= bound) & (places < bound + shares[split])] = split
        bound += shares[split]
    for split in (*wanted, TRAIN):
        if not (splits == split).any():
            _fill(splits, places, split)
    return splits


def _fill(splits: np.ndarray, places: np.ndarray, empty: int) -> None:
    """Give an empty split the lowest-placed document (all copies of it) of the split that has most."""
    sizes = [len(np.unique(places[splits == split])) for split in range(len(SPLITS))]
    donors = splits == int(np.argmax(sizes))
    edge = places[donors].max() if empty == TRAIN else places[donors].min()
    splits[donors & (places == edge)] = empty
