"""Splits by hash: whole documents to train, validation and test, the same way on every machine.

A document's hash with the seed is read as a fraction u in [0, 1). So the order of files does not matter, and equal
documents are in the same split. Two ways to cut:

documents   test where u < f_test, validation where u < f_test + f_validation, else train: a document keeps its split
            when others are added. Of few documents, or very unequal ones, the splits are of another size than asked.
words       in the order of u: test takes each document that moves its words nearer to f_test of all, until at most a
            tenth of them is missing; then validation likewise; the rest is train. When documents are added, those
            move whose turn comes sooner or later by that.

`auto` cuts by documents, or by words if that misses a requested share by a factor of more than 1.5.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.storage.shards import SPLITS

TRAIN, VALIDATION, TEST = range(3)  # positions in SPLITS
NEAR = 1.5  # a cut by documents within this factor of every requested share is kept
OFF = 2.0  # a share that is off by more than this factor gives a warning
MISSING = 0.1  # of the words of a split that is cut by words


class SplitConfig(Config):
    """How much is held out where the corpus has no splits."""

    validation: float = Field(default=0.05, gt=0, lt=1)  # share of the documents, or of the words
    test: float = Field(default=0.05, gt=0, lt=1)
    by: Literal["auto", "documents", "words"] = "auto"

    @model_validator(mode="after")
    def _leaves_training_text(self) -> Self:
        if self.validation + self.test >= 1:
            raise ValueError(
                f"split.validation: {self.validation} and split.test: {self.test} leave nothing to train on; "
                "their sum must be below 1"
            )
        return self


def hash_fraction(texts: Iterable[str], seed: int) -> float:
    """u in [0, 1) for a document given as its lines."""
    digest = salted(seed)
    for text in texts:
        digest.update(text.encode())
        digest.update(b"\n")
    return as_fraction(digest.digest())


def salted(seed: int) -> "hashlib.blake2b":
    """The hash that makes a fraction, to be fed with a document's lines, each with its end."""
    return hashlib.blake2b(f"{seed}\n".encode(), digest_size=8)


def as_fraction(digest: bytes) -> float:
    """u in [0, 1) of 8 random bytes."""
    return float(int.from_bytes(digest, "big") >> 11) / float(1 << 53)


class Cut(NamedTuple):
    """The split of each document, (D,) int8 positions in SPLITS; how it was cut; what is wrong with its sizes."""

    splits: np.ndarray
    by: Literal["documents", "words"]
    warnings: list[str]


def cut(
    fractions: np.ndarray, words: np.ndarray, config: SplitConfig, own: Sequence[str] = (), unit: str = "documents"
) -> Cut:
    """Cut the splits, as `config.by` says.

    Args:
        fractions, config, own: as in `assign`.
        words: (D,) int64, of each document.
        unit: what a document is called in messages.

    Raises:
        InputError: fewer different documents than splits.
    """
    splits = assign(fractions, config, own, unit)
    by: Literal["documents", "words"] = "documents"
    if config.by == "words" or (config.by == "auto" and not _within(NEAR, splits, words, config, own)):
        splits, by = _by_words(fractions, words, config, own), "words"
    if _within(OFF, splits, words, config, own):
        return Cut(splits, by, [])
    held = ", ".join(
        f"{SPLITS[split]} {int(words[splits == split].sum()):,} words in {int((splits == split).sum()):,} {unit} "
        f"({_share(splits, words, split):.1%}{f' of {share:.1%} requested' if share else ''})"
        for split, share in ((TRAIN, None), *_held_out(config, own))
    )
    return Cut(splits, by, [f"the splits do not have the requested sizes (conf/split/hash.yaml): {held}"])


def _held_out(config: SplitConfig, own: Sequence[str]) -> list[tuple[int, float]]:
    """(split, share) of what is cut, in the order of the fractions."""
    return [pair for pair in ((TEST, config.test), (VALIDATION, config.validation)) if SPLITS[pair[0]] not in own]


def _share(splits: np.ndarray, words: np.ndarray, split: int) -> float:
    return float(words[splits == split].sum() / max(1, words.sum()))


def _within(factor: float, splits: np.ndarray, words: np.ndarray, config: SplitConfig, own: Sequence[str]) -> bool:
    return all(
        share / factor <= _share(splits, words, split) <= share * factor for split, share in _held_out(config, own)
    )


def _by_words(fractions: np.ndarray, words: np.ndarray, config: SplitConfig, own: Sequence[str]) -> np.ndarray:
    """See the module's head; copies of one document count as one."""
    order, inverse = np.unique(fractions, return_inverse=True)  # (U,) distinct fractions, ascending; (D,)
    sizes = np.bincount(inverse, weights=words)  # (U,)
    chosen = np.full(len(order), TRAIN, dtype=np.int8)
    parts = _held_out(config, own)
    for later, (split, share) in zip(reversed(range(len(parts))), parts, strict=True):
        wanted, held = share * sizes.sum(), 0.0
        free = np.flatnonzero(chosen == TRAIN)
        spare = len(free) - later - 1  # the splits after this one and train need one each
        for document in free:
            if held >= (1 - MISSING) * wanted or spare == 0:
                break
            if sizes[document] < 2 * (wanted - held):  # otherwise the split would be further off with it
                chosen[document] = split
                held += sizes[document]
                spare -= 1
        if not (chosen == split).any():
            left = np.flatnonzero(chosen == TRAIN)
            chosen[left[np.argmin(sizes[left])]] = split
    return np.asarray(chosen[inverse], dtype=np.int8)


def assign(fractions: np.ndarray, config: SplitConfig, own: Sequence[str] = (), unit: str = "documents") -> np.ndarray:
    """The split of each document, cut by documents.

    Args:
        fractions: (D,) float64, of `hash_fraction`.
        config: shares held out.
        own: splits that the corpus has, which are not cut: any of train, validation, test.

    Returns:
        (D,) int8: positions in SPLITS. No wanted split is empty: one that would be gets the document with the next
        fraction after its share.

    Raises:
        InputError: fewer different documents than splits.
    """
    shares = dict(_held_out(config, own))
    wanted = list(shares)
    different = len(np.unique(fractions))
    if different < len(wanted) + 1:
        names = ", ".join(SPLITS[split] for split in (TRAIN, *reversed(wanted)))
        say = "set `documents` in conf/corpus/ to what ends a document in your files (line, blank_line, heading), "
        raise InputError(
            f"the corpus has {different} different {unit}, too few to cut {names}, one each at least; give more text, "
            f"{say if unit == 'documents' else ''}or give files for each split (`files: {{train: …, test: …}}`)"
        )
    splits = np.full(len(fractions), TRAIN, dtype=np.int8)
    bound = 0.0
    for split in wanted:
        splits[(fractions >= bound) & (fractions < bound + shares[split])] = split
        bound += shares[split]
    for split in (*wanted, TRAIN):
        if not (splits == split).any():
            _fill(splits, fractions, split)
    return splits


def _fill(splits: np.ndarray, fractions: np.ndarray, empty: int) -> None:
    """Give an empty split the document with the lowest fraction (all copies of it) of the split that has most."""
    sizes = [len(np.unique(fractions[splits == split])) for split in range(len(SPLITS))]
    donors = splits == int(np.argmax(sizes))
    edge = fractions[donors].max() if empty == TRAIN else fractions[donors].min()
    splits[donors & (fractions == edge)] = empty
