"""Tokenize: the tokens of a text by a tokenizer or by the words of word vectors."""

from pathlib import Path
from typing import NamedTuple, TypedDict

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import CHOICES, WordChoice, has_unspaced_script, split_words, splitter_of


class Words(NamedTuple):
    """The words of word vectors, as a tokenizer."""

    rows: dict[str, int]
    words_by: WordChoice = "auto"
    normalisation: Normalisation = Normalisation()
    kind: str = "vectors"

    def split(self, line: str) -> list[str]:
        """The words of a line, normalised like the training text."""
        return splitter_of(self.words_by)(self.normalisation.normalise(line))


class Cut(TypedDict):
    """A text as tokens.

    Attributes:
        lines: text and id of each token, one list per line; the id of a word without a vector is None.
        unknown: number of unknown tokens; unknown_id: their id.
        words: 0 for scripts that do not separate words; then there is no `per_word`.
    """

    lines: list[list[tuple[str, int | None]]]
    unknown: int
    unknown_id: int | None
    tokens: int
    words: int
    per_word: float | None
    bytes_per_token: float | None


def read_words(file: Path) -> Words:
    """The words of saved vectors, from their words.json. Raises InputError if the file is invalid."""
    described = read_json(file)
    words = described.get("words") if isinstance(described, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{file}: not the words of saved vectors")
    words_by = described.get("words_by", "auto")
    written = Normalisation.checked(described.get("normalisation"), f"{file}: normalisation")
    return Words({word: row for row, word in enumerate(words)}, words_by if words_by in CHOICES else "auto", written)


def cut_lines(tokenizer: Tokenizer | Words, text: str) -> Cut:
    """The tokens of each line, tokens per word, bytes per token."""
    lines: list[list[tuple[str, int | None]]] = []
    for line in text.splitlines():
        if isinstance(tokenizer, Words):
            lines.append([(word, tokenizer.rows.get(word)) for word in tokenizer.split(line)])
        else:
            spell = tokenizer.piece if tokenizer.kind == "bpe_bytes" else tokenizer.name  # bytes: as characters
            ids, spans = tokenizer.encode_with_spans(line)
            lines.append(
                [
                    (line[start:end] if token == UNK else spell(token), token)
                    for token, (start, end) in zip(ids.tolist(), spans.tolist(), strict=True)
                ]
            )
    unknown = None if isinstance(tokenizer, Words) else UNK
    tokens = [token for line in lines for token in line]
    words = 0 if has_unspaced_script(text) else len(split_words(text))  # unknown for such a text
    size = sum(len(line.encode()) for line in text.splitlines())
    return {
        "lines": lines,
        "unknown": sum(token == unknown for _, token in tokens),
        "unknown_id": unknown,
        "tokens": len(tokens),
        "words": words,
        "per_word": round(len(tokens) / words, 3) if words else None,
        "bytes_per_token": round(size / len(tokens), 3) if tokens else None,
    }
