"""The LightningModule that trains the network: next-token prediction with a penalty on large hidden states.

    L = −(1/N) Σ_t log P(w_t | w_<t) + λ mean(h²)   (Merity et al. 2018, section 4.6: activation regularisation)

`Task` is a LightningModule: any of its hooks may be overridden. It says the loss; batches, the Trainer, checkpoints
from which a killed run goes on, and the learning curve come with `train_language_model`.
"""

import torch

from langladder.data.language_modelling import LanguageBatch
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.tasks.language_modelling import LanguageModelling, train_language_model
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.storage.token_streams import TokenStream
from my_rung.network import DecayingMean


class PenalisedModelling(LanguageModelling):
    """Next-token prediction; the network's own `config.penalty` is λ."""

    model: DecayingMean

    def loss(self, batch: LanguageBatch) -> torch.Tensor:
        """Mean cross-entropy of tokens (B, T + 1) in nats, and the penalty."""
        if batch.fresh:
            self.state = None
        hidden, state = self.model(batch.tokens[:, :-1], self.state)  # (B, T, D)
        self.state = tuple(part.detach() for part in state)
        penalty = self.model.config.penalty * hidden.square().mean()
        return self.model.loss(hidden, batch.tokens[:, 1:], self.smoothing) + penalty


def make(
    model: DecayingMean,
    tokenizer: object,  # noqa: ARG001 - as all makers are called, see langladder.models.making
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: TrainingSettings[LMTrainingConfig],
    run: Run,
) -> TrainingResult:
    """Train the model in place."""
    return train_language_model(model, train, validation, settings.training, run, task=PenalisedModelling)
