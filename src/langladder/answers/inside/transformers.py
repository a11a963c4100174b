"""Inside GPT and BERT: attention weights, the norm of the residual stream, and the answer of each layer.

The network runs as it always does; hooks keep what its layers read and write. The weights of attention come from the
equation form of the layers (`forward_equation`): the fused kernel never writes them to memory.

The answer of a layer ("logit lens", nostalgebraist 2020) is what the network's own last norm and output layer make of
the state that this layer leaves behind. At the last layer it is the network's answer.

Shape legend: T tokens, D width, V vocabulary, h heads, d = D/h.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import torch
from torch import nn

from langladder.evaluation.attention_maps import weights_of
from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT, GPTBlock
from langladder.models.language.neural import scoring
from langladder.nn.multi_head_attention import CausalSelfAttention
from langladder.nn.transformer_layers import BERTLayer, PackedSelfAttention
from langladder.text.tokenize.specials import BOS, PAD

LIKELIEST = 5
Answer = Callable[[torch.Tensor], torch.Tensor]
"""A state (D,) → log-probabilities (V,)."""


class Guess(NamedTuple):
    """The prediction from a state.

    Attributes:
        likeliest: the most probable ids with their probabilities. probability, rank: of the actual token; rank 1 is the
            best.
    """

    likeliest: list[tuple[int, float]]
    probability: float
    rank: int


class Layer(NamedTuple):
    """One layer.

    Attributes:
        weights: (h, T, T), one row per query token. scores: (h, T), q · k / √d of the inspected token, before the
            softmax; −∞ where it must not attend.
        queries, keys, values: norms of the vectors q, (h,), of the inspected token, and of k and v, (h, T), of all
            tokens.
        attention, feed_forward: (T,) each, norms of the two sublayers' results at each token.
        stream: (T,) lengths of the states that the layer leaves behind.
        guess: what the state of the token that is looked at would answer.
    """

    weights: torch.Tensor
    scores: torch.Tensor
    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    attention: torch.Tensor
    feed_forward: torch.Tensor
    stream: torch.Tensor
    guess: Guess


class Inside(NamedTuple):
    """The computation of a network for one token.

    Attributes:
        tokens: T input ids. position: the index of the inspected token, from which the answer is computed.
        embedded: (T,) norms of the states before the first layer; first: their prediction.
    """

    tokens: list[int]
    position: int
    embedded: torch.Tensor
    first: Guess
    layers: list[Layer]


@torch.no_grad()
def gpt(model: GPT, prefix: Sequence[int], token: int) -> Inside:
    """How GPT comes to P(token | prefix): the last layer's guess is that of `next_log_probs`.

    Args:
        prefix: ids, BOS first; of a long one the network reads what its context holds.
    """
    read = model.as_read(prefix)[-model.context :]
    tokens = torch.tensor([read], device=next(model.parameters()).device)

    def answer(state: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(model.head(model.norm(state)).float(), dim=-1)

    blocks = [cast("GPTBlock", block) for block in model.blocks]
    with scoring(model, tokens.device.type), _watching(blocks) as kept:
        model(tokens)
        return _inside(blocks, kept, read, len(read) - 1, answer, token, {PAD, BOS})


@torch.no_grad()
def bert(model: BERT, row: Sequence[int], position: int, token: int, hidden: Iterable[int]) -> Inside:
    """How BERT comes to P(token | the rest) at a gap: the last layer's guess is that of `masked_log_probs`.

    Args:
        row: `<cls>` … `<sep>`, with `<mask>` at `position`.
        hidden: ids that are no text, which are not listed among the likeliest.
    """
    tokens = torch.tensor([[*row]], device=next(model.parameters()).device)

    def answer(state: torch.Tensor) -> torch.Tensor:
        return torch.log_softmax(model.head(model.transformed(model.normed(state))).float(), dim=-1)

    layers = [cast("BERTLayer", layer) for layer in model.layers]
    with scoring(model, tokens.device.type), _watching(layers) as kept:
        model.hidden(tokens)
        return _inside(layers, kept, list(row), position, answer, token, set(hidden))


class _Kept(NamedTuple):
    """For each layer: its input and output, the input and output of its attention, and the output of its FFN; (T, D)
    each."""

    read: list[torch.Tensor]
    left: list[torch.Tensor]
    attention_read: list[torch.Tensor]
    attention: list[torch.Tensor]
    feed_forward: list[torch.Tensor]


@contextmanager
def _watching(layers: Sequence[GPTBlock | BERTLayer]) -> Iterator[_Kept]:
    """Record the layers' results for one row inside this context."""
    kept = _Kept([], [], [], [], [])

    def keep(read: list[torch.Tensor] | None, left: list[torch.Tensor]) -> Callable[..., None]:
        def hook(_: nn.Module, inputs: tuple[torch.Tensor, ...], out: Any) -> None:
            if read is not None:
                read.append(_row(inputs[0]))
            left.append(_row(out[0] if isinstance(out, tuple) else out))

        return hook

    hooks = []
    for layer in layers:
        hooks.append(layer.register_forward_hook(keep(kept.read, kept.left)))
        hooks.append(layer.attention.register_forward_hook(keep(kept.attention_read, kept.attention)))
        writer = layer.feed_writer if isinstance(layer, GPTBlock) else layer.contract
        hooks.append(writer.register_forward_hook(keep(None, kept.feed_forward)))
    try:
        yield kept
    finally:
        for entry in hooks:
            entry.remove()


