"""Tokenize: the tokens of a text by a tokenizer or by the words of word vectors, and the steps of the tokenizer."""

from pathlib import Path
from typing import NamedTuple, TypedDict

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import NAMES, UNK
from langladder.text.tokenize.token_steps import Steps
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import CHOICES, WordChoice, has_unspaced_script, split_words, splitter_of

CUTS = 4  # of a unigram's piece


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


def cut_lines(read: Steps | Words, text: str) -> Cut:
    """The tokens of each line, tokens per word, bytes per token."""
    lines: list[list[tuple[str, int | None]]] = []
    for line in text.splitlines():
        if isinstance(read, Words):
            lines.append([(word, read.rows.get(word)) for word in read.split(line)])
        else:
            tokenizer = read.tokenizer
            ids, places = tokenizer.encode_with_spans(line)
            lines.append(
                [
                    (line[start:end] if token == UNK else read.show(tokenizer.name(token)), token)
                    for token, (start, end) in zip(ids.tolist(), places.tolist(), strict=True)
                ]
            )
    unknown = None if isinstance(read, Words) else UNK
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


def follow(read: Steps | Words, text: str) -> dict[str, object]:
    """The steps of a tokenizer on a text. `how` is one of

    merges    `symbols`, `begins` (of pieces), and `steps`: each merge, its rank, and the positions of left symbols
    longest   `words` and `steps`: the piece taken from the rest of a word, and how many longer ones did not exist
    best      `pieces`, each with the best ways to cut it: tokens with their scores, and the sum
    look_up   `words`, each with its id or null
    """
    if isinstance(read, Words):
        return {"how": "look_up", **cut_lines(read, text)}
    line = " ".join(text.splitlines())
    if read.kind == "word":
        return {"how": "look_up", **cut_lines(read, line)}
    if read.kind in ("wordpiece", "bert"):
        steps = [step._asdict() | {"token": read.show(step.token)} for step in read.wordpiece(line)]
        return {"how": "longest", "words": read.pieces(line), "steps": steps, "unknown": NAMES[UNK]}
    if read.kind == "unigram":
        pieces = [
            {"text": piece, "cuts": [cut._asdict() for cut in read.unigram(piece, CUTS)]} for piece in read.pieces(line)
        ]
        return {"how": "best", "pieces": pieces}
    symbols, merges = read.bpe(line)
    lengths = [len(piece) for piece in read.pieces(line)]
    return {
        "how": "merges",
        "learnt": read.merges,
        "symbols": [read.show(symbol) for symbol in symbols],
        "begins": [sum(lengths[:index]) for index in range(len(lengths))],
        "steps": [
            {
                "left": read.show(step.left),
                "right": read.show(step.right),
                "made": read.show(step.merged),
                "rank": step.rank,
                "places": step.positions,
            }
            for step in merges
        ],
    }
