"""Words: neighbours, analogies, similarity, the odd one out, a bias, one word in every rung, a map."""

import re
from itertools import islice
from typing import Annotated, Literal

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.answers.words import analogy as analogy_answers
from langladder.answers.words import compare, nearest, odd_one_out
from langladder.embeddings.base import WordVectors
from langladder.embeddings.word_lists import BiasLists
from langladder.evaluation.bias import debias_and_audit
from langladder.evaluation.maps import METHODS, MapMethod, missing_package
from langladder.faces.explorer.page import ModelName, Page, each_model
from langladder.faces.explorer.word_maps import Maps, events
from langladder.faces.http.server import Json, streamed
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError

LONGEST_WORD = 200  # characters
MOST_TRIED = 8  # suggested words
MOST_ANSWERS = 100  # neighbours, answers
MOST_LISTED = 5_000  # characters of a list of words
MOST_DEBIASED = 50_000  # the most frequent words; more would take gigabytes

Word = Annotated[str, Field(max_length=LONGEST_WORD)]
Words = Annotated[str, Field(max_length=MOST_LISTED)]
Count = Annotated[int, Field(ge=1, le=MOST_ANSWERS)]

EXAMPLES = (  # a : b :: c, a group with one that does not belong, pairs, and words that may be biased
    (("he", "she", "king"), "dog cat paris horse", "she he, woman man", "doctor nurse teacher king queen actor"),
    (("er", "sie", "könig"), "hund katze berlin pferd", "sie er, frau mann", "arzt lehrer könig königin"),
    (("il", "elle", "roi"), "chien chat paris cheval", "elle il, femme homme", "docteur roi reine acteur"),
)


class Vectors(BaseModel):
    """Word vectors, or a language model's input embedding."""

    model: ModelName


class Neighbours(Vectors):
    """A word, for its neighbours."""

    word: Word
    count: Count = 10
    measure: Literal["cosine", "dot", "euclidean"] = "cosine"


class Analogy(Vectors):
    """a is to b as c is to …"""

    a: Word
    b: Word
    c: Word
    count: Count = 5


class Pair(Vectors):
    """Two words to compare."""

    first: Word
    second: Word


class Group(Vectors):
    """Words, separated by spaces or commas, of which one may not belong."""

    words: Words


class Bias(Vectors):
    """Pairs that differ only in the bias (`she he, woman man`), and words that should be neutral."""

    pairs: Words
    words: Words


class Everywhere(BaseModel):
    """A word in several rungs."""

    models: list[ModelName] = Field(max_length=60)
    word: Word
    count: Count = 6


class Map(Vectors):
    """The most frequent words on a plane."""

    count: int = Field(default=1000, ge=1, le=5000)
    method: MapMethod = "pca"


def router(shelf: Shelf) -> APIRouter:
    """The API of the page."""
    routes = APIRouter()
    maps = Maps()

    @routes.post("/about")
    def about(request: Vectors) -> Json:
        """Numbers of words and dimensions, first words, and some more to try."""
        vectors = shelf.vectors(request.model)
        size = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        lines = {method: line for method in METHODS if (line := missing_package(method))}
        return size | {
            "sparse": vectors.is_sparse,
            "missing": lines,
            "examples": examples(vectors),
            "try": common(vectors),
        }

    @routes.post("/neighbours")
    def neighbours(request: Neighbours) -> list[Json]:
        """The nearest words."""
        near = nearest(shelf.vectors(request.model), _word(request.word), request.count, request.measure)
        return [dict(word) for word in near]

    @routes.post("/analogy")
    def analogy(request: Analogy) -> Json:
        """The best answers by 3CosAdd and by 3CosMul."""
        vectors = shelf.vectors(request.model)
        words = [vectors.spelled(_word(word)) for word in (request.a, request.b, request.c)]
        known = all(word in vectors for word in words)
        return {
            "add": analogy_answers(vectors, words, request.count, "3cosadd"),
            "mul": analogy_answers(vectors, words, request.count, "3cosmul") if known else [],
        }

    @routes.post("/similarity")
    def similarity(request: Pair) -> dict[str, float]:
        """Cosine, dot product and distance."""
        compared = compare(shelf.vectors(request.model), _word(request.first), _word(request.second))
        return {"cosine": compared["cosine"], "dot": compared["dot"], "euclidean": compared["euclidean"]}

    @routes.post("/odd")
    def odd(request: Group) -> list[Json]:
        """The similarity of the others without each word, the odd one out first."""
        return [dict(word) for word in odd_one_out(shelf.vectors(request.model), _listed(request.words))]

    @routes.post("/bias")
    def bias(request: Bias) -> Json:
        """The projections of words on a bias, before and after hard debiasing."""
        return _bias(shelf.vectors(request.model), request)

    @routes.post("/rungs", response_class=StreamingResponse)
    def rungs(request: Everywhere) -> StreamingResponse:
        """The nearest words in every rung, one event per rung."""
        word = _word(request.word)
        return streamed(
            each_model(request.models, lambda name: {"nearest": nearest(shelf.vectors(name), word, request.count)})
        )

    @routes.post("/map", response_class=StreamingResponse)
    def plane(request: Map) -> StreamingResponse:
        """The progress of the map (`share`, `said`), then its words and positions; `again`: send the request again."""
        return streamed(events(maps.job(shelf.vectors(request.model), request.count, request.method)))

    return routes


