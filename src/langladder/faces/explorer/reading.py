"""One text under every classifier and tagger, a question under every reader: labels, words, trees, tags, answers."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.faces.explorer.page import Page
from langladder.faces.http.shelf import Shelf
from langladder.faces.http.streaming import streamed
from langladder.ground.errors import InputError
from langladder.text.words.segmenters import WordChoice

MOST_CHARACTERS = 20_000
MOST_MODELS = 40
MOST_OPTIONS = 20

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Name = Annotated[str, Field(max_length=500)]
Models = Annotated[list[Name], Field(max_length=MOST_MODELS)]


class Labelling(BaseModel):
    """A text, two with a tab between them, or a bracketed tree."""

    text: Text
    models: Models


class Tagging(BaseModel):
    """A sentence; `words` says what a word is, as for `langladder tag`."""

    text: Text
    words: WordChoice = "whitespace"
    models: Models


class Answering(BaseModel):
    """A paragraph, a question about it, the answers to choose from for those readers that choose."""

    context: Text
    question: Annotated[str, Field(max_length=2_000)]
    options: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=MOST_OPTIONS)] = []
    models: Models


def router(shelf: Shelf) -> APIRouter:
    """See `Page`."""
    routes = APIRouter()

    @routes.post("/labels", response_class=StreamingResponse)
    def labels(asked: Labelling) -> StreamingResponse:
        """What each classifier says: an event a model, with labels, weighed words, attention and the tree's nodes."""

        def told(model: Any) -> dict[str, Any]:
            from langladder.faces.explorer.told_labels import labels

            return labels(model, asked.text)

        return streamed(_each(shelf, asked.models, _classifier, told))

    @routes.post("/tags", response_class=StreamingResponse)
    def tags(asked: Tagging) -> StreamingResponse:
        """What each tagger says of each word: an event a model, with the second best tags and what tags mean."""

        def told(model: Any) -> dict[str, Any]:
            from langladder.faces.explorer.told_labels import tags

            return tags(model, asked.text, asked.words)

        return streamed(_each(shelf, asked.models, _tagger, told))

    @routes.post("/answers", response_class=StreamingResponse)
    def answers(asked: Answering) -> StreamingResponse:
        """The best answers of each reader, an event a model; `start` is −1 where no span was found."""

        def told(model: Any) -> dict[str, Any]:
            from langladder.faces.explorer.told_labels import found_answers

            return found_answers(model, asked.context, asked.question, asked.options)

        return streamed(_each(shelf, asked.models, _reader, told))

    return routes


def _each(
    shelf: Shelf, names: Sequence[str], read: Callable[[Path], Any], told: Callable[[Any], dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """An event a model; each answers one question at a time, since weights of words come from its gradients."""
    for name in dict.fromkeys(names):
        try:
            model, lock = shelf.have(read.__name__, shelf.find(name), lambda folder: (read(folder), threading.Lock()))
            with lock:
                found = told(model)
            yield {"model": name} | found
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


def _classifier(folder: Path) -> Any:
    from langladder.models.classifier import Classifier

    return Classifier.load(folder)


def _tagger(folder: Path) -> Any:
    from langladder.models.tagger import Tagger

    return Tagger.load(folder)


def _reader(folder: Path) -> Any:
    from langladder.models.reader import Reader

    return Reader.load(folder)


PAGE = Page(
    "read",
    "Read",
    "What each classifier makes of a text and which words count, a tag for each word, an answer to a question.",
    "read.html.j2",
    "read.js",
    router,
)
