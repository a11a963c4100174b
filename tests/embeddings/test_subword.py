"""Subword vectors: the kernel against autograd, unseen words, files, learning."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.embeddings.base import WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.embeddings.subword import Parts, Subword, SubwordConfig, chunks
from langladder.embeddings.subword_vectors import NgramBuckets, SubwordVectors
from langladder.ground.errors import InputError
from langladder.kernels.subword import Drawing, PartTables, train_lines
from langladder.kernels.word2vec.drawing import alias_table
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, WordCorpus

STEMS = ["walk", "jump", "climb", "paint", "clean", "borrow", "whisper", "gather"]
TOPICS = {stem: [f"{stem[::-1]}{number}" for number in range(6)] for stem in STEMS}  # words that keep a stem's company


def corpus_of(lines: list[str]) -> WordCorpus:
    vocabulary = Vocabulary.build(lines, VocabularyConfig())
    rows = [vocabulary.encode(line.split()) for line in lines]
    ids = np.concatenate(rows)
    ids.setflags(write=False)
    return WordCorpus(TokenStream(ids, np.cumsum([0] + [len(row) for row in rows])), vocabulary)


def toy_world(lines: int = 4000) -> WordCorpus:
    """Each stem keeps its own company in every form; `whispering` and `gathered` never occur."""
    rng = np.random.default_rng(0)
    text = []
    for _ in range(lines):
        stem = STEMS[rng.integers(len(STEMS))]
        form = stem + ["", "s", "ed", "ing"][rng.integers(4)]
        if form not in ("whispering", "gathered"):
            company = [TOPICS[stem][topic] for topic in rng.integers(6, size=4)]
            text.append(" ".join([*company[:2], form, *company[2:]]))
    return corpus_of(text)


@pytest.fixture(scope="module")
def world() -> SubwordVectors:
    config = SubwordConfig(dim=24, buckets=1_000_000, window=3, epochs=5, lr=0.1, subsample=0)
    vectors = Subword(config).make(toy_world(), seed=3, progress=lambda _: None).vectors
    assert isinstance(vectors, SubwordVectors)
    return vectors


def always(word: int) -> tuple[np.ndarray, np.ndarray]:
    """An alias table that yields this word of four only."""
    return alias_table(np.eye(4)[word])


def logistic_loss(h: torch.Tensor, u: torch.Tensor, target: int, noise: int) -> torch.Tensor:
    return -torch.nn.functional.logsigmoid(u[target] @ h) - torch.nn.functional.logsigmoid(-u[noise] @ h)


@pytest.mark.parametrize("cbow", [False, True])
def test_kernel_gradient_equals_autograd(cbow: bool) -> None:
    """Words 0 1 2 with windows of 1, one noise word 3; each part moves by |P| times the exact gradient of the mean."""
    rng = np.random.default_rng(0)
    rows, bounds = [[0, 4, 5], [1, 5], [2], [3, 6]], np.array([0, 3, 5, 6, 8])
    table, output = (rng.normal(scale=0.7, size=(size, 6)).astype(np.float32) for size in (7, 4))
    z, u = (torch.tensor(array, dtype=torch.float64) for array in (table, output))
    rate, line = 0.1, [0, 1, 2]
    expected = 0.0
    for centre in range(3):
        around = [position for position in (centre - 1, centre + 1) if 0 <= position < 3]
        inputs, targets = (around, [centre]) if cbow else ([centre], around)
        parts = [part for position in inputs for part in rows[line[position]]]
        for position in targets:
            z_, u_ = z.clone().requires_grad_(), u.clone().requires_grad_()
            loss = logistic_loss(z_[parts].mean(0), u_, line[position], 3)
            loss.backward()
            expected += loss.item()
            assert z_.grad is not None and u_.grad is not None
            z, u = z - rate * len(parts) * z_.grad, u - rate * u_.grad

    ids, flat = np.array(line, dtype=np.int32), np.array([part for word in rows for part in word], dtype=np.int32)
    ids.setflags(write=False)
    noise, keep = always(3), np.ones(4, dtype=np.float32)
    tables, drawing = PartTables(flat, bounds, table, output), Drawing(keep, noise, 1, False, 1)
    loss_sum, targets_seen = train_lines(ids, np.array([3]), tables, drawing, cbow, rate, 1)
    assert targets_seen == (3 if cbow else 4)
    assert loss_sum == pytest.approx(expected, rel=1e-3)
    np.testing.assert_allclose(table, z.numpy(), atol=2e-4)
    np.testing.assert_allclose(output, u.numpy(), atol=2e-4)


def test_windows_end_with_their_line() -> None:
    table, output = np.ones((4, 2), dtype=np.float32), np.zeros((4, 2), dtype=np.float32)
    ids = np.array([0, 1, 2, 3], dtype=np.int32)
    ids.setflags(write=False)
    own, bounds = np.arange(4, dtype=np.int32), np.arange(5)
    keep, noise = np.ones(4, dtype=np.float32), always(0)
    for lines, pairs in (([4], 12), ([2, 4], 4), ([1, 2, 3, 4], 0)):
        tables, drawing = PartTables(own, bounds, table, output), Drawing(keep, noise, 5, False, 1)
        assert train_lines(ids, np.array(lines), tables, drawing, False, 0.1, 1)[1] == pairs


def test_parts_of_a_word() -> None:
    words, cut = ["where", "her", "there"], NgramBuckets(3, 3, 10_000)
    parts = Parts.of(words, cut)
    assert len(set(parts.buckets.tolist())) == len({gram for word in words for gram in cut.ngrams(word)})
    for number, word in enumerate(words):
        rows = parts.rows[parts.bounds[number] : parts.bounds[number + 1]].tolist()
        assert rows[0] == number  # the word itself
        assert [parts.buckets[row - 3] for row in rows[1:]] == cut.of([word])[0].tolist()
    table = np.random.default_rng(0).normal(size=(3 + len(parts.buckets), 4)).astype(np.float32)
    mean = table[parts.rows[parts.bounds[1] : parts.bounds[2]]].mean(0)
    np.testing.assert_allclose(parts.means(table)[1], mean, rtol=1e-5)


def test_chunks_are_whole_lines() -> None:
    offsets = np.array([0, 6000, 12_000, 12_000, 50_000, 50_001])
    bounds = chunks(offsets)
    assert bounds[0] == 0 and bounds[-1] == 5 and (np.diff(bounds) > 0).all()
    assert chunks(np.array([0, 5])).tolist() == [0, 1]


def test_unseen_word_is_the_mean_of_its_known_ngrams(world: SubwordVectors) -> None:
    word = "whispering"
    assert word not in world and word not in world.index
    known = [bucket for bucket in world.cut.of([word])[0] if bucket in world.buckets]
    assert 0 < len(known) < len(world.cut.ngrams(word))
    rows = [int(np.searchsorted(world.buckets, bucket)) for bucket in known]
    np.testing.assert_allclose(world[word], world.ngrams[rows].mean(0), rtol=1e-5)
    np.testing.assert_array_equal(world["walk"], world.matrix[world.row("walk")])
    with pytest.raises(InputError, match="苹果"):
        world.vector("苹果")


def test_unseen_inflections_stand_near_their_stem(world: SubwordVectors) -> None:
    for word, stem in (("whispering", "whisper"), ("gathered", "gather")):
        others = [other for other in STEMS if other != stem]
        assert world.similarity(word, stem) > max(world.similarity(word, other) for other in others)
        assert any(near in TOPICS[stem] or near.startswith(stem) for near, _ in world.nearest(word, 3))
    answers = [word for word, _ in world.analogy("walk", "walked", "gather", k=3)]
    assert answers and world.analogy("walk", "walking", "whispering")[0][0] not in ("walk", "walking")


def test_known_words_keep_their_vectors(world: SubwordVectors) -> None:
    plain = WordVectors(world.words, world.matrix)
    assert world.similarity("walk", "jump") == pytest.approx(plain.similarity("walk", "jump"), abs=1e-6)
    ours, theirs = world.nearest("walk", 5), plain.nearest("walk", 5)
    assert [word for word, _ in ours] == [word for word, _ in theirs]
    assert world.analogy("walk", "walks", "jump", method="3cosmul") == plain.analogy(
        "walk", "walks", "jump", method="3cosmul"
    )
    with pytest.raises(InputError, match="3cosadd"):
        world.analogy("walk", "walks", "whispering", method="3cosmul")


def test_save_load_roundtrip_with_unseen_words(world: SubwordVectors, tmp_path: Path) -> None:
    world.save(tmp_path / "a")
    loaded = load_vectors(tmp_path / "a")
    assert isinstance(loaded, SubwordVectors) and loaded.cut == world.cut and loaded.about == world.about
    for word in ("walk", "whispering", "unwalked"):
        np.testing.assert_array_equal(loaded[word], world[word])
    loaded.save(tmp_path / "b")
    for name in ("vectors.safetensors", "ngrams.safetensors", "words.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert loaded.bytes_per_word > WordVectors(world.words, world.matrix).bytes_per_word


def test_damaged_files_are_refused(world: SubwordVectors, tmp_path: Path) -> None:
    world.save(tmp_path / "a")
    described = (tmp_path / "a" / "words.json").read_text(encoding="utf-8")
    (tmp_path / "a" / "words.json").write_text(described.replace('"kind": "subword"', '"kind": "contextual"'))
    with pytest.raises(InputError, match="contextual"):
        load_vectors(tmp_path / "a")
    (tmp_path / "a" / "words.json").write_text(described)
    (tmp_path / "a" / "ngrams.safetensors").unlink()
    with pytest.raises(InputError, match=r"ngrams\.safetensors"):
        load_vectors(tmp_path / "a")


@pytest.mark.parametrize("changes", [{}, {"architecture": "cbow"}, {"vectors": "sum"}])
def test_same_seed_same_bytes_and_the_loss_falls(changes: dict[str, Any]) -> None:
    corpus = toy_world(1000)
    config = SubwordConfig(dim=12, buckets=500, window=2, epochs=4, lr=0.1, subsample=0, **changes)
    first, again, other = (Subword(config).make(corpus, seed=seed, progress=lambda _: None) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.vectors.matrix, again.vectors.matrix)
    assert first.curve == again.curve
    assert not np.array_equal(first.vectors.matrix, other.vectors.matrix)
    assert first.curve[-1]["train_loss"] < first.curve[0]["train_loss"]


def test_threads_learn_the_same_world() -> None:
    config = SubwordConfig(dim=24, buckets=2000, window=3, epochs=5, lr=0.1, subsample=0, threads=2)
    vectors = Subword(config).make(toy_world(), seed=3, progress=lambda _: None).vectors
    assert vectors.similarity("walked", "walks") > vectors.similarity("walked", "jumps")


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="min_n=7 exceeds max_n=6"):
        SubwordConfig(min_n=7)
    with pytest.raises(ValueError, match="buckets"):
        SubwordConfig(buckets=0)
