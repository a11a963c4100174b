"""One text under every classifier and tagger, a question under every reader: labels, words, trees, tags, answers."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TypeVar

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers.answer import answer
from langladder.answers.classify import (
    classify,
    example_of,
    normalised,
    reads_trees,
    words_below,
    words_of_tree,
)
from langladder.answers.loading import read_classifier, read_reader, read_tagger
from langladder.answers.requests import AnswerRequest, ClassifyRequest, TagRequest
from langladder.answers.tag import tag
from langladder.evaluation.classifier import Decision, decision
from langladder.faces.explorer.page import ModelName, Page, each_model, without_styles
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.faces.report.bidi import plain
from langladder.faces.report.classifiers import attended, marked
from langladder.faces.report.graphs import MOST_NODES, draw_tree, legend
from langladder.ground.errors import InputError
from langladder.models.classification.classifier import Classifier
from langladder.models.reading.reader import Reader
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.questions import Question
from langladder.text.words.segmentation import WordChoice

MOST_CHARACTERS = 20_000
MOST_MODELS = 40
MOST_OPTIONS = 20

Text = Annotated[str, Field(max_length=MOST_CHARACTERS)]
Models = Annotated[list[ModelName], Field(max_length=MOST_MODELS)]
Model = TypeVar("Model", Classifier, Tagger, Reader)

TAGS = {
    "ADJ": "adjective",
    "ADP": "adposition",
    "ADV": "adverb",
    "AUX": "auxiliary",
    "DET": "determiner",
    "CCONJ": "coordinating conjunction",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "numeral",
    "VERB": "verb",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "proper noun",
    "PUNCT": "punctuation",
    "SYM": "symbol",
    "SCONJ": "subordinating conjunction",
    "X": "other",
    "PER": "person",
    "LOC": "place",
    "ORG": "organisation",
    "MISC": "another name",
}
"""Universal parts of speech (Nivre et al. 2020) and the entities of CoNLL-2003, in words."""
POSITIONS = {"B": "first word of a", "I": "inside a", "E": "last word of a", "S": "whole"}
MOST_WORDS = 2_000  # of a sentence, or of a paragraph


class Labelling(BaseModel):
    """A text, two with a tab between them, or a bracketed tree."""

    text: Text
    models: Models


class Tagging(BaseModel):
    """A sentence; `words` says how words are split, as for `langladder tag`."""

    text: Text
    words: WordChoice = "whitespace"
    models: Models


class Answering(BaseModel):
    """A paragraph, a question about it, the options for readers that choose."""

    context: Text
    question: Annotated[str, Field(max_length=2_000)]
    options: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=MOST_OPTIONS)] = []
    models: Models


def router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()

    @routes.post("/labels", response_class=StreamingResponse)
    def labels(request: Labelling) -> StreamingResponse:
        """The result of each classifier, one event per model: labels, weights of words, attention, nodes of trees."""
        return _each(shelf, request.models, read_classifier, lambda model: label_text(model, request.text))

    @routes.post("/tags", response_class=StreamingResponse)
    def tags(request: Tagging) -> StreamingResponse:
        """The tags of each tagger, one event per model, with the second best tags and the meaning of tags."""
        return _each(shelf, request.models, read_tagger, lambda model: tag_text(model, request.text, request.words))

    @routes.post("/answers", response_class=StreamingResponse)
    def answers(request: Answering) -> StreamingResponse:
        """The best answers of each reader, one event per model; `start` is −1 if no span was found."""
        return _each(
            shelf,
            request.models,
            read_reader,
            lambda model: answer_question(model, request.context, request.question, request.options),
        )

    return routes


def _each(
    shelf: Shelf, names: Sequence[str], load: Callable[[Path], Model], question: Callable[[Model], Json]
) -> StreamingResponse:
    """One event per model; each answers one question at a time, because weights of words come from its gradients."""

    def read(folder: Path) -> tuple[Model, threading.Lock]:
        return load(folder), threading.Lock()

    def answered(name: str) -> Json:
        model, lock = shelf.load(f"{load.__qualname__}", shelf.find(name), read)
        with lock:
            return question(model)

    return streamed(each_model(names, answered))


def label_text(model: Classifier, text: str) -> Json:
    """The probability of each label, the weight of each word for the likeliest, and the labels of a tree's nodes.

    Args:
        text: a text, two with a tab between them, or a bracketed tree. A classifier that reads no trees reads its
            words; one that does reads a text without brackets as a tree that branches to the right.

    Raises:
        InputError: another text, or too long.
    """
    if len(text.split()) > MOST_WORDS:
        raise InputError(f"a text of {len(text.split()):,} words; the explorer reads {MOST_WORDS:,}: cut it")
    example = example_of(model, text if reads_trees(model) else words_of_tree(text))
    (result,) = classify(model, [example], ClassifyRequest(top=None))
    why = decision(model, normalised(model, example), model.labels.index(result.top[0][0]), result.top[0][1])
    return {
        "note": result.note or "",
        "labels": [{"label": label, "probability": p} for label, p in result.top],
        "words": [asdict(mark) for mark in marked(why.pieces, why.weights, why.text)],
        "attention": [asdict(mark) for mark in attended(why.pieces, why.attention, why.text)] if why.attention else [],
        **_drawn(why, model.labels),
    }


def _drawn(why: Decision, names: Sequence[str]) -> Json:
    """The tree as a drawing, and the same in words, the root first."""
    if not why.tree:
        return {"tree": None, "nodes": [], "legend": {}, "too_large": False}
    words = why.text.split(" ")
    drawn = draw_tree(
        why.tree, words, names, f"The tree of {plain(why.text[:200])}, each node with its likeliest label"
    )
    nodes = [
        {"text": " ".join(words[position] for position in covered), "label": node.said, "probability": node.probability}
        for node, covered in zip(why.tree, words_below(why.tree), strict=True)
    ]
    signs = {label: sign for label, (sign, _) in legend(names).items()}
    markup = None if drawn is None else without_styles(drawn)
    return {"tree": markup, "nodes": nodes[::-1][:MOST_NODES], "legend": signs, "too_large": drawn is None}


def tag_text(model: Tagger, sentence: str, mode: WordChoice) -> Json:
    """A tag for each word with its probability given the whole sentence, and the second best.

    Args:
        mode: how words are split, as for `langladder tag`.

    Raises:
        InputError: there is no word, or there are too many.
    """
    line = " ".join(words_of_tree(sentence).split())
    if len(line.split()) > MOST_WORDS:
        raise InputError(f"a sentence of {len(line.split()):,} words; the explorer tags {MOST_WORDS:,}: cut it")
    (result,) = tag(model, [line], TagRequest(words=mode, explain=True))
    if not result.words:
        raise InputError("no word to tag; type a sentence")
    names = [*result.tags, *(name for name in result.second or () if name is not None)]
    return result.as_dict() | {"names": {name: tag_in_words(name) for name in dict.fromkeys(names)}}


def tag_in_words(tag: str) -> str:
    """The meaning of a tag, "" if unknown: NOUN is a noun, B-PER the first word of a person."""
    if tag == "O":
        return "no name"
    position, dash, kind = tag.partition("-")
    if dash and position in POSITIONS and kind in TAGS:
        return f"{POSITIONS[position]} {TAGS[kind]}"
    return TAGS.get(tag, "")


def answer_question(model: Reader, context: str, question: str, options: Sequence[str], best: int = 5) -> Json:
    """The best answers to a question about a paragraph, with their positions.

    Args:
        options: the answers to choose from, for a reader that chooses.

    Raises:
        InputError: the question or paragraph is empty or too long, or options are missing.
    """
    context, question = " ".join(context.split()), " ".join(question.split())
    if not context or not question:
        raise InputError(f"no {'paragraph' if not context else 'question'}; type both")
    if len(context.split()) > MOST_WORDS:
        raise InputError(f"a paragraph of {len(context.split()):,} words; the explorer reads {MOST_WORDS:,}: cut it")
    if model.chooses and len(set(options)) < 2:
        raise InputError("this reader chooses among options: type two or more different ones, one per line")
    choices = tuple(dict.fromkeys(options)) if model.chooses else ()
    (candidates,) = answer(model, [Question(context, question, (), choices)], AnswerRequest(best=best))
    return {"context": context, "chooses": model.chooses, "answers": [candidate._asdict() for candidate in candidates]}


PAGE = Page(
    "read",
    "Read",
    "What each classifier makes of a text and which words count, a tag for each word, an answer to a question.",
    "read.html.j2",
    "read.js",
    router,
)
