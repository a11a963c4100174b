"""How much of a document's memory language models use: perplexity by position in the document, and by kind of line.

    python benchmarks/document_positions.py FOLDER

FOLDER: a checkout whose DAG has run with `corpus: microworld`. Its models (models/lm/*) score the test
documents, each as a whole. The floor is that of who reads whole documents: exp(−Σ log P(x_t | x_1 … x_{t−1}) / words).
"""

import math
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
import pyarrow as pa
import torch
from rich.console import Console
from rich.table import Table

from langladder.corpora.documents.lines import LINE
from langladder.corpora.documents.process import Process, Reader, follow, process
from langladder.corpora.lexicon import Size
from langladder.models.language.language_model import LanguageModel
from langladder.text.storage.shards import SPLITS
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

POSITIONS = ((0, 1), (1, 2), (2, 4), (4, 7), (7, 10), (10, 14), (14, 20))


class Line(NamedTuple):
    """A line of a test document: where it stands, of which kind it is, its words and its end, −log P of the truth."""

    position: int
    kind: str
    words: int
    floor: float


def read(folder: Path) -> list[list[tuple[str, float]]]:
    """The test documents: (sentence, log P) of each line."""
    found: dict[int, list[tuple[str, float]]] = {}
    for file in sorted((folder / "data/clean/text" / SPLITS[-1]).glob("*.arrow")):
        columns = pa.ipc.open_stream(file).read_all().to_pydict()
        for row in zip(columns["document"], columns["text"], columns["log_prob"], strict=True):
            found.setdefault(row[0], []).append((row[1], row[2]))
    return list(found.values())


def lines(source: Process, document: list[tuple[str, float]]) -> list[Line]:
    """What is known of each line."""
    reader, found = Reader(), []
    for position, (sentence, log_prob) in enumerate(document):
        (node,) = source.grammar(reader.memory).parse(LINE, sentence.split())
        names = [str(one.expansion.symbol[0]) for one in node.nodes()]
        kind = next(name for name in names if name not in ("Line", "Opened"))
        found.append(Line(position, kind, len(sentence.split()) + 1, -log_prob))
        reader, _ = follow(reader, node)
    return found


def surprise(model: LanguageModel, tokenizer: Tokenizer, document: list[tuple[str, float]]) -> list[float]:
    """−log P of each line under a model that reads the document from its beginning."""
    coded = [[BOS, *tokenizer.encode(sentence).tolist(), EOS] for sentence, _ in document]
    with torch.no_grad():
        scores = model.log_probs(torch.tensor([[one for line in coded for one in line]]))[0].numpy()  # (T,), 0 at BOS
    return [-float(part.sum()) for part in np.split(scores, np.cumsum([len(line) for line in coded])[:-1])]


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--size", default="small", show_default=True)
@click.option("--documents", default=1000, show_default=True)
def main(folder: Path, size: Size, documents: int) -> None:
    """Measure and print."""
    texts = read(folder)[:documents]
    known = [line for document in texts for line in lines(process(size), document)]
    models = {}
    for path in sorted((folder / "models/lm").iterdir()):
        model, tokenizer = LanguageModel.load(path), Tokenizer.load(path / "tokenizer.json")
        models[path.name] = [one for document in texts for one in surprise(model, tokenizer, document)]
    by_position = {
        str(b) if b == a + 1 else f"{a + 1} to {b}": [a <= line.position < b for line in known] for a, b in POSITIONS
    }
    kinds = sorted({line.kind for line in known}, key=lambda kind: -sum(line.kind == kind for line in known))
    by_kind = {kind: [line.kind == kind for line in known] for kind in kinds}
    for title, rows in (("position in the document", by_position), ("kind of line", by_kind)):
        table = Table(title="perplexity per word")
        for column in (title, "lines", "floor", *models):
            table.add_column(column, justify="left" if column == title else "right")
        for name, chosen in (rows | {"all": [True] * len(known)}).items():
            picked = np.array(chosen)
            words = np.array([line.words for line in known])[picked].sum()
            costs = [np.array([line.floor for line in known]), *(np.array(cost) for cost in models.values())]
            cells = [f"{math.exp(cost[picked].sum() / words):.2f}" for cost in costs]
            table.add_row(name, f"{picked.sum():,}", *cells)
        Console().print(table)


if __name__ == "__main__":
    main()
