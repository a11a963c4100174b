"""The shelf: what it finds and of which kind, that one model's loading holds up no other, what it lets go."""

import importlib
import inspect
import json
import pkgutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import langladder.models
from langladder.answers.kinds import kind_of, title_of
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError

ABOVE = {  # a base class of `langladder.models` → the kind of what derives from it
    "language.language_model.LanguageModel": "lm",
    "encoders.encoder.Encoder": "encoder",
    "translation.translator.Translator": "translator",
    "classification.classifier.Classifier": "classifier",
    "tagging.tagger.Tagger": "tagger",
    "reading.reader.Reader": "reader",
}
OWN = {"InstructedGPT": "instruct", "Captioner": "captioner", "RewardModel": "reward"}
OWN |= {"CTCRecognizer": "transcriber", "AttentionRecognizer": "transcriber"}


def _saved(folder: Path, target: str) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"_target_": target}))
    (folder / "model.safetensors").write_bytes(b"x" * 100)
    return folder


def test_the_kinds_are_those_of_the_classes(tmp_path) -> None:
    bases = {}
    for name, kind in ABOVE.items():
        module, _, cls = name.rpartition(".")
        bases[getattr(importlib.import_module(f"langladder.models.{module}"), cls)] = kind
    count = 0
    for result in pkgutil.walk_packages(langladder.models.__path__, "langladder.models."):
        for name, cls in vars(importlib.import_module(result.name)).items():
            if not inspect.isclass(cls) or cls.__module__ != result.name or inspect.isabstract(cls):
                continue
            kinds = [OWN[name]] if name in OWN else [kind for base, kind in bases.items() if issubclass(cls, base)]
            if kinds:
                count += 1
                assert [kind_of(_saved(tmp_path / f"m{count}", f"{result.name}.{name}"))] == kinds[:1], name
    assert count > 30


def test_every_model_below_a_folder_is_found(tmp_path) -> None:
    gpt = "langladder.models.language.gpt.GPT"
    folders = [_saved(tmp_path / "models" / name, gpt) for name in ("lm/gpt", "tune/gpt", "lm/other")]
    (tmp_path / "models" / "lm" / ".hidden").mkdir()
    shelf = Shelf.below([tmp_path / "models"])
    assert [*shelf.folders.values()] == [folders[0], folders[2], folders[1]]
    assert [*shelf.folders_of("lm")] == [folders[0].as_posix(), "other", folders[1].as_posix()]
    assert shelf.project == tmp_path
    _saved(tmp_path / "models" / "lm" / "new", gpt)
    shelf.refresh()
    assert "new" in shelf.folders
    assert Shelf.below([folders[2]]).folders == {"other": folders[2]}
    with pytest.raises(InputError, match="no such folder"):
        Shelf.below([tmp_path / "none"])


def test_what_has_vectors_is_listed_as_such(tmp_path) -> None:
    _saved(tmp_path / "lm" / "gpt", "langladder.models.language.gpt.GPT")
    _saved(tmp_path / "lm" / "counted", "langladder.models.ngrams.kneser_ney.KneserNey")
    _saved(tmp_path / "translator" / "attention", "langladder.models.translation.attention_seq2seq.AttentionSeq2Seq")
    (tmp_path / "embedding" / "svd").mkdir(parents=True)
    (tmp_path / "embedding" / "svd" / "words.json").write_text("[]")
    _saved(tmp_path / "lm" / "broken", "langladder.models.language.gpt.GPT")
    (tmp_path / "lm" / "broken" / "config.json").write_text("{")
    assert sorted(Shelf.below([tmp_path]).folders_of("vectors")) == ["gpt", "svd"]


def test_damaged_descriptions_are_of_the_kind_that_their_place_says(tmp_path) -> None:
    for number, text in enumerate(("{", "[]", "null", '"x"', "[" * 100_000, '{"_target_": 3}', "\xff")):
        folder = tmp_path / "tune" / f"damaged{number}"
        folder.mkdir(parents=True)
        (folder / "config.json").write_bytes(text.encode("latin-1"))
        (folder / "provenance.json").write_bytes(text.encode("latin-1"))
        assert kind_of(folder) == "lm"
        assert title_of(folder) == folder.name
    assert kind_of(tmp_path) is None


def test_a_slow_reading_holds_up_no_other_and_is_done_once(tmp_path) -> None:
    slow, quick = (_saved(tmp_path / name, "x") for name in ("slow", "quick"))
    shelf, begun, go, readings = Shelf.of([slow, quick]), threading.Event(), threading.Event(), []

    def read(folder: Path) -> str:
        readings.append(folder)
        if folder == slow:
            begun.set()
            assert go.wait(10)
        return folder.name

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(shelf.load, "it", slow, read) for _ in range(3)]
        assert begun.wait(10)
        assert shelf.load("it", quick, read) == "quick"
        assert shelf.loaded == [str(quick)]
        go.set()
        assert [item.result(10) for item in waiting] == ["slow"] * 3
    assert readings.count(slow) == 1


def test_memory_is_kept_within_and_what_changed_is_read_again(tmp_path) -> None:
    item, other = (_saved(tmp_path / name, "x") for name in ("one", "other"))
    shelf, readings = Shelf.of([item, other], memory=150), []
    shelf.load("it", item, readings.append)
    shelf.load("it", other, readings.append)
    assert shelf.loaded == [str(other)]
    shelf.load("it", other, readings.append)
    assert readings == [item, other]
    other.rename(tmp_path / "old")
    with pytest.raises(InputError, match="any more"):
        shelf.load("it", other, readings.append)
    _saved(other, "x")
    shelf.load("it", other, readings.append)
    assert readings == [item, other, other]


def test_a_reading_that_failed_is_tried_again(tmp_path) -> None:
    folder = _saved(tmp_path / "one", "x")
    shelf, errors = Shelf.of([folder]), [InputError("damaged")]

    def read(_: Path) -> str:
        if errors:
            raise errors.pop()
        return "whole"

    with pytest.raises(InputError, match="damaged"):
        shelf.load("it", folder, read)
    assert shelf.load("it", folder, read) == "whole"


def test_what_takes_less_memory_than_its_files_says_so(tmp_path: Path) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    for file in (large, small):
        file.write_bytes(bytes(200))
    shelf, readings = Shelf.of([], memory=250), list[Path]()

    def read(path: Path) -> int:
        readings.append(path)
        return len(readings)

    for file, size in ((large, 10), (small, None), (large, 10)):
        shelf.load("text", file, read, size)
    assert readings == [large, small]  # by their files both would not fit
