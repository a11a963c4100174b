"""Requests that wait for the same model at the same time are answered in one batch.

Whoever comes while a batch is computed waits for the next one, which one of those who wait computes for all. Alone, a
request is answered at once; nobody waits for a batch to fill.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """Answers questions of several threads.

    Args:
        answer: questions → their answers, in their order. If it raises, all of that batch hear it, each for itself:
            they are asked once more one by one.
        size: how large a question is. most: what a batch may hold, its largest question times their number.
    """

    def __init__(
        self, answer: Callable[[Sequence[Q]], Sequence[A]], size: Callable[[Q], int] = lambda _: 1, most: int = 64
    ) -> None:
        self._answer, self._size, self._most = answer, size, most
        self._waiting: list[tuple[Q, Future[A]]] = []
        self._queue, self._turn = threading.Lock(), threading.Lock()

    def ask(self, question: Q) -> A:
        """The answer, from a batch with what others ask now. Raises what `answer` raises."""
        mine: Future[A] = Future()
        with self._queue:
            self._waiting.append((question, mine))
        while not mine.done():
            with self._turn:
                if not mine.done():
                    self._compute(self._taken())
        return mine.result()

    def _taken(self) -> list[tuple[Q, Future[A]]]:
        """The first of those who wait, as many as fit together."""
        with self._queue:
            longest = 0
            for number, (question, _) in enumerate(self._waiting):
                longest = max(longest, self._size(question))
                if number and longest * (number + 1) > self._most:
                    break
            else:
                number = len(self._waiting)
            taken, self._waiting = self._waiting[:number], self._waiting[number:]
        return taken

    def _compute(self, batch: list[tuple[Q, "Future[A]"]]) -> None:
        try:
            answers = self._answer([question for question, _ in batch])
        except Exception as error:
            if len(batch) == 1:
                batch[0][1].set_exception(error)
                return
            for one in batch:
                self._compute([one])
            return
        for (_, waiting), answer in zip(batch, answers, strict=True):
            waiting.set_result(answer)
