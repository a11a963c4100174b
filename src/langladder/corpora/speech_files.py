"""Spoken sentences on disk: what a recogniser is trained and judged on, spoken once.

    corpus.json       {"format": 1, "texts": split → the sentences}
    ⟨split⟩.safetensors
        frames        (N, D) float32, those of all utterances one after the other
        lengths       (number of utterances,) int64, frames of each
        sounding      (N,) int32, see `Utterance`

The frames are mapped into memory, not read, until a batch needs them.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from langladder.corpora.speech import ALPHABET, SILENCE, SpeechConfig, Utterance, generate_speech
from langladder.ground.artefacts import FORMAT_VERSION, map_arrays, read_json, word_list, write_arrays, write_json
from langladder.ground.errors import InputError
from langladder.text.storage.tables import SPLITS

ARRAYS = {"frames": (np.float32, 2), "lengths": (np.int64, 1), "sounding": (np.int32, 1)}
"""Name → type and number of axes."""


class Speech(NamedTuple):
    """A corpus of speech: D, the numbers of a frame, and train, validation and test."""

    dimensions: int
    splits: dict[str, list[Utterance]]


def write_speech(config: SpeechConfig, folder: Path) -> dict[str, Any]:
    """Speak sentences into a folder. Same settings, same bytes.

    Returns:
        How many utterances and frames each split has, for the data report.

    Raises:
        InputError: as `generate_speech`.
    """
    splits, report = generate_speech(config), {}
    for split, spoken in splits.items():
        lengths = np.array([len(one.frames) for one in spoken], dtype=np.int64)
        sounding = np.concatenate([one.sounding for one in spoken]).astype(np.int32)
        arrays = {"frames": np.concatenate([one.frames for one in spoken]), "lengths": lengths, "sounding": sounding}
        write_arrays(folder / f"{split}.safetensors", arrays)
        report[split] = {"utterances": len(spoken), "frames": int(lengths.sum())}
    texts = {split: [one.text for one in spoken] for split, spoken in splits.items()}
    write_json(folder / "corpus.json", {"format": FORMAT_VERSION, "texts": texts})
    return {"splits": report}


def read_speech(folder: Path) -> Speech:
    """Read what `write_speech` wrote.

    Raises:
        InputError: a file is missing or damaged, of another format version, or holds what cannot be an utterance
            (names file and utterance).
    """
    path = folder / "corpus.json"
    about = read_json(path)
    texts = about.get("texts") if isinstance(about, dict) and about.get("format") == FORMAT_VERSION else None
    if not isinstance(texts, dict) or set(texts) != set(SPLITS):
        raise InputError(
            f"{path}: no sentences of speech of format {FORMAT_VERSION}, by {', '.join(SPLITS)}; make them again "
            "(stage `corpus`)"
        )
    splits = {split: _read_split(folder / f"{split}.safetensors", word_list(path, texts[split])) for split in SPLITS}
    widths = {one.frames.shape[1] for spoken in splits.values() for one in spoken}
    if len(widths) > 1:
        raise InputError(f"{folder}: frames of {' and '.join(map(str, sorted(widths)))} numbers; all must have as many")
    return Speech(widths.pop(), splits)


def _read_split(path: Path, texts: list[str]) -> list[Utterance]:
    arrays = map_arrays(path)
    for name, (kind, axes) in ARRAYS.items():
        if name not in arrays or arrays[name].dtype != kind or arrays[name].ndim != axes:
            raise InputError(f"{path}: needs {name}, {np.dtype(kind).name} with {axes} axes")
    frames, lengths, sounding = (arrays[name] for name in ARRAYS)
    if not len(texts) or len(lengths) != len(texts):
        raise InputError(f"{path}: {len(lengths):,} utterances, but corpus.json has {len(texts):,} sentences")
    if min(lengths.tolist()) < 1 or not sum(lengths.tolist()) == len(frames) == len(sounding) or not frames.shape[1]:
        raise InputError(f"{path}: {len(frames):,} frames, which the lengths of its utterances do not add up to")
    if not np.isfinite(frames).all():
        raise InputError(f"{path}: a frame has a number that is not finite")
    bounds = [0, *np.cumsum(lengths).tolist()]
    spoken = [
        Utterance(text, frames[first:last], sounding[first:last].astype(np.int64))
        for text, (first, last) in zip(texts, pairwise(bounds), strict=True)
    ]
    for place, one in enumerate(spoken):
        if wrong := _wrong(one):
            raise InputError(f"{path}: utterance {place}, {one.text[:60]!r}, {wrong}")
    return spoken


def _wrong(one: Utterance) -> str | None:
    if not one.text or not set(one.text) <= set(ALPHABET):
        return f"has other letters than {ALPHABET!r}, or none"
    doubled = sum(letter == after for letter, after in pairwise(one.text))
    if len(one.frames) < len(one.text) + doubled:  # CTC's loss would be infinite: no alignment is that short
        return f"has {len(one.frames)} frames, too few to say it in"
    if one.sounding.min() < SILENCE or one.sounding.max() >= len(one.text):
        return "sounds a letter that it does not have"
    return None
