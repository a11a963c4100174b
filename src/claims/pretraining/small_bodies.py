"""Small BERTs and GPTs that experiments pre-train on the text, and fine-tuned models, in a simple training loop.

Batches, gaps and losses are those of the ladder (`data.masked_language_modelling`, `tasks.masked_language_modelling`,
`tasks.fine_tuning`), so experiments train the same models as the ladder, only smaller. A body with the same settings,
training and seed is trained once per run (`Bodies`).

    config: a `BodyConfig`
    bodies = Bodies(data, config)
    body = bodies.get("bert", {"next_sentence": False}, {"masking": {"share": 0.4}}, seed=1)
    classifier = fine_tuned(body, bodies.tokenizer, texts, training, seed=1)

The settings of such bodies are in the experiment; `body_rungs` composes files in conf/ instead.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import numpy as np
import torch
from pydantic import Field
from torch import nn

from claims.reading.reading_training import Texts, train_network
from claims.training import train, train_language_model
from langladder.data.masked_language_modelling import MaskedBatches
from langladder.data.sentence_pairs import Pairs
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, ExperimentConfig
from langladder.models.classification.bert_classifier import BERTClassifier
from langladder.models.classification.gpt_classifier import GPTClassifier
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.models.encoders.bert import BERT
from langladder.models.fine_tuned import FineTuned
from langladder.models.language.gpt import GPT
from langladder.models.network import Network
from langladder.models.units import SubwordUnits
from langladder.tasks.fine_tuning import network_from_base
from langladder.tasks.inputs import start_embedding, table_of
from langladder.tasks.settings import LMTrainingConfig, MaskedTraining, ReadingTraining
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer, word_starts

Kind = Literal["bert", "gpt"]
Body = BERT | GPT
TITLES: dict[Kind, str] = {"bert": "BERT", "gpt": "GPT"}
KINDS: dict[Kind, type[Any]] = {"bert": BERT, "gpt": GPT}
CLASSIFIERS: dict[Kind, type[NeuralClassifier]] = {"bert": BERTClassifier, "gpt": GPTClassifier}


class BodyConfig(ExperimentConfig):
    """Settings of an experiment that pre-trains bodies, and fine-tunes them."""

    width: int = Field(default=64, ge=4)
    layers: int = Field(default=2, ge=1)
    heads: int = Field(default=4, ge=1)
    sequence_length: int = Field(default=48, ge=8)  # tokens of a row in pre-training, and maximum tokens in fine-tuning
    body_steps: int = Field(default=1500, ge=1)  # of pre-training, at effort 1
    body_batch_size: int = Field(default=12, ge=1)  # rows per step
    body_lr: float = Field(default=0.004, gt=0)
    body_optimizer: Literal["adamw", "muon"] = "adamw"
    tuning_steps: int = Field(default=300, ge=2)  # of fine-tuning, at effort 1
    tuning_batch_size: int = Field(default=16, ge=1)
    tuning_lr: float = Field(default=0.001, gt=0)

    def body(self, kind: Kind, **changes: object) -> dict[str, object]:
        """Settings of a body, with changes to single ones; a GPT is post-norm, like GPT-1 and BERT."""
        values = {"width": self.width, "layers": self.layers, "heads": self.heads, "dropout": 0.0}
        values |= {"context": self.sequence_length}
        return values | ({"next_sentence": False} if kind == "bert" else {"norm": "post"}) | changes

    def pretraining(self, kind: Kind, **changes: Any) -> Any:
        """Pre-training settings of a body, with changes to single settings; `max_steps` is for effort 1."""
        steps = self.steps(changes.pop("max_steps", self.body_steps))
        values: dict[str, object] = {"optimizer": self.body_optimizer, "betas": [0.9, 0.98], "weight_decay": 0.01}
        values |= {"lr": self.body_lr}
        values |= {"max_steps": steps, "warmup_steps": steps // 10, "batch_size": self.body_batch_size}
        values |= {"sequence_length": self.sequence_length, "clip_norm": 1.0}
        return (MaskedTraining if kind == "bert" else LMTrainingConfig).model_validate(values | changes)

    def tuning(self, **changes: Any) -> ReadingTraining:
        """Fine-tuning settings of a body, in the form of `pretraining`."""
        steps = self.steps(changes.pop("max_steps", self.tuning_steps))
        values: dict[str, object] = {"optimizer": "adamw", "weight_decay": 0.01, "lr": self.tuning_lr, "clip_norm": 1.0}
        values |= {"max_steps": steps, "warmup_steps": steps // 10, "batch_size": self.tuning_batch_size}
        return ReadingTraining.model_validate(values | changes)


class Bodies:
    """The bodies of one run, each pre-trained once, on the training text or on another text."""

    def __init__(self, data: Data, config: BodyConfig, text: TokenStream | None = None) -> None:
        self.text = data.stream("train") if text is None else text
        self.tokenizer, self.config = data.tokenizer(), config
        self._bodies: dict[str, Body] = {}

    def get(
        self,
        kind: Kind,
        settings: Mapping[str, object] | None = None,
        training: Mapping[str, object] | None = None,
        *,
        seed: int,
    ) -> Body:
        """A body in evaluation mode; callers must not change it.

        Args:
            settings, training: changes to those of `BodyConfig`.
        """
        key = json.dumps([kind, settings or {}, training or {}, seed], sort_keys=True)
        if key not in self._bodies:
            self._bodies[key] = self.train(kind, settings, training, seed=seed)
        return self._bodies[key]

    def fresh(self, kind: Kind, settings: Mapping[str, object] | None = None, *, seed: int) -> Body:
        """A body before its first step."""
        config = KINDS[kind].Config.model_validate(self.config.body(kind, **(settings or {})))
        return fresh(KINDS[kind], config, self.tokenizer, seed=seed)

    def train(
        self,
        kind: Kind,
        settings: Mapping[str, object] | None = None,
        training: Mapping[str, object] | None = None,
        *,
        seed: int,
        watch: Callable[[Body, int], None] | None = None,
    ) -> Body:
        """A body that is not cached. watch: called with the network after each training step, with the number of steps
        so far."""
        body = self.fresh(kind, settings, seed=seed)
        how = self.config.pretraining(kind, **(training or {}))
        at_step = None if watch is None else lambda step: watch(body, step)
        pretrain(body, self.tokenizer, self.text, how, seed=seed, watch=at_step)
        return body


def fresh(kind: type[Any], config: Any, tokenizer: Tokenizer, *, seed: int) -> Body:
    """A BERT or GPT with these settings for the tokenizer's tokens, in evaluation mode."""
    torch.manual_seed(seed)
    body: Body = kind(config, tokenizer.full_vocab_size if issubclass(kind, BERT) else tokenizer.vocab_size)
    return body.eval()


