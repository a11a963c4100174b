"""Cleaning lines: steps from a line to a line, limits on its length, and counts of what both did.

The steps run in the order of the fields below: characters are repaired before anything is matched, invisible ones are
removed before Unicode normalisation joins what they separated, markup is removed before addresses (a link may contain
one), an apostrophe that is a letter becomes one before contractions, which no such language has, are expanded, and
white space comes last. No step assumes spaces between words.

The steps of `text.words.normalisation` change how words are written, and are saved with every model of the text.
"""

import html
import importlib.util
import re
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, Literal, Self, TypedDict, get_args

import regex  # type: ignore[import-untyped]
from pydantic import Field, model_validator

from langladder.ground.errors import needs
from langladder.ground.schema import Config
from langladder.text.words.normalisation import (
    APOSTROPHE,
    Normalisation,
    apostrophe_is_letter,
    function_of,
    is_persian,
    lowercase_of,
)
from langladder.text.words.segmentation import GERESH, GERSHAYIM, SAMPLE, Conventions, Split, WordChoice

Step = Callable[[str], str]
Language = Annotated[str, Field(pattern=r"^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$")]
"""A BCP 47 tag, such as `tr` or `zh-Hant`."""
Arabic = Literal["tatweel", "harakat", "alef", "yeh", "persian"]
ARABIC: tuple[Arabic, ...] = get_args(Arabic)
EXAMPLES = 3
EXAMPLE_CHARACTERS = 120
MUCH = 0.1  # a reason that drops a larger share of the lines gives a warning


class StepsConfig(Config):
    """Which steps run. The defaults repair and tidy, and leave the words of the text alone."""

    fix_encoding: bool = True  # undo mojibake ("â€™" for "’") where ftfy is sure of it
    control_characters: bool = True  # remove control characters, byte-order marks and non-characters
    invisible: bool = True  # remove invisible ones: soft hyphens, zero-width spaces, marks of direction
    unicode: Literal["none", "NFC", "NFKC"] = "NFC"  # NFKC also folds full-width letters, ligatures, digits above
    html: bool = False  # strip tags, decode entities; "<unk>" and "a < b" are text, not tags
    # What ' ’ ‘ ʻ ʼ ` ´ beside a letter are. letter: all are written ʼ (K'iche' ja', Tongan 'oku); auto: as most of the
    # text has it.
    apostrophe: Literal["auto", "letter", "punctuation"] = "auto"
    url: str | None = None  # null: keep; "": remove; else the token put in its place, e.g. "<url>"
    email: str | None = None
    handle: str | None = None  # @name
    contractions: Literal["keep", "expand", "expand_slang"] = "keep"  # English: don't → do not; slang: u → you
    lowercase: bool = False
    # BCP 47, such as tr: how it lower-cases (tr, az: I → ı, İ → i; lt: dots stay under accents), and whether Arabic
    # letters become those of Persian (fa, ur, ckb; not with unicode: none). null: lower case as Unicode has it, with
    # the final sigma of Greek, but İ → i; Persian letters where the text has them.
    language: Language | None = None
    # Arabic: tatweel and harakat (vowel signs) go; alef: أ إ آ ٱ → ا; yeh: ى → ي; persian: ي → ی, ك → ک
    arabic: list[Arabic] = Field(default_factory=list)
    han: Literal["keep", "simplified", "traditional"] = "keep"  # Chinese, by OpenCC: pip install 'langladder[chinese]'
    digits: Literal["keep", "zero", "remove", "ascii"] = "keep"  # zero: 1984 → 0000; ascii: ٣, ३, ３ → 3
    punctuation: Literal["keep", "isolate", "remove"] = "keep"  # isolate: a token by itself
    whitespace: bool = Field(default=True)  # one space between words, none at the ends

    def of_text(self, language: str | None, raw_lines: Iterable[str]) -> Self:
        """The steps of a text: with its language, unless they set one, what its apostrophe is, and Persian letters."""
        language, sample = self.language or language, list(islice(raw_lines, SAMPLE))
        apostrophe, arabic = self.apostrophe, self.arabic
        if apostrophe == "auto":
            apostrophe = "letter" if apostrophe_is_letter(sample, language) else "punctuation"
        if self.unicode != "none" and "persian" not in arabic and is_persian(sample, language):
            arabic = [*arabic, "persian"]
        return self.model_copy(update={"language": language, "apostrophe": apostrophe, "arabic": arabic})

    @model_validator(mode="after")
    def _is_installed(self) -> Self:
        if self.han != "keep" and importlib.util.find_spec("opencc") is None:
            raise ValueError(
                f"han: {self.han} needs the library opencc, which is not installed: pip install 'langladder[chinese]'; "
                "or set han: keep"
            )
        return self


