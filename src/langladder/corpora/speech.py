"""Speech: lines of microworld's stories as noisy frames of sound, for recognisers without given alignments.

A line is spoken without its punctuation. No line is in two splits, and those of a split are chosen at random.

Each letter has a prototype, a fixed random vector p (D numbers). A spoken letter lasts 2 to `longest_letter` frames and
is mixed with its neighbours (coarticulation). Sometimes there is a pause of one frame between two letters. Between
words, there is silence of 2 to `longest_letter` frames. So a space sounds like a longer pause.

    frame j of n of letter c, with u = (j + ½) / n, between the letters b and d:
    x = (1 − a) p_c + a p_b + noise · N(0, I),   a = ½ coarticulation · max(0, 1 − 2u)    (first half; d in the second)

Recognisers do not get the letters' positions. `sounding` stores them separately, for inspection.

On disk:

    corpus.json       {"format": 1, "texts": split → the lines}
    ⟨split⟩.safetensors
        frames        (N, D) float32, the frames of all utterances in sequence
        lengths       (number of utterances,) int64, frames of each
        sounding      (N,) int32, see `Utterance`

The frames are memory-mapped, and only read when a batch needs them.

Shape legend: T frames, D numbers per frame, U characters.
"""

from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
from pydantic import Field

from langladder.ground.artefacts import FORMAT_VERSION, map_arrays, read_json, word_list, write_arrays, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.storage.shards import SPLITS
from microworld.corpora import Size
from microworld.engine import world

UTTERANCES: dict[Size, int] = {"tiny": 600, "small": 5_000, "medium": 10_000, "base": 30_000}
PATIENCE = 1_000
"""After so many stories without a new line the search ends."""
HELD_OUT = 0.1  # share of each of validation and test
SPACE = " "
ALPHABET = SPACE + "abcdefghijklmnopqrstuvwxyz"
SHORTEST_LETTER = 2  # frames: with at least two, doubled letters always have room for a blank between them
PAUSED = 0.1  # share of the letters that are followed by a pause of one frame
PROTOTYPES_SEED = 1998  # the letters' sounds are the same for every corpus
SILENCE = -1  # in `sounding`


class SpeechConfig(Config):
    """Settings of utterances and noise."""

    size: Size = "small"
    """Size of the corpus if the number of utterances is not set."""
    seed: int = Field(default=1, ge=0)
    utterances: int | None = Field(default=None, ge=20)
    """Number of distinct lines, over all splits."""
    longest: int = Field(default=28, ge=8)
    """Maximum characters of a line; longer ones are not used."""
    dimensions: int = Field(default=12, ge=1)
    """D, the numbers per frame."""
    longest_letter: int = Field(default=5, ge=SHORTEST_LETTER)
    """Maximum frames of a letter."""
    coarticulation: float = Field(default=0.8, ge=0, le=1)
    """How far a letter's edges are mixed with its neighbours: 1 = halfway."""
    noise: float = Field(default=1.0, ge=0)
    """Standard deviation of the noise in each number of a frame; prototypes have standard deviation 1."""

    @property
    def count(self) -> int:
        """Utterances over all splits."""
        return UTTERANCES[self.size] if self.utterances is None else self.utterances


class Utterance(NamedTuple):
    """text: U characters of the alphabet; frames: (T, D) float32; sounding: (T,) int64, the position in the text of
    each frame's letter, or SILENCE."""

    text: str
    frames: np.ndarray
    sounding: np.ndarray


def generate_speech(config: SpeechConfig) -> dict[str, list[Utterance]]:
    """Create utterances of distinct lines: train, validation and test. Same settings, same bytes on any machine.

    Raises:
        InputError: there are not enough distinct lines of at most this length.
    """
    texts = spoken_lines(config.count, config.longest, Random(f"{config.seed} speech"))
    if len(texts) < config.count:
        raise InputError(
            f"utterances={config.count}: microworld's stories have too few different lines of at most "
            f"{config.longest} characters ({len(texts)} found); lower utterances or raise longest"
        )
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence([config.seed, config.count])))
    sounds = prototypes(config.dimensions)
    spoken = [speak(text, sounds, config, random) for text in texts]
    held_out = max(1, round(HELD_OUT * config.count))
    return {"train": spoken[2 * held_out :], "validation": spoken[:held_out], "test": spoken[held_out : 2 * held_out]}


def spoken_lines(count: int, longest: int, rng: Random) -> list[str]:
    """`count` different lines of stories, of at most `longest` characters; fewer, if no more are found.

    They are shuffled: what is drawn first is more frequent than what is drawn last.
    """
    results, fruitless = dict[str, None](), 0
    while len(results) < count and fruitless < PATIENCE:
        lines = (" ".join(filter(str.isalpha, line.words)) for line in world().draw(rng))
        new = [text for text in lines if len(text) <= longest and text not in results]
        results |= dict.fromkeys(new)
        fruitless = 0 if new else fruitless + 1
    texts = list(results)[:count]
    rng.shuffle(texts)
    return texts


def prototypes(dimensions: int) -> np.ndarray:
    """(27, D) float64: the prototype of each character of the alphabet; the first one, the space, is silence."""
    sounds = np.random.Generator(np.random.PCG64(PROTOTYPES_SEED)).normal(size=(len(ALPHABET), dimensions))
    sounds[0] = 0.0
    return sounds


