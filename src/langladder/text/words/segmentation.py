"""How a text is read: its words, how it is written, in which language, and how it was normalised.

Readings of a line. `whitespace` splits at white space (for text whose tokens are already separated).
`auto` is `whitespace`, except that in scripts that write no spaces between words a word is a grapheme: a character of
Chinese or Japanese, a letter of Thai, Lao, Khmer or Burmese with its signs. In Tibetan it is a syllable; the tsheg
between syllables (་) is read as a space. `apart` is `auto` with the punctuation at a word's ends taken off: `(horse,`
is three words, `it's`, `twenty-one`, `U.S.` and `<unk>` are one. `separated` is for such scripts where the writer has
separated the words, by spaces or by zero-width spaces (U+200B), and takes punctuation off as `apart` does. `unicode`
finds words by Unicode properties: a run of letters, marks, digits and joiners (with inner apostrophes) is a word, every
other visible character with its signs, such as an emoji of several characters, is one by itself.

Marks between words. Some scripts write a mark where others write a space: Ethiopic ፡, the word dividers of Ugaritic,
Old Persian, Phoenician and other old scripts (DIVIDERS). Every reading takes such a mark for a space. Two of them (፡፡,
a full stop in Ethiopic) are a punctuation mark. In `whitespace`, a mark that stands between spaces is a word.

Hebrew. Geresh and gershayim, also typed as ' and ", belong to their word: `וכו׳`, `צה"ל`. At the beginning of a word
they are quotes, and so is one at its end that has a partner at the beginning.

"Grapheme" is Unicode's cluster (UAX 29) with, in addition, the vowels that Thai and Lao write as letters before or
after their consonant, and every combining mark.

Segmenters. Where one word ends and the next begins in Chinese, Japanese or Thai, only a dictionary or a model can tell.
Three libraries do, each if it is installed; without one, a grapheme counts as a word. Words in other scripts are split
as by `apart`.

Scripts. Whether a text is written with spaces depends on the Unicode scripts of its letters; in mixed text the majority
decides: a Chinese sentence with an English name is Chinese. Han characters with at least a tenth of kana among them are
Japanese, where every ending is kana. Han characters in lines with at least a tenth of Hangul, some of it directly
behind them, are Korean, which separates words with spaces: a text with most of its Han in such lines is `separated`.

Conventions. The stage `clean` decides all this once for each text (of pairs: for `source` and `target`) and writes it
beside the clean tables. All counts of words use it: limits, statistics, leakage, perplexity per word, the vocabulary of
word vectors. A language model keeps it beside its tokenizer, so that the words of other texts are counted in the same
way.
"""

import importlib.util
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal, Self, TypedDict, get_args

import regex  # type: ignore[import-untyped]
from pydantic import AfterValidator, Field, ValidationError, field_validator

from langladder.ground.artefacts import read_json, write_json
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.words.normalisation import Normalisation

WordMode = Literal["whitespace", "unicode", "auto", "apart", "separated"]

