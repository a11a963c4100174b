"""Sentences, papers and equations from the docstring of a rung's module and from its file in conf/.

A docstring is prose, with equations and tables in lines that are indented. Papers and years stand in parentheses.
"""

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType

LEGEND = "Shape legend"
"""Begins the paragraph on the letters of shapes: the rest of the docstring is for readers of the code."""
_CITED = re.compile(r"\s*\(([^()]*[A-Z][^()]*\b(?:1[89]|20)\d\d[^()]*)\)")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-Þ\"“`])(?<!et al\. )(?<!vs\. )(?<!e\.g\. )")
_SETTING = re.compile(r"\s+(\w+): (\w+)")
_LEADS = re.compile(r"(\S+ ){0,2}\S+:|.*\b(?:1[89]|20)\d\d\b.*:", re.DOTALL)


@cache
def docstring(module: str) -> str:
    """The docstring of a module, which is not run; "" if it is not installed or has none."""
    with suppress(ImportError, ValueError, OSError, SyntaxError):
        spec = find_spec(module)
        if spec is not None and spec.origin is not None:
            return ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return ""


def equations(text: str, settings: Mapping[str, object] = MappingProxyType({})) -> str:
    """The indented lines of a docstring, a blank line between two blocks.

    Args:
        settings: of a model. A line that begins with one of them and a value (`norm_kind: rms`) is an equation of that
            value alone: it is left out where the model has another.
    """
    blocks = [block for block in text.partition(LEGEND)[0].split("\n\n") if block.startswith("    ")]
    kept = ["\n".join(line for line in block.splitlines() if _holds(line, settings)) for block in blocks]
    return "\n\n".join(dedent(block.strip("\n")) for block in kept if block.strip())


def _holds(line: str, settings: Mapping[str, object]) -> bool:
    """Whether a line is of no setting, or of the value that the model has; a letter (`heads: g`) is any number."""
    match = _SETTING.match(line)
    if not match or match[1] not in settings:
        return True
    value = settings[match[1]]
    return value is not None if len(match[2]) == 1 else str(value).lower() == match[2]


def prose(text: str) -> str:
    """The other paragraphs of a docstring, in a line each."""
    blocks = [block for block in text.partition(LEGEND)[0].split("\n\n") if block and not block.startswith("    ")]
    return "\n".join(" ".join(block.split()) for block in blocks)


def sentences(text: str) -> list[str]:
    """The sentences of a prose without its papers; what goes on after an equation is left out.

    One that leads to an equation ends here with a full stop, unless it only leads there (`It sees:`) or names a paper.
    """
    parts = [part.strip() for line in text.splitlines() for part in _END.split(_CITED.sub("", line))]
    whole = [part for part in parts if part and not part[0].islower() and not _LEADS.fullmatch(part)]
    return [f"{sentence[:-1]}." if sentence.endswith(":") else sentence for sentence in whole]


def papers(text: str) -> str:
    """The papers that a prose names, each once: `Kneser & Ney 1995; Chen & Goodman 1998`."""
    cited = [part.strip() for group in _CITED.findall(" ".join(text.split())) for part in group.split(";")]
    return "; ".join(dict.fromkeys(cited))
