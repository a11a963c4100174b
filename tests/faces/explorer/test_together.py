"""Requests that wait are answered in one batch, each with its own answer."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from langladder.faces.explorer.together import Together


def test_who_waits_is_answered_in_one_batch() -> None:
    batches, begun, go = [], threading.Event(), threading.Event()

    def answer(questions):
        batches.append(list(questions))
        begun.set()
        go.wait(10)
        return [question**2 for question in questions]

    together = Together(answer)
    with ThreadPoolExecutor(20) as pool:
        first = pool.submit(together.ask, 0)
        assert begun.wait(10)
        others = [pool.submit(together.ask, number) for number in range(1, 20)]
        while len(together._waiting) < 19:
            pass
        go.set()
        assert [one.result(10) for one in (first, *others)] == [number**2 for number in range(20)]
    assert [len(batch) for batch in batches] == [1, 19]


def test_a_batch_holds_so_much_and_a_large_question_stands_alone() -> None:
    together = Together(lambda questions: questions, size=int, most=10)
    for sizes, taken in (((2, 2, 2, 2, 2, 2), 5), ((3, 4, 4), 2), ((50, 1), 1)):
        together._waiting = [(size, None) for size in sizes]
        assert len(together._taken()) == taken
        assert len(together._waiting) == len(sizes) - taken


def test_one_bad_question_spoils_no_other() -> None:
    def answer(questions):
        if 0 in questions:
            raise ValueError("zero")
        return [1 / question for question in questions]

    together = Together(answer)
    with ThreadPoolExecutor(8) as pool:
        found = [pool.submit(together.ask, number) for number in (0, 1, 2, 4) * 4]
        for number, one in zip((0, 1, 2, 4) * 4, found, strict=True):
            if number:
                assert one.result(10) == 1 / number
            else:
                with pytest.raises(ValueError, match="zero"):
                    one.result(10)
