"""BERT fine-tuned to find a span in a paragraph (Devlin et al. 2019, sections 4.2 and 4.3).

    row         <cls> question <sep> paragraph <sep>            segments 0 … 0 1 … 1
    T_i         of the body (`bert_features`), with dropout
    P_start(i)  = e^{S·T_i} / Σ_k e^{S·T_k}                      k: the tokens of the paragraph, and <cls>
    P_end(j)    = e^{E·T_j} / Σ_k e^{E·T_k}
    loss        −log P_start(i) − log P_end(j)                   if the row has no answer, i = j = <cls>
    s_ij        = S·T_i + E·T_j,  j ≥ i                          for the best span
    s_none      = S·C + E·C                                      C = T_<cls>; an answer is given where ŝ_ij > s_none + τ

A paragraph that is too long for a row is read in windows, `stride` tokens apart. The result is the best span of all
windows, with the smallest s_none, as in the authors' code. In training, an answer is the tokens that cover it, in every
window with all of them; the prediction is the corresponding characters of the paragraph. S and E have no bias, because
it would cancel. The end of a question longer than half of the context is cut off.

Shape legend: B rows, T positions, R width of T_i, N tokens of a paragraph, L longest span, W tokens of a window.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn import functional as F

from langladder.ground import schema
from langladder.models.encoders.bert_features import BERTFeatures, BERTFeaturesConfig, FineTunedBERT, framed
from langladder.models.encoders.encoder import padded
from langladder.models.fine_tuned import INITIAL_STD
from langladder.models.reading.network_reader import NetworkReader
from langladder.models.reading.reader import Found
from langladder.models.trial import words
from langladder.text.labelled.questions import Question
from langladder.text.tokenize.specials import RESERVED

BELOW = -np.inf


class Span(NamedTuple):
    """Tokens first … last of a paragraph, both inclusive, and their score."""

    first: int
    last: int
    score: float


def windows(length: int, room: int, stride: int) -> list[tuple[int, int]]:
    """(from, to) of the windows over a paragraph, at most `room` tokens each, `stride` apart (Devlin et al. 2019).

    >>> windows(10, 6, 3)
    [(0, 6), (3, 9), (6, 10)]
    """
    results, start = [], 0
    while start + room < length:
        results.append((start, start + room))
        start += min(stride, room)
    return [*results, (start, length)]


def covering(positions: np.ndarray, start: int, end: int) -> tuple[int, int] | None:
    """The first and the last token with characters in start … end − 1; None if no token has any.

    Args:
        positions: (N, 2) characters of each token, from and to.
    """
    (inside,) = np.nonzero((positions[:, 0] < end) & (positions[:, 1] > start) & (positions[:, 1] > positions[:, 0]))
    return (int(inside[0]), int(inside[-1])) if len(inside) else None


def span_table(length: int, longest: int) -> np.ndarray:
    """An empty table of span scores, (N, L), by first token and length − 1."""
    return np.full((length, max(1, min(longest, length))), BELOW)


def add_window(table: np.ndarray, first: int, starts: np.ndarray, ends: np.ndarray) -> None:
    """Insert the spans of a window into the table, in place. For a span in two windows, the better score is kept.

    Args:
        table: (N, L). first: the window's first token. starts, ends: (W,) S·T_i and E·T_j.
    """
    W = len(starts)
    for more in range(min(table.shape[1], W)):
        # s_ij = S·T_i + E·T_j,  j = i + more
        scores = starts[: W - more] + ends[more:]  # (W − more,)
        rows = table[first : first + W - more, more]
        np.maximum(rows, scores, out=rows)


def best_spans(table: np.ndarray, count: int) -> list[Span]:
    """The spans with the highest scores, best first; of equal scores, the span that begins first."""
    flat = table.ravel()
    count = min(count, int(np.isfinite(flat).sum()))
    if not count:
        return []
    best = np.argpartition(-flat, count - 1)[:count]
    best = best[np.lexsort((best, -flat[best]))]
    rows, more = np.divmod(best, table.shape[1])
    return [Span(int(i), int(i + m), float(flat[at])) for i, m, at in zip(rows, more, best, strict=True)]


def total(table: np.ndarray, none: float) -> float:
    """The log-sum-exp of the scores of all spans and of no answer."""
    values = np.append(table[np.isfinite(table)], none)
    top = float(values.max())
    return top + float(np.log(np.exp(values - top).sum()))


FRAME = 3  # <cls> and two <sep>


class BERTSpanConfig(BERTFeaturesConfig):
    """Settings of `BERTSpan`."""

    stride: int | None = Field(default=None, ge=1, le=65_536)
    """Tokens between the starts of consecutive windows over a long paragraph; null: a third of the context, like 128 of
    384."""
    longest: int = Field(default=30, ge=1, le=1000)
    """Maximum tokens of an answer."""


class Window(NamedTuple):
    """A row: its tokens (T,) int32; the position in it where the paragraph's part begins, and the index of that part's
    first token among the N; the positions of the answer's start and end in the row, 0 if it is not there."""

    ids: np.ndarray
    begins: int
    first: int
    start: int = 0
    end: int = 0

    @property
    def length(self) -> int:
        """T."""
        return len(self.ids)

    @property
    def tokens(self) -> int:
        """The number of the paragraph's tokens in the row."""
        return len(self.ids) - self.begins - 1


