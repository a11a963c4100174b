"""Where the sentences of a line end.

Marks that some scripts have of their own (。 ؟ । ། ። ፡፡ ᙮ and their like) end a sentence in any position, together with
the closing quotes and brackets behind them. The marks . ! ? … and, behind a Greek letter, ; end one only before white
space and a capital letter, or a letter of a script without capitals; in Greek text without capitals there, also before
a small letter. A full stop does not after a single capital (J. Smith), a number of one or two digits (German: am 3.
Oktober), an abbreviation with inner dots (e.g., U.S.) or one of ABBREVIATIONS. Text that has no such marks, as most of
Thai, stays whole. No model is trained (unlike Kiss & Strunk 2006), so an abbreviation never ends a sentence.
"""

import regex  # type: ignore[import-untyped]

ABBREVIATIONS = (
    *("Mr", "Mrs", "Ms", "Messrs", "Dr", "Prof", "Rev", "Hon", "Gen", "Col", "Capt", "Lt", "Sgt", "Gov", "Sen", "Rep"),
    *("St", "Mt", "Mme", "Mlle", "Sr", "Sra", "Srta", "Dra", "Ud", "Uds", "Sig", "Dott", "Hr", "Fr", "Frl", "Dipl"),
    *("Ing", "Dhr", "Mevr", "vs", "cf", "ca", "approx", "bzw", "vgl", "sog"),
)
"""Abbreviations before names and other capitals; those before numbers (No. 5) need no entry."""
MAX_ABBREVIATION = 30  # characters of an abbreviation
# Not the marks of _MARKS, full stops that are inside numbers (．), and commas: ၊ ᭞ ꧈ ᜵.
_OWN_MARKS = r"[[\p{Sentence_Terminal}།༎]--[.!?‼⁇⁈⁉‽․﹒．၊᭞꧈᜵]]"
_MARKS = ".!?…‼⁇⁈⁉‽"
# Of a sentence; Georgian writes no capitals there. Before the capital may stand ʻ and similar letters: ʻO wau kēia.
_SENTENCE_START = r"\p{Lm}*[\p{Lu}\p{Lt}\p{Lo}\p{Georgian}]"
_GREEK_QUESTION = r"(?<=\p{Greek}\p{M}*[»”]?)[;\u037E]"  # its question mark; its semicolon is ·
_SENTENCE_ENDS, _UNCAPITALISED_ENDS = (
    regex.compile(
        rf"""(?V1)(?P<own>(?:{_OWN_MARKS}|፡፡)(?:[{_OWN_MARKS}፡{_MARKS}]|\s+[།༎])*+[\p{{Pe}}\p{{Pf}}]*+)
        |(?:[{_MARKS}]|{_GREEK_QUESTION})++["'\p{{Pe}}\p{{Pf}}\p{{Pi}}]*+(?:\s»(?=\s))?
         (?=\s+(?:["'\p{{Pi}}\p{{Pf}}\p{{Ps}}¿¡]\s?)*(?:[–—]\s*)?{start})""",
        regex.VERBOSE,
    )
    for start in (_SENTENCE_START, rf"(?:{_SENTENCE_START}|[\p{{Greek}}&&\p{{Ll}}])")
)
# Greek whose sentences begin with small letters, as editions of ancient texts have it: a line that begins with one or
# has breathings, and in which no capital follows a full stop or a question mark.
_UNCAPITALISED = regex.compile(
    r"(?V1)(?:\P{L}*[\p{Greek}&&\p{Ll}]|.*[\u1f00-\u1fff\u0313\u0314])(?!.*[.;\u037e]\P{L}*\s\P{L}*\p{Lu})",
    regex.DOTALL,
)
_LAST_WORD = regex.compile(r"(?:[\p{L}\p{M}\p{N}]+\.)*[\p{L}\p{M}\p{N}]+$")
_GOES_ON = regex.compile(r"\p{Lu}\p{M}*|\d{1,2}|(?:\p{L}{1,3}\.)+\p{L}{1,3}")
_QUOTE_GOES_ON = regex.compile(r"""[」』”"]\p{Hiragana}""")  # 「行く。」と言った。 is one sentence


def split_sentences(line: str) -> list[str]:
    """The sentences of one line, without white space around them; none of a blank line.

    >>> split_sentences("Dr. Smith left at 5 p.m. today. 他走了。“你好！”")
    ['Dr. Smith left at 5 p.m. today.', '他走了。', '“你好！”']
    """
    sentences, start = list[str](), 0
    ends = _UNCAPITALISED_ENDS if not line.isascii() and _UNCAPITALISED.match(line) else _SENTENCE_ENDS
    for marks in ends.finditer(line):
        end = marks.end()
        if marks["own"]:
            if line[end : end + 1] == '"' and line.count('"', start, end) % 2:  # a closing quote
                end += 1
            if _QUOTE_GOES_ON.match(line, end - 1):
                continue
        elif marks[0] == "." and _is_abbreviation(line[max(start, marks.start() - MAX_ABBREVIATION) : marks.start()]):
            continue
        if sentence := line[start:end].strip():
            sentences.append(sentence)
        start = end
    rest = line[start:].strip()
    return [*sentences, rest] if rest else sentences


def _is_abbreviation(before: str) -> bool:
    """Whether the full stop behind some text belongs to its last word."""
    word = _LAST_WORD.search(before)
    return word is not None and (word[0] in ABBREVIATIONS or _GOES_ON.fullmatch(word[0]) is not None)
