"""Words: neighbours, analogies, similarity, the odd one out, a bias, one word in every rung, a map."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from langladder.evaluation.maps import METHODS, MapMethod, missing_package
from langladder.faces.explorer.page import Page
from langladder.faces.http.shelf import Shelf
from langladder.faces.http.streaming import streamed
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors

LONGEST_WORD = 200  # characters
MOST_SHOWN = 100  # neighbours, answers
MOST_LISTED = 5_000  # characters of a list of words
MOST_DEBIASED = 50_000  # the most frequent words; more would take gigabytes

Name = Annotated[str, Field(max_length=500)]
Word = Annotated[str, Field(max_length=LONGEST_WORD)]
Words = Annotated[str, Field(max_length=MOST_LISTED)]
Count = Annotated[int, Field(ge=1, le=MOST_SHOWN)]

EXAMPLES = (  # a : b :: c, a group with one that does not belong, pairs, and what may lean
    (("man", "woman", "king"), "dog cat paris horse", "she he, woman man", "doctor nurse teacher king queen actor"),
    (("mann", "frau", "könig"), "hund katze berlin pferd", "sie er, frau mann", "arzt lehrer könig königin"),
    (("homme", "femme", "roi"), "chien chat paris cheval", "elle il, femme homme", "docteur roi reine acteur"),
)


class Vectors(BaseModel):
    """Word vectors, or a language model's input embedding."""

    model: Name


class Neighbours(Vectors):
    """A word whose neighbours are asked for."""

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
    """Words, apart by spaces or commas, of which one may not belong."""

    words: Words


class Bias(Vectors):
    """Pairs that differ in the bias alone (`she he, woman man`), and words that should be neutral."""

    pairs: Words
    words: Words


class Everywhere(BaseModel):
    """A word in several rungs."""

    models: list[Name] = Field(max_length=60)
    word: Word
    count: Count = 6


class Map(Vectors):
    """The most frequent words on a plane."""

    count: int = Field(default=1000, ge=1, le=5000)
    method: MapMethod = "pca"


def router(shelf: Shelf) -> APIRouter:
    """See `Page`."""
    routes = APIRouter()
    maps = cache(_maps)

    @routes.post("/about")
    def about(asked: Vectors) -> dict[str, Any]:
        """How many words and dimensions, and words to begin with."""
        vectors = shelf.vectors(asked.model)
        size = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        lines = {method: line for method in METHODS if (line := missing_package(method))}
        return size | {"sparse": vectors.is_sparse, "missing_package": lines, "examples": examples(vectors)}

    @routes.post("/neighbours")
    def neighbours(asked: Neighbours) -> list[dict[str, Any]]:
        """The nearest words."""
        from langladder.evaluation.word_questions import nearest

        return nearest(shelf.vectors(asked.model), _word(asked.word), asked.count, asked.measure)

    @routes.post("/analogy")
    def analogy(asked: Analogy) -> dict[str, Any]:
        """The best answers by 3CosAdd and by 3CosMul."""
        from langladder.evaluation.word_questions import analogy as answers

        vectors = shelf.vectors(asked.model)
        words = [vectors.spelled(_word(word)) for word in (asked.a, asked.b, asked.c)]
        return {
            "add": answers(vectors, words, asked.count, "3cosadd"),
            "mul": answers(vectors, words, asked.count, "3cosmul") if all(word in vectors for word in words) else [],
        }

    @routes.post("/similarity")
    def similarity(asked: Pair) -> dict[str, float]:
        """Cosine, dot product and distance."""
        from langladder.evaluation.word_questions import compare

        return compare(shelf.vectors(asked.model), _word(asked.first), _word(asked.second))

    @routes.post("/odd")
    def odd(asked: Group) -> list[dict[str, Any]]:
        """How alike the others are without each word, the odd one out first."""
        from langladder.evaluation.word_questions import odd_one_out

        return odd_one_out(shelf.vectors(asked.model), _listed(asked.words))

    @routes.post("/bias")
    def bias(asked: Bias) -> dict[str, Any]:
        """How words lean along a bias, before and after hard debiasing."""
        return _bias(shelf.vectors(asked.model), asked)

    @routes.post("/rungs", response_class=StreamingResponse)
    def rungs(asked: Everywhere) -> StreamingResponse:
        """The nearest words in every rung, an event a rung."""
        return streamed(_everywhere(shelf, asked, _word(asked.word)))

    @routes.post("/map", response_class=StreamingResponse)
    def plane(asked: Map) -> StreamingResponse:
        """How far the map is (`share`, `said`), then its words and places; `again`: ask again to go on listening."""
        from langladder.faces.explorer.word_maps import events

        return streamed(events(maps().job(shelf.vectors(asked.model), asked.count, asked.method)))

    return routes


