"""Equations of the site's pages, typeset: indented blocks of documents, lessons and docstrings that are equations."""

import re
from html import unescape

from langladder.faces.report.mathml import is_equation, typeset

BLOCK = re.compile(
    r'(<div class="lesson-output">\s*)?'
    r'<div class="highlight"><pre[^>]*>(?:<span></span>)?<code>([^<]*)</code></pre></div>'
)
"""A block without markup (the words of a program have colours), and whether it is what a lesson printed."""


def typeset_blocks(html: str) -> str:
    """A page with its equations as MathML; other blocks stay code."""

    def replaced(match: re.Match[str]) -> str:
        text = unescape(match[2])
        return f'<div class="equations">{typeset(text)}</div>' if not match[1] and is_equation(text) else match[0]

    return BLOCK.sub(replaced, html)
