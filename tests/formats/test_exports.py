"""Models in the formats of others: GPT-2 folders, ONNX; each read back by code that is not ours."""

import json
import math
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer as Backend

from langladder.answers.chat import Assistant, Conversation
from langladder.decoding.sampling import SamplingConfig
from langladder.formats import onnx as onnx_files
from langladder.formats.gpt2 import export_gpt2, import_gpt2
from langladder.formats.onnx import export_onnx_recurrent
from langladder.formats.tokenizer_folder import write_tokenizer_folder
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.instructed import read_instructed
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.labelled.instructions import Message
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.normalisation import Normalisation
from tests.models.spoken import saved_instructed

TEXT = ["the cat sat on the mat", "apple and pear salad", "a pair of cats"]
TOKENS = torch.tensor([[BOS, 5, 7, 9, 6, 11, 8], [BOS, 12, 4, 4, 13, 10, EOS]])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(TEXT, TokenizerConfig(kind="bpe_bytes", vocab_size=280))


def gpt(tokenizer: Tokenizer, **settings: object) -> GPT:
    torch.manual_seed(3)
    settings = {"context": 12, "width": 16, "layers": 2, "heads": 4} | settings
    model = GPT(GPT.Config.model_validate(settings), tokenizer.vocab_size)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def gpt2_logits(folder: Path, ids: np.ndarray) -> np.ndarray:
    """GPT-2 as `GPT2LMHeadModel` computes it from these files, in NumPy float64: (B, T) → (B, T, V)."""
    about = read_json(folder / "config.json")
    w = {name: array.astype(np.float64) for name, array in load_file(folder / "model.safetensors").items()}
    wte, (B, T), heads = w["transformer.wte.weight"], ids.shape, about["n_head"]

    def norm(x, name):
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + about["layer_norm_epsilon"])
        return scaled * w[f"transformer.{name}.weight"] + w[f"transformer.{name}.bias"]

    def conv1d(x, name):
        return x @ w[f"transformer.{name}.weight"] + w[f"transformer.{name}.bias"]

    def gelu_new(x):
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))

    x = wte[ids] + w["transformer.wpe.weight"][:T]
    for layer in range(about["n_layer"]):
        h = f"h.{layer}"
        parts = np.split(conv1d(norm(x, f"{h}.ln_1"), f"{h}.attn.c_attn"), 3, axis=-1)
        q, k, v = (part.reshape(B, T, heads, -1).transpose(0, 2, 1, 3) for part in parts)
        scores = q @ k.transpose(0, 1, 3, 2) / math.sqrt(q.shape[-1])
        scores = np.where(np.tril(np.ones((T, T), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (weights / weights.sum(-1, keepdims=True)) @ v
        x = x + conv1d(mixed.transpose(0, 2, 1, 3).reshape(B, T, -1), f"{h}.attn.c_proj")
        x = x + conv1d(gelu_new(conv1d(norm(x, f"{h}.ln_2"), f"{h}.mlp.c_fc")), f"{h}.mlp.c_proj")
    head = wte if about["tie_word_embeddings"] else w["lm_head.weight"]
    return norm(x, "ln_f") @ head.T


SHAPES = [{}, {"tie_weights": False}, {"positions": "sinusoidal"}, {"positions": "none"}, {"layers": 1, "heads": 1}]


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_parity_of_the_exported_files_with_gpt2(tmp_path: Path, tokenizer: Tokenizer, settings) -> None:
    model = gpt(tokenizer, **settings)
    export_gpt2(model, tokenizer, tmp_path / "hf")
    with torch.no_grad():
        ours = model.head(model(TOKENS)[0])
    np.testing.assert_allclose(gpt2_logits(tmp_path / "hf", TOKENS.numpy()), ours.numpy(), atol=1e-4)


@pytest.mark.parametrize("settings", SHAPES, ids=str)
def test_parity_with_transformers(tmp_path: Path, tokenizer: Tokenizer, settings) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    model = gpt(tokenizer, **settings)
    export_gpt2(model, tokenizer, tmp_path / "hf")
    theirs = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "hf").eval()
    with torch.no_grad():
        torch.testing.assert_close(theirs(TOKENS).logits, model.head(model(TOKENS)[0]), atol=1e-4, rtol=0)
    for text in ("a pair of cats", "a < eos > of< pad >< mask >"):  # no special is found in a text
        ids = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")(text).input_ids
        assert ids == [BOS, *tokenizer.encode(text).tolist()]


@pytest.mark.parametrize("cutting", ["marks", "gpt2"])
def test_transformers_cuts_words_with_marks_as_the_exported_file_says(tmp_path: Path, cutting: Any) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    lines = ["हिन्दी में लिखी हुई किताबें", "ที่นี่มีน้ำ", "it's a cafe\u0301"]
    tokenizer = train_tokenizer(lines * 3, TokenizerConfig(vocab_size=400, cutting=cutting))
    export_gpt2(gpt(tokenizer), tokenizer, tmp_path / "hf")
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    for line in lines:
        assert read(line).input_ids == [BOS, *tokenizer.encode(line).tolist()]


def test_transformers_writes_a_text_as_the_exported_file_says(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    steps = Normalisation(("invisible", "NFKC", "lowercase_tr", "digits_zero"))
    tokenizer = train_tokenizer(["büyük ılık ev 0", "น้ำ"] * 3, TokenizerConfig(vocab_size=300), steps)
    export_gpt2(gpt(tokenizer), tokenizer, tmp_path / "hf")
    read = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    lines = ["büyük ılık ev 0", "bu\u0308yu\u0308k ILIK\u200b EV ３", "น้ำ"]
    for line in lines:
        assert read(line).input_ids == [BOS, *tokenizer.encode(line).tolist()]
    assert tokenizer.encode(lines[1]).tolist() == tokenizer.encode(lines[0]).tolist()


@pytest.mark.parametrize("tied", [True, False])
def test_parity_of_weights_made_by_transformers(tmp_path: Path, tied: bool) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    torch.manual_seed(5)
    sizes = {"vocab_size": 30, "n_positions": 12, "n_embd": 16, "n_layer": 2, "n_head": 4, "tie_word_embeddings": tied}
    specials = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    theirs = transformers.GPT2LMHeadModel(transformers.GPT2Config(**sizes, **specials)).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    theirs.save_pretrained(tmp_path)
    model = import_gpt2(tmp_path).eval()
    with torch.no_grad():
        torch.testing.assert_close(model.head(model(TOKENS)[0]), theirs(TOKENS).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize("settings", [{}, {"tie_weights": False, "dropout": 0.1}], ids=str)
def test_roundtrip_through_a_gpt2_folder(tmp_path: Path, tokenizer: Tokenizer, settings) -> None:
    model = gpt(tokenizer, **settings)
    export_gpt2(model, tokenizer, tmp_path / "hf")
    back = import_gpt2(tmp_path / "hf")
    assert back.config == model.config
    assert torch.equal(back.log_probs(TOKENS), model.log_probs(TOKENS))
    export_gpt2(back, tokenizer, tmp_path / "again")
    for file in sorted((tmp_path / "hf").iterdir()):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()


def test_gpt2_folder_in_the_layout_of_its_publishers(tmp_path: Path, tokenizer: Tokenizer) -> None:
    """Names without a prefix, causal masks among the weights, defaults left out."""
    model = gpt(tokenizer)
    export_gpt2(model, tokenizer, tmp_path / "hf")
    path = tmp_path / "hf" / "model.safetensors"
    arrays = {name.removeprefix("transformer."): array for name, array in load_file(path).items()}
    save_file(arrays | {"h.0.attn.bias": np.tril(np.ones((1, 1, 12, 12), np.float32))}, path)
    about = read_json(tmp_path / "hf" / "config.json")
    for name in ("n_inner", "activation_function", "layer_norm_epsilon", "tie_word_embeddings"):
        del about[name]
    write_json(tmp_path / "hf" / "config.json", about)
    assert torch.equal(import_gpt2(tmp_path / "hf").log_probs(TOKENS), model.log_probs(TOKENS))


def test_exported_tokenizer_puts_bos_first_and_stays_ours(tmp_path: Path, tokenizer: Tokenizer) -> None:
    export_gpt2(gpt(tokenizer), tokenizer, tmp_path / "hf")
    path, text = tmp_path / "hf" / "tokenizer.json", "the pear cat"
    ids = tokenizer.encode(text).tolist()
    assert Backend.from_file(str(path)).encode(text).ids == [BOS, *ids]
    assert Backend.from_file(str(path)).get_vocab_size() == gpt(tokenizer).vocab_size  # none without a row of weights
    assert Backend.from_file(str(path)).decode([BOS, *ids, EOS, PAD]) == text
    assert Tokenizer.load(path).encode(text).tolist() == ids
    names = read_json(tmp_path / "hf" / "tokenizer_config.json")
    assert names["split_special_tokens"] is True
    assert Backend.from_file(str(path)).token_to_id(names["eos_token"]) == EOS


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"norm": "post"}, "norm=post"),
        ({"sparse_window": 3}, "sparse_window=3"),
        ({"residual": False}, "residual=f"),
        ({"experts": 2}, "experts=2"),
    ],
)
def test_what_gpt2_cannot_compute_is_refused(tmp_path: Path, tokenizer: Tokenizer, settings, named: str) -> None:
    with pytest.raises(InputError, match=named):
        export_gpt2(gpt(tokenizer, **settings), tokenizer, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"activation_function": "relu"}, r"activation_function is 'relu'; supported is 'gelu_new' or"),
        ({"bos_token_id": 50256}, "bos_token_id is 50256; supported is 2"),
        ({"n_inner": 10}, r"c_fc.weight has shape"),
        ({"n_layer": 3}, "names do not fit"),
        ({"n_positions": 11}, r"wpe.weight has shape \(12, 16\); its config.json asks for \(11, 16\)"),
    ],
)
def test_foreign_gpt2_folders_are_refused(tmp_path: Path, tokenizer: Tokenizer, change, message: str) -> None:
    export_gpt2(gpt(tokenizer), tokenizer, tmp_path / "hf")
    path = tmp_path / "hf" / "config.json"
    path.write_text(json.dumps(read_json(path) | change))
    with pytest.raises(InputError, match=message):
        import_gpt2(tmp_path / "hf")


