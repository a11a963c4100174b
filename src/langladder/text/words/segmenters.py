"""How a line is cut into words: a mode of `words`, or a segmenter for a script without spaces.

Where one word ends and the next begins in Chinese, Japanese or Thai, only a dictionary or a model can tell. Three
libraries do, each where it is installed; without one, a grapheme (a character with its signs) counts as a word.
What is between spaces and in another script is read as `apart` has it.
"""

import importlib.util
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator

from langladder.ground.errors import InputError
from langladder.text.words.words import WordMode, has_unspaced_script, reading_of, split_words

Segmenter = Literal["jieba", "fugashi", "pythainlp"]
WordChoice = WordMode | Segmenter
CHOICES: tuple[WordChoice, ...] = (*get_args(WordMode), *get_args(Segmenter))
Split = Callable[[str], list[str]]

EXTRAS: dict[Segmenter, str] = {"jieba": "chinese", "fugashi": "japanese", "pythainlp": "thai"}
SAMPLE = 20_000  # lines looked at to see whether a text is tokenised already


def installed(choice: WordChoice) -> WordChoice:
    """The choice. Raises: InputError: it needs a library that is not installed."""
    if choice in EXTRAS and importlib.util.find_spec(choice) is None:
        raise InputError(
            f"the library {choice} is not installed: pip install 'langladder[{EXTRAS[choice]}]'; "
            "or set words: auto, which takes a grapheme for a word"
        )
    return choice


InstalledWords = Annotated[WordChoice, AfterValidator(installed)]
"""The type of a setting."""


def reading(choice: WordChoice, lines: Iterable[str]) -> WordChoice:
    """The mode or segmenter that a choice means for a text.

    Of `auto` see `words.reading_of`: where punctuation stands apart already, white space separates words; otherwise
    punctuation is taken off. Scripts without spaces are cut into graphemes unless the text separates words.

    Args:
        lines: the training text, of which the first 20,000 are looked at.
    """
    return reading_of(list(islice(lines, SAMPLE))) if choice == "auto" else choice


@lru_cache(maxsize=4)
def splitter_of(mode: WordChoice) -> Split:
    """How lines are cut into words in a mode, or by a segmenter, which takes seconds to load and is kept."""
    return _segmenting(mode) if mode in EXTRAS else partial(split_words, mode=mode)  # type: ignore[arg-type]


def _segmenting(choice: WordChoice) -> Split:
    installed(choice)
    cut = {"jieba": _jieba, "fugashi": _fugashi, "pythainlp": _pythainlp}[choice]()

    def split(line: str) -> list[str]:
        return list(_parts(line, cut))

    return split


def _parts(line: str, cut: Split) -> Iterator[str]:
    for part in line.replace("\u200b", " ").split():
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
