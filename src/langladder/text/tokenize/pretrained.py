"""Tokenizers of a GPT-2 or a BERT from another project, with the ids of this one.

GPT-2 (Radford et al. 2019, section 2.2) is the kind `bpe_bytes` with `cutting: gpt2` and other merges. Its folder has
either of

    tokenizer.json              byte-level BPE: tokens with ids, merges in their order, how text is cut
    vocab.json and merges.txt   tokens with ids; `#version`, then a merge a line; added ones in tokenizer_config.json

Only tokens and merges are read, and every token is a run of bytes, except the one that ends a text. Ids: PAD, UNK, BOS,
EOS are 0 to 3, which no text encodes to; then all tokens in their order, without the one that ends a text and, where
there is one, the one that pads.

BERT (Devlin et al. 2019, section 3) has either of

    vocab.txt               a token a line
    tokenizer.json          the same with ids, and how text is cleaned and cut

and tokenizer_config.json, which has the settings of the cleaning that tokenizer.json does not have. Text is cleaned
(control characters removed; Chinese characters separated; lower case and accents removed, if so set), cut at white
space and punctuation, and each word into the longest pieces that the vocabulary has, `##` inside a word. Only
tokens and four settings are read, so no rules of the folder are run. Ids: [PAD] → 0, [UNK] → 1; 2 and 3 are BOS and
EOS, which BERT does not have; then all others in their order; [SEP], [CLS], [MASK] → V, V + 1, V + 2. `[MASK]` in a
text is five pieces here, not the special.

A special that was added behind the vocabulary (`[PAD]`, `<|user|>`) keeps its row of weights; no text is cut into it.
An added word that is not a special is an error: `tokenizers` looks for it in a text before it cuts the text, which is
not supported here.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tokenizers import models, pre_tokenizers

from langladder.ground.artefacts import JSONObject, read_json, regular_file
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import SPELLINGS, UNK
from langladder.text.tokenize.tokenizers import BYTES, CONTINUES, Tokenizer, assemble

Merges = list[tuple[str, str]]
PAD_TOKEN, UNK_TOKEN = "[PAD]", "[UNK]"
BEHIND = ("[SEP]", "[CLS]", "[MASK]")  # in the order of this project's reserved ids
SPECIALS = (PAD_TOKEN, UNK_TOKEN, *BEHIND)
LONGEST_WORD = 100
"""Characters; a longer word is unknown, in BERT's code as in the libraries'."""
_SWITCHES = {"lowercase": "do_lower_case", "handle_chinese_chars": "tokenize_chinese_chars"}
_SWITCHES |= {"strip_accents": "strip_accents"}
"""The normalizer's names in tokenizer.json → those in tokenizer_config.json."""
_DEFAULTS: dict[str, bool | None] = {"lowercase": True, "handle_chinese_chars": True, "strip_accents": None}


class PretrainedTokens(NamedTuple):
    """A tokenizer, and for each of its ids, int64, the id in the folder; −1: none.

    Of GPT-2 these are V ids, of BERT V + 3, the reserved ones included.
    """

    tokenizer: Tokenizer
    theirs: np.ndarray


# ---- GPT-2


