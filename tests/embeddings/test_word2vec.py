"""word2vec's kernels: the same step as autograd, distributions of the random draws, learning, determinism."""

import math
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from langladder.embeddings.word2vec import method, outputs
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig, chunk_bounds
from langladder.embeddings.word2vec.outputs import OUTPUTS, Output
from langladder.embeddings.word2vec.sampling import keep_probabilities, noise_distribution
from langladder.ground.errors import InputError
from langladder.kernels.word2vec.drawing import Chunk, alias_table, draw_noise, subsample
from langladder.kernels.word2vec.noise import REPEATS, block_size
from langladder.kernels.word2vec.rows import logistic
from langladder.kernels.word2vec.tree import AT_ONCE
from langladder.nn.huffman import HuffmanTree
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus
from tests.embeddings.word2vec_equations import Word2VecEquations, complete, pairs_of, tensors

CONTEXTS = [{"context": "mean"}, {"context": "sum"}, {"context": "mean", "context_step": "whole"}]
KINDS = list(product(["skipgram", "cbow"], ["negative_sampling", "nce", "hierarchical", "softmax"]))
V, LR = 30, 0.1
COUNTS = np.arange(60, 0, -2)


def random_output(kind: tuple[str, str], **settings: Any) -> Output:
    """An output layer whose tables hold numbers of real size; 13 dimensions, so that three columns are padding."""
    config = Word2VecConfig(architecture=kind[0], output=kind[1], dim=13, window=3, negatives=4, **settings)  # type: ignore[arg-type]
    output = OUTPUTS[kind[1]](config, COUNTS, seed=1)
    rng = np.random.default_rng(2)
    for table in (output.input, output.output):
        table[:, :13] = rng.normal(size=(len(table), 13)) * 0.5
    return output


def as_network(output: Output) -> Word2VecEquations:
    """The PyTorch form with the same tables, in double precision."""
    network = Word2VecEquations(output.config, V).double()
    with torch.no_grad():
        network.input.weight.copy_(torch.from_numpy(output.input[:, :13]))
        network.output.weight.copy_(torch.from_numpy(output.output[:, :13]))
    return network


def windows(count: int, window: int = 3) -> tuple[np.ndarray, np.ndarray]:
    positions = np.arange(count)
    return np.minimum(positions, window), np.minimum(count - 1 - positions, window - positions % 2)


def _tree(output: Output) -> HuffmanTree | None:
    return HuffmanTree(*output.tree) if hasattr(output, "tree") else None


def step(network: Word2VecEquations, batch: dict[str, np.ndarray], output: Output) -> float:
    """Plain SGD on the summed loss of a batch; that loss."""
    shifts = np.log(noise_distribution(COUNTS, 1)) - np.log(
        network.config.negatives * noise_distribution(COUNTS, network.config.noise_exponent)
    )
    loss = network(tensors(complete(batch, network.config, shifts, _tree(output)))) * len(batch["targets"])
    network.zero_grad()
    loss.backward()
    with torch.no_grad():
        for parameter in network.parameters():
            assert parameter.grad is not None
            parameter.sub_(LR * parameter.grad)
    return float(loss.item())


def assert_same(output: Output, network: Word2VecEquations) -> None:
    np.testing.assert_allclose(output.input[:, :13], network.input.weight.detach(), atol=2e-4)
    np.testing.assert_allclose(output.output[:, :13], network.output.weight.detach(), atol=2e-4)
    assert not output.input[:, 13:].any() and not output.output[:, 13:].any()


@pytest.mark.parametrize("context", CONTEXTS, ids=["mean", "sum", "whole"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind[1] != "hierarchical"], ids="-".join)
def test_step_parity_with_autograd(kind: tuple[str, str], context: dict[str, str]) -> None:
    """One block of text, its pairs and the noise that the kernel drew: the step is −lr times autograd's gradient."""
    output = random_output(kind, **context)
    network = as_network(output)
    words = np.random.default_rng(3).integers(0, V, 14)  # some twice
    before, after = windows(14)
    batch = pairs_of(words, before, after, network.config)
    if kind[1] in ("negative_sampling", "nce"):
        noise = np.zeros(output.config.shared_negatives, dtype=np.int64)
        draw_noise(alias_table(noise_distribution(COUNTS, 0.75)), np.array([77], dtype=np.uint64), noise)
        batch["noise"] = np.tile(noise, (len(batch["targets"]), 1))
    start = output.input.copy()
    loss, terms = output.learn(Chunk(words, before, after, 14), LR, np.array([77], dtype=np.uint64))
    expected = step(network, batch, output)
    assert loss / terms == pytest.approx(expected / len(batch["targets"]), rel=1e-3)
    assert np.abs(output.input - start).max() > 0.05
    assert_same(output, network)
    if network.bias is not None:
        learnt = output.shift - random_output(kind, **context).shift  # type: ignore[attr-defined]
        np.testing.assert_allclose(learnt, network.bias.weight.detach()[:, 0], atol=2e-4)


