"""Words coloured by their weight in a terminal; with signs behind them where there are no colours."""

import os
import sys
from collections.abc import Iterator, Sequence

import click

from langladder.evaluation.classifier import Node
from langladder.faces.http.labelling import Answer
from langladder.ground.errors import printable

# of the 256 colours of a terminal, from pale to full, with black letters: they are the same on dark and on light
FOR, AGAINST, SEEN = (195, 153, 111, 75), (224, 217, 210, 203), (194, 157, 120, 83)
LEVELS = 4
BLACK = 16


def coloured() -> bool:
    """Whether the standard output is a terminal that shows colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def legend_line() -> str:
    """What the colours or signs mean."""
    shown = [_marked("speaks for the label", 1.0, 1.0, FOR), _marked("against it", -1.0, 1.0, AGAINST)]
    return f"Words: {', '.join(shown)}; the stronger, the {'fuller' if coloured() else 'more'}."


def explanation(answer: Answer) -> str:
    """The labels of a text; below them its words with their weights, their attention, the nodes of its tree."""
    assert answer.explained is not None
    why = answer.explained
    lines = [printable(", ".join(f"{label} {p:.4f}" for label, p in answer.top))]
    lines.append("  " + _words(why.pieces, why.weights))
    if why.attention:
        lines.append("  attention: " + _attended(why.pieces, why.attention))
    if why.tree:
        lines += _nodes(why.tree, answer.example.text.split(" "))
    return "\n".join(lines)


def _words(pieces: Sequence[str], weights: Sequence[float]) -> str:
    most = max(map(abs, weights), default=0.0)
    return " ".join(
        _marked(_plain(piece), weight, most, FOR if weight > 0 else AGAINST)
        for piece, weight in zip(pieces, weights, strict=True)
    )


def _attended(pieces: Sequence[str], weights: Sequence[float]) -> str:
    """In per cent where there are no colours."""
    most, rows = max(weights, default=0.0), list(zip(pieces, weights, strict=True))
    if coloured():
        return " ".join(_marked(_plain(piece), weight, most, SEEN) for piece, weight in rows)
    return " ".join(f"{_plain(piece)}[{100 * weight:.0f}]" for piece, weight in rows)


def _plain(piece: str) -> str:
    return printable(piece.strip("▁ ")) or "␣"


def _marked(text: str, weight: float, most: float, colours: Sequence[int]) -> str:
    level = round(LEVELS * abs(weight) / most) if most > 0 else 0
    if not level:
        return text
    if coloured():
        return click.style(text, fg=BLACK, bg=colours[level - 1])
    return f"{text}[{('+' if weight > 0 else '-') * level}]"


def _nodes(nodes: Sequence[Node], words: Sequence[str]) -> Iterator[str]:
    """A line a node, the root first, each below and right of the one that it is part of."""
    waiting = [(len(nodes) - 1, 0)]
    covered: list[list[int]] = []
    for node in nodes:
        own = [] if node.word is None else [node.word]
        covered.append(sorted(own + [word for child in node.children for word in covered[child]]))
    while waiting:
        place, depth = waiting.pop()
        node = nodes[place]
        text = f"{node.said} {node.probability:.2f}  {' '.join(words[w] for w in covered[place])}"
        yield "  " * (depth + 1) + printable(text)
        waiting += [(child, depth + 1) for child in sorted(node.children, key=lambda one: -covered[one][0])]
