"""Supervised fine-tuning: a language model learns from demonstrations to answer (Ouyang et al. 2022, section 3.5).

    L = −(1/N) Σ_t log P(r_t | prompt, r_<t) − (γ/M) Σ_t log P(w_t | w_<t)

The first sum is over the N tokens of the responses, each response's EOS among them. The second is over the M tokens of
windows of plain text: without them (γ = 0) a small network forgets the content of the text, such as facts. The paper
mixes text only into PPO (PPO-ptx). The user's turns are inputs, not targets.

Rows are packed without padding and do not attend to each other (`GPT.packed`). Validation measures the loss and,
if there is a judge, the mean reward of greedy answers: the paper's models overfit by the loss after one epoch, but
labellers prefer later ones, so the reward selects the weights.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch

from langladder.data.instructions import DialogueBatch, DialogueBatches, dialogue_rows, repeated
from langladder.decoding.answers import answers
from langladder.decoding.judging import Judge
from langladder.decoding.sampling import SamplingConfig
from langladder.ground.errors import InputError
from langladder.models.language.instructed import InstructedGPT, begin
from langladder.models.language.neural import scoring
from langladder.models.making import Run, TrainingResult
from langladder.tasks.language_modelling import mixed_windows
from langladder.tasks.settings import InstructedSettings, InstructionTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.labelled.instructions import Dialogue
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizers import Tokenizer

REWARD = "validation_reward"


class InstructionTuning(Task):
    """Maximum likelihood of the responses. The best weights have the highest reward, or the lowest loss."""

    def __init__(self, model: InstructedGPT, config: InstructionTraining, sample: "JudgedSample | None" = None) -> None:
        super().__init__(config)
        self.model, self.smoothing, self.sample = model, config.label_smoothing, sample
        self.weight = config.pretraining.weight
        if config.early_stopping == "reward":
            self.monitor, self.mode = REWARD, "max"

    def loss(self, batch: DialogueBatch) -> torch.Tensor:
        """Mean cross-entropy of the target tokens, in nats, and γ times that of plain text."""
        return torch.stack(self.means(batch)).sum()

    def means(self, batch: DialogueBatch) -> tuple[torch.Tensor, ...]:
        """See `Task.means`: one for the responses, and one for plain text if there is any."""
        hidden, layout = self.model.packed(batch.tokens)  # (N, D)
        answered = self.model.loss(hidden, layout.pack(batch.targets), self.smoothing)
        if batch.text is None:
            return (answered,)
        if not len(batch.text):  # other processes have the windows of this step
            return answered, torch.zeros_like(answered)
        hidden, _ = self.model(batch.text[:, :-1])  # (W, L, D)
        return answered, self.weight * self.model.loss(hidden, batch.text[:, 1:])

    @torch.no_grad()
    def evaluate(self, batch: DialogueBatch) -> tuple[float, int]:
        """Summed negative log-likelihood of the target tokens, and their number."""
        with scoring(self.model, self.device.type):
            hidden, layout = self.model.packed(batch.tokens)
            targets = layout.pack(batch.targets)
            learnt = targets != PAD
            scores = self.model.head.target_log_probs(hidden[learnt], targets[learnt])
        return -float(scores.sum(dtype=torch.float64)), int(learnt.sum())

    def measures(self) -> dict[str, float]:
        """The mean reward of greedy answers, if there is a judge."""
        return {} if self.sample is None else {REWARD: self.sample.reward(self.model)}


@dataclass(frozen=True)
class JudgedSample:
    """Prompts to answer at each validation, and the judge of the answers."""

    prompts: list[Dialogue]
    judge: Judge
    template: ChatTemplate
    max_tokens: int

    @classmethod
    def of(cls, dialogues: Sequence[Dialogue], count: int, judge: Judge, template: ChatTemplate, most: int) -> Self:
        """`count` prompts, evenly spread over all (all, if there are fewer); at most `most` tokens per answer."""
        positions = np.linspace(0, len(dialogues) - 1, min(count, len(dialogues))).round().astype(np.int64)
        return cls([dialogues[position] for position in positions.tolist()], judge, template, most)

    def reward(self, model: InstructedGPT) -> float:
        """The mean reward of greedy answers."""
        config = SamplingConfig(strategy="greedy", max_tokens=self.max_tokens)
        texts = answers(model, self.template, [prompt.prompt for prompt in self.prompts], config)
        return float(np.mean(self.judge(self.prompts, texts)))


def train_instructed(
    model: InstructedGPT,
    tokenizer: Tokenizer,
    train: Sequence[Dialogue],
    validation: Sequence[Dialogue],
    config: InstructionTraining,
    run: Run,
    *,
    judge: Judge | None = None,
    text: TokenStream | None = None,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights, on the CPU, in evaluation mode.

    Args:
        text: plain text; training includes windows of it if `pretraining` gives them a weight.

    Raises:
        InputError: there is no training dialogue, a dialogue is too long, or early stopping by reward has no judge or
            no prompts; see also `mixed_windows` and `train_task`.
    """
    if config.early_stopping == "reward" and (judge is None or not validation):
        raise InputError(
            "training.early_stopping=reward: there is no judge, or no validation data, for these dialogues; set it "
            "to validation_loss"
        )
    template = ChatTemplate(tokenizer)
    rows, held_out = (
        dialogue_rows(template, side, model.context, too_long=config.too_long, split=name)
        for side, name in ((repeated(train, config.repeats), "train"), (validation, "validation"))
    )
    if not rows:
        raise InputError("instructions: no training dialogue fits into the context; see training.too_long")
    sample = None
    if judge is not None and validation:
        sample = JudgedSample.of(validation, config.judged, judge, template, config.max_tokens)
    config = config.of(len(rows))
    mixed = mixed_windows(config.pretraining, model, text, run.seed)
    batches = DialogueBatches(rows, held_out, batch_size=config.batch_size, seed=run.seed, text=mixed)
    task = InstructionTuning(model, config, sample)
    result = train_task(task, batches, config, run)
    model.cpu().eval()
    return result


def make(
    base: Path,
    train: Sequence[Dialogue],
    validation: Sequence[Dialogue],
    *,
    settings: InstructedSettings,
    run: Run,
    judge: Judge | None = None,
    text: TokenStream | None = None,
) -> tuple[InstructedGPT, TrainingResult]:
    """Start with the network in `base`, which also holds its tokenizer, and learn from dialogues.

    Args:
        settings: those of the rung's file: `dropout` (null: that of its base) and `training`.
        judge: see `Judge`; None: only the loss is measured.
        text: see `train_instructed`.

    Raises:
        InputError: see `begin` and `train_instructed`.
    """
    model, tokenizer = begin(base, seed=run.seed, dropout=settings.dropout)
    return model, train_instructed(
        model,
        tokenizer,
        train,
        validation,
        settings.training,
        run,
        judge=judge,
        text=text,
    )
