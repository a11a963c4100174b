"""Shared by experiments that train small translators: settings, and training as on the ladder."""

from typing import Any, Literal

import torch
from pydantic import Field

from claims.training import train
from claims.translation.translation_judge import tokenizer
from langladder.data.translation import TranslationBatches
from langladder.experiments.experiment import Data, ExperimentConfig
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.seq2seq import Seq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.models.translation.translator import Translator
from langladder.tasks.settings import TranslationTraining

Network = Literal["seq2seq", "attention", "transformer"]
TITLES: dict[Network, str] = {"seq2seq": "Seq2seq", "attention": "Attention", "transformer": "Transformer"}


class TranslationConfig(ExperimentConfig):
    """Settings of an experiment that trains translators on the sentence pairs."""

    width: int = Field(default=64, ge=4)  # of embeddings and hidden states
    layers: int = Field(default=2, ge=1)  # of a Transformer's encoder and decoder each; others have one
    max_steps: int = Field(default=600, ge=2)  # at effort 1
    batch_tokens: int = Field(default=512, ge=1)  # maximum cells (pairs × longest side) of a batch
    lr: float = Field(default=0.008, gt=0)
    test_sentences: int = Field(default=200, ge=1)  # test pairs, evenly spread; fewer if effort is below 1

    def small(self, base: Network) -> tuple[type[Translator], dict[str, object]]:
        """Class and settings of the experiments' translators, of the same width and without dropout."""
        if base == "transformer":  # pre-norm learns fastest; tie=target works with one vocabulary or two
            shape: dict[str, object] = {"width": self.width, "layers": self.layers, "heads": 4, "norm": "pre"}
            return Transformer, shape | {"dropout": 0.0, "tie": "target"}
        recurrent: dict[str, object] = {"width": self.width, "embedding_dim": self.width, "dropout": 0.0}
        if base == "attention":
            return AttentionSeq2Seq, recurrent | {"attention_width": self.width}
        return Seq2Seq, recurrent | {"layers": 1}

    def training(self, **changes: Any) -> TranslationTraining:
        """Training settings, with changes to single settings; `max_steps` is for effort 1."""
        steps = self.steps(changes.pop("max_steps", self.max_steps))
        values: dict[str, object] = {"optimizer": "adamw", "betas": [0.9, 0.98], "weight_decay": 0.01, "lr": self.lr}
        values |= {"max_steps": steps, "warmup_steps": steps // 10, "batch_tokens": self.batch_tokens}
        return TranslationTraining.model_validate(values | changes)


def trained(
    kind: type[Translator],
    settings: dict[str, object],
    data: Data,
    config: TranslationConfig,
    *,
    seed: int,
    **changes: object,
) -> tuple[Translator, list[float]]:
    """Build `kind` with `settings` and train it as on the ladder; `changes` are applied to `config.training()`.

    Returns:
        The translator, in evaluation mode, and the loss per target token of each step; see `training.train`.
    """
    sizes = [tokenizer(data, side).vocab_size for side in ("source", "target")]
    torch.manual_seed(seed)
    model = kind(kind.Config.model_validate(settings), *sizes)
    how = config.training(**changes)
    limits = {"batch_tokens": how.batch_tokens, "max_length": how.max_length}
    batches = TranslationBatches(data.pairs("train"), None, **limits, seed=seed, padded=model.pads)

    def loss(step: int) -> torch.Tensor:
        batch = batches.train(step)
        return model.loss(*batch, how.label_smoothing) / batches.size(batch)

    return model, train(model, loss, how)
