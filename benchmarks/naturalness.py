"""How much the embedded corpora look like a real text: word frequencies, growth of the vocabulary, memory of the text.

    python benchmarks/naturalness.py

The same number of words is read of each text: WikiText-2's training part, microworld's stories.

    Zipf        −slope of log frequency over log rank, of the ranks 10 to 1,000 (Zipf 1949)
    Heaps       slope of log vocabulary over log words read, from 1,000 words on (Heaps 1978)
    rare        share of the running words that are not among the 1,000 most frequent
    once        share of the vocabulary that occurs once
    I(d)        mutual information in nats of two words of a document d apart (Ebeling & Pöschel 1994), of the 300 most
                frequent words and one for all others, less that of the same pairs shuffled, which is its bias
"""

import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
from public_data import data, find, read
from rich.console import Console
from rich.table import Table

from microworld.corpora import draw_text

Documents = list[list[list[str]]]
"""Documents, their sentences, their words."""
DISTANCES = (1, 2, 5, 10, 20, 50, 100)
FREQUENT = 300


def wikitext(path: Path) -> Iterator[list[list[str]]]:
    """Articles of WikiText, without headings."""
    article: list[list[str]] = []
    for line in read(path).decode("utf-8").splitlines():
        if re.fullmatch(r" = [^=].* = ", line):
            if article:
                yield article
            article = []
        elif line.strip() and not line.startswith(" = "):
            article += [sentence.split() for sentence in re.split(r"(?<= [.!?]) ", line.strip())]
    yield article


def drawn(table: dict[str, list[object]]) -> Iterator[list[list[str]]]:
    """Documents of an embedded corpus."""
    found: dict[object, list[list[str]]] = {}
    for number, text in zip(table["document"], table["text"], strict=True):
        found.setdefault(number, []).append(str(text).split())
    yield from found.values()


def beginning(documents: Iterator[list[list[str]]], words: int) -> Documents:
    """The first documents, up to a number of words."""
    found: Documents = []
    for document in documents:
        if words <= 0:
            break
        found.append(document)
        words -= sum(map(len, document))
    return found


def slope(x: np.ndarray, y: np.ndarray) -> float:
    """Of the least-squares line."""
    return float(np.polyfit(x, y, 1)[0])


def zipf(counts: Counter[str]) -> float:
    """−slope of log frequency over log rank."""
    frequencies = np.array([count for _, count in counts.most_common(1000)][9:])
    return -slope(np.log(np.arange(10, 10 + len(frequencies))), np.log(frequencies))


def heaps(words: list[str]) -> float:
    """Slope of log vocabulary over log words read."""
    seen: set[str] = set()
    sizes = []
    for word in words:
        seen.add(word)
        sizes.append(len(seen))
    at = np.unique(np.geomspace(1000, len(words), 30).astype(int))
    return slope(np.log(at), np.log(np.array(sizes)[at - 1]))


def information(documents: Documents, counts: Counter[str], distance: int) -> float:
    """Mutual information of two words so far apart in a document, less that of the same pairs shuffled."""
    number = {word: index for index, (word, _) in enumerate(counts.most_common(FREQUENT))}
    texts = [np.array([number.get(word, FREQUENT) for line in document for word in line]) for document in documents]
    pairs = [(text[:-distance], text[distance:]) for text in texts if len(text) > distance]
    first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return _information(first, second) - _information(first, np.random.default_rng(1).permutation(second))


def _information(first: np.ndarray, second: np.ndarray) -> float:
    """Σ p(x, y) log p(x, y) / p(x) p(y), of counts."""
    joint = np.bincount(first * (FREQUENT + 1) + second, minlength=(FREQUENT + 1) ** 2).reshape(FREQUENT + 1, -1)
    p = joint / joint.sum()
    product = p.sum(1)[:, None] * p.sum(0)
    return float((p[p > 0] * np.log(p[p > 0] / product[p > 0])).sum())


def figures(documents: Documents) -> list[str]:
    """A column of the table."""
    lines = [line for document in documents for line in document]
    words = [word for line in lines for word in line]
    counts = Counter(words)
    frequent = sum(count for _, count in counts.most_common(1000))
    lengths = np.array([len(line) for line in lines])
    return [
        f"{len(words):,}",
        f"{len(counts):,}",
        f"{zipf(counts):.2f}",
        f"{heaps(words):.2f}",
        f"{100 * (1 - frequent / len(words)):.1f}",
        f"{100 * sum(count == 1 for count in counts.values()) / len(counts):.0f}",
        f"{lengths.mean():.1f} ± {lengths.std():.1f}",
        f"{np.median([len(document) for document in documents]):.0f}",
        *(f"{information(documents, counts, distance):.4f}" for distance in DISTANCES),
    ]


@click.command()
@data
@click.option("--words", default=400_000, show_default=True)
def main(data: Path, words: int) -> None:
    """Measure and print."""
    stories = draw_text(1, "train", 0, math.ceil(words / 70))
    columns = {
        "WikiText-2": wikitext(find(data, "wikitext-2/train.txt")),
        "microworld": drawn(stories.to_pydict()),
    }
    found = {name: figures(beginning(documents, words)) for name, documents in columns.items()}
    table = Table()
    for name in ("", *found):
        table.add_column(name, justify="right" if name else "left")
    rows = ["words", "vocabulary", "Zipf", "Heaps", "rare words, %", "once, % of the vocabulary"]
    rows += ["words a sentence", "sentences a document", *(f"I({distance}), nats" for distance in DISTANCES)]
    for row, *cells in zip(rows, *found.values(), strict=True):
        table.add_row(row, *cells)
    Console().print(table)


if __name__ == "__main__":
    main()
