"""One data stage on the text of a folder: seconds and peak memory as a line of JSON.

    python benchmarks/scaling_stages.py clean FOLDER --workers 2

`scaling.py` beside it runs one after the other; each reads what the one before has left in FOLDER. This process is the
driver: it plans and collects, while workers read the text.

wall       seconds on the clock
processor  processor seconds of this process and its workers
driver     processor seconds of this process alone, without imports at the start
peak       bytes: the sum of the most that this process and each worker have held, each at its own time
pss        bytes: the most that all processes have held at one time; memory that processes share is counted once
"""

import json
import multiprocessing.forkserver
import resource
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import psutil

from langladder.counts.cooccurrence import CooccurrenceConfig, store_counts
from langladder.counts.ngrams import count_ngrams
from langladder.embeddings.word2vec.method import Word2Vec, Word2VecConfig
from langladder.engine.base import used
from langladder.engine.settings import DaskConfig, LocalConfig, open_engine
from langladder.text.clean.clean_text import CleanConfig, clean_text
from langladder.text.labelled.clean_instructions import CleanInstructionsConfig, clean_instructions
from langladder.text.labelled.clean_labelled import CleanLabelledConfig, clean_labels
from langladder.text.labelled.instructions import InstructionSource, read_instructions
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.questions import QuestionSource, read_question_files
from langladder.text.read.files import TextSource, read_text
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import encode_corpus, training_text
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.vocabulary import VocabularyConfig, WordCorpus, encode_words

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
    tokenizer = train_tokenizer(training_text(folder / "clean"), config)
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
    return {"pairs": found[f"{counting.key}_nonzeros"]}


def ngrams(folder: Path) -> dict[str, Any]:
    """Trigrams of tokens as a trie."""
    ids = TokenStream.open(folder / "tokens" / "train.arrow").ids
    return {"ngrams": len(count_ngrams(ids, 3, VOCABULARY).counts)}


def skipgram(folder: Path) -> dict[str, Any]:
    """One epoch of skip-gram with negative sampling, 100 dimensions."""
    method = Word2Vec(Word2VecConfig(dim=100, epochs=1))
    vectors = method.make(WordCorpus.open(folder / "words"), seed=1, progress=lambda _: None).vectors
    return {"words": len(vectors.words)}


def labels(folder: Path) -> dict[str, Any]:
    """Lines with a label read and cleaned."""
    source = LabelledSource(path=str(folder / "rows" / "labels.tsv"), layout="columns", text=0, label=1)
    read_labels(source, folder / "rows" / "raw")
    return clean_labels(folder / "rows" / "raw", folder / "labels", CleanLabelledConfig(), 1)["labels"]["train"]


def dialogues(folder: Path) -> dict[str, Any]:
    """Lines as a prompt and its response, read and cleaned."""
    read_instructions(InstructionSource(path=str(folder / "rows" / "dialogues.jsonl")), folder / "rows" / "raw")
    config = CleanInstructionsConfig()
    return clean_instructions(folder / "rows" / "raw", folder / "dialogues", config, 1)["splits"]["train"]


def questions(folder: Path) -> dict[str, Any]:
    """Lines with a question about each, read."""
    source = QuestionSource(path=str(folder / "rows" / "questions.jsonl"))
    return read_question_files(source, folder / "questions")["splits"]["train"]


def prepare(stage: str, folder: Path) -> None:
    """Write what stages about rows read, line by line of the text; not measured."""
    rows: dict[str, Callable[[str], str]] = {
        "labels.tsv": lambda line: f"{line}\t{'abcde'[len(line) % 5]}",
        "dialogues.jsonl": lambda line: json.dumps({"prompt": f"say {line[:80]}", "response": f"so {line[-40:]}"}),
        "questions.jsonl": lambda line: json.dumps(
            {"context": line, "question": f"what is {line[:20]} ?", "answers": [{"text": line[:5].strip(), "start": 0}]}
        ),
    }
    for name, row in rows.items():
        if name.partition(".")[0] == stage:
            (folder / "rows").mkdir()
            with (folder / "text.txt").open() as text, (folder / "rows" / name).open("w") as file:
                file.writelines(f"{row(line)}\n" for line in map(str.strip, text) if line and "\t" not in line)


STAGES: dict[str, Callable[[Path], dict[str, Any]]] = {
    one.__name__: one
    for one in (corpus, clean, tokenize, vocab, cooccur, ngrams, skipgram, labels, dialogues, questions)
}
ALONE = ("skipgram",)  # the same with any engine: one process trains


def processor_seconds(*who: int) -> float:
    """User and system time of RUSAGE_SELF (this process), RUSAGE_CHILDREN (those that it waited for), or both."""
    usage = [resource.getrusage(one) for one in who]
    return sum(one.ru_utime + one.ru_stime for one in usage)


class MemorySampler(threading.Thread):
    """Measures the proportional set size (PSS) of this process and all its descendants until it is stopped.

    Attributes:
        peak: bytes, the largest sum. seconds: processor time that this thread has used.
    """

    def __init__(self, interval: float = 0.2) -> None:
        super().__init__(daemon=True)
        self.interval = interval
        self.peak, self.seconds = 0, 0.0
        self._stopped = threading.Event()

    def run(self) -> None:
        """Measure, and wait `interval` seconds, until `stop`."""
        driver = psutil.Process()
        while True:
            total = 0
            for process in (driver, *driver.children(recursive=True)):
                with suppress(psutil.Error):  # it has ended since
                    total += process.memory_full_info().pss
            self.peak, self.seconds = max(self.peak, total), time.thread_time()
            if self._stopped.wait(self.interval):
                return

    def stop(self) -> None:
        """Measure once more, and end."""
        self._stopped.set()
        self.join()


@click.command()
@click.argument("stage", type=click.Choice(list(STAGES)))
@click.argument("folder", type=click.Path(path_type=Path, exists=True))
@click.option("--workers", default=1, show_default=True)
@click.option("--dask", is_flag=True, help="A Dask cluster of processes here instead of the local engine.")
@click.option("--memory", help="What the stage may hold, e.g. 1GB.")
def main(stage: str, folder: Path, workers: int, dask: bool, memory: str | None) -> None:
    """Run one stage and measure it."""
    config = DaskConfig(kind="dask", workers=workers) if dask else LocalConfig(kind="local", workers=workers)
    prepare(stage, folder)
    everyone = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    began, spent, driver = time.perf_counter(), processor_seconds(*everyone), processor_seconds(resource.RUSAGE_SELF)
    sampler = MemorySampler()
    sampler.start()
    with used(open_engine(config, memory, workers)) as engine:
        figures = STAGES[stage](folder)
        peak = engine.peak()
        sampler.stop()
    driver = processor_seconds(resource.RUSAGE_SELF) - driver - sampler.seconds
    multiprocessing.forkserver._forkserver._stop()  # type: ignore[attr-defined]  # so that its processes are counted
    print(
        json.dumps(
            {
                "wall": time.perf_counter() - began,
                "processor": processor_seconds(*everyone) - spent - sampler.seconds,
                "driver": driver,
                "peak": peak,
                "pss": sampler.peak,
                "figures": {key: value for key, value in figures.items() if isinstance(value, int)},
            }
        )
    )


if __name__ == "__main__":
    main()
