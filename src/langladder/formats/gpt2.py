"""GPT as the folders that Hugging Face's `GPT2LMHeadModel` reads, and GPT-2's folders read back.

    config.json               settings under GPT-2's names
    model.safetensors         weights under GPT-2's names; its `Conv1D` computes x W + b, so W is that of nn.Linear,
                              transposed, and Q, K, V are side by side in one matrix (`c_attn`), as here
    tokenizer.json            the tokenizer, which here also puts BOS before a text, as the model expects
    tokenizer_config.json     names of the special tokens
    generation_config.json    how a text begins and ends

GPT-2 is pre-norm with learned positions. Sinusoidal positions are written as a learned table, with √D · E as the word
table; no positions as a table of zeros. A model that follows instructions has its chat template
(`apply_chat_template`); `generate` suppresses the markers of turns, which the model only reads. Post-norm, banded
layers, missing residual connections and output layers other than the full softmax are not supported.

A folder of this project is restored exactly; a pickle is never read. For any other, `import_foreign_gpt2` also reads
the tokenizer (`text.tokenize.pretrained`; tokenizer.json, or vocab.json and merges.txt) and puts the rows of both
tables in this project's order of ids. GPT-2's one special, which ends a text and begins the next, is BOS as an input
and EOS as an output; so the two tables are no longer shared. PAD (unless a special was added for it) and UNK, which
GPT-2 lacks, and BOS as an output are the mean of all V rows: by Jensen's inequality each gets at most 1/V of the
probability, and hidden states stay the same.

Half precision is converted to single. Padding rows of the vocabulary, and the head of a classifier, a tagger or a
reader, are not read.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import numpy as np
import torch
from torch import nn

from langladder.formats.bert import FLOATS, check_finite, weights_file
from langladder.formats.tokenizer_folder import SPECIALS, write_tokenizer_folder
from langladder.ground.artefacts import (
    ArrayFacts,
    JSONObject,
    read_array_facts,
    read_json,
    read_weights,
    write_arrays,
    write_json,
)
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.instructed import InstructedGPT
from langladder.models.network import outline
from langladder.models.saving import Saved, checked_size
from langladder.text.tokenize.pretrained import check_rows, gpt2_tokens
from langladder.text.tokenize.specials import BOS, PAD, UNK
from langladder.text.tokenize.tokenizers import Tokenizer

Settings = dict[str, tuple[object, ...]]
"""Settings → the values that are supported."""

# ---- writing


def export_gpt2(model: GPT, tokenizer: Tokenizer, folder: Path) -> None:
    """Write the folder, atomically; the same model gives the same bytes.

    Raises:
        InputError: `GPT2LMHeadModel` cannot compute this model, or the tokenizer is another model's.
    """
    config = _exportable(model)
    arrays = gpt2_arrays(model)
    write_decoder(model, tokenizer, folder, arrays, _gpt2_config(config, model.vocab_size, OUTPUT not in arrays))


def write_decoder(
    model: GPT, tokenizer: Tokenizer, folder: Path, arrays: dict[str, np.ndarray], about: JSONObject
) -> None:
    """Write the folder of a decoder-only network, atomically: its weights, its config.json `about`, its tokenizer.

    Raises:
        InputError: the tokenizer is another model's.
    """
    instructed = isinstance(model, InstructedGPT)
    known = tokenizer.full_vocab_size if instructed else tokenizer.vocab_size
    if known != model.vocab_size:
        raise InputError(f"{folder}: the model has {model.vocab_size} tokens, but the tokenizer has {known}")
    generation: JSONObject = SPECIALS | {"do_sample": True}
    if instructed:
        generation["suppress_tokens"] = [PAD, BOS, *range(tokenizer.vocab_size, model.vocab_size)]
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    with atomic_folder(Path(folder)) as temporary:
        write_arrays(temporary / "model.safetensors", arrays, {"format": "pt"})
        write_json(temporary / "config.json", about)
        write_json(temporary / "generation_config.json", generation)
        write_tokenizer_folder(temporary, tokenizer, length=model.context, first=[BOS], chats=instructed)


def gpt2_arrays(model: GPT) -> dict[str, np.ndarray]:
    """The weights under GPT-2's names, in its layout; `lm_head.weight` only if it is not the input table."""
    arrays = {}
    for name, tensor, transposed in gpt2_names(model):
        value = tensor.detach().float()
        arrays[f"transformer.{name}"] = (value.T if transposed else value).cpu().numpy()
    if model.embedding_scale != 1:
        arrays["transformer.wte.weight"] = arrays["transformer.wte.weight"] * np.float32(model.embedding_scale)
    if not isinstance(model.position, nn.Parameter):
        none = torch.zeros(model.context, model.head.width)
        table = model.position if isinstance(model.position, torch.Tensor) else none
        arrays["transformer.wpe.weight"] = table.float().cpu().numpy()
    return arrays | output_array(model)


