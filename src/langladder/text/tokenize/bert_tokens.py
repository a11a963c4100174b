"""The tokenizer of a BERT that was trained elsewhere, with the ids of this house (Devlin et al. 2019, section 3).

    vocab.txt               a token a line, or
    tokenizer.json          the same with ids, beside how text is cleaned and cut, and
    tokenizer_config.json   how text is cleaned, where tokenizer.json is not there or does not say it

Text is cleaned (control characters out; Chinese characters apart; lower case and accents off, where the folder says
so), cut at white space and punctuation, and each word into the longest pieces that the vocabulary has, `##` where a
word goes on. The library's parts for that are put together here; of the folder's own only words and four switches are
taken, so nothing in it decides what is run.

Ids: [PAD] → 0, [UNK] → 1; 2 and 3 are BOS and EOS, which BERT does not have; then all others in their order; [SEP],
[CLS], [MASK] → V, V + 1, V + 2. `[MASK]` in a text is five pieces here, not the special. Specials that were added to
these keep a token of their own (`text.tokenize.foreign_tokens`).
"""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tokenizers import models

from langladder.artefacts import read_json, regular_file
from langladder.errors import InputError
from langladder.text.tokenize.foreign_tokens import added_beside, check_ids, json_object, with_added_tokens
from langladder.text.tokenize.specials import SPELLINGS, UNK
from langladder.text.tokenize.tokenizers import CONTINUES, Tokenizer, assemble

PAD_TOKEN, UNK_TOKEN = "[PAD]", "[UNK]"
BEHIND = ("[SEP]", "[CLS]", "[MASK]")  # in the order of this house's reserved ids
SPECIALS = (PAD_TOKEN, UNK_TOKEN, *BEHIND)
LONGEST_WORD = 100
"""Characters; a longer word is unknown, in BERT's code as in the libraries'."""


class BertTokens(NamedTuple):
    """A tokenizer, and for each of its ids, (V + 3,) int64, the one that the folder has; −1: it has none."""

    tokenizer: Tokenizer
    theirs: np.ndarray


def bert_tokens(folder: Path) -> BertTokens:
    """Read a folder's tokenizer.

    Raises:
        InputError: files are missing, or it is no WordPiece tokenizer of BERT's with its five specials.
    """
    path = Path(folder) / "tokenizer.json"
    if path.exists():
        found = json_object(path, read_json(path))
        vocabulary, cleaning = _vocabulary(path, found), _cleaning(path, found)
    else:
        path = Path(folder) / "vocab.txt"
        if not path.exists():
            raise InputError(f"{folder}: holds neither tokenizer.json nor vocab.txt")
        vocabulary, cleaning = _with_added(path, _lines(path), added_beside(Path(folder))), {}
    return _made(path, vocabulary, _agreed(Path(folder), path, cleaning))


def _made(path: Path, vocabulary: list[str], cleaning: dict[str, Any]) -> BertTokens:
    if missing := [token for token in SPECIALS if token not in vocabulary]:
        raise InputError(f"{path}: lacks {', '.join(missing)}; a BERT has {', '.join(SPECIALS)}")
    place = {token: number for number, token in enumerate(vocabulary)}
    others = [token for token in vocabulary if token not in SPECIALS]
    if clash := set(SPELLINGS) & set(others):
        raise InputError(f"{path}: has the token {min(clash)!r}, which is a special here")
    ids = {token: number for number, token in enumerate([*SPELLINGS, *others])}
    model = models.WordPiece(
        ids, unk_token=SPELLINGS[UNK], max_input_chars_per_word=LONGEST_WORD, continuing_subword_prefix=CONTINUES
    )
    tokenizer = Tokenizer(assemble("bert", model, cleaning), "bert")
    theirs = [place[PAD_TOKEN], place[UNK_TOKEN], -1, -1, *(place[token] for token in others)]
    return BertTokens(tokenizer, np.array([*theirs, *(place[token] for token in BEHIND)], dtype=np.int64))


