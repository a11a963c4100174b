"""GPT to and from the folders that Hugging Face's `GPT2LMHeadModel` reads.

    config.json               settings under GPT-2's names
    model.safetensors         weights under GPT-2's names; its `Conv1D` computes x W + b, so W is that of nn.Linear,
                              transposed, and Q, K, V stand side by side in one matrix (`c_attn`), as they do here
    tokenizer.json            the tokenizer, which here also puts BOS before a text, as the model expects
    tokenizer_config.json     names of the special tokens
    generation_config.json    how a text begins and ends

GPT-2 is pre-norm with learned positions. Sinusoidal positions are written as a learned table, and √D · E beside E; no
positions as a table of zeros. Post-norm, banded layers, missing residual connections and
other output layers than the full softmax are other architectures.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from langladder.artefacts import read_arrays, read_json, write_arrays, write_json
from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.export.tokenizer_folder import SPECIALS, write_tokenizer_folder
from langladder.models.gpt import GPT, INITIAL_STD, GPTConfig
from langladder.models.network import outline
from langladder.models.saving import Saved, checked_size
from langladder.schema import checked
from langladder.text.specials import BOS, PAD
from langladder.text.tokenizers import Tokenizer

_MUST_BE: dict[str, tuple[Any, tuple[Any, ...]]] = {  # GPT-2's default, what this GPT computes
    "model_type": (None, ("gpt2",)),
    "activation_function": ("gelu_new", ("gelu_new", "gelu_pytorch_tanh")),
    "layer_norm_epsilon": (1e-5, (1e-5,)),
    "scale_attn_weights": (True, (True,)),
    "scale_attn_by_inverse_layer_idx": (False, (False,)),
    "add_cross_attention": (False, (False,)),
} | {name: (50256 if token != PAD else PAD, (token,)) for name, token in SPECIALS.items()}


def export_gpt2(model: GPT, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: `GPT2LMHeadModel` cannot compute this model, or the tokenizer is another model's.
    """
    config = _exportable(model)
    if tokenizer.vocab_size != model.vocab_size:
        raise InputError(f"{folder}: the model has {model.vocab_size} tokens, the tokenizer {tokenizer.vocab_size}")
    arrays = {name: np.ascontiguousarray(array) for name, array in gpt2_arrays(model).items()}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / "model.safetensors", arrays, {"format": "pt"})
        write_json(temporary / "config.json", _gpt2_config(config, model.vocab_size, "lm_head.weight" not in arrays))
        write_json(temporary / "generation_config.json", SPECIALS | {"do_sample": True})
        write_tokenizer_folder(temporary, tokenizer, length=config.context, first=[BOS])


def import_gpt2(folder: Path) -> GPT:
    """Read a folder of GPT-2's weights whose special tokens are this house's (PAD 0, BOS 2, EOS 3).

    Raises:
        InputError: files are missing, the weights do not fit the settings, or the settings are not those of this GPT.
    """
    folder = Path(folder)
    path = folder / "config.json"
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: a {type(found).__name__}, not an object")
    for name, (default, allowed) in _MUST_BE.items():
        value = found.get(name, default)
        if value not in allowed:
            raise InputError(f"{path}: {name} is {value!r}; read here is {' or '.join(map(repr, allowed))}")
    tied = bool(found.get("tie_word_embeddings", True))
    settings = {
        "context": found.get("n_positions", 1024),
        "width": found.get("n_embd", 768),
        "layers": found.get("n_layer", 12),
        "heads": found.get("n_head", 12),
        "dropout": found.get("resid_pdrop", 0.1),
        "tie_weights": tied,
    }
    config = checked(GPTConfig, settings, str(path))
    if (inner := found.get("n_inner")) not in (None, 4 * config.width):
        raise InputError(f"{path}: n_inner is {inner!r}; read here is 4 · n_embd = {4 * config.width}")
    saved = Saved(GPT, config, [checked_size(path, "vocab_size", found.get("vocab_size", 50257))])
    arrays = read_arrays(folder / "model.safetensors")
    # The weights as OpenAI published them lack the prefix; each layer's causal mask is no weight.
    arrays = {name.removeprefix("transformer."): array for name, array in arrays.items()}
    arrays = {name: array for name, array in arrays.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    if tied:
        arrays.pop("lm_head.weight", None)
    _check(arrays, outline(saved, folder), folder / "model.safetensors")  # before it takes memory
    model = GPT(config, *saved.sizes)
    with torch.no_grad():
        for name, (tensor, transposed) in _targets(model).items():
            tensor.copy_(torch.from_numpy(arrays[name].T if transposed else arrays[name]))
    return model.eval()


def gpt2_arrays(model: GPT) -> dict[str, np.ndarray]:
    """The weights under GPT-2's names, in its layout; `lm_head.weight` only where it is not the input table."""
    arrays, output = {}, model.head.get_parameter("weight")
    for name, tensor, transposed in _names(model):
        value = tensor.detach().float()
        arrays[f"transformer.{name}"] = (value.T if transposed else value).cpu().numpy()
    if model.embedding_scale != 1:
        arrays["transformer.wte.weight"] = arrays["transformer.wte.weight"] * np.float32(model.embedding_scale)
    if not isinstance(model.position, nn.Parameter):
        none = torch.zeros(model.context, model.head.width)
        table = model.position if isinstance(model.position, torch.Tensor) else none
        arrays["transformer.wpe.weight"] = table.float().cpu().numpy()
    if output is not model.embedding.weight or model.embedding_scale != 1:
        arrays["lm_head.weight"] = output.detach().float().cpu().numpy()
    return arrays


def _names(model: GPT) -> Iterator[tuple[str, torch.Tensor, bool]]:
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


def _targets(model: GPT) -> dict[str, tuple[torch.Tensor, bool]]:
    """GPT-2's name → our tensor, and whether it is stored transposed: all that a file must hold."""
    targets = {name: (tensor, transposed) for name, tensor, transposed in _names(model)}
    output = model.head.get_parameter("weight")
    if output is not model.embedding.weight:
        targets["lm_head.weight"] = (output, False)
    return targets


def _check(arrays: dict[str, np.ndarray], model: GPT, path: Path) -> None:
    targets = _targets(model)
    if targets.keys() != arrays.keys():
        differ = sorted(targets.keys() ^ arrays.keys())
        raise InputError(f"{path}: its names do not fit its config.json: {', '.join(differ[:5])}")
    for name, (tensor, transposed) in targets.items():
        if arrays[name].shape != (tensor.T if transposed else tensor).shape:
            raise InputError(
                f"{path}: {name} has shape {arrays[name].shape}; its config.json asks for {(*tensor.shape,)}"
            )
        if not np.isfinite(arrays[name]).all():
            raise InputError(f"{path}: {name} has a number that is not finite (a training that diverged?)")


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
