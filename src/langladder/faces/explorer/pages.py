"""All pages, in the order in which they are listed; a page more is a module, a template, a script and its line here."""

from langladder.faces.explorer import continuing, instruct, ladder, reading, surprisal, tokenizing, translating, words
from langladder.faces.explorer.page import Page

PAGES: tuple[Page, ...] = (
    ladder.PAGE,
    surprisal.PAGE,
    continuing.PAGE,
    words.PAGE,
    tokenizing.PAGE,
    translating.PAGE,
    reading.PAGE,
    instruct.PAGE,
)
