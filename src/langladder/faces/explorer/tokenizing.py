"""Tokenize: one text in every tokenizer of the shelf, and how each arrives at its tokens."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

from fastapi import APIRouter
from pydantic import BaseModel, Field

from langladder.faces.explorer.page import Page
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.tokenize.specials import NAMES, UNK
from langladder.text.tokenize.token_steps import Steps
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmenters import CHOICES, WordChoice, splitter_of
from langladder.text.words.words import has_unspaced_script

MOST_CHARACTERS = 5_000  # of a text: each token of each tokenizer is shown
MOST_STEPPED = 400  # of a text that is followed step by step
CUTS = 4  # of a unigram's piece
FILES = ("tokenizer.json", "source.json", "target.json", "words.json")
KINDS = {
    "bpe_bytes": "BPE of bytes",
    "bpe_words": "BPE of words",
    "wordpiece": "WordPiece",
    "unigram": "Unigram",
    "word": "Words",
    "character": "Characters",
    "bert": "WordPiece as BERT's",
    "vectors": "Words that have vectors",
}


class Text(BaseModel):
    """A text."""

    text: str = Field(max_length=MOST_CHARACTERS)


class Followed(BaseModel):
    """A text that one tokenizer cuts, step by step; `tokenizer` is an id of the list."""

    tokenizer: Annotated[str, Field(max_length=64)]
    text: str = Field(max_length=MOST_STEPPED)


class Words(NamedTuple):
    """The words of word vectors, as a tokenizer."""

    rows: dict[str, int]
    words_by: WordChoice = "auto"
    normalisation: Normalisation = Normalisation()
    kind: str = "vectors"

    def split(self, line: str) -> list[str]:
        """The words of a line, as the training text writes them."""
        return splitter_of(self.words_by)(self.normalisation.normalise(line))


def router(shelf: Shelf) -> APIRouter:
    """What answers the page's script."""
    routes = APIRouter()

    @routes.post("/list")
    def listed() -> list[Json]:
        """The different tokenizers: what kind each is, how large, whose; `error` where it cannot be read."""
        return [_about(shelf, key, files) for key, files in _files(shelf).items()]

    @routes.post("/cut")
    def cut(request: Text) -> list[Json]:
        """The tokens of every tokenizer, a list a line: [text, id]; the id is null where a word has none."""
        if not request.text.strip():
            raise InputError("text: empty; write a text")
        found = []
        for key, files in _files(shelf).items():
            try:
                found.append({"id": key} | cut_lines(_read(shelf, files[0]), request.text))
            except InputError as error:
                found.append({"id": key, "error": {"message": str(error)}})
        return found

    @routes.post("/steps")
    def steps(request: Followed) -> Json:
        """How one tokenizer cuts a text; which keys there are, `how` says."""
        if not request.text.strip():
            raise InputError("text: empty; write a text")
        files = _files(shelf)
        if request.tokenizer not in files:
            raise InputError(f"tokenizer: there is no {request.tokenizer[:20]!r} any more; load the page again")
        return follow(_read(shelf, files[request.tokenizer][0]), request.text)

    return routes


def _files(shelf: Shelf) -> dict[str, list[Path]]:
    """The different tokenizers by their hash, and the files that hold each."""
    found: dict[str, list[Path]] = {}
    for folder in shelf.folders.values():
        for name in FILES:
            if (file := folder / name).is_file():
                found.setdefault(shelf.have("hash", file, _hash), []).append(file)
    return found


def _hash(file: Path) -> str:
    """Of what decides on tokens: of vectors the words alone."""
    if file.name == "words.json":
        return hashlib.sha256("\n".join(_words(file).rows).encode()).hexdigest()[:16]
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _words(file: Path) -> Words:
    described = read_json(file)
    words = described.get("words") if isinstance(described, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{file}: not the words of saved vectors")
    words_by = described.get("words_by", "auto")
    written = Normalisation.checked(described.get("normalisation"), f"{file}: normalisation")
    return Words({word: row for row, word in enumerate(words)}, words_by if words_by in CHOICES else "auto", written)


def _read(shelf: Shelf, file: Path) -> Steps | Words:
    if file.name == "words.json":
        return shelf.have("words", file, _words)
    return shelf.have("steps", file, lambda path: Steps(Tokenizer.load(path)))


def _about(shelf: Shelf, key: str, files: Sequence[Path]) -> Json:
    """One of the list."""
    names = {folder: name for name, folder in shelf.folders.items()}
    sides = {"source.json": " (source)", "target.json": " (target)"}
    users = [names[file.parent] + sides.get(file.name, "") for file in files]
    try:
        read = _read(shelf, files[0])
    except InputError as error:
        return {"id": key, "models": users, "error": {"message": str(error)}}
    size = len(read.rows) if isinstance(read, Words) else read.tokenizer.vocab_size
    merges = None if isinstance(read, Words) else read.merges
    return {"id": key, "models": users, "kind": read.kind, "title": KINDS[read.kind], "size": size, "merges": merges}


def cut_lines(read: Steps | Words, text: str) -> Json:
    """The tokens of each line, tokens per word (None where a script separates none), bytes per token, unknowns."""
    lines: list[list[tuple[str, int | None]]] = []
    for line in text.splitlines():
        if isinstance(read, Words):
            lines.append([(word, read.rows.get(word)) for word in read.split(line)])
        else:
            tokenizer = read.tokenizer
            ids, places = tokenizer.encode_with_places(line)
            lines.append(
                [
                    (line[start:end] if token == UNK else read.show(tokenizer.name(token)), token)
                    for token, (start, end) in zip(ids.tolist(), places.tolist(), strict=True)
                ]
            )
    unknown = None if isinstance(read, Words) else UNK
    tokens = [token for line in lines for token in line]
    words = 0 if has_unspaced_script(text) else len(text.split())  # of such a text nobody knows
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


def follow(read: Steps | Words, text: str) -> Json:
    """How a tokenizer arrives at the tokens of a text. `how` is one of

    merges    `symbols`, `begins` (of pieces), and `steps`: of each merge what, its rank, and the places of left symbols
    longest   `words` and `steps`: which piece is taken of what is left of a word, and how many longer ones were none
    best      `pieces`, each with the best ways to cut it: tokens with their scores, and the sum
    look_up   `words`, each with its id or null
    """
    if isinstance(read, Words):
        return {"how": "look_up"} | cut_lines(read, text)
    line = " ".join(text.splitlines())
    if read.kind == "word":
        return {"how": "look_up"} | cut_lines(read, line)
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
        "begins": [sum(lengths[:place]) for place in range(len(lengths))],
        "steps": [
            step._asdict() | {part: read.show(getattr(step, part)) for part in ("left", "right", "made")}
            for step in merges
        ],
    }


PAGE = Page(
    "tokenize",
    "Tokenize",
    "One text as every tokenizer cuts it, and how it arrives there.",
    "tokenize.html.j2",
    "tokenize.js",
    router,
    at_once=8,
)
