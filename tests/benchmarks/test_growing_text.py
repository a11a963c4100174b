"""Text for cost curves: its vocabulary follows Heaps' law, its words are in a real order, and it is deterministic."""

import importlib
import random
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pipeline import ROOT

sys.path.append(str(ROOT / "benchmarks"))
growing_text: Any = importlib.import_module("growing_text")
growing_text.CHUNK = 50_000
PIECE, draw_text, heaps = growing_text.PIECE, growing_text.grown, growing_text.heaps
read_source, write_text = growing_text.read_source, growing_text.write_text


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text whose next word is new with a falling chance, else one as likely as it was used."""
    rng, words = random.Random(1), ["first"]
    for n in range(1, 40_000):
        words.append(f"new{n:x}z" if rng.random() < 0.9 * n**-0.3 else rng.choice(words))
    path = tmp_path_factory.mktemp("real") / "real.txt"
    lines = [" ".join(words[at : at + 12]) + "." for at in range(0, len(words), 12)]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.long
def test_the_vocabulary_grows_as_the_law_says(real: Path) -> None:
    source = read_source(real)
    assert heaps(source.words)[1] == source.beta == pytest.approx(0.7, abs=0.05)
    *_, (_, words, types) = draw_text(source, 2_000_000)
    assert words > 5 * len(source.words)
    assert types == pytest.approx(source.k * words**source.beta, rel=0.01)


def test_words_stand_in_an_order_that_was_read(real: Path, tmp_path: Path) -> None:
    counts = write_text(read_source(real), tmp_path / "one.txt", 300_000)
    write_text(read_source(real), tmp_path / "two.txt", 300_000)
    text = (tmp_path / "one.txt").read_text()
    assert text == (tmp_path / "two.txt").read_text() and counts
    assert 299_000 < len(text) <= 300_000 and text.endswith("\n")
    read = PIECE.findall(real.read_text())
    known = {(item[1], two) for item, two in pairwise(read)}
    words_drawn = PIECE.findall(text)
    words = {word for _, word in read}
    pairs = [(item[1], two) for item, two in pairwise(words_drawn) if {item[1], two[1]} <= words]
    assert sum(pair in known for pair in pairs) > 0.95 * len(pairs)
