"""What every network that classifies must do, for every file in conf/classifier: a new YAML needs no new test.

Networks keep their first weights, made larger. Shapes, a gradient for every parameter, two batches learnt by heart,
padding that changes nothing, saving that keeps everything, a stranger's folder that is refused in one line.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.classification.cnn_lstm import CNNLSTM
from langladder.models.classification.mean_embedding import MeanEmbedding
from langladder.models.classification.neural_classifier import STRETCHES, Encoded, NeuralClassifier, collate
from langladder.models.classification.recurrent_classifier import RecurrentClassifier
from langladder.models.classification.textcnn import TextCNN
from langladder.models.classification.transformer_classifier import TransformerClassifier
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.units import WordUnits
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import UNK
from tests.bf16 import check_training
from tests.hostile import little_memory
from tests.models.rungs import classes, models

LABELS = ["bad", "good", "neither"]
UNITS = WordUnits([f"w{number}" for number in range(20)], "whitespace")
WIDE = {"embedding_dim": 12}
SMALL = {"embedding_dim": 8, "width": 8}
# What no rung has: other poolings and paddings, a sum, trees as the notes have them.
MORE: dict[str, tuple[type[NeuralClassifier], dict[str, Any]]] = {
    "sum, deep": (MeanEmbedding, SMALL | {"combine": "sum", "layers": 2}),
    "mean alone": (MeanEmbedding, WIDE | {"layers": 0}),
    "TextCNN, k-max, same": (TextCNN, WIDE | {"pooling": "k_max", "padding": "same", "filters": 6}),
    "TextCNN, chunked, wide": (TextCNN, WIDE | {"pooling": "chunked", "padding": "wide", "filters": 6}),
    "TextCNN, attentive": (TextCNN, WIDE | {"pooling": "attentive", "widths": [2, 3], "filters": 6}),
    "TextCNN, mean, wide": (TextCNN, WIDE | {"pooling": "mean", "padding": "wide", "widths": [4], "filters": 6}),
    "TextCNN, max, same": (TextCNN, WIDE | {"padding": "same", "widths": [1, 4], "filters": 6}),
    "GRU, mean": (RecurrentClassifier, SMALL | {"cell": "gru", "pooling": "mean", "locked": True}),
    "BiRNN, last, two layers": (
        RecurrentClassifier,
        SMALL | {"cell": "rnn", "bidirectional": True, "layers": 2, "layer_dropout": 0.1},
    ),
    "LSTM, zeros before": (RecurrentClassifier, SMALL | {"padding": "pre", "max_length": 12}),
    "LSTM, k-max": (RecurrentClassifier, SMALL | {"pooling": "k_max", "k": 3}),
    "LSTM, chunked": (RecurrentClassifier, SMALL | {"pooling": "chunked", "parts": 3}),
    "CNN → BiGRU": (
        CNNLSTM,
        SMALL | {"widths": [2, 3], "filters": 5, "cell": "gru", "bidirectional": True, "pooling": "max"},
    ),
    "Transformer, mean, post": (
        TransformerClassifier,
        {"embedding_dim": 12, "layers": 1, "heads": 2, "pooling": "mean", "norm": "post", "positions": "none"},
    ),
    "Tree-LSTM, root": (TreeLSTM, SMALL),
    "Tree-LSTM, notes": (TreeLSTM, SMALL | {"cell": "n_ary", "variant": "notes", "loss": "nodes"}),
    "Tree-LSTM, ternary": (TreeLSTM, SMALL | {"cell": "n_ary", "places": 3, "loss": "nodes"}),
    "compared BiLSTM": (RecurrentClassifier, SMALL | {"bidirectional": True, "pairs": "compared", "pooling": "max"}),
    "compared TextCNN": (TextCNN, WIDE | {"pairs": "compared", "filters": 6}),
}


RUNGS = {name: kind for name, kind in classes("classifier").items() if issubclass(kind, NeuralClassifier)}
NETWORKS: dict[str, type[NeuralClassifier]] = RUNGS | {name: kind for name, (kind, _) in MORE.items()}
every_network = pytest.mark.parametrize("name", NETWORKS)


def config_of(name: str) -> Any:
    return NETWORKS[name].Config.model_validate(MORE[name][1]) if name in MORE else models("classifier")[name]


def compared(name: str) -> bool:
    return getattr(config_of(name), "pairs", None) == "compared"


def build(name: str) -> NeuralClassifier:
    torch.manual_seed(1)
    network = NETWORKS[name](config_of(name), UNITS.full_vocab_size, len(LABELS)).equip(UNITS, LABELS)
    with torch.no_grad():  # larger than they begin, so that every test sees outputs that differ
        for parameter in network.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
        network.embedding.weight[0] = 0.0
    network.start()
    return network.eval()


def binary(words: list[str]) -> str:
    """A tree over the words, a label at every node but the second."""
    if len(words) == 1:
        return f"({LABELS[len(words[0]) % 3]} {words[0]})"
    cut = max(1, len(words) // 3)
    return f"({LABELS[len(words) % 2]} {binary(words[:cut])} {binary(words[cut:])})"


def examples(name: str, count: int = 8, longest: int = 9) -> list[Example]:
    """Texts of different lengths, from one word on, with trees; pairs where the network compares."""
    random = np.random.default_rng(3)
    result = []
    for number in range(count):
        words = [f"w{word}" for word in random.integers(0, 20, 1 + number * longest // count)]
        second = f"w{number} w3 w{number + 1}" if compared(name) else None
        result.append(Example(" ".join(words), second, LABELS[number % 3], binary(words)))
    return result


def ids(rows: list[Example]) -> torch.Tensor:
    return torch.tensor([LABELS.index(str(row.label)) for row in rows])


@every_network
def test_shape_and_gradient_of_every_parameter(name: str) -> None:
    network, rows = build(name).train(), examples(name, 32)
    assert network.number_of_parameters() == sum(parameter.numel() for parameter in network.parameters())
    batch = collate([network.encode(row) for row in rows])
    assert network.logits(batch).shape == (32, 3)
    network.loss(batch, ids(rows)).backward()  # type: ignore[no-untyped-call]
    for parameter_name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
    network.log_probs(rows[:2])
    assert network.training  # reading leaves the mode as it was


@every_network
def test_trains_in_bf16(name: str) -> None:
    network, rows = build(name), examples(name, 32)
    batch = collate([network.encode(row) for row in rows])
    check_training(network, lambda: network.loss(batch, ids(rows)))


@every_network
def test_overfit_two_batches(name: str) -> None:
    network, rows = build(name), examples(name)  # evaluation mode: without dropout
    batches = [(collate([network.encode(row) for row in part]), ids(part)) for part in (rows[:4], rows[4:])]
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)

    def learnt() -> bool:
        return bool(-network.log_probs(rows)[np.arange(len(rows)), ids(rows).numpy()].mean() < 0.2)

    for step in range(80):
        if step % 20 == 0 and learnt():
            break
        batch, labels = batches[step % 2]
        loss = network.loss(batch, labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert learnt()


@every_network
def test_padding_changes_nothing(name: str) -> None:
    network, rows = build(name), examples(name)
    batched = network.logits(collate([network.encode(row) for row in rows]))
    for number, row in enumerate(rows):
        torch.testing.assert_close(network.logits(collate([network.encode(row)]))[0], batched[number])


@every_network
def test_log_probs_sum_to_one_in_the_order_of_the_examples(name: str) -> None:
    network, rows = build(name), examples(name)
    log_probs = network.log_probs(rows)
    assert log_probs.shape == (8, 3) and log_probs.dtype == np.float64
    np.testing.assert_allclose(np.exp(log_probs).sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(network.log_probs(rows[::-1])[::-1], log_probs, atol=1e-6)


@every_network
def test_explain_weighs_every_piece(name: str) -> None:
    network, row = build(name), examples(name)[5]
    explained = network.explain(row, 1)
    assert explained is not None and explained.pieces == UNITS.example(row).pieces
    assert len(explained.weights) == len(explained.pieces) and any(explained.weights)


@pytest.mark.parametrize("name", ["mean alone", "TextCNN, attentive", "BiRNN, last, two layers", "compared BiLSTM"])
def test_a_longer_text_loses_its_end(name: str) -> None:
    network, text = build(name), "w1 w2 w3 w4 w5 w6 w7"
    second = "w8 w9" if compared(name) else None
    room = 7 if compared(name) else 4  # 4 words of the first text, the separator and the second text
    network.config, config = network.config.model_copy(update={"max_length": room}), network.config
    whole, cut = Example(text, second), Example("w1 w2 w3 w4", second)
    np.testing.assert_array_equal(network.log_probs([whole]), network.log_probs([cut]))
    explained = network.explain(whole, 1)
    assert explained is not None and len(explained.pieces) == room
    attended = network.attention(whole)
    assert (attended is None) is ("attentive" not in name) and (attended is None or len(attended.pieces) == room)
    network.config = config
    assert not np.allclose(network.log_probs([whole]), network.log_probs([cut]))


@pytest.mark.parametrize("padding", ["pre", "post"])
@pytest.mark.parametrize("pooling", ["last", "max"])
def test_parity_of_padding_that_is_read_with_zeros_in_the_text(padding: str, pooling: str) -> None:
    settings = SMALL | {"bidirectional": True, "padding": padding, "pooling": pooling, "max_length": 9}
    torch.manual_seed(0)
    config = RecurrentClassifier.Config.model_validate(settings)
    network = RecurrentClassifier(config, UNITS.full_vocab_size, len(LABELS)).equip(UNITS, LABELS).eval()
    rows = examples("mean alone")
    result = network.read(collate([network.encode(row) for row in rows]))
    for number, row in enumerate(rows):
        x = network.embedding(torch.from_numpy(network.encode(row).ids).long())[None]  # (1, T, D)
        zeros = torch.zeros(1, 9 - x.shape[1], x.shape[2])
        states, (last, _) = network.reader.rnn(torch.cat([zeros, x] if padding == "pre" else [x, zeros], dim=1))
        own = states[:, zeros.shape[1] :] if padding == "pre" else states[:, : x.shape[1]]
        expected = last.transpose(0, 1).flatten() if pooling == "last" else own.amax(dim=1)[0]
        torch.testing.assert_close(result[number], expected)


def test_padding_without_a_length_is_refused() -> None:
    with pytest.raises(ValueError, match="padding=pre fills each text to max_length"):
        RecurrentClassifier.Config.model_validate({"padding": "pre"})
    with pytest.raises(ValueError, match="a Tree-LSTM reads whole trees"):
        TreeLSTM.Config.model_validate({"max_length": 9})


def test_weight_of_a_piece_is_the_drop_of_the_margin_without_it() -> None:
    """By hand: z = U mean(e) + b, so that the lead without a word is that of the mean of the others."""
    network = build("mean_embedding")
    text = Example("w1 w2 w3 w1 w4")
    ids = network.encode(text).ids
    explained = network.explain(text, 1)
    assert explained is not None

    def lead(kept: list[int]) -> float:
        scores = network.logits(collate([Encoded(np.array(kept, dtype=np.int32))]))[0].detach()
        return float(scores[1] - scores.mean())

    rest = [[*ids[:t], *ids[t + 1 :]] for t in range(len(ids))]
    assert explained.weights == pytest.approx([lead([*ids]) - lead(own) for own in rest], abs=1e-6)
    assert min(map(abs, explained.weights)) > 1e-4
    alone = network.explain(Example("w4"), 1)  # nothing would be left: an unknown word stands there
    assert alone is not None
    assert alone.weights == pytest.approx([lead([ids[-1]]) - lead([UNK])], abs=1e-6)
    long = network.explain(Example("w1 w2 w3 w1 w4 " * 60), 1)
    assert long is not None and len(long.weights) == 300
    shared = np.array_split(long.weights, STRETCHES)  # of one stretch, whatever its words
    assert all(len({round(weight, 9) for weight in item}) == 1 for item in shared)


@every_network
def test_save_load_roundtrip(name: str, tmp_path: Path) -> None:
    network, rows = build(name), examples(name)
    network.save(tmp_path / "model")
    loaded = Classifier.load(tmp_path / "model")
    assert type(loaded) is type(network) and loaded.config == network.config and loaded.labels == LABELS
    np.testing.assert_array_equal(loaded.log_probs(rows), network.log_probs(rows))
    assert loaded.number_of_parameters() == network.number_of_parameters() > 0
    loaded.save(tmp_path / "again")
    for file in ("model.safetensors", "config.json", "reading.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "model" / file).read_bytes()


@every_network
def test_hostile_folder_is_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    build(name).save(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    description = json.loads(path.read_text())
    for key, value in (("vocab_size", 100_000_000), ("number_of_labels", 2**31 - 1)):
        path.write_text(json.dumps(description | {key: value}))
        with little_memory(), pytest.raises(InputError, match="model"):
            Classifier.load(tmp_path / "model")
    wider = description["config"] | {"embedding_dim": 2 * description["config"]["embedding_dim"]}
    path.write_text(json.dumps(description | {"config": wider}))
    with little_memory(), pytest.raises(InputError, match="do not fit"):
        Classifier.load(tmp_path / "model")


def test_unreadable_examples_raise_a_named_error() -> None:
    with pytest.raises(InputError, match="has nothing to read"):
        build("textcnn").log_probs([Example("")])
    with pytest.raises(InputError, match="has no tree"):
        build("tree_lstm").log_probs([Example("w1 w2")])
    with pytest.raises(InputError, match="a pair of texts"):
        build("tree_lstm").log_probs([Example("w1", "w2", None, "(w1)")])
    with pytest.raises(InputError, match=r"3 children, but model\.places is 2"):
        build("tree_lstm_n_ary").log_probs([Example("w1 w2 w3", None, None, "((w1) (w2) (w3))")])
    with pytest.raises(InputError, match="1 words, but its tree 2"):
        build("tree_lstm").log_probs([Example("w1", None, None, "((w1) (w2))")])
    for row in (Example("w1 w2"), Example("w1", "")):
        with pytest.raises(InputError, match="needs two texts"):
            build("compared BiLSTM").log_probs([row])


def test_a_pair_is_one_row_or_two_texts_compared() -> None:
    pair, other = Example("w1 w2", "w3"), Example("w1", "w2 w3")
    for name in ("textcnn", "compared TextCNN", "compared BiLSTM"):
        log_probs = build(name).log_probs([pair, other])
        assert not np.allclose(log_probs[0], log_probs[1])


def test_impossible_settings_are_named() -> None:
    for kind, settings, message in (
        (RecurrentClassifier, {"bidirectional": True, "width": 7}, "width=7 is odd"),
        (RecurrentClassifier, {"layer_dropout": 0.2}, "layers=1"),
        (TreeLSTM, {"pairs": "compared"}, "reads one tree"),
        (TransformerClassifier, {"embedding_dim": 10, "heads": 4}, "heads"),
    ):
        with pytest.raises(ValueError, match=message):
            kind.Config.model_validate(settings)
