"""A BERT of somebody else's: the same ids, hidden states and probabilities; anything else is refused in a line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from safetensors.torch import save_file as save_torch

from langladder.formats.bert import bert_arrays, bert_config, import_foreign_bert
from langladder.formats.imported import described, read_imported
from langladder.ground.errors import InputError
from langladder.models.encoders.bert import BERT, BERTConfig
from langladder.models.encoders.encoder import Masked
from langladder.text.tokenize.tokenizers import Tokenizer

PIECES = ["the", "cat", "dog", "sleep", "##s", "##ing", "un", "##believ", "##able", ".", ",", "!", "a", "cafe", "中"]
LETTERS = [
    mark + letter for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##") if mark + letter not in PIECES
]
VOCABULARY = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *PIECES, *LETTERS]  # as in BERT's own files
TEXTS = ["The cat sleeps.", "unbelievable, a café 中中!", "[MASK] the dog", "Ω the cat"]
SMALL: dict[str, Any] = {"context": 16, "width": 24, "layers": 2, "heads": 4}


def folder_of(folder: Path, **settings: Any) -> BERT:
    """A folder as transformers writes it, with BERT's order of tokens; and the network that was written, with them."""
    torch.manual_seed(2)
    model = BERT(BERTConfig(**SMALL | settings), len(VOCABULARY)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: array.copy() for name, array in bert_arrays(model).items()}, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(bert_config(model)))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n", encoding="utf-8")
    return model


