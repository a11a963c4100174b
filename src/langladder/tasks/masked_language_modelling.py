"""Pre-training of an encoder: it predicts masked tokens, and whether a second text follows the first.

L = L_MLM + L_NSP, each a mean, over masked tokens and over rows (Devlin et al. 2019, appendix A.2)
"""

from collections.abc import Callable

import torch

from langladder.data.masked_language_modelling import MaskedBatches
from langladder.data.sentence_pairs import Pairs
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Masked
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.tasks.settings import MaskedTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer, word_starts


class MaskedLanguageModelling(Task):
    """Masked words, and next sentences if rows are pairs. The best weights predict masked words best."""

    def __init__(self, model: BERT, config: MaskedTraining) -> None:
        super().__init__(config)
        self.model = model

    def loss(self, batch: Masked) -> torch.Tensor:
        """L_MLM + L_NSP in nats."""
        words, pairs = self.model.losses(batch)
        return words if pairs is None else words + pairs

    def means(self, batch: Masked) -> tuple[torch.Tensor, ...]:
        """See `Task.means`."""
        words, pairs = self.model.losses(batch)
        return (words,) if pairs is None else (words, pairs)

    @property
    def one_graph(self) -> bool:
        """See `Task.one_graph`."""
        return self.model.one_graph

    def evaluate(self, batch: Masked) -> tuple[float, int]:
        """Summed −log P of the masked tokens, and their number."""
        scores = self.model.target_log_probs(batch)
        if len(batch.strange):
            self.tally["right"] += int((self.model.follow_log_probs(batch).argmax(dim=1) == batch.strange).sum())
            self.tally["total"] += len(batch.strange)
        return -float(scores.sum(dtype=torch.float64)), len(scores)

    def measures(self) -> dict[str, float]:
        """Share of the validation pairs that are classified correctly, if rows are pairs."""
        right, total = self.tally["right"], self.tally["total"]
        return {"validation_next_sentence": right / total} if total else {}


def train_encoder(
    model: BERT,
    tokenizer: Tokenizer,
    train: TokenStream,
    validation: TokenStream,
    config: MaskedTraining,
    run: Run,
    task: Callable[[BERT, MaskedTraining], MaskedLanguageModelling] = MaskedLanguageModelling,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights, on the CPU, in evaluation mode.

    Raises:
        InputError: the rows exceed the model's context, or the text is too short for a row; see also `train_task`.
    """
    if config.sequence_length > model.context:
        raise InputError(
            f"training.sequence_length={config.sequence_length} exceeds the model's context of {model.context} tokens: "
            f"choose 8 to {model.context}, or raise model.context"
        )
    length, pairs = config.sequence_length, model.config.next_sentence
    batches = MaskedBatches(
        Pairs(train, length=length, pairs=pairs, short=config.short, most=config.most_lines),
        Pairs(validation, length=length, pairs=pairs, short=0.0, most=config.most_lines),
        model,
        word_starts(tokenizer),
        config.masking,
        batch_size=config.batch_size,
        seed=run.seed,
        validation_tokens=config.validation_tokens,
        steps=config.max_steps,
    )
    result = train_task(task(model, config), batches, config, run)
    model.cpu().eval()
    return result


def make(
    model: BERT,
    tokenizer: Tokenizer,
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: TrainingSettings[MaskedTraining],
    run: Run,
) -> TrainingResult:
    """Train an encoder; see `models.making` and `train_encoder`."""
    return train_encoder(model, tokenizer, train, validation, settings.training, run)