HAN = r"\p{Han}〆"
KANA = r"\p{Hiragana}\p{Katakana}〱-〵ーｰﾞﾟ"  # signs of length, repetition and voice are of no script in Unicode
UNSPACED = HAN + KANA
SPACELESS = (
    *("Thai", "Lao", "Khmer", "Myanmar", "Tibetan", "Balinese", "Javanese"),
    *("Tai_Le", "New_Tai_Lue", "Tai_Tham", "Tai_Viet"),
)
SPACELESS_CLASS = "".join(rf"\p{{{script}}}" for script in SPACELESS)
TSHEG = "་༌"
DIVIDERS = (
    "፡᛫᛬᛭⁚⁝"  # Ethiopic, Runic; Old Turkic, Lycian, Carian. Not ⸱, which French has inside words: étudiant⸱e
    "\U00010100\U00010101\U0001039f\U000103d0\U0001091f"  # Aegean, Ugaritic, Old Persian, Phoenician
    "\U0001123a\U00011a41\U00011a44\U00011a9a\U00011c43\U00012470"  # Khojki, Zanabazar, Soyombo, Bhaiksuki, Assyrian
)
"""Marks that separate words as spaces do. A tsheg does not where Tibetan text separates its words in another way."""
_DIVIDED = regex.compile(f"[{DIVIDERS}]+")
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}_\u180e\u200c\u200d]--[{UNSPACED}{SPACELESS_CLASS}]]"
_INVISIBLE = r"\p{Default_Ignorable_Code_Point}"  # joiners, variation selectors and others: no word by themselves
GERSHAYIM = r"(?<=\p{Hebrew})['’׳״\"](?=\p{Hebrew})"
"""A mark inside a Hebrew word."""
GERESH = r"(?<=\p{Hebrew})(?<!\p{P})(?<!(?<!\p{Hebrew})['‘’׳][\p{Hebrew}'’\"]+)['’׳]"
"""The mark of an abbreviation at the end of a Hebrew word, unless a quote is at the beginning of the word."""
SYLLABLE = r"[\p{Tibetan}&&[\p{L}\p{M}\p{N}]]+"
GRAPHEME = rf"(?=[{UNSPACED}{SPACELESS_CLASS}])(?:\p{{Logical_Order_Exception}}(?=\p{{L}}))?\X\p{{M}}*[ะาๅະາ]?"
_WORD = regex.compile(
    rf"(?V1)(?!{_INVISIBLE}){_LETTER}+(?:(?:['’]|{GERSHAYIM}){_LETTER}+)*(?:{GERESH})?"
    rf"|{SYLLABLE}|(?![{TSHEG}]){GRAPHEME}|(?![\s{TSHEG}]|{_INVISIBLE})\X"
)
_UNSPACED = regex.compile(f"[{UNSPACED}{SPACELESS_CLASS}]")
_ABBREVIATED = regex.compile(GERESH)
# Kept whole: `<unk>`, tokens without a letter or digit (`--`, `@-@`), English clitics on their own.
_WHOLE = regex.compile(r"<\w+>|[^\p{L}\p{N}]+|['’](?:s|t|m|d|ll|re|ve|em|tis|twas|cause)", regex.IGNORECASE)
_ENDS = regex.compile(r"((?:(?![@#&%‰])\p{P})*)(.*?)(\p{P}*)", regex.DOTALL)
_DOTTED = regex.compile(r"(?:\w+\.)+\w+|\p{Lu}")  # U.S. and J. keep the dot that follows
_MARK = regex.compile(rf"(?V1)[\p{{Terminal_Punctuation}}--[{DIVIDERS}]]")  # . , ; : ! ? and those of other scripts
_GAP = regex.compile(r"[\s\u200b]+")
LETTERS = 5.0
# Letters of one kind of script with gaps between some of them, and the letters a word has, at most, on average: in
# Burmese fewer, because its phrases, between which it writes spaces, have five.
_STRETCHES = [
    (regex.compile(rf"(?V1)[{script}](?:[\s\u200b]*[{script}])*"), letters)
    for script, letters in (
        (rf"[{UNSPACED}]--\p{{P}}", 2.5),
        (r"\p{Myanmar}--\p{P}", 3.5),
        (rf"[[{SPACELESS_CLASS}]--[\p{{Myanmar}}\p{{P}}]]་", LETTERS),
    )
]


