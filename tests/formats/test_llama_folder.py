"""Llama folders: parity with `LlamaForCausalLM` both ways, round trips, folders that are refused."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from langladder.formats.imported import read_imported
from langladder.formats.llama import export_llama, import_foreign_llama, import_llama, llama_config, llama_names
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, LLAMA
from langladder.models.language.instructed import read_instructed
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from tests.formats.test_given_gpt2 import END, VOCABULARY, tokenizer_json
from tests.models.spoken import saved_instructed

TEXT = ["the cat sat on the mat", "apple and pear salad"]
TOKENS = torch.tensor([[BOS, 5, 7, 9, 6, 11, 8], [BOS, 12, 4, 4, 13, 10, EOS]])
SHAPES = [{"key_value_heads": 2}, {}, {"key_value_heads": 1, "tie_weights": True, "rotary_base": 500.0, "inner": 20}]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXT, TokenizerConfig(kind="bpe_bytes", vocab_size=270))


def llama(vocab_size: int, **settings: object) -> GPT:
    torch.manual_seed(3)
    values = {"context": 12, "width": 16, "layers": 2, "heads": 4} | LLAMA | settings
    model = GPT(GPT.Config.model_validate(values), vocab_size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def logits(model: GPT, tokens: torch.Tensor = TOKENS) -> torch.Tensor:
    with torch.no_grad():
        return model.head(model(tokens)[0])


def llama_logits(folder: Path, ids: np.ndarray) -> np.ndarray:
    """Llama as `LlamaForCausalLM` computes it from these files, in NumPy float64: (B, T) → (B, T, V)."""
    about = read_json(folder / "config.json")
    w = {name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()}
    (B, T), h, g, d = ids.shape, about["num_attention_heads"], about["num_key_value_heads"], about["head_dim"]
    angle = np.arange(T)[:, None] * about["rope_theta"] ** (-np.arange(0, d, 2) / d)  # (T, d/2)

    def norm(x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + about["rms_norm_eps"]) * w[f"{name}.weight"]

    def turned(x):  # as complex numbers: a pair is x_i + i x_(i+d/2)
        z = (x[..., : d // 2] + 1j * x[..., d // 2 :]) * np.exp(1j * angle)
        return np.concatenate([z.real, z.imag], axis=-1)

    x = w["model.embed_tokens.weight"][ids]
    for layer in range(about["num_hidden_layers"]):
        at = f"model.layers.{layer}"
        a = norm(x, f"{at}.input_layernorm")
        q, k, v = (
            (a @ w[f"{at}.self_attn.{part}_proj.weight"].T).reshape(B, T, -1, d).transpose(0, 2, 1, 3) for part in "qkv"
        )
        k, v = k[:, np.arange(h) // (h // g)], v[:, np.arange(h) // (h // g)]  # head i reads group ⌊i g / h⌋
        scores = np.where(np.tri(T, dtype=bool), turned(q) @ turned(k).transpose(0, 1, 3, 2) / math.sqrt(d), -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ v
        x = x + mixed.transpose(0, 2, 1, 3).reshape(B, T, -1) @ w[f"{at}.self_attn.o_proj.weight"].T
        a = norm(x, f"{at}.post_attention_layernorm")
        gate, up = (a @ w[f"{at}.mlp.{part}_proj.weight"].T for part in ("gate", "up"))
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w[f"{at}.mlp.down_proj.weight"].T
    head = w["model.embed_tokens.weight" if about["tie_word_embeddings"] else "lm_head.weight"]
    return norm(x, "model.norm") @ head.T


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_parity_of_the_exported_files_with_llama(tmp_path: Path, tokenizer: Tokenizer, settings) -> None:
    model = llama(tokenizer.vocab_size, **settings)
    export_llama(model, tokenizer, tmp_path / "hf")
    np.testing.assert_allclose(llama_logits(tmp_path / "hf", TOKENS.numpy()), logits(model).numpy(), atol=1e-4)
    back = import_llama(tmp_path / "hf")
    assert torch.equal(back.log_probs(TOKENS), model.log_probs(TOKENS))
    export_llama(back, tokenizer, tmp_path / "again")
    for file in sorted((tmp_path / "hf").iterdir()):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_parity_with_transformers(tmp_path: Path, tokenizer: Tokenizer, settings) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    model = llama(tokenizer.vocab_size, **settings)
    export_llama(model, tokenizer, tmp_path / "hf")
    theirs = transformers.LlamaForCausalLM.from_pretrained(tmp_path / "hf").eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(TOKENS).logits, logits(model), atol=1e-4, rtol=0)
    ids = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")("the pear cat").input_ids
    assert ids == [BOS, *tokenizer.encode("the pear cat").tolist()]
    theirs.save_pretrained(tmp_path / "again")  # as transformers itself writes the settings
    assert torch.equal(import_llama(tmp_path / "again").log_probs(TOKENS), model.log_probs(TOKENS))


def test_a_folder_with_scaled_positions_of_transformers_is_refused(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    scaled = {"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0}
    sizes = {"vocab_size": 30, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = transformers.LlamaConfig(**sizes, intermediate_size=20, rope_parameters=scaled)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"rope_(parameters|scaling)"):
        import_llama(tmp_path)


def foreign_folder(folder: Path, **settings: object) -> GPT:
    """A folder with tokens of its own, one that begins a text and another that ends it; and the network in it."""
    model = llama(len(VOCABULARY) + 1, **settings)
    export = {"bos_token_id": len(VOCABULARY), "eos_token_id": END}
    about = llama_config(model.config, model.vocab_size, model.config.tie_weights) | export  # type: ignore[arg-type, attr-defined]
    arrays = {f"model.{name}": tensor.detach().numpy().copy() for name, tensor in llama_names(model)}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        arrays | {"lm_head.weight": model.head.get_parameter("weight").detach().numpy()}, folder / "model.safetensors"
    )
    write_json(folder / "config.json", about)
    added = [{"id": END, "content": "<|endoftext|>", "special": True}]
    added += [{"id": len(VOCABULARY), "content": "<s>", "special": True}]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json(added_tokens=added)))
    return model


def test_hidden_states_of_a_folder_with_other_tokens(tmp_path: Path) -> None:
    written = foreign_folder(tmp_path, key_value_heads=2)
    model, tokenizer = import_foreign_llama(tmp_path)
    ids = [BOS, *tokenizer.encode("the cat").tolist(), EOS]
    theirs = [len(VOCABULARY), *(VOCABULARY.index(tokenizer.name(token)) for token in ids[1:-1]), END]
    with torch.no_grad():
        torch.testing.assert_close(model(torch.tensor([ids]))[0], written(torch.tensor([theirs]))[0], atol=1e-6, rtol=0)
    assert read_imported(tmp_path)[0].vocab_size == model.vocab_size == len(VOCABULARY) + 3


REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "another activation": ("config.json", {"hidden_act": "gelu"}, "hidden_act is 'gelu'; supported is 'silu'"),
    "biases": ("config.json", {"attention_bias": True}, "attention_bias is True"),
    "scaled positions": ("config.json", {"rope_scaling": {"type": "linear"}}, "rope_scaling is"),
    "scaled, newer": ("config.json", {"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters is"),
    "positions of no kind": ("config.json", {"rope_parameters": 7}, "rope_parameters is 7"),
    "groups": ("config.json", {"num_key_value_heads": 3}, "key_value_heads=3 does not divide heads=4"),
    "groups of no kind": ("config.json", {"num_key_value_heads": "x"}, "key_value_heads"),
    "fewer groups": ("config.json", {"num_key_value_heads": 1}, r"k_proj.weight has shape \(8, 16\)"),
    "wide heads": ("config.json", {"head_dim": 8}, "head_dim is 8"),
    "wide": ("config.json", {"hidden_size": 16384, "head_dim": None}, "has shape"),
    "deep": ("config.json", {"num_hidden_layers": 3}, "its names do not fit"),
    "no base": ("config.json", {"rope_parameters": None, "rope_theta": 0}, "rotary_base"),
    "another end": ("config.json", {"eos_token_id": [3, 4]}, "eos_token_id: .3, 4. is not a token"),
    "another begin": ("config.json", {"bos_token_id": -1}, "bos_token_id: -1 is not a token"),
    "another size": ("config.json", {"vocab_size": 10**8}, "do not belong together"),
    "pieces": ("tokenizer.json", {"model": {"type": "Unigram"}}, "model.type: 'Unigram'"),
    "another cut": ("tokenizer.json", {"pre_tokenizer": {"type": "Split"}}, "pre_tokenizer.type: 'Split'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_damaged_folders_are_refused_with_a_one_line_error(name: str, tmp_path: Path) -> None:
    foreign_folder(tmp_path, key_value_heads=2)
    file, change, message = REFUSED[name]
    (tmp_path / file).write_text(json.dumps(json.loads((tmp_path / file).read_text()) | change))
    with pytest.raises(InputError, match=message) as error:
        read_imported(tmp_path)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vocab_size": 2**30}, "embed_tokens.weight has shape"),  # before it takes memory
        ({"bos_token_id": 1}, "bos_token_id is 1; supported is 2"),
        ({"model_type": "mistral"}, "model_type is 'mistral'"),
        ({"max_position_embeddings": "long"}, "context"),
    ],
)
def test_settings_that_do_not_fit_our_folder_are_refused(tmp_path: Path, tokenizer: Tokenizer, change, message) -> None:
    export_llama(llama(tokenizer.vocab_size), tokenizer, tmp_path / "hf")
    write_json(tmp_path / "hf" / "config.json", read_json(tmp_path / "hf" / "config.json") | change)
    with pytest.raises(InputError, match=message):
        import_llama(tmp_path / "hf")


def test_a_longer_context_is_read_as_the_longest_here(tmp_path: Path, tokenizer: Tokenizer) -> None:
    model = llama(tokenizer.vocab_size)
    export_llama(model, tokenizer, tmp_path / "hf")
    longer = read_json(tmp_path / "hf" / "config.json") | {"max_position_embeddings": 131072}
    write_json(tmp_path / "hf" / "config.json", longer)
    back = import_llama(tmp_path / "hf")
    assert back.context == 8192
    torch.testing.assert_close(back.log_probs(TOKENS), model.log_probs(TOKENS))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"norm_kind": "layer"}, "norm_kind=layer"),
        ({"bias": True}, "bias=true"),
        ({"positions": "learned"}, "positions=l"),
    ],
)
def test_what_llama_cannot_compute_is_refused(tmp_path: Path, tokenizer: Tokenizer, settings, named: str) -> None:
    with pytest.raises(InputError, match=f"export to llama: this model has {named}"):
        export_llama(llama(tokenizer.vocab_size, **settings), tokenizer, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_a_model_that_follows_instructions_never_says_a_marker(tmp_path: Path) -> None:
    model, words = read_instructed(saved_instructed(tmp_path / "sft", context=48, **LLAMA))
    export_llama(model, words, tmp_path / "hf")
    V = words.vocab_size
    assert read_json(tmp_path / "hf" / "generation_config.json")["suppress_tokens"] == [PAD, BOS, V, V + 1, V + 2]
    assert "chat_template" in read_json(tmp_path / "hf" / "tokenizer_config.json")
    theirs = torch.from_numpy(llama_logits(tmp_path / "hf", TOKENS.numpy() % V))[..., :V]
    ours = logits(model, TOKENS % V)[..., :V]
    torch.testing.assert_close(theirs.float(), ours, atol=1e-4, rtol=0)