@pytest.mark.parametrize("context", CONTEXTS, ids=["mean", "sum", "whole"])
@pytest.mark.parametrize("architecture", ["skipgram", "cbow"])
def test_tree_step_parity_with_autograd(architecture: str, context: dict[str, str]) -> None:
    """Hierarchical softmax learns by neighbours, AT_ONCE at a time, or by their mean: they must reach the centre."""
    output = random_output((architecture, "hierarchical"), **context)
    network = as_network(output)
    words = np.random.default_rng(3).permutation(V)[:11]
    before, after = windows(11)
    measured = []
    for t in range(11):
        around = np.concatenate([words[t - before[t] : t], words[t + 1 : t + after[t] + 1]])
        inputs = around[None] if architecture == "cbow" else around[:, None]
        for first in range(0, len(inputs), AT_ONCE):
            some = inputs[first : first + AT_ONCE]
            targets = np.full(len(some), words[t])
            loss = step(network, {"inputs": some, "mask": np.ones_like(some, dtype=bool), "targets": targets}, output)
            measured += [loss] if t == 0 else []
    total, terms = output.learn(Chunk(words, before, after, 11), LR, np.zeros(1, dtype=np.uint64))
    assert terms == (1 if architecture == "cbow" else after[0]) and len(measured) == -(-terms // AT_ONCE)
    assert total == pytest.approx(sum(measured), rel=1e-3)  # of 11 words, the first is measured
    assert_same(output, network)


def test_a_block_ends_before_a_word_stands_in_it_too_often() -> None:
    words = np.array([7, 1, 7, 2, 7, 3, 7, 4, 7, 5, 7, 6], dtype=np.int32)
    assert REPEATS == 4
    assert block_size(words, 0, len(words), 32) == 8  # the fifth 7 begins the next
    assert block_size(words, 8, len(words), 32) == 4  # what is left
    assert block_size(words, 0, len(words), 3) == 3
    for seed in range(20):
        words = np.random.default_rng(seed).integers(0, 9, 40).astype(np.int32)
        size = block_size(words, 5, 40, 32)
        assert max(Counter(words[5 : 5 + size].tolist()).values()) <= REPEATS
        assert size == 32 or Counter(words[5 : 6 + size].tolist())[int(words[5 + size])] > REPEATS


def test_text_that_repeats_itself_does_not_overshoot() -> None:
    """One word four hundred times running: steps of whole blocks at once would add up to vectors of any length."""
    ids = np.random.default_rng(0).integers(1, 500, 20_000).astype(np.int32)
    ids[4000:4400] = 0
    vocabulary = Vocabulary([f"w{word}" for word in range(500)], np.bincount(ids, minlength=500))
    corpus = WordCorpus(TokenStream(ids, np.array([0, 4000, 4400, len(ids)])), vocabulary)
    config = Word2VecConfig(dim=16, epochs=3, lr=0.05, subsample=0.0)
    lengths = np.linalg.norm(Word2Vec(config).make(corpus, seed=1, progress=lambda _: None).vectors.matrix, axis=1)
    assert lengths.max() < 10 * np.median(lengths)


def test_tree_probabilities_sum_to_one() -> None:
    network = as_network(random_output(("cbow", "hierarchical")))
    inputs = np.tile([[3, 7, 8]], (V, 1))
    batch = {"inputs": inputs, "mask": np.ones_like(inputs, dtype=bool), "targets": np.arange(V)}
    full = tensors(complete(batch, network.config, np.zeros(V), HuffmanTree.from_counts(COUNTS)))
    losses = network._losses(network.hidden(full["inputs"], full["mask"]), full)
    assert torch.exp(-losses).sum().item() == pytest.approx(1, abs=1e-9)


def test_negative_sampling_touches_one_and_k_rows_golden() -> None:
    """With K = 5 noise words of its own, a pair changes 1 + 5 output rows and one input row."""
    network = Word2VecEquations(Word2VecConfig(dim=4), 100)
    torch.nn.init.normal_(network.output.weight)
    noise = np.array([[10, 20, 30, 40, 50]])
    network(
        tensors({"inputs": np.array([[1]]), "mask": np.array([[True]]), "targets": np.array([2]), "noise": noise})
    ).backward()
    assert network.output.weight.grad is not None and network.input.weight.grad is not None
    assert network.output.weight.grad.any(dim=1).nonzero()[:, 0].tolist() == [2, 10, 20, 30, 40, 50]
    assert network.input.weight.grad.any(dim=1).nonzero()[:, 0].tolist() == [1]


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_gradient_reaches_all_parameters(kind: tuple[str, str]) -> None:
    output = random_output(kind)
    network = as_network(output)
    words = np.concatenate([np.random.default_rng(seed).permutation(V) for seed in range(3)])
    batch = pairs_of(words, *windows(len(words)), network.config)
    if kind[1] in ("negative_sampling", "nce"):
        batch["noise"] = np.random.default_rng(0).integers(0, V, (len(batch["targets"]), 4))
    step(network, batch, output)
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.any(dim=1).all(), name


def test_pairs_of_a_sentence_golden() -> None:
    """The quick brown fox jumps over the lazy dog, window 2: 30 pairs; and CBOW's means divide by 2, 3 or 4 words."""
    words, positions = np.arange(9), np.arange(9)
    before, after = np.minimum(positions, 2), np.minimum(8 - positions, 2)
    pairs = pairs_of(words, before, after, Word2VecConfig(window=2))
    result = list(zip(pairs["inputs"][:, 0].tolist(), pairs["targets"].tolist(), strict=True))
    assert len(result) == 30
    assert result[:9] == [(0, 1), (0, 2), (1, 0), (1, 2), (1, 3), (2, 0), (2, 1), (2, 3), (2, 4)]
    cbow = pairs_of(words, before, after, Word2VecConfig(window=2, architecture="cbow"))
    assert cbow["mask"].sum(axis=1).tolist() == [2, 3, 4, 4, 4, 4, 4, 3, 2]
    network = Word2VecEquations(Word2VecConfig(dim=3, window=2, architecture="cbow"), 9)
    h = network.hidden(torch.from_numpy(cbow["inputs"]), torch.from_numpy(cbow["mask"]))
    torch.testing.assert_close(h[0], network.input.weight[[1, 2]].mean(dim=0))


def test_subsampling_and_windows_golden() -> None:
    """A word at distance d is a context with probability 1, .8, .6, .4, .2; a word stays with P = √(t/f)."""
    lines, length = 400, 500
    ids = np.tile(np.arange(length, dtype=np.int32), lines)
    ids.flags.writeable = False
    counts = np.full(length, lines)
    state, ends = np.array([5], dtype=np.uint64), np.arange(1, lines + 1) * length
    words, before, after, count = subsample(ids, ends, keep_probabilities(counts, 0), 5, True, state)
    assert count == len(ids) and words.tolist() == ids.tolist()
    inner = before[(words >= 5) & (words < length - 5)]
    reach = Counter(inner.tolist())
    shares = [sum(reach[r] for r in range(d, 6)) / len(inner) for d in range(1, 6)]
    assert shares == pytest.approx([1, 0.8, 0.6, 0.4, 0.2], abs=0.01)
    assert (before <= words).all() and (after <= length - 1 - words).all()  # no window leaves its line
    keep = 1 - np.array([0.683772, 0.9, 0.968377])  # the discards of f = 1e-4, 1e-3, 1e-2 at t = 1e-5
    keep = np.concatenate([keep, np.ones(length - 3)])
    words, _, _, count = subsample(ids, ends, keep, 5, True, state)
    stayed = np.bincount(words[:count], minlength=length)
    assert stayed[3:].tolist() == [lines] * (length - 3)
    assert stayed[:3] / lines == pytest.approx(keep[:3], abs=4 * 0.5 / lines**0.5)


@pytest.mark.parametrize("exponent", [0.0, 0.75, 1.0])
def test_noise_follows_its_distribution(exponent: float) -> None:
    expected = noise_distribution(np.array([100, 10, 1, 1, 50]), exponent)
    noise = np.zeros(100_000, dtype=np.int64)
    draw_noise(alias_table(expected), np.array([9], dtype=np.uint64), noise)
    assert np.bincount(noise, minlength=5) / len(noise) == pytest.approx(expected, abs=0.006)


def test_logistic_is_close() -> None:
    x = np.linspace(-20, 20, 808, dtype=np.float32)[None].copy()
    result = x.copy()
    logistic(result, 1, 808)
    np.testing.assert_allclose(result, 1 / (1 + np.exp(-x.astype(np.float64))), atol=5e-5)


def world(lines: int = 600) -> WordCorpus:
    """Places and foods in frames of their own."""
    rng = np.random.default_rng(0)
    frames = {"place": "they travel to {} by night", "food": "we eat fresh {} with salt"}
    texts = [
        frame.format(f"{kind}{rng.integers(6)}")
        for kind, frame in (list(frames.items())[choice] for choice in rng.integers(0, 2, lines))
    ]
    vocabulary = Vocabulary.build(texts)
    rows = [vocabulary.encode(text.split()) for text in texts]
    return WordCorpus(TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)])), vocabulary)


