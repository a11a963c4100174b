"""What the window is worth: small ones are said to learn syntax, large ones meaning. Analogies, similarity by window.

    python benchmarks/window_sizes.py

Skip-gram and the SVD of PPMI, dimension 100, 5 epochs; vectors v + u and W + C. The analogies are Google's semantic and
syntactic sections; WordSim-353 comes in two parts, similar words (tiger, cat) and related ones (cup, coffee).
"""

from pathlib import Path
from typing import Any

import click
from public_data import data, find
from rich.console import Console
from rich.table import Table
from word2vec_speed import read_corpus

from langladder.embeddings.svd import SVD
from langladder.embeddings.word2vec.method import Word2Vec
from langladder.evaluation.analogy import evaluate_analogies
from langladder.evaluation.similarity import evaluate_similarity


def method(kind: str, window: int) -> Word2Vec | SVD:
    """A method with this window, otherwise as in conf/embedding."""
    if kind == "skip-gram":
        return Word2Vec(Word2Vec.Config.model_validate({"window": window, "lr": 0.05, "vectors": "sum"}))
    matrix = {"kind": "ppmi", "cooccurrence": {"window": window}}
    settings = {"dim": 100, "eigenvalue_weighting": 0.5, "vectors": "sum", "matrix": matrix}
    return SVD(SVD.Config.model_validate(settings))


@click.command()
@data
@click.option("--words", type=int, help="Only so many words of it: a shorter run.")
@click.option("--windows", default="2,5,10", show_default=True)
def main(data: Path, words: int | None, windows: str) -> None:
    """Measure and print."""
    corpus = read_corpus(data, words)
    table = Table(title=f"{len(corpus.stream.ids):,} words, one seed")
    for column in ("method", "window", "semantic %", "syntactic %", "similar ρ", "related ρ", "SimLex ρ"):
        table.add_column(column, justify="left" if column == "method" else "right")
    for kind in ("skip-gram", "SVD of PPMI"):
        for window in map(int, windows.split(",")):
            vectors = method(kind, window).make(corpus, seed=1, progress=lambda _: None).vectors
            found = evaluate_analogies(vectors, find(data, "analogy/questions-words.txt"), restrict_vocabulary=30_000)
            sets: dict[str, Any] = {
                part.name: part.spearman for part in evaluate_similarity(vectors, find(data, "wordsim")).sets
            }
            analogies = [f"{100 * ((part and part.accuracy) or 0):.1f}" for part in (found.semantic, found.syntactic)]
            names = ("EN-WS-353-SIM", "EN-WS-353-REL", "EN-SIMLEX-999")
            table.add_row(kind, str(window), *analogies, *(f"{sets[name] or 0:.3f}" for name in names))
            Console().print(kind, window, *analogies)
    Console().print(table)


if __name__ == "__main__":
    main()