def output_array(model: GPT) -> dict[str, np.ndarray]:
    """`lm_head.weight` (V, D) if it is not the input table."""
    output = model.head.get_parameter("weight")
    if output is model.embedding.weight and model.embedding_scale == 1:
        return {}
    rows = torch.zeros(model.vocab_size - len(output), output.shape[1])  # of markers, which are never generated
    return {OUTPUT: torch.cat([output.detach().float().cpu(), rows]).numpy()}


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
    check_computed(config, _COMPUTED | {"key_value_heads": (None, config.heads)}, "gpt2", "GPT2LMHeadModel")
    return config


_COMPUTED: Settings = {
    "norm": ("pre",),
    "norm_kind": ("layer",),
    "positions": ("learned", "sinusoidal", "none"),
    "feed_forward": ("gelu",),
    "experts": (None,),
    "sparse_window": (None,),
    "residual": (True,),
    "output": ("softmax",),
}


def check_computed(config: GPTConfig, computed: Settings, format: str, theirs: str) -> None:
    """Raise InputError where a setting has a value that the class `theirs` of transformers cannot compute."""
    wrong = {name: getattr(config, name) for name, values in computed.items() if getattr(config, name) not in values}
    other = [f"{name}={str(value).lower() if isinstance(value, bool) else value}" for name, value in wrong.items()]
    if other:
        raise InputError(f"export to {format}: this model has {' and '.join(other)}, which {theirs} cannot compute")


def _gpt2_config(config: GPTConfig, vocab_size: int, tied: bool) -> JSONObject:
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": vocab_size,
        "n_positions": config.context,
        "n_ctx": config.context,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.inner,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": config.norm_epsilon,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "resid_pdrop": config.dropout,
        "initializer_range": config.initial_std,
        "tie_word_embeddings": tied,
        "torch_dtype": "float32",
    } | SPECIALS


# ---- reading


Allowed = dict[str, tuple[object, tuple[object, ...]]]
"""A key of config.json → its default, and its allowed values."""
Targets = Callable[[GPT], dict[str, tuple[torch.Tensor, bool]]]
"""A network → the names of its weights in a file, and of each the tensor and whether it is stored transposed."""
_MUST_BE: Allowed = {
    "model_type": (None, ("gpt2",)),
    "activation_function": ("gelu_new", ("gelu_new", "gelu_pytorch_tanh")),
    "scale_attn_weights": (True, (True,)),
    "scale_attn_by_inverse_layer_idx": (False, (False,)),
    "add_cross_attention": (False, (False,)),
}
_OURS: Allowed = {name: (50256 if token != PAD else PAD, (token,)) for name, token in SPECIALS.items()}
_TABLE, OUTPUT = "wte.weight", "lm_head.weight"
HEADS = ("score.", "classifier.", "qa_outputs.", "multiple_choice_head.")
"""Heads in the folders of classifiers, taggers and readers; they are not read."""


def import_gpt2(folder: Path) -> GPT:
    """Read a folder of GPT-2's weights with langladder's special tokens (PAD 0, BOS 2, EOS 3).

    Raises:
        InputError: files are missing, the weights do not fit the settings, or the settings are not those of this GPT.
    """
    config, size, weights = gpt2_settings(Path(folder))
    check_allowed(weights, _OURS, Path(folder) / "config.json")
    return filled(config, _targets, _arrays(Path(folder), config, size), _TABLE)


def import_foreign_gpt2(folder: Path) -> tuple[GPT, Tokenizer]:
    """Read a folder with GPT-2's original tokens, and its tokenizer.

    Raises:
        InputError: see `import_gpt2`; or its tokenizer belongs to another model or is not GPT-2's.
    """
    folder = Path(folder)
    config, size, weights = gpt2_settings(folder)
    begin, end = (weights.get(name, 50256) for name in ("bos_token_id", "eos_token_id"))
    if begin != end:
        raise InputError(f"{folder}/config.json: bos_token_id and eos_token_id differ; in GPT-2 they are one token")
    tokenizer, theirs = gpt2_tokens(folder, end=end, pad=weights.get("pad_token_id"))
    check_rows(folder, size, int(theirs.max()) + 1)
    return renumbered(config, _targets, _arrays(folder, config, size), _TABLE, theirs), tokenizer


def renumbered(
    config: GPTConfig, targets: Targets, arrays: dict[str, np.ndarray], table: str, theirs: np.ndarray
) -> GPT:
    """A network with these weights, the rows (R, D) of both tables in the order of this project's ids, (V, D) each.

    Args:
        table: names its embedding; without an output layer, that is the output layer, too.
        theirs: (V,) the row of each id; −1: none, it gets the mean of all.
    """
    tokens, first, last = int(theirs.max()) + 1, arrays[table], arrays.get(OUTPUT, arrays[table])
    arrays |= {table: first[theirs], OUTPUT: last[theirs]}
    lacks = [token for token in (PAD, UNK) if theirs[token] < 0]
    arrays[table][lacks] = first[:tokens].mean(axis=0, dtype=np.float64)
    arrays[OUTPUT][[*lacks, BOS]] = last[:tokens].mean(axis=0, dtype=np.float64)
    return filled(config.model_copy(update={"tie_weights": False}), targets, arrays, table)