def _row(x: torch.Tensor) -> torch.Tensor:
    """(1, T, D) or (T, D) → (T, D)."""
    return x[0] if x.dim() == 3 else x


def _inside(
    layers: Sequence[GPTBlock | BERTLayer],
    kept: _Kept,
    tokens: list[int],
    position: int,
    answer: Answer,
    token: int,
    hidden: set[int],
) -> Inside:
    results = []
    for number, layer in enumerate(layers):
        x = kept.attention_read[number]
        weights = weights_of(layer.attention, x)  # (h, T, T)
        query, key, value = _projected(layer.attention, x)  # (h, T, d) each
        scores = (key @ query[:, position, :, None])[..., 0] / math.sqrt(query.shape[-1])  # (h, T)
        scores = scores.masked_fill(weights[:, position] == 0, -math.inf)
        lengths = (query[:, position].norm(dim=-1), key.norm(dim=-1), value.norm(dim=-1))
        left = kept.left[number]
        wrote, fed = kept.attention[number], kept.feed_forward[number]
        guess = _guess(answer(left[position]), token, hidden)
        results.append(Layer(weights, scores, *lengths, wrote.norm(dim=-1), fed.norm(dim=-1), left.norm(dim=-1), guess))
    embedded = kept.read[0]
    return Inside(tokens, position, embedded.norm(dim=-1), _guess(answer(embedded[position]), token, hidden), results)


def _projected(
    attention: CausalSelfAttention | PackedSelfAttention, x: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, keys and values of a row: (T, D) → (h, T, d) each."""
    if isinstance(attention, CausalSelfAttention):
        query, key, value = attention.vectors(x[None])  # (1, h, T, d) each
        return query[0], key[0], value[0]
    query, key, value = (attention.split(part)[0] for part in attention.project(x[None]).chunk(3, dim=-1))
    return query, key, value


def _guess(log_probs: torch.Tensor, token: int, hidden: set[int]) -> Guess:
    """The prediction from log-probabilities (V,)."""
    probs = log_probs.double().exp()
    listed = probs.index_fill(0, torch.tensor(sorted(hidden), device=probs.device, dtype=torch.int64), 0.0)
    values, ids = listed.topk(min(LIKELIEST, len(listed)))
    own = float(probs[token])
    return Guess(list(zip(ids.tolist(), values.tolist(), strict=True)), own, 1 + int((listed > own).sum()))
