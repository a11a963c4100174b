"""Training a language model on a token stream: next-token cross-entropy, the same for every network.

A network can start with the weights of another rung: it is the base's own network, or one that the rung's file
describes, of the same architecture but for example with another dropout (fine-tuning: Dai & Le 2015; Howard & Ruder
2018).
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from langladder.data.batches import StepBatches
from langladder.data.language_modelling import DocumentBatches, LanguageBatch, WindowBatches, kind_of_batches
from langladder.ground.errors import InputError
from langladder.ground.ranks import gathered, ranks
from langladder.ground.schema import locate
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.models.network import start_from
from langladder.tasks.settings import LMTrainingConfig, PretrainingMix, TunedSettings
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer


class LanguageModelling(Task):
    """Next-token prediction. On the stream, a recurrent network carries its state from step to step, no gradient."""

    def __init__(self, model: NeuralLanguageModel, config: LMTrainingConfig) -> None:
        super().__init__(config)
        self.model = model
        self.smoothing = config.label_smoothing
        self.state: tuple[torch.Tensor, ...] | None = None

    def loss(self, batch: LanguageBatch) -> torch.Tensor:
        """Mean cross-entropy (nats per token) of tokens (B, T + 1)."""
        return self.model.loss(self.read(batch), batch.tokens[:, 1:], self.smoothing)

    def read(self, batch: LanguageBatch) -> torch.Tensor:
        """Hidden states (B, T, D) of all but the last token of each row; the carried state moves on."""
        if batch.fresh:
            self.state = None
        hidden: torch.Tensor
        hidden, state = self.model(batch.tokens[:, :-1], self.state)  # (B, T, D)
        self.state = (
            tuple(part.detach() for part in state) if state is not None and not self.model.joins_lines else None
        )
        return hidden

    @property
    def one_graph(self) -> bool:
        """See `Task.one_graph`."""
        return self.model.one_graph

    def evaluate(self, batch: torch.Tensor) -> tuple[float, int]:
        """Negative log-likelihood of documents (B, T) in nats, exactly as the test is scored, and the token count."""
        scores = self.model.log_probs(batch)
        return -float(scores.sum(dtype=torch.float64)), int(predicted(batch).sum())

    def carried(self) -> tuple[torch.Tensor, ...] | None:
        """The carried state of a network: that of all streams, from all processes."""
        if self.state is None or ranks().size == 1:
            return self.state
        rows = self.model.state_rows  # first the i-th row of each process, then row i + 1 of each
        return tuple(torch.stack(gathered(part), dim=rows + 1).flatten(rows, rows + 1) for part in self.state)

    def set_carried(self, carried: tuple[torch.Tensor, ...] | None) -> None:
        """Restore the state, as copies: a file's tensors may be unaligned, which can change the last bit of
        products."""
        self.state = None
        if carried is not None:
            own = ranks()
            rows = torch.arange(own.rank, carried[0].shape[self.model.state_rows], own.size)
            self.state = tuple(part.to(self.device) for part in self.model.state_of(carried, rows))


def train_language_model(
    model: NeuralLanguageModel,
    train: TokenStream,
    validation: TokenStream,
    config: LMTrainingConfig,
    run: Run,
    task: Callable[[NeuralLanguageModel, LMTrainingConfig], LanguageModelling] = LanguageModelling,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights, on the CPU, in evaluation mode.

    Args:
        task: the loss on each batch.

    Raises:
        InputError: the corpus is smaller than one batch, or the windows exceed the model's context; see also
            `train_task`.
    """
    if model.context is not None and config.sequence_length > model.context:
        raise InputError(
            f"training.sequence_length={config.sequence_length} exceeds the model's context of {model.context} tokens: "
            f"choose 1 to {model.context}, or raise model.context"
        )
    kind = kind_of_batches(documents=model.joins_lines, context=model.context)
    batches = kind(
        train,
        validation,
        batch_size=config.batch_size,
        sequence_length=config.sequence_length,
        seed=run.seed,
        validation_tokens=config.validation_tokens,
    )
    model.prepare(train)
    result = train_task(task(model, config), batches, config, run)
    model.cpu().eval()
    return result


def mixed_windows(
    mix: PretrainingMix, model: NeuralLanguageModel, text: TokenStream | None, seed: int
) -> StepBatches[LanguageBatch] | None:
    """Plain text for training in addition to something else, in rows as the model reads; None if its weight is 0.

    Raises:
        InputError: there is no text or less than one window, or the windows exceed the model's context.
    """
    if not mix.weight:
        return None
    if text is None:
        raise InputError(f"training.pretraining.weight={mix.weight}: there is no plain text to train on; set it to 0")
    if model.context is not None and mix.length > model.context:
        raise InputError(
            f"training.pretraining.length={mix.length} exceeds the model's context of {model.context} tokens; lower it"
        )
    nothing = TokenStream(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64))
    kind = DocumentBatches if model.joins_lines else WindowBatches
    return kind(text, nothing, batch_size=mix.windows, sequence_length=mix.length, seed=seed)


def make(
    model: NeuralLanguageModel,
    tokenizer: object,  # noqa: ARG001 - as all makers are called
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: TrainingSettings[LMTrainingConfig],
    run: Run,
) -> TrainingResult:
    """Train a language model; see `models.making` and `train_language_model`."""
    return train_language_model(model, train, validation, settings.training, run)


def begin(settings: TunedSettings, base: Path, tokenizer: Tokenizer) -> NeuralLanguageModel:
    """The network before its first step.

    Args:
        settings: those of the rung's file: `name`, and `target` with `model` if it describes a network itself.
        base: the folder of the rung that it starts from.

    Raises:
        InputError: the base is a counted model, or has another architecture.
    """
    if settings.target is not None:
        model: NeuralLanguageModel = locate(settings.target)(settings.model, tokenizer.vocab_size)
        start_from(model, base, rung=settings.name)
        return model
    loaded = LanguageModel.load(base)
    if not isinstance(loaded, NeuralLanguageModel):
        raise InputError(f"{settings.name} cannot start from {base}: a {type(loaded).__name__} has no weights to train")
    return loaded


def make_tuned(
    base: Path, tokenizer: Tokenizer, train: TokenStream, validation: TokenStream, *, settings: TunedSettings, run: Run
) -> tuple[NeuralLanguageModel, TrainingResult]:
    """Start with the weights in `base`, then train, see `make`. Returns the model and the training result."""
    model = begin(settings, base, tokenizer)
    return model, make(model, tokenizer, train, validation, settings=settings, run=run)
