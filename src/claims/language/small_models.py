"""Shared by experiments that train small language models: settings, training, perplexity on the test text."""

import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import torch
from pydantic import Field

from claims.training import loss_a_token, train_language_model
from langladder.experiments.experiment import Data, ExperimentConfig
from langladder.models.language.counted import CountedLanguageModel
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.storage.token_streams import TokenStream

Network = Literal["lstm", "gpt"]
TITLES: dict[Network, str] = {"lstm": "LSTM", "gpt": "GPT"}
ORDER = 5
"""Order of the n-gram that a network must beat."""
COUNTED: Mapping[Any, str] = {"kneser_ney": "Kneser–Ney", **TITLES}


class TextConfig(ExperimentConfig):
    """Settings of an experiment that trains language models on the corpus."""

    width: int = Field(default=64, ge=4)  # of embeddings and hidden states
    max_steps: int = Field(default=800, ge=2)  # at effort 1
    batch_size: int = Field(default=8, ge=1)
    sequence_length: int = Field(default=32, ge=1)
    lr: float = Field(default=0.01, gt=0)  # settings of recurrent networks
    gpt_lr: float = Field(default=0.004, gt=0)  # settings of networks with a bounded context
    gpt_optimizer: Literal["muon", "adamw"] = "muon"  # also for these: the ladder's GPT settings
    clip_norm: float | None = Field(default=1.0, gt=0)
    rows: Literal["stream", "documents"] = "stream"  # as the corpus has them: each document from its beginning, alone
    test_tokens: int = Field(default=20000, ge=1)  # measured tokens of the test text

    def small(self, base: Network) -> tuple[type[LanguageModel], dict[str, Any]]:
        """Class and settings of the experiments' LSTM (one layer) and GPT (two layers), of the same width."""
        if base == "lstm":
            return RecurrentLM, {"cell": "lstm", "width": self.width, "embedding_dim": self.width, "rows": self.rows}
        return GPT, {
            "context": self.sequence_length,
            "width": self.width,
            "layers": 2,
            "heads": 4,
            "rows": self.rows,
        }

    def counted(self, order: int) -> tuple[type[LanguageModel], dict[str, Any]]:
        """Class and settings of the n-gram for comparison."""
        return KneserNey, {"order": order}

    def training(self, **changes: Any) -> LMTrainingConfig:
        """Training settings, with changes to single settings; `max_steps` is for effort 1."""
        steps = self.steps(changes.pop("max_steps", self.max_steps))
        values: dict[str, object] = {"optimizer": "adamw", "betas": [0.9, 0.98], "weight_decay": 0.01, "lr": self.lr}
        values |= {"max_steps": steps, "warmup_steps": steps // 10, "clip_norm": self.clip_norm}
        values |= {"batch_size": self.batch_size, "sequence_length": self.sequence_length}
        return LMTrainingConfig.model_validate(values | changes)


class Outcome(NamedTuple):
    """A trained model: its parameters, and its perplexity per token on the test text."""

    parameters: int
    perplexity: float


def measured(
    kind: type[LanguageModel],
    settings: dict[str, object],
    data: Data,
    config: TextConfig,
    *,
    seed: int,
    text: TokenStream | None = None,
    changes: Mapping[str, object] | None = None,
) -> Outcome:
    """Build `kind` with `settings`, train it (or count), and measure it on the test text.

    Args:
        text: the training text; None: the whole training split.
        changes: to `config.training()`.
    """
    text = data.stream("train") if text is None else text
    vocab_size = data.tokenizer().vocab_size
    model, _ = trained(kind, settings, vocab_size, text, config, seed=seed, changes=changes)
    loss = loss_a_token(model, data.stream("test"), tokens=config.test_tokens)
    return Outcome(model.number_of_parameters(), math.exp(min(loss, 700.0)))


def trained(
    kind: type[LanguageModel],
    settings: dict[str, object],
    vocab_size: int,
    text: TokenStream,
    config: TextConfig,
    *,
    seed: int,
    changes: Mapping[str, object] | None = None,
) -> tuple[LanguageModel, list[float]]:
    """A trained model, and the training loss of each step (none for a counted model); see `measured`."""
    torch.manual_seed(seed)
    model = kind(kind.Config.model_validate(settings), vocab_size)
    if isinstance(model, CountedLanguageModel):
        model.fit(text)
        return model, []
    assert isinstance(model, NeuralLanguageModel), type(model)
    how: dict[str, object] = {"lr": config.lr}
    if model.context is not None:
        how = {"lr": config.gpt_lr, "optimizer": config.gpt_optimizer}
    training = config.training(**how | dict(changes or {}))
    return model, train_language_model(model, text, training, seed=seed)


def first_part(text: TokenStream, share: float) -> TokenStream:
    """The first documents, up to about `share` of the tokens; at least one."""
    count = max(1, int((text.offsets <= share * len(text.ids)).sum()) - 1)
    return TokenStream(text.ids[: text.offsets[count]], text.offsets[: count + 1])
