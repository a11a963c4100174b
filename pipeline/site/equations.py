"""Equations of the site's pages, typeset: indented blocks of documents, lessons and docstrings that are equations."""

import re
from html import unescape

from langladder.faces.report.mathml import is_equation, typeset

BLOCK = re.compile(r'<div class="highlight"><pre[^>]*>(?:<span></span>)?<code[^>]*>(.*?)</code></pre></div>', re.DOTALL)


def typeset_blocks(html: str) -> str:
    """A page with its equations as MathML; other blocks stay code."""

    def shown(match: re.Match[str]) -> str:
        text = unescape(re.sub(r"<[^>]+>", "", match[1]))
        return f'<div class="equations">{typeset(text)}</div>' if is_equation(text) else match[0]

    return BLOCK.sub(shown, html)
