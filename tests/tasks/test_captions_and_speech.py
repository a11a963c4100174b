"""Captioners and recognisers: data from a folder, training, files, scores."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from langladder.corpora.scenes import Described, Scene, SceneConfig, read_scenes, sentences, write_scenes
from langladder.corpora.speech import ALPHABET, SpeechConfig, Utterance, generate_speech, read_speech, write_speech
from langladder.data.captioning import CODES, SceneCodes
from langladder.data.speech import SpeechBatches, collate, decode, encode
from langladder.decoding.beam_search import BeamConfig
from langladder.evaluation.captions import CaptionPage, QuestionRecall, evaluate_captions
from langladder.evaluation.transcripts import TranscriptionConfig, TranscriptPage, evaluate_transcripts
from langladder.ground.errors import InputError
from langladder.ground.schema import locate_function
from langladder.models.ctc import CTCConfig, CTCRecognizer
from langladder.models.making import Run, TrainingResult
from langladder.models.recognizer import Recognizer
from langladder.models.translation.attention_recognizer import AttentionRecognizer
from langladder.models.translation.captioner import Captioner, CaptionerConfig
from langladder.tasks.settings import AttentiveSpeechTraining, SpeechTraining, TranslationTraining
from langladder.tasks.speech_recognition import CTCTask
from langladder.tasks.translation import TranslationTask
from langladder.text.tokenize.specials import BOS, EOS
from tests.tasks.small_run import moved, stop_at

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


def captioner(scenes: Path, out: Path, checkpoints: Path) -> TrainingResult:
    corpus = read_scenes(scenes)
    codes, config = SceneCodes.of_corpus(corpus["train"]), CaptionerConfig(width=16, embedding_dim=16)
    torch.manual_seed(1)
    model = Captioner(config, *codes.sizes)
    data = [codes.pairs(corpus[split]) for split in ("train", "validation")]
    settings = SimpleNamespace(training=TranslationTraining(**TRAINING))
    make = locate_function(Captioner.maker)
    result: TrainingResult = make(model, None, *data, settings=settings, run=Run(1, checkpoints))
    model.save(out)
    codes.save(out / CODES)
    return result


def recogniser(speech: Path, out: Path, checkpoints: Path, kind: type[Any] = CTCRecognizer) -> TrainingResult:
    corpus = read_speech(speech)
    torch.manual_seed(1)
    model = kind(kind.Config(width=16), corpus.dimensions, len(ALPHABET))
    data = [corpus.splits[split] for split in ("train", "validation")]
    training = AttentiveSpeechTraining if kind is AttentionRecognizer else SpeechTraining
    settings = SimpleNamespace(training=training(**TRAINING))
    make = locate_function(kind.maker)
    result: TrainingResult = make(model, None, *data, settings=settings, run=Run(1, checkpoints))
    model.save(out)
    return result


def caption_page(scenes: Path, model: Path) -> CaptionPage:
    test, codes = read_scenes(scenes)["test"], SceneCodes.load(model / CODES)
    return evaluate_captions("mine", Captioner.load(model), codes, test, BeamConfig(width=3))


def transcript_page(speech: Path, model: Path) -> TranscriptPage:
    test = read_speech(speech).splits["test"]
    return evaluate_transcripts("mine", Recognizer.load(model), test, TranscriptionConfig(width=3))


@pytest.mark.parametrize("what", ["captions", "speech", "speech by attention"])
def test_train_and_judge(what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "data"
    if what == "captions":
        write_scenes(SceneConfig(size="tiny", scenes=800), data)
        train, judge = captioner, caption_page
    else:
        write_speech(SpeechConfig(size="tiny", utterances=60, longest=16), data)
        kind = CTCRecognizer if what == "speech" else AttentionRecognizer
        train, judge = partial(recogniser, kind=kind), transcript_page  # type: ignore[assignment]
    pages, files = [], []
    for run in ("one", "two"):  # the same seed, the same bytes: the second is killed, moved and resumed
        checkpoints = tmp_path / f"{run} checkpoints"
        if run == "two":
            with monkeypatch.context() as patch, pytest.raises(KeyError):
                stop_at(patch, CTCTask if what == "speech" else TranslationTask, 8)
                train(data, tmp_path / run, checkpoints)
            checkpoints = moved(checkpoints)
        result = train(data, tmp_path / run, checkpoints)
        assert [row["step"] for row in result.curve] == [3, 6, 9, 12]
        assert result.curve[-1]["train_loss"] < result.curve[0]["train_loss"] and result.cost["seconds"] > 0
        files.append((tmp_path / run / "model.safetensors").read_bytes())
        pages.append(judge(data, tmp_path / run))
    assert files[0] == files[1] and pages[0] == pages[1]
    page = pages[0]
    assert type(page).model_validate_json(page.model_dump_json()) == page and "examples" not in page.summary()
    assert page.name == "mine" and page.parameters > 1000 and page.examples
    assert page.figures()["sentences"] == page.scores.sentences > 5
    assert {name for name in page.figures() if name.startswith("beam_")} >= (
        {"beam_right", "beam_facts", "beam_bleu"} if what == "captions" else {"beam_cer", "beam_wer", "beam_exact"}
    )


def test_codes_roundtrip(tmp_path: Path) -> None:
    codes = SceneCodes.of(["agent=dog", "deed=run"], ["a dog runs .", "the dog runs ."])
    assert codes.words == [".", "a", "dog", "runs", "the"] and codes.sizes == (6, 9)
    scene = Scene("dog", deed="run")
    assert codes.source(scene).tolist() == [4, 5, EOS]
    assert codes.target("the dog .").tolist() == [BOS, 8, 6, 4, EOS]
    assert codes.sentence([8, 6, 4]) == "the dog ."
    codes.save(tmp_path / "codes.json")
    assert SceneCodes.load(tmp_path / "codes.json") == codes
    for strange in (lambda: codes.source(Scene("cat", deed="run")), lambda: codes.target("a cat .")):
        with pytest.raises(InputError, match="is not one of this captioner's"):
            strange()
    pairs = codes.pairs([Described(scene, "a dog .")] * 2)
    assert len(pairs) == 2 and pairs.pair(1)[1].tolist() == [BOS, 5, 6, 4, EOS]


def test_golden_caption_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four captions: two right (one with another determiner), one with the wrong number, one silent."""
    scenes = [Scene("dog", number, deed="run") for number in ("one", "one", "many", "many")]
    test = [Described(scene, sentences(scene)[0]) for scene in scenes]
    captions = ["the dog runs .", "this dog runs .", "the dog runs .", ""]
    codes = SceneCodes.of(["agent=dog"], [*captions, "these dogs run ."])
    result = iter(2 * [[[type("H", (), {"tokens": list(codes.target(text)[1:-1])})()] for text in captions]])
    monkeypatch.setattr("langladder.evaluation.captions.translate", lambda *_: next(result))
    monkeypatch.setattr(SceneCodes, "source", lambda *_: np.array([EOS]))
    model = Captioner(CaptionerConfig(width=2, embedding_dim=2), *codes.sizes)
    page = evaluate_captions("golden", model, codes, test, BeamConfig())
    assert page.scores.beam.right == 0.5
    assert page.scores.beam.facts == 8 / 12  # agent and deed: three of four, number: two
    three = QuestionRecall(asked=4, said=0.75)
    assert page.by_question == {"agent": three, "agents": QuestionRecall(asked=4, said=0.5), "deed": three}
    assert [example.right for example in page.examples] == [True, True, False, False]