def gpt2_tokens(folder: Path, *, end: object, begin: object = None, pad: object = None) -> PretrainedTokens:
    """Read a folder's tokenizer.

    Args:
        end: id of the token that ends a text, as config.json has it.
        begin: id of the token that begins one; None: the same.
        pad: id of the padding token in config.json, if any; ignored unless it is an added special.

    Raises:
        InputError: files are missing, or it is no byte-level BPE.
    """
    path = Path(folder) / "tokenizer.json"
    if path.exists():
        own, added, merges = _bpe_parts(path)
    else:
        path = Path(folder) / "vocab.json"
        own, added = json_object(path, read_json(path)), added_beside(Path(folder))
        merges = _merge_lines(Path(folder) / "merges.txt")
    marks = [token for token, number in own.items() if number in (begin, end)]
    vocabulary = with_added_tokens(path, own, added, marks)
    check_ids(path, vocabulary)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    begin = end if begin is None else begin
    for name, number in (("eos_token_id", end), ("bos_token_id", begin)):
        if type(number) is not int or not 0 <= number < len(tokens):
            raise InputError(f"{folder}/config.json: {name}: {str(number)[:20]} is not a token of {path.name}")
    alphabet = {*pre_tokenizers.ByteLevel.alphabet()}
    padded = type(pad) is int and pad not in (begin, end) and 0 <= pad < len(tokens) and tokens[pad] not in own
    padding = pad if padded else -1
    others = [token for number, token in enumerate(tokens) if number not in (begin, end, padding)]
    theirs = [padding, -1, begin, end, *(vocabulary[token] for token in others)]
    others = [token if token in own else _in_bytes(token) for token in others]
    if missing := alphabet - {*others}:
        raise InputError(f"{path}: lacks {len(missing)} of the 256 bytes as tokens: no byte-level BPE")
    if strange := next((token for token in others if not token or {*token} - alphabet), None):
        raise InputError(f"{path}: the token {strange[:60]!r} is not a sequence of bytes")
    ours = {token: number for number, token in enumerate([*SPELLINGS, *others])}
    if len(ours) < len(theirs):
        raise InputError(f"{path}: adds a token with the spelling of another")
    if incomplete := next((pair for pair in merges if any(part not in ours for part in (*pair, "".join(pair)))), None):
        raise InputError(f"{path}: merges {' '.join(incomplete)[:60]!r}, of which its tokens lack a part or the whole")
    tokenizer = Tokenizer(assemble("bpe_bytes", models.BPE(vocab=ours, merges=merges), cutting="gpt2"), "bpe_bytes")
    return PretrainedTokens(tokenizer, np.array(theirs, dtype=np.int64))


def _in_bytes(text: str) -> str:
    """An added token in byte-level spelling; no merges lead to it, so no text is cut into it."""
    visible = {byte: character for character, byte in BYTES.items()}
    return "".join(visible[byte] for byte in text.encode())


def _bpe_parts(path: Path) -> tuple[JSONObject, object, Merges]:
    """Tokens, added ones and merges of tokenizer.json, which cuts text as GPT-2 does."""
    content = json_object(path, read_json(path))
    model, cut = json_object(path, content.get("model")), json_object(path, content.get("pre_tokenizer") or {})
    settings = {
        "model.type": (model.get("type"), ("BPE",)),
        "model.continuing_subword_prefix": (model.get("continuing_subword_prefix"), (None, "")),
        "model.end_of_word_suffix": (model.get("end_of_word_suffix"), (None, "")),
        "model.dropout": (model.get("dropout"), (None, 0)),
        "model.ignore_merges": (model.get("ignore_merges", False), (False,)),
        "normalizer": (content.get("normalizer"), (None,)),
        "pre_tokenizer.type": (cut.get("type"), ("ByteLevel",)),
        "pre_tokenizer.add_prefix_space": (cut.get("add_prefix_space"), (False,)),
        "pre_tokenizer.use_regex": (cut.get("use_regex", True), (True,)),
    }
    for name, (value, allowed) in settings.items():
        if value not in allowed:
            raise InputError(f"{path}: {name}: {str(value)[:40]!r}; supported is GPT-2's, {allowed[0]!r}")
    merges = model.get("merges")
    if not isinstance(merges, list):
        raise InputError(f"{path}: model.merges: not a list")
    return json_object(path, model.get("vocab")), content.get("added_tokens"), [_pair(path, merge) for merge in merges]