def tokenizer_json(**changes: Any) -> dict[str, Any]:
    """As the library writes it."""
    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": vocabulary}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None}
    added = [{"id": vocabulary["[MASK]"], "content": "[MASK]", "special": True}]
    return {
        "added_tokens": added,
        "normalizer": normalizer | {"lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "model": model | {"max_input_chars_per_word": 100},
    } | changes


def theirs_of(tokenizer: Tokenizer, ids: list[int]) -> list[int]:
    """Our ids as the folder has them, by name."""
    names = {"<unk>": "[UNK]", "<cls>": "[CLS]", "<sep>": "[SEP]", "<mask>": "[MASK]"}
    return [VOCABULARY.index(names.get(name, name)) for name in map(tokenizer.name, ids)]


def test_golden_pieces_of_a_text(tmp_path: Path) -> None:
    """By hand: lower case, accents off, punctuation and Chinese characters apart, longest piece first."""
    folder_of(tmp_path)
    tokenizer = import_foreign_bert(tmp_path)[1]
    pieces = [[tokenizer.name(int(item)) for item in ids] for ids in tokenizer.encode_lines(TEXTS)]
    assert pieces[0] == ["the", "cat", "sleep", "##s", "."]
    assert pieces[1] == ["un", "##believ", "##able", ",", "a", "cafe", "中", "中", "!"]
    assert pieces[2] == ["<unk>", "m", "##a", "##s", "##k", "<unk>", "the", "dog"]
    assert pieces[3] == ["<unk>", "the", "cat"]
    assert (tokenizer.kind, tokenizer.full_vocab_size) == ("bert", len(VOCABULARY) + 2)
    tokenizer.save(tmp_path / "again.json")
    again = Tokenizer.load(tmp_path / "again.json")
    assert again.kind == "bert"
    for entry, other in zip(again.encode_lines(TEXTS), tokenizer.encode_lines(TEXTS), strict=True):
        assert entry.tolist() == other.tolist()


def test_hidden_states_and_gaps_are_those_of_the_folders_network(tmp_path: Path) -> None:
    written = folder_of(tmp_path)
    model, tokenizer = import_foreign_bert(tmp_path)
    tokens, segments = model.framed(tokenizer.encode(TEXTS[0]), tokenizer.encode(TEXTS[1])[:4])
    tokens[2] = model.mask
    other = torch.tensor([theirs_of(tokenizer, tokens.tolist())])
    ours, sides = torch.from_numpy(tokens)[None], torch.from_numpy(segments)[None]
    with torch.no_grad():
        for item, two in zip(model.hidden(ours, sides), written.hidden(other, sides), strict=True):
            torch.testing.assert_close(item, two, atol=1e-6, rtol=0)
    gap = torch.tensor([2]), torch.tensor([4]), torch.tensor([0])
    result, wanted = (
        model.masked_log_probs(Masked(ours, sides, *gap)),
        written.masked_log_probs(Masked(other, sides, *gap)),
    )
    for token in tokenizer.ordinary:
        index = VOCABULARY.index(tokenizer.name(token))
        torch.testing.assert_close(result[0, token], wanted[0, index], atol=1e-5, rtol=0)
    assert result[0, 2:4].exp().sum() == 0  # BOS and EOS, which BERT does not have
    torch.testing.assert_close(
        model.follow_log_probs(Masked(ours, sides, *gap)), written.follow_log_probs(Masked(other, sides, *gap))
    )


def test_older_names_half_precision_and_a_bare_body_are_read(tmp_path: Path) -> None:
    written = folder_of(tmp_path)
    weights = tmp_path / "model.safetensors"
    arrays = load_file(weights)
    old = {name.replace("LayerNorm.weight", "LayerNorm.gamma"): array for name, array in arrays.items()}
    old = {name.replace("LayerNorm.bias", "LayerNorm.beta"): array for name, array in old.items()}
    save_file({name: array.astype(np.float16) for name, array in old.items()}, weights)
    half = import_foreign_bert(tmp_path)[0]
    torch.testing.assert_close(half.position, written.position, atol=1e-3, rtol=1e-3)
    body = {name.removeprefix("bert."): array for name, array in arrays.items() if name.startswith("bert.")}
    save_file(body, weights)
    bare = import_foreign_bert(tmp_path)[0]
    assert bare.pooler is not None and torch.equal(bare.pooler.weight, written.pooler.weight)
    probabilities = bare.masked_log_probs(
        Masked(torch.tensor([[bare.cls, bare.mask]]), torch.zeros(1, 2).long(), *map(torch.tensor, ([1], [4], [])))
    ).exp()
    assert probabilities[0, 4:].std() < 1e-7 and probabilities[0, 2] == 0  # it was taught none: all alike
    del arrays["bert.pooler.dense.weight"], arrays["bert.pooler.dense.bias"]  # BertForMaskedLM
    save_file({name: array for name, array in arrays.items() if "seq_relationship" not in name}, weights)
    assert import_foreign_bert(tmp_path)[0].config.next_sentence is False


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
@pytest.mark.parametrize("body", [True, False])
def test_half_precision_padding_added_specials_and_heads_of_a_body(
    dtype: torch.dtype, body: bool, tmp_path: Path
) -> None:
    written = folder_of(tmp_path)
    tokens, weights = len(VOCABULARY) + 1, tmp_path / "model.safetensors"
    rows = -(-tokens // 64) * 64
    arrays = {name: torch.from_numpy(array) for name, array in load_file(weights).items()}
    for name in ("bert.embeddings.word_embeddings.weight", "cls.predictions.bias"):
        arrays[name] = torch.cat([arrays[name], torch.full((rows - len(VOCABULARY), *arrays[name].shape[1:]), 3.0)])
    if body:
        arrays = {name: array for name, array in arrays.items() if not name.startswith("cls.")}
        arrays |= {"classifier.weight": torch.ones(2, 24), "classifier.bias": torch.ones(2)}
    save_torch({name: array.to(dtype).contiguous() for name, array in arrays.items()}, weights)
    about = json.loads((tmp_path / "config.json").read_text()) | {"vocab_size": rows}
    (tmp_path / "config.json").write_text(json.dumps(about))
    added = [*tokenizer_json()["added_tokens"], {"id": tokens - 1, "content": "[USER]", "special": True}]
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(added_tokens=added)))
    model, tokenizer = import_foreign_bert(tmp_path)
    assert model.vocab_size == tokenizer.full_vocab_size == tokens + 2
    last = tokenizer.vocab_size - 1
    assert tokenizer.name(last) == "[USER]" and last not in tokenizer.encode("the [USER] dog")
    assert bool((model.embedding.weight[last] == 3).all()) and model.embedding.weight.dtype == torch.float32
    torch.testing.assert_close(model.position, written.position, atol=4e-3, rtol=8e-3)
    assert model.config.next_sentence  # its pooler is read


