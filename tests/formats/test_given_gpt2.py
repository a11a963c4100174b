"""A GPT-2 of somebody else's: the same ids and hidden states, nearly the same probabilities; else refused in a line."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch
from tokenizers import pre_tokenizers

from langladder.formats.gpt2 import _gpt2_config, gpt2_arrays, import_foreign_gpt2
from langladder.formats.imported import read_imported
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.text.tokenize.specials import BOS, EOS, PAD, SPELLINGS
from langladder.text.tokenize.tokenizers import Tokenizer

BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
MERGES = [("t", "h"), ("th", "e"), ("Ġ", "c"), ("Ġc", "at"), ("a", "t")]
VOCABULARY = [*BYTES, "th", "the", "Ġc", "at", "Ġcat", "<|endoftext|>"]
END, R = len(VOCABULARY) - 1, len(VOCABULARY)
TEXTS = ["the cat", "at the café", "<|endoftext|> !", "the  cat\tat"]


def folder_of(folder: Path, **settings: Any) -> GPT:
    """A folder as transformers writes it, with GPT-2's tokens; and the network that was written, with them."""
    torch.manual_seed(2)
    model = GPT(GPTConfig.model_validate({"context": 24, "width": 16, "layers": 2, "heads": 2} | settings), R).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: np.ascontiguousarray(array) for name, array in gpt2_arrays(model).items()}, folder / "model.safetensors"
    )
    about = _gpt2_config(model.config, R, model.config.tie_weights) | {"bos_token_id": END, "eos_token_id": END}
    (folder / "config.json").write_text(json.dumps(about))
    (folder / "vocab.json").write_text(json.dumps({token: index for index, token in enumerate(VOCABULARY)}))
    order = [MERGES[0], MERGES[1], MERGES[4], MERGES[2], MERGES[3]]
    (folder / "merges.txt").write_text("#version: 0.2\n" + "".join(f"{item} {two}\n" for item, two in order))
    return model


def tokenizer_json(**changes: Any) -> dict[str, Any]:
    merges = ["t h", ["th", "e"], "a t", "Ġ c", "Ġc at"]  # newer files have lists, older ones strings
    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    return {
        "added_tokens": [{"id": END, "content": "<|endoftext|>", "special": True}],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        "model": {"type": "BPE", "dropout": None, "end_of_word_suffix": "", "vocab": vocabulary, "merges": merges},
    } | changes