def gpt2_settings(folder: Path) -> tuple[GPTConfig, int, JSONObject]:
    """The settings from config.json, the number of tokens, and its whole content.

    Raises:
        InputError: the file is missing, or describes another network than this GPT.
    """
    path = folder / "config.json"
    results = read_config(path, _MUST_BE)
    settings = {
        "context": results.get("n_positions", 1024),
        "width": results.get("n_embd", 768),
        "layers": results.get("n_layer", 12),
        "heads": results.get("n_head", 12),
        "dropout": results.get("resid_pdrop", 0.1),
        "norm_epsilon": results.get("layer_norm_epsilon", 1e-5),
        "inner": results.get("n_inner"),
        "tie_weights": bool(results.get("tie_word_embeddings", True)),
    }
    config = checked(GPTConfig, settings, str(path))
    return config, checked_size(path, "vocab_size", results.get("vocab_size", 50257)), results


def read_config(path: Path, allowed: Allowed) -> JSONObject:
    """A config.json. Raises InputError where it is missing, is no object, or has another value than is supported."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: a {type(content).__name__}, not an object")
    check_allowed(content, allowed, path)
    return content


def check_allowed(content: JSONObject, allowed: Allowed, path: Path) -> None:
    """Raise InputError for an unsupported value of a key of config.json."""
    for name, (default, values) in allowed.items():
        value = content.get(name, default)
        if value not in values:
            raise InputError(f"{path}: {name} is {value!r}; supported is {' or '.join(map(repr, values))}")


def _arrays(folder: Path, config: GPTConfig, size: int) -> dict[str, np.ndarray]:
    """The weights under GPT-2's names without `transformer.`; they fit the settings."""
    # The weights as OpenAI published them lack the prefix; each layer's causal mask is no weight.
    return read_arrays(folder, config, size, _targets, "transformer.", (".attn.bias", ".attn.masked_bias"))


def read_arrays(
    folder: Path, config: GPTConfig, size: int, targets: Targets, prefix: str, no_weights: tuple[str, ...]
) -> dict[str, np.ndarray]:
    """The weights of a folder under their names without the prefix; heads and tensors that are no weights left out.

    Raises:
        InputError: they do not fit the settings.
    """
    path = weights_file(folder)
    facts = read_array_facts(path)
    names = {own.removeprefix(prefix): own for own in facts if not own.startswith(HEADS)}
    names = {name: own for name, own in names.items() if not name.endswith(no_weights)}
    if config.tie_weights:
        names.pop(OUTPUT, None)
    wanted = targets(cast(GPT, outline(Saved(GPT, config, [size]), folder)))
    _check({name: facts[own] for name, own in names.items()}, wanted, path)  # before it takes memory
    read = read_weights(path, names.values())
    arrays = {name: read[own] for name, own in names.items()}
    check_finite(arrays, path)
    return arrays


def filled(config: GPTConfig, targets: Targets, arrays: dict[str, np.ndarray], table: str) -> GPT:
    """A network with these weights, in evaluation mode; `table` names its embedding (V, D)."""
    model = GPT(config, len(arrays[table]))
    with torch.no_grad():
        for name, (tensor, transposed) in targets(model).items():
            tensor.copy_(torch.from_numpy(arrays[name].T if transposed else arrays[name]))
    return model.eval()


def _targets(model: GPT) -> dict[str, tuple[torch.Tensor, bool]]:
    """GPT-2's name → our tensor, and whether it is stored transposed: all that a file must hold."""
    targets = {name: (tensor, transposed) for name, tensor, transposed in gpt2_names(model)}
    return targets | output_target(model)


def output_target(model: GPT) -> dict[str, tuple[torch.Tensor, bool]]:
    """The output layer, as of `Targets`, if it is not the input table."""
    output = model.head.get_parameter("weight")
    return {} if output is model.embedding.weight else {OUTPUT: (output, False)}


def _check(facts: dict[str, ArrayFacts], targets: dict[str, tuple[torch.Tensor, bool]], path: Path) -> None:
    if targets.keys() != facts.keys():
        lacks, more = sorted(targets.keys() - facts.keys()), sorted(facts.keys() - targets.keys())
        wrong = [f"lacks {name}" for name in lacks[:3]] + [f"has {name[:60]}" for name in more[:3]]
        raise InputError(f"{path}: its names do not fit its config.json: {', '.join(wrong)}")
    for name, (tensor, transposed) in targets.items():
        dtype, shape = facts[name]
        if shape != (tensor.T if transposed else tensor).shape:
            raise InputError(f"{path}: {name} has shape {shape}; its config.json asks for {(*tensor.shape,)}")
        if dtype not in FLOATS:
            raise InputError(f"{path}: {name} is {dtype}; supported are {', '.join(FLOATS)}")
