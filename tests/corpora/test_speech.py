"""Speech: frames that follow from the seed, room for every labelling, letters that sound as their prototypes."""

from random import Random

import numpy as np
import pytest

from langladder.corpora.speech import (
    ALPHABET,
    SILENCE,
    SpeechConfig,
    generate_speech,
    prototypes,
    speak,
)
from langladder.ground.errors import InputError
from microworld.engine import world

TINY = SpeechConfig(size="tiny", utterances=60)


def test_same_seed_same_bytes() -> None:
    first, again, other = (generate_speech(TINY.model_copy(update={"seed": seed})) for seed in (1, 1, 2))
    for split in first:
        assert [item.text for item in first[split]] == [item.text for item in again[split]]
        assert all(a.frames.tobytes() == b.frames.tobytes() for a, b in zip(first[split], again[split], strict=True))
    assert [item.text for item in first["train"]] != [item.text for item in other["train"]]


def test_splits_share_no_line_and_all_are_of_the_stories() -> None:
    splits = generate_speech(TINY)
    assert {split: len(spoken) for split, spoken in splits.items()} == {"train": 48, "validation": 6, "test": 6}
    texts = [item.text for spoken in splits.values() for item in spoken]
    rng, lines = Random(f"{TINY.seed} speech"), set()
    for _ in range(100):
        lines |= {" ".join(word for word in line.words if word.isalpha()) for line in world().draw(rng)}
    assert lines.issuperset(texts)
    assert len(set(texts)) == 60
    assert all(set(text) <= set(ALPHABET) and len(text) <= TINY.longest for text in texts)


def test_there_is_room_for_every_labelling() -> None:
    for item in generate_speech(TINY)["train"]:
        repeats = sum(a == b for a, b in zip(item.text, item.text[1:], strict=False))
        assert item.frames.dtype == np.float32 and item.frames.shape == (len(item.sounding), TINY.dimensions)
        assert len(item.frames) >= len(item.text) + repeats
        heard = item.sounding[item.sounding != SILENCE]
        assert (np.diff(heard) >= 0).all()
        assert [item.text[position] for position in dict.fromkeys(heard.tolist())] == list(item.text.replace(" ", ""))


def test_golden_without_noise_and_coarticulation() -> None:
    config = TINY.model_copy(update={"noise": 0.0, "coarticulation": 0.0})
    sounds = prototypes(config.dimensions)
    item = speak("a cat", sounds, config, np.random.default_rng(1))
    expected = [sounds[ALPHABET.index(item.text[index])] if index != SILENCE else sounds[0] for index in item.sounding]
    np.testing.assert_array_equal(item.frames, np.array(expected, dtype=np.float32))
    assert (sounds[0] == 0).all()


def test_golden_coarticulation() -> None:
    """At the first of two frames u = ¼: a = ½ · 1 · ½, so a quarter of the letter before."""
    config = SpeechConfig(noise=0.0, coarticulation=1.0, longest_letter=2)
    sounds = prototypes(config.dimensions)
    item = speak("ab", sounds, config, np.random.default_rng(3))
    frames = item.frames[item.sounding == 1]
    np.testing.assert_allclose(frames[0], 0.75 * sounds[2] + 0.25 * sounds[1], rtol=1e-6)
    np.testing.assert_allclose(frames[1], 0.75 * sounds[2], rtol=1e-6)


def test_too_few_sentences_raise_a_named_error() -> None:
    with pytest.raises(InputError, match=r"utterances=100000: microworld.*lower utterances or raise longest"):
        generate_speech(SpeechConfig(size="tiny", utterances=100_000, longest=8))
