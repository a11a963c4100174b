"""What a word of a text is: decided once, written down, and used by every count."""

from pathlib import Path

import pyarrow as pa
import pytest
from pydantic import ValidationError

from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.text.clean.clean_pairs import CleanPairsConfig, clean_parallel
from langladder.text.clean.clean_text import CleanConfig, clean_text
from langladder.text.storage import shards, tables
from langladder.text.tokenize.encoding import encode_corpus
from langladder.text.tokenize.side import train_pair_tokenizers
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.segmentation import Conventions, Segmenter, conventions_of, write_conventions
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, encode_words

THAI = [f"แมวตัวที่{n}นอนบนโต๊ะ" for n in range(60)]
PROSE = [f"The cat, number {n}, sleeps." for n in range(60)]
APART = [f"the cat , number {n} , sleeps ." for n in range(60)]


@pytest.mark.parametrize(
    ("lines", "words", "unit"),
    [
        (PROSE, "apart", "apart"),
        (APART, "auto", "auto"),
        (THAI, "auto", "graphemes"),
        (["她喜欢看书。"], "apart", "graphemes"),
    ],
)
def test_golden_conventions(lines: list[str], words: str, unit: str) -> None:
    result = Conventions.of("auto", lines, "th")
    assert (result.words, result.unit, result.language) == (words, unit, "th")
    assert ("does not separate words" in result.description) == (unit == "graphemes")


@pytest.mark.parametrize("name", ["pythainlp"])
def test_a_chosen_segmenter_gives_words(name: Segmenter) -> None:
    pytest.importorskip(name)
    result = Conventions.of(name, THAI)
    assert result.unit == name and len(result.split(THAI[1])) < len(Conventions.of("auto", THAI).split(THAI[1]))


def test_every_stage_counts_the_words_that_cleaning_decided(tmp_path: Path) -> None:
    rows = {"document": [*range(60)], "text": PROSE, "log_prob": [None] * 60}
    tables.write_table(tmp_path / "raw" / "all", pa.table(rows, schema=shards.TEXT))
    config = CleanConfig.model_validate({"limits": {"max_words": 8}, "language": "en"})
    report = clean_text(tmp_path / "raw", tmp_path / "clean", config, seed=1)  # the cat , number 7 , sleeps .
    assert conventions_of(tmp_path / "clean") == Conventions(words="apart", language="en", steps=["invisible", "NFC"])
    assert (
        not report["cleaning"]["dropped"]
        and report["splits"]["train"]["words"] == 8 * report["splits"]["train"]["lines"]
    )
    with pytest.raises(InputError, match="too_long 60"):
        clean_text(
            tmp_path / "raw", tmp_path / "none", CleanConfig.model_validate({"limits": {"max_words": 7}}), seed=1
        )
    tokenizer = train_tokenizer(PROSE, TokenizerConfig(kind="word", vocab_size=None))
    encode_corpus(tmp_path / "clean", tokenizer, tmp_path / "tokens")
    sizes = read_json(tmp_path / "tokens" / "sizes.json")["train"]
    assert sizes["words"] == 9 * report["splits"]["train"]["lines"] and sizes["word_unit"] == "apart"  # ends too
    figures = encode_words(tmp_path / "clean", VocabularyConfig(), tmp_path)
    assert figures["words"] == 8 * figures["documents"]
    assert {",", "cat"} <= set(Vocabulary.load(tmp_path / "vocabulary.json").words)


def test_sides_of_pairs_have_their_own_conventions(tmp_path: Path) -> None:
    """Three times as long as the corpus' mean, of a script with few characters a word: dropped; and said."""
    pairs = [*zip(PROSE, THAI, strict=True), *((f"Go {n}", THAI[n] * 4) for n in range(10))]
    sides = pa.table([[item for item, _ in pairs], [two for _, two in pairs]], schema=tables.PAIRS)
    tables.write_table(tmp_path / "raw" / "all.parquet", sides)
    config = CleanPairsConfig(max_length_ratio=3.0, source_language="en", target_language="th")
    report = clean_parallel(tmp_path / "raw", tmp_path / "clean", config, seed=1)
    assert conventions_of(tmp_path / "clean", "source").unit == "apart"
    target = conventions_of(tmp_path / "clean", "target")
    assert (target.unit, target.writing, target.language) == ("graphemes", "unspaced", "th")
    assert report["cleaning"]["dropped"]["length_ratio"]["count"] == 10
    assert "cleaning dropped 10 of 70 (14%): length_ratio" in report["warnings"]


def test_a_shared_tokenizer_writes_each_side_as_it_is_written(tmp_path: Path) -> None:
    """Only the K'iche' side has an apostrophe that is a letter; a query with another one gets its tokens."""
    kiche = [f"Man k'o ta ri ja' ri aji' ri ik' ri q'ij ri tata' Lu' {n}" for n in range(60)]
    english = [f"I can't see the boys' cats, {n}" for n in range(60)]
    sides = pa.table([kiche, english], schema=tables.PAIRS)
    tables.write_table(tmp_path / "raw" / "all.parquet", sides)
    report = clean_parallel(tmp_path / "raw", tmp_path / "clean", CleanPairsConfig(), seed=1)
    assert {side: convention["normalisation"] for side, convention in report["conventions"].items()} == {
        "source": ["invisible", "NFC", "apostrophe"],
        "target": ["invisible", "NFC"],
    }
    config = TokenizerConfig(vocab_size=400)
    (source, target), _ = train_pair_tokenizers(tmp_path / "clean", config, shared=True)
    assert source.vocab_size == target.vocab_size
    assert source.encode("ri aji’").tolist() == source.encode("ri ajiʼ").tolist() == target.encode("ri ajiʼ").tolist()
    assert source.decode(source.encode("ja'")) == "jaʼ" and target.decode(target.encode("can't")) == "can't"
    source.save(tmp_path / "source.json")
    assert Tokenizer.load(tmp_path / "source.json").normalisation.names == ("invisible", "NFC", "apostrophe")


@pytest.mark.parametrize("key", ["source_language", "target_language"])
def test_what_is_no_language_is_refused(key: str) -> None:
    assert CleanConfig(language="zh-Hant").language == "zh-Hant"
    with pytest.raises(ValidationError, match="language"):
        CleanConfig(language="turkish!")
    with pytest.raises(ValidationError, match=key):
        CleanPairsConfig.model_validate({key: "turkish!"})


def test_what_is_no_conventions_is_named(tmp_path: Path) -> None:
    assert conventions_of(tmp_path) == Conventions()
    write_conventions(tmp_path, {"source": Conventions()})
    with pytest.raises(InputError, match=r"conventions\.json: not the conventions of 'text'"):
        conventions_of(tmp_path)
    (tmp_path / "conventions.json").write_text('{"text": {"words": "spaces"}}')
    with pytest.raises(InputError, match="Conventions words"):
        conventions_of(tmp_path)
