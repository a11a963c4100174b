"""The Transformer as weights of `torch.nn.Transformer`, read without this package in twenty lines (see the model card).

    config.json         arguments of nn.Transformer, the scale √D of the embeddings, which matrices are shared
    model.safetensors   source.words, target.words (V, D), source.positions, target.positions (P, D), output.weight,
                        output.bias, and `transformer.…` under nn.Transformer's own names
    source.json         the source's tokenizer, which here also puts EOS after a text;  target.json, the target's

All of `Transformer` is supported: both norms, every kind of positions (none: a table of zeros), any sharing.
nn.Transformer ends its stacks with a norm, which post-norm stacks lack: the reader removes it.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from langladder.formats.tokenizer_folder import SPECIALS, write_tokenizer
from langladder.ground.artefacts import write_arrays, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.models.translation.transformer import Transformer
from langladder.nn.multi_head_attention import MultiHeadAttention
from langladder.nn.token_embedding import TokenEmbedding
from langladder.nn.transformer_layers import NORM_EPS
from langladder.text.tokenize.specials import EOS
from langladder.text.tokenize.tokenizers import Tokenizer

# our residual connection's name of each layer's norms, in torch's order
_NORMS = {"encoder": ("attention", "feed"), "decoder": ("attention", "cross", "feed")}


def export_torch(model: Transformer, source: Tokenizer, target: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: `torch.nn.Transformer` cannot compute this model.
    """
    if model.config.norm == "none":
        raise InputError("export to torch: this model has norm=none, which torch.nn.Transformer cannot compute")
    config = model.config
    settings = {
        "d_model": config.width,
        "nhead": config.heads,
        "num_encoder_layers": config.layers,
        "num_decoder_layers": config.layers,
        "dim_feedforward": config.expansion * config.width,
        "dropout": config.dropout,
        "layer_norm_eps": NORM_EPS,
        "norm_first": config.norm == "pre",
    }
    shared = {"all": ["target.words", "output.weight"], "target": ["output.weight"], "none": []}[config.tie]
    original = "source.words" if config.tie == "all" else "target.words"
    about = {"transformer": settings, "scale": model.source_embedding.scale, **SPECIALS}
    arrays = {name: tensor.detach().float().cpu().numpy() for name, tensor in _weights(model) if name not in shared}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / "model.safetensors", {name: np.ascontiguousarray(a) for name, a in arrays.items()})
        write_json(temporary / "config.json", about | {"shared": dict.fromkeys(shared, original)})
        write_tokenizer(temporary / "source.json", source, last=[EOS])
        write_tokenizer(temporary / "target.json", target)


def _weights(model: Transformer) -> Iterator[tuple[str, torch.Tensor]]:
    for name, embedding in (("source", model.source_embedding), ("target", model.target_embedding)):
        yield f"{name}.words", embedding.word.weight
        yield f"{name}.positions", _positions(embedding, model.config.max_length)
    bias = model.head.bias
    assert bias is not None
    yield from {"output.weight": model.head.weight, "output.bias": bias}.items()
    for side, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, layer in enumerate(layers):
            yield from _layer(f"transformer.{side}.layers.{number}", layer, _NORMS[side])
    for side, norm in (("encoder", model.encoder_norm), ("decoder", model.decoder_norm)):
        yield from ((f"transformer.{side}.norm.{name}", value) for name, value in norm.named_parameters())


def _layer(prefix: str, layer: nn.Module, norms: tuple[str, ...]) -> Iterator[tuple[str, torch.Tensor]]:
    for ours, theirs in (("attention", "self_attn"), ("cross", "multihead_attn"))[: len(norms) - 1]:
        attention = layer.get_submodule(ours)
        assert isinstance(attention, MultiHeadAttention)
        for name in ("weight", "bias"):
            # Q, K, V one below the other; a model without 1/√d has its √d in Q
            query = attention.rescale * attention.query.get_parameter(name)
            yield f"{prefix}.{theirs}.in_proj_{name}", torch.cat([query, attention.memory.get_parameter(name)])
            yield f"{prefix}.{theirs}.out_proj.{name}", attention.output.get_parameter(name)
    modules = {"linear1": "feed.expand", "linear2": "feed.contract"}
    modules |= {f"norm{place}": f"around_{name}.norm" for place, name in enumerate(norms, start=1)}
    for theirs, ours in modules.items():
        for name in ("weight", "bias"):
            yield f"{prefix}.{theirs}.{name}", layer.get_submodule(ours).get_parameter(name)


def _positions(embedding: TokenEmbedding, length: int) -> torch.Tensor:
    """The first rows of the table of positions, (P, D)."""
    if embedding.positions == "none":
        return torch.zeros(length, embedding.word.embedding_dim)
    return embedding.table[:length]
