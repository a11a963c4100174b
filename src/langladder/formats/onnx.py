"""Models as ONNX files, for ONNX Runtime and every other engine that reads them, from any language, without PyTorch.

Recurrent language models: model.onnx

    tokens (B, T) int64, state (k, L, B, H)  →  log_probs (B, T, V), next_state (k, L, B, H)

begins with a state of zeros and BOS. GRU and LSTM read any number of tokens. ONNX has no loop for Elman's cell, nor for
cells that run as a loop over steps here (see `nn.recurrent`): they read one token at a time, T is 1. The hierarchical
softmax is not supported, because ONNX lacks its sparse product.

The Transformer: encoder.onnx is run once, decoder_step.onnx once a word

    source (B, S) int64  →  mask (B, S) bool, keys⟨n⟩ and values⟨n⟩ (B, h, S, d) of every layer n
    prefix (B, t) int64, those, past_keys⟨n⟩, past_values⟨n⟩ (B, h, t − 1, d)  →  log_probs (B, V), attention (B, S),
        next_keys⟨n⟩, next_values⟨n⟩ (B, h, t, d), which are the next step's past

prefix begins with BOS; the first past has no columns. Sentences are as long as the table of positions at most.

BERT, and models fine-tuned from BERT or GPT: model.onnx

    an encoder     tokens, segments (B, T) int64  →  states (N + 1, B, T, D) of every layer, log_probs (B, T, V)
    a classifier   tokens (B, T) int64            →  log_probs (B, C)
    a tagger       tokens (B, T) int64            →  log_probs (B, T, K): a word's are at its first piece

B and T are of any size, T up to the context of the body. Rows are right-padded with PAD, and framed as by the
tokenizer.json beside the file: `<cls> a <sep>`, for a GPT `start a extract`. log_probs of an encoder are those of the
word at each position; values at padding are meaningless. Mixed or concatenated layers and every pooling are in the
graph. A CRF is not: its best path needs words, which the graph does not know.

Shape legend: B rows, T tokens, S source, t target positions so far, V vocabulary, L layers (N of a body), D width, h
heads, d = D/h, C labels, K tags, k parts of the state (1: h; 2: h and c).
"""

import importlib.util
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from langladder.ground.atomic import atomic_file
from langladder.ground.errors import InputError
from langladder.models.classification.neural_classifier import NeuralClassifier, Reading
from langladder.models.encoders.bert import BERT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.translation.transformer import Transformer
from langladder.models.translation.translator import State
from langladder.nn.hierarchical_softmax import HierarchicalSoftmax
from langladder.nn.recurrent import FusedLayer
from langladder.text.tokenize.specials import BOS, EOS, PAD, UNK

# ---- language models and the Transformer


NEEDED = ("onnx", "onnxscript")


def export_onnx_recurrent(model: RecurrentLM, path: Path) -> None:
    """Write model.onnx, atomically.

    Raises:
        InputError: the packages that write ONNX are not installed, the output layer is a hierarchical softmax, or
            the first state is learnt.
    """
    stack = model.cell
    if isinstance(model.head, HierarchicalSoftmax):
        raise InputError("export to onnx: this model has output=hierarchical, a sparse product that ONNX does not have")
    if stack.start is not None:
        raise InputError(
            "export to onnx: this model has learn_start=true, and the exported program begins with a state of zeros; "
            "train it with learn_start=false"
        )
    free = isinstance(stack.layers[0], FusedLayer) and stack.gates > 1
    tokens = torch.full((2, 3 if free else 1), BOS)
    state = torch.zeros(stack.states, len(stack.layers), 2, stack.width)
    model.head(model(tokens)[0])  # output layers that depend on counts derive their tables before the trace
    shapes = [{0: "rows", 1: "tokens"} if free else {0: "rows"}, {2: "rows"}]
    input_names, names = ("tokens", "state"), ("log_probs", "next_state")
    write_program(_RecurrentStep(model), (tokens, state), path, input_names, names, shapes, declared=shapes)


class _RecurrentStep(nn.Module):
    """Tokens (B, T) and state (k, L, B, H) → log-probabilities (B, T, V) and the state after."""

    def __init__(self, model: RecurrentLM) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        hidden, last = self.model(tokens, state.unbind(0))  # (B, T, D)
        return torch.log_softmax(self.model.head(hidden), dim=-1), torch.stack(last)


