"""Where a sentence ends, by its marks: for text whose lines are paragraphs.

Marks that some scripts have of their own (。 ؟ । ። ། and their like) end a sentence wherever they stand, together with
the closing quotes and brackets behind them. The marks . ! ? … and, behind a Greek letter, ; end one only before white
space and a capital letter, or a letter of a script without capitals. A full stop does not after a single capital
(J. Smith), a number of one or two digits (German: am 3. Oktober), an abbreviation with inner dots (e.g., U.S.) or one
of ABBREVIATIONS. Text that has no such marks, as most of Thai, stays whole. No model is trained (unlike Kiss & Strunk
2006), so a sentence that ends with an abbreviation goes on.
"""

import regex  # type: ignore[import-untyped]

ABBREVIATIONS = (
    *("Mr", "Mrs", "Ms", "Messrs", "Dr", "Prof", "Rev", "Hon", "Gen", "Col", "Capt", "Lt", "Sgt", "Gov", "Sen", "Rep"),
    *("St", "Mt", "Mme", "Mlle", "Sr", "Sra", "Srta", "Dra", "Ud", "Uds", "Sig", "Dott", "Hr", "Fr", "Frl", "Dipl"),
    *("Ing", "Dhr", "Mevr", "vs", "cf", "ca", "approx", "bzw", "vgl", "sog"),
)
"""Those that names and other capitals follow; what is before numbers (No. 5) needs no entry."""
LONGEST = 30  # characters of an abbreviation
_OWN = "。｡！？؟۔।॥።፧፨။។៕།༎։"  # not ၊: a comma
_FIRST = r"[\p{Lu}\p{Lt}\p{Lo}\p{Georgian}]"  # of a sentence; Georgian writes no capitals there
_GREEK = r"(?<=\p{Greek}\p{M}*[»”]?)[;\u037E]"  # its question mark; its semicolon is ·
_MARKS = regex.compile(
    rf"""(?P<own>[{_OWN}](?:[{_OWN}.!?…]|\s+[།༎])*+[\p{{Pe}}\p{{Pf}}]*+)
    |(?:[.!?…]|{_GREEK})++["'\p{{Pe}}\p{{Pf}}\p{{Pi}}]*+(?:\s»(?=\s))?
     (?=\s+(?:["'\p{{Pi}}\p{{Pf}}\p{{Ps}}¿¡]\s?)*(?:[–—]\s*)?{_FIRST})""",
    regex.VERBOSE,
)
_LAST_WORD = regex.compile(r"(?:[\p{L}\p{M}\p{N}]+\.)*[\p{L}\p{M}\p{N}]+$")
_GOES_ON = regex.compile(r"\p{Lu}\p{M}*|\d{1,2}|(?:\p{L}{1,3}\.)+\p{L}{1,3}")
_QUOTED = regex.compile(r"""[」』”"]\p{Hiragana}""")  # 「行く。」と言った。 is one sentence


def split_sentences(line: str) -> list[str]:
    """The sentences of one line, without white space around them; none of a blank line.

    >>> split_sentences("Dr. Smith left at 5 p.m. today. 他走了。“你好！”")
    ['Dr. Smith left at 5 p.m. today.', '他走了。', '“你好！”']
    """
    found, start = list[str](), 0
    for marks in _MARKS.finditer(line):
        end = marks.end()
        if marks["own"]:
            if line[end : end + 1] == '"' and line.count('"', start, end) % 2:  # it closes what was opened before
                end += 1
            if _QUOTED.match(line, end - 1):
                continue
        elif marks[0] == "." and _is_abbreviation(line[max(start, marks.start() - LONGEST) : marks.start()]):
            continue
        if sentence := line[start:end].strip():
            found.append(sentence)
        start = end
    rest = line[start:].strip()
    return [*found, rest] if rest else found


def _is_abbreviation(before: str) -> bool:
    """Whether the full stop behind some text belongs to its last word."""
    word = _LAST_WORD.search(before)
    return word is not None and (word[0] in ABBREVIATIONS or _GOES_ON.fullmatch(word[0]) is not None)