def normalisation_of(config: StepsConfig) -> Normalisation:
    """The steps of `text.words.normalisation`, in order; a model's input gets them, too."""
    names: dict[str, bool] = {
        "invisible": config.invisible,
        config.unicode: config.unicode != "none",
        APOSTROPHE: config.apostrophe == "letter",
        lowercase_of(config.language): config.lowercase,
        **{name: name in config.arabic for name in ARABIC},
        f"han_{config.han}": config.han != "keep",
        f"digits_{config.digits}": config.digits != "keep",
    }
    return Normalisation(tuple(name for name, used in names.items() if used))


def build_steps(config: StepsConfig) -> list[tuple[str, Step]]:
    """The (name, function) of every step that is switched on, in order."""
    return [(name, step) for name, make in _MAKERS.items() if (step := make(config)) is not None]


def found_conventions(
    raw_lines: Iterable[str], config: StepsConfig, words: WordChoice, language: str | None
) -> tuple[StepsConfig, Conventions]:
    """The steps of a raw text, and how it is read after them: decided by its first lines."""
    sample = list(islice(raw_lines, SAMPLE))
    config = config.of_text(language, sample)
    steps = build_steps(config)
    lines = (run_steps(steps, line) for line in sample)
    return config, Conventions.of(words, lines, language, normalisation_of(config))


def run_steps(steps: list[tuple[str, Step]], line: str) -> str:
    """A line after all steps."""
    for _, step in steps:
        line = step(line)
    return line


def _fix_encoding(config: StepsConfig) -> Step | None:
    if not config.fix_encoding:
        return None
    import ftfy
    from ftfy.badness import is_bad

    # Only broken characters: curly quotes, ligatures and full-width letters are left to the `unicode` step.
    repair = ftfy.TextFixerConfig(
        unescape_html=False,
        remove_terminal_escapes=False,
        fix_latin_ligatures=False,
        fix_character_width=False,
        uncurl_quotes=False,
        fix_line_breaks=False,
        remove_control_chars=False,
        normalization=None,
        explain=False,
    )

    def step(line: str) -> str:
        return line if line.isascii() or not is_bad(line) else str(ftfy.fix_text(line, repair))

    return step


def _invisible(config: StepsConfig) -> Step | None:
    return function_of("invisible") if config.invisible else None


def _unicode(config: StepsConfig) -> Step | None:
    return None if config.unicode == "none" else function_of(config.unicode)


_SPACING = re.compile(r"[\t\n\v\f\r\x1c-\x1f\x85]")
_CONTROL = regex.compile(r"[\p{Cc}\p{Cs}\p{Noncharacter_Code_Point}\uFEFF\uFFF9-\uFFFC]")


def _control_characters(config: StepsConfig) -> Step | None:
    def step(line: str) -> str:
        return line if line.isprintable() else str(_CONTROL.sub("", _SPACING.sub(" ", line)))

    return step if config.control_characters else None


def has_control_characters(text: str) -> bool:
    """True where the text has characters that `control_characters` removes."""
    return not text.isprintable() and _CONTROL.search(text) is not None


