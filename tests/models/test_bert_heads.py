"""BERT fine-tuned and as features: rows by hand, the mix of layers, what learns, padding, words and pieces, saving."""

import json
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from fine_tuned_rungs import LABELS, PAIRS, SINGLES, TEXTS, TOKENIZER, saved_bert, saved_gpt

from langladder.ground.errors import InputError
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.neural_classifier import collate
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.bert_features import segments
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.tagging.tagger import Tagger
from langladder.models.units import SubwordUnits
from langladder.tasks.fine_tuning import begin
from langladder.text.labelled.labelled import Example
from tests.hostile import little_memory

SEP, CLS = TOKENIZER.vocab_size, TOKENIZER.vocab_size + 1
TAGS = ["B-X", "I-X", "O"]
SENTENCES = [tuple(text.split()) for text in TEXTS]
FEATURES: list[dict[str, Any]] = [
    {},
    {"layers": "weighted_sum"},
    {"layers": "concat", "pooling": "mean"},
    {"pooling": "first"},
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_bert(tmp_path_factory.mktemp("bert") / "base")


def classifier(base: Path, **settings: Any) -> BERTClassifier:
    rung = SimpleNamespace(name="grown", model=BERTClassifier.Config.model_validate({"dropout": 0.0} | settings))
    network, tokenizer = begin(BERTClassifier, rung, base, len(LABELS), seed=1)
    result: BERTClassifier = network.equip(SubwordUnits(tokenizer), LABELS)
    return result.eval()


def tagger(base: Path, **settings: Any) -> BERTTagger:
    rung = SimpleNamespace(name="grown", model=BERTTagger.Config.model_validate({"dropout": 0.0} | settings))
    network, tokenizer = begin(BERTTagger, rung, base, len(TAGS), seed=1)
    result: BERTTagger = network.equip(tokenizer, TAGS)
    return result.eval()


def batch(network: BERTClassifier, rows: list[Example]) -> tuple[Any, torch.Tensor]:
    gold = torch.tensor([LABELS.index(str(row.label)) for row in rows])
    return collate([network.encode(row) for row in rows]), gold


def tagged(network: BERTTagger, sentences: list[tuple[str, ...]]) -> tuple[Any, torch.Tensor]:
    """Valid IOB2 tags, a phrase of the first two words of each sentence."""
    tags = torch.full((len(sentences), max(map(len, sentences))), 2)
    tags[:, 0], tags[:, 1] = 0, 1
    return network.collate([network.encode(sentence) for sentence in sentences]), tags


def test_golden_ids_and_segments_of_one_text_and_of_a_pair(base: Path) -> None:
    network = classifier(base)
    cat, dog = (TOKENIZER.encode(text).tolist() for text in ("the cat", "a dog"))
    item, pair = network.encode(Example("the cat")).ids, network.encode(Example("the cat", "a dog")).ids
    assert item.tolist() == [CLS, *cat, SEP] and pair.tolist() == [CLS, *cat, SEP, *dog, SEP]
    rows = collate([network.encode(Example("the cat")), network.encode(Example("the cat", "a dog"))]).tokens
    result = segments(rows, SEP)
    assert result[1].tolist() == [0] * (len(cat) + 2) + [1] * (len(dog) + 1)
    assert result[0, : len(item)].tolist() == [0] * len(item)
    assert BERT.load(base).framed(np.array(cat), np.array(dog))[0].tolist() == pair.tolist()
    assert BERT.load(base).framed(np.array(cat), np.array(dog))[1].tolist() == result[1].tolist()


def test_golden_mix_of_layers(base: Path) -> None:
    """s = (0, 0, ln 2), γ = 3: shares 1/4, 1/4, 1/2."""
    network, body = classifier(base, layers="weighted_sum"), BERT.load(base)
    features = network.features
    with torch.no_grad():
        assert features.mix is not None
        features.mix.copy_(torch.tensor([0.0, 0.0, np.log(2)]))
        features.scale.fill_(3.0)
    tokens = batch(network, PAIRS)[0].tokens
    x = body.hidden(tokens, segments(tokens, SEP))
    torch.testing.assert_close(features(tokens), 3 * (0.25 * x[0] + 0.25 * x[1] + 0.5 * x[2]))
    side_by_side = classifier(base, layers="concat", pooling="mean").features(tokens)
    torch.testing.assert_close(side_by_side, torch.cat([x[1], x[2]], dim=-1))
    torch.testing.assert_close(classifier(base).features(tokens), x[2])


def test_the_pooler_begins_with_the_base_s_where_it_has_one(base: Path, tmp_path: Path) -> None:
    there = BERT.load(base)
    assert there.pooler is not None
    for settings, same in (({}, True), ({"layers_transferred": 1}, False), ({"pretrained": False}, False)):
        pooler = classifier(base, **settings).pooler
        assert pooler is not None and torch.equal(pooler.weight, there.pooler.weight) == same
    without = saved_bert(tmp_path / "without", next_sentence=False)
    assert classifier(without).log_probs(SINGLES).shape == (6, 3)


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("settings", FEATURES)
def test_gradient_reaches_every_parameter_that_is_not_frozen(
    base: Path, settings: dict[str, Any], frozen: bool
) -> None:
    network = classifier(base, frozen=frozen, **settings).train()
    before = {name: tensor.clone() for name, tensor in network.named_parameters()}
    optimizer = torch.optim.SGD([parameter for parameter in network.parameters() if parameter.requires_grad], lr=0.1)
    network.loss(*batch(network, PAIRS)).backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        if frozen and "encoder" in name:
            assert parameter.grad is None and not parameter.requires_grad, name
        else:
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    optimizer.step()
    moved = {name for name, tensor in network.named_parameters() if not torch.equal(tensor, before[name])}
    assert moved == {name for name in before if not (frozen and "encoder" in name)}
    assert network.features.encoder.training is not frozen  # a frozen body drops nothing


@pytest.mark.parametrize("pooling", ["pooler", "first"])
def test_gradients_at_cls_alone_equal_those_of_the_full_computation(
    base: Path, pooling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last layer only computes what `<cls>` needs; loss, dropout and every gradient stay the same."""
    network = classifier(base, pooling=pooling, dropout=0.1, body_dropout=0.2).train()
    for rows in (SINGLES, PAIRS, SINGLES[:1]):  # padded, and not
        inputs, result = batch(network, rows), []
        for at_cls in (True, False):
            with monkeypatch.context() as patch:
                if not at_cls:
                    patch.setattr(network.features, "first", lambda tokens: network.features(tokens)[:, 0])
                torch.manual_seed(3)
                network.zero_grad()
                loss = network.loss(*inputs)
                loss.backward()  # type: ignore[no-untyped-call]
            result.append([loss.detach(), *(parameter.grad for parameter in network.parameters())])
            network.zero_grad(set_to_none=True)
        for item, other in zip(*result, strict=True):
            torch.testing.assert_close(item, other, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_gradient_reaches_every_parameter_of_a_tagger(base: Path, output: str) -> None:
    network = tagger(base, output=output, constraints=False).train()
    rows, tags = tagged(network, SENTENCES)
    network.loss(network(rows), rows, tags).backward()  # type: ignore[no-untyped-call]
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    frozen = tagger(base, frozen=True)
    rows, tags = tagged(frozen, SENTENCES)
    frozen.loss(frozen(rows), rows, tags).backward()  # type: ignore[no-untyped-call]
    assert {name for name, item in frozen.named_parameters() if item.grad is not None} == {"head.weight", "head.bias"}


@pytest.mark.parametrize("settings", FEATURES)
def test_padding_changes_nothing(base: Path, settings: dict[str, Any]) -> None:
    network = classifier(base, **settings)
    for rows in (SINGLES, PAIRS):
        batched = network.log_probs(rows)
        for row, result in zip(rows, batched, strict=True):
            np.testing.assert_allclose(network.log_probs([row])[0], result, atol=1e-5)


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_padding_and_order_change_nothing_of_tags(base: Path, output: str) -> None:
    network = tagger(base, output=output)
    sentences = [*SENTENCES, (), ("cats",)]
    batched = network.log_probs(sentences)
    for sentence, result in zip(sentences, batched, strict=True):
        assert result.shape == (len(sentence), 3)
        np.testing.assert_allclose(network.log_probs([sentence])[0], result, atol=1e-5)
    assert network.tag(sentences[::-1]) == network.tag(sentences)[::-1]


def test_golden_a_word_is_read_at_its_first_piece(base: Path) -> None:
    network = tagger(base)
    pieces = [
        TOKENIZER.encode("housedogs").tolist(),
        TOKENIZER.encode(" zz").tolist(),
        TOKENIZER.encode(" cat").tolist(),
    ]
    assert len(pieces[0]) > 1 and len(pieces[1]) > 1
    item = network.encode(("housedogs", "zz", "cat"))
    assert item.ids.tolist() == [*chain(*pieces)] and item.firsts.tolist() == [
        0,
        len(pieces[0]),
        len(pieces[0] + pieces[1]),
    ]
    rows = network.collate([item, network.encode(("a",))])
    assert rows.tokens[0].tolist() == [CLS, *item.ids.tolist(), SEP] and rows.lengths.tolist() == [3, 1]
    assert rows.tokens.flatten()[rows.positions[0]].tolist() == [piece[0] for piece in pieces]
    h = network.features(rows.tokens)[0]
    torch.testing.assert_close(network(rows)[0], network.head(h[1 + torch.from_numpy(item.firsts)]))


def test_a_long_sentence_becomes_rows_cut_between_words(base: Path) -> None:
    network = tagger(base, output="crf")
    sentence = ("the", "cat", "sees", "a", "house") * 12
    item = network.encode(sentence)
    rows = network.collate([item, network.encode(("a", "dog"))])
    assert len(item.ids) > 22 and len(rows.tokens) > 2 and rows.tokens.shape[1] <= 24
    inside = [[token for token in row if token not in (CLS, SEP, 0)] for row in rows.tokens.tolist()]
    assert [*chain(*inside[:-1])] == item.ids.tolist()
    assert rows.tokens.flatten()[rows.positions[0]].tolist() == item.ids[item.firsts].tolist()
    assert len(network.tag([sentence])[0]) == 60 and network.log_probs([sentence])[0].shape == (60, 3)
    assert len(network.encode(("x" * 500,)).ids) == 22  # a word with more pieces than a row has room for
    assert len(network.tag([("x" * 500, "cat")])[0]) == 2


@pytest.mark.parametrize("settings", FEATURES)
def test_two_batches_are_learnt_by_heart(base: Path, settings: dict[str, Any]) -> None:
    network = classifier(base, **settings)
    batches = [batch(network, PAIRS[:3]), batch(network, PAIRS[3:])]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.005)
    for step in range(60):
        optimizer.zero_grad()
        network.loss(*batches[step % 2]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert [LABELS[row] for row in network.log_probs(PAIRS).argmax(axis=1)] == [row.label for row in PAIRS]


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_two_batches_of_tags_are_learnt_by_heart(base: Path, output: str) -> None:
    network = tagger(base, output=output)
    batches = [tagged(network, SENTENCES[:2]), tagged(network, SENTENCES[2:])]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for step in range(60):
        rows, tags = batches[step % 2]
        optimizer.zero_grad()
        network.loss(network(rows), rows, tags).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert network.tag(SENTENCES) == [["B-X", "I-X", *["O"] * (len(item) - 2)] for item in SENTENCES]


def test_explain_weighs_every_piece_that_is_read(base: Path) -> None:
    for settings in ({}, {"frozen": True, "layers": "weighted_sum"}):
        network = classifier(base, **settings)
        for row in (PAIRS[0], Example("the cat sees " * 20, "a dog")):
            result = network.explain(row, 1)
            assert result is not None and result.pieces == network.as_read(row).pieces
            assert len(result.weights) == len(result.pieces) <= 22
            assert [bool(weight) for weight in result.weights] == [piece != "<sep>" for piece in result.pieces]
    assert all(parameter.grad is None for parameter in network.parameters())


@pytest.mark.parametrize("settings", FEATURES)
def test_save_and_load_need_no_base(base: Path, tmp_path: Path, settings: dict[str, Any]) -> None:
    network = classifier(base, **settings)
    network.save(tmp_path / "one")
    loaded = Classifier.load(tmp_path / "one")
    assert isinstance(loaded, BERTClassifier) and loaded.config == network.config and loaded.labels == LABELS
    np.testing.assert_array_equal(loaded.log_probs(PAIRS), network.log_probs(PAIRS))
    loaded.save(tmp_path / "two")
    for file in ("config.json", "reading.json", "model.safetensors", "tokenizer.json"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.parametrize("output", ["softmax", "crf"])
def test_save_and_load_of_a_tagger(base: Path, tmp_path: Path, output: str) -> None:
    network = tagger(base, output=output)
    network.save(tmp_path / "one")
    loaded = Tagger.load(tmp_path / "one")
    assert isinstance(loaded, BERTTagger) and loaded.tags == TAGS and loaded.tag(SENTENCES) == network.tag(SENTENCES)
    for log_prob, other in zip(loaded.log_probs(SENTENCES), network.log_probs(SENTENCES), strict=True):
        np.testing.assert_array_equal(log_prob, other)


def test_damaged_folders_are_refused_with_a_one_line_error(base: Path, tmp_path: Path) -> None:
    for network, reader in ((classifier(base), Classifier), (tagger(base), Tagger)):
        network.save(tmp_path / "model")
        path = tmp_path / "model" / "config.json"
        good = json.loads(path.read_text())
        for change in (
            {"config": good["config"] | {"body": None}},
            {"config": good["config"] | {"body": good["config"]["body"] | {"width": 16384, "heads": 1}}},
            {"config": good["config"] | {"body": good["config"]["body"] | {"layers": 128}}},
            {"config": good["config"] | {"layers": "concat", "pooling": "pooler"}},
            {"vocab_size": 10**9},
            {"number_of_labels": 2**31 - 1},
            {"_target_": "langladder.models.language.gpt.GPT"},
        ):
            path.write_text(json.dumps(good | change))
            with little_memory(), pytest.raises(InputError) as refused:
                reader.load(tmp_path / "model")  # type: ignore[attr-defined]
            assert "\n" not in str(refused.value)
        path.write_text(json.dumps(good))
        (tmp_path / "model" / "tokenizer.json").unlink()
        with pytest.raises(InputError, match=r"tokenizer\.json"):
            reader.load(tmp_path / "model")  # type: ignore[attr-defined]


def test_invalid_settings_raise_a_named_error(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"layers_transferred=9, but its base has 2 layers"):
        classifier(base, layers_transferred=9)
    with pytest.raises(InputError, match="a GPT, but a BERTTagger starts from a rung of the family encoder"):
        tagger(saved_gpt(tmp_path / "gpt"))
    with pytest.raises(ValueError, match="the pooler reads the width of one layer"):
        BERTClassifier.Config.model_validate({"layers": "concat"})
    other = saved_bert(tmp_path / "other")
    (other / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"tokenizer\.json: no such file"):
        classifier(other)
