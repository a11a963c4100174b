"""Beam search against exhaustive search, greedy search and hand-made numbers, on models that are tables."""

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from langladder.decoding.beam_search import BeamConfig, Hypothesis, beam_search
from langladder.decoding.scores import normalised
from langladder.decoding.translate import translate
from langladder.ground.errors import InputError
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.translator import State, Translator
from langladder.text.tokenize.specials import BOS, EOS, PAD

WORDS = 3  # ids 4, 5, 6
V = 4 + WORDS


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Tables this small lose time to a second thread, most of all on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


class Table(Translator):
    """P(next | last two tokens, number of tokens so far, first source token), drawn once: no two prefixes tie."""

    def __init__(self, seed: int, sharpness: float = 2.0, steps: int = 12) -> None:
        super().__init__(AttentionSeq2Seq.Config(), 10, V)
        random = torch.Generator().manual_seed(seed)
        logits = sharpness * torch.randn(10, steps, V, V, V, generator=random)
        logits[..., [PAD, BOS, 1]] = -math.inf
        self.table = logits.log_softmax(-1)
        self.anchor = torch.nn.Parameter(torch.zeros(1))

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        return State({"first": source[:, 0], "mask": mask}, {})

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor]:
        t = min(prefix.shape[1] - 1, self.table.shape[1] - 1)
        before = prefix[:, -2] if prefix.shape[1] > 1 else torch.zeros_like(prefix[:, -1])
        weights = state.source["mask"].float() / state.source["mask"].sum(1, keepdim=True)
        return self.table[state.source["first"], t, before, prefix[:, -1]], state, weights

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


def sources(*firsts: int) -> torch.Tensor:
    return torch.tensor([[first, EOS] for first in firsts])


def log_prob(model: Table, source: torch.Tensor, tokens: tuple[int, ...]) -> float:
    """Exact log-probability of tokens … EOS, one step after the other."""
    state, total, prefix = model.encode(source, source != PAD), 0.0, [BOS]
    for token in (*tokens, EOS):
        total += float(model.step(torch.tensor([prefix]), state)[0][0, token])
        prefix.append(token)
    return total


def exhaustive(model: Table, source: torch.Tensor, config: BeamConfig) -> list[Hypothesis]:
    result = []
    for length in range(config.min_length, config.max_length + 1):
        for tokens in itertools.product(range(4, V), repeat=length):
            total = log_prob(model, source, tokens)
            result.append(Hypothesis(list(tokens), total, normalised(total, length + 1, config.alpha)))
    return sorted(result, key=lambda hypothesis: -hypothesis.score)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    length=st.integers(1, 3),
    alpha=st.sampled_from([0.0, 0.7, 1.0]),
    minimum=st.integers(0, 1),
)
def test_golden_wide_beam_equals_exhaustive_search(seed: int, length: int, alpha: float, minimum: int) -> None:
    width = V**length
    config = BeamConfig(width=width, n_best=4, alpha=alpha, min_length=minimum, max_length=length)
    model = Table(seed)
    (result,) = beam_search(model, sources(4), config)
    expected = exhaustive(model, sources(4), config)[:4]
    assert [h.tokens for h in result] == [h.tokens for h in expected]
    np.testing.assert_allclose([h.log_prob for h in result], [h.log_prob for h in expected], atol=1e-5)
    np.testing.assert_allclose([h.score for h in result], [h.score for h in expected], atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), alpha=st.sampled_from([0.0, 0.7, 1.0]), maximum=st.integers(1, 8))
def test_parity_width_one_is_greedy(seed: int, alpha: float, maximum: int) -> None:
    model, source = Table(seed), sources(5)
    state, tokens = model.encode(source, source != PAD), []
    while len(tokens) < maximum:
        best = int(model.step(torch.tensor([[BOS, *tokens]]), state)[0][0].argmax())
        if best == EOS:
            break
        tokens.append(best)
    config = BeamConfig(width=1, alpha=alpha, min_length=0, max_length=maximum)
    assert beam_search(model, source, config)[0][0].tokens == tokens


@settings(max_examples=50, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.integers(1, 6),
    alpha=st.sampled_from([0.0, 0.4, 0.7, 1.0]),
    maximum=st.integers(1, 10),
    data=st.data(),
)
def test_early_stop_is_safe_and_results_are_sound(
    seed: int, width: int, alpha: float, maximum: int, data: st.DataObject
) -> None:
    best = data.draw(st.integers(1, width))
    model, batch = Table(seed, sharpness=1.0), sources(4, 5, 6, 7)
    results = [
        beam_search(
            model,
            batch,
            BeamConfig(width=width, alpha=alpha, max_length=maximum, n_best=best, early_stop=stop),
        )
        for stop in (True, False)
    ]
    for row, (early, full) in enumerate(zip(*results, strict=True)):
        assert [h.tokens for h in early] == [h.tokens for h in full]
        assert len({tuple(h.tokens) for h in early}) == len(early) > 0  # no duplicates
        assert [h.score for h in early] == sorted((h.score for h in early), reverse=True)
        for h in early:
            assert 1 <= len(h.tokens) <= maximum
            assert not {PAD, BOS, EOS} & set(h.tokens)
            assert h.log_prob == pytest.approx(log_prob(model, batch[row : row + 1], tuple(h.tokens)), abs=1e-4)
            assert h.attention is not None
            assert h.attention.shape == (len(h.tokens) + 1, 2)