def theirs_of(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    return [END if token in (BOS, EOS) else VOCABULARY.index(tokenizer.name(token)) for token in ids]


@pytest.mark.parametrize("tied", [True, False])
def test_hidden_states_are_the_same_and_probabilities_nearly(tied: bool, tmp_path: Path) -> None:
    """PAD, UNK and BOS as outputs take at most 1/V of the probability each."""
    written = folder_of(tmp_path, tie_weights=tied)
    model, tokenizer = import_foreign_gpt2(tmp_path)
    assert tokenizer.vocab_size == model.vocab_size == R + 3
    for text in TEXTS:
        ids = [BOS, *tokenizer.encode(text).tolist(), EOS]
        assert tokenizer.decode(ids) == text
        tokens, other = torch.tensor([ids]), torch.tensor([theirs_of(tokenizer, ids)])
        with torch.no_grad():
            torch.testing.assert_close(model(tokens)[0], written(other)[0], atol=1e-6, rtol=0)
            there = torch.log_softmax(written.head(written(other)[0]), dim=-1)[0, :-1]
        wanted = there.gather(1, other[0, 1:, None])[:, 0]
        lost = wanted - model.log_probs(tokens)[0, 1:]
        assert (lost > -1e-5).all() and (lost < 3 / R + 1e-5).all()


def test_golden_pieces_of_a_text(tmp_path: Path) -> None:
    folder_of(tmp_path)
    tokenizer = import_foreign_gpt2(tmp_path)[1]
    assert [tokenizer.name(int(item)) for item in tokenizer.encode("the cat")] == ["the", "Ġcat"]
    assert not {BOS, EOS} & {*tokenizer.encode(TEXTS[2]).tolist()}  # no special is found in a text
    tokenizer.save(tmp_path / "again.json")
    again = Tokenizer.load(tmp_path / "again.json")
    assert (again.kind, again.vocab_size) == ("bpe_bytes", R + 3)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    for other in (again, import_foreign_gpt2(tmp_path)[1]):
        for ids, two in zip(other.encode_lines(TEXTS), tokenizer.encode_lines(TEXTS), strict=True):
            assert ids.tolist() == two.tolist()


MODEL = tokenizer_json()["model"]
STRANGE: dict[str, tuple[str, dict[str, Any], str]] = {
    "another end": ("config.json", {"eos_token_id": 5}, "bos_token_id and eos_token_id differ"),
    "an end that is none": ("config.json", {"eos_token_id": 10**6, "bos_token_id": 10**6}, "1000000 is not a token of"),
    "another size": ("config.json", {"vocab_size": 10**8}, "they do not belong together"),
    "wide": ("config.json", {"n_embd": 4096}, "wte.weight has shape"),
    "another cut": ("tokenizer.json", {"pre_tokenizer": {"type": "Split"}}, "pre_tokenizer.type: 'Split'"),
    "a space before": (
        "tokenizer.json", {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True}}, "prefix_space: 'True'",
    ),
    "normalised": ("tokenizer.json", {"normalizer": {"type": "NFC"}}, "normalizer"),
    "dropout": ("tokenizer.json", {"model": MODEL | {"dropout": 0.1}}, "model.dropout: '0.1'"),
    "adds tokens": ("tokenizer.json", {"added_tokens": [{"id": 3, "content": "x"}]}, "adds 'x'"),
    "merges of three": ("tokenizer.json", {"model": MODEL | {"merges": ["a b c"]}}, "is not of two tokens"),
    "merges of nothing": ("tokenizer.json", {"model": MODEL | {"merges": [["a", "q"]]}}, "lack a part or the whole"),
    "merges no list": ("tokenizer.json", {"model": MODEL | {"merges": 7}}, "not a list"),
    "no bytes": ("tokenizer.json", {"model": MODEL | {"vocab": {"a": 0, "b": 1}}}, "its ids are not 0"),
    "adds a word": (
        "tokenizer.json", {"added_tokens": [{"id": R, "content": "word", "special": False}]}, "which is no special",
    ),
    "adds the same": (
        "tokenizer.json", {"added_tokens": [{"id": R, "content": "the", "special": True}]}, "and has it with another",
    ),
    "adds far away": (
        "tokenizer.json", {"added_tokens": [{"id": 2**31, "content": "<a>", "special": True}]}, "its ids are not 0",
    ),
    "ids of no kind": ("tokenizer.json", {"model": MODEL | {"vocab": {"a": 0.5}}}, "its ids are not 0"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_damaged_folders_are_refused_with_a_one_line_error(name: str, tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    file, change, message = STRANGE[name]
    (tmp_path / file).write_text(json.dumps(json.loads((tmp_path / file).read_text()) | change))
    with pytest.raises(InputError) as error:
        read_imported(tmp_path)
    assert message in str(error.value) and str(tmp_path) in str(error.value) and "\n" not in str(error.value)


def stored(folder: Path, dtype: torch.dtype, more: dict[str, np.ndarray] | None = None, rows: int = R) -> None:
    """The weights once more: as `dtype`, with other arrays beside them, and more rows in both tables."""
    arrays = {name: torch.from_numpy(array) for name, array in load_file(folder / "model.safetensors").items()}
    for name in arrays.keys() & {"transformer.wte.weight", "lm_head.weight"}:
        arrays[name] = torch.cat([arrays[name], torch.full((rows - R, arrays[name].shape[1]), 3.0)])
    arrays |= {name: torch.from_numpy(array) for name, array in (more or {}).items()}
    save_torch({name: array.to(dtype).contiguous() for name, array in arrays.items()}, folder / "model.safetensors")
    about = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(about | {"vocab_size": rows}))


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(("dtype", "step"), [(torch.bfloat16, 2**-8), (torch.float16, 2**-11), (torch.float32, 0)])
def test_half_precision_padding_and_heads_of_a_body(
    tied: bool, dtype: torch.dtype, step: float, tmp_path: Path
) -> None:
    written = folder_of(tmp_path, tie_weights=tied)
    plain = import_foreign_gpt2(tmp_path)[0].state_dict()
    rows = -(-R // 64) * 64
    assert rows > R
    heads = {"score.weight": np.ones((2, 16), np.float32), "classifier.bias": np.full(2, np.nan, np.float32)}
    stored(tmp_path, dtype, heads, rows)
    model, tokenizer = import_foreign_gpt2(tmp_path)
    assert model.vocab_size == tokenizer.vocab_size == written.vocab_size + 3
    for name, tensor in model.state_dict().items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, plain[name], atol=step, rtol=step)


def test_rows_of_another_model_are_not_read_as_padding(tmp_path: Path) -> None:
    folder_of(tmp_path)
    stored(tmp_path, torch.float32, rows=R + 1)
    with pytest.raises(InputError, match="do not belong together"):
        import_foreign_gpt2(tmp_path)


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_added_specials_keep_their_rows(beside: bool, padded: bool, tmp_path: Path) -> None:
    """Of tokenizer.json, or of tokenizer_config.json beside vocab.json; one of them pads, where config.json says so."""
    written = folder_of(tmp_path)
    more = ["[PAD]", "<|us er|>"]
    stored(tmp_path, torch.float32, rows=R + 2)
    added = [{"id": R + index, "content": item, "special": True} for index, item in enumerate(more)]
    if beside:
        decoder = {str(token["id"]): {"content": token["content"], "special": True} for token in added}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": decoder}))
    else:
        (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(added_tokens=added)))
    if padded:
        about = json.loads((tmp_path / "config.json").read_text())
        (tmp_path / "config.json").write_text(json.dumps(about | {"pad_token_id": R}))
    model, tokenizer = import_foreign_gpt2(tmp_path)
    table, last = model.embedding.weight, tokenizer.vocab_size - 1
    assert model.vocab_size == tokenizer.vocab_size == R + 5 - padded
    assert tokenizer.piece(last) == "<|us er|>" and bool((table[last] == 3).all())
    assert (
        bool((table[PAD] == 3).all()) == padded and bool((model.head.get_parameter("weight")[PAD] == 3).all()) == padded
    )
    text = "the <|us er|>[PAD]"
    assert max(tokenizer.encode(text)) < R + 3 - 1 and tokenizer.decode(tokenizer.encode(text)) == text
    torch.testing.assert_close(table[4:260], written.embedding.weight[:256])
    tokenizer.save(tmp_path / "again.json")
    assert Tokenizer.load(tmp_path / "again.json").vocab_size == tokenizer.vocab_size


def test_added_tokens_of_no_known_kind_are_refused(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "added_tokens.json").write_text(json.dumps({"[PAD]": R}))
    with pytest.raises(InputError, match=r"added_tokens\.json: does not say which tokens are specials"):
        import_foreign_gpt2(tmp_path)


def test_weights_in_other_files_raise_a_named_error(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"has pytorch_model\.bin, but model\.safetensors is needed"):
        read_imported(tmp_path)


def test_an_id_beyond_all_tokens_is_refused_in_every_file(tmp_path: Path) -> None:
    """In a folder with this house's specials the `tokenizers` library reads the file itself."""
    folder_of(tmp_path)
    tokens = json.loads((tmp_path / "vocab.json").read_text())
    (tmp_path / "vocab.json").write_text(json.dumps(tokens | {"the": 2**31}))
    with pytest.raises(InputError, match="ids are not 0"):
        read_imported(tmp_path)
    ours = {token: index for index, token in enumerate([*SPELLINGS, *VOCABULARY])}
    strange = tokenizer_json(model=MODEL | {"vocab": ours | {"the": 2**31}})
    (tmp_path / "tokenizer.json").write_text(json.dumps(strange))
    about = json.loads((tmp_path / "config.json").read_text())
    specials = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    (tmp_path / "config.json").write_text(json.dumps(about | specials))
    with pytest.raises(InputError, match=r"model\.vocab: 'the' has the id 2147483648"):
        read_imported(tmp_path)


def test_parity_with_a_folder_of_transformers(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    written = folder_of(tmp_path)
    peer = transformers.GPT2Model.from_pretrained(tmp_path).eval()
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    model, tokenizer = read_imported(tmp_path)
    assert isinstance(model, GPT)
    for text in (TEXTS[0], TEXTS[1], TEXTS[3]):
        ids = tokenizer.encode(text).tolist()
        assert theirs(text)["input_ids"] == theirs_of(tokenizer, ids)
        with torch.no_grad():
            states = peer(torch.tensor([[END, *theirs_of(tokenizer, ids)]])).last_hidden_state
            torch.testing.assert_close(model(torch.tensor([[BOS, *ids]]))[0], states, atol=1e-5, rtol=1e-5)
    assert written.config.layers == 2


@pytest.mark.parametrize("kind", ["GPT2ForSequenceClassification", "GPT2ForTokenClassification", "GPT2Model"])
def test_parity_with_a_body_of_transformers_in_bf16(kind: str, tmp_path: Path) -> None:
    """With an added `[PAD]`, and rows up to a multiple of 64."""
    transformers = pytest.importorskip("transformers")
    folder_of(tmp_path / "tokens")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "tokens")
    theirs.add_special_tokens({"pad_token": "[PAD]"})
    sizes = {"n_positions": 24, "n_embd": 16, "n_layer": 2, "n_head": 2, "bos_token_id": END, "eos_token_id": END}
    torch.manual_seed(5)
    peer = getattr(transformers, kind)(transformers.GPT2Config(vocab_size=R, pad_token_id=R, **sizes)).eval()
    peer.resize_token_embeddings(R + 1, pad_to_multiple_of=64)
    peer = peer.bfloat16()
    peer.save_pretrained(tmp_path / "hf")
    theirs.save_pretrained(tmp_path / "hf")
    model, tokenizer = read_imported(tmp_path / "hf")
    assert isinstance(model, GPT) and model.vocab_size == R + 3
    body = peer.float() if kind == "GPT2Model" else peer.float().transformer
    torch.testing.assert_close(model.embedding.weight[PAD], body.wte.weight[R])
    for text in (TEXTS[0], TEXTS[1]):
        ids = tokenizer.encode(text).tolist()
        assert theirs(text)["input_ids"] == theirs_of(tokenizer, ids)
        with torch.no_grad():
            states = body(torch.tensor([[END, *theirs_of(tokenizer, ids)]])).last_hidden_state
            torch.testing.assert_close(model(torch.tensor([[BOS, *ids]]))[0], states, atol=1e-5, rtol=1e-5)
