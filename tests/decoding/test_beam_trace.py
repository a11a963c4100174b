"""The watched search finds what the search finds, and its tree adds up."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_beam_search import Table, log_prob, sources

from langladder.decoding.beam_search import BeamConfig, beam_search
from langladder.decoding.beam_trace import Node, Trace, trace
from langladder.text.tokenize.specials import EOS


def tokens_of(result: Trace, node_id: int | None) -> list[int]:
    tokens = []
    while node_id is not None:
        node = result.nodes[node_id]
        tokens.append(node.token)
        node_id = node.parent
    return tokens[::-1]


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from([(1, 1), (2, 1), (3, 1), (5, 1), (4, 2), (6, 3)]),
    alpha=st.sampled_from([0.0, 0.7, 1.0]),
    maximum=st.integers(1, 8),
    early=st.booleans(),
    coverage=st.sampled_from([0.0, 0.3]),
)
def test_the_tree_ends_in_what_the_search_returns(seed, shape, alpha, maximum, early, coverage) -> None:
    width, groups = shape
    config = BeamConfig(
        width=width,
        groups=groups,
        alpha=alpha,
        max_length=maximum,
        n_best=width,
        early_stop=early,
        coverage=coverage,
        min_length=0,
    )
    model, source = Table(seed, sharpness=1.0), sources(5)
    (wanted,) = beam_search(model, source, config)
    result = trace(model, source, config)
    for item, other, end in zip(result.best, wanted, result.ends, strict=True):
        assert (item.tokens, item.log_prob, item.score) == (other.tokens, other.log_prob, other.score)
        node = result.nodes[end]
        assert (node.fate, node.token, node.total, node.score) == ("finished", EOS, item.log_prob, item.score)
        assert tokens_of(result, end) == [*item.tokens, EOS]
    check_sums(model, source, result.nodes)
    for step in range(1, max(node.step for node in result.nodes) + 1):
        here = [node for node in result.nodes if node.step == step]
        assert sum(node.fate in ("kept", "left") for node in here) <= width
        assert all(node.parent is None or result.nodes[node.parent].step == step - 1 for node in here)
        assert len({(node.parent, node.token) for node in here}) == len(here) or groups > 1


def check_sums(model: Table, source: torch.Tensor, nodes: list[Node]) -> None:
    for node in nodes:
        before = 0.0 if node.parent is None else nodes[node.parent].total
        assert node.total == pytest.approx(before + node.log_prob, abs=1e-5)
        assert node.parent is None or nodes[node.parent].fate in ("kept", "left")
        if node.fate == "finished":
            tokens: list[int] = []
            node_id = node.parent
            while node_id is not None:
                tokens.append(nodes[node_id].token)
                node_id = nodes[node_id].parent
            assert node.total == pytest.approx(log_prob(model, source, tuple(tokens[::-1])), abs=1e-5)


def test_kept_hypotheses_score_higher_than_pruned_ones() -> None:
    result = trace(Table(3, sharpness=1.0), sources(4), BeamConfig(width=3, max_length=5))
    fates = {node.fate for node in result.nodes}
    assert {"kept", "dropped", "finished"} <= fates
    for step in {node.step for node in result.nodes}:
        kept = [node.total for node in result.nodes if node.step == step and node.fate in ("kept", "left")]
        lost = [n.total for n in result.nodes if n.step == step and n.fate == "dropped" and n.token != EOS]
        assert min(kept, default=math.inf) >= max(lost, default=-math.inf)
