"""What classifiers, taggers and readers of questions say of one text: what the page Read shows, as plain values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from langladder.evaluation.classifier import Decision, Node, decision
from langladder.faces.http.labelling import answer, normalised, parsed
from langladder.faces.http.tagging import tag_lines
from langladder.faces.report.bidi import plain
from langladder.faces.report.classifiers import attended, marked
from langladder.faces.report.tree_plot import MOST_NODES, legend, tree_plot
from langladder.ground.errors import InputError
from langladder.models.classifier import Classifier
from langladder.models.reader import Reader
from langladder.models.tagger import Tagger
from langladder.text.labelled.questions import Question
from langladder.text.labelled.trees import DEEPEST, Tree, parse_tree
from langladder.text.words.segmenters import WordChoice

TAGS = {
    "ADJ": "adjective",
    "ADP": "adposition",
    "ADV": "adverb",
    "AUX": "auxiliary",
    "DET": "determiner",
    "CCONJ": "coordinating conjunction",
    "INTJ": "interjection",
    "NOUN": "noun",
    "NUM": "numeral",
    "VERB": "verb",
    "PART": "particle",
    "PRON": "pronoun",
    "PROPN": "proper noun",
    "PUNCT": "punctuation",
    "SYM": "symbol",
    "SCONJ": "subordinating conjunction",
    "X": "other",
    "PER": "person",
    "LOC": "place",
    "ORG": "organisation",
    "MISC": "another name",
}
"""Universal parts of speech (Nivre et al. 2020) and the entities of CoNLL-2003, in words."""
PLACES = {"B": "first word of a", "I": "inside a", "E": "last word of a", "S": "whole"}
MOST_WORDS = 2_000  # of a sentence, or of a paragraph


def labels(model: Classifier, text: str) -> dict[str, Any]:
    """The probability of each label, how much each word speaks for the likeliest, what is said of the nodes of a tree.

    Args:
        text: a text, two with a tab between them, or a bracketed tree. A classifier that reads no trees reads its
            words; one that does reads a text without brackets as a tree that branches to the right.

    Raises:
        InputError: it is none of these, or too long.
    """
    if len(text.split()) > MOST_WORDS:
        raise InputError(f"a text of {len(text.split()):,} words; the explorer reads {MOST_WORDS:,}: cut it")
    plain = getattr(model, "reads_trees", False) and not text.lstrip().startswith("(")
    if plain:
        example = parsed(model, right_branching(text.split()))
    else:
        example = parsed(model, text if getattr(model, "reads_trees", False) else words_of_tree(text))
    example = normalised(model, example)
    (found,) = answer(model, [example], len(model.labels), explain=False)
    why = decision(model, example, model.labels.index(found.top[0][0]), found.top[0][1])
    note = "no brackets were given: read as a tree that branches to the right" if plain else ""
    return {
        "note": note,
        "labels": [{"label": label, "probability": p} for label, p in found.top],
        "words": [asdict(mark) for mark in marked(why.pieces, why.weights, why.text)],
        "attention": [asdict(mark) for mark in attended(why.pieces, why.attention, why.text)] if why.attention else [],
        **_drawn(why, model.labels),
    }


def right_branching(words: Sequence[str]) -> str:
    """A bracketed tree over words that have no brackets: (a (b c)).

    Raises:
        InputError: there is no word, there are too many for a tree, or one holds a bracket.
    """
    if not 0 < len(words) <= DEEPEST // 4 or any("(" in word or ")" in word for word in words):
        raise InputError(
            "this classifier reads trees: type a sentence, of up to "
            f"{DEEPEST // 4:,} words and none with brackets in it, or a tree such as ((it) ((was) ((not) (boring))))"
        )
    text = f"({words[-1]})"
    for word in reversed(words[:-1]):
        text = f"(({word}) {text})"
    return text


def words_of_tree(text: str) -> str:
    """The words of a bracketed tree; any other text as it is."""
    tree = _tree(text)
    return text.strip() if tree is None else " ".join(tree.words)


def _tree(text: str) -> Tree | None:
    if not text.lstrip().startswith("("):
        return None
    try:
        return parse_tree(text)
    except ValueError:
        return None  # a text in brackets


def _drawn(why: Decision, names: Sequence[str]) -> dict[str, Any]:
    """The tree as a drawing, and the same in words, the root first."""
    if not why.tree:
        return {"tree": None, "nodes": [], "legend": {}, "too_large": False}
    words = why.text.split(" ")
    drawn = tree_plot(
        why.tree, words, names, f"The tree of {plain(why.text[:200])}, each node with its likeliest label"
    )
    told = [
        {"text": " ".join(words[place] for place in covered), "label": node.said, "probability": node.probability}
        for node, covered in zip(why.tree, _covered(why.tree), strict=True)
    ]
    signs = {label: sign for label, (sign, _) in legend(names).items()}
    nodes = told[::-1][:MOST_NODES]
    # the page may bear no styles in its markup: its script sets them
    markup = None if drawn is None else str(drawn).replace(' style="', ' data-style="')
    return {"tree": markup, "nodes": nodes, "legend": signs, "too_large": drawn is None}


def _covered(nodes: Sequence[Node]) -> list[list[int]]:
    found: list[list[int]] = []
    for node in nodes:
        own = [] if node.word is None else [node.word]
        found.append(sorted(own + [word for child in node.children for word in found[child]]))
    return found


def tags(model: Tagger, sentence: str, mode: WordChoice) -> dict[str, Any]:
    """A tag for each word with its probability, given the whole sentence, and the second best.

    Args:
        mode: what is a word, as for `langladder tag`.

    Raises:
        InputError: there is no word, or there are too many.
    """
    line = " ".join(words_of_tree(sentence).split())
    if len(line.split()) > MOST_WORDS:
        raise InputError(f"a sentence of {len(line.split()):,} words; the explorer tags {MOST_WORDS:,}: cut it")
    (found,) = tag_lines(model, [line], mode, explain=True)
    if not found["words"]:
        raise InputError("no word to tag; type a sentence")
    names = [*found["tags"], *(tag for tag in found["second"] if tag is not None)]
    return found | {"names": {tag: tag_in_words(tag) for tag in dict.fromkeys(names)}}


def tag_in_words(tag: str) -> str:
    """What a tag means, "" where that is not known: NOUN is a noun, B-PER the first word of a person."""
    if tag == "O":
        return "no name"
    place, dash, kind = tag.partition("-")
    if dash and place in PLACES and kind in TAGS:
        return f"{PLACES[place]} {TAGS[kind]}"
    return TAGS.get(tag, "")


def found_answers(model: Reader, context: str, question: str, options: Sequence[str], best: int = 5) -> dict[str, Any]:
    """The best answers to a question about a paragraph, with where they stand in it.

    Args:
        options: the answers to choose from, for a reader that chooses.

    Raises:
        InputError: nothing is asked, of nothing, too much is read, or there is nothing to choose from.
    """
    context, question = " ".join(context.split()), " ".join(question.split())
    if not context or not question:
        raise InputError(f"no {'paragraph' if not context else 'question'}; type both")
    if len(context.split()) > MOST_WORDS:
        raise InputError(f"a paragraph of {len(context.split()):,} words; the explorer reads {MOST_WORDS:,}: cut it")
    if model.chooses and len(set(options)) < 2:
        raise InputError("this reader chooses among options: type two or more different ones, one a line")
    asked = Question(context, question, (), tuple(dict.fromkeys(options)) if model.chooses else ())
    (found,) = model.answers([asked], best)
    return {"context": context, "chooses": model.chooses, "answers": [one._asdict() for one in found]}
