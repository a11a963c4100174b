"""CTC decoding against brute force over all alignments, torch's loss, and numbers worked out by hand."""

import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from langladder.decoding.ctc import BLANK, collapse, greedy, labelling_log_prob, log_add, prefix_beam_search

TABLES = st.tuples(st.integers(1, 5), st.integers(2, 4), st.integers(0, 10_000))  # T, A + 1, seed


def table(T: int, labels: int, seed: int, sharpness: float = 1.5) -> np.ndarray:
    """(T, labels) log-probabilities."""
    logits = sharpness * np.random.default_rng(seed).normal(size=(T, labels))
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


def brute_force(log_probs: np.ndarray) -> dict[tuple[int, ...], float]:
    """log P(l | x) of every labelling: the sum over all (A + 1)^T paths."""
    result: dict[tuple[int, ...], float] = {}
    for path in itertools.product(range(log_probs.shape[1]), repeat=len(log_probs)):
        path_log_prob = sum(log_probs[t, label] for t, label in enumerate(path))
        result[collapse(path)] = log_add(result.get(collapse(path), -math.inf), path_log_prob)
    return result


@pytest.mark.parametrize(
    ("path", "read"),
    [
        ("t_h_e_ _q", "the q"),
        ("t_h_e_ _q_u_i_c_k_", "the quick"),
        ("hhe_ll_lo", "hello"),
        ("hheelllo", "helo"),
        ("ttt_h_eee___ ___qqq__", "the q"),
        ("____", ""),
        ("", ""),
        ("aa", "a"),
        ("a_a", "aa"),
        ("_a_", "a"),
    ],
)
def test_golden_collapse(path: str, read: str) -> None:
    labels = [BLANK if char == "_" else ord(char) for char in path]
    assert "".join(map(chr, collapse(labels))) == read


def test_golden_two_frames() -> None:
    """P(a) = 0.6 and 0.3: all but blank-blank read a, 1 − 0.4 · 0.7; the best path is a-blank."""
    log_probs = np.log([[0.4, 0.6], [0.7, 0.3]])
    assert math.isclose(math.exp(labelling_log_prob(log_probs, [1])), 0.72)
    assert math.isclose(math.exp(labelling_log_prob(log_probs, [])), 0.28)
    assert labelling_log_prob(log_probs, [1, 1]) == -math.inf  # needs a blank between, three frames
    assert greedy(log_probs).labels == (1,)
    assert math.isclose(math.exp(greedy(log_probs).log_prob), 0.42)
    first, second = prefix_beam_search(log_probs, 4)
    assert (first.labels, second.labels) == ((1,), ())
    assert math.isclose(math.exp(first.log_prob), 0.72) and math.isclose(math.exp(second.log_prob), 0.28)


def test_golden_the_best_path_is_not_the_best_labelling() -> None:
    """Blank is best at both frames (0.36), but a has three paths: 0.6·0.4 + 0.4·0.6 + 0.4·0.4 = 0.64."""
    log_probs = np.log([[0.6, 0.4], [0.6, 0.4]])
    assert greedy(log_probs).labels == ()
    best = prefix_beam_search(log_probs, 2)[0]
    assert best.labels == (1,) and math.isclose(math.exp(best.log_prob), 0.64)


@settings(max_examples=60, deadline=None)
@given(TABLES)
def test_wide_beam_parity_with_all_alignments(shape: tuple[int, int, int]) -> None:
    log_probs = table(*shape)
    expected = brute_force(log_probs)
    result = {labelling.labels: labelling.log_prob for labelling in prefix_beam_search(log_probs, 10_000)}
    assert result.keys() == expected.keys()
    for labels, log_prob in result.items():
        assert math.isclose(log_prob, expected[labels], abs_tol=1e-9)
    assert math.isclose(sum(map(math.exp, expected.values())), 1.0)


@settings(max_examples=60, deadline=None)
@given(TABLES)
def test_forward_parity_with_all_alignments(shape: tuple[int, int, int]) -> None:
    log_probs = table(*shape)
    for labels, log_prob in brute_force(log_probs).items():
        assert math.isclose(labelling_log_prob(log_probs, labels), log_prob, abs_tol=1e-9)


@settings(max_examples=60, deadline=None)
@given(TABLES, st.integers(1, 6))
def test_greedy_is_never_above_a_wide_beam(shape: tuple[int, int, int], width: int) -> None:
    log_probs = table(*shape)
    result = prefix_beam_search(log_probs, 10_000)
    assert [item.log_prob for item in result] == sorted((item.log_prob for item in result), reverse=True)
    path = greedy(log_probs)
    assert path.log_prob <= labelling_log_prob(log_probs, path.labels) + 1e-9 <= result[0].log_prob + 2e-9
    narrow = prefix_beam_search(log_probs, width)
    assert len(narrow) <= width
    for item in narrow:  # a narrow beam leaves paths out, and never counts one twice
        assert item.log_prob <= labelling_log_prob(log_probs, item.labels) + 1e-9


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(0, 6), st.integers(0, 10_000))
def test_forward_parity_with_torch(T: int, U: int, seed: int) -> None:
    log_probs = table(T, 5, seed)
    labels = np.random.default_rng(seed).integers(1, 5, U)
    loss = torch.nn.functional.ctc_loss(
        torch.from_numpy(log_probs)[:, None], torch.from_numpy(labels)[None], torch.tensor([T]), torch.tensor([U]),
        reduction="sum",
    )  # fmt: skip
    assert math.isclose(-labelling_log_prob(log_probs, labels.tolist()), float(loss), rel_tol=1e-9, abs_tol=1e-9)


def test_long_inputs_do_not_underflow() -> None:
    log_probs = table(1600, 5, 1)
    best = prefix_beam_search(log_probs, 4)[0]
    assert math.isfinite(best.log_prob) and best.log_prob < -746  # e^-746 is 0
    assert best.log_prob <= labelling_log_prob(log_probs, best.labels)


def test_cutoff_leaves_out_the_improbable_only() -> None:
    log_probs = np.log([[0.5, 0.4, 0.1], [0.5, 0.4, 0.1]])
    assert {item.labels for item in prefix_beam_search(log_probs, 100, cutoff=0.2)} == {(), (1,)}
    exact = prefix_beam_search(log_probs, 100)
    assert prefix_beam_search(log_probs, 100, cutoff=0.05) == exact