def _lines(path: Path) -> list[str]:
    """The tokens of vocab.txt: what stands between line ends, and nothing else that ends a line elsewhere."""
    regular_file(path)
    try:
        tokens = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error.reason})") from error
    if tokens[-1] == "":
        del tokens[-1]
    return _different(path, tokens)


def _vocabulary(path: Path, found: dict[str, Any]) -> list[str]:
    """The tokens of tokenizer.json, in the order of their ids."""
    model = json_object(path, found.get("model"))
    parts = {
        "model": model,
        **{name: json_object(path, found.get(name) or {}) for name in ("normalizer", "pre_tokenizer")},
    }
    wanted = {"model": "WordPiece", "normalizer": "BertNormalizer", "pre_tokenizer": "BertPreTokenizer"}
    for name, kind in wanted.items():
        if parts[name].get("type") != kind:
            raise InputError(f"{path}: {name}: {str(parts[name].get('type'))[:40]!r}; read here is BERT's, {kind}")
    for name, value in {"continuing_subword_prefix": CONTINUES, "max_input_chars_per_word": LONGEST_WORD}.items():
        if model.get(name, value) != value:
            raise InputError(f"{path}: model.{name}: {str(model[name])[:40]!r}; read here is {value!r}")
    vocabulary = json_object(path, model.get("vocab"))
    check_ids(path, vocabulary)
    tokens = sorted(vocabulary, key=vocabulary.__getitem__)
    return _with_added(path, _different(path, tokens), found.get("added_tokens"))


def _with_added(path: Path, tokens: list[str], added: Any) -> list[str]:
    vocabulary = with_added_tokens(path, {token: place for place, token in enumerate(tokens)}, added, SPECIALS)
    check_ids(path, vocabulary)
    return _different(path, sorted(vocabulary, key=vocabulary.__getitem__))


def _different(path: Path, tokens: list[str]) -> list[str]:
    if "" in tokens:
        raise InputError(f"{path}: token {tokens.index('')} is empty")
    if len(set(tokens)) < len(tokens):
        twice = next(token for token, number in Counter(tokens).items() if number > 1)
        raise InputError(f"{path}: the token {twice[:60]!r} stands there twice")
    return tokens


_SWITCHES = {"lowercase": "do_lower_case", "handle_chinese_chars": "tokenize_chinese_chars"}
_SWITCHES |= {"strip_accents": "strip_accents"}
"""The normalizer's names in tokenizer.json → those in tokenizer_config.json."""
_DEFAULTS: dict[str, bool | None] = {"lowercase": True, "handle_chinese_chars": True, "strip_accents": None}


def _cleaning(path: Path, found: dict[str, Any]) -> dict[str, Any]:
    """What tokenizer.json says of how text is cleaned."""
    normalizer = found["normalizer"]
    if normalizer.get("clean_text", True) is not True:
        raise InputError(f"{path}: normalizer.clean_text: {normalizer['clean_text']!r}; read here is true")
    return {name: normalizer[name] for name in _SWITCHES if name in normalizer}


def _agreed(folder: Path, path: Path, cleaning: dict[str, Any]) -> dict[str, Any]:
    """How text is cleaned, as both files say it."""
    about = folder / "tokenizer_config.json"
    said = json_object(about, read_json(about)) if about.exists() else {}
    found: dict[str, Any] = {"clean_text": True}
    for name, key in _SWITCHES.items():
        values = {file: one[at] for file, one, at in ((path, cleaning, name), (about, said, key)) if at in one}
        for file, value in values.items():
            if value is not None and type(value) is not bool:
                raise InputError(f"{file}: {name}: {str(value)[:40]!r} is not true or false")
        if len({*values.values()}) > 1:
            raise InputError(f"{about}: {key}: {said[key]!r}, but {path.name} says {cleaning[name]!r}; make them agree")
        value = next(iter(values.values()), None)
        found[name] = _DEFAULTS[name] if value is None else value
    return found