def _merge_lines(path: Path) -> Merges:
    regular_file(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from error
    return [_pair(path, line) for line in lines if line and not line.startswith("#version")]


def _pair(path: Path, merge: object) -> tuple[str, str]:
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise InputError(f"{path}: the merge {str(merge)[:60]!r} is not of two tokens")
    return parts[0], parts[1]


# ---- BERT


def bert_tokens(folder: Path) -> PretrainedTokens:
    """Read a folder's tokenizer.

    Raises:
        InputError: files are missing, or it is no WordPiece tokenizer of BERT's with its five specials.
    """
    path = Path(folder) / "tokenizer.json"
    if path.exists():
        content = json_object(path, read_json(path))
        vocabulary, cleaning = _vocabulary(path, content), _cleaning(path, content)
    else:
        path = Path(folder) / "vocab.txt"
        if not path.exists():
            raise InputError(f"{folder}: holds neither tokenizer.json nor vocab.txt")
        vocabulary, cleaning = _with_added(path, _vocabulary_lines(path), added_beside(Path(folder))), {}
    return _bert_tokenizer(path, vocabulary, _bert_cleaning(Path(folder), path, cleaning))


def _bert_tokenizer(path: Path, vocabulary: list[str], cleaning: Mapping[str, bool | None]) -> PretrainedTokens:
    if missing := [token for token in SPECIALS if token not in vocabulary]:
        raise InputError(f"{path}: lacks {', '.join(missing)}; a BERT has {', '.join(SPECIALS)}")
    numbers = {token: number for number, token in enumerate(vocabulary)}
    others = [token for token in vocabulary if token not in SPECIALS]
    if clash := set(SPELLINGS) & set(others):
        raise InputError(f"{path}: has the token {min(clash)!r}, which is a special here")
    ids = {token: number for number, token in enumerate([*SPELLINGS, *others])}
    model = models.WordPiece(
        ids, unk_token=SPELLINGS[UNK], max_input_chars_per_word=LONGEST_WORD, continuing_subword_prefix=CONTINUES
    )
    tokenizer = Tokenizer(assemble("bert", model, cleaning=cleaning), "bert")
    theirs = [numbers[PAD_TOKEN], numbers[UNK_TOKEN], -1, -1, *(numbers[token] for token in others)]
    return PretrainedTokens(tokenizer, np.array([*theirs, *(numbers[token] for token in BEHIND)], dtype=np.int64))


def _vocabulary_lines(path: Path) -> list[str]:
    """The tokens of vocab.txt, split at newlines only, not at Unicode's other line ends."""
    regular_file(path)
    try:
        tokens = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from error
    if tokens[-1] == "":
        del tokens[-1]
    return _different(path, tokens)


def _vocabulary(path: Path, content: JSONObject) -> list[str]:
    """The tokens of tokenizer.json, in the order of their ids."""
    model = json_object(path, content.get("model"))
    parts = {
        "model": model,
        **{name: json_object(path, content.get(name) or {}) for name in ("normalizer", "pre_tokenizer")},
    }
    wanted = {"model": "WordPiece", "normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
    for name, kind in wanted.items():
        if parts[name].get("type") != kind:
            raise InputError(f"{path}: {name}: {str(parts[name].get('type'))[:40]!r}; supported is BERT's, {kind}")
    for name, value in {"continuing_subword_prefix": CONTINUES, "max_input_chars_per_word": LONGEST_WORD}.items():
        if model.get(name, value) != value:
            raise InputError(f"{path}: model.{name}: {str(model[name])[:40]!r}; supported is {value!r}")
    vocabulary = json_object(path, model.get("vocab"))
    check_ids(path, vocabulary)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    return _with_added(path, _different(path, tokens), content.get("added_tokens"))


def _with_added(path: Path, tokens: list[str], added: object) -> list[str]:
    vocabulary = with_added_tokens(path, {token: number for number, token in enumerate(tokens)}, added, SPECIALS)
    check_ids(path, vocabulary)
    return _different(path, sorted(vocabulary, key=vocabulary.__getitem__))


def _different(path: Path, tokens: list[str]) -> list[str]:
    if "" in tokens:
        raise InputError(f"{path}: token {tokens.index('')} is empty")
    if len(set(tokens)) < len(tokens):
        twice = next(token for token, number in Counter(tokens).items() if number > 1)
        raise InputError(f"{path}: the token {twice[:60]!r} occurs twice")
    return tokens


def _cleaning(path: Path, content: JSONObject) -> JSONObject:
    """The settings of the cleaning in tokenizer.json."""
    normalizer = content["normalizer"]
    if normalizer.get("clean_text", True) is not True:
        raise InputError(f"{path}: normalizer.clean_text: {normalizer['clean_text']!r}; supported is true")
    return {name: normalizer[name] for name in _SWITCHES if name in normalizer}


def _bert_cleaning(folder: Path, path: Path, cleaning: JSONObject) -> dict[str, bool | None]:
    """The settings of the cleaning, from both files."""
    about = folder / "tokenizer_config.json"
    settings = json_object(about, read_json(about)) if about.exists() else {}
    options: dict[str, bool | None] = {"clean_text": True}
    for name, key in _SWITCHES.items():
        values = {
            file: entry[at] for file, entry, at in ((path, cleaning, name), (about, settings, key)) if at in entry
        }
        for file, value in values.items():
            if value is not None and type(value) is not bool:
                raise InputError(f"{file}: {name}: {str(value)[:40]!r} is not true or false")
        if len({*values.values()}) > 1:
            raise InputError(
                f"{about}: {key}: {settings[key]!r}, but {path.name} says {cleaning[name]!r}; make them agree"
            )
        value = next(iter(values.values()), None)
        options[name] = _DEFAULTS[name] if value is None else value
    return options


# ---- both


def json_object(path: Path, value: object) -> JSONObject:
    """`value` itself. Raises InputError where it is no object."""
    if not isinstance(value, dict):
        raise InputError(
            f"{path}: a {type(value).__name__} where an object is needed: not the tokenizer of such a model"
        )
    return value


def check_ids(path: Path, vocabulary: JSONObject) -> None:
    """Raise InputError unless the ids are 0, 1, 2, …, each once."""
    ids = [*vocabulary.values()]
    if any(type(token) is not int for token in ids) or {*ids} != {*range(len(ids))}:
        raise InputError(f"{path}: its ids are not 0, 1, 2, … {len(ids) - 1}")


def with_added_tokens(path: Path, vocabulary: JSONObject, added: object, known: Collection[str]) -> JSONObject:
    """The vocabulary and the specials that were added to it.

    Args:
        added: of tokenizer.json, `added_tokens`.
        known: the model's own specials, independent of the file.

    Raises:
        InputError: one is no special, or has another id than in the vocabulary.
    """
    tokens = dict(vocabulary)
    for item in (added or []) if isinstance(added, list | None) else [added]:
        token = json_object(path, item)
        content, number = str(token.get("content")), token.get("id")
        if tokens.get(content, number) != number:
            raise InputError(f"{path}: adds {content[:60]!r} with the id {str(number)[:20]}, and has it with another")
        if content not in known and token.get("special") is not True:
            raise InputError(
                f"{path}: adds {content[:60]!r}, which is no special; specials alone may be added, because texts are "
                "not searched for added words here"
            )
        tokens[content] = number
    return tokens


def added_beside(folder: Path) -> list[JSONObject]:
    """The tokens that tokenizer_config.json adds where there is no tokenizer.json, as that file would have them.

    Raises:
        InputError: they are in added_tokens.json, which does not mark specials.
    """
    path = folder / "tokenizer_config.json"
    settings = json_object(path, read_json(path)) if path.exists() else {}
    tokens = json_object(path, settings.get("added_tokens_decoder") or {})
    if not tokens and (folder / "added_tokens.json").exists():
        raise InputError(
            f"{folder}/added_tokens.json: does not say which tokens are specials, and is not read; save the tokenizer "
            "with tokenizer.json (`save_pretrained` of today's transformers)"
        )
    return [json_object(path, token) | {"id": _number(path, number)} for number, token in tokens.items()]


def _number(path: Path, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InputError(f"{path}: added_tokens_decoder: {text[:20]!r} is not an id")
    return int(text)


def check_rows(folder: Path, rows: int, tokens: int) -> None:
    """Raise InputError unless a network has a row per token, or is padded to a multiple of 2ⁿ ≥ 8 rows.

    Padding rows are not read.
    """
    multiple = min(rows & -rows, 1024)  # the largest power of two that divides it
    if rows == tokens or (rows > tokens and multiple >= 8 and rows - tokens < multiple):
        return
    raise InputError(
        f"{folder}: the network has {rows:,} tokens, its tokenizer {tokens:,}; they do not belong together (a padded "
        "vocabulary has a multiple of 8, 16, … 1,024 rows)"
    )
