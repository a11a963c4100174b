"""How word2vec's time grows with the vocabulary: O(V) for the full softmax, O(log V) for the tree, O(K) for noise.

    python benchmarks/vocabulary_scaling.py --svg docs/results/vocabulary_scaling.svg

The text is drawn from Zipf's law over V words, in lines of 20, nothing subsampled; every output layer learns from the
same text, skip-gram, 100 dimensions, one thread. The softmax sees less of it, as it takes so much longer.
"""

import time
from pathlib import Path
from statistics import median

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.experiments.findings import Plot, series
from langladder.faces.report.claims import findings_file
from langladder.ground.artefacts import write_text
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

LAYERS = {"softmax": "O(V)", "hierarchical": "O(log V)", "negative_sampling": "O(K)", "nce": "O(K)"}


def zipf_corpus(vocabulary: int, words: int, seed: int = 1) -> WordCorpus:
    """`words` running words; the counts are what Zipf's law gives, so that the tree is that of a real text."""
    chances = 1 / np.arange(1, vocabulary + 1)
    chances /= chances.sum()
    ids = np.random.default_rng(seed).choice(vocabulary, words, p=chances).astype(np.int32)
    counts = np.maximum(1, np.rint(chances * 1e8)).astype(np.int64)
    offsets = np.append(np.arange(0, words, 20), words)
    return WordCorpus(TokenStream(ids, offsets), Vocabulary([str(word) for word in range(vocabulary)], counts))


def microseconds_a_word(layer: str, vocabulary: int, words: int, repeats: int) -> float:
    """Median time a running word, of what grows with the text: the difference of a longer and a shorter run."""
    config = Word2VecConfig(output=layer, epochs=1, subsample=0.0)  # type: ignore[arg-type]
    taken = []
    for repeat in range(repeats):
        times = []
        for count in (words // 5, words):
            corpus = zipf_corpus(vocabulary, count)
            started = time.process_time()
            Word2Vec(config).make(corpus, seed=repeat, progress=lambda _: None)
            times.append(time.process_time() - started)
        taken.append((times[1] - times[0]) / (words - words // 5) * 1e6)
    return median(taken)


@click.command()
@click.option("--sizes", default="10000,20000,50000,100000", show_default=True, help="Vocabularies.")
@click.option("--words", default=2_000_000, show_default=True, help="Running words; the softmax takes a 400th of them.")
@click.option("--repeats", default=3, show_default=True)
@click.option("--svg", "svg_path", type=click.Path(path_type=Path), help="Draw the plot here too.")
def main(sizes: str, words: int, repeats: int, svg_path: Path | None) -> None:
    """Processor microseconds a running word, for every output layer and vocabulary."""
    vocabularies = [int(size) for size in sizes.split(",")]
    table = Table(title="Processor µs a word, skip-gram, dimension 100, window 5")
    table.add_column("output layer")
    table.add_column("expected")
    for vocabulary in vocabularies:
        table.add_column(f"{vocabulary:,} words", justify="right")
    lines = []
    for layer, expected in LAYERS.items():
        microseconds_a_word(layer, 100, 2000, 1)  # compile
        part = max(1000, words // 400) if layer == "softmax" else words
        found = [microseconds_a_word(layer, vocabulary, part, repeats) for vocabulary in vocabularies]
        lines.append(series(f"{layer.replace('_', ' ')}, {expected}", vocabularies, found))
        table.add_row(layer, expected, *(f"{time_:.2f}" for time_ in found))
    Console().print(table)
    if svg_path:
        plot = Plot(
            title="Cost of output layers",
            x_label="words in the vocabulary",
            y_label="processor µs a running word",
            series=lines,
            log_x=True,
            log_y=True,
        )
        write_text(svg_path, findings_file(plot))


if __name__ == "__main__":
    main()
