"""Words of a corpus in shards: those of each line, the same bytes wherever and in however many steps."""

import random
import resource
from pathlib import Path

import pyarrow as pa
import pytest
from test_sharded_encoding import CHINESE, hashes
from test_tokenizer_training import ENGLISH, any_lines, wild_lines

from langladder.engine.base import Engine, Local, Serial, used
from langladder.text.storage import shards, tables
from langladder.text.words import vocabulary
from langladder.text.words.segmentation import Conventions, WordChoice, WordMode, splitter_of, write_conventions
from langladder.text.words.vocabulary import NumberedWords, Vocabulary, VocabularyConfig, WordCorpus, encode_words

# Marks and words that readings tell apart: clitics, initials, dotted and hyphenated words, signs that stay.
MARKED = (
    *("the", "Cat", "J.", "U.S.", "e.g.", "3.14", "it's", "'s", "'LL", "'cause", "’tis", "(horse,", '"Look', "dogs'"),
    *(
        "twenty-one",
        "<unk>",
        "<unk>,",
        "@-@",
        "--",
        "#tag",
        "@user",
        "5%",
        "$5.",
        "x_y",
        "_x_",
        "é.",
        "Été,",
        "(a)",
        "A)",
    ),
    *(
        "...",
        "a...",
        "I.",
        "(I.",
        "ok!?",
        "我爱GPT-2。",
        "naïve;",
        "a/b",
        "'a'",
        "''",
        "`x`",
        "~x",
        "R2-D2.",
        "“quoted”",
    ),
)
MODES: list[WordMode] = ["whitespace", "unicode", "auto", "apart", "separated"]


def marked_lines(seed: int, count: int) -> list[str]:
    draw = random.Random(seed)
    return [" ".join(draw.choices(MARKED, k=draw.randrange(12))) for _ in range(count)]


@pytest.mark.parametrize("mode", MODES)
def test_words_are_those_of_each_line(mode: WordMode) -> None:
    ascii_pairs = [chr(index) + chr(two) for index in range(128) for two in range(128)]
    around = [f"{mark}a{other}" for mark in map(chr, range(33, 128)) for other in map(chr, range(33, 128))]
    lines = [*ENGLISH, *CHINESE, *marked_lines(1, 500), *wild_lines(2, 1500), *any_lines(3, 300), *ascii_pairs, *around]
    split = splitter_of(mode)
    known = NumberedWords(split)
    rows = [known.read(line) for line in lines]
    words = list(known.words)
    assert [[words[number] for number in row] for row in rows] == [split(line) for line in lines]


@pytest.mark.parametrize(("choice", "line"), [("jieba", "我爱北京天安门。 GPT, ok"), ("fugashi", "東京に住む。 (ok)")])
def test_words_are_those_of_segmenters_where_they_are_installed(choice: WordChoice, line: str) -> None:
    pytest.importorskip(choice)
    known = NumberedWords(splitter_of(choice))
    rows = [known.read(text) for text in (line, *MARKED)]
    assert [[[*known.words][number] for number in row] for row in rows] == [
        splitter_of(choice)(text) for text in (line, *MARKED)
    ]


@pytest.fixture
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Text in several shards, of documents of several lines."""
    monkeypatch.setattr(shards, "SHARD_BYTES", 2_000)
    monkeypatch.setattr(vocabulary, "BUCKET_SHARDS", 2)
    lines = ENGLISH * 20 + marked_lines(5, 300) + [line for line in wild_lines(7, 100) if line] + CHINESE
    rows = {"document": [row // 7 for row in range(len(lines))], "text": lines, "log_prob": [None] * len(lines)}
    tables.write_table(tmp_path / "clean" / "train", pa.table(rows, schema=shards.TEXT))
    assert len(shards.shard_files(tmp_path / "clean" / "train")) > 4
    write_conventions(tmp_path / "clean", {"text": Conventions(words="apart")})
    return tmp_path / "clean"


def encoded(clean: Path, out: Path, engine: Engine) -> dict[str, str]:
    out.mkdir()
    with used(engine):
        encode_words(clean, VocabularyConfig(words="auto", min_count=2), out)
    return hashes(out)


def test_a_corpus_of_shards_is_that_of_its_lines(clean: Path, tmp_path: Path) -> None:
    assert set(encoded(clean, tmp_path / "out", Serial())) == {
        "conventions.json",
        "train.arrow",
        "vocabulary.json",
        "documents.safetensors",
    }
    table = tables.read_table(clean / "train").to_pydict()
    built = Vocabulary.build(table["text"], VocabularyConfig(min_count=2), splitter_of("apart"))
    corpus = WordCorpus.open(tmp_path / "out")
    assert corpus.vocabulary.words == built.words and corpus.vocabulary.counts.tolist() == built.counts.tolist()
    rows = [built.encode(splitter_of("apart")(line)).tolist() for line in table["text"]]
    assert [row.tolist() for row in corpus.stream] == rows and not corpus.stream.ids.flags.owndata
    ends = {document: position + 1 for position, document in enumerate(table["document"])}
    assert corpus.document_bounds.tolist() == [0, *(sum(map(len, rows[:end])) for end in ends.values())]


@pytest.mark.long
def test_equal_words_whatever_the_engine(clean: Path, tmp_path: Path) -> None:
    engines = {"serial": Serial(), "two": Local(2), "four": Local(4)}
    result = {name: encoded(clean, tmp_path / name, engine) for name, engine in engines.items()}
    assert result["serial"] == result["two"] == result["four"]


def test_more_shards_than_files_that_may_be_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SHARD_BYTES", 1)
    lines = [f"word {line}" for line in range(60)]
    rows = {"document": range(60), "text": lines, "log_prob": [None] * 60}
    whole = pa.table(rows, schema=shards.TEXT)
    tables.write_batches(tmp_path / "clean" / "train", shards.TEXT, [whole[row : row + 1] for row in range(60)])
    assert len(shards.shard_files(tmp_path / "clean" / "train")) == 60
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    resource.setrlimit(resource.RLIMIT_NOFILE, (open_files + 30, hard))
    try:
        figures = encode_words(tmp_path / "clean", VocabularyConfig(), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert figures["types"] == 61 and figures["words"] == 120
