"""BERT, and what was fine-tuned from BERT or GPT, as an ONNX file (see `export.onnx`): model.onnx.

    an encoder     tokens, segments (B, T) int64  →  states (N + 1, B, T, D) of every layer, log_probs (B, T, V)
    a classifier   tokens (B, T) int64            →  log_probs (B, C)
    a tagger       tokens (B, T) int64            →  log_probs (B, T, K): of a word where its first piece stands

B and T are of any size, T up to the context of the body. Rows are right-padded with PAD, and framed as tokenizer.json
beside the file frames them: `<cls> a <sep>`, of a GPT `start a extract`. log_probs of an encoder are those of the word
that could stand at each position. What stands at padding means nothing.

Layers mixed or side by side and every pooling are in the graph. A CRF is not: the best path goes by words, of which the
graph knows nothing.

Shape legend: B rows, T positions, N layers, D width, V vocabulary, C labels, K tags.
"""

from pathlib import Path

import torch
from torch import Tensor, nn

from langladder.formats.onnx import write_program
from langladder.ground.errors import InputError
from langladder.models.bert import BERT
from langladder.models.bert_tagger import BERTTagger
from langladder.models.neural_classifier import NeuralClassifier
from langladder.models.reading import Reading
from langladder.text.tokenize.specials import PAD, UNK

_ROWS = {0: "rows", 1: "tokens"}


def export_onnx_encoder(model: BERT, path: Path) -> None:
    """Write model.onnx, atomically.

    Raises:
        InputError: the packages that write ONNX are not installed.
    """
    tokens = _example(model.cls, model.separator)
    given, found = ("tokens", "segments"), ("states", "log_probs")
    write_program(_Encoder(model), (tokens, torch.zeros_like(tokens)), path, given, found, [_ROWS, _ROWS])


def export_onnx_reader(model: NeuralClassifier | BERTTagger, path: Path) -> None:
    """Write model.onnx of a fine-tuned classifier or tagger, atomically.

    Raises:
        InputError: as of `export_onnx_encoder`, or the tagger has a CRF.
    """
    if isinstance(model, BERTTagger) and model.crf is not None:
        raise InputError(
            "export to onnx: model.output=crf: a CRF's best path goes by words, which the graph does not know; train "
            "with output: softmax"
        )
    graph = _Tagger(model) if isinstance(model, BERTTagger) else _Classifier(model)
    tokens = _example(model.vocab_size - 2, model.vocab_size - 3)
    write_program(graph, (tokens,), path, ("tokens",), ("log_probs",), [_ROWS])


def _example(first: int, last: int) -> Tensor:
    """Two rows, one of them padded: (2, 3) int64."""
    return torch.tensor([[first, UNK, last], [first, last, PAD]])


class _Encoder(nn.Module):
    def __init__(self, model: BERT) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, segments: Tensor) -> tuple[Tensor, Tensor]:
        states = self.model.hidden(tokens, segments)  # N + 1 times (B, T, D)
        scores = self.model.head(self.model.transformed(states[-1]))  # (B, T, V)
        return torch.stack(states), torch.log_softmax(scores, dim=-1)


class _Classifier(nn.Module):
    def __init__(self, model: NeuralClassifier) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        lengths = (tokens != PAD).sum(dim=1)  # (B,)
        return torch.log_softmax(self.model.logits(Reading(tokens, lengths)), dim=-1)  # (B, C)


class _Tagger(nn.Module):
    def __init__(self, model: BERTTagger) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return torch.log_softmax(self.model.head(self.model.features(tokens)), dim=-1)  # (B, T, K)
