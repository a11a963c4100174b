"""What networks show of themselves: n-grams that filters like, weights of attention, labels at the nodes of a tree."""

import numpy as np
import pytest
import torch
from torch import nn

from langladder.models.classification.recurrent_classifier import RecurrentClassifier, RecurrentReaderConfig
from langladder.models.classification.textcnn import TextCNN, TextCNNConfig
from langladder.models.classification.tree_lstm import TreeLSTM, TreeLSTMConfig
from langladder.models.units import WordUnits
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import NAMES

UNITS = WordUnits(["not", "good", "bad", "film", "the"], "whitespace")
LABELS = ["negative", "positive"]
TEXTS = [Example(text) for text in ("the film not good", "not bad", "the bad film", "good")]


def textcnn(**settings: object) -> TextCNN:
    torch.manual_seed(0)
    config = TextCNNConfig.model_validate({"embedding_dim": 5, "widths": [2], "filters": 2, "dropout": 0.0} | settings)
    return TextCNN(config, UNITS.full_vocab_size, 2).equip(UNITS, LABELS)


def detector() -> TextCNN:
    """Its first filter finds "not good", for `negative`; the second finds nothing."""
    network = textcnn()
    with torch.no_grad():
        network.embedding.weight.zero_()
        network.embedding.weight[len(NAMES) : len(NAMES) + 5] = torch.eye(5)
        network.convolution.weights[0].zero_()
        network.convolution.weights[0][0, 0, 0] = network.convolution.weights[0][0, 1, 1] = 1.0
        network.head.weight.copy_(torch.tensor([[1.0, 0.0], [-1.0, 0.0]]))
    return network


def test_golden_favourites_of_a_filter() -> None:
    liked, nothing = detector().favourites(TEXTS, top=2)
    assert (liked.width, liked.filter, liked.label) == (2, 0, "negative")
    assert liked.ngrams == ["not good", "not bad"] and liked.values == pytest.approx([2.0, 1.0])
    assert nothing.ngrams == [] and nothing.filter == 1


@pytest.mark.parametrize("padding", ["valid", "same", "wide"])
def test_favourites_are_pieces_of_the_texts_each_once(padding: str) -> None:
    favourites = textcnn(widths=[2, 3], padding=padding, pooling="k_max").favourites([*TEXTS, *TEXTS], top=3)
    assert [(item.width, item.filter) for item in favourites] == [(2, 0), (2, 1), (3, 0), (3, 1)]
    for item in favourites:
        assert len(set(item.ngrams)) == len(item.ngrams) <= 3
        assert item.values == sorted(item.values, reverse=True)
        assert all(any(ngram in text.text for text in TEXTS) for ngram in item.ngrams)


@pytest.mark.parametrize("padding", ["valid", "same", "wide"])
def test_attention_of_filters_is_shared_out_among_their_words(padding: str) -> None:
    for text in TEXTS:
        explained = textcnn(pooling="attentive", padding=padding).attention(text)
        assert explained is not None and explained.pieces == text.text.split()
        assert min(explained.weights) >= 0 and sum(explained.weights) == pytest.approx(1.0)
    assert textcnn().attention(TEXTS[0]) is None


def test_golden_attention_of_states() -> None:
    """With W = 0 and b = 0 every state weighs alike."""
    config = RecurrentReaderConfig(embedding_dim=4, width=4, pooling="attentive")
    network = RecurrentClassifier(config, UNITS.full_vocab_size, 2).equip(UNITS, LABELS)
    explained = network.attention(TEXTS[0])
    assert explained is not None and sum(explained.weights) == pytest.approx(1.0)
    assert network.reader.pool is not None
    for parameter in network.reader.pool.project.parameters():
        nn.init.zeros_(parameter)
    explained = network.attention(TEXTS[0])
    assert explained is not None and explained.weights == pytest.approx([0.25] * 4)
    config = RecurrentReaderConfig(embedding_dim=4, width=4)
    assert RecurrentClassifier(config, UNITS.full_vocab_size, 2).attention(TEXTS[0]) is None


@pytest.mark.parametrize("cell", ["child_sum", "n_ary"])
def test_the_last_node_has_the_prediction_for_the_text(cell: str) -> None:
    config = TreeLSTMConfig.model_validate({"embedding_dim": 4, "width": 3, "cell": cell})
    network = TreeLSTM(config, UNITS.full_vocab_size, 2).equip(UNITS, LABELS)
    text = Example(
        "the film not good", None, None, "((the) ((film) (not good)))".replace("(not good)", "((not) (good))")
    )
    nodes = network.nodes(text)
    assert len(nodes) == 7 and all(node.shape == (2,) for node in nodes)
    np.testing.assert_allclose(np.log(nodes[-1]), network.log_probs([text])[0], atol=1e-6)
    alone = network.nodes(Example("film", None, None, "(film)"))
    np.testing.assert_allclose(nodes[1], alone[0], atol=1e-6)  # the second node is that word
    heads = Example("the film", heads=(2, 0))
    if cell == "child_sum":
        assert len(network.nodes(heads)) == 2


def test_the_static_channel_equals_the_initial_embeddings() -> None:
    network = textcnn(channels=2)
    with torch.no_grad():
        network.embedding.weight[5] = 7.0
    network.start()
    assert (network.static[5] == 7.0).all()
    assert "static" not in dict(network.named_parameters())


def test_max_norm_bounds_the_rows_of_the_output() -> None:
    network = textcnn(max_norm=1.0).train()
    with torch.no_grad():
        network.head.weight.fill_(5.0)
    network.decide(torch.ones(1, 2))
    torch.testing.assert_close(network.head.weight.norm(dim=1), torch.ones(2))