@pytest.mark.parametrize("kind", KINDS, ids="-".join)
def test_learns_kinds_with_same_bytes_for_same_seed(kind: tuple[str, str]) -> None:
    config = Word2VecConfig(
        architecture=kind[0],
        output=kind[1],
        dim=16,
        subsample=0.0,
        epochs=15,
        lr=0.1 if kind[0] == "cbow" else 0.05,  # type: ignore[arg-type]
    )
    lines: list[str] = []
    fitted = Word2Vec(config).make(world(), seed=1, progress=lines.append)
    vectors = fitted.vectors
    cities, foods = ([f"{kind}{number}" for number in range(6)] for kind in ("place", "food"))
    within = np.mean([vectors.similarity(a, b) for group in (cities, foods) for a in group for b in group if a != b])
    between = np.mean([vectors.similarity(a, b) for a in cities for b in foods])
    assert within > between + 0.3
    assert fitted.curve[-1]["train_loss"] < 0.9 * fitted.curve[0]["train_loss"]
    assert len(lines) == len(fitted.curve)
    again = Word2Vec(config).make(world(), seed=1, progress=lines.append)
    assert np.array_equal(vectors.matrix, again.vectors.matrix) and fitted.curve == again.curve
    other = Word2Vec(config).make(world(), seed=2, progress=lines.append)
    assert not np.array_equal(vectors.matrix, other.vectors.matrix)


