"""Which words a vocabulary is made of: one of the readings of `words`, or a segmenter for a script without spaces.

Where one word ends and the next begins in Chinese, Japanese or Thai, only a dictionary or a model can tell. Three
well-kept libraries do, each where it is installed; without one a word is a grapheme, which is honest and
coarse. What is between spaces and in another script is read as `apart` has it.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, Literal

from langladder.errors import InputError
from langladder.text.words.words import WordMode, has_unspaced_script, reading_of, split_words

Segmenter = Literal["jieba", "fugashi", "pythainlp"]
WordChoice = WordMode | Segmenter
Split = Callable[[str], list[str]]

EXTRAS: dict[Segmenter, str] = {"jieba": "chinese", "fugashi": "japanese", "pythainlp": "thai"}
SAMPLE = 20_000  # lines looked at to see whether a text is tokenised already


def installed(choice: WordChoice) -> None:
    """Raises: InputError: the choice needs a library that is not installed."""
    if choice in EXTRAS and importlib.util.find_spec(choice) is None:
        raise InputError(
            f"the library {choice} is not installed: pip install 'langladder[{EXTRAS[choice]}]'; "
            "or take words: auto, a grapheme a word"
        )


def splitter(choice: WordChoice, lines: Iterable[str]) -> tuple[Split, str]:
    """How lines become words, and that in words for the reports.

    `auto` looks at the first lines (`words.reading_of`): where punctuation stands apart already, white space separates
    words; else punctuation is taken off. Scripts without spaces are cut into graphemes unless the text separates words.

    Args:
        lines: the training text.
    """
    mode, said = reading(choice, lines)
    return splitter_of(mode), said


def splitter_of(mode: WordChoice) -> Split:
    """How lines become words in one reading; `auto` is that of `words`, which takes no punctuation off."""
    return _segmenting(mode) if mode in EXTRAS else partial(split_words, mode=mode)  # type: ignore[arg-type]


def reading(choice: WordChoice, lines: Iterable[str]) -> tuple[WordChoice, str]:
    """Which reading a choice means for a text, and that in words for the reports (see `splitter`)."""
    if choice in EXTRAS:
        return choice, f"words as {choice} cuts them"
    sample = list(islice(lines, SAMPLE))
    mode: Any = reading_of(sample) if choice == "auto" else choice
    said = {
        "whitespace": "words as white space separates them",
        "auto": "words as white space separates them (punctuation stands apart already)",
        "apart": "words as white space separates them, punctuation at their ends taken off",
        "separated": "words as spaces and zero-width spaces separate them, punctuation at their ends taken off",
        "unicode": "words by Unicode's letters, marks and digits",
    }[mode]
    if mode not in ("whitespace", "separated") and any(has_unspaced_script(line) for line in sample[:1000]):
        said += (
            "; in scripts without spaces graphemes (Tibetan: syllables): this text does not separate words; "
            "choose a segmenter (docs/your-corpus.md)"
        )
    return mode, said


def _segmenting(choice: WordChoice) -> Split:
    installed(choice)
    cut = {"jieba": _jieba, "fugashi": _fugashi, "pythainlp": _pythainlp}[choice]()

    def split(line: str) -> list[str]:
        return list(_parts(line, cut))

    return split


def _parts(line: str, cut: Split) -> Iterator[str]:
    for part in line.split():
        if has_unspaced_script(part):
            yield from (word for word in cut(part) if word.strip())
        else:
            yield from split_words(part, "apart")


def _jieba() -> Split:
    """Chinese. Its dictionary is read afresh: the cache that it keeps in a folder of all users is not trusted."""
    import jieba  # type: ignore[import-not-found,import-untyped,unused-ignore]

    jieba.setLogLevel("WARNING")
    tokenizer = jieba.Tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.tmp_dir = folder
        tokenizer.initialize()
    return tokenizer.lcut  # type: ignore[no-any-return,unused-ignore]


def _fugashi() -> Split:
    """Japanese, by MeCab with the dictionary unidic-lite."""
    import fugashi  # type: ignore[import-not-found,import-untyped,unused-ignore]

    tagger = fugashi.Tagger()
    return lambda text: [word.surface for word in tagger(text)]


def _pythainlp() -> Split:
    """Thai, by the longest match of a dictionary (newmm)."""
    from pythainlp.tokenize import word_tokenize  # type: ignore[import-not-found,import-untyped,unused-ignore]

    return lambda text: word_tokenize(text, keep_whitespace=False)