@pytest.mark.parametrize("tied", [True, False])
def test_a_model_that_follows_instructions_brings_its_chat_template(tmp_path: Path, tied: bool) -> None:
    model, words = read_instructed(saved_instructed(tmp_path / "sft", tie_weights=tied, context=48))
    export_gpt2(model, words, tmp_path / "hf")
    generation, V = read_json(tmp_path / "hf" / "generation_config.json"), words.vocab_size
    assert generation["suppress_tokens"] == [PAD, BOS, V, V + 1, V + 2]
    messages = [("system", "say not"), ("user", "say cat"), ("assistant", "cat"), ("user", "say dog")]
    ids = ChatTemplate(words).prompt([Message(role, text) for role, text in messages])[None]  # (1, T)
    with torch.no_grad():
        ours = torch.log_softmax(model.head(model(torch.from_numpy(ids).long())[0]), dim=-1)[..., :V]
    theirs = torch.from_numpy(gpt2_logits(tmp_path / "hf", ids)[..., :V])
    torch.testing.assert_close(torch.log_softmax(theirs, dim=-1).float(), ours, atol=1e-5, rtol=0)
    backend = Backend.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    assert backend.get_vocab_size() == model.vocab_size
    names = read_json(tmp_path / "hf" / "tokenizer_config.json")
    turns = [{"role": role, "content": text} for role, text in messages]
    template = jinja2.Template(names["chat_template"])
    rendered = template.render(messages=turns, add_generation_prompt=True)
    assert backend.encode(rendered, add_special_tokens=False).ids == ids[0].tolist()
    strange = template.render(messages=[{"role": "user", "content": "dog< sep >< eos >< cls >cat"}])
    result = backend.encode(strange, add_special_tokens=False).ids  # a message holds no other turn
    assert [token for token in result if token in (EOS, V, V + 1, V + 2)] == [V + 1]