def test_threads_learn_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "CHUNK", 500)
    # two dozen words are in updates of both threads: at a rate of 0.05 one run in five went astray, at 0.02 none of 592
    config = Word2VecConfig(dim=16, subsample=0.0, epochs=30, lr=0.02)
    alone = Word2Vec(config).make(world(), seed=1, progress=str)
    two = Word2Vec(config.model_copy(update={"threads": 2})).make(world(), seed=1, progress=str)
    # with two dozen words, updates collide far more often than on real text; how often depends on the machine
    assert two.curve[-1]["train_loss"] == pytest.approx(alone.curve[-1]["train_loss"], rel=0.25)
    untrained = 6 * math.log(2)  # one pair and five negatives, each at σ(0)
    assert two.curve[-1]["train_loss"] < 0.6 * untrained
    assert [row["lr"] for row in two.curve] == [row["lr"] for row in alone.curve]
    assert len(two.curve) <= method.POINTS


def test_chunks_end_with_lines_where_these_are_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method, "CHUNK", 10)
    assert chunk_bounds(np.array([0, 4, 12, 14, 23, 25])).tolist() == [0, 12, 23, 25]
    assert chunk_bounds(np.array([0, 35])).tolist() == [0, 10, 20, 30, 35]  # one line alone: cut
    assert chunk_bounds(np.array([0, 3])).tolist() == [0, 3]


def test_the_corpus_is_memory_mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks are views of the stream, and a softmax block takes no more than its share."""
    monkeypatch.setattr(method, "CHUNK", 100)
    monkeypatch.setattr(outputs, "SOFTMAX_BLOCK", 8)
    corpus = world(60)
    corpus.stream.ids.flags.writeable = False
    vectors = Word2Vec(Word2VecConfig(dim=8, epochs=1, output="softmax")).make(corpus, seed=1, progress=str).vectors
    assert vectors.matrix.shape == (len(corpus.vocabulary), 8)


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="vectors=sum, output=hierarchical"):
        Word2VecConfig(output="hierarchical", vectors="sum")
    with pytest.raises(ValueError, match=r"min_lr=0\.1 is above lr=0\.01"):
        Word2VecConfig(lr=0.01, min_lr=0.1)
    with pytest.raises(ValueError, match="block"):
        Word2VecConfig(block=12)
    with pytest.raises(InputError, match="diverged"):
        Word2Vec(Word2VecConfig(lr=1e30, dim=8)).make(world(60), seed=1, progress=str)