def _maps() -> Any:
    from langladder.faces.explorer.word_maps import Maps

    return Maps()


def _word(text: str) -> str:
    """Raises InputError where it is empty."""
    if not text.strip():
        raise InputError("no word is given: write one into each field")
    return text.strip()


def _listed(text: str) -> list[str]:
    return list(dict.fromkeys(re.split(r"[\s,;]+", text.strip(" \t\n,;")))) if text.strip(" \t\n,;") else []


def examples(vectors: "WordVectors") -> dict[str, str]:
    """Words of these vectors that show something; of a text in another language just frequent ones."""
    for (a, b, c), group, pairs, leaning in EXAMPLES:
        if all(word in vectors for word in (a, b, c)):
            asked = {"word": c, "a": a, "b": b, "c": c, "first": b, "second": a}
            known = {"words": group, "leaning": leaning}
            return asked | {"pairs": pairs} | {key: _known(vectors, text) for key, text in known.items()}
    words = [word for word in vectors.words[20:2000] if len(word) > 2 and word.isalpha()] or vectors.words
    a, b, c = (words * 3)[:3]
    return {
        "word": a, "a": a, "b": b, "c": c, "first": a, "second": b, "pairs": "", "words": " ".join(words[:4]),
        "leaning": "",
    }  # fmt: skip


def _known(vectors: "WordVectors", text: str) -> str:
    return " ".join(word for word in text.split() if word in vectors)


def _bias(vectors: "WordVectors", asked: Bias) -> dict[str, Any]:
    from langladder.embeddings.word_lists import BiasLists
    from langladder.evaluation.bias import debias_and_audit

    pairs = [list(map(vectors.spelled, _listed(part))) for part in re.split(r"[,;\n]", asked.pairs) if part.strip()]
    if not pairs or any(len(pair) < 2 for pair in pairs):
        raise InputError("pairs: write two words a pair, and a comma between pairs: she he, woman man")
    words = list(map(vectors.spelled, _listed(asked.words)))
    if not words:
        raise InputError("words: none is given; write some that should be neutral")
    within = [word for pair in pairs for word in pair]
    asked_for = list(dict.fromkeys([*within, *words]))
    unknown = [word for word in asked_for if word not in vectors]
    vectors = _first(vectors, asked_for)
    lists = BiasLists(pairs, pairs, [], words, {})
    _, found = debias_and_audit(vectors, lists)
    after = dict(found["after"]["projections"])
    return {
        "explained": found["explained"],
        "direct": [found["before"]["direct_bias"], found["after"]["direct_bias"]],
        "leaning": [[word, cosine, after[word]] for word, cosine in found["before"]["projections"]],
        "pair": pairs[0],
        "missing_package": unknown,
        "within": [word for word in words if word in within],
        "analogies": [found[when]["analogies"] for when in ("before", "after")],
    }


def _first(vectors: "WordVectors", asked: list[str]) -> "WordVectors":
    """The most frequent words, and those that are asked about."""
    from langladder.embeddings.base import WordVectors

    if len(vectors) <= MOST_DEBIASED or vectors.is_sparse:
        return vectors
    rows = sorted({*range(MOST_DEBIASED), *(vectors.index[word] for word in asked if word in vectors)})
    return WordVectors([vectors.words[row] for row in rows], vectors.matrix[rows])


def _everywhere(shelf: Shelf, asked: Everywhere, word: str) -> Iterator[dict[str, Any]]:
    from langladder.evaluation.word_questions import nearest

    for name in dict.fromkeys(asked.models):
        try:
            yield {"model": name, "nearest": nearest(shelf.vectors(name), word, asked.count)}
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


PAGE = Page(
    "words",
    "Words",
    "What lies near what in word vectors and in the input embeddings of language models.",
    "words.html.j2",
    "words.js",
    router,
    at_once=16,
)
