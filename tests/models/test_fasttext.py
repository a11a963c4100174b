"""fastText's classifier: its hashes and features, gradients, both losses, saving, errors."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from langladder.ground.errors import InputError
from langladder.kernels.fasttext import Paths, Texts, fnv1a, learn_texts
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.fasttext import FastText, FastTextConfig, make
from langladder.models.making import Run
from langladder.nn.huffman import HuffmanTree
from langladder.text.labelled.labelled import Example

TEXTS = [
    *(("the film was good .", "positive"), ("a very good film .", "positive"), ("not a bad play .", "positive")),
    *(("the play was bad .", "negative"), ("a very dull film .", "negative"), ("not good at all .", "negative")),
    *(("who knows ?", "unsure"), ("hard to say ?", "unsure")),
]
TRAIN = [Example(text, label=label) for text, label in TEXTS]
LABELS = ["negative", "positive", "unsure"]


def trained(**settings: Any) -> FastText:
    config = FastTextConfig.model_validate({"dim": 10, "words": "whitespace", "epochs": 60, "buckets": 999} | settings)
    return make(FastText, LABELS, TRAIN, [], settings=SimpleNamespace(model=config), run=Run(1, Path()))[0]


@pytest.mark.parametrize("loss", ["softmax", "hierarchical"])
def test_learns_the_order_that_words_alone_do_not_tell(loss: str) -> None:
    model = trained(loss=loss)
    log_probs = model.log_probs(TRAIN)
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1.0, atol=1e-6)
    assert [LABELS[best] for best in log_probs.argmax(axis=1)] == [label for _, label in TEXTS]


def test_golden_bucket_of_a_word_pair() -> None:
    """h = 116049371 · hash(w_1) + hash(w_2) mod 2⁶⁴, hashes as signed numbers of 32 bits, widened."""
    model = trained(word_ngrams=2, buckets=1_000_000)
    signed = [h - 2**32 if h >= 2**31 else h for h in (fnv1a(b"who"), fnv1a(b"knows"))]
    bucket = (116049371 * (signed[0] % 2**64) + signed[1]) % 2**64 % 1_000_000
    assert bucket in model.used
    parts, bounds = model.parts(model.features([Example("who knows")]))
    words = [1 + model.units.words.index(word) for word in ("who", "knows")]
    row = 1 + len(model.units.words) + int(np.searchsorted(model.used, bucket))
    assert parts.tolist() == [0, *words, row] and bounds.tolist() == [0, 4]


def test_features_of_texts_do_not_reach_into_each_other() -> None:
    model = trained(word_ngrams=3)
    texts = [Example("film was"), Example("good . a"), Example("never seen"), Example("not")]
    features, bounds = model.parts(model.features(texts))
    for index, text in enumerate(texts):
        own, _ = model.parts(model.features([text]))
        assert sorted(features[bounds[index] : bounds[index + 1]]) == sorted(own)
    assert model.parts(model.features([Example("never seen")]))[0].tolist() == [0]  # `</s>` alone


@pytest.mark.parametrize("tree", [False, True], ids=["softmax", "hierarchical"])
def test_gradient_of_a_step_equals_finite_differences(tree: bool) -> None:
    random, D, C, rate = np.random.default_rng(1), 8, 4, 1e-3
    table = random.normal(size=(6, D)).astype(np.float32)
    output = random.normal(size=(C - tree, D)).astype(np.float32)
    counts = HuffmanTree.from_counts(np.array([5, 3, 2, 1]))
    paths = Paths(counts.offsets, counts.nodes, counts.bits)
    if not tree:
        paths = Paths(np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int8))
    texts = Texts(np.array([0, 2, 2, 5], np.int32), np.array([0, 4]), np.array([2]))

    def loss(table: np.ndarray, output: np.ndarray) -> float:
        z = output.astype(np.float64) @ table.astype(np.float64)[texts.parts].mean(axis=0)
        if not tree:
            return float(np.log(np.exp(z).sum()) - z[2])
        nodes, bits = counts.path(2)
        return float(np.log1p(np.exp(-(1.0 - 2.0 * bits) * z[nodes])).sum())

    after = table.copy(), output.copy()
    mean_loss = learn_texts(texts, np.array([0]), after, paths, (rate, rate))
    assert mean_loss == pytest.approx(loss(table, output), abs=1e-5)
    for which, before in enumerate((table, output)):
        for index in np.ndindex(before.shape):
            moved = [array.astype(np.float64) for array in (table, output)]
            moved[which][index] += 1e-5
            slope = (loss(*moved) - loss(table, output)) / 1e-5
            step = (after[which][index] - before[index]) / -rate
            assert step == pytest.approx(slope, abs=2e-3)  # a row that stands twice moves twice by 1/n


def test_same_seed_same_bytes() -> None:
    first, again = trained(), trained()
    assert all(np.array_equal(first.arrays()[name], again.arrays()[name]) for name in first.arrays())


@pytest.mark.parametrize("loss", ["softmax", "hierarchical"])
def test_save_load_roundtrip(loss: str, tmp_path: Path) -> None:
    model = trained(loss=loss)
    model.save(tmp_path / "model")
    loaded = Classifier.load(tmp_path / "model")
    assert isinstance(loaded, FastText) and loaded.number_of_parameters() == model.number_of_parameters()
    np.testing.assert_array_equal(loaded.log_probs(TRAIN), model.log_probs(TRAIN))


def test_explain_splits_the_score_by_words() -> None:
    """Shares of the words add up to the score over the mean label's, but for that of `</s>`."""
    model, text = trained(), Example("not good at all .")
    explained = model.explain(text, 0)
    parts, bounds = model.parts(model.features([text]))
    h = model.table[parts].mean(axis=0)
    direction = model.output[0] - model.output.mean(axis=0)
    rest = float(model.table[0] @ direction) / bounds[1]
    assert explained.pieces == text.text.split()
    assert sum(explained.weights) == pytest.approx(float(h @ direction) - rest, rel=1e-4)
    assert trained(loss="hierarchical").explain(text, 0).weights[1] > 0


def test_a_pair_keeps_its_texts_apart() -> None:
    pairs = [Example("a b", "c", "yes"), Example("c", "a b", "no")]
    config = FastTextConfig(dim=8, words="whitespace", epochs=80)
    model, _ = make(FastText, ["no", "yes"], pairs, [], settings=SimpleNamespace(model=config), run=Run(1, Path()))
    assert model.log_probs(pairs).argmax(axis=1).tolist() == [1, 0]
    explained = model.explain(pairs[0], 1)
    assert len(explained.weights) == len(explained.pieces) == 4 and explained.weights[2] == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [({"dim": 30}, "table has shape"), ({"loss": "hierarchical"}, "output has shape")],
)
def test_hostile_folder_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    trained().save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    description = json.loads(path.read_text())
    path.write_text(json.dumps(description | {"config": description["config"] | change}))
    with pytest.raises(InputError, match=message):
        Classifier.load(tmp_path / "model")


def test_bad_settings_and_texts_are_named() -> None:
    config = FastTextConfig(min_count=9, words="whitespace")
    with pytest.raises(InputError, match=r"min_count=9"):
        make(FastText, LABELS, TRAIN, [], settings=SimpleNamespace(model=config), run=Run(1, Path()))
    with pytest.raises(InputError, match="no training text"):
        make(FastText, LABELS, [], [], settings=SimpleNamespace(model=config), run=Run(1, Path()))
    with pytest.raises(InputError, match="diverged"):
        trained(lr=1e30)
