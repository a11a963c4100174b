r"""Normalisation: the steps of cleaning that change how words are written, in training texts and in a model's input.

A model knows the words of its training text after cleaning. So the names of those steps are saved with it: in
tokenizer.json, as the `normalizer` of the `tokenizers` library, or beside the words of a model without a tokenizer.

Each step is a list of rules, from which both are made: the Python function that cleans, and the library's normalizer.
Patterns are written in the syntax that `regex` and Oniguruma share, and hold no class of Unicode that a later version
of Python would make larger, except the letters beside an apostrophe.

    invisible       removes zero-width spaces, soft hyphens, word joiners, marks of direction. Joiners
                    (U+200C, U+200D) and variation selectors stay: scripts and emoji need them. So do zero-width spaces
                    between letters of scripts without spaces (Khmer, Burmese, Thai): they separate words
    NFC             Unicode's form (UAX 15) that joins letters with their marks
    NFKC            Unicode's form without compatibility characters, but a letter of a writing stays: modifier letters
                    (tʰa, xʷ, ⁿd), which it would make ordinary ones, and accents that stand alone (k´o, ἀλλ᾽), which
                    it would make a space and a mark. Thai ำ and Lao ຳ stay whole
    apostrophe      ' ’ ‘ ʻ ` ´ ᾽ ᾿ beside a letter → ʼ (U+02BC), a letter; not where two of them stand together
    lowercase       Unicode's lower case (SpecialCasing.txt) with the final sigma of Greek. `İ` becomes `i`: without a
                    language Unicode makes `i` and U+0307 of it, which is no letter of any text
    lowercase_tr    of Turkish and Azeri: İ → i, I → ı
    lowercase_lt    of Lithuanian: i and j keep their dot under an accent
    tatweel         Arabic: the letter that only lengthens a word is removed
    harakat         Arabic: vowel signs and marks of recitation are removed; hamza and madda stay
    alef            Arabic: أ إ آ ٱ → ا
    yeh             Arabic: ى → ي, as Lucene's ArabicNormalizer has it
    persian         Persian and its neighbours: ي → ی, ك → ک, which Arabic keyboards and code pages give
    han_simplified  Chinese: 漢語 → 汉语, by OpenCC and its phrases
    han_traditional 汉语 → 漢語. Not rules: other programs that read tokenizer.json skip these two
    digits_…        of every script: all to 0 (zero), out (remove), or to 0 … 9 (ascii)
"""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, TypeGuard

import regex  # type: ignore[import-untyped]

from langladder.ground.errors import InputError, needs

if TYPE_CHECKING:
    from tokenizers.normalizers import Normalizer


class Replace(NamedTuple):
    """Every match of a pattern becomes a text."""

    pattern: str
    by: str = ""


Rule = Replace | Literal["NFC", "NFKC", "lower"]
APOSTROPHE = "apostrophe"
HAN = {"han_simplified": ("t2s", "s2t"), "han_traditional": ("s2t", "t2s")}
"""Step → OpenCC's conversion, and the one back."""
PASSES = 4
"""Conversions of one text, so that no text goes round for ever."""


class Step(NamedTuple):
    """Rules that run one after the other; `ascii`: whether they change text of ASCII characters alone."""

    rules: Sequence[Rule]
    ascii: bool = False


_MARKS = [chr(point) for point in range(0x300, 0x370)]
_ABOVE = "".join(mark for mark in _MARKS if unicodedata.combining(mark) == 230)
_BELOW = "".join(mark for mark in _MARKS if unicodedata.combining(mark) not in (0, 230))
_MORE_ABOVE = f"(?=[{_BELOW}]*[{_ABOVE}])"  # an accent above follows (SpecialCasing.txt)
_SIGMA = Replace(r"(?<=\p{Cased}\p{Case_Ignorable}*)Σ(?!\p{Case_Ignorable}*\p{Cased})", "ς")
_LOWER: list[Rule] = [_SIGMA, "lower"]
_DOTTED = Replace("İ|I\u0307", "i")
_ZEROS = (  # of the scripts that have digits of their own
    "٠۰߀०০੦૦୦௦౦೦൦෦๐໐༠၀႐០᠐᥆᧐᪀᪐᭐᮰᱀᱐꘠꣐꤀꧐꧰꩐꯰０"
    "\U000104a0\U00011066\U000110f0\U00011136\U0001d7ce\U0001d7d8\U0001d7e2\U0001d7ec\U0001d7f6"
)
_ASCII_DIGITS = [Replace("[" + "".join(chr(ord(zero) + n) for zero in _ZEROS) + "]", str(n)) for n in range(10)]

