"""Training taggers: vectors in their place, rare words hidden, resuming, data that cannot be learnt from."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from seqeval.metrics import f1_score

from langladder.embeddings.base import WordVectors
from langladder.families.family import validated
from langladder.ground.errors import InputError
from langladder.models.making import LAST, Kept, Run
from langladder.models.tagging.recurrent import RecurrentTagger
from langladder.models.tagging.tagger_words import TaggerWords
from langladder.models.tagging.word_features import count_features, sentence_features
from langladder.tasks.settings import TaggerInput, TaggerTraining, TaggerTransferInput
from langladder.tasks.tagging import Tagging, make, start_words, train_tagger
from langladder.text.labelled.labelled import Tagged
from langladder.text.tokenize.specials import UNK
from tests.tasks.small_run import moved, stop_at

TAGS = ["D", "N", "V"]
LINES = ["the/D dog/N sees/V", "a/D cat/N sleeps/V", "dogs/N sleep/V", "the/D cats/N see/V the/D dog/N"]
SMALL = {"embedding_dim": 8, "width": 8, "dropout": 0.1, "output": "crf"}
SHORT = {"max_steps": 40, "lr": 0.05, "batch_size": 2, "progress": False, "accelerator": "cpu", "validations": 2}


def corpus(lines=LINES) -> list[Tagged]:
    rows = [[pair.split("/") for pair in line.split()] for line in lines]
    return [Tagged(tuple(w for w, _ in row), tuple(t for _, t in row)) for row in rows]


def chosen(**changes) -> SimpleNamespace:
    return SimpleNamespace(
        model=RecurrentTagger.Config.model_validate(SMALL | changes.pop("model", {})),
        input=TaggerInput.model_validate(changes.pop("input", {})),
        training=TaggerTraining.model_validate(SHORT | changes),
    )


def trained(folder, seed=1, train=None, tags=TAGS, vectors=None, **changes):
    settings = chosen(**changes)
    train = train or corpus()
    return make(RecurrentTagger, tags, train, train[:2], settings=settings, run=Run(seed, folder), base=vectors)


def network(**settings) -> RecurrentTagger:
    words = TaggerWords.of(corpus(), lowercase=True, digits=True, min_count=1, more=["horse"])
    config = RecurrentTagger.Config.model_validate(SMALL | settings)
    return RecurrentTagger(config, *words.sizes, len(TAGS)).equip(words, TAGS)


def test_it_learns_and_after_a_kill_and_a_move_gives_the_same_bits(tmp_path, monkeypatch):
    first, result = trained(tmp_path / "a")
    with monkeypatch.context() as patch, pytest.raises(KeyError):
        stop_at(patch, Tagging, 25)
        trained(tmp_path / "b")
    second, _ = trained(moved(tmp_path / "b"))
    assert [tuple(row) for row in first.tag([item.words for item in corpus()])] == [item.tags for item in corpus()]
    for parameter, other in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(parameter, other)
    assert result.curve[-1]["validation_accuracy"] == 1.0 and result.validation_loss is not None


def vectors(dim=8) -> WordVectors:
    rng = np.random.default_rng(0)
    return WordVectors(["DOG", "horse", "cat"], rng.normal(size=(3, dim)).astype(np.float32))


@pytest.mark.parametrize("frozen", [False, True])
def test_vectors_stand_in_the_rows_of_their_words(frozen):
    model = network()
    start_words(model, vectors(), frozen=frozen)
    table, scale = model.embedding.weight, 8**-0.5 / torch.from_numpy(vectors().matrix).std()
    for word, row in (("dog", 0), ("horse", 1), ("cat", 2)):
        expected = torch.from_numpy(vectors().matrix[row]) * scale
        torch.testing.assert_close(table[model.words.index[word]].detach(), expected)
    other = table[model.words.index["sees"]]
    assert (other == 0).all().item() == frozen and table.requires_grad != frozen


def test_vectors_give_words_that_training_lacks_an_id_and_stay_frozen(tmp_path):
    vectors().save(tmp_path / "vectors")
    model, _ = trained(
        tmp_path / "run", input={"frozen": True, "vectors": str(tmp_path / "vectors")}, model={"learned_dim": 4}
    )
    assert "horse" in model.words.index
    assert model.training_vocab_size == model.vocab_size - 1
    scale = 8**-0.5 / torch.from_numpy(vectors().matrix).std()
    kept = model.embedding.weight[model.words.index["horse"]]
    torch.testing.assert_close(kept, torch.from_numpy(vectors().matrix[1]) * scale)


def test_damaged_entries_of_the_vectors_are_left_out_and_counted_or_refused(tmp_path):
    path = tmp_path / "v.txt"
    path.write_text("".join(f"{word} {' '.join('12345678')}\n" for word in ("dog", "horse", "dog")))
    model, result = trained(tmp_path / "run", input={"vectors": str(path)}, max_steps=2)
    assert "horse" in model.words.index and result.vectors_skipped == 1
    with pytest.raises(InputError, match=r"v\.txt:3: a word that occurs twice"):
        trained(tmp_path / "run", input={"vectors": str(path), "damaged": "strict"})
    settings = chosen(max_steps=2)
    settings.input = TaggerTransferInput()
    _, result = make(
        RecurrentTagger, TAGS, corpus(), corpus()[:2], settings=settings, run=Run(1, tmp_path / "b"), base=path
    )
    assert result.vectors_skipped == 1


def test_vectors_of_another_dimension_or_of_no_word_are_refused():
    with pytest.raises(InputError, match=r"dimension 5, .* has 8: set model.embedding_dim to 5"):
        start_words(network(), vectors(5), frozen=False)
    stranger = WordVectors(["zzz"], np.ones((1, 8), dtype=np.float32))
    with pytest.raises(InputError, match="no word of the training sentences"):
        start_words(network(), stranger, frozen=False)


@pytest.mark.parametrize("learned", [0, 4])
def test_rare_words_are_hidden_at_their_rate(learned):
    model = network(learned_dim=learned)
    counts = np.zeros(model.vocab_size, dtype=np.int64)
    rare, frequent = model.words.index["cats"], model.words.index["the"]
    counts[rare], counts[frequent] = 1, 10**6
    task = Tagging(model, TaggerTraining.model_validate(SHORT | {"word_dropout": 1.0}), counts)
    batch = model.words.collate([model.encode(["cats", "the"] * 500)])
    torch.manual_seed(0)
    hidden = model.hide(batch, task.dropped)
    changed, same = (hidden.learned, hidden.tokens) if learned else (hidden.tokens, hidden.learned)
    assert (changed[0, ::2] == UNK).float().mean() == pytest.approx(0.5, abs=0.06)  # α / (α + n)
    assert (changed[0, 1::2] == frequent).all() and (same == batch.tokens).all()


NAMES = ["B-X", "I-X", "B-Y", "O"]
NAMED = ["we/O saw/O New/B-X York/I-X and/O Ann/B-Y", "Ann/B-Y sleeps/O", "a/O dog/O sleeps/O", "in/O New/B-X York/I-X"]


def test_weights_are_chosen_by_whole_phrases_where_tags_bracket_them(tmp_path):
    rows = corpus(NAMED)
    model, result = trained(tmp_path, train=rows, tags=NAMES, max_steps=60, validations=30)
    curve = [row["validation_entity_f1"] for row in result.curve if row["validation_loss"] is not None]
    tags = model.tag([row.words for row in rows[:2]])  # `trained` validates on these
    assert f1_score([list(row.tags) for row in rows[:2]], tags) == pytest.approx(max(curve))
    assert min(curve) < max(curve)
    first = next(row for row in result.curve if row.get("validation_entity_f1") == max(curve))
    assert result.validation_loss == first["validation_loss"]


def test_the_log_shows_entity_f1_and_the_result_says_which_weights_are_kept(tmp_path, capsys):
    rows = corpus(NAMED)
    model, result = trained(tmp_path, train=rows, tags=NAMES, max_steps=40, validations=10, progress=True)
    lines = [line for line in capsys.readouterr().err.splitlines() if "entity F₁" in line]
    curve = [row for row in result.curve if row["validation_loss"] is not None]
    best = max(curve, key=lambda row: row["validation_entity_f1"])
    assert result.kept == Kept(best["step"], "validation_entity_f1", best["validation_entity_f1"], highest=True)
    written = f"the weights of step {best['step']} are kept: the highest entity F₁ ({best['validation_entity_f1']:.4f})"
    assert lines[-1] == written and len(lines) == len(curve) + 1
    assert all(f"entity F₁ {row['validation_entity_f1']:.4g} " in line for row, line in zip(curve, lines, strict=False))
    figures, message = validated(model, result)
    assert figures["validation_entity_f1"] == best["validation_entity_f1"] and written in message
    assert str(Kept(9, "validation_loss", 0.5, highest=False)).endswith("kept: the lowest validation loss (0.5000)")
    assert str(Kept(9, LAST, 9.0, highest=True)) == "the weights of step 9 are kept: the last"


@pytest.mark.parametrize(
    ("stopping", "validation", "measure"),
    [
        ("auto", NAMED[:2], "validation_entity_f1"),
        ("auto", NAMED[2:3], "validation_accuracy"),  # no phrase to choose by
        ("accuracy", NAMED[:2], "validation_accuracy"),
        ("validation_loss", NAMED[:2], "validation_loss"),
    ],
)
def test_what_weights_are_chosen_by(stopping, validation, measure, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("langladder.tasks.tagging.train_task", lambda task, *_: seen.append((task.monitor, task.mode)))
    words = TaggerWords.of(corpus(NAMED), lowercase=True, digits=True, min_count=1)
    model = RecurrentTagger(RecurrentTagger.Config.model_validate(SMALL), *words.sizes, 4).equip(words, NAMES)
    config = TaggerTraining.model_validate(SHORT | {"early_stopping": stopping})
    train_tagger(model, corpus(NAMED), corpus(validation), config, Run(1, tmp_path))
    assert seen == [(measure, "min" if measure == "validation_loss" else "max")]


def test_parts_of_speech_bracket_no_phrases_to_choose_by(tmp_path):
    _, result = trained(tmp_path / "a", max_steps=2)
    assert "validation_entity_f1" not in result.curve[-1]
    with pytest.raises(InputError, match=r"early_stopping=entity_f1: the tags mark no phrases .* set it to auto"):
        trained(tmp_path / "b", early_stopping="entity_f1")


def test_a_step_that_the_scheme_forbids_is_named(tmp_path):
    bad = corpus(["a/B-X b/I-X", "a/O b/I-X"])
    with pytest.raises(InputError, match=r"'a/O b/I-X': the tag of word 2 breaks the scheme"):
        trained(tmp_path, train=bad, tags=["B-X", "I-X", "O"])
    trained(tmp_path, train=bad, tags=["B-X", "I-X", "O"], model={"constraints": False}, max_steps=2)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([Tagged((), ())], "no training sentence"),
        ([Tagged(("a",), ("?",))], "the tag '\\?' is not one of D, N, V"),
        ([Tagged(("a", "b"), ("D",))], "the number of tags differs"),
    ],
)
def test_sentences_that_cannot_be_learnt_from(train, message, tmp_path):
    with pytest.raises(InputError, match=message):
        train_tagger(network(), train, [], TaggerTraining.model_validate(SHORT), Run(1, tmp_path))


def test_the_table_of_features_has_two_rows_for_each_that_the_training_sentences_have(tmp_path):
    features = count_features(item.words for item in corpus())
    words = {word for item in corpus() for word in item.words}
    assert features == len({f for item in corpus() for own in sentence_features(item.words) for f in own}) > len(words)
    model, _ = trained(tmp_path / "run", max_steps=2, model={"features": "auto"})
    assert model.config.features == 2 * features and model.features.weight.shape == (1 + 2 * features, len(TAGS))
    model.save(tmp_path / "model")
    other = RecurrentTagger.load(tmp_path / "model")
    np.testing.assert_array_equal(other.log_probs([("dogs", "see")])[0], model.log_probs([("dogs", "see")])[0])