def test_golden_error_rates(monkeypatch: pytest.MonkeyPatch) -> None:
    """a cat read as a at, and dog read as dog: one deletion in 8 characters, one word in three."""

    def certain(text: str) -> Utterance:
        return Utterance(text, np.zeros((2 * len(text), 3), np.float32), np.repeat(np.arange(len(text)), 2))

    def spikes(text: str) -> np.ndarray:
        y = np.full((2 * len(text) + 2, len(ALPHABET) + 1), 1e-6)
        y[:, 0] = 1.0
        for index, label in enumerate(encode(text)):
            y[2 * index, [0, label]] = [1e-6, 1.0]
        return np.log(y / y.sum(axis=1, keepdims=True))

    read = [spikes("a at"), spikes("dog")]
    monkeypatch.setattr("langladder.evaluation.transcripts.posteriors", lambda *_: read)
    model = CTCRecognizer(CTCConfig(width=2), 3, len(ALPHABET))
    page = evaluate_transcripts("golden", model, [certain("a cat"), certain("dog")], TranscriptionConfig())
    for scores in (page.scores.greedy, page.scores.beam):
        assert scores.cer == pytest.approx(1 / 8) and scores.wer == pytest.approx(1 / 3)
        assert scores.exact == 0.5 and scores.search_errors == 0.0
    assert [(example.text, example.beam) for example in page.examples] == [("a cat", "a at"), ("dog", "dog")]
    assert set(page.examples[1].labels) == set("dog")


def test_every_utterance_comes_once_an_epoch() -> None:
    spoken = generate_speech(SpeechConfig(size="tiny", utterances=60, longest=16))["train"]
    batches = SpeechBatches(spoken, [], batch_size=7, seed=1)
    an_epoch = range(-(-len(spoken) // 7))
    texts = []
    for step in an_epoch:
        batch = batches.train(step)
        assert batches.size(batch) == int(batch.label_lengths.sum())
        for row in range(len(batch.frames)):
            texts.append(decode(batch.labels[row, : batch.label_lengths[row]].tolist()))
            assert (batch.frames[row, batch.lengths[row] :] == 0).all()
    assert sorted(texts) == sorted(item.text for item in spoken)
    again = SpeechBatches(spoken, [], batch_size=7, seed=1).train(3)
    assert torch.equal(again.frames, batches.train(3).frames)
    assert batches.validation() == []


def test_labels_roundtrip() -> None:
    text = "the quick fox"
    assert decode(encode(text)) == text and min(encode(text)) == 1
    batch = collate([Utterance(text, np.ones((30, 2), np.float32), np.zeros(30, np.int64))])
    assert batch.frames.shape == (1, 30, 2) and batch.lengths.tolist() == [30]
