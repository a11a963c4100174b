"""What is shown inside a model ends in the model's own answer, and its numbers follow from one another."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch

from langladder.answers.inside import ngrams, recurrent, transformers, translators
from langladder.decoding.attention_heads import read_by_step
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.evaluation.attention_maps import attention_weights, framed
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked
from langladder.models.language.gpt import GPT, LLAMA
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.models.ngrams.absolute_discounting import AbsoluteDiscounting
from langladder.models.ngrams.katz import Katz
from langladder.models.ngrams.kneser_ney import KneserNey, closed_form_discounts
from langladder.models.ngrams.stupid_backoff import StupidBackoff
from langladder.models.ngrams.witten_bell import WittenBell
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.seq2seq import Seq2Seq
from langladder.nn.recurrent import FusedLayer
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS

WORDS = 14
PREFIX = [BOS, 5, 9, 6, 11]


def text(lines: int = 60) -> np.ndarray:
    """Lines of four words, of which a few are frequent."""
    random = np.random.default_rng(3)
    rows = [[BOS, *(4 + random.zipf(1.6, 4) % (WORDS - 4)), EOS] for _ in range(lines)]
    return np.array(rows, dtype=np.int32).ravel()


def doubled(model: torch.nn.Module) -> None:
    """First weights hardly tell one token from another."""
    for parameter in model.parameters():
        parameter.data *= 3


@pytest.mark.parametrize("kind", [KneserNey, AbsoluteDiscounting, WittenBell, Katz, StupidBackoff])
def test_an_n_gram_model_s_steps_end_in_its_probability(kind: type[KneserNey]) -> None:
    ids = text()
    model = kind(kind.Config(order=3), WORDS)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    own = model.next_log_probs(torch.tensor([PREFIX]))[0].exp()
    for token in range(4, WORDS):
        steps = ngrams.steps(model, PREFIX, token, ids)
        assert steps[-1].probability == pytest.approx(float(own[token]), rel=1e-5)
        for before, step in pairwise(steps):
            assert step.below == before.probability
            if not step.seen:
                assert step.probability == pytest.approx(step.backoff * before.probability)
            elif kind in ngrams.INTERPOLATED:
                assert step.share is not None
                assert step.probability == pytest.approx(step.share + step.backoff * before.probability)


def test_counts_are_those_of_the_text_and_discounts_those_of_the_closed_form() -> None:
    ids = text(200)
    model = KneserNey(KneserNey.Config(order=2), WORDS)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    pairs = [tuple(pair) for pair in np.stack([ids[:-1], ids[1:]], axis=1).tolist() if pair[1] != BOS]
    counts = np.unique(list(map(pairs.count, set(pairs))), return_counts=True)
    n = np.zeros(5, dtype=np.int64)
    for times, many in zip(*counts, strict=True):
        n[times if times < 5 else 0] += many
    wanted = closed_form_discounts(n, [0.5, 1.0, 1.5])
    for token in range(4, WORDS):
        first, last = ngrams.steps(model, [BOS, 5], token, ids)
        assert (last.counts is not None and first.counts is not None and last.discount is not None) or not last.seen
        assert first.counts is not None and first.counts.used == len({item for item, other in pairs if other == token})
        assert first.counts.total == len(set(pairs))
        if last.counts and last.discount is not None:
            assert last.counts.used == pairs.count((5, token)) and last.counts.total == list(ids).count(5)
            assert last.discount == pytest.approx(wanted[min(3, last.counts.used)], abs=1e-3)


def test_what_opens_with_bos_is_counted_in_times_and_else_in_different_words_before() -> None:
    ids = text()
    model = KneserNey(KneserNey.Config(order=3), WORDS)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    lines = ids.reshape(-1, 6).tolist()
    first, second = ngrams.steps(model, [BOS], 5, ids), ngrams.steps(model, [BOS, 5], 6, ids)
    assert first[1].counts is not None and not first[1].counts.before
    assert first[1].counts.used == sum(line[1] == 5 for line in lines) and first[1].counts.total == 60
    assert [step.counts.before for step in second if step.counts] == [True, True, False]


def test_without_the_training_tokens_there_are_no_counts() -> None:
    ids = text()
    model = KneserNey(KneserNey.Config(order=3), WORDS)
    model.fit(TokenStream(ids, np.array([0, len(ids)])))
    assert all(step.counts is None and step.discount is None for step in ngrams.steps(model, PREFIX, 7))


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"norm": "post"},
        {"sparse_window": 2},
        {"positions": "sinusoidal"},
        LLAMA | {"key_value_heads": 1},
        {"experts": 3},
    ],
)
def test_gpt_s_last_layer_gives_its_answer(more: dict[str, object]) -> None:
    torch.manual_seed(1)
    model = GPT(GPT.Config.model_validate({"context": 8, "width": 8, "layers": 2, "heads": 2} | more), WORDS)
    doubled(model)
    for prefix in (PREFIX, PREFIX * 2):  # the second is longer than the context
        own = model.next_log_probs(torch.tensor([prefix]))[0].exp()
        result = transformers.gpt(model, prefix, 7)
        last = result.layers[-1].guess
        assert last.probability == pytest.approx(float(own[7]), rel=1e-4)
        assert dict(last.likeliest) == pytest.approx({item: float(own[item]) for item, _ in last.likeliest}, rel=1e-4)
        assert last.rank == 1 + int((own[4:] > own[7]).sum() + (own[EOS] > own[7]) + (own[1] > own[7]))
        assert result.tokens == prefix[-8:] and result.position == len(result.tokens) - 1
        for layer in result.layers:
            torch.testing.assert_close(layer.weights.sum(dim=-1), torch.ones(layer.weights.shape[:2]))
            torch.testing.assert_close(torch.softmax(layer.scores, dim=-1), layer.weights[:, -1])
            assert not torch.triu(layer.weights, diagonal=1).any()
            reach = layer.queries[:, None] * layer.keys / 2  # |q · k| ≤ |q| |k|, √d = 2
            assert (layer.scores.masked_fill(layer.scores == -torch.inf, 0).abs() <= reach + 1e-5).all()
            assert layer.values.shape == layer.keys.shape == (2, len(result.tokens))
        if more.get("norm") != "post":  # the stream is a sum
            first, second = result.layers
            assert second.stream[0] <= first.stream[0] + second.attention[0] + second.feed_forward[0]
    assert not any(module._forward_hooks for module in model.modules())


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_bert_s_last_layer_gives_its_answer(norm: str) -> None:
    torch.manual_seed(2)
    model = BERT(BERT.Config(context=12, width=8, layers=2, heads=2, norm=norm, next_sentence=False), WORDS + 3)
    doubled(model)
    row = [model.cls, 5, model.mask, 6, model.separator]
    batch = Masked(
        torch.tensor([row]), torch.zeros(1, 5, dtype=torch.int64), torch.tensor([2]), torch.tensor([7]), torch.zeros(0)
    )
    own = model.masked_log_probs(batch)[0].exp()
    result = transformers.bert(model, row, 2, 7, range(4))
    assert result.layers[-1].guess.probability == pytest.approx(float(own[7]), rel=1e-4)
    assert not {token for token, _ in result.layers[-1].guess.likeliest} & set(range(4))
    for layer, own_weights in zip(result.layers, model.attention(torch.tensor([row])), strict=True):
        torch.testing.assert_close(layer.weights, own_weights[0])
        torch.testing.assert_close(torch.softmax(layer.scores, dim=-1), layer.weights[:, 2])


def test_maps_of_attention_are_what_each_layer_and_head_reads() -> None:
    """Those of the page Inside; of GPT also what softmax(q kᵀ / √d) by hand says, with nothing behind a token."""
    torch.manual_seed(2)
    gpt = GPT(GPT.Config(width=8, layers=2, heads=2, context=8), WORDS).eval()
    encoder = BERT(BERT.Config(width=8, layers=2, heads=2, context=8), WORDS).eval()
    doubled(gpt)
    doubled(encoder)
    row = framed(gpt, PREFIX[1:])
    assert row == PREFIX and framed(encoder, [5, 9])[1:3] == [5, 9]
    maps = attention_weights(gpt, row)
    for weights, layer in zip(maps, transformers.gpt(gpt, row, 7).layers, strict=True):
        torch.testing.assert_close(weights, layer.weights)
    block: Any = gpt.blocks[0]
    x = block.norm_attention(gpt.embedding(torch.tensor(row)) + gpt.position[:5])
    query, key, _ = (part.view(5, 2, 4).transpose(0, 1) for part in block.attention.project(x).chunk(3, dim=-1))
    scores = (query @ key.transpose(1, 2) / 2).masked_fill(torch.ones(5, 5).triu(1) == 1, -math.inf)
    torch.testing.assert_close(maps[0], scores.softmax(dim=-1))
    both = framed(encoder, [5, 9, 6])
    for weights, layer in zip(
        attention_weights(encoder, both), transformers.bert(encoder, both, 2, 7, range(4)).layers, strict=True
    ):
        torch.testing.assert_close(weights, layer.weights)
        assert weights.shape == (2, 5, 5) and (weights > 0).all()


@pytest.mark.parametrize(
    "more",
    [{"cell": "lstm", "layers": 2}, {"cell": "lstm", "layer_norm": True}, {"cell": "gru"},
     {"cell": "gru", "reset_after": False}, {"cell": "rnn"}, {"cell": "peephole"}],
)  # fmt: skip
def test_gates_and_memory_give_the_network_s_states(more: dict[str, object]) -> None:
    torch.manual_seed(3)
    config = RecurrentConfig.model_validate({"width": 6, "embedding_dim": 6, "dropout": 0.5} | more)
    model = RecurrentLM(config, WORDS)
    gates = recurrent.gates(model, PREFIX)
    torch.testing.assert_close(gates.after, model.next_log_probs(torch.tensor([PREFIX]))[0])
    assert len(gates.layers) == len(model.cell.layers)
    for layer in gates.layers:
        assert all(((gate > 0) & (gate < 1)).all() for gate in layer.gates.values())
        if config.cell == "lstm" and not config.layer_norm:  # h = o ⊙ tanh(c)
            assert layer.cells is not None
            torch.testing.assert_close(layer.gates["output"] * torch.tanh(layer.cells), layer.states)
    assert bool(gates.layers[0].gates) == (config.cell in ("lstm", "gru"))
    first, fused = gates.layers[0], model.cell.layers[0]
    if first.gates and isinstance(fused, FusedLayer):  # PyTorch's order of the parts: i, f, g, o and r, z, n
        w, u, b, c = fused.rnn.all_weights[0]
        before = torch.cat([torch.zeros_like(first.states[:1]), first.states[:-1]])
        driven = model.embedding(torch.tensor(PREFIX)) @ w.T + b + before @ u.T + c
        parts = torch.sigmoid(driven).split(config.width, dim=-1)
        names = {"input": 0, "forget": 1, "output": 3} if config.cell == "lstm" else {"reset": 0, "update": 1}
        for name, index in names.items():
            torch.testing.assert_close(first.gates[name], parts[index])


@pytest.mark.parametrize("kind", [AttentionSeq2Seq, Seq2Seq])
def test_a_translator_s_steps_sum_to_its_greedy_translation(kind: type[Seq2Seq]) -> None:
    torch.manual_seed(4)
    model = kind(kind.Config(width=8, embedding_dim=8), WORDS, WORDS).eval()
    doubled(model)
    source = [5, 9, 6, EOS]
    ((best,),) = translate(model, [np.array(source)], BeamConfig(width=1, n_best=1))
    steps = translators.steps(model, source, best.tokens)
    assert math.fsum(step.log_prob for step in steps) == pytest.approx(best.log_prob, abs=1e-4)
    assert [step.token for step in steps] == [*best.tokens, EOS]
    assert all(step.likeliest[0][0] == step.token for step in steps[:-1])
    seen = read_by_step(model, source, best.tokens)
    if kind is Seq2Seq:
        assert seen is None and all(step.weights is None for step in steps)
    else:
        np.testing.assert_allclose([step.weights for step in steps], seen, atol=1e-6)
