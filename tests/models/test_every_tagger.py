"""What every tagger must do, for every file in conf/tagger: a new YAML needs no new test.

Networks keep their first weights. Shapes, a gradient for every parameter, two batches learnt by heart, padding that
changes nothing, saving that keeps everything, a stranger's folder that is refused in one line.
"""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.ground.artefacts import read_arrays, write_arrays
from langladder.ground.errors import InputError
from langladder.models.tagging.counted_tagger import CountedTagger, tag_ids
from langladder.models.tagging.neural_tagger import NeuralTagger
from langladder.models.tagging.tagger import Tagger
from langladder.models.tagging.tagger_words import TaggerWords
from langladder.text.labelled.labelled import Tagged
from tests.bf16 import check_training
from tests.hostile import little_memory
from tests.models.rungs import classes, models

TAGS = ["DET", "NOUN", "VERB"]
TRAIN = [
    Tagged(tuple(words.split()), tuple(tags.split()))
    for words, tags in (
        ("the dog sleeps", "DET NOUN VERB"),
        ("a Cat sees the dogs", "DET NOUN VERB DET NOUN"),
        ("dogs sleep", "NOUN VERB"),
        ("the 2 walks", "DET NOUN VERB"),
        ("walks", "NOUN"),
    )
]
SENTENCES = [("the", "cats", "walk"), (), ("dogs",), ("the", "Cat", "sees", "3", "unseen" * 20, "dogs")]


RUNGS = classes("tagger")
NETWORKS = [name for name, kind in RUNGS.items() if issubclass(kind, NeuralTagger)]


def network(name: str) -> NeuralTagger:
    kind, config = RUNGS[name], models("tagger")[name]
    words = TaggerWords.of(TRAIN, lowercase=True, digits=True, min_count=1, more=["walk"])
    torch.manual_seed(1)
    return kind(config, *words.sizes, len(TAGS)).equip(words, TAGS)


def build_tagger(name: str) -> Tagger:
    if name in NETWORKS:
        return network(name).eval()
    kind, config = RUNGS[name], models("tagger")[name]
    tagger: CountedTagger = kind(config, TAGS)
    tagger.fit(TRAIN, tag_ids(TRAIN, TAGS))
    return tagger


def batch(tagger: NeuralTagger, sentences=TRAIN):
    encoded = tagger.words.collate([tagger.encode(sentence.words) for sentence in sentences])
    tags = torch.zeros(encoded.tokens.shape, dtype=torch.int64)
    for row, item in enumerate(sentences):
        tags[row, : len(item.words)] = torch.from_numpy(tag_ids([item], TAGS))
    return encoded, tags


@pytest.mark.parametrize("name", RUNGS)
def test_a_tag_and_a_distribution_for_every_word(name):
    tagger = build_tagger(name)
    tags, log_probs = tagger.tag(SENTENCES), tagger.log_probs(SENTENCES)
    assert [len(row) for row in tags] == [3, 0, 1, 6]
    assert {tag for row in tags for tag in row} <= set(TAGS)
    for words, rows in zip(SENTENCES, log_probs, strict=True):
        assert rows.shape == (len(words), 3) and rows.dtype == np.float64
        assert np.exp(rows).sum(axis=1) == pytest.approx(np.ones(len(words)))


@pytest.mark.parametrize("name", RUNGS)
def test_padding_and_order_change_nothing(name):
    tagger = build_tagger(name)
    batched = tagger.log_probs(SENTENCES)
    for words, row in zip(SENTENCES, batched, strict=True):
        np.testing.assert_allclose(tagger.log_probs([words])[0], row, atol=1e-5)
    assert tagger.tag(SENTENCES[::-1]) == tagger.tag(SENTENCES)[::-1]


