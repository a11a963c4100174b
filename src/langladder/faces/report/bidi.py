"""How a text of a corpus stands on a page: in an element that says its direction and its language.

The page itself is English and runs to the right. A text that runs to the left would take an arrow, a number or a
bracket beside it along, so each is enclosed by itself:

    <td{{ enclosing(text, language) }}>{{ text }}</td>                 a text that fills its element
    {{ isolated(source, language) }} → {{ isolated(answer) }}          texts beside each other
    plain(text)                                                        where no element may stand: SVG, titles
"""

from markupsafe import Markup

from langladder.text.words.direction import direction, has_right_to_left, language_of

_BEGINS = {"ltr": "\u2066", "rtl": "\u2067"}  # LRI, RLI


def enclosing(text: str, language: str | None = None) -> Markup:
    """The attributes `dir` and, where it is known, `lang` of the element that holds the text and nothing else.

    A text without letters, such as a bracket or a number, runs as what is around it: it has no `dir`.

    Args:
        language: BCP 47 tag of its corpus; None: as the script says, where that is certain.
    """
    known = language or language_of(text)
    lang = Markup(' lang="{}"').format(known) if known else Markup()
    return (Markup(' dir="{}"').format(direction(text)) if any(map(str.isalpha, text)) else Markup()) + lang


def isolated(text: str, language: str | None = None) -> Markup:
    """The text as an element in a line of others, none of which it moves."""
    return Markup("<bdi{}>{}</bdi>").format(enclosing(text, language), text)


def plain(text: str) -> str:
    """The text for a line of others that holds no elements (SVG, a title): as it is, unless a letter runs to the left.

    The characters RLI or LRI and PDI around it do what `<bdi dir>` does.
    """
    if not has_right_to_left(text):
        return text
    return f"{_BEGINS[direction(text)]}{text}\u2069"
