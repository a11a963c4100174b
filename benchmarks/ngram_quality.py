"""Every n-gram method on WikiText-2 words: perplexity on validation and test text, size, time to fit.

    python benchmarks/language_models.py ngram-quality                  all methods, orders 3 and 5
    python benchmarks/language_models.py ngram-quality --order 5 --method "modified Kneser-Ney"

KenLM's figures for modified Kneser-Ney on the same files: 3-gram valid 247.66, test 230.89; 5-gram 239.98, 224.81.
"""

import time
from pathlib import Path
from typing import Any

import click
import numpy as np
from public_data import data
from rich.console import Console
from rich.table import Table
from wikitext import split_text, stream, word_ids

from langladder.evaluation.perplexity import score
from langladder.models.ngrams.absolute_discounting import AbsoluteDiscounting
from langladder.models.ngrams.add_k import AddK
from langladder.models.ngrams.katz import Katz
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.ngrams.maximum_likelihood import MaximumLikelihood
from langladder.models.ngrams.ngram import NgramModel
from langladder.models.ngrams.stupid_backoff import StupidBackoff
from langladder.models.ngrams.witten_bell import WittenBell
from langladder.text.tokenize.specials import BOS, NAMES

METHODS: dict[str, tuple[type[NgramModel], dict[str, Any]]] = {
    "maximum likelihood": (MaximumLikelihood, {}),
    "add 1": (AddK, {"k": 1.0}),
    "add 0.001": (AddK, {"k": 0.001}),
    "Katz": (Katz, {}),
    "stupid back-off, normalised": (StupidBackoff, {}),
    "Witten-Bell": (WittenBell, {}),
    "absolute discounting": (AbsoluteDiscounting, {}),
    "Kneser-Ney, one discount": (KneserNey, {"modified": False}),
    "modified Kneser-Ney": (KneserNey, {}),
    "modified Kneser-Ney, cut-offs 0 1": (KneserNey, {"prune": [0, 1]}),
    "modified Kneser-Ney, cut-offs 1 1": (KneserNey, {"prune": [1, 1]}),
    "modified Kneser-Ney, entropy 1e-7": (KneserNey, {"prune_entropy": 1e-7}),
    "modified Kneser-Ney, entropy 1e-6": (KneserNey, {"prune_entropy": 1e-6}),
}


def perplexity(model: NgramModel, ids: np.ndarray) -> str:
    """Perplexity per word with line ends, or how many tokens the model rules out."""
    words = int((ids != BOS).sum())
    figures = score(model, stream(ids), words=words, characters=1, bytes=1)
    impossible = figures.impossible_tokens
    return f"{figures.perplexity_per_token:.3f}" if not impossible else f"∞ ({impossible / words:.0%} impossible)"


@click.command()
@data
@click.option("--order", type=click.IntRange(1, 6), multiple=True, default=(3, 5), show_default=True)
@click.option("--method", type=click.Choice(list(METHODS)), multiple=True, default=tuple(METHODS), help="default: all")
def main(data: Path, order: tuple[int, ...], method: tuple[str, ...]) -> None:
    """Print the table."""
    train, known = word_ids(split_text(data, "train"))
    valid, known = word_ids(split_text(data, "valid"), known)
    test, known = word_ids(split_text(data, "test"), known)
    vocab_size = len(NAMES) + len(known)
    table = Table("method", "order", "valid", "test", "n-grams", "fit, s", title="WikiText-2, perplexity per word")
    for n in order:
        for name in method:
            cls, settings = METHODS[name]
            model = cls(cls.Config.model_validate({"order": n} | settings), vocab_size)
            started = time.perf_counter()
            model.fit(stream(train))
            seconds = time.perf_counter() - started
            figures = [perplexity(model, ids) for ids in (valid, test)]
            table.add_row(name, str(n), *figures, f"{sum(model.ngrams_per_order()):,}", f"{seconds:.2f}")
        table.add_section()
    Console(width=120).print(table)
