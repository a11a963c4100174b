"""A page of the explorer, and the streaming of several models' answers to one question."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, NamedTuple

from fastapi import APIRouter
from pydantic import Field

from langladder.faces.http.server import Json
from langladder.faces.http.shelf import Shelf
from langladder.ground.errors import InputError

ModelName = Annotated[str, Field(max_length=500)]


class Page(NamedTuple):
    """One page, found at `/<name>`.

    Attributes:
        name: in the address; its router answers below `/api/<name>`.
        title: in the list of pages, and above the page.
        about: one sentence, below the title.
        template: of `templates/`; it extends `base.html.j2` and fills its block `main`.
        script: of `static/`, a module.
        router: makes the router of its API; called once.
        needs: kinds of models; if there are none, the page is not listed (and says why).
        at_once: maximum number of concurrent requests; others wait.
    """

    name: str
    title: str
    about: str
    template: str
    script: str
    router: Callable[[Shelf], APIRouter]
    at_once: int = 4
    needs: tuple[str, ...] = ()


def without_styles(svg: str) -> str:
    """A drawing for the explorer, whose markup must not have styles: its script (`graft` of common.js) sets them."""
    return re.sub(r"<style.*?</style>", "", str(svg), flags=re.DOTALL).replace(' style="', ' data-style="')


def each_model(names: Iterable[str], answer: Callable[[str], Json]) -> Iterator[Json]:
    """One event per model, one after the other; its error if it cannot answer."""
    for name in dict.fromkeys(names):
        try:
            yield {"model": name} | answer(name)
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


def in_turn(names: Iterable[str], events: Callable[[str], Iterator[Json]]) -> Iterator[Json]:
    """Events of the models in turn, so that all columns grow together; a model's last event has `end`."""
    growing = {name: events(name) for name in dict.fromkeys(names)}
    while growing:
        for name, own in list(growing.items()):
            try:
                event = next(own)
            except InputError as error:
                event = {"error": {"message": str(error)}, "end": "error"}
            if "end" in event:
                del growing[name]
            yield {"model": name} | event