def _word(text: str) -> str:
    """Raises InputError where it is empty."""
    if not text.strip():
        raise InputError("a word is missing: write one into each field")
    return text.strip()


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(re.split(r"[\s,;]+", text.strip(" \t\n,;")))) if text.strip(" \t\n,;") else []


def examples(vectors: WordVectors) -> dict[str, str]:
    """Example words of these vectors; frequent ones if the text is in another language."""
    for (a, b, c), group, pairs, leaning in EXAMPLES:
        if all(word in vectors for word in (a, b, c)):
            first = {"word": c, "a": a, "b": b, "c": c, "first": b, "second": a}
            known = {"words": group, "leaning": leaning}
            return first | {"pairs": pairs} | {key: _known(vectors, text) for key, text in known.items()}
    words = [word for word in vectors.words[20:2000] if len(word) > 2 and word.isalpha()] or vectors.words
    a, b, c = (words * 3)[:3]
    return {
        "word": a, "a": a, "b": b, "c": c, "first": a, "second": b, "pairs": "", "words": " ".join(words[:4]),
        "leaning": "",
    }  # fmt: skip


def common(vectors: WordVectors) -> list[str]:
    """Some of the frequent words, those of three letters and more."""
    words = [word for word in islice(vectors.words, 20, 2000) if len(word) > 2 and word.isalpha()]
    return words[:: max(1, len(words) // MOST_TRIED)][:MOST_TRIED]


def _known(vectors: WordVectors, text: str) -> str:
    return " ".join(word for word in text.split() if word in vectors)


def _bias(vectors: WordVectors, request: Bias) -> Json:
    pairs = [list(map(vectors.spelled, _listed(part))) for part in re.split(r"[,;\n]", request.pairs) if part.strip()]
    if not pairs or any(len(pair) < 2 for pair in pairs):
        raise InputError("pairs: write two words a pair, and a comma between pairs: she he, woman man")
    words = list(map(vectors.spelled, _listed(request.words)))
    if not words:
        raise InputError("words: empty; enter some words that should be neutral")
    within = [word for pair in pairs for word in pair]
    wanted = list(dict.fromkeys([*within, *words]))
    unknown = [word for word in wanted if word not in vectors]
    vectors = _first(vectors, wanted)
    lists = BiasLists(pairs, pairs, [], words, {})
    _, report = debias_and_audit(vectors, lists)
    after = dict(report["after"]["projections"])
    return {
        "explained": report["explained"],
        "direct": [report["before"]["direct_bias"], report["after"]["direct_bias"]],
        "leaning": [[word, cosine, after[word]] for word, cosine in report["before"]["projections"]],
        "pair": pairs[0],
        "missing": unknown,
        "within": [word for word in words if word in within],
        "analogies": [report[when]["analogies"] for when in ("before", "after")],
    }


def _first(vectors: WordVectors, wanted: list[str]) -> WordVectors:
    """The most frequent words, and the requested ones."""
    if len(vectors) <= MOST_DEBIASED or vectors.is_sparse:
        return vectors
    rows = sorted({*range(MOST_DEBIASED), *(vectors.index[word] for word in wanted if word in vectors)})
    return WordVectors([vectors.words[row] for row in rows], vectors.matrix[rows])


PAGE = Page(
    "words",
    "Words",
    "Neighbours, analogies and maps in word vectors and in the input embeddings of language models.",
    "words.html.j2",
    "words.js",
    router,
    at_once=16,
)
