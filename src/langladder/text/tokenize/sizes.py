"""How much text there is, in units that no tokenizer changes: what perplexity per word and bits per
character and byte divide by."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

import pyarrow as pa

from langladder.text.words.words import split_words


@dataclass
class TextSize:
    """Size of some lines of clean text, added up.

    Attributes:
        words: words (`auto`) and one end a line. characters: Unicode code points, and one newline a line. bytes: of
            UTF-8, and one newline a line.
        log_prob: sum of the lines' exact natural-log probabilities, None where any is unknown.
    """

    words: int = 0
    characters: int = 0
    bytes: int = 0
    log_prob: float | None = 0.0

    def add(self, lines: Sequence[str], log_probs: pa.Array) -> None:
        """Some more lines, and the log-probability of each."""
        self.words += words_of(lines) + len(lines)
        self.characters += sum(map(len, lines)) + len(lines)
        self.bytes += sum(len(line.encode()) for line in lines) + len(lines)
        known = self.log_prob is not None and log_probs.null_count == 0
        self.log_prob = fsum([self.log_prob or 0.0, *log_probs.to_pylist()]) if known else None

    def figures(self) -> dict[str, Any]:
        """As sizes.json has them."""
        return asdict(self)


def total(sizes: list[TextSize]) -> TextSize:
    """Several together."""
    log_probs = [size.log_prob for size in sizes if size.log_prob is not None]
    whole = fsum(log_probs) if len(log_probs) == len(sizes) else None
    return TextSize(
        sum(size.words for size in sizes),
        sum(size.characters for size in sizes),
        sum(size.bytes for size in sizes),
        whole,
    )


def words_of(lines: Iterable[str]) -> int:
    """How many words `split_words(line, "auto")` finds in some lines."""
    return sum(len(split_words(line, "auto")) for line in lines)
