"""The words that BLEU counts: chosen by the script of the target, in parity with sacreBLEU."""

from pathlib import Path

import pytest
from sacrebleu.metrics.bleu import BLEU

from langladder.evaluation import bleu
from langladder.evaluation.bleu import (
    BleuChoice,
    BleuConfig,
    BleuTokenizer,
    bleu_config,
    check_tokenizer,
    choose_tokenizer,
    corpus_bleu,
    score_translations,
    tokenizer_installed,
)
from langladder.ground.errors import InputError
from langladder.text.words.segmentation import Conventions, Writing, write_conventions

CHINESE = ["猫在桌子上睡觉。", "老师今天买了三本书。", "我的朋友不喜欢喝牛奶。"]
THAI = ["แมวนอนบนโต๊ะ", "ครูซื้อหนังสือสามเล่มวันนี้"]
JAPANESE = ["猫は机の上で寝ている。", "先生は今日本を三冊買いました。"]
ENGLISH = ["The cat sleeps on the table.", "My teacher bought three books today, didn't she?"]


def one_character_wrong(lines: list[str]) -> list[str]:
    return [line[:2] + ("x" if line[2] != "x" else "y") + line[3:] for line in lines[:1]] + lines[1:]


@pytest.mark.parametrize("tokenize", ["zh", "char"])
def test_a_right_chinese_translation_scores_100_and_a_nearly_right_one_less(tokenize: BleuTokenizer) -> None:
    config = BleuConfig(tokenize=tokenize, spaced=False, bootstrap=0)
    references = [[line] for line in CHINESE]
    assert corpus_bleu(CHINESE, references, config) == pytest.approx(100)
    score = score_translations(one_character_wrong(CHINESE), references, config)
    assert 60 < score.bleu < 100
    words = sum(len(line) for line in CHINESE)  # a character is a word, full stops too
    assert score.ter == pytest.approx(100 / words)  # one character replaced
    assert score.precisions[0] == pytest.approx((words - 1) / words)
    assert f"tok:{tokenize}" in score.signature and score.ter_signature.endswith(f"pretok:{tokenize}")
    assert score.main == "chrf"


def test_what_was_chinese_bleu_before() -> None:
    """13a takes a sentence for a word: with a character wrong in each, nothing matches."""
    wrong = [line[:-2] + "x" + line[-1] for line in CHINESE]
    references = [[line] for line in CHINESE]
    assert corpus_bleu(wrong, references, BleuConfig(bootstrap=0)) == 0
    assert corpus_bleu(wrong, references, BleuConfig(tokenize="zh", bootstrap=0)) > 50


TOKENIZERS: list[BleuTokenizer] = ["13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab"]


@pytest.mark.parametrize("lines", [CHINESE, THAI, JAPANESE, ENGLISH], ids=["zh", "th", "ja", "en"])
@pytest.mark.parametrize("tokenize", TOKENIZERS)
def test_parity_with_sacrebleu(tokenize: BleuTokenizer, lines: list[str]) -> None:
    if not tokenizer_installed(tokenize):
        pytest.skip(f"{tokenize}: its package is not installed")
    metric = BLEU(tokenize=tokenize)
    expected = metric.corpus_score(one_character_wrong(lines), [lines])
    config = BleuConfig(tokenize=tokenize, bootstrap=0)
    score = score_translations(one_character_wrong(lines), [[line] for line in lines], config)
    assert score.bleu == pytest.approx(expected.score, abs=1e-12)
    assert score.signature == str(metric.get_signature())


def test_the_script_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: dict[Writing, str] = {"spaced": "13a", "chinese": "zh", "unspaced": "char"}
    assert {writing: choose_tokenizer("auto", writing) for writing in chosen} == chosen
    assert choose_tokenizer("intl", "chinese") == "intl"
    for there, expected in ((True, "ja-mecab"), (False, "char")):
        monkeypatch.setattr(bleu, "tokenizer_installed", lambda _, there=there: there)
        assert choose_tokenizer("auto", "japanese") == expected


def test_a_tokenizer_without_its_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bleu, "find_spec", lambda _: None)
    missing: list[tuple[BleuChoice, str]] = [("ja-mecab", "sacrebleu.ja."), ("flores200", "sentencepiece")]
    for tokenizer, command in missing:
        with pytest.raises(InputError, match=f"(?s){tokenizer}.*pip install .*{command}"):
            check_tokenizer(tokenizer)
    check_tokenizer("auto")
    check_tokenizer("zh")


@pytest.mark.parametrize(
    ("target", "tokenize", "spaced"), [("chinese", "zh", False), ("unspaced", "char", False), ("spaced", "13a", True)]
)
def test_the_tokens_say_how_their_target_is_written(
    tmp_path: Path, target: Writing, tokenize: str, spaced: bool
) -> None:
    write_conventions(tmp_path, {"source": Conventions(), "target": Conventions(writing=target)})
    result = bleu_config(tmp_path)
    assert (result.tokenize, result.spaced) == (tokenize, spaced)
    assert bleu_config(tmp_path, "intl").tokenize == "intl"
    (tmp_path / "conventions.json").write_text('{"target": {"writing": "upwards"}}')
    with pytest.raises(InputError, match=r"conventions\.json: not the conventions of 'target'"):
        bleu_config(tmp_path)
