"""BERT to the folders that Hugging Face's `BertForPreTraining` and `BertForMaskedLM` read.

    config.json               settings under BERT's names
    model.safetensors         weights under BERT's names; Q, K and V, which are one matrix here, as three
    tokenizer.json            the tokenizer, which here also puts `<cls>` before a text and `<sep>` behind each
    tokenizer_config.json     names of the special tokens

A model that was taught pairs is a `BertForPreTraining`, one that was not a `BertForMaskedLM`. Both are read back
(`export.bert_folder`).
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from langladder.formats.tokenizer_folder import write_encoder_tokenizer
from langladder.ground.artefacts import write_arrays, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.models.bert import BERT, SEGMENTS
from langladder.models.saving import ARRAYS
from langladder.nn.bert_layer import NORM_EPS
from langladder.text.tokenize.specials import PAD
from langladder.text.tokenize.tokenizers import Tokenizer


def export_bert(model: BERT, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: the tokenizer is another model's.
    """
    if tokenizer.full_vocab_size != model.vocab_size:
        raise InputError(
            f"{folder}: the model has {model.vocab_size} tokens, the tokenizer {tokenizer.full_vocab_size}"
        )
    arrays = {name: np.ascontiguousarray(array) for name, array in bert_arrays(model).items()}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / ARRAYS, arrays, {"format": "pt"})
        write_json(temporary / "config.json", bert_config(model))
        write_encoder_tokenizer(temporary, tokenizer, length=model.context, gaps=True)


def bert_arrays(model: BERT) -> dict[str, np.ndarray]:
    """The weights under BERT's names, in its layout; the output matrix, which is the input table, once."""
    return {name: tensor.detach().float().cpu().numpy() for name, tensor in bert_names(model)}


def bert_config(model: BERT) -> dict[str, Any]:
    """The settings under BERT's names; of a body without heads those of `BertForMaskedLM`."""
    config = model.config
    attention = config.dropout if config.attention_dropout is None else config.attention_dropout
    return {
        "architectures": ["BertForPreTraining" if config.next_sentence else "BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": model.vocab_size,
        "max_position_embeddings": config.context,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.expansion * config.width,
        "hidden_act": "gelu",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": attention,
        "layer_norm_eps": NORM_EPS,
        "type_vocab_size": SEGMENTS,
        "initializer_range": model.initial_std,
        "tie_word_embeddings": True,
        "pad_token_id": PAD,
        "torch_dtype": "float32",
    }


def body_names(model: BERT) -> Iterator[tuple[str, torch.Tensor]]:
    """(BERT's name, our tensor or a part of it) of every weight of the embeddings and the layers."""
    yield "bert.embeddings.word_embeddings.weight", model.embedding.weight
    yield "bert.embeddings.position_embeddings.weight", model.position
    yield "bert.embeddings.token_type_embeddings.weight", model.segment
    modules: dict[str, nn.Module] = {"bert.embeddings.LayerNorm": model.norm}
    for number, layer in enumerate(model.layers):
        place = f"bert.encoder.layer.{number}"
        project = layer.get_submodule("attention.project")
        for part in ("weight", "bias"):
            thirds = project.get_parameter(part).chunk(3)
            for name, third in zip(("query", "key", "value"), thirds, strict=True):
                yield f"{place}.attention.self.{name}.{part}", third
        modules[f"{place}.attention.output.dense"] = layer.get_submodule("attention.output")
        modules[f"{place}.attention.output.LayerNorm"] = layer.get_submodule("norm_attention")
        modules[f"{place}.intermediate.dense"] = layer.get_submodule("expand")
        modules[f"{place}.output.dense"] = layer.get_submodule("contract")
        modules[f"{place}.output.LayerNorm"] = layer.get_submodule("norm_feed")
    yield from linear_names(modules)


def linear_names(modules: Mapping[str, nn.Module | None]) -> Iterator[tuple[str, torch.Tensor]]:
    """(BERT's name, our tensor) of the weight and the bias of each module that there is."""
    for name, module in modules.items():
        if module is not None:
            yield f"{name}.weight", module.get_parameter("weight")
            yield f"{name}.bias", module.get_parameter("bias")


def bert_names(model: BERT) -> Iterator[tuple[str, torch.Tensor]]:
    """(BERT's name, our tensor or a part of it) of every weight."""
    yield from body_names(model)
    yield "cls.predictions.bias", model.head.get_parameter("bias")
    yield from linear_names(
        {
            "bert.pooler.dense": model.pooler,
            "cls.predictions.transform.dense": model.transform,
            "cls.predictions.transform.LayerNorm": model.transform_norm,
            "cls.seq_relationship": model.next_head,
        }
    )