_ELEMENTS = (
    "a|abbr|acronym|address|area|article|aside|audio|b|base|bdi|bdo|big|blockquote|body|br|button|canvas|caption|"
    "center|cite|code|col|colgroup|data|dd|del|details|dfn|div|dl|dt|em|embed|fieldset|figcaption|figure|font|"
    "footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|"
    "link|main|map|mark|meta|meter|nav|noscript|object|ol|option|p|param|pre|progress|q|rp|rt|ruby|s|samp|script|"
    "section|select|small|source|span|strike|strong|style|sub|summary|sup|svg|table|tbody|td|textarea|tfoot|th|"
    "thead|time|title|tr|track|tt|u|ul|var|video|wbr"
)
_NOT_A_TAG = re.compile(rf"<(?!/?(?:{_ELEMENTS})(?:\s[^<>]*)?/?>|!--)", re.IGNORECASE)
_BREAKING = re.compile(r"</?(?:br|p|div|li|td|th|tr|h[1-6]|hr|blockquote|dd|dt|pre)\b", re.IGNORECASE)


def _html(config: StepsConfig) -> Step | None:
    if not config.html:
        return None
    with needs("clean", "clean: html"):
        import nh3

    after = [step for step in (_invisible(config), _unicode(config)) if step is not None]  # what an entity may be

    def step(line: str) -> str:
        if "<" not in line and "&" not in line:
            return line
        marked = _BREAKING.sub(r" \g<0>", _NOT_A_TAG.sub("&lt;", line))  # a tag that breaks the line separates words
        line = html.unescape(nh3.clean(marked, tags=set()))
        for repair in after:
            line = repair(line)
        return line

    return step


def _apostrophe(config: StepsConfig) -> Step | None:
    return function_of(APOSTROPHE) if config.apostrophe == "letter" else None


