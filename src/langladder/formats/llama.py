"""GPT with Llama's layers as the folders that Hugging Face's `LlamaForCausalLM` reads, and such folders read back.

    config.json         settings under Llama's names
    model.safetensors   weights under Llama's names; Q, K and V, one matrix here, are three there
    and the files of the tokenizer, as beside GPT-2 (`formats.gpt2`)

Llama is pre-norm with RMSNorm, rotary positions, SwiGLU, grouped queries or not, without biases. A folder of this
project is restored exactly. For any other, `import_foreign_llama` also reads the tokenizer, if it is byte-level BPE
that cuts text as GPT-2 does (`text.tokenize.pretrained`). SentencePiece, other rules for cutting, scaled rotary
positions, biases, and weights in several files are not supported. Rotary positions have no weights, so a longer context
is cut to this GPT's maximum.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
import torch

from langladder.formats.gpt2 import (
    OUTPUT,
    Allowed,
    Settings,
    check_allowed,
    check_computed,
    filled,
    output_array,
    output_target,
    read_arrays,
    read_config,
    renumbered,
    write_decoder,
)
from langladder.formats.tokenizer_folder import SPECIALS
from langladder.ground.artefacts import JSONObject
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.language.gpt import GPT, LLAMA, GPTBlock, GPTConfig
from langladder.models.saving import checked_size
from langladder.text.tokenize.pretrained import check_rows, gpt2_tokens
from langladder.text.tokenize.tokenizers import Tokenizer

_TABLE = "embed_tokens.weight"
_COMPUTED: Settings = {name: (value,) for name, value in LLAMA.items() if name != "tie_weights"}
_COMPUTED |= {
    "norm": ("pre",),
    "experts": (None,),
    "sparse_window": (None,),
    "residual": (True,),
    "output": ("softmax",),
}
LONGEST = 8192  # the most that `GPTConfig.context` takes


def is_llama(config: GPTConfig) -> bool:
    """Whether `LlamaForCausalLM` computes a GPT of these settings."""
    return all(getattr(config, name) in values for name, values in _COMPUTED.items())


# ---- writing


def export_llama(model: GPT, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: `LlamaForCausalLM` cannot compute this model, or the tokenizer is another model's.
    """
    config = model.config
    check_computed(config, _COMPUTED, "llama", "LlamaForCausalLM")
    arrays = {f"model.{name}": tensor.detach().float().cpu().numpy() for name, tensor in llama_names(model)}
    arrays |= output_array(model)
    write_decoder(model, tokenizer, folder, arrays, llama_config(config, model.vocab_size, OUTPUT not in arrays))


def llama_names(model: GPT) -> Iterator[tuple[str, torch.Tensor]]:
    """(Llama's name without `model.`, our tensor or a part of it) of every weight but the output layer's."""
    yield _TABLE, model.embedding.weight
    for number, block in enumerate(cast("list[GPTBlock]", model.blocks)):
        layer = f"layers.{number}"
        projections = torch.split(block.attention.project.weight, block.attention.sizes)  # (h·d, D), (g·d, D), (g·d, D)
        for name, part in zip("qkv", projections, strict=True):
            yield f"{layer}.self_attn.{name}_proj.weight", part
        yield f"{layer}.self_attn.o_proj.weight", block.attention.output.weight  # (D, D)
        yield f"{layer}.input_layernorm.weight", block.norm_attention.get_parameter("weight")
        assert block.gate is not None
        yield f"{layer}.mlp.gate_proj.weight", block.gate.weight  # (inner, D)
        yield f"{layer}.mlp.up_proj.weight", block.expand.weight  # (inner, D)
        yield f"{layer}.mlp.down_proj.weight", block.contract.weight  # (D, inner)
        yield f"{layer}.post_attention_layernorm.weight", block.norm_feed.get_parameter("weight")
    yield "norm.weight", model.norm.get_parameter("weight")


