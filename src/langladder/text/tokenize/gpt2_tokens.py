"""The tokenizer of a GPT-2 that was trained elsewhere, with the ids of this house (Radford et al. 2019, section 2.2).

    tokenizer.json              byte-level BPE: tokens with ids, merges in their order, how text is cut, or
    vocab.json and merges.txt   tokens with ids; `#version`, then a merge a line; added ones in tokenizer_config.json

It is the kind `bpe_bytes` of this house with other merges: of the folder only tokens and merges are taken, and every
token is a run of bytes, but for the one that ends a text. Specials that were added keep a token of their own, which no
text is cut into (`text.tokenize.foreign_tokens`).

Ids: PAD, UNK, BOS, EOS are 0 to 3, which no text encodes to, then come all tokens in their order but the ending one
and, where there is one, the one that pads.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import models, pre_tokenizers

from langladder.artefacts import read_json, regular_file
from langladder.errors import InputError
from langladder.text.tokenize.foreign_tokens import added_beside, check_ids, json_object, with_added_tokens
from langladder.text.tokenize.specials import SPELLINGS
from langladder.text.tokenize.tokenizers import BYTES, Tokenizer, assemble

Merges = list[tuple[str, str]]


class GPT2Tokens(NamedTuple):
    """A tokenizer, and for each of its V ids, (V,) int64, the one that the folder has; −1: it has none."""

    tokenizer: Tokenizer
    theirs: np.ndarray


def gpt2_tokens(folder: Path, *, end: Any, pad: Any = None) -> GPT2Tokens:
    """Read a folder's tokenizer.

    Args:
        end: id of the token that ends a text and begins the next, as config.json has it.
        pad: id of the token that pads, where config.json has one; an added special, or it is not looked at.

    Raises:
        InputError: files are missing, or it is no byte-level BPE.
    """
    path = Path(folder) / "tokenizer.json"
    if path.exists():
        own, added, merges = _parts(path)
    else:
        path = Path(folder) / "vocab.json"
        own, added = json_object(path, read_json(path)), added_beside(Path(folder))
        merges = _merges(Path(folder) / "merges.txt")
    vocabulary = with_added_tokens(path, own, added, [token for token, number in own.items() if number == end])
    check_ids(path, vocabulary)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    if type(end) is not int or not 0 <= end < len(tokens):
        raise InputError(f"{folder}/config.json: eos_token_id: {str(end)[:20]} is no token of {path.name}")
    alphabet = {*pre_tokenizers.ByteLevel.alphabet()}
    padding = pad if type(pad) is int and pad != end and 0 <= pad < len(tokens) and tokens[pad] not in own else -1
    others = [token for place, token in enumerate(tokens) if place not in (end, padding)]
    theirs = [padding, -1, end, end, *(vocabulary[token] for token in others)]
    others = [token if token in own else _in_bytes(token) for token in others]
    if missing := alphabet - {*others}:
        raise InputError(f"{path}: lacks {len(missing)} of the 256 bytes as tokens: no byte-level BPE")
    if strange := next((token for token in others if not token or {*token} - alphabet), None):
        raise InputError(f"{path}: the token {strange[:60]!r} is no run of bytes")
    ours = {token: place for place, token in enumerate([*SPELLINGS, *others])}
    if len(ours) < len(theirs):
        raise InputError(f"{path}: adds a token that is spelt like another")
    if apart := next((pair for pair in merges if any(part not in ours for part in (*pair, "".join(pair)))), None):
        raise InputError(f"{path}: merges {' '.join(apart)[:60]!r}, of which its tokens lack a part or the whole")
    tokenizer = Tokenizer(assemble("bpe_bytes", models.BPE(vocab=ours, merges=merges)), "bpe_bytes")
    return GPT2Tokens(tokenizer, np.array(theirs, dtype=np.int64))


def _in_bytes(text: str) -> str:
    """An added token as byte-level BPE writes bytes; its merges do not lead there, so no text is cut into it."""
    visible = {byte: character for character, byte in BYTES.items()}
    return "".join(visible[byte] for byte in text.encode())


def _parts(path: Path) -> tuple[dict[str, Any], Any, Merges]:
    """Tokens, added ones and merges of tokenizer.json, which cuts text as this house's byte-level BPE does."""
    found = json_object(path, read_json(path))
    model, cut = json_object(path, found.get("model")), json_object(path, found.get("pre_tokenizer") or {})
    said = {
        "model.type": (model.get("type"), ("BPE",)),
        "model.continuing_subword_prefix": (model.get("continuing_subword_prefix"), (None, "")),
        "model.end_of_word_suffix": (model.get("end_of_word_suffix"), (None, "")),
        "model.dropout": (model.get("dropout"), (None, 0)),
        "model.ignore_merges": (model.get("ignore_merges", False), (False,)),
        "normalizer": (found.get("normalizer"), (None,)),
        "pre_tokenizer.type": (cut.get("type"), ("ByteLevel",)),
        "pre_tokenizer.add_prefix_space": (cut.get("add_prefix_space"), (False,)),
        "pre_tokenizer.use_regex": (cut.get("use_regex", True), (True,)),
    }
    for name, (value, allowed) in said.items():
        if value not in allowed:
            raise InputError(f"{path}: {name}: {str(value)[:40]!r}; read here is GPT-2's, {allowed[0]!r}")
    merges = model.get("merges")
    if not isinstance(merges, list):
        raise InputError(f"{path}: model.merges: not a list")
    return json_object(path, model.get("vocab")), found.get("added_tokens"), [_pair(path, one) for one in merges]


def _merges(path: Path) -> Merges:
    regular_file(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from error
    return [_pair(path, line) for line in lines if line and not line.startswith("#version")]


def _pair(path: Path, merge: Any) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{path}: the merge {str(merge)[:60]!r} is not of two tokens")
    return parts[0], parts[1]