# Addresses are ASCII, so one ends where Chinese text follows without a space.
_URL = re.compile(r"""(?<![A-Za-z0-9])(?:(?:https?|ftp)://|www\.)[!-~]*[A-Za-z0-9/#=&_~-]""", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", re.ASCII)
_HANDLE = re.compile(r"(?<![\w@.])@\w{2,}", re.ASCII)


def _url(config: StepsConfig) -> Step | None:
    token = config.url
    if token is None:
        return None
    return lambda line: _URL.sub(lambda _: token, line) if "://" in line or "ww." in line.lower() else line


def _email(config: StepsConfig) -> Step | None:
    token = config.email
    return None if token is None else lambda line: _EMAIL.sub(lambda _: token, line) if "@" in line else line


def _handle(config: StepsConfig) -> Step | None:
    token = config.handle
    return None if token is None else lambda line: _HANDLE.sub(lambda _: token, line) if "@" in line else line


def _contractions(config: StepsConfig) -> Step | None:
    if config.contractions == "keep":
        return None
    with needs("clean", "clean: contractions"):
        import contractions

    slang = config.contractions == "expand_slang"
    return lambda line: str(contractions.fix(line, slang=slang)) if slang or "'" in line or "’" in line else line


def _lowercase(config: StepsConfig) -> Step | None:
    return function_of(lowercase_of(config.language)) if config.lowercase else None


def _arabic(config: StepsConfig) -> Step | None:
    return Normalisation(tuple(sorted(config.arabic, key=ARABIC.index))).normalise if config.arabic else None


def _han(config: StepsConfig) -> Step | None:
    return None if config.han == "keep" else function_of(f"han_{config.han}")


def _digits(config: StepsConfig) -> Step | None:
    return None if config.digits == "keep" else function_of(f"digits_{config.digits}")


# Tokens in angle brackets ("<unk>", "<url>") stay whole; so do apostrophes inside words (Hebrew: geresh and gershayim),
# marks inside numbers, and a mark with what belongs to it (the joiners of an emoji).
_WHOLE = r"<\w+>(*SKIP)(*FAIL)"
_APOSTROPHE = rf"(?:(?<=\p{{L}})['’](?=\p{{L}})|{GERSHAYIM}|{GERESH})"
_SIGN = r"(?=[\p{P}\p{S}])\X"
_ISOLATED = regex.compile(rf"{_WHOLE}|{_APOSTROPHE}(*SKIP)(*FAIL)|(?<=\d)[.,](?=\d)(*SKIP)(*FAIL)|{_SIGN}")
_REMOVED = regex.compile(rf"{_WHOLE}|({_APOSTROPHE})|{_SIGN}")


def _punctuation(config: StepsConfig) -> Step | None:
    if config.punctuation == "keep":
        return None
    if config.punctuation == "isolate":
        return lambda line: str(_ISOLATED.sub(r" \g<0> ", line))
    return lambda line: str(_REMOVED.sub(lambda match: "" if match[1] else " ", line))


def _whitespace(config: StepsConfig) -> Step | None:
    return (lambda line: " ".join(line.split())) if config.whitespace else None


_MAKERS: dict[str, Callable[[StepsConfig], Step | None]] = {
    "fix_encoding": _fix_encoding,
    "control_characters": _control_characters,
    "invisible": _invisible,
    "unicode": _unicode,
    "html": _html,
    "apostrophe": _apostrophe,
    "url": _url,
    "email": _email,
    "handle": _handle,
    "contractions": _contractions,
    "lowercase": _lowercase,
    "arabic": _arabic,
    "han": _han,
    "digits": _digits,
    "punctuation": _punctuation,
    "whitespace": _whitespace,
}


# ---- limits, and the counts of changes and drops


class LimitsConfig(Config):
    """Lines outside these bounds are dropped; null: no bound. Words are counted as in the data report."""

    min_characters: int = Field(default=1, ge=1)
    max_characters: int | None = Field(default=None, ge=1)
    min_words: int = Field(default=1, ge=1)
    max_words: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _bounds_leave_room(self) -> Self:
        for unit in ("characters", "words"):
            low, high = getattr(self, f"min_{unit}"), getattr(self, f"max_{unit}")
            if high is not None and high < low:
                raise ValueError(f"max_{unit}: {high} is below min_{unit}: {low}; no line would be left")
        return self


def outside(line: str, limits: LimitsConfig, split: Split) -> str | None:
    """Why a cleaned line is dropped: `empty`, `too_short`, `too_long`, or None. split: a line → its words."""
    if not line:
        return "empty"
    if len(line) < limits.min_characters:
        return "too_short"
    if limits.max_characters is not None and len(line) > limits.max_characters:
        return "too_long"
    if limits.min_words > 1 or limits.max_words is not None:
        words = len(split(line))
        if words < limits.min_words:
            return "too_short"
        if limits.max_words is not None and words > limits.max_words:
            return "too_long"
    return None


class Dropped(TypedDict):
    """How many lines, pairs or documents were dropped for one reason, and the first of them."""

    count: int
    examples: list[str]


class BookReport(TypedDict):
    """What was read, changed by each step, and dropped for each reason."""

    read: int
    changed_by_step: dict[str, int]
    dropped: dict[str, Dropped]


class Book:
    """Counts, with a few examples, of changes by step and of drops by reason."""

    def __init__(self) -> None:
        self.read = 0
        self.changed: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.examples: dict[str, list[str]] = {}

    def apply(self, steps: list[tuple[str, Step]], line: str) -> str:
        """Run the steps on one line, noting which of them changed it."""
        for name, step in steps:
            after = step(line)
            if after != line:
                self.changed[name] += 1
                line = after
        return line

    def drop(self, reason: str, text: str) -> None:
        """Note one dropped line, pair or document."""
        self.dropped[reason] += 1
        examples = self.examples.setdefault(reason, [])
        if len(examples) < EXAMPLES:
            examples.append(text[:EXAMPLE_CHARACTERS])

    def add(self, other: "Book") -> None:
        """Add the counts of another, of the text that follows."""
        self.read += other.read
        self.changed.update(other.changed)
        self.dropped.update(other.dropped)
        for reason, examples in other.examples.items():
            mine = self.examples.setdefault(reason, [])
            mine += examples[: EXAMPLES - len(mine)]

    def warnings(self) -> list[str]:
        """A line for each reason that dropped more than a tenth of what was read."""
        most = self.read * MUCH
        dropped = [(reason, count) for reason, count in sorted(self.dropped.items()) if count > most]
        return [
            f"cleaning dropped {count:,} of {self.read:,} ({count / self.read:.0%}): {reason}"
            for reason, count in dropped
        ]

    def report(self) -> BookReport:
        """Figures ready for JSON."""
        dropped: dict[str, Dropped] = {
            reason: {"count": count, "examples": self.examples[reason]}
            for reason, count in sorted(self.dropped.items())
        }
        return {"read": self.read, "changed_by_step": dict(sorted(self.changed.items())), "dropped": dropped}
