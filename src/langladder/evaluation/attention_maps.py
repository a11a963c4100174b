"""Which token reads which in GPT and BERT: the weights of attention of every layer and head, for one row.

The network runs as it always does; the weights come from the equation form of its attention (`forward_equation`), since
the fused kernel never writes them to memory.

Shape legend: T tokens, D width, h heads.
"""

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import nn

from langladder.evaluation.page import Measured
from langladder.models.encoders.bert import BERT
from langladder.models.language.gpt import GPT
from langladder.models.language.neural import scoring
from langladder.nn.multi_head_attention import CausalSelfAttention
from langladder.nn.packing import Layout
from langladder.nn.transformer_layers import PackedSelfAttention
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

FEWEST, MOST = 6, 16  # tokens of the sentence that a page shows
MOST_WEIGHTS = 20_000  # of a page


class AttentionMaps(Measured):
    """A sentence as the network reads it, and the weights of each layer and head: rows read, columns are read."""

    tokens: list[str]
    layers: list[list[list[list[float]]]]


def weights_of(attention: nn.Module, x: torch.Tensor) -> torch.Tensor:
    """The weights of one layer of self-attention for the states of a row: (T, D) → (h, T, T)."""
    if isinstance(attention, PackedSelfAttention):
        layout = Layout.of(torch.ones(1, len(x), dtype=torch.bool, device=x.device))
        return attention.forward_equation(x, layout)[1][0]
    return cast("CausalSelfAttention", attention).forward_equation(x[None])[1][0]


@torch.no_grad()
def attention_weights(model: GPT | BERT, row: Sequence[int]) -> list[torch.Tensor]:
    """The weights of each layer, (h, T, T), for a row of at most `context` ids with its specials."""
    tokens = torch.tensor([[*row]], device=next(model.parameters()).device)
    weights: list[torch.Tensor] = []

    def keep(module: nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        x = inputs[0]
        weights.append(weights_of(module, x[0] if x.dim() == 3 else x))

    layers = model.layers if isinstance(model, BERT) else model.blocks
    hooks = [cast("nn.Module", layer.attention).register_forward_pre_hook(keep) for layer in layers]
    try:
        with scoring(model, tokens.device.type):
            _ = model.hidden(tokens) if isinstance(model, BERT) else model(tokens)
    finally:
        for hook in hooks:
            hook.remove()
    return weights


def framed(model: GPT | BERT, ids: Sequence[int]) -> list[int]:
    """The ids of a text as the network reads them: BOS before it, or `<cls>` and `<sep>` around it."""
    row: list[int] = model.framed(np.array(ids))[0].tolist() if isinstance(model, BERT) else [BOS, *ids]
    return row


def token_names(tokenizer: Tokenizer, row: Sequence[int]) -> list[str]:
    """What each id stands for in a text, without spaces; specials by their names."""
    ordinary = set(tokenizer.ordinary)
    return [(token in ordinary and tokenizer.piece(token).strip()) or tokenizer.name(token) for token in row]


def page_maps(model: object, tokenizer: Tokenizer, test: TokenStream) -> AttentionMaps | None:
    """The maps of the first short sentence of the test; None of other networks, or where there would be too many."""
    if not isinstance(model, GPT | BERT):
        return None
    for index in range(len(test)):
        for ids in _lines(test.document(index).tolist()):
            row = framed(model, ids)
            if FEWEST <= len(ids) <= MOST and len(row) <= model.context:
                layers = attention_weights(model, row)
                if sum(layer.numel() for layer in layers) > MOST_WEIGHTS:
                    return None
                return AttentionMaps(
                    tokens=token_names(tokenizer, row),
                    layers=[[head.double().cpu().numpy().round(3).tolist() for head in layer] for layer in layers],
                )
    return None


def _lines(document: list[int]) -> list[list[int]]:
    lines: list[list[int]] = [[]]
    for token in document:
        if token in (BOS, EOS):
            lines.append([])
        else:
            lines[-1].append(token)
    return lines