@pytest.mark.parametrize("settings", [{}, {"do_lower_case": False}, {"strip_accents": False, "do_lower_case": True}])
def test_either_file_says_how_text_is_cleaned(tmp_path: Path, settings: dict[str, Any]) -> None:
    folder_of(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    lines = import_foreign_bert(tmp_path)[1].encode_lines(TEXTS)
    normalizer = tokenizer_json()["normalizer"] | {"lowercase": settings.get("do_lower_case", True)}
    normalizer |= {"strip_accents": settings.get("strip_accents")}
    (tmp_path / "tokenizer_config.json").unlink()
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json(normalizer=normalizer)))
    for line, other in zip(lines, import_foreign_bert(tmp_path)[1].encode_lines(TEXTS), strict=True):
        assert line.tolist() == other.tolist()
    knows_cafe = "cafe" in [import_foreign_bert(tmp_path)[1].name(int(line)) for line in lines[1]]
    assert knows_cafe == (settings.get("do_lower_case", True) and settings.get("strip_accents") is None)


def changed(file: str, change: Callable[[Any], Any]) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
        value = json.loads((folder / file).read_text())
        (folder / file).write_text(json.dumps(change(value)))

    return apply


def model_of(**changes: Any) -> Callable[[Path], None]:
    return changed("tokenizer.json", lambda value: value | {"model": value["model"] | changes})