_INVISIBLE = r"\u00AD\u061C\u200E\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069"
_SPACELESS = r"\u0E00-\u109F\u1780-\u17FF\u1950-\u19FF\u1A20-\u1AAF\u1B00-\u1B7F\uA980-\uA9FF\uAA60-\uAADF"  # Thai, …

# Superscript letters of category Lm, and accents that NFKC makes a space and a mark. Nothing keeps a character from
# NFKC, so each is a private one, from U+10FF00 on, while it runs.
_KEPT = (
    "ʰʱʲʳʴʵʶʷʸˠˡˢˣˤჼᴬᴭᴮᴰᴱᴲᴳᴴᴵᴶᴷᴸᴹᴺᴼᴽᴾᴿᵀᵁᵂᵃᵄᵅᵆᵇᵈᵉᵊᵋᵌᵍᵏᵐᵑᵒᵓᵔᵕᵖᵗᵘᵙᵚᵛᵜᵝᵞᵟᵠᵡᵸ"
    "ᶛᶜᶝᶞᶟᶠᶡᶢᶣᶤᶥᶦᶧᶨᶩᶪᶫᶬᶭᶮᶯᶰᶱᶲᶳᶴᶵᶶᶷᶸᶹᶺᶻᶼᶽᶾᶿⁱⁿⱽⵯꚜꚝꝰꟲꟳꟴꟸꟹꭜꭝꭞꭟꭩ"
    "¨¯´¸˘˙˚˛˜˝ͺ΄΅᾽᾿῀῁῍῎῏῝῞῟῭῾‗゛゜"
)
_HIDDEN = [(character, chr(0x10FF00 + number)) for number, character in enumerate(_KEPT)]
_NFKC: list[Rule] = ["NFKC", Replace("\u0e4d\u0e32", "\u0e33"), Replace("\u0ecd\u0eb2", "\u0eb3")]

# An apostrophe by all its characters, the letter among them; other than the letter.
_APOSTROPHES = "'’‘ʻ`´᾽᾿ʼ"
_OTHER = _APOSTROPHES.replace("ʼ", "")
_ALONE = rf"(?<![{_APOSTROPHES}])(?:(?<=[\p{{L}}\p{{M}}])[{_OTHER}]|[{_OTHER}](?=\p{{L}}))(?![{_APOSTROPHES}])"

STEPS: dict[str, Step] = {
    "invisible": Step(
        [
            Replace(f"[{_INVISIBLE}]"),
            Replace(r"\u200B+", "\u200b"),
            Replace(rf"(?<![{_SPACELESS}])\u200B|\u200B(?![{_SPACELESS}])"),
        ]
    ),
    "NFC": Step(["NFC"]),
    "NFKC": Step(
        [*(Replace(*pair) for pair in _HIDDEN), *_NFKC, *(Replace(two, character) for character, two in _HIDDEN)]
    ),
    APOSTROPHE: Step([Replace(_ALONE, "ʼ")], ascii=True),
    "lowercase": Step([_DOTTED, *_LOWER], ascii=True),
    "lowercase_tr": Step([_DOTTED, Replace("I", "ı"), *_LOWER], ascii=True),
    "lowercase_lt": Step(
        [
            *(Replace(letter, by) for letter, by in (("Ì", "i̇̀"), ("Í", "i̇́"), ("Ĩ", "i̇̃"))),
            *(Replace(f"{letter}{_MORE_ABOVE}", f"{letter.lower()}\u0307") for letter in "IJĮ"),
            *_LOWER,
        ],
        ascii=True,
    ),
    "tatweel": Step([Replace("\u0640")]),
    "harakat": Step(
        [Replace(r"[\u0610-\u061A\u064B-\u0652\u0656-\u065F\u0670\u06D6-\u06DC\u06DF-\u06E4\u06E7\u06E8\u06EA-\u06ED]")]
    ),
    "alef": Step([Replace("[أإآٱ]", "ا")]),
    "yeh": Step([Replace("ى", "ي")]),
    "persian": Step([Replace("ي", "ی"), Replace("ك", "ک")]),
    **{name: Step([Replace("(?!)", name)]) for name in HAN},  # matches nothing: only the name is stored
    "digits_zero": Step([Replace(r"\p{Nd}", "0")], ascii=True),
    "digits_remove": Step([Replace(r"\p{Nd}")], ascii=True),
    "digits_ascii": Step(_ASCII_DIGITS),
}
"""In the order in which they run."""