def test_turns_of_a_byte_level_tokenizer_begin_with_a_space_there_too(tmp_path: Path) -> None:
    words = train_tokenizer(["the cat sees a dog"], TokenizerConfig(kind="bpe_bytes", vocab_size=270))
    write_tokenizer_folder(tmp_path, words, length=48, first=[BOS], chats=True)
    turns = [("system", "a dog"), ("user", "the cat"), ("assistant", "sees"), ("user", " the dog"), ("assistant", "")]
    template = jinja2.Template(read_json(tmp_path / "tokenizer_config.json")["chat_template"])
    rendered = template.render(messages=[{"role": role, "content": text} for role, text in turns])
    ids = ChatTemplate(words).row([Message(role, text) for role, text in turns]).ids
    backend = Backend.from_file(str(tmp_path / "tokenizer.json"))
    assert backend.encode(rendered, add_special_tokens=False).ids == ids.tolist()


@pytest.mark.parametrize("tied", [True, False])
def test_parity_of_a_chat_with_transformers(tmp_path: Path, tied: bool) -> None:
    transformers = pytest.importorskip("transformers", reason="the library transformers is not installed")
    model, words = read_instructed(saved_instructed(tmp_path / "sft", tie_weights=tied, context=48))
    chance = torch.Generator().manual_seed(5)
    with torch.no_grad():  # so that it says several words, none of them <unk>, which their decoding leaves out
        for parameter in model.parameters():
            parameter.add_(0.5 * torch.randn(parameter.shape, generator=chance))
    export_gpt2(model, words, tmp_path / "hf")
    peer = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "hf").eval()
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
    turns = [{"role": "system", "content": "say not"}, {"role": "user", "content": "say cat"}]
    inputs = theirs.apply_chat_template(turns, add_generation_prompt=True, return_dict=True, return_tensors="pt")
    config = SamplingConfig(strategy="greedy", max_tokens=6)
    talk = Conversation(Assistant(model, ChatTemplate(words)), config, system="say not")
    new = peer.generate(**inputs, max_new_tokens=6, do_sample=False)[0, inputs["input_ids"].shape[1] :]
    answer = talk.say("say cat").text
    assert theirs.decode(new, skip_special_tokens=True) == answer
    assert len(set(answer.split())) > 1


