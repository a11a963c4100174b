"""GPT fine-tuned on multiple choice (Radford et al. 2018, section 3.3): it selects the option that answers a question.

    row of option k    start context question delimiter option_k extract          (`gpt_classifier.choices`)
    z_k                = w · dropout(h_k), h_k the body's last state at extract
    L2                 = −log softmax(z_1 … z_K)_y          mean over the questions
    L3                 = L2 + λ L1                          L1, λ as in `gpt_classifier`

The option "" means that the question has no answer; its row has nothing between delimiter and extract. w has no bias,
because it would cancel. If the row of the longest option is too long, the end of the context is cut off; so is the end
of a question longer than half of the row.

Shape legend: B questions, K options, R rows, T positions, D width.
"""

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import nn
from torch.nn import functional as F

from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.models.classification.gpt_classifier import FineTunedGPT, choice_log_probs, choices
from langladder.models.encoders.encoder import padded
from langladder.models.fine_tuned import INITIAL_STD, FineTunedConfig
from langladder.models.language.gpt import GPTConfig
from langladder.models.reading.network_reader import NetworkReader
from langladder.models.reading.reader import Found
from langladder.models.trial import words
from langladder.text.labelled.questions import Question
from langladder.text.tokenize.specials import PAD, RESERVED
from langladder.text.tokenize.tokenizers import word_pieces


class GPTChoiceConfig(FineTunedConfig):
    """Settings of `GPTChoice`."""

    body: GPTConfig | None = None
    lm_weight: float = Field(default=0.5, ge=0, le=100)
    """λ; 0: the body has no output layer."""


class Choice(NamedTuple):
    """A question: a row of tokens for each of its K options, and the index of the right one, 0 if unknown."""

    rows: tuple[np.ndarray, ...]
    right: int = 0

    @property
    def length(self) -> int:
        """T of its longest row."""
        return max(map(len, self.rows))


class ChoiceBatch(NamedTuple):
    """Questions: tokens (R, T) int64, right-padded with PAD; the number of options of each; the right ones, (B,)
    int64."""

    tokens: torch.Tensor
    counts: list[int]
    right: torch.Tensor


class GPTChoice(FineTunedGPT, NetworkReader[Choice, ChoiceBatch]):
    """Body → one score per row → softmax over the rows of a question."""

    approach: ClassVar[str] = "Transformer"
    maker: ClassVar[str] = "langladder.tasks.answering.make"
    knows_none: ClassVar[bool] = True
    Config: ClassVar[type[schema.Config]] = GPTChoiceConfig
    config: GPTChoiceConfig

    def __init__(self, config: GPTChoiceConfig, vocab_size: int) -> None:
        super().__init__(config, vocab_size)
        self.head = nn.Linear(self.begin_body(vocab_size), 1, bias=False)
        nn.init.normal_(self.head.weight, std=INITIAL_STD)

    @property
    def chooses(self) -> bool:
        """See `Reader.chooses`."""
        return True

    def forward(self, batch: ChoiceBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """log P(option | context, question), (B, K), −∞ after a question's last option; and the body's states (R, T,
        D)."""
        hidden: torch.Tensor = self.gpt(batch.tokens)[0]  # (R, T, D)
        last = (batch.tokens != PAD).sum(dim=1) - 1  # (R,)
        h = hidden[torch.arange(len(hidden), device=hidden.device), last]  # (R, D)
        # z_k = w · h_k
        return choice_log_probs(self.head(self.dropout(h))[:, 0], batch.counts), hidden

    def losses(self, batch: ChoiceBatch) -> torch.Tensor:
        """L3 in nats, see `NetworkReader.losses`."""
        # L3 = L2 + λ L1
        loss, *language = self.means(batch)
        return loss + language[0] if language else loss

    def means(self, batch: ChoiceBatch) -> tuple[torch.Tensor, ...]:
        """See `NetworkReader.means`: L2, and λ L1 if λ is not 0."""
        log_probs, hidden = self(batch)
        # L2 = −log softmax(z)_y
        loss = F.nll_loss(log_probs, batch.right)
        if not self.config.lm_weight:
            return (loss,)
        # L1 = −log P(u_t | u_<t)
        predicted = batch.tokens[:, 1:] != PAD  # (R, T − 1)
        targets = batch.tokens[:, 1:][predicted]
        language = self.gpt.head.loss(hidden[:, :-1][predicted], targets) / len(targets)
        return loss, self.config.lm_weight * language

    def terms(self, batch: ChoiceBatch) -> tuple[int, ...]:
        """See `NetworkReader.terms`: questions, and predicted tokens."""
        predicted = int((batch.tokens[:, 1:] != PAD).sum())
        return (len(batch.right), predicted) if self.config.lm_weight else (len(batch.right),)

    def judge(self, batch: ChoiceBatch) -> tuple[float, int, int]:
        """See `NetworkReader.judge`; without L1."""
        log_probs, _ = self(batch)
        chosen = log_probs.gather(1, batch.right[:, None])  # (B, 1)
        right = int((log_probs.argmax(dim=1) == batch.right).sum())
        return -float(chosen.detach().sum(dtype=torch.float64)), right, len(chosen)

    def encode(self, question: Question) -> list[Choice]:
        """See `NetworkReader.encode`: all rows of a question together.

        Raises:
            InputError: the question has no options.
        """
        if not question.options:
            raise InputError(
                f"{question.question[:60]!r}: has no options to choose from; give options, or use a reader of spans"
            )
        context = self.tokenizer.encode(question.context)
        question_ids = word_pieces(self.tokenizer, [question.question])[0]
        options = [self.tokenizer.encode(option) for option in question.options]
        room = self.gpt.context - len(self.marks)
        options = [option[: room // 2] for option in options]
        longest = max(map(len, options))
        question_ids = question_ids[: min(room // 2, room - longest)]
        context = context[: room - longest - len(question_ids)]
        rows = choices(context.tolist(), question_ids.tolist(), [option.tolist() for option in options], self.marks)
        gold = question.gold()
        right = next((position for position, option in enumerate(question.options) if option in gold), 0)
        return [Choice(tuple(np.array(row, dtype=np.int32) for row in rows), right)]

    def collate(self, rows: Sequence[Choice]) -> ChoiceBatch:
        """See `NetworkReader.collate`."""
        tokens = padded([row for example in rows for row in example.rows])  # (R, T)
        return ChoiceBatch(tokens, [len(row.rows) for row in rows], torch.tensor([row.right for row in rows]))

    @torch.no_grad()
    def candidates(self, questions: Sequence[Question], count: int) -> list[list[Found]]:
        """See `Reader.candidates`: every option, including ""; the score is log P."""
        rows = [self.encode(question)[0] for question in questions]
        candidates: list[list[Found]] = [[] for _ in questions]
        for chosen, batch in self._batches(rows):
            log_probs = self(batch)[0].double().cpu().numpy()  # (B, K)
            for position, own in zip(chosen, log_probs, strict=True):
                options = questions[position].options
                ranked = np.argsort(-own[: len(options)], kind="stable")[:count]
                candidates[position] = [Found(options[k], -1, float(own[k]), float(np.exp(own[k]))) for k in ranked]
        return candidates

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; two options per question."""
        length = min(max(length, 5), self.gpt.context)
        tokens = words(2 * rows, length, self.vocab_size - len(RESERVED))
        tokens[:, 0], tokens[:, length // 2], tokens[:, -1] = self.marks
        return self.losses(ChoiceBatch(tokens, [2] * rows, torch.arange(rows) % 2))
