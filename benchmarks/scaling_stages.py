"""One data stage on the text of a folder, in this process: seconds and peak memory as a line of JSON.

    python benchmarks/scaling_stages.py clean FOLDER --workers 2

`scaling.py` beside it runs one after the other; each reads what the one before has left in FOLDER.
"""

import json
import multiprocessing.forkserver
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from langladder.counts.cooccurrence import CooccurrenceConfig
from langladder.counts.kinds import store_counts
from langladder.counts.ngrams import count_ngrams
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.engine.base import used
from langladder.engine.choosing import DaskConfig, LocalConfig, made
from langladder.text.cleaning import CleanConfig, clean_text
from langladder.text.corpus_ids import TokenStream
from langladder.text.encoding import encode_corpus, training_text
from langladder.text.readers import read_text
from langladder.text.sources import TextSource
from langladder.text.tokenizer_training import train_tokenizer
from langladder.text.tokenizers import TokenizerConfig
from langladder.text.vocabulary import VocabularyConfig
from langladder.text.word_corpus import WordCorpus
from langladder.text.word_stream import encode_words

VOCABULARY = 8000  # tokens
MIN_COUNT = 5  # occurrences of a word that gets counted


def corpus(folder: Path) -> dict[str, Any]:
    """Text into shards."""
    return read_text(TextSource(path=str(folder / "text.txt"), documents="blank_line"), folder / "raw")


def clean(folder: Path) -> dict[str, Any]:
    """Normalised, exact duplicates dropped, split by hash."""
    return clean_text(folder / "raw", folder / "clean", CleanConfig(), 1)


def tokenize(folder: Path) -> dict[str, Any]:
    """Byte-level BPE trained and applied."""
    place = folder / "tokens"
    place.mkdir()
    config = TokenizerConfig(kind="bpe_bytes", vocab_size=VOCABULARY)
    tokenizer = train_tokenizer(training_text(folder / "clean", place), config)
    return encode_corpus(folder / "clean", tokenizer, place)


def vocab(folder: Path) -> dict[str, Any]:
    """Words counted and numbered."""
    (folder / "words").mkdir()
    return encode_words(folder / "clean", VocabularyConfig(min_count=MIN_COUNT), folder / "words")


def cooccur(folder: Path) -> dict[str, Any]:
    """GloVe's counting: window 10, by inverse distance."""
    (folder / "counts").mkdir()
    counting = CooccurrenceConfig(window=10, weighting="inverse_distance")
    found = store_counts(folder / "counts", WordCorpus.open(folder / "words"), [counting])
    return {"pairs": sum(int(counts.nnz) for _, counts in found)}


def ngrams(folder: Path) -> dict[str, Any]:
    """Trigrams of tokens as a trie."""
    ids = TokenStream.open(folder / "tokens" / "train.arrow").ids
    return {"ngrams": len(count_ngrams(ids, 3, VOCABULARY).counts)}


def skipgram(folder: Path) -> dict[str, Any]:
    """One epoch of skip-gram with negative sampling, 100 dimensions."""
    method = Word2Vec(Word2VecConfig(dim=100, epochs=1))
    vectors = method.make(WordCorpus.open(folder / "words"), seed=1, progress=lambda _: None).vectors
    return {"words": len(vectors.words)}


STAGES: dict[str, Callable[[Path], dict[str, Any]]] = {
    one.__name__: one for one in (corpus, clean, tokenize, vocab, cooccur, ngrams, skipgram)
}
ALONE = ("skipgram",)  # the same with any engine: one process trains


def processor_seconds() -> float:
    """Of this process, and of those that it waited for."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in both)


@click.command()
@click.argument("stage", type=click.Choice(list(STAGES)))
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--workers", default=1, show_default=True)
@click.option("--dask", is_flag=True, help="A Dask cluster of processes here instead of the local engine.")
@click.option("--memory", help="What the stage may hold, e.g. 1GB.")
def main(stage: str, folder: Path, workers: int, dask: bool, memory: str | None) -> None:
    """Run one stage and measure it."""
    config = DaskConfig(kind="dask", workers=workers) if dask else LocalConfig(kind="local", workers=workers)
    began, spent = time.perf_counter(), processor_seconds()
    with used(made(config, memory, workers)) as engine:
        figures = STAGES[stage](folder)
        peak = engine.peak()
    multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined]  # so that its processes are counted
    print(
        json.dumps(
            {
                "wall": time.perf_counter() - began,
                "processor": processor_seconds() - spent,
                "peak": peak,
                "figures": {key: value for key, value in figures.items() if isinstance(value, int)},
            }
        )
    )


if __name__ == "__main__":
    main()
