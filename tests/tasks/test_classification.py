"""Training a classifier: learning, resumed runs, word vectors, errors."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from langladder.embeddings.base import WordVectors
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.mean_embedding import MeanEmbedding
from langladder.models.making import Run
from langladder.models.units import SubwordUnits, WordUnits
from langladder.tasks.classification import Classification, make
from langladder.tasks.inputs import start_from_table, table_of, units_for
from langladder.tasks.settings import ClassifierTraining, ReadingInput, ReadingTraining, TransferInput
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.tasks.small_run import moved

LABELS = ["bad", "good"]
WORDS = {"good": ["fine", "lovely", "bright"], "bad": ["dull", "grim", "sour"]}
RNG = np.random.default_rng(0)
DATA = [
    Example(f"the {RNG.choice(['film', 'soup', 'play'])} was {RNG.choice(WORDS[label])} .", label=label)
    for label in LABELS * 40
]


def settings(dim: int = 8, **changes: Any) -> SimpleNamespace:
    words = changes.pop("input", {})
    training = {"batch_size": 8, "epochs": 6, "lr": 0.05, "progress": False, "checkpoint_every": 5} | changes
    return SimpleNamespace(
        model=MeanEmbedding.Config.model_validate({"embedding_dim": dim, "dropout": 0.1}),
        input=ReadingInput.model_validate({"words": "whitespace"} | words),
        training=ReadingTraining.model_validate(training),
    )


def trained(folder: Path, chosen: SimpleNamespace, **more: Any) -> tuple[Any, Any]:
    return make(MeanEmbedding, LABELS, DATA[:60], DATA[60:], settings=chosen, run=Run(1, folder), **more)


def vectors(dim: int = 8, size: float = 5.0) -> WordVectors:
    words = ["Film", "dull", "fine", "opera"]
    rows = np.random.default_rng(1).normal(size=(len(words), dim)).astype(np.float32) * size
    return WordVectors(words, rows)


def test_learns_and_keeps_its_best_weights(tmp_path: Path) -> None:
    model, result = trained(tmp_path / "work", settings())
    assert (model.log_probs(DATA[60:]).argmax(axis=1) == [LABELS.index(str(item.label)) for item in DATA[60:]]).all()
    assert max(row["validation_accuracy"] for row in result.curve if row["validation_loss"] is not None) == 1.0
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(Classifier.load(tmp_path / "model").log_probs(DATA), model.log_probs(DATA))


def test_epochs_become_steps_and_are_capped() -> None:
    config = ReadingTraining(batch_size=10, epochs=3, max_steps=1000, warmup_steps=500, validations=4)
    result = config.of(95)
    assert (result.max_steps, result.warmup, result.validate_every) == (29, 2, 8)  # 3 · 95 / 10, rounded up
    assert config.of(100_000).max_steps == 1000
    assert ReadingTraining(max_steps=7).of(95).max_steps == 7


def test_a_training_goes_on_after_a_kill_with_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = trained(tmp_path / "whole", settings())
    calls = {"left": 17}
    original = MeanEmbedding.loss

    def dies(self: Any, *inputs: Any) -> torch.Tensor:
        calls["left"] -= 1
        if calls["left"] == 0:
            raise KeyboardInterrupt
        return original(self, *inputs)

    with monkeypatch.context() as patched, pytest.raises((KeyboardInterrupt, SystemExit)):
        patched.setattr(MeanEmbedding, "loss", dies)
        trained(tmp_path / "killed", settings())
    resumed, _ = trained(moved(tmp_path / "killed"), settings())
    for own, other in zip(whole.parameters(), resumed.parameters(), strict=True):
        assert torch.equal(own, other)


@pytest.mark.parametrize("frozen", [False, True])
def test_begins_with_vectors_of_the_size_that_its_random_rows_have(frozen: bool) -> None:
    units = WordUnits.of([item.text for item in DATA], mode="whitespace").with_words(vectors().words)
    torch.manual_seed(0)
    model = MeanEmbedding(MeanEmbedding.Config.model_validate({"embedding_dim": 8}), units.full_vocab_size, 2)
    table = table_of(units, vectors())
    start_from_table(model, table, frozen=frozen)
    rows = model.embedding.weight.detach().numpy()
    result = np.stack([rows[units.index[word]] for word in ("film", "dull", "fine", "opera")])
    assert result.std() == pytest.approx(8**-0.5, rel=1e-5)
    np.testing.assert_allclose(result / result.std(), vectors().matrix / vectors().matrix.std(), rtol=1e-5)
    assert not rows[0].any()  # padding
    assert model.embedding.weight.requires_grad is not frozen
    start_from_table(model, table, frozen=False, spread=0.5)
    assert model.embedding.weight[units.index["film"]].std() > result[0].std()


def test_a_frozen_table_stays_and_all_else_learns(tmp_path: Path) -> None:
    vectors().save(tmp_path / "vectors")
    vectors_settings = {"vectors": str(tmp_path / "vectors"), "frozen": True}
    model, _ = trained(tmp_path / "work", settings(input=vectors_settings))
    units, table = units_for(ReadingInput.model_validate({"words": "whitespace"} | vectors_settings), DATA[:60])
    assert table is not None
    fresh = MeanEmbedding(model.config, units.full_vocab_size, 2)
    start_from_table(fresh, table, frozen=True)
    row = units.index["dull"]  # type: ignore[attr-defined]
    assert torch.equal(model.embedding.weight[row], fresh.embedding.weight[row])


def test_damaged_entries_of_the_vectors_are_left_out_and_counted_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("".join(f"{word} {' '.join('12345678')}\n" for word in ("film", "dull", "film")))
    _, result = trained(tmp_path / "run", settings(input={"vectors": str(path)}))
    assert result.vectors_skipped == 1
    with pytest.raises(InputError, match=r"v\.txt:3: a word that occurs twice"):
        trained(tmp_path / "run", settings(input={"vectors": str(path), "damaged": "strict"}))


def test_reads_subwords_of_the_text_s_tokenizer(tmp_path: Path) -> None:
    tokenizer = train_tokenizer([item.text for item in DATA], TokenizerConfig(kind="bpe_bytes", vocab_size=300))
    tokenizer.save(tmp_path / "tokenizer.json")
    model, _ = trained(tmp_path / "work", settings(input={"units": "subwords"}), tokenizer=tmp_path / "tokenizer.json")
    assert isinstance(model.units, SubwordUnits)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(Classifier.load(tmp_path / "model").log_probs(DATA), model.log_probs(DATA))


def test_it_is_saved_with_its_tokenizer_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = train_tokenizer([item.text for item in DATA], TokenizerConfig(kind="bpe_bytes", vocab_size=300))
    tokenizer.save(tmp_path / "tokenizer.json")
    chosen = settings(input={"units": "subwords"}, max_steps=1)
    model, _ = trained(tmp_path / "work", chosen, tokenizer=tmp_path / "tokenizer.json")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(InputError, match="disk is full"):
        patched.setattr(type(tokenizer), "save", full)
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()
    model.save(tmp_path / "model")
    assert (tmp_path / "model" / "tokenizer.json").exists()


def test_bad_input_is_refused(tmp_path: Path) -> None:
    vectors(5).save(tmp_path / "five")
    with pytest.raises(InputError, match=r"vectors of dimension 5, .* has 8: set model\.embedding_dim to 5"):
        trained(tmp_path / "a", settings(input={"vectors": str(tmp_path / "five")}))
    with pytest.raises(InputError, match="needs the tokenizer"):
        trained(tmp_path / "b", settings(input={"units": "subwords"}))
    WordVectors(["zzz"], np.ones((1, 8), dtype=np.float32)).save(tmp_path / "strange")
    with pytest.raises(InputError, match="has a vector for no word"):
        trained(tmp_path / "c", settings(input={"vectors": str(tmp_path / "strange")}))
    with pytest.raises(InputError, match="'other' is not one of bad, good"):
        make(
            MeanEmbedding,
            LABELS,
            [Example("a", label="other")],
            [],
            settings=settings(),
            run=Run(1, tmp_path / "d"),
        )
    with pytest.raises(ValueError, match="starts with its base's vectors"):
        TransferInput(vectors="somewhere")


def uneven(count: int) -> list[Example]:
    """Every tenth text is bad; of its two words one tells the label in three of four texts."""
    rng = np.random.default_rng(count)
    labels = ["bad" if number % 10 == 0 else "good" for number in range(count)]
    sure = rng.random(count) < 0.75
    drawn = [label if item else rng.choice(LABELS) for label, item in zip(labels, sure, strict=True)]
    return [Example(f"it is {word}", label=label) for word, label in zip(drawn, labels, strict=True)]


def test_balanced_weights_find_more_texts_of_rare_labels(tmp_path: Path) -> None:
    train, held = uneven(300), uneven(400)
    results = {}
    for choice in ("none", "balanced"):
        chosen = settings()
        training = chosen.training.model_dump() | {"class_weights": choice, "epochs": 4}
        chosen.training = ClassifierTraining.model_validate(training)
        model, result = make(MeanEmbedding, LABELS, train, held, settings=chosen, run=Run(1, tmp_path / choice))
        assert model.label_weights is None  # a matter of training alone
        rare = np.array([item.label == "bad" for item in held])
        results[choice] = float(np.exp(model.log_probs(held))[rare, 0].mean())
        measured = {name for row in result.curve for name in row if name.endswith("accuracy")}
        assert ("validation_balanced_accuracy" in measured) == (choice == "balanced")
    assert results["balanced"] > results["none"] + 0.2


def test_golden_weighted_loss_and_balanced_accuracy() -> None:
    model = MeanEmbedding(MeanEmbedding.Config(embedding_dim=4), 10, 2)
    model.label_weights = torch.tensor([3.0, 0.5])
    scores, labels = torch.tensor([[2.0, 0.0], [0.0, 1.0], [5.0, 5.0]]), torch.tensor([0, 1, -1])
    logs = torch.log_softmax(scores, dim=1)
    by_hand = -(3.0 * logs[0, 0] + 0.5 * logs[1, 1]) / 2  # the third has no label
    torch.testing.assert_close(model.label_loss(scores, labels, 0.0), by_hand)
    task = Classification(model, ClassifierTraining(class_weights="balanced"))
    assert (task.monitor, task.mode) == ("validation_balanced_accuracy", "max")
    task.tally.update({"right": 9, "total": 12, "right 0": 8, "total 0": 8, "right 1": 1, "total 1": 4})
    assert task.measures() == {"validation_accuracy": 0.75, "validation_balanced_accuracy": 0.625}