@pytest.mark.parametrize("name", RUNGS)
def test_save_and_load_keep_everything(name, tmp_path):
    tagger = build_tagger(name)
    tagger.save(tmp_path / "one")
    loaded = Tagger.load(tmp_path / "one")
    assert type(loaded) is type(tagger) and loaded.tags == TAGS
    assert loaded.number_of_parameters() == tagger.number_of_parameters()
    for log_prob, other in zip(loaded.log_probs(SENTENCES), tagger.log_probs(SENTENCES), strict=True):
        np.testing.assert_array_equal(log_prob, other)
    loaded.save(tmp_path / "two")
    for file in ("config.json", "reading.json", "model.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("name", NETWORKS)
def test_gradient_reaches_every_parameter(name):
    tagger = network(name)
    encoded, tags = batch(tagger)
    tagger.loss(tagger(encoded), encoded, tags).backward()
    assert [name for name, p in tagger.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0] == []


@pytest.mark.parametrize("name", NETWORKS)
def test_trains_in_bf16(name):
    tagger = network(name)
    encoded, tags = batch(tagger)
    check_training(tagger, lambda: tagger.loss(tagger(encoded), encoded, tags))


@pytest.mark.parametrize("name", NETWORKS)
def test_two_batches_are_learnt_by_heart(name):
    tagger = network(name).train()
    tagger.dropout.p = 0.0
    batches = [batch(tagger, TRAIN[:3]), batch(tagger, TRAIN[3:])]
    optimizer = torch.optim.Adam(tagger.parameters(), lr=0.02)

    def learnt() -> bool:
        return [tuple(row) for row in tagger.tag([item.words for item in TRAIN])] == [item.tags for item in TRAIN]

    for step in range(80):
        if step % 20 == 0 and learnt():
            break
        encoded, tags = batches[step % 2]
        optimizer.zero_grad()
        tagger.loss(tagger(encoded), encoded, tags).backward()
        optimizer.step()
    assert learnt()


@pytest.mark.parametrize("name", RUNGS)
def test_damaged_folders_are_refused_with_a_one_line_error(name, tmp_path):
    tagger = build_tagger(name)

    def refused(file: str, change) -> None:
        tagger.save(tmp_path)
        value = json.loads((tmp_path / file).read_text())
        change(value)
        (tmp_path / file).write_text(json.dumps(value))
        with little_memory(), pytest.raises(InputError) as raised:
            Tagger.load(tmp_path)
        assert "\n" not in str(raised.value)

    listed = next(key for key, value in json.loads(_reading(tagger, tmp_path)).items() if isinstance(value, list))
    refused("config.json", lambda value: value.update(number_of_labels=2**31 - 1))
    refused("config.json", lambda value: value.update(_target_="langladder.models.language.gpt.GPT"))
    refused("reading.json", lambda value: value.update(labels=["DET", "DET", "VERB"]))
    refused("reading.json", lambda value: value.update(labels=["DET"]))
    refused("reading.json", lambda value: value.update({listed: [1, 2, 3]}))
    refused("reading.json", lambda value: value.pop(listed))
    if "words" in json.loads(_reading(tagger, tmp_path)):
        refused("reading.json", lambda value: value["words"].append("one more"))
    if name in NETWORKS:
        refused("reading.json", lambda value: value.update(training_words=10**9))
        refused("reading.json", lambda value: value.update(lowercase=1))
        refused("config.json", lambda value: value.update(vocab_size=10**9))


def _reading(tagger: Tagger, folder: Path) -> str:
    tagger.save(folder)
    return (folder / "reading.json").read_text()


@pytest.mark.parametrize("name", [name for name in RUNGS if name not in NETWORKS])
def test_strange_arrays_are_refused(name, tmp_path):
    tagger = build_tagger(name)
    tagger.save(tmp_path)
    good = read_arrays(tmp_path / "model.safetensors")
    for array in good:
        for bad in (good[array][:-1], good[array].astype(np.float32), np.full_like(good[array], -7)):
            if array in ("transitions", "values") and bad.shape == good[array].shape and bad.dtype == good[array].dtype:
                continue  # a weight may be any number
            write_arrays(tmp_path / "model.safetensors", good | {array: bad})
            with pytest.raises(InputError, match="do not fit"):
                Tagger.load(tmp_path)
        if good[array].dtype == np.float64:
            write_arrays(tmp_path / "model.safetensors", good | {array: np.full_like(good[array], np.nan)})
            with pytest.raises(InputError, match="not finite"):
                Tagger.load(tmp_path)