class WindowBatch(NamedTuple):
    """Rows: tokens (B, T) int64, right-padded with PAD; allowed (B, T) bool: the paragraph and <cls>; start and end
    positions of the answers, (B,) int64 each."""

    tokens: torch.Tensor
    allowed: torch.Tensor
    starts: torch.Tensor
    ends: torch.Tensor


class BERTSpan(FineTunedBERT, NetworkReader[Window, WindowBatch]):
    """Body → two scores per token: for the start and for the end of an answer."""

    approach: ClassVar[str] = "Transformer"
    maker: ClassVar[str] = "langladder.tasks.answering.make"
    Config: ClassVar[type[schema.Config]] = BERTSpanConfig
    config: BERTSpanConfig

    def __init__(self, config: BERTSpanConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.features = BERTFeatures(config, vocab_size, type(self))
        self.dropout = nn.Dropout(config.dropout)
        self.head = _start_and_end(self.features.width)  # S and E

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """S·T_i and E·T_i: (B, T) → (B, T, 2)."""
        scores: torch.Tensor = self.head(self.dropout(self.features(tokens)))
        return scores

    def losses(self, batch: WindowBatch) -> torch.Tensor:
        """See `NetworkReader.losses`."""
        return self._losses(batch).mean()

    def _losses(self, batch: WindowBatch) -> torch.Tensor:
        """(B,)."""
        scores = self(batch.tokens).float().masked_fill(~batch.allowed[:, :, None], -torch.inf)  # (B, T, 2)
        # −log P_start(i) − log P_end(j)
        start = F.cross_entropy(scores[:, :, 0], batch.starts, reduction="none")  # (B,)
        return start + F.cross_entropy(scores[:, :, 1], batch.ends, reduction="none")

    def judge(self, batch: WindowBatch) -> tuple[float, int, int]:
        """See `NetworkReader.judge`; a row is right if its start and end both have the highest score."""
        scores = self(batch.tokens).float().masked_fill(~batch.allowed[:, :, None], -torch.inf)  # (B, T, 2)
        wanted = torch.stack([batch.starts, batch.ends], dim=1)  # (B, 2)
        loss = -torch.log_softmax(scores, dim=1).gather(1, wanted[:, None])[:, 0]  # (B, 2)
        right = (scores.argmax(dim=1) == wanted).all(dim=1)  # (B,)
        return float(loss.detach().sum(dtype=torch.float64)), int(right.sum()), len(wanted)

    def encode(self, question: Question) -> list[Window]:
        """See `NetworkReader.encode`: one row per window; of several answers, the first one."""
        rows, positions = self._windows(question)
        if not question.answers:
            return rows
        text, start = question.answers[0]
        span = covering(positions, start, start + len(text))
        if span is None:  # no token has a character of the answer
            return rows
        return [_with_answer(row, *span) for row in rows]

    def collate(self, rows: Sequence[Window]) -> WindowBatch:
        """See `NetworkReader.collate`."""
        tokens = padded([row.ids for row in rows])  # (B, T)
        column = torch.arange(tokens.shape[1])
        begins, lengths = (torch.tensor([getattr(row, name) for row in rows]) for name in ("begins", "length"))
        inside = (column >= begins[:, None]) & (column < lengths[:, None] - 1)  # without the last <sep>
        starts, ends = (torch.tensor([getattr(row, name) for row in rows]) for name in ("start", "end"))
        return WindowBatch(tokens, inside | (column == 0), starts, ends)

    @torch.no_grad()
    def candidates(self, questions: Sequence[Question], count: int) -> list[list[Found]]:
        """See `Reader.candidates`."""
        read = [self._windows(question) for question in questions]
        tables = [span_table(len(positions), self.config.longest) for _, positions in read]
        none = np.full(len(read), np.inf)
        rows = [(number, row) for number, (own, _) in enumerate(read) for row in own]
        for chosen, batch in self._batches([row for _, row in rows]):
            scores = self(batch.tokens).double().cpu().numpy()  # (B, T, 2)
            for position, score in zip(chosen, scores, strict=True):
                number, row = rows[position]
                part = score[row.begins : row.begins + row.tokens]  # (W, 2)
                add_window(tables[number], row.first, part[:, 0], part[:, 1])
                # s_none = S·C + E·C, the smallest of all windows
                none[number] = min(none[number], float(score[0].sum()))
        return [
            _best_spans(question, positions, table, float(least), count)
            for question, (_, positions), table, least in zip(questions, read, tables, none, strict=True)
        ]

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; the question is a third of the row."""
        length = min(max(length, 6), self.features.encoder.context)
        tokens = words(rows, length, self.vocab_size - len(RESERVED))
        begins = max(3, length // 3)
        tokens[:, 0], tokens[:, begins - 1], tokens[:, -1] = (
            self.vocab_size - 2,
            self.vocab_size - 3,
            self.vocab_size - 3,
        )
        return self.losses(self.collate([Window(row, begins, 0, begins, length - 2) for row in tokens.numpy()]))

    def _windows(self, question: Question) -> tuple[list[Window], np.ndarray]:
        """The rows of a question, and the characters of the paragraph's tokens, (N, 2)."""
        context = self.features.encoder.context
        question_ids = self.tokens_of(question.question)[: (context - FRAME) // 2]
        ids, positions = self.tokenizer.encode_with_spans(question.context)
        separator, begins = [self.vocab_size - len(RESERVED)], len(question_ids) + 2
        stride = self.config.stride or max(1, context // 3)
        spans = windows(len(ids), context - FRAME - len(question_ids), stride)
        rows = [
            Window(_row(np.concatenate([question_ids, separator, ids[first:end]]), self.vocab_size), begins, first)
            for first, end in spans
        ]
        return rows, positions


def _start_and_end(width: int) -> nn.Linear:
    """Initial S and E, (2, R), like BERT's weights."""
    layer = nn.Linear(width, 2, bias=False)
    nn.init.normal_(layer.weight, std=INITIAL_STD)
    return layer


def _row(ids: np.ndarray, vocab_size: int) -> np.ndarray:
    return np.array(framed(ids, vocab_size), dtype=np.int32)


def _with_answer(row: Window, first: int, last: int) -> Window:
    """The row with the answer's positions, if it has all of its tokens."""
    start, end = first - row.first, last - row.first
    if start < 0 or end >= row.tokens:
        return row
    return row._replace(start=row.begins + start, end=row.begins + end)


def _best_spans(question: Question, positions: np.ndarray, table: np.ndarray, none: float, count: int) -> list[Found]:
    """The best spans as characters of the paragraph, without spans of only white space."""
    spans: list[Found] = []
    whole = total(table, none) if len(table) else 0.0
    for first, last, score in best_spans(table, count):
        start, end = int(positions[first, 0]), int(positions[last, 1])
        piece = question.context[start:end]  # its first or last token can be only white space
        if text := piece.strip():
            start += len(piece) - len(piece.lstrip())
            spans.append(Found(text, start, score - none, float(np.exp(score - whole))))
    return spans