def speak(text: str, sounds: np.ndarray, config: SpeechConfig, random: np.random.Generator) -> Utterance:
    """One sentence of the alphabet's characters as frames."""
    letters = np.array([ALPHABET.index(char) for char in text])  # (U,)
    durations = random.integers(SHORTEST_LETTER, config.longest_letter, len(text), endpoint=True)  # (U,)
    pauses = random.random(len(text)) < PAUSED  # (U,)
    frames, sounding = [], []
    for index, (letter, duration) in enumerate(zip(letters, durations, strict=True)):
        before, after = (letters[other] if 0 <= other < len(letters) else 0 for other in (index - 1, index + 1))
        u = (np.arange(duration) + 0.5) / duration  # (n,)
        a = 0.5 * config.coarticulation * np.abs(1 - 2 * u)[:, None]  # (n, 1)
        neighbour = np.where(u[:, None] < 0.5, sounds[before], sounds[after])  # (n, D)
        frames.append((1 - a) * sounds[letter] + a * neighbour)
        sounding += [index if letter else SILENCE] * int(duration)
        if pauses[index]:
            frames.append(np.zeros((1, sounds.shape[1])))
            sounding.append(SILENCE)
    clear = np.concatenate(frames)  # (T, D)
    noisy = clear + config.noise * random.normal(size=clear.shape)
    return Utterance(text, noisy.astype(np.float32), np.array(sounding, dtype=np.int64))


# ---- on disk


ARRAYS = {"frames": (np.float32, 2), "lengths": (np.int64, 1), "sounding": (np.int32, 1)}
"""Name → type and number of axes."""


class Speech(NamedTuple):
    """A corpus of speech: D, the numbers of a frame, and train, validation and test."""

    dimensions: int
    splits: dict[str, list[Utterance]]


def write_speech(config: SpeechConfig, folder: Path) -> dict[str, Any]:
    """Write utterances into a folder. Same settings, same bytes.

    Returns:
        The numbers of utterances and frames of each split, for the data report.

    Raises:
        InputError: see `generate_speech`.
    """
    splits, report = generate_speech(config), {}
    for split, spoken in splits.items():
        lengths = np.array([len(utterance.frames) for utterance in spoken], dtype=np.int64)
        sounding = np.concatenate([utterance.sounding for utterance in spoken]).astype(np.int32)
        arrays = {
            "frames": np.concatenate([utterance.frames for utterance in spoken]),
            "lengths": lengths,
            "sounding": sounding,
        }
        write_arrays(folder / f"{split}.safetensors", arrays)
        report[split] = {"utterances": len(spoken), "frames": int(lengths.sum())}
    texts = {split: [utterance.text for utterance in spoken] for split, spoken in splits.items()}
    write_json(folder / "corpus.json", {"format": FORMAT_VERSION, "texts": texts})
    return {"splits": report}


def read_speech(folder: Path) -> Speech:
    """Read what `write_speech` wrote.

    Raises:
        InputError: a file is missing or damaged, has another format version, or has an invalid utterance (the message
            names file and utterance).
    """
    path = folder / "corpus.json"
    about = read_json(path)
    texts = about.get("texts") if isinstance(about, dict) and about.get("format") == FORMAT_VERSION else None
    if not isinstance(texts, dict) or set(texts) != set(SPLITS):
        raise InputError(
            f'{path}: needs "format": {FORMAT_VERSION} and "texts" with the sentences of {", ".join(SPLITS)}; '
            "the stage `corpus` writes this file: run it again"
        )
    splits = {split: _read_split(folder / f"{split}.safetensors", word_list(path, texts[split])) for split in SPLITS}
    widths = {utterance.frames.shape[1] for spoken in splits.values() for utterance in spoken}
    if len(widths) > 1:
        raise InputError(f"{folder}: frames of {' and '.join(map(str, sorted(widths)))} numbers; all need the same")
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
        raise InputError(f"{path}: {len(frames):,} frames, but the lengths of its utterances have another sum")
    if not np.isfinite(frames).all():
        raise InputError(f"{path}: a frame has a number that is not finite")
    bounds = [0, *np.cumsum(lengths).tolist()]
    spoken = [
        Utterance(text, frames[first:last], sounding[first:last].astype(np.int64))
        for text, (first, last) in zip(texts, pairwise(bounds), strict=True)
    ]
    for number, utterance in enumerate(spoken):
        if wrong := _wrong(utterance):
            raise InputError(f"{path}: utterance {number}, {utterance.text[:60]!r}, {wrong}")
    return spoken


def _wrong(utterance: Utterance) -> str | None:
    if not utterance.text or not set(utterance.text) <= set(ALPHABET):
        return f"has letters other than {ALPHABET!r}, or is empty"
    doubled = sum(letter == after for letter, after in pairwise(utterance.text))
    if (
        len(utterance.frames) < len(utterance.text) + doubled
    ):  # CTC's loss would be infinite, because there is no alignment
        return f"has {len(utterance.frames)} frames, too few for its letters"
    if utterance.sounding.min() < SILENCE or utterance.sounding.max() >= len(utterance.text):
        return "has a frame of a letter that is not in its text"
    return None
