"""GPT from folders that Hugging Face's `GPT2LMHeadModel` reads: with this house's tokens, or with GPT-2's own.

    config.json          settings under GPT-2's names
    model.safetensors    weights under GPT-2's names; a pickle is never read
    tokenizer.json, or vocab.json and merges.txt

A folder of this house (`export.gpt2`) comes back as it was. Of any other, `given_gpt2` also reads the tokenizer
(`text.tokenize.pretrained`) and puts the rows of both tables in this house's order of ids. The one special of GPT-2,
which ends a text and begins the next, is BOS where it is read and EOS where it is predicted; so input and output are no
longer one table. PAD (where no special was added for it) and UNK, which GPT-2 lacks, and BOS as an output are the mean
of all V rows: by Jensen's inequality each takes at most 1/V of the probability, and hidden states stay the same.

Half precision is read as single. The rows of a padded vocabulary that no token has, and the head of a classifier, a
tagger or a reader on top of the body, are not read.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from langladder.formats.bert_folder import FLOATS, check_finite, weights_file
from langladder.formats.gpt2 import gpt2_names
from langladder.formats.tokenizer_folder import SPECIALS
from langladder.ground.artefacts import ArrayFacts, read_array_facts, read_json, read_weights
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.gpt import GPT, GPTConfig
from langladder.models.network import outline
from langladder.models.saving import Saved, checked_size
from langladder.text.tokenize.pretrained import check_rows, gpt2_tokens
from langladder.text.tokenize.specials import BOS, PAD, UNK
from langladder.text.tokenize.tokenizers import Tokenizer

_MUST_BE: dict[str, tuple[Any, tuple[Any, ...]]] = {  # GPT-2's default, what this GPT computes
    "model_type": (None, ("gpt2",)),
    "activation_function": ("gelu_new", ("gelu_new", "gelu_pytorch_tanh")),
    "layer_norm_epsilon": (1e-5, (1e-5,)),
    "scale_attn_weights": (True, (True,)),
    "scale_attn_by_inverse_layer_idx": (False, (False,)),
    "add_cross_attention": (False, (False,)),
}
_OURS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    name: (50256 if token != PAD else PAD, (token,)) for name, token in SPECIALS.items()
}
_TABLE, _OUTPUT = "wte.weight", "lm_head.weight"
_HEADS = ("score.", "classifier.", "qa_outputs.", "multiple_choice_head.")
"""What stands on top of the body in folders of a classifier, a tagger, a reader: it is not read."""


def import_gpt2(folder: Path) -> GPT:
    """Read a folder of GPT-2's weights whose special tokens are this house's (PAD 0, BOS 2, EOS 3).

    Raises:
        InputError: files are missing, the weights do not fit the settings, or the settings are not those of this GPT.
    """
    config, size, found = gpt2_settings(Path(folder))
    _allow(found, _OURS, Path(folder) / "config.json")
    return _filled(config, _arrays(Path(folder), config, size))


def given_gpt2(folder: Path) -> tuple[GPT, Tokenizer]:
    """Read a folder with GPT-2's own tokens, and its tokenizer.

    Raises:
        InputError: as of `import_gpt2`; or its tokenizer is another model's or not GPT-2's.
    """
    folder = Path(folder)
    config, size, found = gpt2_settings(folder)
    begin, end = (found.get(name, 50256) for name in ("bos_token_id", "eos_token_id"))
    if begin != end:
        raise InputError(f"{folder}/config.json: bos_token_id and eos_token_id differ; in GPT-2 they are one token")
    tokenizer, theirs = gpt2_tokens(folder, end=end, pad=found.get("pad_token_id"))
    tokens = int(theirs.max()) + 1
    check_rows(folder, size, tokens)
    arrays = _arrays(folder, config, size)
    table, output = arrays[_TABLE], arrays.get(_OUTPUT, arrays[_TABLE])
    arrays[_TABLE], arrays[_OUTPUT] = table[theirs], output[theirs]  # (V, D)
    lacks = [token for token in (PAD, UNK) if theirs[token] < 0]
    arrays[_TABLE][lacks] = table[:tokens].mean(axis=0, dtype=np.float64)
    arrays[_OUTPUT][[*lacks, BOS]] = output[:tokens].mean(axis=0, dtype=np.float64)
    return _filled(config.model_copy(update={"tie_weights": False}), arrays), tokenizer


def gpt2_settings(folder: Path) -> tuple[GPTConfig, int, dict[str, Any]]:
    """The settings that config.json describes, the number of tokens, and all that it says.

    Raises:
        InputError: the file is missing, or describes another network than this GPT.
    """
    path = folder / "config.json"
    found = read_json(path)
    if not isinstance(found, dict):
        raise InputError(f"{path}: a {type(found).__name__}, not an object")
    _allow(found, _MUST_BE, path)
    settings = {
        "context": found.get("n_positions", 1024),
        "width": found.get("n_embd", 768),
        "layers": found.get("n_layer", 12),
        "heads": found.get("n_head", 12),
        "dropout": found.get("resid_pdrop", 0.1),
        "tie_weights": bool(found.get("tie_word_embeddings", True)),
    }
    config = checked(GPTConfig, settings, str(path))
    if (inner := found.get("n_inner")) not in (None, 4 * config.width):
        raise InputError(f"{path}: n_inner is {inner!r}; read here is 4 · n_embd = {4 * config.width}")
    return config, checked_size(path, "vocab_size", found.get("vocab_size", 50257)), found


def _allow(found: dict[str, Any], allowed: dict[str, tuple[Any, tuple[Any, ...]]], path: Path) -> None:
    for name, (default, values) in allowed.items():
        value = found.get(name, default)
        if value not in values:
            raise InputError(f"{path}: {name} is {value!r}; read here is {' or '.join(map(repr, values))}")


def _arrays(folder: Path, config: GPTConfig, size: int) -> dict[str, np.ndarray]:
    """The weights under GPT-2's names without `transformer.`; they fit the settings."""
    path = weights_file(folder)
    facts = read_array_facts(path)
    # The weights as OpenAI published them lack the prefix; each layer's causal mask is no weight.
    names = {own.removeprefix("transformer."): own for own in facts if not own.startswith(_HEADS)}
    names = {name: own for name, own in names.items() if not name.endswith((".attn.bias", ".attn.masked_bias"))}
    if config.tie_weights:
        names.pop(_OUTPUT, None)
    targets = _targets(outline(Saved(GPT, config, [size]), folder))
    _check({name: facts[own] for name, own in names.items()}, targets, path)  # before it takes memory
    read = read_weights(path, names.values())
    arrays = {name: read[own] for name, own in names.items()}
    check_finite(arrays, path)
    return arrays


def _filled(config: GPTConfig, arrays: dict[str, np.ndarray]) -> GPT:
    model = GPT(config, len(arrays[_TABLE]))
    with torch.no_grad():
        for name, (tensor, transposed) in _targets(model).items():
            tensor.copy_(torch.from_numpy(arrays[name].T if transposed else arrays[name]))
    return model.eval()


def _targets(model: GPT) -> dict[str, tuple[torch.Tensor, bool]]:
    """GPT-2's name → our tensor, and whether it is stored transposed: all that a file must hold."""
    targets = {name: (tensor, transposed) for name, tensor, transposed in gpt2_names(model)}
    output = model.head.get_parameter("weight")
    if output is not model.embedding.weight:
        targets[_OUTPUT] = (output, False)
    return targets


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
            raise InputError(f"{path}: {name} is {dtype}; read here are {', '.join(FLOATS)}")
