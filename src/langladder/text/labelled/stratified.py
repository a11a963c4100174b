"""Splits of labelled examples by hash, stratified: each split has about the same share of every label.

An example's place is the hash of its text (`splitting.place`), so that copies of a text stay together. Of each label,
the texts that come first go to test, the next to validation, the rest to train; what a share leaves over goes to the
labels with the largest remainders (Hamilton's method), and no label leaves train.
"""

from collections.abc import Sequence

import numpy as np

from langladder.errors import InputError
from langladder.text.clean.splitting import TEST, TRAIN, VALIDATION, SplitConfig
from langladder.text.storage.tables import SPLITS


def cut_by_label(places: np.ndarray, labels: Sequence[str], config: SplitConfig, own: Sequence[str] = ()) -> np.ndarray:
    """The split of each example.

    Args:
        places: (N,) float64, equal for equal texts.
        labels: of each example; a text with several goes by its first.
        config: shares held out.
        own: splits that the corpus brings itself, which are then not cut.

    Returns:
        (N,) int8: positions in SPLITS.

    Raises:
        InputError: too few different texts for a split.
    """
    texts, first, inverse = np.unique(places, return_index=True, return_inverse=True)  # (U,), (U,), (N,)
    numbers = {name: number for number, name in enumerate(sorted(set(labels)))}
    of_text = np.fromiter((numbers[label] for label in labels), np.int32, len(labels))[first]  # (U,)
    order = np.argsort(of_text, kind="stable")  # label by label, each label's texts by their places
    ends = np.cumsum(np.bincount(of_text, minlength=len(numbers)))
    strata = dict(zip(numbers, np.split(order, ends[:-1]), strict=True))
    shares = [pair for pair in ((TEST, config.test), (VALIDATION, config.validation)) if SPLITS[pair[0]] not in own]
    chosen = np.full(len(texts), TRAIN, dtype=np.int8)
    for split, share in shares:
        free = {name: held[chosen[held] == TRAIN] for name, held in strata.items()}
        sizes = {name: len(held) for name, held in strata.items()}
        for name, count in _quotas(sizes, {name: len(held) - 1 for name, held in free.items()}, share).items():
            chosen[free[name][:count]] = split
        if not (chosen == split).any():
            raise InputError(
                f"the corpus has {len(texts)} different texts of {len(strata)} labels, too few to cut {SPLITS[split]} "
                "and leave train one of each label; give more, or files for each split (`files: {train: …, test: …}`)"
            )
    return np.asarray(chosen[inverse], dtype=np.int8)


def _quotas(sizes: dict[str, int], most: dict[str, int], share: float) -> dict[str, int]:
    """How many texts of each label a split gets: `share` of all together, none more than `most`."""
    exact = {name: share * size for name, size in sizes.items()}
    counts = {name: max(0, min(int(value), most[name])) for name, value in exact.items()}
    missing = max(1, round(sum(exact.values()))) - sum(counts.values())
    for name in sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name)):  # largest remainder first
        if missing > 0 and counts[name] < most[name]:
            counts[name] += 1
            missing -= 1
    return counts