def test_parity_of_batched_and_single_search() -> None:
    model, config = Table(11, sharpness=1.0), BeamConfig(width=3, n_best=3, max_length=9)
    batched = beam_search(model, sources(4, 5, 6, 7, 8), config)
    for first, result in zip(range(4, 9), batched, strict=True):
        (alone,) = beam_search(model, sources(first), config)
        assert [h.tokens for h in alone] == [h.tokens for h in result]


class Branches(Table):
    """P(a) = .5, P(b) = .4, P(EOS) = .1; then P(EOS | a) = .4, P(EOS | b) = .9: the best first word misleads."""

    def __init__(self) -> None:
        super().__init__(0)
        table = torch.zeros(V, V)
        table[BOS, [4, 5, EOS]] = torch.tensor([0.5, 0.4, 0.1])
        table[4, [EOS, 4]] = torch.tensor([0.4, 0.6])
        table[5, [EOS, 5]] = torch.tensor([0.9, 0.1])
        self.table = table.log().expand(10, 12, V, V, V)


def test_golden_beam_finds_what_greedy_misses() -> None:
    settings = {"max_length": 1, "alpha": 0.0, "min_length": 0}
    greedy = beam_search(Branches(), sources(4), BeamConfig(width=1, **settings))[0][0]
    beam = beam_search(Branches(), sources(4), BeamConfig(width=2, **settings))[0][0]
    assert (greedy.tokens, beam.tokens) == ([4], [5])
    assert greedy.log_prob == pytest.approx(-1.609438, abs=1e-6)
    assert beam.log_prob == pytest.approx(-1.021651, abs=1e-6)


def test_golden_length_normalisation() -> None:
    short, long = (-2.0, 2), (-3.2, 4)
    for alpha, expected in ((0.0, (-2.0, -3.2)), (0.7, (-1.231144, -1.212573)), (1.0, (-1.0, -0.8))):
        scores = normalised(*short, alpha), normalised(*long, alpha)
        assert scores == pytest.approx(expected, abs=1e-6)


class Dull(Table):
    """Every token has probability 0.1 at every step, EOS too."""

    def __init__(self) -> None:
        super().__init__(0)
        self.table = torch.full((V,), 0.1).log().expand(10, 12, V, V, V)


def test_golden_sums_do_not_underflow() -> None:
    assert 0.1**400 == 0.0
    config = BeamConfig(width=1, min_length=399, max_length=399, max_ratio=1000)
    result = beam_search(Dull(), sources(4), config)[0][0]
    assert len(result.tokens) == 399
    assert result.log_prob == pytest.approx(-921.0340372, abs=1e-4)


def test_limits_follow_the_source_length() -> None:
    result = beam_search(Dull(), sources(4), BeamConfig(width=1, min_length=30, max_length=50, max_ratio=1.0))
    assert len(result[0][0].tokens) == 30
    result = beam_search(Dull(), sources(4), BeamConfig(width=2, alpha=1.0, max_ratio=1.0, min_length=2))
    assert all(2 <= len(h.tokens) <= 12 for h in result[0])


def test_config_refuses_the_impossible() -> None:
    with pytest.raises(ValidationError, match="n_best=3 exceeds width=2"):
        BeamConfig(width=2, n_best=3)
    with pytest.raises(ValidationError, match="min_length=9 exceeds max_length=8"):
        BeamConfig(min_length=9, max_length=8)


def test_translate_keeps_the_order_and_the_network_agrees() -> None:
    torch.manual_seed(0)
    settings = {"width": 8, "embedding_dim": 6, "attention_width": 7}
    model = AttentionSeq2Seq(AttentionSeq2Seq.Config(**settings), 10, V).train()
    random = np.random.default_rng(0)
    sentences = [np.append(random.integers(4, 10, length), EOS) for length in (5, 1, 9, 3, 5, 0)]
    config = BeamConfig(width=3, n_best=2, max_length=12)
    batched = translate(model, sentences, config, batch_tokens=24)
    assert model.training
    for sentence, result in zip(sentences, batched, strict=True):
        (alone,) = translate(model, [sentence], config)
        assert [h.tokens for h in alone] == [h.tokens for h in result]
        for h in result:
            source, target = torch.from_numpy(sentence[None]), torch.tensor([[BOS, *h.tokens, EOS]])
            assert h.log_prob == pytest.approx(float(model.eval().log_probs(source, target).sum()), abs=1e-4)
            assert h.attention is not None
            np.testing.assert_allclose(h.attention.sum(1), 1, atol=1e-5)
            assert h.attention.shape == (len(h.tokens) + 1, len(sentence))
        model.train()
    with pytest.raises(InputError, match="sentence 0: a source ends with EOS"):
        translate(model, [np.array([5, 6])], config)
    with pytest.raises(InputError, match=r"sentence 0: ids must be in 0\.\.9"):
        translate(model, [np.array([55, EOS])], config)