def has_unspaced_script(text: str) -> bool:
    """True where the text has a character of a script that writes no spaces between words."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def split_words(line: str, mode: WordMode = "whitespace") -> list[str]:
    """The words of one line; case is kept.

    >>> split_words("The cat sat on the mat.", "unicode")
    ['The', 'cat', 'sat', 'on', 'the', 'mat', '.']
    """
    if not line.isascii() and _DIVIDED.search(line):
        if mode == "whitespace":
            return [word for token in line.split() for word in divided(token).split() or [token]]
        line = divided(line)
    if mode == "whitespace" or (mode == "auto" and not has_unspaced_script(line)):
        return line.split()
    if mode == "unicode":
        words: list[str] = _WORD.findall(line)
        return words
    unspaced = mode != "separated" and has_unspaced_script(line)
    results: list[str] = []
    for word in (line.replace("\u200b", " ") if mode == "separated" else line).split():
        if unspaced and _UNSPACED.search(word):
            results += _WORD.findall(word)
        elif mode == "auto" or word.isalnum():
            results.append(word)
        else:
            results += _split_punctuation(word)
    return results


def divided(line: str) -> str:
    """A line with spaces for the marks that separate words; several marks together are a word."""
    result: str = _DIVIDED.sub(lambda marks: " " if len(marks[0]) == 1 else f" {marks[0]} ", line)
    return result


def _split_punctuation(word: str) -> list[str]:
    """A word and the punctuation at its ends, each mark by itself, without a tsheg."""
    if _WHOLE.fullmatch(word):
        return [word]
    before, inner, after = _ENDS.fullmatch(word).groups()
    if _ABBREVIATED.match(word, len(before) + len(inner)):
        inner, after = inner + after[0], after[1:]
    if after.startswith(".") and _DOTTED.fullmatch(inner):
        inner, after = f"{inner}.", after[1:]
    return [part for part in (*before, inner, *after) if part not in TSHEG]


def is_tokenised(lines: Iterable[str]) -> bool:
    """True where punctuation is mostly a token of its own already, or there is none: text that has been tokenised."""
    alone = attached = 0
    for line in lines:
        for word in line.split():
            if _MARK.match(word[-1]):
                if len(word) == 1:
                    alone += 1
                elif unicodedata.category(word[-2])[0] in "LMN":  # a combining mark is part of a letter
                    attached += 1
    return alone >= attached


def separates_words(lines: Iterable[str]) -> bool:
    """True where spaces, or zero-width spaces, separate the words of a script that is written without.

    Of the stretches of such letters (between punctuation marks and words of other scripts) most must have a gap, and
    what is between gaps must be about as long as a word. So text with spaces around English names, between sentences,
    or around phrases (Japanese for children: ぼくは がっこうへ いきます。) does not separate words.

    >>> separates_words(["我 爱 北京 天安门 。"]), separates_words(["我爱 Apple 公司。 他也爱。"])
    (True, False)
    """
    stretches, gaps, letters, limit = 0, 0, 0, 0.0
    for line in lines:
        if not has_unspaced_script(line):
            continue
        for stretch, longest in _STRETCHES:
            for mark in stretch.findall(line):
                words = _GAP.split(mark)
                longest = LETTERS if "\u200b" in mark else longest
                stretches, gaps, limit = stretches + 1, gaps + len(words) - 1, limit + longest * len(words)
                letters += sum(unicodedata.category(letter)[0] == "L" for word in words for letter in word)
    return 0 < stretches <= gaps and letters <= limit


def writes_hanja(lines: Iterable[str]) -> bool:
    """True where most Han characters are in Korean lines: Korean separates words with spaces.

    >>> writes_hanja(["大韓民國은 民主共和國이다"]), writes_hanja(["韩国（한국）在东亚，首都是首尔。", "她喜欢看书。"])
    (True, False)
    """
    korean = han = 0
    for line in lines:
        count = 0 if line.isascii() else len(_HAN.findall(line))
        han += count
        korean += count if _is_korean(line, count) else 0
    return 2 * korean > han


def _is_korean(line: str, han: int) -> bool:
    """Whether a line with so many Han characters writes Hangul behind some of them, enough of it, and no kana."""
    hangul = len(_HANGUL.findall(line)) if _HANJA.search(line) else 0
    return hangul > 0 and hangul >= OWN_SHARE * (han + hangul) and not _KANA.search(line)


def reading_of(lines: Sequence[str]) -> WordMode:
    """What `auto` means for a text, by some of its lines."""
    tokenised = is_tokenised(lines)
    if separates_words(lines) or writes_hanja(lines):
        return "whitespace" if tokenised and not any("\u200b" in line for line in lines) else "separated"
    return "auto" if tokenised else "apart"


# ---- segmenters


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

    Of `auto` see `words.reading_of`: where punctuation is already separate, white space separates words; otherwise
    punctuation is split off. Scripts without spaces are cut into graphemes unless the text separates words.

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
    """Chinese. Its dictionary is read again: its cache, in a folder of all users, is not trusted."""
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


# ---- scripts


Writing = Literal["spaced", "chinese", "japanese", "unspaced"]
"""unspaced: the other scripts without spaces between words, such as Thai."""

OWN_SHARE = 0.1  # minimum share of kana among Han and kana in Japanese, of Hangul among Han and Hangul in Korean
_HAN = regex.compile(f"[{HAN}]")
_KANA = regex.compile(f"[{KANA}]")
_HANGUL = regex.compile(r"\p{Hangul}")
_HANJA = regex.compile(rf"[{HAN}][)）」』]?\p{{Hangul}}")  # 民國은, (民國)은; Chinese writes 首尔（서울）
_SPACELESS = regex.compile(f"[{SPACELESS_CLASS}]")


def writing(lines: Iterable[str]) -> Writing:
    """How a text is written; a text without letters is taken as spaced.

    >>> writing(["她喜欢看书。"]), writing(["彼女は本を読む。"]), writing(["เธออ่านหนังสือ"]), writing(["She reads."])
    ('chinese', 'japanese', 'unspaced', 'spaced')
    """
    characters: Counter[str] = Counter()
    korean = 0
    for line in lines:
        characters.update(line)
        if not line.isascii() and _is_korean(line, han := len(_HAN.findall(line))):
            korean += han
    kinds = Counter(spaced=korean, han=-korean)
    for character, count in characters.items():
        if unicodedata.category(character)[0] in "LM":  # a vowel sign of Thai or Burmese is a mark
            kinds[_kind(character)] += count
    east_asian = kinds["han"] + kinds["kana"]
    if east_asian > max(kinds["spaced"], kinds["unspaced"]):
        return "japanese" if kinds["kana"] >= OWN_SHARE * east_asian else "chinese"
    return "unspaced" if kinds["unspaced"] > kinds["spaced"] else "spaced"


def _kind(character: str) -> str:
    if character.isascii():
        return "spaced"
    for kind, pattern in (("han", _HAN), ("kana", _KANA), ("unspaced", _SPACELESS)):
        if pattern.match(character):
            return kind
    return "spaced"


# ---- conventions


CONVENTIONS = "conventions.json"
"""The file of conventions beside clean tables, tokens and models."""
WordUnit = WordChoice | Literal["graphemes"]
"""What a word is: by a mode or a segmenter; graphemes (characters with their signs) where a text separates no words."""
TEXT = "text"
"""The name of the only text of a folder that has no pairs."""
DESCRIPTIONS: dict[str, str] = {
    "whitespace": "words as white space separates them",
    "auto": "words as white space separates them (punctuation stands apart already)",
    "apart": "words as white space separates them; a punctuation mark at the ends of one counts as a word",
    "separated": "words as spaces and zero-width spaces separate them; punctuation marks at their ends count as words",
    "unicode": "words by Unicode's letters, marks and digits",
    "graphemes": "graphemes (Tibetan: syllables), because this text does not separate words",
}


def text_unit(unit: WordUnit) -> Literal["word", "grapheme"]:
    """What figures per word are per."""
    return "grapheme" if unit == "graphemes" else "word"


def description_of(unit: WordUnit) -> str:
    """What a word is, for people."""
    return DESCRIPTIONS.get(unit, f"words as {unit} cuts them")


class Conventions(Config):
    """How one text is read.

    Attributes:
        words: what a word is; `auto` with no look at the text any more.
        writing: with or without spaces between words.
        language: BCP 47 tag such as `tr` or `zh-Hant`; None: not stated.
        steps: of `text.words.normalisation`, by name: a model's input gets them, too.
    """

    words: WordChoice = "auto"
    writing: Writing = "spaced"
    language: str | None = None
    steps: list[str] = Field(default_factory=list)

    @field_validator("steps")
    @classmethod
    def _are_known(cls, steps: list[str]) -> list[str]:
        return list(Normalisation.checked(steps, "steps").names)

    @classmethod
    def of(
        cls,
        choice: WordChoice,
        lines: Iterable[str],
        language: str | None = None,
        normalisation: Normalisation | None = None,
    ) -> Self:
        """The conventions of a text.

        Args:
            choice: what the settings call a word; `auto` depends on the text.
            lines: after cleaning; the first 20,000 are read.
            normalisation: how they were written.
        """
        sample = list(islice(lines, SAMPLE))
        steps = [] if normalisation is None else list(normalisation.names)
        return cls(words=reading(choice, sample), writing=writing(sample), language=language, steps=steps)

    @property
    def normalisation(self) -> Normalisation:
        """The steps by which the text was written."""
        return Normalisation(tuple(self.steps))

    @property
    def split(self) -> Split:
        """A line → its words."""
        return splitter_of(self.words)

    @property
    def unit(self) -> WordUnit:
        """What `split` gives: without a segmenter, a script without spaces is cut into graphemes."""
        return "graphemes" if self.writing != "spaced" and self.words in ("auto", "apart", "unicode") else self.words

    @property
    def description(self) -> str:
        """What a word is, for reports."""
        return description_of(self.unit)


class ConventionsReport(TypedDict):
    """Of a text what a word is, its language, and its normalisation."""

    words: str
    language: str | None
    normalisation: list[str]


def conventions_report(texts: Mapping[str, Conventions]) -> dict[str, ConventionsReport]:
    """For the data report: of each text what a word is, its language, and its normalisation."""
    return {
        name: {"words": text.description, "language": text.language, "normalisation": text.steps}
        for name, text in texts.items()
    }


def write_conventions(folder: Path, texts: Mapping[str, Conventions]) -> None:
    """Write conventions.json: name of the text (`text`; of pairs `source`, `target`) → its conventions."""
    write_json(folder / CONVENTIONS, {name: conventions.model_dump(mode="json") for name, conventions in texts.items()})


def conventions_of(folder: Path, name: str = TEXT) -> Conventions:
    """The conventions of one text of a folder of clean text, of tokens, or of a model.

    A folder without conventions.json (an imported model) has the default ones.

    Raises:
        InputError: the file holds something else.
    """
    path = Path(folder) / CONVENTIONS
    if not path.is_file():
        return Conventions()
    try:
        return Conventions.model_validate(read_json(path)[name])
    except (KeyError, TypeError, ValidationError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: not the conventions of {name!r} ({reason})") from error


def languages_of(clean: Path) -> dict[str, str | None]:
    """Side of the data (of pairs `source` and `target`) → its language, by the folders of the stage `clean`."""
    sides = {side: conventions_of(clean / "parallel", side) for side in ("source", "target")}
    sides |= {side: conventions_of(clean / side) for side in ("text", "labels", "tags")}
    return {side: conventions.language for side, conventions in sides.items()}