def without(*names: str) -> Callable[[Path], None]:
    def apply(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return apply


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


STRANGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pickle": (pickled, "has pytorch_model.bin, but model.safetensors is needed"),
    "no tokenizer": (without("vocab.txt"), "neither tokenizer.json nor vocab.txt"),
    "no settings": (without("config.json"), "no such file"),
    "another size": (changed("config.json", lambda v: v | {"vocab_size": 10**8}), "do not fit config.json"),
    "vast": (changed("config.json", lambda v: v | {"hidden_size": 2**14, "intermediate_size": 2**16}), "do not fit"),
    "another network": (changed("config.json", lambda v: v | {"model_type": "roberta"}), "model_type"),
    "runs code": (changed("config.json", lambda v: v | {"_target_": "os.system"}), "not a saved network"),
    "runs code, in form": (
        changed("config.json", lambda v: v | {"_target_": "os.system", "format": 1, "config": {}}), "os.system",
    ),
    "another norm": (changed("config.json", lambda v: v | {"layer_norm_eps": 1e-5}), "layer_norm_eps is 1e-05"),
    "other cutting": (changed("tokenizer.json", lambda v: v | {"pre_tokenizer": {"type": "Split"}}), "pre_tokenizer"),
    "other cleaning": (changed("tokenizer.json", lambda v: v | {"normalizer": {"type": "NFC"}}), "supported is BERT's"),
    "an odd switch": (
        changed("tokenizer.json", lambda v: v | {"normalizer": v["normalizer"] | {"lowercase": 3}}), "not true or",
    ),
    "adds tokens": (changed("tokenizer.json", lambda v: v | {"added_tokens": [{"content": "the", "id": 6}]}), "adds"),
    "adds no list": (changed("tokenizer.json", lambda v: v | {"added_tokens": 7}), "int where an object is needed"),
    "a list": (changed("tokenizer.json", lambda v: [v]), "a list where an object is needed"),
    "another model": (model_of(type="BPE"), "model: 'BPE'"),
    "other prefix": (model_of(continuing_subword_prefix="@@"), "continuing_subword_prefix: '@@'"),
    "a gap in the ids": (model_of(vocab={"[PAD]": 0, "a": 2}), "its ids are not 0, 1"),
    "ids of no kind": (model_of(vocab={"[PAD]": True, "a": 0.0}), "its ids are not 0, 1"),
    "no specials": (model_of(vocab={"a": 0, "b": 1}), "its ids are not 0, 1"),
    "a special of ours": (
        model_of(vocab={token: index for index, token in enumerate([*VOCABULARY, "< eos >"])}), "'< eos >', which is",
    ),
    "fewer tokens": (
        model_of(vocab={token: index for index, token in enumerate(VOCABULARY[:-1])}), "they do not belong together",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_damaged_folders_are_refused_with_a_one_line_error(name: str, tmp_path: Path) -> None:
    folder_of(tmp_path / "theirs")
    change, message = STRANGE[name]
    change(tmp_path / "theirs")
    with pytest.raises(InputError) as error:
        read_imported(tmp_path / "theirs")
    assert message in str(error.value) and str(tmp_path / "theirs") in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("lines", [["the", "the"], ["", "x"], ["a b", "[PAD]"]])
def test_a_strange_vocabulary_is_refused(lines: list[str], tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "vocab.txt").write_text("\n".join([*lines, *VOCABULARY]))
    with pytest.raises(InputError, match=r"occurs twice|is empty"):
        import_foreign_bert(tmp_path)


def test_switches_that_disagree_are_refused(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer_json()))
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    with pytest.raises(InputError, match=r"do_lower_case: False, but tokenizer\.json says True"):
        import_foreign_bert(tmp_path)


def test_settings_alone_say_what_it_is(tmp_path: Path) -> None:
    folder_of(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    kind, config = described(tmp_path)
    assert kind is BERT and config.model_dump()["layers"] == 2


HEADS = ("BertForSequenceClassification", "BertForTokenClassification", "BertForQuestionAnswering")


@pytest.mark.parametrize("kind", ["BertForPreTraining", "BertForMaskedLM", "BertModel", *HEADS])
def test_parity_with_a_folder_of_transformers(kind: str, tmp_path: Path) -> None:
    """Weights and tokenizer as `save_pretrained` writes them: ids of texts and pairs, hidden states, gaps."""
    transformers = pytest.importorskip("transformers")
    sizes = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 96}
    config = transformers.BertConfig(vocab_size=len(VOCABULARY), max_position_embeddings=16, **sizes)
    torch.manual_seed(4)
    peer = getattr(transformers, kind)(config).eval()
    with torch.no_grad():
        for parameter in peer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    peer.save_pretrained(tmp_path / "hf")
    vocabulary = {token: index for index, token in enumerate(VOCABULARY)}
    written = transformers.BertTokenizer(vocab=vocabulary)
    written.save_pretrained(tmp_path / "hf")
    model, tokenizer = read_imported(tmp_path / "hf")
    assert isinstance(model, BERT)
    for item, two in ((TEXTS[0], None), (TEXTS[1], TEXTS[3]), (TEXTS[3], TEXTS[0])):
        encoded = written(item, two) if two else written(item)
        second = None if two is None else tokenizer.encode(two)
        tokens, segments = model.framed(tokenizer.encode(item), second)
        assert encoded["input_ids"] == theirs_of(tokenizer, tokens.tolist())
        assert encoded["token_type_ids"] == segments.tolist()
        inputs = {name: torch.tensor([encoded[name]]) for name in ("input_ids", "token_type_ids")}
        with torch.no_grad():
            result = (peer.bert if kind in HEADS else peer)(**inputs, output_hidden_states=True)
            ours = model.hidden(torch.from_numpy(tokens)[None], torch.from_numpy(segments)[None])
        for here, there in zip(ours, result.hidden_states, strict=True):
            torch.testing.assert_close(here, there, atol=1e-5, rtol=1e-5)
        if kind in ("BertForPreTraining", "BertForMaskedLM"):
            logits = result.prediction_logits if kind == "BertForPreTraining" else result.logits
            scores = torch.log_softmax(model.head(model.transformed(ours[-1])), dim=-1)
            there = torch.log_softmax(logits, dim=-1)
            for token in tokenizer.ordinary:
                index = VOCABULARY.index(tokenizer.name(token))
                torch.testing.assert_close(scores[..., token], there[..., index], atol=1e-5, rtol=1e-5)