_LETTERS = {  # ISO 639-3 and 639-2 → the two letters of BCP 47, of languages with rules of their own
    **dict.fromkeys(("aze", "azj", "azb"), "az"),
    **dict.fromkeys(("fas", "per", "pes"), "fa"),
    "lit": "lt",
    "tur": "tr",
    "urd": "ur",
}


def language_code(language: str | None) -> str:
    """The language of a BCP 47 tag without its script and region: `az` of `az-Latn`, and of `azj`; "" of None."""
    base = (language or "").partition("-")[0].lower()
    return _LETTERS.get(base, base)


def lowercase_of(language: str | None) -> str:
    """The step that lower-cases a language, a BCP 47 tag such as `tr` or `az-Latn`; None: no language in particular."""
    base = language_code(language)
    return "lowercase_tr" if base in ("tr", "az") else "lowercase_lt" if base == "lt" else "lowercase"


RARE = 0.01  # minimum share of ی ک among the characters of Persian, and maximum of ي ك among these and ی ک


def is_persian(lines: Iterable[str], language: str | None = None) -> bool:
    """Whether a text is written with the letters of Persian, by its language or by some of its lines.

    Pashto, Sindhi and Uyghur have ی or ک beside ي or ك, as letters of their own.

    >>> is_persian(["کتاب فارسی"]), is_persian(["كتاب عربي"]), is_persian([], "fas"), is_persian(["کتاب فارسی"], "ps")
    (True, False, True, False)
    """
    if language is not None:
        return language_code(language) in ("fa", "ur", "ckb")
    persian = arabic = characters = 0
    for line in lines:
        characters += len(line)
        if not line.isascii():
            persian += line.count("ی") + line.count("ک")
            arabic += line.count("ي") + line.count("ك")
    return 0 < RARE * characters <= persian and arabic <= RARE * (persian + arabic)


