"""BERT fine-tuned on texts and pairs of texts (Devlin et al. 2019, sections 4.1 and 5.3).

    one text    <cls> a <sep>             segments 0 … 0
    a pair      <cls> a <sep> b <sep>     segments 0 … 0 1 … 1
    h_1 … h_T   of the body (`bert_features`)
    r           pooler: tanh(W_p h_<cls> + b_p), initialised with the base's pooler if it has one
                first:  h_<cls>;  mean: the mean over all positions of the row
    z = W dropout(r) + b

Training updates all of the base's layers, or none (`frozen`), and always the head. If a row is longer than the body's
context, the ends of its texts are cut off, first that of the longer text.

Shape legend: B rows, T positions, D width, R width of h, C labels.
"""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import torch
from pydantic import model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.classification.neural_classifier import Encoded, NeuralClassifier, Reading
from langladder.models.encoders.bert_features import BERTFeatures, BERTFeaturesConfig, FineTunedBERT, framed
from langladder.models.fine_tuned import shortened, start_linear
from langladder.models.network import Network
from langladder.models.trial import words
from langladder.models.units import Read
from langladder.nn.pooling import mean_pool
from langladder.text.labelled.labelled import Example
from langladder.text.tokenize.specials import RESERVED


class BERTClassifierConfig(BERTFeaturesConfig):
    """Settings of `BERTClassifier`."""

    pooling: Literal["pooler", "first", "mean"] = "pooler"

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.pooling == "pooler" and self.layers == "concat":
            raise ValueError(
                "pooling=pooler with layers=concat: the pooler reads the width of one layer; set pooling to mean"
            )
        return self


class BERTClassifier(FineTunedBERT, NeuralClassifier):
    """Body → one vector per row → linear output."""

    approach = "Transformer"
    maker = "langladder.tasks.fine_tuning.make_classifier"
    Config: ClassVar[type[schema.Config]] = BERTClassifierConfig
    config: BERTClassifierConfig

    def __init__(self, config: BERTClassifierConfig, vocab_size: int, number_of_labels: int) -> None:
        super().__init__(config, vocab_size, number_of_labels)
        self.features = BERTFeatures(config, vocab_size, type(self))
        R = self.features.width
        self.pooler = start_linear(nn.Linear(R, R)) if config.pooling == "pooler" else None
        self.dropout = nn.Dropout(config.dropout)
        self.head = start_linear(nn.Linear(R, number_of_labels))

    def copy_weights(self, base: Network) -> None:
        """See `FineTuned.take`. Also copies the base's pooler if all layers are transferred."""
        super().copy_weights(base)
        whole = self.config.layers_transferred in (None, self.features.encoder.number_of_layers)
        if self.pooler is not None and self.config.pretrained and whole and getattr(base, "pooler", None) is not None:
            self.pooler.load_state_dict(base.get_submodule("pooler").state_dict())

    def logits(self, batch: Reading) -> torch.Tensor:
        """See `NeuralClassifier.logits`."""
        if self.config.pooling == "mean":
            r = mean_pool(self.features(batch.tokens), batch.mask)  # (B, R)
        else:
            r = self.features.first(batch.tokens)  # h_<cls>, (B, R)
        if self.pooler is not None:
            # r = tanh(W_p h_<cls> + b_p)
            r = torch.tanh(self.pooler(r))
        scores: torch.Tensor = self.head(self.dropout(r))
        return scores

    def as_read(self, example: Example) -> Read:
        """See `NeuralClassifier.as_read`: the part that fits into the context."""
        return shortened(super().as_read(example), self.units.separator, self.features.encoder.context - 2)

    def encode(self, example: Example) -> Encoded:
        """See `NeuralClassifier.encode`; adds `<cls>` and `<sep>`."""
        return Encoded(np.array(framed(super().encode(example).ids, self.vocab_size), dtype=np.int32))

    def positions(self, encoded: Encoded) -> Sequence[int]:
        """See `NeuralClassifier.positions`: between `<cls>` and `<sep>`."""
        return range(1, len(encoded.ids) - 1)

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`; one text per row, including `<cls>` and `<sep>`."""
        length = min(max(length, 3), self.features.encoder.context)
        tokens = words(rows, length, self.vocab_size - len(RESERVED))
        tokens[:, 0], tokens[:, -1] = self.vocab_size - 2, self.vocab_size - 3  # <cls>, <sep>
        return self.loss(Reading(tokens, torch.full((rows,), length)), self.trial_labels(rows))