def llama_config(config: GPTConfig, vocab_size: int, tied: bool) -> JSONObject:
    """config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": vocab_size,
        "max_position_embeddings": config.context,
        "hidden_size": config.width,
        "intermediate_size": config.feed_width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.key_value_heads or config.heads,
        "head_dim": config.width // config.heads,
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_epsilon,
        "rope_theta": config.rotary_base,
        "rope_scaling": None,
        "attention_bias": False,
        "mlp_bias": False,
        "attention_dropout": config.dropout,
        "initializer_range": config.initial_std,
        "tie_word_embeddings": tied,
        "torch_dtype": "float32",
    } | SPECIALS


# ---- reading

_MUST_BE: Allowed = {
    "model_type": (None, ("llama",)),
    "hidden_act": ("silu", ("silu",)),
    "attention_bias": (False, (False,)),
    "mlp_bias": (False, (False,)),
    "rope_scaling": (None, (None,)),
}
_OURS: Allowed = {
    name: ({"bos_token_id": 1, "eos_token_id": 2}.get(name), (token,)) for name, token in SPECIALS.items()
}


def import_llama(folder: Path) -> GPT:
    """Read a folder of Llama's weights with langladder's special tokens (PAD 0, BOS 2, EOS 3).

    Raises:
        InputError: files are missing, the weights do not fit the settings, or the settings are not those of this GPT.
    """
    config, size, weights = llama_settings(Path(folder))
    check_allowed(weights, _OURS, Path(folder) / "config.json")
    return filled(config, _targets, _arrays(Path(folder), config, size), _TABLE)


def import_foreign_llama(folder: Path) -> tuple[GPT, Tokenizer]:
    """Read a folder with other tokens, and its tokenizer.

    Raises:
        InputError: as of `import_llama`; or its tokenizer is another model's, or does not cut text as GPT-2's does.
    """
    folder = Path(folder)
    config, size, weights = llama_settings(folder)
    begin, end = weights.get("bos_token_id", 1), weights.get("eos_token_id", 2)
    tokenizer, theirs = gpt2_tokens(folder, begin=begin, end=end, pad=weights.get("pad_token_id"))
    check_rows(folder, size, int(theirs.max()) + 1)
    return renumbered(config, _targets, _arrays(folder, config, size), _TABLE, theirs), tokenizer


def llama_settings(folder: Path) -> tuple[GPTConfig, int, JSONObject]:
    """The settings from config.json, the number of tokens, and its whole content.

    Raises:
        InputError: the file is missing, or describes another network than this GPT.
    """
    path = folder / "config.json"
    results = read_config(path, _MUST_BE)
    rotary = results.get("rope_parameters") or {}  # where newer files have rope_theta
    if not isinstance(rotary, dict) or rotary.get("rope_type", "default") != "default":
        raise InputError(f"{path}: rope_parameters is {str(rotary)[:60]}; supported is the rope_type 'default'")
    context = results.get("max_position_embeddings", 2048)
    heads = results.get("num_attention_heads", 32)
    settings = LLAMA | {
        "context": min(context, LONGEST) if isinstance(context, int) else context,
        "width": results.get("hidden_size", 4096),
        "inner": results.get("intermediate_size", 11008),
        "layers": results.get("num_hidden_layers", 32),
        "heads": heads,
        "key_value_heads": results.get("num_key_value_heads") or heads,
        "dropout": results.get("attention_dropout", 0.0),
        "norm_epsilon": results.get("rms_norm_eps", 1e-6),
        "rotary_base": rotary.get("rope_theta", results.get("rope_theta", 10_000.0)),
        "tie_weights": bool(results.get("tie_word_embeddings", False)),
    }
    config = checked(GPTConfig, settings, str(path))
    if (size := results.get("head_dim")) not in (None, config.width // config.heads):
        raise InputError(
            f"{path}: head_dim is {str(size)[:20]}; supported is hidden_size / num_attention_heads = "
            f"{config.width // config.heads}"
        )
    return config, checked_size(path, "vocab_size", results.get("vocab_size", 32_000)), results


def _arrays(folder: Path, config: GPTConfig, size: int) -> dict[str, np.ndarray]:
    """The weights under Llama's names without `model.`; they fit the settings."""
    return read_arrays(folder, config, size, _targets, "model.", (".rotary_emb.inv_freq",))


def _targets(model: GPT) -> dict[str, tuple[torch.Tensor, bool]]:
    """Llama's name → our tensor or a part of it: all that a file must hold. None is stored transposed."""
    return {name: (tensor, False) for name, tensor in llama_names(model)} | output_target(model)