@cache
def function_of(name: str) -> Callable[[str], str]:
    """A step as a Python function."""
    if name in HAN:
        return _han(name)
    step = STEPS[name]
    functions = [_function(rule) for rule in step.rules]

    def apply(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    if name == "lowercase":  # what str.lower does, final sigma and all, but for dotted capital I
        return lambda text: apply(text) if "İ" in text or "I\u0307" in text else text.lower()
    if name == "NFKC":
        hide, show = str.maketrans(dict(_HIDDEN)), str.maketrans({two: character for character, two in _HIDDEN})
        plain = functions[len(_HIDDEN) : -len(_HIDDEN)]
        return lambda text: (
            text if text.isascii() else reduce(lambda now, rule: rule(now), plain, text.translate(hide)).translate(show)
        )
    if name == "invisible":  # none of them is printable
        return lambda text: text if text.isprintable() else apply(text)
    return apply if step.ascii else lambda text: text if text.isascii() else apply(text)


def _han(name: str) -> Callable[[str], str]:
    """OpenCC, made stable: it converts its own output again (邻里 → 鄰里 → 鄰裏).

    A text that it gives for the same text in the other characters is not converted.
    """
    with needs("chinese", f"clean: {name.replace('_', ': ')}"):
        import opencc  # type: ignore[import-not-found,import-untyped,unused-ignore]

    convert, back = (opencc.OpenCC(entry).convert for entry in HAN[name])

    def apply(text: str) -> str:
        for _ in range(PASSES):
            if (after := str(convert(text))) == text or convert(back(text)) == text:
                break
            text = after
        return text

    return lambda text: text if text.isascii() else apply(text)


Lower = bool | Literal["tr", "lt"]
"""Whether a model lower-cases its words itself, and by the rules of which language; true: of none in particular."""


def lower_of(lowercase: bool, language: str | None) -> Lower:
    """How words of a language, a BCP 47 tag, are lower-cased, if they are."""
    known: dict[str, Lower] = {"lowercase_tr": "tr", "lowercase_lt": "lt"}
    return lowercase and known.get(lowercase_of(language), True)


def is_lower(value: object) -> TypeGuard[Lower]:
    """Whether a value of a file is a `Lower`."""
    return isinstance(value, bool) or value in ("tr", "lt")


def lower(text: str, how: Lower = True) -> str:
    """The lower case as cleaning has it.

    >>> lower("İZMİR ΟΔΟΣ ILGAZ"), lower("ILGAZ", "tr"), lower("ILGAZ", False)
    ('izmir οδος ilgaz', 'ılgaz', 'ILGAZ')
    """
    if how is False:
        return text
    return function_of("lowercase" if how is True else f"lowercase_{how}")(text)


# ---- whether an apostrophe is a letter


LETTER_SHARE = 0.02  # minimum share of the words that are written with it
DIFFERENT_ENDS = 5  # minimum number of different words that begin (or end) with it
VARIETY = 8.0  # minimum of e to the entropy of what stands before it inside words, and of what follows it
CONTRACTING = (
    *("en", "fr", "it", "ca", "oc", "wa", "co", "sc", "rm", "nl", "de", "tr"),
    *("eng", "fra", "fre", "ita", "cat", "oci", "wln", "cos", "srd", "roh", "nld", "deu", "ger"),
)
"""Languages in which it is none: it marks a vowel that is left out, or sets an ending off."""
_ELIDED = regex.compile(  # what stands before it: l'homme, dell'arte, o'clock, m'buku
    "[acdhijlmnostvwyz]|[bkm]w|qu|ch|th|g[ln]|un|po|(?:jus|lors|puis|quoi|quel|pres)qu|entr|quest|sant|tutt|mezz|nient|"
    "(?:a|be|co|da|de|ne|que|su)ll|(?:a|da|de|ne|su)gl|anch|com|cos|dov"
)
_CONTRACTED = regex.compile("[demnkrsty]|re|ve|ll|er|st|e[mn]|ny|tis|twas|til|cause")  # what follows it: don't
_CLOSES = regex.compile(rf"{_ELIDED.pattern}|\p{{L}}*s|\p{{P}}")  # what an end without a letter follows: dogs', so.'
_ALL = frozenset(_APOSTROPHES)
_BEGINS = regex.compile(rf"(?<![\p{{L}}\p{{M}}\p{{N}}{_APOSTROPHES}])[{_APOSTROPHES}](\p{{L}}[\p{{L}}\p{{M}}]*)")
_ENDS = regex.compile(rf"([\p{{L}}\p{{M}}]+|[.,!?;:…])[{_APOSTROPHES}](?![\p{{L}}\p{{N}}{_APOSTROPHES}])")
_INSIDE = regex.compile(rf"(?<![\p{{L}}\p{{M}}])(?!\p{{Lu}})([\p{{L}}\p{{M}}]+)[{_APOSTROPHES}](?=([\p{{L}}\p{{M}}]+))")


def apostrophe_is_letter(lines: Iterable[str], language: str | None = None) -> bool:
    """Whether the apostrophe of a text is a letter (K'iche' ja', Tongan 'oku), by some of its lines.

    A quotation has two, so only what begins with one more often than it ends with one counts, or the other way round.
    Inside words it is a letter if both sides of it vary: a language elides few words, and has few endings to contract.
    Known ones, and names (`Ankara'da`), do not count.

    Args:
        language: BCP 47 tag. Those that contract words have no such letter.

    >>> apostrophe_is_letter(["ri aji' xub'an pa ri ja', ri ik' xuqe' ri tata' man k'o ta waral"])
    True
    >>> apostrophe_is_letter(["He said 'so', didn't he? The dogs' owner can't say."])
    False
    """
    if language_code(language) in CONTRACTING:
        return False
    words, counts = 0, Counter[str]()
    for line in lines:
        split = line.split()
        words += len(split)
        counts.update(word for word in split if not _ALL.isdisjoint(word))
    begin, end, before, after = (Counter[str]() for _ in range(4))
    for word, count in counts.items():
        for left, right in _INSIDE.findall(word):
            if not (_ELIDED.fullmatch(left) or _CONTRACTED.fullmatch(right)):
                before[left] += count
                after[right] += count
        for sides, pattern in ((begin, _BEGINS), (end, _ENDS)):
            for part in pattern.findall(word.lower()):
                sides[part] += count
    begins = {word: count for word, count in begin.items() if not _CONTRACTED.fullmatch(word)}
    ends = {word: count for word, count in end.items() if not _CLOSES.fullmatch(word)}
    least = LETTER_SHARE * words
    return (
        (len(begins) >= DIFFERENT_ENDS and sum(begins.values()) - end.total() >= least)
        or (len(ends) >= DIFFERENT_ENDS and sum(ends.values()) - begin.total() >= least)
        or (before.total() >= least and min(_variety(before), _variety(after)) >= VARIETY)
    )


def _variety(counts: Counter[str]) -> float:
    """e to the entropy: n for n that are equally frequent."""
    shares = [count / counts.total() for count in counts.values()]
    return math.exp(-sum(share * math.log(share) for share in shares))


def _function(rule: Rule) -> Callable[[str], str]:
    if isinstance(rule, Replace):
        pattern, by = regex.compile(rule.pattern), rule.by
        return lambda text: pattern.sub(by, text)
    return str.lower if rule == "lower" else lambda text: unicodedata.normalize(rule, text)


def _parts(name: str) -> list["Normalizer"]:
    """A step as normalizers of the `tokenizers` library."""
    from tokenizers import Regex, normalizers

    known = {"NFC": normalizers.NFC, "NFKC": normalizers.NFKC, "lower": normalizers.Lowercase}
    return [
        normalizers.Replace(Regex(rule.pattern), rule.by) if isinstance(rule, Replace) else known[rule]()
        for rule in STEPS[name].rules
    ]


@dataclass(frozen=True)
class Normalisation:
    """Steps by their names, in their order."""

    names: tuple[str, ...] = ()

    @cached_property
    def _functions(self) -> list[Callable[[str], str]]:
        return [function_of(name) for name in self.names]

    @cached_property
    def _changes_ascii(self) -> bool:
        return any(STEPS[name].ascii for name in self.names)

    def normalise(self, text: str) -> str:
        """A text as the training text is written."""
        if not self._changes_ascii and text.isascii():
            return text
        for function in self._functions:
            text = function(text)
        return text

    def normalise_all(self, texts: Iterable[str]) -> list[str]:
        """Each of some texts."""
        return list(map(self.normalise, texts)) if self.names else list(texts)

    def han(self, text: str) -> str:
        """A text in the Chinese characters of the training text, each in its place."""
        return Normalisation(tuple(name for name in self.names if name in HAN)).normalise(text)

    def word(self, word: str) -> str:
        """A word, as cleaning writes tagged words: one that would be removed or split is not changed."""
        after = self.normalise(word)
        return after if len(after.split()) == 1 else word

    def changing(self, texts: Sequence[str]) -> tuple[int, list[str]]:
        """How many of some texts are changed, and by which steps."""
        changed, names = 0, set[str]()
        for text in texts:
            before = text
            for name, function in zip(self.names, self._functions, strict=True):
                after = function(text)
                names |= {name} if after != text else set()
                text = after
            changed += text != before
        return changed, [name for name in self.names if name in names]

    def note(self, texts: Sequence[str], what: str, known: Container[str] = frozenset()) -> str | None:
        """The message that some texts were changed to be written as the training text; None if none was.

        Args:
            what: such texts in the plural: `lines`, `words`.
            known: those of them that are read as they are.
        """
        changed, names = self.changing([text for text in texts if text not in known])
        if not changed:
            return None
        verb = "was" if changed == 1 else "were"
        some = f"{changed:,} of {len(texts):,} {what}"
        return f"{some} {verb} normalised as the training text was ({', '.join(names)})"

    def normalizer(self) -> "Normalizer | None":
        """The same for the `tokenizers` library; None where nothing is to be done."""
        from tokenizers import normalizers

        return normalizers.Sequence([part for name in self.names for part in _parts(name)]) if self.names else None

    @classmethod
    def checked(cls, names: object, where: str) -> Self:
        """The steps that a file names.

        Args:
            where: the file and key, for messages.

        Raises:
            InputError: they are no list of different names.
        """
        if names is None:
            return cls()
        if not isinstance(names, list) or not all(isinstance(name, str) and name in STEPS for name in names):
            raise InputError(f"{where}: {str(names)[:80]}; allowed is a list of {', '.join(STEPS)}")
        if len(set(names)) < len(names):
            raise InputError(f"{where}: {', '.join(names)[:80]}: a step occurs twice")
        return cls(tuple(names))

    @classmethod
    def read_normalizer(cls, value: object) -> Self:
        """The steps of the `normalizer` of a tokenizer.json.

        Raises:
            InputError: it has others than those of this project.
        """
        if value is None:
            return cls()
        parts = value.get("normalizers") if isinstance(value, dict) and value.get("type") == "Sequence" else None
        if not isinstance(parts, list):
            raise InputError("normalizer: not a sequence of normalisation steps that langladder writes")
        names: list[str] = []
        position = 0
        while position < len(parts):
            fitting = [name for name, own in _as_json().items() if parts[position : position + len(own)] == own]
            if not fitting:
                raise InputError(f"normalizer: {str(parts[position])[:80]} is not a step of this project")
            names.append(max(fitting, key=lambda name: len(_as_json()[name])))
            position += len(_as_json()[names[-1]])
        return cls.checked(names, "normalizer")


@cache
def _as_json() -> dict[str, list[object]]:
    """Each step as tokenizer.json holds it."""
    import json

    import tokenizers as hf

    steps = {}
    for name in STEPS:
        backend = hf.Tokenizer(hf.models.BPE())
        backend.normalizer = Normalisation((name,)).normalizer()
        steps[name] = json.loads(backend.to_str())["normalizer"]["normalizers"]
    return steps
