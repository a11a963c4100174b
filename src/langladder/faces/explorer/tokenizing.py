"""Tokenize: one text in every tokenizer of the shelf."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from fastapi import APIRouter
from pydantic import BaseModel, Field

from langladder.answers.tokenize import Words, cut_lines, read_words
from langladder.faces.explorer.history import in_order
from langladder.faces.explorer.page import Page
from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError
from langladder.text.tokenize.tokenizers import Tokenizer

MOST_CHARACTERS = 5_000  # of a text: each token of each tokenizer is shown
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
        pieces = []
        for key, files in _files(shelf).items():
            try:
                pieces.append({"id": key, **cut_lines(_read(shelf, files[0]), request.text)})
            except InputError as error:
                pieces.append({"id": key, "error": {"message": str(error)}})
        return pieces

    return routes


def _files(shelf: Shelf) -> dict[str, list[Path]]:
    """The different tokenizers by their hash, and the files with each."""
    files: dict[str, list[Path]] = {}
    for folder in in_order(shelf).values():
        for name in FILES:
            if (file := folder / name).is_file():
                files.setdefault(shelf.load("hash", file, _hash), []).append(file)
    return files


def _hash(file: Path) -> str:
    """The hash of what decides the tokens: for vectors, only the words."""
    if file.name == "words.json":
        return hashlib.sha256("\n".join(read_words(file).rows).encode()).hexdigest()[:16]
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]


def _read(shelf: Shelf, file: Path) -> Tokenizer | Words:
    if file.name == "words.json":
        return shelf.load("words", file, read_words)
    return shelf.load("tokenizer", file, Tokenizer.load)


def _about(shelf: Shelf, key: str, files: Sequence[Path]) -> Json:
    """An entry of the list."""
    names = {folder: name for name, folder in shelf.folders.items()}
    sides = {"source.json": " (source)", "target.json": " (target)"}
    users = [names[file.parent] + sides.get(file.name, "") for file in files]
    try:
        read = _read(shelf, files[0])
    except InputError as error:
        return {"id": key, "models": users, "error": {"message": str(error)}}
    size = len(read.rows) if isinstance(read, Words) else read.vocab_size
    return {"id": key, "models": users, "kind": read.kind, "title": KINDS[read.kind], "size": size}


PAGE = Page(
    "tokenize",
    "Tokenize",
    "One text as every tokenizer cuts it.",
    "tokenize.html.j2",
    "tokenize.js",
    router,
    at_once=8,
)