def pretrain(
    body: Body,
    tokenizer: Tokenizer,
    text: TokenStream,
    config: Any,
    *,
    seed: int,
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train in place on masked words or on next tokens, depending on the body; see `training.train`.

    Args:
        config: `MaskedTraining` for a BERT, `LMTrainingConfig` for a GPT.

    Raises:
        InputError: the text is too short for a row.
    """
    if isinstance(body, BERT):
        return train_encoder(body, tokenizer, text, config, seed=seed, watch=watch)
    return train_language_model(body, text, config, seed=seed, watch=watch)


def train_encoder(
    model: BERT,
    tokenizer: Tokenizer,
    text: TokenStream,
    config: MaskedTraining,
    *,
    seed: int,
    watch: Callable[[int], None] | None = None,
) -> list[float]:
    """Train on masked words and next sentences, like `tasks.masked_language_modelling`; see `training.train`.

    Raises:
        InputError: the text is too short for a row.
    """
    cut: dict[str, Any] = {"length": config.sequence_length, "short": config.short, "most": config.most_lines}
    rows = Pairs(text, pairs=model.config.next_sentence, **cut)
    size: dict[str, Any] = {"batch_size": config.batch_size, "validation_tokens": 1}  # there is no validation
    size |= {"steps": config.max_steps}
    batches = MaskedBatches(rows, rows, model, word_starts(tokenizer), config.masking, seed=seed, **size)

    def loss(step: int) -> torch.Tensor:
        words, pairs = model.losses(batches.train(step))
        return words if pairs is None else words + pairs

    return train(model, loss, config, watch)


def fine_tuned(
    body: Body,
    tokenizer: Tokenizer,
    texts: Texts,
    training: ReadingTraining,
    *,
    seed: int,
    kind: type[Any] | None = None,
    config: Any = None,
    vectors: WordVectors | None = None,
    rung: str = "experiment",
) -> NeuralClassifier:
    """A classifier fine-tuned from a copy of a body, with its best weights on `texts.validation`.

    Args:
        kind: its class; None: that of `CLASSIFIERS`. config: its settings; None: those of `CLASSIFIERS`.
        vectors: initial vectors of tokens that are whole words, with the width of the body.
        rung: its name, for messages.

    Raises:
        InputError: more layers should be transferred than the body has.
    """
    kind = CLASSIFIERS["bert" if isinstance(body, BERT) else "gpt"] if kind is None else kind
    config = kind.Config() if config is None else config
    network: NeuralClassifier = network_from_base(
        kind, config, body, tokenizer, len(texts.labels), seed=seed, rung=rung
    )
    units = SubwordUnits(tokenizer)
    network.equip(units, texts.labels)
    if vectors is not None:
        start_tokens(network, units, vectors)
    train_network(network, texts, training, seed=seed)
    return network


def start_tokens(network: NeuralClassifier, units: SubwordUnits, vectors: WordVectors) -> None:
    """Start a body's token rows with vectors, scaled to its table: E_w ← v_w · std(E) / std(v)."""
    body = cast(FineTuned, network).body()
    assert isinstance(body, Network)
    embedding = body.embedding
    assert isinstance(embedding, nn.Embedding)
    table, covered = table_of(units, vectors)
    scale = (embedding.weight.std() / float(table[covered].std())).numpy(force=True)
    rows, frozen = np.flatnonzero(covered), not embedding.weight.requires_grad
    start_embedding(body, embedding, rows, table[covered] * scale, frozen=frozen)
