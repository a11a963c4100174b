"""Learning to translate: maximum likelihood of the target given the source, with teacher forcing.

    L = −(1/N) Σ log P(y_t | y_<t, x)   over the N target tokens of a batch, EOS among them

With label smoothing ε the target distribution of the training loss is (1 − ε)·onehot + ε/V (Szegedy et al. 2016); the
validation loss is always the plain one, so that exp of it is a perplexity.

With teacher forcing, the decoder only sees correct words in training, but its own mistakes in use. Scheduled sampling
(Bengio et al. 2015) mixes the two: before each training step, the model rewrites the target from left to right, and
each word is replaced, with probability ε, by a sample from the model's own prediction after the words so far, including
replaced ones. The loss is then computed as usual, against the true words, for all positions at once; as in the paper,
no gradient passes through the samples. ε rises linearly with the steps (the paper's linear decay).

With guided_attention, the loss has a weighted term for attention away from the diagonal (`nn.attention.guided`).

The weights with the lowest validation loss may not translate best. With early_stopping=bleu, each validation also
translates some of its pairs greedily, and the weights with the highest BLEU are kept.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from sacrebleu.metrics.bleu import BLEU

from langladder.data.translation import PairBatch, TranslationBatches
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.ground.errors import InputError
from langladder.models.language.language_model import kept_rows
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.models.translation.translator import AttendingTranslator, Translator
from langladder.nn.attention import guided
from langladder.tasks.settings import DecoderTraining, GuidedAttention, TranslationTraining
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.storage.token_streams import PairStream
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizers import Tokenizer

BLEU_MEASURE = "validation_bleu"


class TranslationTask(Task):
    """Maximum likelihood of the target, for every translator."""

    def __init__(self, model: Translator, config: DecoderTraining, sample: "BleuSample | None" = None) -> None:
        super().__init__(config)
        self.sample = sample
        if sample is not None:
            self.monitor, self.mode = BLEU_MEASURE, "max"
        self.model, self.smoothing, self.sampling = model, config.label_smoothing, config.scheduled_sampling
        self.steps, self.guide = config.max_steps, config.guided_attention

    def loss(self, batch: PairBatch) -> torch.Tensor:
        """Mean loss per target token, with label smoothing if set."""
        # read the step only for sampling: torch.compile would compile one graph per step number
        share = self.sampling * self.steps_done / self.steps if self.sampling else 0.0
        inputs = mixed_words(self.model, batch, share) if share else None
        if self.guide is not None:
            return self._guided(batch, self.guide, inputs)
        return self.model.loss(*batch, self.smoothing, inputs) / (batch[1][:, 1:] != PAD).sum()

    def _guided(self, batch: PairBatch, guide: GuidedAttention, inputs: torch.Tensor | None) -> torch.Tensor:
        """The same, with the loss on attention away from the diagonal."""
        model = self.model
        assert isinstance(model, AttendingTranslator)  # see `families.family.Rung`
        source, target = batch
        keep = (following := target[:, 1:]) != PAD  # (B, T)
        hidden, alpha = model.attended(source, target[:, :-1] if inputs is None else inputs)  # (B, T, D), (B, T, S)
        loss = model.head.loss(kept_rows(hidden, keep), following[keep], self.smoothing) / keep.sum()
        return loss + guide.weight * guided(alpha, keep.sum(dim=1), model.present(source).sum(dim=1), guide.width)

    @property
    def one_graph(self) -> bool:
        """See `Task.one_graph`: true unless scheduled sampling draws words one by one."""
        return self.model.one_graph and not self.sampling

    def evaluate(self, batch: PairBatch) -> tuple[float, int]:
        """Summed loss, never smoothed, and the number of target tokens."""
        scores = self.model.log_probs(*batch)
        return -float(scores.double().sum()), int((batch[1][:, 1:] != PAD).sum())

    def measures(self) -> dict[str, float]:
        """BLEU, if it selects the weights."""
        return {} if self.sample is None else {BLEU_MEASURE: self.sample.bleu(self.model)}


@dataclass(frozen=True)
class BleuSample:
    """Sentences to translate at each validation: their ids with EOS last, and their references as decoded by the
    tokenizer."""

    sources: list[np.ndarray]
    references: list[str]
    tokenizer: Tokenizer
    bleu_tokenize: str = "13a"  # sacreBLEU's name of the tokenisation for BLEU

    @classmethod
    def of(cls, pairs: PairStream, count: int, tokenizer: Tokenizer, bleu_tokenize: str = "13a") -> Self:
        """`count` pairs, evenly spread over all (all, if there are fewer)."""
        rows = [pairs.pair(int(row)) for row in np.linspace(0, len(pairs) - 1, min(count, len(pairs))).round()]
        references = [tokenizer.decode(target) for _, target in rows]
        return cls([source for source, _ in rows], references, tokenizer, bleu_tokenize)

    def bleu(self, model: Translator) -> float:
        """sacreBLEU's BLEU, 0 to 100, of greedy translations."""
        translations = translate(model, self.sources, BeamConfig(width=1))
        texts = [self.tokenizer.decode(hypotheses[0].tokens) for hypotheses in translations]
        return float(BLEU(tokenize=self.bleu_tokenize, force=True).corpus_score(texts, [self.references]).score)


