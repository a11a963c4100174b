"""Tokenize: one text in every tokenizer of the shelf, and the steps of each."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from langladder.answers.tokenize import Words, cut_lines, follow, read_words
from langladder.faces.explorer.history import in_order
from langladder.faces.explorer.page import Page
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.token_steps import Steps
from langladder.text.tokenize.tokenizers import Tokenizer

MOST_CHARACTERS = 5_000  # of a text: each token of each tokenizer is shown
MOST_STEPPED = 400  # of a text that is followed step by step
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
    """A text to tokenize step by step; `tokenizer` is an id of the list."""

    tokenizer: Annotated[str, Field(max_length=64)]
    text: str = Field(max_length=MOST_STEPPED)


def router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/list")
    def listed() -> list[Json]:
        """The different tokenizers: kind, size, models of each; `error` if it cannot be read."""
        return [_about(shelf, key, files) for key, files in _files(shelf).items()]

    @routes.post("/cut")
    def cut(request: Text) -> list[Json]:
        """The tokens of every tokenizer, one list per line: [text, id]; the id is null if a word has none."""
        if not request.text.strip():
            raise InputError("text: empty; write a text")
        found = []
        for key, files in _files(shelf).items():
            try:
                found.append({"id": key, **cut_lines(_read(shelf, files[0]), request.text)})
            except InputError as error:
                found.append({"id": key, "error": {"message": str(error)}})
        return found

    @routes.post("/steps")
    def steps(request: Followed) -> Json:
        """The steps of one tokenizer on a text; the keys depend on `how`."""
        if not request.text.strip():
            raise InputError("text: empty; write a text")
        files = _files(shelf)
        if request.tokenizer not in files:
            raise InputError(f"tokenizer: there is no {request.tokenizer[:20]!r} any more; load the page again")
        return follow(_read(shelf, files[request.tokenizer][0]), request.text)

    return routes


def _files(shelf: Shelf) -> dict[str, list[Path]]:
    """The different tokenizers by their hash, and the files with each."""
    found: dict[str, list[Path]] = {}
    for folder in in_order(shelf).values():
        for name in FILES:
            if (file := folder / name).is_file():
                found.setdefault(shelf.load("hash", file, _hash), []).append(file)
    return found


def _hash(file: Path) -> str:
    """The hash of what decides the tokens: for vectors, only the words."""
    if file.name == "words.json":
        return hashlib.sha256("\n".join(read_words(file).rows).encode()).hexdigest()[:16]
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _read(shelf: Shelf, file: Path) -> Steps | Words:
    if file.name == "words.json":
        return shelf.load("words", file, read_words)
    return shelf.load("steps", file, lambda path: Steps(Tokenizer.load(path)))


def _about(shelf: Shelf, key: str, files: Sequence[Path]) -> Json:
    """An entry of the list."""
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


PAGE = Page(
    "tokenize",
    "Tokenize",
    "One text as every tokenizer cuts it, and its steps.",
    "tokenize.html.j2",
    "tokenize.js",
    router,
    at_once=8,
)
