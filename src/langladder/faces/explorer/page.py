"""What a page of the explorer is, and how answers of several models to one question are streamed."""

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
        name: in the address, and of its API: its router answers below `/api/<name>`.
        title: in the list of pages, and above the page.
        about: one sentence, below the title.
        template: of `templates/`; it extends `base.html.j2` and fills its block `main`.
        script: of `static/`, a module.
        router: what answers the script; called once.
        needs: kinds of models; where there is none of them, the page is not listed (and explains itself).
        at_once: how many of its requests are computed at a time; others wait.
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
    """A drawing for the explorer, whose markup may bear no styles: its script (`graft` of common.js) sets them."""
    return re.sub(r"<style.*?</style>", "", str(svg), flags=re.DOTALL).replace(' style="', ' data-style="')


def each_model(names: Iterable[str], answer: Callable[[str], Json]) -> Iterator[Json]:
    """An event a model, one after the other; of a model that cannot answer its error."""
    for name in dict.fromkeys(names):
        try:
            yield {"model": name} | answer(name)
        except InputError as error:
            yield {"model": name, "error": {"message": str(error)}}


def in_turn(names: Iterable[str], events: Callable[[str], Iterator[Json]]) -> Iterator[Json]:
    """The models take turns, an event each, so that all columns grow at once; a model's last event has `end`."""
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
