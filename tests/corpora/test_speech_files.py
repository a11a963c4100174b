"""Speech on disk: the same frames come back, the same bytes for the same settings, and nothing else is read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from langladder.corpora.speech import SpeechConfig, generate_speech, read_speech, write_speech
from langladder.ground.errors import InputError
from tests.hostile import fuzzed, read, strange_bytes, strange_json

TINY = SpeechConfig(size="tiny", utterances=40, longest=16)


@pytest.fixture(scope="module")
def spoken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("speech")
    write_speech(TINY, folder)
    return folder


def copy(spoken: Path, folder: Path) -> Path:
    for file in spoken.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    return folder


def test_speech_comes_back_and_the_bytes_are_the_same(spoken: Path, tmp_path: Path) -> None:
    report = write_speech(TINY, tmp_path)
    result, splits = read_speech(tmp_path), generate_speech(TINY)
    assert result.dimensions == TINY.dimensions and list(result.splits) == list(splits)
    for split, utterances in splits.items():
        assert report["splits"][split]["utterances"] == len(utterances) == len(result.splits[split])
        for item, other in zip(result.splits[split], utterances, strict=True):
            assert item.text == other.text and item.frames.dtype == np.float32 and item.sounding.dtype == np.int64
            assert item.frames.tobytes() == other.frames.tobytes() and (item.sounding == other.sounding).all()
    assert all((spoken / file.name).read_bytes() == file.read_bytes() for file in tmp_path.iterdir())


def changed_arrays(name: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One thing changed that makes the arrays no utterances."""
    if name == "missing":
        del arrays["sounding"]
    elif name == "type":
        arrays["frames"] = arrays["frames"].astype(np.float64)
    elif name == "longer":
        arrays["lengths"][0] += 1
    elif name == "negative":
        arrays["lengths"][:2] += [-1000, 1000]
    elif name == "endless":
        arrays["frames"][3, 1] = np.inf
    elif name == "fewer":
        arrays["lengths"] = arrays["lengths"][1:]
    elif name == "sounding":
        arrays["sounding"][0] = 99
    else:
        arrays["lengths"][:2] += [2 - arrays["lengths"][0], arrays["lengths"][0] - 2]
    return arrays


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("missing", "needs sounding, int32 with 1 axes"),
        ("type", "needs frames, float32 with 2 axes"),
        ("longer", "have another sum"),
        ("negative", "have another sum"),
        ("endless", "not finite"),
        ("fewer", "3 utterances, but corpus.json has 4"),
        ("sounding", "utterance 0, .* has a frame of a letter that is not in its text"),
        ("short", "utterance 0, .* has 2 frames, too few"),
    ],
)
def test_invalid_utterances_raise_a_named_error(spoken: Path, tmp_path: Path, change: str, message: str) -> None:
    path = copy(spoken, tmp_path) / "test.safetensors"
    save_file(changed_arrays(change, load_file(path)), path)
    with pytest.raises(InputError, match=rf"test\.safetensors: .*{message}"):
        read_speech(tmp_path)


def test_other_files_are_refused(spoken: Path, tmp_path: Path) -> None:
    folder = copy(spoken, tmp_path)
    about: dict[str, Any] = json.loads((folder / "corpus.json").read_text())
    texts = about["texts"]
    for other, message in (
        ({"format": 2}, 'needs "format": 1'),
        ({"texts": {"train": []}}, '"texts" with the sentences of train, validation, test'),
        ({"texts": texts | {"test": ["Ärger", *texts["test"][1:]]}}, "'Ärger', has letters other than"),
        ({"texts": texts | {"test": [1]}}, "not a list of words"),
    ):
        (folder / "corpus.json").write_text(json.dumps(about | other))
        with pytest.raises(InputError, match=message):
            read_speech(folder)
    copy(spoken, folder)
    write_speech(TINY.model_copy(update={"dimensions": 5}), tmp_path / "other")
    (folder / "test.safetensors").write_bytes((tmp_path / "other" / "test.safetensors").read_bytes())
    with pytest.raises(InputError, match="frames of 5 and 12 numbers"):
        read_speech(folder)


@given(data=st.data())
@fuzzed
def test_fuzz_speech_files(spoken: Path, tmp_path: Path, data: st.DataObject) -> None:
    copy(spoken, tmp_path)
    path = tmp_path / data.draw(st.sampled_from(["corpus.json", "test.safetensors"]))
    strange = (
        strange_json(json.loads(path.read_bytes())) if path.suffix == ".json" else strange_bytes(path.read_bytes())
    )
    path.write_bytes(data.draw(strange))
    read(read_speech, tmp_path)
