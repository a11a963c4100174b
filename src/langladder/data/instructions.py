"""Dialogues and rankings as batches: rows of the chat template of about the same length (`data.reading`).

A row has T + 1 tokens; the first T are inputs, and the targets are the tokens of the responses. Batches can also have
windows of plain text. A ranking has a row for each of its K responses, all in one batch, and its pairs refer to them.

Shape legend: B rows, T positions, W windows of L + 1 tokens, R rows of all responses, P pairs.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import torch

from langladder.data.batches import StepBatches
from langladder.data.language_modelling import LanguageBatch, pad_rows
from langladder.data.reading import ReadingBatches
from langladder.ground.errors import InputError
from langladder.ground.progress import say
from langladder.models.language.language_model import predicted
from langladder.text.labelled.instructions import ASSISTANT, Dialogue, Message, Ranking
from langladder.text.labelled.templates import ChatTemplate, DialogueIds
from langladder.text.tokenize.specials import PAD

TooLong = Literal["refuse", "leave_out"]


class DialogueBatch(NamedTuple):
    """tokens (B, T) int64, right-padded; targets (B, T), the token after each, PAD if it is not a target.

    text: (W, L + 1) tokens of plain text to train on as well; None: none.
    """

    tokens: torch.Tensor
    targets: torch.Tensor
    text: torch.Tensor | None = None


class RankedRows(NamedTuple):
    """A ranking for the model: a row for each response; (better, worse) of each pair, by rows."""

    rows: list[np.ndarray]
    pairs: list[tuple[int, int]]


class RankingBatch(NamedTuple):
    """Rankings of one step.

    Attributes:
        tokens: (R, T) int64, right-padded: prompts with a response each.
        better, worse: (P,) int64, which rows a pair compares.
        weights: (P,) weight of a pair: 1 / (pairs of its prompt × prompts), so that they sum to 1.
        prompts: number of prompts.
    """

    tokens: torch.Tensor
    better: torch.Tensor
    worse: torch.Tensor
    weights: torch.Tensor
    prompts: int


class DialogueBatches(ReadingBatches[DialogueBatch]):
    """Batches of dialogues, weighted by their target tokens. text: windows of plain text by step."""

    def __init__(
        self,
        train: Sequence[DialogueIds],
        validation: Sequence[DialogueIds],
        *,
        batch_size: int,
        seed: int,
        text: StepBatches[LanguageBatch] | None = None,
    ) -> None:
        self.text = text
        sides = [validation, train]
        lengths = [len(row.ids) for row in train], [len(row.ids) for row in validation]

        def batch(training: bool, rows: np.ndarray) -> DialogueBatch:
            return dialogue_batch([sides[training][row] for row in rows])

        super().__init__(lengths, batch, batch_size=batch_size, seed=seed)

    def train(self, step: int) -> DialogueBatch:
        """See `StepBatches.train`."""
        batch = super().train(step)
        return batch if self.text is None else batch._replace(text=self.text.train(step).tokens)

    def take(self, step: int, batch: DialogueBatch, rows: np.ndarray) -> DialogueBatch:
        """Some of the dialogues, and the windows with the same numbers, if any."""
        part = super().take(step, batch, rows)
        return part if batch.text is None else part._replace(text=batch.text[rows[rows < len(batch.text)]])

    def size(self, batch: DialogueBatch) -> int:
        """Target tokens of responses."""
        return int((batch.targets != PAD).sum())

    def terms(self, batch: DialogueBatch) -> tuple[int, ...]:
        """Tokens of responses, and of plain text if there is any."""
        learnt = (self.size(batch),)
        return learnt if batch.text is None else (*learnt, int(predicted(batch.text[:, 1:]).sum()))


class RankingBatches(ReadingBatches[RankingBatch]):
    """Batches of rankings, weighted by their prompts."""

    def __init__(
        self, train: Sequence[RankedRows], validation: Sequence[RankedRows], *, batch_size: int, seed: int
    ) -> None:
        sides = [validation, train]

        def batch(training: bool, rows: np.ndarray) -> RankingBatch:
            return ranking_batch([sides[training][row] for row in rows])

        # validation batches have a limit of cells, and a ranking has K rows
        lengths = (
            [max(map(len, example.rows)) for example in train],
            [sum(map(len, example.rows)) for example in validation],
        )
        super().__init__(lengths, batch, batch_size=batch_size, seed=seed)

    def size(self, batch: RankingBatch) -> int:
        """Prompts."""
        return batch.prompts


def dialogue_batch(rows: Sequence[DialogueIds]) -> DialogueBatch:
    """Rows as one batch: inputs and targets."""
    targets = [np.where(row.learnt, row.ids, PAD)[1:] for row in rows]
    return DialogueBatch(pad_rows([row.ids[:-1] for row in rows]), pad_rows(targets))


def ranking_batch(rankings: Sequence[RankedRows]) -> RankingBatch:
    """The rows of several rankings as one batch, and their pairs."""
    better, worse, weights, first = [], [], [], 0
    for ranking in rankings:
        better += [first + pair[0] for pair in ranking.pairs]
        worse += [first + pair[1] for pair in ranking.pairs]
        weights += [1 / (len(ranking.pairs) * len(rankings))] * len(ranking.pairs)
        first += len(ranking.rows)
    tokens = pad_rows([row for ranking in rankings for row in ranking.rows])  # (R, T)
    return RankingBatch(tokens, torch.tensor(better), torch.tensor(worse), torch.tensor(weights), len(rankings))


def repeated(dialogues: Sequence[Dialogue], most: int) -> list[Dialogue]:
    """Dialogues in order; dialogues of rare kinds are repeated, up to the number of the most frequent kind.

    T5 (Raffel et al. 2020, section 3.5.2) and FLAN (Wei et al. 2022, section 2.1) mix kinds in proportion to their
    size, with a limit. They limit the frequent kinds; here the repeats of rare kinds are limited.

    Args:
        most: maximum number of repeats.
    """
    counts = Counter(dialogue.kind for dialogue in dialogues)
    largest = max(counts.values(), default=0)
    return [
        dialogue for dialogue in dialogues for _ in range(max(1, min(most, round(largest / counts[dialogue.kind]))))
    ]


def dialogue_rows(
    template: ChatTemplate, dialogues: Sequence[Dialogue], context: int, *, too_long: TooLong, split: str
) -> list[DialogueIds]:
    """Training dialogues, as rows that fit into the context.

    Args:
        split: their name for messages.

    Raises:
        InputError: a dialogue without a response; one that is too long, unless they are left out.
    """
    for number, dialogue in enumerate(dialogues, start=1):
        if not any(message.role == ASSISTANT and message.text for message in dialogue.messages):
            raise InputError(
                f"{split}, dialogue {number} ({_short(dialogue.messages)}): no response to learn from; give it one, or "
                "take it out"
            )
    kept = []
    for number, (dialogue, row) in enumerate(
        zip(dialogues, template.rows([entry.messages for entry in dialogues]), strict=True), start=1
    ):
        if len(row.ids) - 1 <= context:  # the last token is a target, not an input
            kept.append(row)
        elif too_long == "refuse":
            raise InputError(_too_long(split, "dialogue", number, dialogue.messages, len(row.ids) - 1, context))
    _say_left_out(split, "dialogues", len(dialogues) - len(kept), len(dialogues), context)
    return kept


def ranking_rows(
    template: ChatTemplate, rankings: Sequence[Ranking], context: int, *, too_long: TooLong, split: str
) -> list[RankedRows]:
    """Rankings as rows that fit into the context; rankings with only equal ranks are left out.

    Raises:
        InputError: as `dialogue_rows`.
    """
    kept, left_out = [], 0
    for number, ranking in enumerate(rankings, start=1):
        messages = [(*ranking.prompt, Message(ASSISTANT, response)) for response in ranking.responses]
        rows = [row.ids for row in template.rows(messages)]
        longest = max(map(len, rows))
        if longest > context and too_long == "refuse":
            raise InputError(_too_long(split, "ranking", number, ranking.prompt, longest, context))
        left_out += longest > context
        if longest <= context and ranking.pairs():
            kept.append(RankedRows(rows, ranking.pairs()))
    _say_left_out(split, "rankings", left_out, len(rankings), context)
    return kept


def check_prompt(prompt: np.ndarray, context: int, where: str, messages: Sequence[Message]) -> None:
    """Raise InputError for a prompt (T,) that leaves no room for a response."""
    if len(prompt) >= context:
        raise InputError(
            f"{where} ({_short(messages)}): {len(prompt)} tokens leave no room for a response in the model's context "
            f"of {context}; shorten it, or take a model with a longer context"
        )


def _say_left_out(split: str, what: str, left_out: int, count: int, context: int) -> None:
    if left_out:
        say(
            f"{split}: {left_out:,} of {count:,} {what} are left out, because they exceed the model's context of "
            f"{context} tokens (training.too_long); a base with a longer context reads them"
        )


def _too_long(split: str, what: str, number: int, messages: Sequence[Message], length: int, context: int) -> str:
    return (
        f"{split}, {what} {number} ({_short(messages)}): {length} tokens exceed the model's context of {context}; set "
        "training.too_long to leave_out, shorten it, or choose a base with a longer context"
    )


def _short(messages: Sequence[Message]) -> str:
    return repr(messages[-1].text[:60]) if messages else "empty"