def export_onnx_transformer(model: Transformer, folder: Path) -> None:
    """Write encoder.onnx and decoder_step.onnx into an existing folder.

    Raises:
        InputError: the packages that write ONNX are not installed.
    """
    names = [f"{kind}{number}" for number in range(model.config.layers) for kind in ("keys", "values")]
    source, prefix = torch.tensor([[5, 6, EOS], [7, EOS, PAD]]) % model.source_vocab_size, torch.full((2, 3), BOS)
    rows: dict[int, str] = {0: "rows"}
    write_program(
        _TransformerEncoder(model, names),
        (source,),
        folder / "encoder.onnx",
        ("source",),
        ("mask", *names),
        [rows | {1: "S"}],
    )
    state = model.encode(source, source != PAD)
    for t in (1, 2):
        _, state, _ = model.step(prefix[:, :t], state)
    kept, before = ([side[name].contiguous() for name in names] for side in (state.source, state.decoder))
    inputs = (prefix, state.source["mask"], kept, before)
    shapes = [rows | {1: "t"}, rows | {1: "S"}, [rows | {2: "S"}] * len(names), [rows | {2: "past"}] * len(names)]
    past, after = ([f"{when}_{name}" for name in names] for when in ("past", "next"))
    input_names, results = ("prefix", "mask", *names, *past), ("log_probs", "attention", *after)
    write_program(_TransformerStep(model, names), inputs, folder / "decoder_step.onnx", input_names, results, shapes)


class _TransformerEncoder(nn.Module):
    def __init__(self, model: Transformer, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, source: Tensor) -> tuple[Tensor, ...]:
        state = self.model.encode(source, source != PAD)
        return state.source["mask"], *(state.source[name] for name in self.names)


class _TransformerStep(nn.Module):
    def __init__(self, model: Transformer, names: Sequence[str]) -> None:
        super().__init__()
        self.model, self.names = model, names

    def forward(self, prefix: Tensor, mask: Tensor, kept: list[Tensor], past: list[Tensor]) -> tuple[Tensor, ...]:
        source, decoder = (dict(zip(self.names, tensors, strict=True)) for tensors in (kept, past))
        log_probs, state, attention = self.model.step(prefix, State(source | {"mask": mask}, decoder))
        return log_probs, attention, *(state.decoder[name] for name in self.names)


@torch.no_grad()
def write_program(
    module: nn.Module,
    inputs: tuple[object, ...],
    path: Path,
    input_names: Sequence[str],
    names: Sequence[str],
    shapes: Sequence[object],
    declared: Sequence[Mapping[int, str]] = (),
) -> None:
    """Write one file. All modes are unchanged.

    Args:
        shapes: names, for each input, the axes of any size.
        declared: the same for each output, if the exporter takes the length of the example for a constant: PyTorch
            does so with the output of an LSTM or GRU. Its notes on values inside the graph are then left out.

    Raises:
        InputError: the packages that write ONNX are not installed.
    """
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"export to onnx: needs {' and '.join(missing)}; pip install 'langladder[onnx]'")
    modes = {part: part.training for part in module.modules()}
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                module.eval(),
                inputs,
                input_names=[*input_names],
                output_names=[*names],
                dynamic_shapes=tuple(shapes),
                dynamo=True,
                verbose=False,
            )
    finally:
        for part, training in modes.items():
            part.training = training
    for output, axes in zip(program.model.graph.outputs, declared, strict=False):
        for axis, name in axes.items():
            output.shape[axis] = name
    if declared:
        for value in (value for node in program.model.graph for value in node.outputs):
            value.shape = value.shape if value in program.model.graph.outputs else None
    with atomic_file(path) as temporary:
        program.save(str(temporary))


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the exporter's own messages."""
    logger = logging.getLogger("onnxscript")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


# ---- encoders and fine-tuned models


_ROWS = {0: "rows", 1: "tokens"}


def export_onnx_encoder(model: BERT, path: Path) -> None:
    """Write model.onnx, atomically.

    Raises:
        InputError: the packages that write ONNX are not installed.
    """
    tokens = _example(model.cls, model.separator)
    input_names, names = ("tokens", "segments"), ("states", "log_probs")
    write_program(_BERTEncoder(model), (tokens, torch.zeros_like(tokens)), path, input_names, names, [_ROWS, _ROWS])


def export_onnx_reader(model: NeuralClassifier | BERTTagger, path: Path) -> None:
    """Write model.onnx of a fine-tuned classifier or tagger, atomically.

    Raises:
        InputError: as of `export_onnx_encoder`, or the tagger has a CRF.
    """
    if isinstance(model, BERTTagger) and model.crf is not None:
        raise InputError(
            "export to onnx: model.output=crf: a CRF's best path needs words, which the graph does not know; train "
            "with output: softmax"
        )
    graph = _Tagger(model) if isinstance(model, BERTTagger) else _Classifier(model)
    tokens = _example(model.vocab_size - 2, model.vocab_size - 3)
    write_program(graph, (tokens,), path, ("tokens",), ("log_probs",), [_ROWS])


def _example(first: int, last: int) -> Tensor:
    """Two rows, one of them padded: (2, 3) int64."""
    return torch.tensor([[first, UNK, last], [first, last, PAD]])


class _BERTEncoder(nn.Module):
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
        scores = self.model.logits(Reading(tokens, lengths))  # (B, C)
        return nn.functional.logsigmoid(scores) if self.model.multi_label else torch.log_softmax(scores, dim=-1)


class _Tagger(nn.Module):
    def __init__(self, model: BERTTagger) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        return torch.log_softmax(self.model.head(self.model.features(tokens)), dim=-1)  # (B, T, K)
