"""Windows, tokens that cover an answer, and the best span: by hand, and against every span scored one by one."""

import numpy as np
import pytest

from langladder.models.reading.bert_span import (
    Span,
    add_window,
    best_spans,
    covering,
    span_table,
    total,
    windows,
)


def test_golden_windows_of_bert_s_script() -> None:
    """Each begins `stride` after the last, until one reaches the end."""
    assert windows(8, 5, 2) == [(0, 5), (2, 7), (4, 8)]
    assert windows(5, 5, 2) == [(0, 5)] and windows(0, 5, 2) == [(0, 0)]
    assert windows(9, 3, 8) == [(0, 3), (3, 6), (6, 9)]  # no token is between two windows
    assert windows(500, 370, 128) == [(0, 370), (128, 498), (256, 500)]


@pytest.mark.parametrize("stride", [1, 2, 3, 7])
def test_every_token_is_in_a_window_and_no_window_is_too_long(stride: int) -> None:
    for length in range(1, 30):
        result = windows(length, 6, stride)
        assert {token for start, end in result for token in range(start, end)} == set(range(length))
        assert max(end - start for start, end in result) <= 6 and result[-1][1] == length


def test_golden_tokens_that_cover_an_answer() -> None:
    """'un|believ|able  dogs': a part of a word takes the whole token, white space no token."""
    spans = np.array([[0, 2], [2, 8], [8, 12], [13, 13], [14, 18]])
    assert covering(spans, 2, 12) == (1, 2) and covering(spans, 5, 9) == (1, 2)
    assert covering(spans, 12, 14) is None and covering(spans, 14, 15) == (4, 4)


def test_golden_best_span() -> None:
    """S·T = (1, 3, 0), E·T = (5, 0, 2): 3 + 5 ends before it starts; 1 + 5 on one token is best, then 3 + 2."""
    table = span_table(3, 3)
    add_window(table, 0, np.array([1.0, 3.0, 0.0]), np.array([5.0, 0.0, 2.0]))
    assert best_spans(table, 2) == [Span(0, 0, 6.0), Span(1, 2, 5.0)]
    assert best_spans(span_table(0, 3), 2) == [] and len(best_spans(table, 99)) == 6
    short = span_table(3, 1)
    add_window(short, 0, np.array([1.0, 3.0, 0.0]), np.array([5.0, 0.0, 2.0]))
    assert best_spans(short, 2)[1] == Span(1, 1, 3.0)


def test_parity_of_two_windows_with_every_span_scored() -> None:
    random = np.random.default_rng(3)
    N, longest, parts = 9, 4, [(0, 6), (3, 9)]
    scores = [random.normal(size=(2, end - start)) for start, end in parts]
    table, wanted = span_table(N, longest), {}
    for (start, end), (starts, ends) in zip(parts, scores, strict=True):
        add_window(table, start, starts, ends)
        for i in range(start, end):
            for j in range(i, min(i + longest, end)):
                score = starts[i - start] + ends[j - start]
                wanted[i, j] = max(wanted.get((i, j), -np.inf), score)
    result = best_spans(table, 100)
    assert {(item.first, item.last): item.score for item in result} == pytest.approx(wanted)
    assert [item.score for item in result] == sorted(wanted.values(), reverse=True)
    assert total(table, 0.5) == pytest.approx(np.log(np.exp([*wanted.values(), 0.5]).sum()))
