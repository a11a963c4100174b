"""Attention as characters: a row an output token, a column a source token, the fuller the block the more was read.

A column is two cells of the terminal wide, as a Chinese character is; a letter keeps its marks. The columns of a source
that runs to the left begin at the right.
"""

import sys
from collections.abc import Sequence

from langladder.ground.errors import printable
from langladder.text.words.direction import clusters, direction

SHADES = ("  ", "░░", "▒▒", "▓▓", "██")  # below 5 %, 25 %, 50 %, 75 %, and above
BOUNDS = (0.05, 0.25, 0.5, 0.75)
KEPT = "\u200e"  # between letters that run to the left: a terminal that turns them leaves each in its column
WIDEST = 40  # source tokens beside each other where the answer goes into a pipe


def print_attention(
    title: str, source: Sequence[str], output: Sequence[str], weights: Sequence[Sequence[float]]
) -> None:
    """Print the map: weights (output tokens, source tokens), cut into parts as wide as the terminal."""
    from rich.console import Console
    from rich.text import Text

    source, output = ([printable(token.strip()) for token in tokens] for tokens in (source, output))
    terminal = sys.stdout.isatty()
    console = Console(force_terminal=terminal, highlight=False, color_system="auto" if terminal else None)
    fits = max(1, (console.width - _label_width(output) - 2) // 2) if terminal else WIDEST
    console.print(Text(printable(f"attention of {title}")), soft_wrap=True)
    for first in range(0, len(source), fits):
        part = slice(first, first + fits)
        for line in attention_lines(source[part], output, [row[part] for row in weights]):
            console.print(Text(line), soft_wrap=True)


def attention_lines(source: Sequence[str], output: Sequence[str], weights: Sequence[Sequence[float]]) -> list[str]:
    """The map as lines: source tokens from top to bottom over their columns, then a line an output token."""
    from rich.cells import cell_len

    between = ""
    if direction(" ".join(source)) == "rtl":
        source, weights, between = source[::-1], [row[::-1] for row in weights], KEPT
    width = _label_width(output)
    columns = [clusters(token) for token in source]
    height = max(map(len, columns))
    columns = [[" "] * (height - len(letters)) + list(letters) for letters in columns]
    rows = (between.join(letter + " " * (2 - cell_len(letter)) for letter in row) for row in zip(*columns, strict=True))
    lines = [" " * (width + 1) + row for row in rows]
    for token, row_weights in zip(output, weights, strict=True):
        label = " " * (width - cell_len(token)) + token
        lines.append(label + " " + "".join(SHADES[sum(weight >= bound for bound in BOUNDS)] for weight in row_weights))
    return [line.rstrip(f" {KEPT}") for line in lines]


def _label_width(output: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, output))