@torch.no_grad()
def mixed_words(model: Translator, batch: PairBatch, share: float) -> torch.Tensor:
    """The decoder's input, (B, T): the target without its last column, with a `share` of words that the model predicts.

    The draws are made without dropout. BOS, EOS and PAD are neither replaced nor drawn.
    """
    source, inputs = batch.source, batch.target[:, :-1].clone()
    special = torch.tensor([PAD, BOS, EOS], device=inputs.device)
    replaced = (torch.rand(inputs.shape, device=inputs.device) < share) & ~torch.isin(inputs, special)
    training = model.training
    model.eval()
    state = model.encode(source, model.present(source))
    for t in range(1, inputs.shape[1]):
        log_probs, state, _ = model.step(inputs[:, :t], state)  # (B, V)
        drawn = torch.multinomial(log_probs.index_fill(1, special, -math.inf).softmax(1), 1)[:, 0]  # (B,)
        inputs[:, t] = torch.where(replaced[:, t], drawn, inputs[:, t])
    model.train(training)
    return inputs


def train_translator(
    model: Translator,
    train: PairStream,
    validation: PairStream | None,
    config: TranslationTraining,
    run: Run,
    *,
    target_tokenizer: Tokenizer | None = None,
    bleu_tokenize: str = "13a",
    task: Callable[..., TranslationTask] = TranslationTask,
) -> TrainingResult:
    """Train `model` on sentence pairs; it ends with its best validation weights, in evaluation mode.

    Args:
        target_tokenizer, bleu_tokenize: the tokenizer that decodes ids, and sacreBLEU's tokenisation. Only used with
            early_stopping=bleu.
        task: what makes the task of the model, its settings and the sample for BLEU.

    Raises:
        InputError: no pair is short enough, or BLEU has no validation pairs or no tokenizer; see also `train_task`.
    """
    sample = None
    if config.early_stopping == "bleu":
        if validation is None or not len(validation) or target_tokenizer is None:
            raise InputError(
                "training.early_stopping=bleu: BLEU needs validation pairs and the target's tokenizer; "
                "give both, or set it to validation_loss"
            )
        sample = BleuSample.of(validation, config.bleu_pairs, target_tokenizer, bleu_tokenize)
    batches = TranslationBatches(
        train,
        validation,
        batch_tokens=config.batch_tokens,
        max_length=config.max_length,
        seed=run.seed,
        accumulate=config.accumulate,
        padded=model.pads,
    )
    result = train_task(task(model, config, sample), batches, config, run)
    model.eval()
    return result


def make(
    model: Translator,
    tokenizers: Sequence[Tokenizer] | None,
    train: PairStream,
    validation: PairStream,
    *,
    settings: TrainingSettings[TranslationTraining],
    run: Run,
    bleu_tokenize: str = "13a",
    task: Callable[..., TranslationTask] = TranslationTask,
) -> TrainingResult:
    """Train a translator or a captioner; see `models.making` and `train_translator`.

    Args:
        tokenizers: the source's and the target's; None for a side that is not text.
    """
    return train_translator(
        model,
        train,
        validation,
        settings.training,
        run,
        target_tokenizer=tokenizers[1] if tokenizers else None,
        bleu_tokenize=bleu_tokenize,
        task=task,
    )
