"""Words and their vocabulary."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from langladder.ground.errors import InputError
from langladder.text.storage import shards, tables
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.segmentation import (
    DIVIDERS,
    TSHEG,
    Conventions,
    Segmenter,
    Split,
    WordMode,
    is_tokenised,
    reading_of,
    split_words,
    splitter_of,
)
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, encode_words

LINES = ["b a a c", "a b d c", "e"]


def test_golden_words_and_punctuation() -> None:
    assert split_words("The cat sat on the mat.", "unicode") == ["The", "cat", "sat", "on", "the", "mat", "."]
    assert split_words("Cats average 15 hours of sleep a day.", "unicode")[-2:] == ["day", "."]
    assert split_words("don't stop", "unicode") == ["don't", "stop"]


def test_golden_chinese_characters_are_words() -> None:
    assert split_words("我爱GPT-2。", "unicode") == ["我", "爱", "GPT", "-", "2", "。"]
    assert split_words("我爱北京", "auto") == ["我", "爱", "北", "京"]
    assert split_words("it's an @-@ sign", "auto") == ["it's", "an", "@-@", "sign"]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_unicode_words_lose_no_visible_character(text: str) -> None:
    lost = regex.compile(rf"(?V1)[\s{TSHEG}{DIVIDERS}\p{{Default_Ignorable_Code_Point}}]")
    assert lost.sub("", "".join(split_words(text, "unicode"))) == lost.sub("", text)


def test_golden_punctuation_stands_apart() -> None:
    assert split_words('"Look, (horse, saddle)!" she said.', "apart") == [
        *('"', "Look", ",", "(", "horse", ",", "saddle", ")", "!", '"', "she", "said", ".")
    ]
    kept = "it's twenty-one U.S. e.g. J. 3.14 <unk> @-@ -- 's #tag @user"
    assert split_words(kept, "apart") == kept.split()
    assert split_words("the dogs' 5% مرحبا، नमस्ते।", "apart") == [
        "the",
        "dogs",
        "'",
        "5",
        "%",
        "مرحبا",
        "،",
        "नमस्ते",
        "।",
    ]
    assert split_words("我爱GPT-2。", "apart") == ["我", "爱", "GPT", "-", "2", "。"]


def test_thai_characters_keep_their_signs() -> None:
    assert split_words("ที่นี่ ok", "auto") == ["ที่", "นี่", "ok"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ーABC 2ー3", "ー ABC 2 ー 3"),
        ("スーパー ﾊﾟｰA", "ス ー パ ー ﾊﾟ ｰ A"),
        ("人々ABC 〆切 ゝA ヽ2", "人 々 ABC 〆 切 ゝ A ヽ 2"),
        ("か\u3099A 葛\U000e0100飾", "か\u3099 A 葛\U000e0100 飾"),
        ("เธอกำลังอ่าน", "เธ อ กำ ลั ง อ่า น"),
        ("ກຳລັງອ່ານ", "ກຳ ລັ ງ ອ່າ ນ"),
        ("ខ្ញុំស្រឡាញ់ខ្មែរ។", "ខ្ញុំ ស្រ ឡា ញ់ ខ្មែ រ ។"),
        ("ខ្ញុំ\u200bស្រឡាញ់", "ខ្ញុំ ស្រ ឡា ញ់"),
        ("မြန်မာစာ၊ ကောင်း။", "မြ န် မာ စာ ၊ ကော င်း ။"),
        ("བོད་ཡིག་ནི་ཡིན། ང་༢༥", "བོད ཡིག ནི ཡིན ། ང ༢༥"),
    ],
)
def test_golden_graphemes_and_syllables(line: str, words: str) -> None:
    for mode in ("auto", "apart", "unicode"):
        assert split_words(line, mode) == words.split(" ")


@pytest.mark.parametrize("mark", DIVIDERS)
@pytest.mark.parametrize("mode", ["whitespace", "unicode", "auto", "apart", "separated"])
def test_marks_between_words_are_read_as_spaces(mark: str, mode: WordMode) -> None:
    words = ["ሰላም", "ለዓለም", "ሁሉ"]
    assert split_words(mark.join(words), mode) == split_words(f"{mark.join(words)}{mark} ", mode) == words
    assert splitter_of(mode)(mark.join([*words, "我"])) == [*words, "我"]


def test_golden_ethiopic_words() -> None:
    spaced, written = "መጽሐፉን አስያዛት ። ልጁን ሥራውን አስጨርሰዋለሁ ።", "መጽሐፉን፡አስያዛት። ልጁን፡ሥራውን ፡ አስጨርሰዋለሁ፡።"
    for mode in ("apart", "separated", "unicode"):
        assert split_words(written, mode) == split_words(spaced, mode) == spaced.split()
    assert split_words("ሰላም፡ለዓለም፡፡ ሁሉ", "apart") == ["ሰላም", "ለዓለም", "፡፡", "ሁሉ"]  # a full stop
    assert split_words("ሰላም ፡ ለዓለም", "whitespace") == ["ሰላም", "፡", "ለዓለም"]  # tokens of a treebank
    assert reading_of([written, "ሰላም።"]) == "apart"
    assert Vocabulary.build([written]).index.keys() == {*split_words(written)}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("וכו׳, רח' (צה״ל) צה\"ל.", "וכו׳ , רח' ( צה״ל ) צה\"ל ."),
        ("ג׳ירפה וג'ורג' בְּצָה״ל", "ג׳ירפה וג'ורג' בְּצָה״ל"),
        ("'שלום' \"שלום\" ״שלום״ the dogs'", "' שלום ' \" שלום \" ״ שלום ״ the dogs '"),
    ],
)
def test_geresh_and_gershayim_belong_to_their_word(line: str, words: str) -> None:
    for mode in ("apart", "unicode"):
        assert split_words(line, mode) == words.split(" ")


def test_joiners_and_signs_of_emoji_are_no_words() -> None:
    kept = "می\u200cخواهم ක්\u200dෂය क्\u200dषत्रिय ᠮᠣᠩᠭᠣᠯ\u180eᠠ"
    assert split_words(kept, "unicode") == kept.split()
    emoji = ["❤\ufe0f", "👩\u200d💻", "👍🏽", "🇫🇷", "1\ufe0f\u20e3"]
    for mode in ("auto", "apart", "unicode"):
        assert split_words("我" + "我".join(emoji), mode) == [item for pair in emoji for item in ("我", pair)]
        assert split_words("我\u2060我\ufe0f。\u2060\ufe0f我", mode) == ["我", "我\ufe0f", "。", "我"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("यह है। वह है॥", "यह है । वह है ॥"),
        ("لماذا؟ نعم، لا؛ ہے۔", "لماذا ؟ نعم ، لا ؛ ہے ۔"),
        ("ሰላም። እና፣", "ሰላም ። እና ፣"),
        ("բարեւ։", "բարեւ ։"),
        ("cafe\u0301.", "cafe\u0301 ."),
    ],
)
def test_marks_of_many_scripts_stand_apart(line: str, words: str) -> None:
    assert not is_tokenised([line]) and is_tokenised([words])
    assert split_words(line, reading_of([line])) == split_words(words, reading_of([words])) == words.split(" ")


SEPARATED: list[tuple[list[str], WordMode]] = [
    (["我 爱 北京 天安门 。", "他 走 了 ， 她 来 了 。"], "whitespace"),
    (["彼女 は 図書館 で 本 を 読ん で い ます 。", "コンピューター を 買っ た 。"], "whitespace"),
    (["ฉัน รัก แมว มาก", "เขา ไป โรงเรียน"], "whitespace"),
    (["我 爱 北京。", "他 走 了，她 来 了。"], "separated"),
    (["ខ្ញុំ\u200bស្រឡាញ់\u200bភាសា\u200bខ្មែរ។", "គាត់\u200bទៅ\u200bសាលា។"], "separated"),
    (["我爱北京天安门。"], "apart"),
    (["我在 Apple 工作", "他用 iPhone 打电话", "GPT 很 好"], "auto"),
    (["我爱北京。 他走了。 她来了。"], "apart"),
    (["我爱你 你爱我", "天上的星星 不说话"], "auto"),
    (["ぼくは がっこうへ いきます。", "きょうは いい てんきです。"], "apart"),
    (["เธอกำลังอ่านหนังสือ แล้วก็ไปโรงเรียน"], "auto"),
    (["မြန်မာဘာသာစကား ကောင်းသည်။"], "apart"),
    (["བོད་ཡིག་ནི་སྐད་ཡིག་ཡིན། ང་ཚོ།"], "apart"),
    (["वह किताब पढ़ती है।"], "apart"),
    (["大韓民國은 民主共和國이다."], "separated"),
    (["大韓民國 憲法", "大韓民國은 民主共和國이다 .", "모든 權力은 國民으로부터 나온다 ."], "whitespace"),
    (["한국(韓國)은 아시아에 있다."], "separated"),
    (["한국은 아시아에 있다."], "apart"),
    (["首尔（서울）是韩国首都。", "她喜欢看书。"], "apart"),
    (["ソウル(서울)は 韓國의首都です。"], "apart"),
]
BURMESE = [  # spaces between phrases
    "နိုင်ငံ အချင်းချင်း ချစ်ခင်ရင်းနှီးစွာ ဆက်ဆံရေးကို ပိုမိုတိုးတက်စေရန် ကြံဆောင်ရမည်ဖြစ်သောကြောင့် လည်းကောင်း၊",
    "လူ့အခွင့်အရေးများကို လည်းကောင်း၊ လူ၏ ဂုဏ်သိက္ခာကို လည်းကောင်း၊ ယောက်ျား မိန်းမတို့၏ တူညီသည့် အခွင့်အရေးများကို",
    "ထပ်မံ၍ အတည်ပြု ပြီးသည့်ပြင်၊ လူမှုကြီးပွား တိုးတက်ရေးနှင့်တကွ ပိုမို လွတ်လပ် ကောင်းမွန်သော လူ့ဘဝ အဆင့်အတန်း",
    "မြန်မာဘာသာစကား ကောင်းသည်။",
]


@pytest.mark.parametrize(("lines", "expected"), SEPARATED)
def test_what_auto_means_for_a_text(lines: list[str], expected: WordMode) -> None:
    assert reading_of(lines) == expected


def test_spaces_between_burmese_phrases_separate_no_words() -> None:
    for lines in ([BURMESE[0]], [BURMESE[1]], [BURMESE[2]], BURMESE):
        assert reading_of(lines) == "apart"
    assert reading_of(["သူ သည် စာ ကို ဖတ် နေ သည် ။", "ကျွန်တော် တို့ သွား မည် ။"]) == "whitespace"
    line = "နိုင်ငံ အချင်းချင်း ဆက်ဆံရေး တိုးတက်စေရန်"
    assert reading_of([line]) == "auto" and reading_of([line.replace(" ", "\u200b")]) == "separated"


def conventions(lines: list[str]) -> tuple[Split, str]:
    result = Conventions.of("auto", lines)
    return result.split, result.description


def test_text_whose_words_are_separated_is_left_alone() -> None:
    chinese, khmer, raw = SEPARATED[0][0], SEPARATED[4][0], SEPARATED[5][0]
    split, description = conventions(chinese)
    assert split(chinese[0]) == chinese[0].split(" ") and description == "words as white space separates them"
    split, description = conventions(khmer)
    assert (
        split(khmer[1] + " (ok)") == ["គាត់", "ទៅ", "សាលា", "។", "(", "ok", ")"] and "zero-width spaces" in description
    )
    split, description = conventions(raw)
    assert split(raw[0]) == list(raw[0]) and "does not separate words" in description


def test_prose_and_tokenised_text_are_distinguished() -> None:
    prose, tokenised = ["The horse, the saddle.", "Yes!"], ["The horse , the saddle .", "Yes !", "at 3.14 o'clock"]
    assert not is_tokenised(prose) and is_tokenised(tokenised) and is_tokenised(["no marks at all"])
    auto = VocabularyConfig(words="auto")
    assert {"horse", "saddle", ","} <= set(Vocabulary.build(prose, auto).words)
    assert "horse," in Vocabulary.build(prose, VocabularyConfig(words="whitespace")).words
    assert Vocabulary.build(tokenised, auto).words == Vocabulary.build(tokenised).words


def test_a_segmenter_that_is_not_installed_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(ValidationError, match=r"jieba is not installed: pip install 'langladder\[chinese\]'"):
        VocabularyConfig(words="jieba")


@pytest.mark.parametrize(
    ("name", "line", "words"),
    [
        ("jieba", "我爱北京天安门。 GPT, ok", ["我", "爱", "北京", "天安门", "。", "GPT", ",", "ok"]),
        ("fugashi", "東京に住む。", ["東京", "に", "住む", "。"]),
        ("pythainlp", "ฉันรักแมว ok", ["ฉัน", "รัก", "แมว", "ok"]),
    ],
)
def test_parity_of_segmenters_where_they_are_installed(name: Segmenter, line: str, words: list[str]) -> None:
    pytest.importorskip(name)
    split, description = splitter_of(name), Conventions(words=name).description
    assert split(line) == words and name in description


def test_golden_order_is_frequency_then_alphabet() -> None:
    vocabulary = Vocabulary.build(LINES)
    assert vocabulary.words == ["a", "b", "c", "d", "e"]
    assert vocabulary.counts.tolist() == [3, 2, 2, 1, 1] and vocabulary.counts.dtype == np.int64
    assert vocabulary.index["c"] == 2


def test_minimum_count_and_cap() -> None:
    assert Vocabulary.build(LINES, VocabularyConfig(min_count=2)).words == ["a", "b", "c"]
    assert Vocabulary.build(LINES, VocabularyConfig(max_size=2)).words == ["a", "b"]
    with pytest.raises(InputError, match="min_count: 9"):
        Vocabulary.build(LINES, VocabularyConfig(min_count=9))


def test_roundtrip_through_a_file(tmp_path: Path) -> None:
    vocabulary = Vocabulary.build(LINES)
    vocabulary.save(tmp_path / "v.json")
    loaded = Vocabulary.load(tmp_path / "v.json")
    assert loaded.words == vocabulary.words and np.array_equal(loaded.counts, vocabulary.counts)
    (tmp_path / "v.json").write_text('{"words": ["a"], "counts": [1, 2]}')
    with pytest.raises(InputError, match="1 words but 2 counts"):
        Vocabulary.load(tmp_path / "v.json")


def test_word_stream_drops_what_the_vocabulary_lacks(tmp_path: Path) -> None:
    rows = {"document": [0, 0, 1], "text": LINES, "log_prob": [None] * 3}
    tables.write_table(tmp_path / "clean" / "train", pa.table(rows, schema=shards.TEXT))
    report = dict(encode_words(tmp_path / "clean", VocabularyConfig(min_count=2), tmp_path / "words"))
    stream = TokenStream.open(tmp_path / "words" / "train.arrow")
    assert [row.tolist() for row in stream] == [[1, 0, 0, 2], [0, 1, 2], []]
    assert str(report.pop("read_as")).startswith("words as white space separates them")
    assert report == {"types": 3, "documents": 2, "words": 9, "kept_words": 7, "coverage": 0.777778}
