"""Captioning and speech recognition through their one door: data, training, what is left on disk, and the judges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.corpora.scenes import Described, Scene, sentences
from langladder.corpora.speech import ALPHABET, Utterance
from langladder.corpora.world import world
from langladder.data.captioning import SceneCodes
from langladder.data.speech import SpeechBatches, collate, decode, encode
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.captions import evaluate_captions
from langladder.evaluation.sequence import evaluate_sequence
from langladder.evaluation.transcripts import TranscriptionConfig, evaluate_transcripts
from langladder.models.ctc import CTCConfig, CTCRecognizer
from langladder.tasks.captioning import Captioning
from langladder.tasks.sequence import SequenceTask
from langladder.tasks.speech_recognition import SpeechRecognition
from langladder.text.specials import BOS, EOS

TRAINING: dict[str, Any] = {
    "max_steps": 12, "validate_every": 6, "checkpoint_every": 4, "log_every": 3, "lr": 0.01, "progress": False,
    "accelerator": "cpu", "precision": "fp32",
}  # fmt: skip


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def captioning() -> Captioning:
    data = Captioning.Data.model_validate({"size": "tiny", "scenes": 800})
    return Captioning(data, Captioning.Config.model_validate({"width": 16, "embedding_dim": 16}), seed=1)


def recognition() -> SpeechRecognition:
    data = SpeechRecognition.Data.model_validate({"size": "tiny", "utterances": 60, "longest": 16})
    return SpeechRecognition(data, SpeechRecognition.Config.model_validate({"width": 16}), seed=1)


@pytest.mark.parametrize("make", [captioning, recognition])
def test_train_and_judge(make: Any, tmp_path: Path) -> None:
    pages, files = [], []
    for run in ("one", "two"):  # the same seed, the same bytes
        task: SequenceTask = make()
        training = type(task).Training.model_validate(TRAINING)
        result, model = task.train(training, work=tmp_path / f"{run} work")
        task.save(model, tmp_path / run)
        assert result.steps == 12 and model.number_of_parameters() > 1000
        assert [row["step"] for row in result.curve] == [3, 6, 9, 12]
        assert result.curve[-1]["train_loss"] < result.curve[0]["train_loss"]  # type: ignore[operator]
        files.append((tmp_path / run / "model.safetensors").read_bytes())
        pages.append(evaluate_sequence(make(), tmp_path / run, beam=3))  # the judge makes the data again
    assert files[0] == files[1] and pages[0] == pages[1]
    assert pages[0]["parameters"] == model.number_of_parameters()
    assert pages[0]["scores"]["sentences"] == len(make().data()["test"])


def test_codes_roundtrip(tmp_path: Path) -> None:
    codes = SceneCodes.of(["agent=dog", "deed=run"], ["a dog runs .", "the dog runs ."])
    assert codes.words == [".", "a", "dog", "runs", "the"] and codes.sizes == (6, 9)
    scene = Scene("dog", "", "", "run", "")
    assert codes.source(scene).tolist() == [4, 5, EOS]
    assert codes.target("the dog .").tolist() == [BOS, 8, 6, 4, EOS]
    assert codes.sentence([8, 6, 4]) == "the dog ."
    codes.save(tmp_path / "codes.json")
    assert SceneCodes.load(tmp_path / "codes.json") == codes
    pairs = codes.pairs([Described(scene, "a dog .")] * 2)
    assert len(pairs) == 2 and pairs.pair(1)[1].tolist() == [BOS, 5, 6, 4, EOS]


def test_golden_caption_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four captions: two right (one with another determiner), one with the wrong number, one silent."""
    scenes = [Scene("dog", number, "", "sleep", "past") for number in ("one", "one", "many", "many")]
    test = [Described(scene, sentences(world("small"), scene)[0]) for scene in scenes]
    said = ["the dog slept .", "a dog slept .", "the dog slept .", ""]
    codes = SceneCodes.of(["agent=dog"], [*said, "the dogs slept . some dogs"])
    found = iter(2 * [[[type("H", (), {"tokens": list(codes.target(text)[1:-1])})()] for text in said]])
    monkeypatch.setattr("langladder.evaluation.captions.translate", lambda *_: next(found))
    monkeypatch.setattr(SceneCodes, "source", lambda *_: np.array([EOS]))
    page = evaluate_captions(None, codes, test, "small", BeamConfig())  # type: ignore[arg-type]
    assert page["scores"]["beam"]["right"] == 0.5
    assert page["scores"]["beam"]["facts"] == 5 / 8  # agent: two of four, deed: three
    assert page["by_question"] == {"agent": {"asked": 4, "said": 0.5}, "deed": {"asked": 4, "said": 0.75}}
    assert [example["right"] for example in page["examples"]] == [True, True, False, False]


def test_golden_error_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """a cat read as a at, and dog read as dog: one deletion in 8 characters, one word in three."""

    def certain(text: str) -> Utterance:
        return Utterance(text, np.zeros((2 * len(text), 3), np.float32), np.repeat(np.arange(len(text)), 2))

    def spikes(text: str) -> np.ndarray:
        y = np.full((2 * len(text) + 2, len(ALPHABET) + 1), 1e-6)
        y[:, 0] = 1.0
        for place, label in enumerate(encode(text)):
            y[2 * place, [0, label]] = [1e-6, 1.0]
        return np.log(y / y.sum(axis=1, keepdims=True))

    read = [spikes("a at"), spikes("dog")]
    monkeypatch.setattr("langladder.evaluation.transcripts.posteriors", lambda *_: read)
    model = CTCRecognizer(CTCConfig(width=2), 3, len(ALPHABET))
    page = evaluate_transcripts(model, [certain("a cat"), certain("dog")], TranscriptionConfig())
    for search in ("greedy", "beam"):
        scores = page["scores"][search]
        assert scores["cer"] == pytest.approx(1 / 8) and scores["wer"] == pytest.approx(1 / 3)
        assert scores["exact"] == 0.5 and scores["search_errors"] == 0.0
    assert [(one["text"], one["beam"]) for one in page["examples"]] == [("a cat", "a at"), ("dog", "dog")]
    assert set(page["examples"][1]["labels"]) == set("dog")


def test_every_utterance_comes_once_an_epoch() -> None:
    spoken = recognition().data()["train"]
    batches = SpeechBatches(spoken, [], batch_size=7, seed=1)
    an_epoch = range(-(-len(spoken) // 7))
    texts = []
    for step in an_epoch:
        batch = batches.train(step)
        assert batches.size(batch) == int(batch.label_lengths.sum())
        for row in range(len(batch.frames)):
            texts.append(decode(batch.labels[row, : batch.label_lengths[row]].tolist()))
            assert (batch.frames[row, batch.lengths[row] :] == 0).all()
    assert sorted(texts) == sorted(one.text for one in spoken)
    again = SpeechBatches(spoken, [], batch_size=7, seed=1).train(3)
    assert torch.equal(again.frames, batches.train(3).frames)
    assert batches.validation() == []


def test_labels_roundtrip() -> None:
    text = "the quick fox"
    assert decode(encode(text)) == text and min(encode(text)) == 1
    batch = collate([Utterance(text, np.ones((30, 2), np.float32), np.zeros(30, np.int64))])
    assert batch.frames.shape == (1, 30, 2) and batch.lengths.tolist() == [30]
