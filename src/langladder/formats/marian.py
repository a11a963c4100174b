"""The Transformer as a folder that Hugging Face's `MarianMTModel` reads (Junczys-Dowmunt et al. 2018, "Marian").

    config.json, generation_config.json, model.safetensors
    tokenizer.json, tokenizer_config.json              the source's, which here also puts EOS after a text
    target/                                            the target's

Marian's model is that of Vaswani et al. 2017, and so is ours: post-norm, √D · E, sines and cosines. Two things differ.

Order of the width: Marian's positions are all sines, then all cosines; ours alternate. The order of the width does not
matter to a network, so D is permuted in every matrix that reads or writes it. (Writing our table instead would not
work: `transformers` makes its own whenever it saves a model.)

Layer norm's ε: Marian's 1e-5 is fixed, ours is 1e-6. Logits differ by some 1e-5 of their size, and by rounding alone
once the loaded model's layer norms have `eps = 1e-6`. Not supported: pre-norm, learned
positions or none.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import nn

from langladder.formats.tokenizer_folder import SPECIALS, write_tokenizer_folder
from langladder.ground.artefacts import JSONObject, write_arrays, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.models.translation.transformer import Transformer
from langladder.nn.multi_head_attention import MultiHeadAttention
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizers import Tokenizer


def export_marian(model: Transformer, source: Tokenizer, target: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: `MarianMTModel` cannot compute this model.
    """
    config = model.config
    reasons = {
        f"norm={config.norm}": config.norm != "post",
        f"positions={config.positions}": config.positions != "sinusoidal",
    }
    if other := [setting for setting, is_so in reasons.items() if is_so]:
        raise InputError(
            f"export to marian: this model has {' and '.join(other)}, which MarianMTModel cannot compute; choose onnx"
        )
    arrays = {name: np.ascontiguousarray(tensor.detach().float().cpu().numpy()) for name, tensor in _weights(model)}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / "model.safetensors", arrays, {"format": "pt"})
        write_json(temporary / "config.json", _marian_config(model))
        # min_length counts BOS; BOS and PAD are never written, as in our own search
        decoding = {"decoder_start_token_id": BOS, "bad_words_ids": [[PAD], [BOS]], "min_length": 2, "num_beams": 1}
        write_json(temporary / "generation_config.json", SPECIALS | decoding | {"max_length": config.max_length})
        write_tokenizer_folder(temporary, source, length=config.max_length, last=[EOS])
        (temporary / "target").mkdir()
        write_tokenizer_folder(temporary / "target", target, length=config.max_length)


def _weights(model: Transformer) -> Iterator[tuple[str, torch.Tensor]]:
    """Every weight under Marian's name; a shared matrix only once."""
    D = model.config.width
    order = torch.cat([torch.arange(0, D, 2), torch.arange(1, D, 2)])  # sines, then cosines
    source, target = model.source_embedding.word.weight, model.target_embedding.word.weight  # (V, D)
    if model.config.tie == "all":
        yield "model.shared.weight", source[:, order]
    else:
        yield "model.encoder.embed_tokens.weight", source[:, order]
        yield "model.decoder.embed_tokens.weight", target[:, order]
    if model.config.tie == "none":
        yield "lm_head.weight", model.head.weight[:, order]
    bias = model.head.bias
    assert bias is not None
    yield "final_logits_bias", bias[None]  # (1, V)
    blocks = [("attention", "self_attn", "around_attention", "self_attn_layer_norm")]
    blocks += [("cross", "encoder_attn", "around_cross", "encoder_attn_layer_norm")]
    for side, layers in (("encoder", model.encoder), ("decoder", model.decoder)):
        for number, layer in enumerate(layers):
            prefix = f"model.{side}.layers.{number}"
            for ours, theirs, around, norm in blocks if side == "decoder" else blocks[:1]:
                attention = layer.get_submodule(ours)
                assert isinstance(attention, MultiHeadAttention)
                yield from _attention(f"{prefix}.{theirs}", attention, order)
                yield from _norm(f"{prefix}.{norm}", layer.get_submodule(around), order)
            expand, contract = (layer.get_submodule(f"feed.{name}") for name in ("expand", "contract"))
            yield f"{prefix}.fc1.weight", expand.get_parameter("weight")[:, order]
            yield f"{prefix}.fc1.bias", expand.get_parameter("bias")
            yield f"{prefix}.fc2.weight", contract.get_parameter("weight")[order]
            yield f"{prefix}.fc2.bias", contract.get_parameter("bias")[order]
            yield from _norm(f"{prefix}.final_layer_norm", layer.get_submodule("around_feed"), order)


def _attention(prefix: str, attention: MultiHeadAttention, order: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """Q, K and V read the width, the output writes it; a model without 1/√d has its √d in Q."""
    keys, values = attention.memory.weight.chunk(2)  # (D, D) each
    key_bias, value_bias = attention.memory.bias.chunk(2)
    query, query_bias = (attention.rescale * part for part in (attention.query.weight, attention.query.bias))
    for name, weight, bias in (("q", query, query_bias), ("k", keys, key_bias), ("v", values, value_bias)):
        yield f"{prefix}.{name}_proj.weight", weight[:, order]
        yield f"{prefix}.{name}_proj.bias", bias
    yield f"{prefix}.out_proj.weight", attention.output.weight[order]
    yield f"{prefix}.out_proj.bias", attention.output.bias[order]


def _norm(prefix: str, around: nn.Module, order: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    for name in ("weight", "bias"):
        yield f"{prefix}.{name}", around.get_parameter(f"norm.{name}")[order]


def _marian_config(model: Transformer) -> JSONObject:
    config = model.config
    inner = config.expansion * config.width
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (("layers", config.layers), ("attention_heads", config.heads), ("ffn_dim", inner))
    }
    return {
        "architectures": ["MarianMTModel"],
        "model_type": "marian",
        "vocab_size": model.source_vocab_size,
        "decoder_vocab_size": model.target_vocab_size,
        "share_encoder_decoder_embeddings": config.tie == "all",
        "tie_word_embeddings": config.tie != "none",
        "d_model": config.width,
        **sides,
        "activation_function": "relu",
        "scale_embedding": True,
        "max_position_embeddings": config.max_length,
        "dropout": config.dropout,
        "attention_dropout": config.dropout,
        "activation_dropout": config.dropout,
        "decoder_start_token_id": BOS,
        "forced_eos_token_id": None,
        "is_encoder_decoder": True,
    } | SPECIALS
