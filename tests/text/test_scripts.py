"""How a text is written, by the majority of its letters."""

import pytest

from langladder.text.words.segmentation import Writing, writing

TEXTS: list[tuple[str, Writing]] = [
    ("The cat sleeps.", "spaced"),
    ("她喜欢看书。", "chinese"),
    ("苹果公司 (Apple) 在一九七六年成立于加利福尼亚。", "chinese"),
    ("Apple Computer, 苹果, was founded in California.", "spaced"),
    ("彼女は図書館で本を読んでいます。", "japanese"),
    ("コンピューター", "japanese"),
    ("ｺﾝﾋﾟｭｰﾀｰ ABCD", "japanese"),
    ("〆〆〆切", "chinese"),
    ("東京都庁舎建設計画案の発表", "chinese"),  # one kana of thirteen letters: a headline alone cannot tell
    ("그녀는 책을 읽는다.", "spaced"),
    ("เธอกำลังอ่านหนังสือ", "unspaced"),
    ("ລາວກຳລັງອ່ານປຶ້ມ", "unspaced"),
    ("នាងកំពុងអានសៀវភៅ", "unspaced"),
    ("သူမ စာဖတ်နေသည်။", "unspaced"),
    ("ང་ཚོ་དཔེ་ཆ་ལྟ་གི་ཡོད།", "unspaced"),
    ("היא קוראת ספר", "spaced"),
    ("هي تقرأ كتابا", "spaced"),
    ("वह किताब पढ़ती है", "spaced"),
    ("123 + 4 = 127 !", "spaced"),
    ("", "spaced"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_how_a_text_is_written(text: str, expected: Writing) -> None:
    assert writing([text]) == expected


def test_lines_are_judged_together() -> None:
    assert writing(["Hello there, my friend", "她喜欢看书。"]) == "spaced"
    assert writing(["Hi", "她喜欢看书。", "", "一九七六年"]) == "chinese"