RECURRENT: list[dict[str, Any]] = [
    {"cell": "rnn"},
    {"cell": "gru"},
    {"cell": "lstm", "layers": 2},
    {"cell": "gru", "reset_after": False},
    {"cell": "peephole", "layers": 2},
    {"cell": "lstm", "layer_norm": True},
    {"cell": "lstm", "tie_weights": False, "output": "adaptive"},
    {"cell": "lstm", "tie_weights": False, "output": "hierarchical"},
    {"cell": "gru", "output": "nce"},
]


def recurrent(settings) -> RecurrentLM:
    torch.manual_seed(0)
    model = RecurrentLM(RecurrentLM.Config(width=12, embedding_dim=8, dropout=0.3, **settings), 29)
    model.head.set_counts(torch.arange(29, 0, -1))
    return model


IN_ONNX = [settings for settings in RECURRENT if settings.get("output") != "hierarchical"]


def run_as_declared(session: Any, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """What the file computes; every input and output has the shape that the file declares, names with one meaning."""
    completed: list[np.ndarray] = session.run(None, inputs)
    sizes: dict[str, int] = {}
    values = [
        *((item, inputs[item.name]) for item in session.get_inputs()),
        *zip(session.get_outputs(), completed, strict=True),
    ]
    for declared, value in values:
        assert len(declared.shape) == value.ndim, declared.name
        for axis, size in zip(declared.shape, value.shape, strict=True):
            expected = sizes.setdefault(axis, size) if isinstance(axis, str) and axis.isidentifier() else axis
            assert isinstance(expected, str) or expected == size, (declared.name, declared.shape, value.shape)
    return completed


@pytest.mark.parametrize("settings", IN_ONNX, ids=str)
def test_parity_of_onnx_recurrent(tmp_path: Path, settings) -> None:
    for name in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(name, reason=f"the library {name} is not installed")
    import onnxruntime

    model = recurrent(settings)
    export_onnx_recurrent(model, tmp_path / "model.onnx")
    assert model.training
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    tokens = torch.randint(4, 29, (5, 17))
    tokens[:, 0] = BOS
    parts, layers, _, width = session.get_inputs()[1].shape
    state, result = np.zeros((parts, layers, 5, width), np.float32), []
    free = isinstance(session.get_inputs()[0].shape[1], str)
    for piece in tokens.split([6, 11] if free else 1, dim=1):
        piece_log_probs, state = run_as_declared(session, {"tokens": piece.numpy(), "state": state})
        result.append(torch.from_numpy(piece_log_probs))
    log_probs = torch.cat(result, dim=1)  # (B, T, V)
    ours = model.log_probs(tokens)[:, 1:]
    torch.testing.assert_close(log_probs[:, :-1].gather(2, tokens[:, 1:, None])[..., 0], ours, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(log_probs[:, -1], model.next_log_probs(tokens), atol=1e-5, rtol=1e-5)
    one_row = {"tokens": tokens[:1, : 4 if free else 1].numpy(), "state": state[:, :, :1]}
    assert run_as_declared(session, one_row)[0].shape == (1, 4 if free else 1, 29)
    assert session.get_outputs()[0].shape == ["rows", "tokens" if free else 1, 29]


def test_onnx_needs_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_files, "NEEDED", ("onnx_that_nobody_has",))
    with pytest.raises(InputError, match=r"needs onnx_that_nobody_has; pip install 'langladder\[onnx\]'"):
        export_onnx_recurrent(recurrent({"cell": "rnn"}), tmp_path / "model.onnx")
    with pytest.raises(InputError, match="output=hierarchical"):
        export_onnx_recurrent(recurrent(RECURRENT[7]), tmp_path / "model.onnx")
    with pytest.raises(InputError, match="learn_start=true, and the exported program begins with a state of zeros"):
        export_onnx_recurrent(recurrent({"learn_start": True}), tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()
