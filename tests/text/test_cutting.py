"""Byte-level BPE and combining marks: a word keeps its marks, other text is cut as by GPT-2, no other rule loads."""

import json
from pathlib import Path

import pytest
import tokenizers as hf
from hypothesis import given
from hypothesis import strategies as st

from langladder.ground.errors import InputError
from langladder.text.tokenize.tokenizer_training import few_tokens, train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig, word_tokens

ENGLISH = ["it's 3.5 o'clock , they 're  late : the café (naïve) is #1 !", "we'll see  2,000 cats\tand <unk> 👩‍💻 ❤️"]
MARKED = {
    "hindi": "हिन्दी भाषा में लिखी हुई किताबें",
    "thai": "ที่นี่มีน้ำและต้นไม้",
    "tamil": "தமிழ் மொழியில் எழுதிய நூல்கள்",
    "hebrew": "בְּרֵאשִׁית בָּרָא אֱלֹהִים",
    "arabic": "بِسْمِ ٱللَّهِ ٱلرَّحْمَـٰنِ",
    "sinhala": "ශ්‍රී ලංකාව",  # a joiner (ZWJ) inside a syllable
    "decomposed": "cafe\u0301 nai\u0308ve",
}
WORDS = TokenizerConfig(vocab_size=600)
AS_GPT2 = TokenizerConfig(vocab_size=600, cutting="gpt2")


def pieces(lines: list[str], config: TokenizerConfig) -> list[str]:
    backend = hf.Tokenizer.from_str(train_tokenizer(lines, config).to_json())
    return [piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(lines[0])]


@pytest.mark.parametrize("line", MARKED.values(), ids=MARKED)
def test_a_word_keeps_its_marks(line: str) -> None:
    tokenizer = train_tokenizer([line] * 3, WORDS)
    assert len(pieces([line], WORDS)) == len(line.split()) < len(pieces([line], AS_GPT2))
    assert [tokenizer.piece(int(token)).strip() for token in tokenizer.encode(line)] == line.split()
    assert tokenizer.decode(tokenizer.encode(line)) == line
    ids, spans = tokenizer.encode_with_spans(line)
    assert [line[start:stop] for start, stop in spans.tolist()] == line.split() and len(ids) == len(spans)
    assert set(line.split()[1:]) <= set(word_tokens(tokenizer).values())


PLAIN = st.text(
    st.sampled_from("theca sn'20.,\t !_-é北京😀\u3000") | st.characters(exclude_categories=["Cs", "M", "Cf"])
)


@given(PLAIN | st.sampled_from(ENGLISH))
def test_text_without_marks_is_cut_as_by_gpt2(line: str) -> None:
    """Emoji with their variation selectors and joiners, too."""
    assert CUT[0].pre_tokenize_str(line) == CUT[1].pre_tokenize_str(line)


CUT = [hf.Tokenizer.from_str(train_tokenizer(ENGLISH, item).to_json()).pre_tokenizer for item in (WORDS, AS_GPT2)]


def test_english_gives_the_same_tokens_either_way() -> None:
    lines = ENGLISH * 10
    item, other = (train_tokenizer(lines, config) for config in (WORDS, AS_GPT2))
    assert [item.name(token) for token in item.ordinary] == [other.name(token) for token in other.ordinary]
    assert [ids.tolist() for ids in item.encode_lines(lines)] == [ids.tolist() for ids in other.encode_lines(lines)]


@pytest.mark.parametrize("config", [WORDS, AS_GPT2], ids=["marks", "gpt2"])
def test_either_rule_comes_back_from_its_file(config: TokenizerConfig, tmp_path: Path) -> None:
    tokenizer = train_tokenizer([*MARKED.values()], config)
    tokenizer.save(tmp_path / "tokenizer.json")
    again, library = (
        Tokenizer.load(tmp_path / "tokenizer.json"),
        hf.Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
    )
    assert again.kind == "bpe_bytes" and again.same_as(tokenizer)
    for line in MARKED.values():
        assert again.encode(line).tolist() == library.encode(line).ids == tokenizer.encode(line).tolist()


def test_the_two_rules_are_different_tokenizers() -> None:
    item, other = (train_tokenizer(ENGLISH, config) for config in (WORDS, AS_GPT2))
    assert not item.same_as(other)


@pytest.mark.parametrize(
    "change",
    [
        {"pattern": {"Regex": r"(a+)+$"}},
        {"pattern": {"Regex": r"\p{L}+"}},
        {"pattern": {"String": " "}},
        {"behavior": "Removed"},
        {"invert": True},
    ],
    ids=str,
)
def test_another_rule_is_refused(change: dict[str, object], tmp_path: Path) -> None:
    settings = json.loads(train_tokenizer(ENGLISH, WORDS).to_json())
    settings["pre_tokenizer"]["pretokenizers"][0] |= change
    (tmp_path / "tokenizer.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"no tokenizer of kind bpe_bytes .*other: pre_tokenizer"):
        Tokenizer.load(tmp_path / "tokenizer.json")


def test_fewer_tokens_than_were_requested_are_reported() -> None:
    few = train_tokenizer(ENGLISH, TokenizerConfig(vocab_size=5000, min_frequency=2))
    message = few_tokens(few, TokenizerConfig(vocab_size=5000, min_frequency=2))
    assert message and "5,000" in message and f"{few.vocab_size:,}" in message and "lower min_frequency" in message
    assert "cutting: marks" in str(few_tokens(few, TokenizerConfig(vocab_size=5000, cutting="gpt2")))
    assert few_tokens(few, TokenizerConfig(vocab_size=few.vocab_size)) is None
    words = TokenizerConfig(kind="word", vocab_size=5000)
    assert few_tokens(train_tokenizer(ENGLISH, words), words) is None  # a cap
