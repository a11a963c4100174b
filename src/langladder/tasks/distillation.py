"""Distillation: a small network learns from the probabilities of a large one, its teacher (Hinton et al. 2015).

    L = (1 − w) L_text + w τ² (−1/N) Σ_t Σ_v p_τ(v | x_t) log q_τ(v | x_t)

p_τ and q_τ are the teacher's and the student's probabilities with logits divided by the temperature τ; L_text is the
loss on the text itself. The gradient of the second term shrinks as 1/τ², hence τ² (section 2). The teacher is not
trained and has no dropout. Of an encoder, the predicted tokens are the masked ones; the loss on pairs of texts is
added as without a teacher. It reads the same tokens of a batch as the student, each row from its first token on.

Shape legend: B rows, T tokens, N predicted tokens, V vocabulary, D width.
"""

from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import nn
from torch.nn import functional

from langladder.data.language_modelling import LanguageBatch
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from langladder.models.encoders.bert import BERT
from langladder.models.encoders.encoder import Encoder, Masked
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.nn.output import SoftmaxOutput
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.masked_language_modelling import MaskedLanguageModelling, train_encoder
from langladder.tasks.settings import Distil, LMTrainingConfig, MaskedTraining, TunedSettings
from langladder.tasks.task import Task
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer

Teacher = TypeVar("Teacher", bound=nn.Module)


def soft_loss(student: torch.Tensor, teacher: torch.Tensor, temperature: float) -> torch.Tensor:
    """τ² (−1/N) Σ p_τ log q_τ of scores (N, V) each, in nats."""
    wanted = torch.softmax(teacher.float() / temperature, dim=-1)
    return temperature**2 * functional.cross_entropy(student.float() / temperature, wanted)


class WithTeacher(Task, Generic[Teacher]):
    """A task whose loss also compares with a teacher; a base beside the task without one."""

    def add_teacher(self, teacher: Teacher, distil: Distil | None) -> None:
        """Keep the teacher, which is not trained, and the settings."""
        assert distil is not None
        self.distil = distil
        self._teacher = (teacher.requires_grad_(False).eval(),)  # in a tuple: neither trained nor saved

    @property
    def teacher(self) -> Teacher:
        """The teacher's network."""
        return self._teacher[0]

    def on_fit_start(self) -> None:
        """The teacher computes where the student does."""
        super().on_fit_start()
        self.teacher.to(self.device)

    @property
    def one_graph(self) -> bool:
        """See `Task.one_graph`: of two networks there is none."""
        return False

    def mixed(self, text: torch.Tensor, soft: torch.Tensor) -> torch.Tensor:
        """L = (1 − w) L_text + w L_soft."""
        return (1 - self.distil.weight) * text + self.distil.weight * soft


class DistilledLanguageModelling(WithTeacher[NeuralLanguageModel], LanguageModelling):
    """Next-token prediction with a teacher."""

    def __init__(self, model: NeuralLanguageModel, config: LMTrainingConfig, teacher: NeuralLanguageModel) -> None:
        super().__init__(model, config)
        self.add_teacher(teacher, config.distil)

    def loss(self, batch: LanguageBatch) -> torch.Tensor:
        """L of tokens (B, T + 1)."""
        hidden, inputs, targets = self.read(batch), batch.tokens[:, :-1], batch.tokens[:, 1:]  # (B, T, D)
        text = self.model.loss(hidden, targets, self.smoothing)
        if not self.distil.weight:
            return text
        keep, teacher = self.model.predicts(targets), self.teacher
        with torch.no_grad():
            wanted = teacher.head(teacher(inputs)[0][keep])  # (N, V)
        soft = soft_loss(self.model.head(hidden[keep]), wanted, self.distil.temperature)
        return self.mixed(text, soft)


def make_tuned(
    base: Path, tokenizer: Tokenizer, train: TokenStream, validation: TokenStream, *, settings: TunedSettings, run: Run
) -> tuple[NeuralLanguageModel, TrainingResult]:
    """A language model of the rung's settings, whose teacher is the network in `base`; see `models.making`.

    Raises:
        InputError: the teacher is counted, reads fewer tokens than a batch has or other rows, or an output layer has no
            scores.
    """
    assert settings.target is not None  # see `families.lm`
    model: NeuralLanguageModel = locate(settings.target)(settings.model, tokenizer.vocab_size)
    teacher, config = LanguageModel.load(base), settings.training
    if not isinstance(teacher, NeuralLanguageModel):
        raise InputError(f"{settings.name}: its base {base} is a {type(teacher).__name__}, and a teacher is a network")
    if teacher.context is not None and config.sequence_length > teacher.context:
        raise InputError(
            f"{settings.name}: training.sequence_length={config.sequence_length} exceeds the context of its teacher, "
            f"{teacher.context}; lower it"
        )
    if teacher.joins_lines != model.joins_lines:
        rows = "documents" if teacher.joins_lines else "stream"
        raise InputError(
            f"{settings.name}: its teacher reads model.rows={rows}; set the student's model.rows to {rows}"
        )
    if not isinstance(model.head, SoftmaxOutput) or teacher.vocab_size != model.vocab_size:
        raise InputError(
            f"{settings.name}: a student has model.output=softmax and the {teacher.vocab_size:,} tokens of its teacher"
        )
    task = partial(DistilledLanguageModelling, teacher=teacher)
    return model, train_language_model(model, train, validation, config, run, task)


class DistilledMaskedLanguageModelling(WithTeacher[BERT], MaskedLanguageModelling):
    """Masked words with a teacher."""

    def __init__(self, model: BERT, config: MaskedTraining, teacher: BERT) -> None:
        super().__init__(model, config)
        self.add_teacher(teacher, config.distil)

    def loss(self, batch: Masked) -> torch.Tensor:
        """L, and the loss on pairs."""
        return torch.stack(self.means(batch)).sum()

    def means(self, batch: Masked) -> tuple[torch.Tensor, ...]:
        """See `Task.means`: L, and the loss on pairs if there are any."""
        text, *pairs = super().means(batch)
        if not self.distil.weight or not len(batch.targets):
            return text, *pairs
        soft = soft_loss(self.model.scores(batch), self.teacher.masked_log_probs(batch), self.distil.temperature)
        return self.mixed(text, soft), *pairs


def make_encoder(
    model: BERT,
    tokenizer: Tokenizer,
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: TrainingSettings[MaskedTraining],
    run: Run,
    base: Path,
) -> TrainingResult:
    """Train an encoder whose teacher is that in `base`; see `models.making`.

    Raises:
        InputError: the teacher has another vocabulary; see also `train_encoder`.
    """
    teacher = Encoder.load(base)
    assert isinstance(teacher, BERT)  # the only kind of encoder
    if teacher.vocab_size != model.vocab_size:
        raise InputError(f"{base}: the teacher has {teacher.vocab_size:,} tokens, the student {model.vocab_size:,}")
    task = partial(DistilledMaskedLanguageModelling, teacher=teacher)
    return train_encoder(model, tokenizer, train, validation, settings.training, run, task)
