"""Tokens and words of English Wikipedia: the whole stages' work beside the `tokenizers` library alone.

python benchmarks/data_stages.py tokenize
python benchmarks/data_stages.py vocab

Runs of ours and of the peer alternate. The peer trains on the lines and encodes them with all processors, and throws
the ids away; ours reads the shards, trains, encodes, writes tokens and sizes, in one process (so that all its time on
the processor is counted). Seconds are those of the clock and, as other work may run beside, those of the processor.
"""

import gzip
import os
import tempfile
import time
from pathlib import Path
from statistics import median

import click
from measure import Spent, markdown, spent, verdict
from public_data import data

ENGINE = """
import sys
from pathlib import Path
text, out = Path(sys.argv[1]), Path(sys.argv[2])
out.mkdir()
"""
TOKENIZE = """
from langladder.text.tokenize.encoding import encode_corpus, training_text
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
config = TokenizerConfig(vocab_size=8000, min_frequency=2)
encode_corpus(text, train_tokenizer(training_text(text), config), out)
"""
VOCAB = """
from langladder.text.words.vocabulary import VocabularyConfig
from langladder.text.words.vocabulary import encode_words
encode_words(text, VocabularyConfig(words="auto", min_count=5), out)
"""
LIBRARY = """
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
alphabet = pre_tokenizers.ByteLevel.alphabet()
trainer = trainers.BpeTrainer(vocab_size=8000, min_frequency=2, initial_alphabet=alphabet, show_progress=False)
tokenizer.train_from_iterator(lines, trainer)
for begin in range(0, len(lines), 8192):
    tokenizer.encode_batch_fast(lines[begin : begin + 8192], add_special_tokens=False)
"""
COUNTER = """
import sys
from collections import Counter
lines = open(sys.argv[1], encoding="utf-8").read().splitlines()
counts = Counter()
for line in lines:
    counts.update(line.split())
words = sorted((word for word in counts if counts[word] >= 5), key=lambda word: (-counts[word], word))
ids = {word: number for number, word in enumerate(words)}
rows = [[ids[word] for word in line.split() if word in ids] for line in lines]
"""
SHARDS = """
import sys
from pathlib import Path
from langladder.text.read.files import read_text
from langladder.text.read.files import TextSource
read_text(TextSource(path=sys.argv[1], documents="heading", heading="= [^=].* ="), Path(sys.argv[2]))
"""


class Timed:
    """Runs of one program: seconds of the clock, and what they took."""

    def __init__(self, name: str, code: str, *arguments: Path) -> None:
        self.name, self.code, self.arguments = name, code, arguments
        self.clock: list[float] = []
        self.found: list[Spent] = []

    def run(self, *more: Path) -> None:
        """Once more."""
        began = time.perf_counter()
        self.found.append(spent(["-c", self.code, *self.arguments, *more]))
        self.clock.append(time.perf_counter() - began)

    def row(self, megabytes: float) -> list[str]:
        """For the table: medians."""
        return [self.name, f"{median(self.clock):.1f} s", f"{self.cpu:.1f} s", f"{megabytes / self.cpu:.1f}"]

    @property
    def cpu(self) -> float:
        """Median seconds of the processor."""
        return median(one.cpu for one in self.found)


def compare(data: Path, megabytes: int, repeats: int, ours: str, peer: tuple[str, str], aim: float) -> None:
    """Print the table of one stage; the first run of each, which compiles, does not count."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = gzip.decompress((data / "wiki-en" / "wiki_en.txt.gz").read_bytes())[: megabytes * 1_000_000]
        lines = [line.strip() for line in text[: text.rfind(b"\n")].split(b"\n") if line.strip()]
        (folder / "wiki.txt").write_bytes(b"\n".join(lines) + b"\n")
        spent(["-c", SHARDS, folder / "wiki.txt", folder / "raw"])
        (folder / "raw" / "all").rename(folder / "raw" / "train")
        both = Timed("langladder", ENGINE + ours, folder / "raw"), Timed(peer[0], peer[1], folder / "wiki.txt")
        for repeat in range(repeats + 1):
            both[0].run(folder / f"out{repeat}")
            both[1].run()
        for one in both:
            one.clock, one.found = one.clock[1:], one.found[1:]
    size = sum(map(len, lines)) / 1e6
    judged = [verdict(both[0].cpu, aim, at_most=True), ""]
    rows = [[*one.row(size), said] for one, said in zip(both, judged, strict=True)]
    title = f"{size:.0f} MB of English Wikipedia, {len(os.sched_getaffinity(0))} processors"
    markdown(title, ["", "clock", "processor", "MB/s of it", "aim, processor s"], rows)


megabytes = click.option("--megabytes", default=43, show_default=True, help="Of wiki-en.")
repeats = click.option("--repeats", default=3, show_default=True, help="Medians are of so many runs.")


@click.command()
@data
@megabytes
@repeats
def tokenize(data: Path, megabytes: int, repeats: int) -> None:
    """Train byte-level BPE of 8,000 tokens, and encode."""
    compare(data, megabytes, repeats, TOKENIZE, ("tokenizers alone", LIBRARY), 8)


@click.command()
@data
@megabytes
@repeats
def vocab(data: Path, megabytes: int, repeats: int) -> None:
    """Words with punctuation apart, counted and encoded; the peer is Python's Counter on words between spaces."""
    compare(data, megabytes, repeats, VOCAB, ("collections.Counter", COUNTER), 3)
