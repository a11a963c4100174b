"""What a page of the explorer is: a template, a script, and the questions that the script asks."""

from collections.abc import Callable
from typing import NamedTuple

from fastapi import APIRouter

from langladder.faces.http.shelf import Shelf


class Page(NamedTuple):
    """One page, found at `/<name>`.

    Attributes:
        name: in the address, and of its API: its router answers below `/api/<name>`.
        title: in the list of pages, and above the page.
        about: one sentence, below the title.
        template: of `templates/`; it extends `base.html.j2` and fills its block `main`.
        script: of `static/`, a module.
        router: what answers the script. It is called once; nothing is loaded then, and no module that it is in imports
            torch at its top.
        at_once: how many of its requests are computed at a time; others wait.
    """

    name: str
    title: str
    about: str
    template: str
    script: str
    router: Callable[[Shelf], APIRouter]
    at_once: int = 4
