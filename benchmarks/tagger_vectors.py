"""Word vectors of wiki-en for the taggers of the English Web Treebank: its words, split as a treebank splits them.

    python benchmarks/tagger_vectors.py /tmp/wiki-vectors

Lower-cased, every digit a 0, punctuation and clitics (n't, 's, 'll) words of their own. Windows are narrow: what stands
right beside a word says more of its part of speech than of its topic (Levy & Goldberg 2014, "Dependency-Based Word
Embeddings").
"""

import re
from collections import Counter
from pathlib import Path

import click
import numpy as np
from public_data import data, find, read

from langladder.embeddings.subword import Subword, SubwordConfig
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, WordCorpus

WORD = re.compile(r"n't|'(?:s|m|d|re|ve|ll)\b|\w+?(?=n't)|\w+(?:\.\w+)*|[^\w\s]")


def normal(text: str) -> str:
    """Lower case, digits as 0, one apostrophe."""
    return re.sub(r"\d", "0", text.lower().replace("\u2019", "'"))


def read_corpus(data: Path, min_count: int) -> WordCorpus:
    """The articles as ids, a line a row; rarer words are left out."""
    lines = read(find(data, "wiki-en/wiki_en.txt")).decode("utf-8").split("\n")
    split = [WORD.findall(normal(line)) for line in lines if not line.startswith("= ")]
    counts = Counter(word for line in split for word in line)
    words = sorted((word for word in counts if counts[word] >= min_count), key=lambda word: (-counts[word], word))
    vocabulary = Vocabulary(words, np.array([counts[word] for word in words], dtype=np.int64))
    rows = [row for row in map(vocabulary.encode, split) if len(row) > 1]
    bounds = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    return WordCorpus(TokenStream(np.concatenate(rows), bounds), vocabulary)


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@data
@click.option("--method", type=click.Choice(["skipgram", "subword"]), default="skipgram", show_default=True)
@click.option("--dim", default=100, show_default=True)
@click.option("--window", default=2, show_default=True)
@click.option("--epochs", default=8, show_default=True)
@click.option("--min-count", default=5, show_default=True)
@click.option("--threads", default=1, show_default=True)
def main(out: Path, data: Path, method: str, dim: int, window: int, epochs: int, min_count: int, threads: int) -> None:
    """Make the vectors and save them in a folder."""
    corpus = read_corpus(data, min_count)
    print(f"{len(corpus.stream.ids):,} words, {len(corpus.vocabulary):,} types", flush=True)
    chosen = {"dim": dim, "window": window, "epochs": epochs, "threads": threads, "subsample": 1e-4}
    if method == "subword":
        made = Subword(SubwordConfig.model_validate(chosen | {"buckets": 200_000})).make(corpus, seed=1)
    else:
        made = Word2Vec(Word2VecConfig.model_validate(chosen | {"vectors": "input"})).make(corpus, seed=1)
    made.vectors.save(out)
    print(f"{made.cost}", flush=True)


if __name__ == "__main__":
    main()
