"""What the tokenizers of a GPT-2 and of a BERT that were trained elsewhere have in common: ids, and added tokens.

A special that was added behind the vocabulary (`[PAD]`, `<|user|>`) keeps its row of weights. As with every special of
this house, no text is cut into one. An added word that is no special is refused: `tokenizers` looks for it in a text
before it cuts the text, which nothing here does.
"""

from collections.abc import Collection
from pathlib import Path
from typing import Any

from langladder.artefacts import read_json
from langladder.errors import InputError


def json_object(path: Path, value: Any) -> dict[str, Any]:
    """`value` itself. Raises InputError where it is no object."""
    if not isinstance(value, dict):
        raise InputError(
            f"{path}: a {type(value).__name__} where an object is needed: not the tokenizer of such a model"
        )
    return value


def check_ids(path: Path, vocabulary: dict[str, Any]) -> None:
    """Raise InputError unless the ids are 0, 1, 2, …, each once."""
    ids = [*vocabulary.values()]
    if any(type(token) is not int for token in ids) or {*ids} != {*range(len(ids))}:
        raise InputError(f"{path}: its ids are not 0, 1, 2, … {len(ids) - 1}")


def with_added_tokens(path: Path, vocabulary: dict[str, Any], added: Any, known: Collection[str]) -> dict[str, Any]:
    """The vocabulary and the specials that were added to it.

    Args:
        added: of tokenizer.json, `added_tokens`.
        known: the model's own specials, whatever the file says of them.

    Raises:
        InputError: one is no special, or has another id than in the vocabulary.
    """
    found = dict(vocabulary)
    for token in (added or []) if isinstance(added, list | None) else [added]:
        content, number = str(json_object(path, token).get("content")), token.get("id")
        if found.get(content, number) != number:
            raise InputError(f"{path}: adds {content[:60]!r} with the id {str(number)[:20]}, and has it with another")
        if content not in known and token.get("special") is not True:
            raise InputError(
                f"{path}: adds {content[:60]!r}, which is no special; specials alone may be added, because texts are "
                "not searched for added words here"
            )
        found[content] = number
    return found


def added_beside(folder: Path) -> list[dict[str, Any]]:
    """The tokens that tokenizer_config.json adds where there is no tokenizer.json, as that file would have them.

    Raises:
        InputError: they stand in added_tokens.json, which does not say which of them are specials.
    """
    path = folder / "tokenizer_config.json"
    said = json_object(path, read_json(path)) if path.exists() else {}
    tokens = json_object(path, said.get("added_tokens_decoder") or {})
    if not tokens and (folder / "added_tokens.json").exists():
        raise InputError(
            f"{folder}/added_tokens.json: does not say which tokens are specials, and is not read; save the tokenizer "
            "with tokenizer.json (`save_pretrained` of today's transformers)"
        )
    return [json_object(path, token) | {"id": _number(path, number)} for number, token in tokens.items()]


def _number(path: Path, text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12):
        raise InputError(f"{path}: added_tokens_decoder: {text[:20]!r} is no id")
    return int(text)


def check_rows(folder: Path, rows: int, tokens: int) -> None:
    """Raise InputError unless a network of so many rows is one of so many tokens, or padded to a multiple of 2ⁿ ≥ 8.

    The rows that no token has are not read.
    """
    multiple = min(rows & -rows, 1024)  # the largest power of two that divides it
    if rows == tokens or (rows > tokens and multiple >= 8 and rows - tokens < multiple):
        return
    raise InputError(
        f"{folder}: the network has {rows:,} tokens, its tokenizer {tokens:,}; they are not of one model (a vocabulary "
        "that was padded has a multiple of 8, 16, … 1,024 rows)"
    )
