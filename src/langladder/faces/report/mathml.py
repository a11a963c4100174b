"""Equations of docstrings and documents, typeset: plain text → HTML with MathML, which browsers draw without a script.

The text is what a terminal shows, and stays the only form in which an equation is written:

    h̃_t = tanh(W_c [c_t ; s_t]),   α_tj = exp(e_tj) / Σ_k exp(e_tk)        section 3.1

`_` and `^` take a letter, number or word, or what stands in `{…}` or `(…)`; Unicode's ², ₁ and ᵀ do the same. Σ, ∏
and max have what follows `_` below them. √ covers the next factor. A word is the name of a function, or prose. `a / b`
becomes a fraction where it is clear what belongs to it; elsewhere the slash stays. Two or more spaces divide a line
into columns (label, equation, remark) if other lines have a column there, too.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup, escape

FUNCTIONS = frozenset(
    ("argmax", "clip", "cos", "exp", "ln", "log", "max", "mean", "min", "mod", "sin", "softmax", "std", "tanh")
)
LIMITS = frozenset("Σ∑∏Π") | {"argmax", "max", "mean", "min"}
"""Have their index below them."""

RELATIONS = frozenset("=←→≈∝∈≤≥≠<>~⇒∼≡")
BINARY = frozenset("+−±·⊙⊗⊕∗*×∘∪/")
PAIRS = {"(": ")", "[": "]", "{": "}", "⌊": "⌋"}
GOES_ON = frozenset(f"{sign} " for sign in (RELATIONS | BINARY) - {"*"})
"""Begins a cell that belongs to the one before it."""

ARROWS = frozenset("→←")
PRIME = '<mpadded voffset="-0.2em"><mo>′</mo></mpadded>'
"""Lower than browsers set it where no font for mathematics is installed."""

GAP = 4
"""Spaces before a column that no other line has."""

_ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0307": "˙"}
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᵃᵇᶜᵈᵉʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴺᵀ"
_LOWERED = "₀₁₂₃₄₅₆₇₈₉₊₋ₐₑᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"
_TOKEN = re.compile(
    r"(?P<code>`[^`]+`|<[a-z]+>|\"[^\"]*\")"
    r"|(?P<text>[A-Za-z]{2,}(?:_[a-z]{2,})+|[A-Z](?:\.\d+)+|\b(?:al|eq|vs)\.)"
    rf"|(?P<word>[A-Za-z]+(?:-[A-Za-z0-9]+)+|[^\W\d_Α-ωℓ{_RAISED}{_LOWERED}]{{2,}}(?:['’]s\b)?)"
    r"|(?P<number>(?:1[89]|20)\d\d[a-z]\b|\d+(?:,\d{3})*(?:\.\d+)?|[½¼¾])"
    r"|(?P<letter>(?<=[\s\[(])[→←](?=[A-Za-z])[A-Za-z]|[A-Za-z]\d+|[^\W\d_][\u0300-\u036f]*|[∂∞…]|\.\.)"
    r"|(?P<sign>\S)"
)
_SUBSCRIPT = re.compile(r"_(?:<[a-z]+>|(?P<index>[<>≤]?[A-Za-zΑ-ωℓ0-9]+['′]?[A-Za-z]*(?:\+(?=[\s(])|[+−]\d+\b)?))")
_POWER = re.compile(r"\^(?P<index>[−+]?(?:\d+(?:/\d+)?|[½¼¾]|[A-Za-zΑ-ω]))")
_SIGNS = re.compile(r"[_^ΣΠ∏√Α-ωᵀ·⊙←∝]|\w\(")
_CODE = re.compile(r"->|==|\$ |>>>|\bimport\b|\) *:$|--|\w\.[a-z_]+\(|\b[a-z_]{3,}=\S|\.(?:tsv|txt)\b")


def is_equation(block: str) -> bool:
    """Whether an indented block of a document is an equation; others are code, commands, tables."""
    related = re.search(r"(?m)\S +[=←∝≈∈] ", block)
    return bool(related and _SIGNS.search(block) and not _CODE.search(block))


def typeset(text: str) -> Markup:
    """Blocks of equations, a blank line between two: a table each, whose rows are the lines."""
    blocks = (block for block in re.split(r"\n\s*\n", text) if block.strip())
    return Markup("\n").join(_table(block.splitlines()) for block in blocks)


# ---- lines and columns -----------------------------------------------------------------------------------------------


def _table(lines: Sequence[str]) -> Markup:
    results = [[(match.start(), match[0]) for match in re.finditer(r"\S+(?: \S+)*", line)] for line in lines]
    starts = Counter(start for cells in results for start, _ in cells)
    several = {start for start, count in starts.items() if count > 1}
    own = sorted(
        {0}
        | {start for cells in results for start, _ in cells if start <= max(several & {s for s, _ in cells}, default=0)}
    )
    rows = []
    for cells in results:
        row: list[tuple[int, str]] = []
        end = 0
        for start, cell in cells:
            before = row[-1][1] if row else ""
            goes_on = row and ((before.endswith((",", ";", ":")) and start not in own) or cell[:2] in GOES_ON)
            if row and (goes_on or (start not in own and start - end < GAP)):
                row[-1] = (row[-1][0], f"{before}{' ' if cell[0] in '=←' else chr(0x2003)}{cell}")
            else:
                row.append((own.index(start) if start in own else len(own), cell))
            end = start + len(cell)
        rows.append(row)
    width = 1 + max(column for row in rows for column, _ in row)
    return Markup('<table class="equations" role="presentation">{}</table>').format(
        Markup("").join(Markup("<tr>{}</tr>").format(Markup("").join(_cells(row, width))) for row in rows)
    )


def _cells(row: Sequence[tuple[int, str]], width: int) -> Iterator[Markup]:
    if row[0][0]:
        yield Markup('<td colspan="{}"></td>').format(row[0][0])
    for (column, cell), (end, _) in pairwise([*row, (width, "")]):
        span = Markup(' colspan="{}"').format(end - column) if end - column > 1 else ""
        yield Markup("<td{}>{}</td>").format(span, inline(cell))


def inline(text: str) -> Markup:
    """One cell: prose as it is, between it `<math>`."""
    tokens = _tokens(text)
    prose = _prose(tokens)
    parts: list[str] = []
    at = 0
    while at < len(tokens):
        end = at + 1
        while end < len(tokens) and prose[end] == prose[at] and tokens[end].before != "\u2003":
            end += 1
        run = tokens[at:end]
        lead = run[0].before if at and {tokens[at - 1].text, run[0].text}.isdisjoint(RELATIONS | BINARY) else ""
        if prose[at]:
            parts.append(lead + "".join((token.before if i else "") + token.as_prose() for i, token in enumerate(run)))
        else:
            parts.append(f'{lead}<math displaystyle="true">{_row(run, after_text=at > 0)}</math>')
        at = end
    return Markup("".join(parts))


# ---- tokens ----------------------------------------------------------------------------------------------------------


class Token(NamedTuple):
    """A letter, word, number or sign with its indices.

    Attributes:
        before: the space before it. below, above: its indices as MathML, "" for none.
    """

    kind: str
    text: str
    before: str
    below: str
    above: str
    source: str

    def as_prose(self) -> str:
        """HTML of what is not math."""
        if self.kind == "code":
            inner = self.text.strip("`") if self.text[0] == "`" else self.text
            return f"<code>{escape(inner)}</code>" if self.text[0] != '"' else str(escape(inner))
        return f"<code>{self.text}</code>" if "_" in self.text else str(escape(self.source))


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = 0
    text = unicodedata.normalize("NFC", text)
    while match := re.compile(r"\s*").match(text, at):
        start = match.end()
        token = _TOKEN.match(text, start)
        if token is None:
            return tokens
        end, below, above = _scripts(text, token.end(), token[0], token.lastgroup or "")
        tokens.append(Token(token.lastgroup or "", token[0], match[0], below, above, text[start:end]))
        at = end
    return tokens


def _scripts(text: str, at: int, base: str, kind: str) -> tuple[int, str, str]:
    """What stands below and above a token: the place where it ends, and both as MathML."""
    below: list[str] = []
    above: list[str] = []
    while at < len(text):
        rest = text[at:]
        if rest[0] in "_^" and len(rest) > 1 and rest[1] in "{(⌊":
            inner = _bracketed(rest[1:])
            content = inner if rest[1] == "⌊" else inner[1:-1]
            (below if rest[0] == "_" else above).append(_row(_tokens(content)))
            at += 1 + len(inner)
        elif match := _SUBSCRIPT.match(rest):
            below.append(
                _index(match["index"]) if match["index"] else f"<mtext>{escape(rest[1 : match.end()])}</mtext>"
            )
            at += match.end()
        elif match := _POWER.match(rest):
            above.append(_row(_tokens(match["index"])))
            at += match.end()
        elif rest[0] in _RAISED or rest[0] in _LOWERED:
            run = re.match(f"[{_RAISED}]+|[{_LOWERED}]+", rest)
            assert run is not None
            plain = unicodedata.normalize("NFKC", run[0])
            content = _row(_tokens(plain)) if run[0] != "ᵀ" else '<mi mathvariant="normal">T</mi>'
            (above if rest[0] in _RAISED else below).append(content)
            at += run.end()
        elif rest[0] in "'′" and (kind == "letter" or base in ")]") and not re.match(r"'s\b", rest):
            above.append(PRIME)
            at += 1
        elif rest[0] == "*" and kind == "letter":
            above.append("<mo>*</mo>")
            at += 1
        else:
            break
    return at, "".join(below), "".join(above)


def _bracketed(text: str) -> str:
    """From an opening bracket to the one that closes it."""
    close, depth = PAIRS[text[0]], 0
    for index, char in enumerate(text):
        depth += (char == text[0]) - (char == close)
        if not depth:
            return text[: index + 1]
    return text


def _index(text: str) -> str:
    """An index without brackets: `tj` are two letters, `max` is a word."""
    if match := re.fullmatch(r"[A-Za-z]{3,}|in|LM", text):
        return f"<mi>{match[0]}</mi>"
    return "".join(
        f"<mn>{character}</mn>"
        if character.isdigit()
        else f"<mo>{'′' if character in chr(39) + '′' else escape(character)}</mo>"
        if not character.isalpha()
        else f"<mi>{character}</mi>"
        for character in re.findall(r"\d+|.", text)
    )


def _prose(tokens: Sequence[Token]) -> list[bool]:
    """Which tokens are prose: words that are no functions and not in brackets, with the numbers and marks between."""
    prose = [False] * len(tokens)
    math_until = -1
    closes: set[int] = set()
    for i, token in enumerate(tokens):
        after = tokens[i + 1] if i + 1 < len(tokens) else None
        before = prose[i - 1] if i else False
        if i <= math_until:
            continue
        if i in closes or token.kind in ("code", "text"):
            prose[i] = True
        elif token.text in PAIRS:
            end = _closing(tokens, i)
            if (token.before or not i) and after is not None and token.text == "(" and _opens_prose(tokens, i, before):
                prose[i] = True
                closes.add(end)
            else:
                math_until = end
        elif token.kind == "word":
            begins = not i or tokens[i - 1].text in RELATIONS | BINARY | {",", ";", ":"}
            prose[i] = _is_word(tokens, i) and not (begins and not before and _is_factor(after))
        elif token.kind == "letter" and token.text in ("a", "A") and not token.below + token.above:
            prose[i] = after is not None and after.kind == "word" and _is_word(tokens, i + 1)
        elif token.kind == "number":
            prose[i] = (before and tokens[i - 1].text not in ",;:)" and not _is_factor(after)) or (
                not i and after is not None and after.text == "."
            )
        elif token.text in ",;:.&/!?%’'”“–-":
            prose[i] = before or (after is not None and after.kind == "word" and _is_word(tokens, i + 1))
    return prose


def _opens_prose(tokens: Sequence[Token], index: int, after_prose: bool) -> bool:
    """Whether a bracket holds prose: a word comes first, or a year, or two words follow each other."""
    inside = range(index + 1, _closing(tokens, index))
    year = after_prose and re.fullmatch(r"(1[89]|20)\d\d[a-z]?", tokens[index + 1].text)
    return (
        bool(year)
        or _is_word(tokens, index + 1)
        or any(_is_word(tokens, i) and _is_word(tokens, i + 1) for i in inside)
    )


def _is_factor(after: Token | None) -> bool:
    """Whether a sign follows that stands between two terms."""
    return after is not None and after.text in RELATIONS | BINARY


def _is_word(tokens: Sequence[Token], index: int) -> bool:
    """Whether a token is a word of prose: no call, no index, no function of what follows."""
    token, after = tokens[index], tokens[index + 1] if index + 1 < len(tokens) else None
    if token.kind in ("code", "text"):
        return True
    if token.kind != "word" or token.below or token.above:
        return False
    if after is not None and after.text in ("(", "[") and not after.before:
        return False
    return token.text not in FUNCTIONS or after is None or _is_word(tokens, index + 1) or after.text in ",;"


def _closing(tokens: Sequence[Token], index: int) -> int:
    opened, closed = tokens[index].text, PAIRS.get(tokens[index].text, tokens[index].text)
    depth = 0
    for i in range(index, len(tokens)):
        depth += (tokens[i].text == opened) - (tokens[i].text == closed)
        if not depth:
            return i
    return len(tokens)


# ---- MathML ----------------------------------------------------------------------------------------------------------


@dataclass
class Node:
    """A part of a row.

    Attributes:
        kind: factor, function, sum, sign. inside: what stands in the brackets of a factor in round brackets.
        apart: whether there is a space before it.
    """

    kind: str
    xml: str
    inside: str = ""
    apart: bool = False
    sign: str = ""

    @property
    def bare(self) -> str:
        """As a part of a fraction: without its brackets."""
        return self.inside or self.xml


def _row(tokens: Sequence[Token], *, after_text: bool = False) -> str:
    """MathML of a formula."""
    nodes = _fractions(_nodes(tokens))
    parts = []
    for i, node in enumerate(nodes):
        before = nodes[i - 1] if i else None
        if before is not None and node.apart and before.kind != "sign" and node.kind != "sign":
            parts.append('<mspace width="0.2em"/>')
        if node.kind == "sign" and not node.xml:
            unary = (before is None and not after_text) or (
                before is not None and before.kind == "sign" and before.sign not in ")]}"
            )
            parts.append(_sign(node, unary=unary))
        else:
            parts.append(node.xml)
    return "".join(parts)


def _sign(node: Node, *, unary: bool) -> str:
    text = escape(node.sign)
    if node.sign in RELATIONS:
        return f'<mo form="infix" stretchy="false">{text}</mo>'
    if node.sign in "|‖":
        space = "0.28em" if node.apart else "0"
        return f'<mo form="infix" stretchy="false" lspace="{space}" rspace="{space}">{text}</mo>'
    if node.sign == "/" and not node.apart:
        return "<mo lspace='0' rspace='0'>/</mo>"
    if node.sign in BINARY:
        return f'<mo form="{"prefix" if unary else "infix"}">{text}</mo>'
    if node.sign in ",;:":
        return f'<mo form="infix" lspace="{"0.2em" if node.apart else "0"}" rspace="0.28em">{text}</mo>'
    return f"<mo>{text}</mo>"


def _nodes(tokens: Sequence[Token]) -> list[Node]:
    """Tokens with brackets, roots and calls put together; a tight slash makes a fraction of its neighbours."""
    nodes: list[Node] = []
    at = 0
    while at < len(tokens):
        node, at = _node(tokens, at)
        while at < len(tokens) and node.kind == "factor" and tokens[at].text == "/" and not tokens[at].before:
            if at + 1 == len(tokens) or tokens[at + 1].before:
                break
            below, at = _node(tokens, at + 1)
            node = Node("factor", f"<mfrac><mrow>{node.bare}</mrow><mrow>{below.bare}</mrow></mfrac>", apart=node.apart)
        nodes.append(node)
    return nodes


def _node(tokens: Sequence[Token], at: int) -> tuple[Node, int]:
    """The next factor or sign, and where the one after it begins."""
    token = tokens[at]
    apart = bool(token.before)
    if token.text in PAIRS or (token.text in "|‖" and _is_fence(tokens, at)):
        end = _closing(tokens, at) if token.text in PAIRS else _fence_end(tokens, at)
        inner = _row(tokens[at + 1 : end])
        last = tokens[end] if end < len(tokens) else None
        shut = escape(last.text) if last is not None else ""
        tall = "true" if "<mfrac" in inner or "<munder" in inner else "false"
        fences = (
            f'<mo form="prefix" stretchy="{tall}">{escape(token.text)}</mo>',
            f'<mo form="postfix" stretchy="{tall}">{shut}</mo>' if shut else "",
        )
        xml = _with_scripts(f"<mrow>{fences[0]}{inner}{fences[1]}</mrow>", last, limits=False)
        plain = token.text == "(" and last is not None and not last.below and not last.above
        called = at and not apart and tokens[at - 1].text not in BINARY | RELATIONS
        if plain and not called and re.fullmatch(r"<mfrac>((?!<mfrac>).)*</mfrac>", inner):
            return Node("factor", inner, apart=apart), end + 1  # (1/N): the bar says it
        return Node("factor", xml, inner if plain else "", apart), end + 1
    if token.text in ("√", "∂") and at + 1 < len(tokens) and not tokens[at + 1].before:
        inner_node, end = _node(tokens, at + 1)
        xml = f"<msqrt>{inner_node.bare}</msqrt>" if token.text == "√" else f"<mrow><mi>∂</mi>{inner_node.xml}</mrow>"
        return Node("factor", xml, apart=apart), end
    if token.text in "Σ∑Π∏":
        base = f'<mo largeop="true" movablelimits="false">{"∑" if token.text in "Σ∑" else "∏"}</mo>'
        return Node("sum", _with_scripts(base, token, limits=True), apart=apart), at + 1
    if (
        token.kind == "number"
        and at + 1 < len(tokens)
        and tokens[at + 1].kind == "letter"
        and not tokens[at + 1].before
    ):
        following, end = _named(tokens, at + 1, False)  # 2m
        return Node("factor", f"<mrow><mn>{token.text}</mn>{following.xml}</mrow>", apart=apart), end
    if token.kind in ("word", "letter", "number", "code", "text"):
        return _named(tokens, at, apart)
    xml = ""
    if token.below or token.above:
        xml = _with_scripts(f"<mo>{escape(token.text)}</mo>", token, limits=False)
        return Node("factor", xml, apart=apart), at + 1
    return Node("sign", xml, apart=apart, sign=token.text), at + 1


def _named(tokens: Sequence[Token], at: int, apart: bool) -> tuple[Node, int]:
    """A letter, word or number; with the bracket that follows it a call."""
    token = tokens[at]
    called = at + 1 < len(tokens) and tokens[at + 1].text in ("(", "[") and not tokens[at + 1].before
    if token.kind == "word" and not called and _is_word(tokens, at):
        return Node("factor", f"<mtext>{escape(token.text)}</mtext>", apart=apart), at + 1
    if token.kind in ("code", "text"):
        return Node("factor", f"<mtext>{escape(token.text.strip('`'))}</mtext>", apart=apart), at + 1
    name = f"<mn>{token.text}</mn>" if token.kind == "number" else _letter(token.text)
    xml = _with_scripts(name, token, limits=token.text in LIMITS)
    if called:
        group, end = _node(tokens, at + 1)
        return Node("factor", f"<mrow>{xml}{group.xml}</mrow>", apart=apart), end
    return Node("function" if token.text in FUNCTIONS else "factor", xml, apart=apart), at + 1


def _letter(text: str) -> str:
    """A letter or name; marks above it, and arrows before it, stand over it."""
    plain = unicodedata.normalize("NFD", text)
    if len(plain) == 2 and plain[1] in _ACCENTS:
        return f'<mover accent="true"><mi>{plain[0]}</mi><mo stretchy="false">{_ACCENTS[plain[1]]}</mo></mover>'
    if text[0] in ARROWS:
        return f'<mover accent="true"><mi>{text[1:]}</mi><mo stretchy="false">{text[0]}</mo></mover>'
    return f"<mi>{'…' if text == '..' else escape(text)}</mi>"


def _with_scripts(base: str, token: Token | None, *, limits: bool) -> str:
    if token is None or not (token.below or token.above):
        return base
    rows = [f"<mrow>{script}</mrow>" for script in (token.below, token.above) if script]
    kind = ("under" if limits else "sub") * bool(token.below) + ("over" if limits else "sup") * bool(token.above)
    return f"<m{kind}>{base}{''.join(rows)}</m{kind}>"


def _is_fence(tokens: Sequence[Token], at: int) -> bool:
    """Whether | or ‖ opens a pair: what follows stands close to it, and the pair is closed."""
    before = tokens[at - 1] if at else None
    opens = before is None or bool(tokens[at].before) or before.text in RELATIONS | BINARY | PAIRS.keys() | {",", "/"}
    tight = at + 1 < len(tokens) and not tokens[at + 1].before
    return opens and tight and _fence_end(tokens, at) < len(tokens)


def _fence_end(tokens: Sequence[Token], at: int) -> int:
    i = at + 1
    while i < len(tokens) and tokens[i].text != tokens[at].text:
        i = _closing(tokens, i) + 1 if tokens[i].text in PAIRS else i + 1
    return i


def _fractions(nodes: list[Node]) -> list[Node]:
    """`a / b` as a fraction where a is a product and b one factor, or a sum with its terms."""
    at = 0
    while at < len(nodes):
        if nodes[at].sign != "/" or nodes[at].xml:
            at += 1
            continue
        start = at
        while start and nodes[start - 1].kind == "factor":
            start -= 1
        end = at + 1
        while end < len(nodes) and nodes[end].kind == "sum":
            end += 1
        summed = end > at + 1
        while end < len(nodes) and nodes[end].kind == "factor":
            end += 1
        clear = start < at and (end == at + 2 or summed)
        clear = clear and not (
            start and nodes[start - 1].kind in ("sum", "function")
        )  # of log a / b, too, the slash says less
        if not clear or (summed and end < len(nodes) and nodes[end].sign in "·⊙/"):
            at += 1
            continue
        above, below = nodes[start:at], nodes[at + 1 : end]
        rows = [tokens[0].bare if len(tokens) == 1 else _joined(tokens) for tokens in (above, below)]
        fraction = Node("factor", f"<mfrac><mrow>{rows[0]}</mrow><mrow>{rows[1]}</mrow></mfrac>", apart=above[0].apart)
        nodes[start:end] = [fraction]
        at = start + 1
    return nodes


def _joined(nodes: Sequence[Node]) -> str:
    return "".join(('<mspace width="0.2em"/>' if i and node.apart else "") + node.xml for i, node in enumerate(nodes))
