"""GPT to the folders that Hugging Face's `GPT2LMHeadModel` reads.

    config.json               settings under GPT-2's names
    model.safetensors         weights under GPT-2's names; its `Conv1D` computes x W + b, so W is that of nn.Linear,
                              transposed, and Q, K, V stand side by side in one matrix (`c_attn`), as they do here
    tokenizer.json            the tokenizer, which here also puts BOS before a text, as the model expects
    tokenizer_config.json     names of the special tokens
    generation_config.json    how a text begins and ends

GPT-2 is pre-norm with learned positions. Sinusoidal positions are written as a learned table, and √D · E beside E; no
positions as a table of zeros. A model that follows instructions brings its chat template (`apply_chat_template`); the
markers of the turns, which it reads and never says, are among the tokens that `generate` suppresses. Post-norm, banded
layers, missing residual connections and other output layers than the full softmax are other architectures. Such folders
are read by `export.gpt2_folder`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from langladder.formats.tokenizer_folder import SPECIALS, write_tokenizer_folder
from langladder.ground.artefacts import write_arrays, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.models.gpt import GPT, INITIAL_STD, GPTConfig
from langladder.models.instructed import InstructedGPT
from langladder.text.tokenize.specials import BOS, PAD
from langladder.text.tokenize.tokenizers import Tokenizer


def export_gpt2(model: GPT, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: `GPT2LMHeadModel` cannot compute this model, or the tokenizer is another model's.
    """
    config = _exportable(model)
    instructed = isinstance(model, InstructedGPT)
    known = tokenizer.full_vocab_size if instructed else tokenizer.vocab_size
    if known != model.vocab_size:
        raise InputError(f"{folder}: the model has {model.vocab_size} tokens, the tokenizer {known}")
    generation: dict[str, Any] = SPECIALS | {"do_sample": True}
    if instructed:
        generation["suppress_tokens"] = [PAD, BOS, *range(tokenizer.vocab_size, model.vocab_size)]
    arrays = {name: np.ascontiguousarray(array) for name, array in gpt2_arrays(model).items()}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / "model.safetensors", arrays, {"format": "pt"})
        write_json(temporary / "config.json", _gpt2_config(config, model.vocab_size, "lm_head.weight" not in arrays))
        write_json(temporary / "generation_config.json", generation)
        write_tokenizer_folder(temporary, tokenizer, length=config.context, first=[BOS], chats=instructed)


def gpt2_arrays(model: GPT) -> dict[str, np.ndarray]:
    """The weights under GPT-2's names, in its layout; `lm_head.weight` only where it is not the input table."""
    arrays, output = {}, model.head.get_parameter("weight")
    for name, tensor, transposed in gpt2_names(model):
        value = tensor.detach().float()
        arrays[f"transformer.{name}"] = (value.T if transposed else value).cpu().numpy()
    if model.embedding_scale != 1:
        arrays["transformer.wte.weight"] = arrays["transformer.wte.weight"] * np.float32(model.embedding_scale)
    if not isinstance(model.position, nn.Parameter):
        none = torch.zeros(model.context, model.head.width)
        table = model.position if isinstance(model.position, torch.Tensor) else none
        arrays["transformer.wpe.weight"] = table.float().cpu().numpy()
    if output is not model.embedding.weight or model.embedding_scale != 1:
        rows = torch.zeros(model.vocab_size - len(output), output.shape[1])  # of markers, which are never said
        arrays["lm_head.weight"] = torch.cat([output.detach().float().cpu(), rows]).numpy()
    return arrays


def gpt2_names(model: GPT) -> Iterator[tuple[str, torch.Tensor, bool]]:
    """(GPT-2's name without `transformer.`, our tensor, whether it is stored transposed) of every shared weight."""
    yield "wte.weight", model.embedding.weight, False
    if isinstance(model.position, nn.Parameter):
        yield "wpe.weight", model.position, False
    modules: dict[str, tuple[nn.Module, bool]] = {}
    for number, block in enumerate(model.blocks):
        modules[f"h.{number}.ln_1"] = (block.get_submodule("norm_attention"), False)
        modules[f"h.{number}.attn.c_attn"] = (block.get_submodule("attention.project"), True)  # (D, 3D)
        modules[f"h.{number}.attn.c_proj"] = (block.get_submodule("attention.output"), True)  # (D, D)
        modules[f"h.{number}.ln_2"] = (block.get_submodule("norm_feed"), False)
        modules[f"h.{number}.mlp.c_fc"] = (block.get_submodule("expand"), True)  # (D, 4D)
        modules[f"h.{number}.mlp.c_proj"] = (block.get_submodule("contract"), True)  # (4D, D)
    modules["ln_f"] = (model.norm, False)
    for name, (module, transposed) in modules.items():
        yield f"{name}.weight", module.get_parameter("weight"), transposed
        bias = getattr(module, "bias", None)
        width = module.get_parameter("weight").shape[0]  # a layer without bias is one whose bias is 0
        yield f"{name}.bias", torch.zeros(width) if bias is None else bias, False


def _exportable(model: GPT) -> GPTConfig:
    config = model.config
    assert isinstance(config, GPTConfig)
    reasons = {
        "norm=post": config.norm == "post",
        f"sparse_window={config.sparse_window}": config.sparse_window is not None,
        "residual=false": not config.residual,
        f"output={config.output}": config.output != "softmax",
    }
    other = [setting for setting, is_so in reasons.items() if is_so]
    if other:
        raise InputError(f"export to gpt2: this model has {' and '.join(other)}, which GPT2LMHeadModel cannot compute")
    return config


def _gpt2_config(config: GPTConfig, vocab_size: int, tied: bool) -> dict[str, Any]:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": vocab_size,
        "n_positions": config.context,
        "n_ctx": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": None,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": 1e-5,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "initializer_range": INITIAL_STD,
        "tie_word_embeddings": tied,
        "torch_dtype": "float32",
    } | SPECIALS
