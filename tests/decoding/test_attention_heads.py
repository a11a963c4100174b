"""The weights of every head are those that the search itself reads, where it tells them."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from langladder.decoding.attention_heads import heads, read_by_step
from langladder.decoding.beam_search import BeamConfig, beam_search
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.convolutional_seq2seq import ConvolutionalSeq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import EOS

SOURCE = [5, 9, 7, 6, EOS]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def build_model(norm: str = "post") -> Transformer:
    torch.manual_seed(1)
    config = Transformer.Config(width=12, layers=2, heads=3, norm=norm, dropout=0.3)  # type: ignore[call-arg]
    model = Transformer(config, 13, 13)
    for parameter in model.parameters():
        parameter.data *= 3
    return model.train()


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_last_layer_s_mean_is_what_the_search_read(norm: str) -> None:
    model = build_model(norm).eval()
    best = beam_search(model, torch.tensor([SOURCE]), BeamConfig(width=3, max_length=6))[0][0]
    result = heads(model.train(), SOURCE, best.tokens)
    assert model.training
    T, S = len(best.tokens) + 1, len(SOURCE)
    shapes = [(item.kind, item.layer, item.weights.shape) for item in result]
    assert shapes == [
        *(("source", layer, (3, T, S)) for layer in (1, 2)),
        *(("encoder", layer, (3, S, S)) for layer in (1, 2)),
        *(("decoder", layer, (3, T, T)) for layer in (1, 2)),
    ]
    np.testing.assert_allclose(result[1].weights.mean(axis=0), best.attention, atol=1e-5)
    for item in result:
        np.testing.assert_allclose(item.weights.sum(axis=2), 1, atol=1e-5)
    assert np.triu(result[-1].weights, k=1).max() == 0  # no token sees a later one
    assert not any(module._forward_hooks for module in model.modules())


def test_the_mean_of_all_blocks_is_what_the_search_read() -> None:
    torch.manual_seed(2)
    config = ConvolutionalSeq2Seq.Config(width=12, embedding_dim=10, layers=2)  # type: ignore[call-arg]
    model = ConvolutionalSeq2Seq(config, 13, 13).eval()
    best = beam_search(model, torch.tensor([SOURCE]), BeamConfig(width=2, max_length=5))[0][0]
    result = heads(model, SOURCE, best.tokens)
    assert [(item.kind, item.layer) for item in result] == [("source", 1), ("source", 2)]
    np.testing.assert_allclose(np.mean([item.weights[0] for item in result], axis=0), best.attention, atol=1e-5)


def test_a_recurrent_network_has_no_layers_of_attention() -> None:
    config = AttentionSeq2Seq.Config(width=8, embedding_dim=6, attention_width=4)
    model: Translator = AttentionSeq2Seq(config, 13, 13).eval()
    best = beam_search(model, torch.tensor([SOURCE]), BeamConfig(width=2, max_length=5))[0][0]
    assert heads(model, SOURCE, best.tokens) == []
    np.testing.assert_allclose(read_by_step(model, SOURCE, best.tokens), best.attention, atol=1e-6)
