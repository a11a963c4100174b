"""What classifiers, taggers and readers of questions say of one text: what the page Read shows, as plain values."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from langladder.answers.classify import (
    classify,
    example_of,
    normalised,
    reads_trees,
    right_branching,
    words_below,
    words_of_tree,
)
from langladder.answers.requests import ClassifyRequest, TagRequest
from langladder.answers.tag import tag
from langladder.evaluation.classifier import Decision, decision
from langladder.faces.report.bidi import plain
from langladder.faces.report.classifiers import attended, marked
from langladder.faces.report.tree_plot import MOST_NODES, legend, tree_plot
from langladder.ground.errors import InputError
from langladder.models.classifier import Classifier
from langladder.models.reader import Reader
from langladder.models.tagger import Tagger
from langladder.text.labelled.questions import Question
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
    plain = reads_trees(model) and not text.lstrip().startswith("(")
    if plain:
        example = example_of(model, right_branching(text.split()))
    else:
        example = example_of(model, text if reads_trees(model) else words_of_tree(text))
    example = normalised(model, example)
    (found,) = classify(model, [example], ClassifyRequest(top=None))
    why = decision(model, example, model.labels.index(found.top[0][0]), found.top[0][1])
    note = "no brackets were given: read as a tree that branches to the right" if plain else ""
    return {
        "note": note,
        "labels": [{"label": label, "probability": p} for label, p in found.top],
        "words": [asdict(mark) for mark in marked(why.pieces, why.weights, why.text)],
        "attention": [asdict(mark) for mark in attended(why.pieces, why.attention, why.text)] if why.attention else [],
        **_drawn(why, model.labels),
    }


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
        for node, covered in zip(why.tree, words_below(why.tree), strict=True)
    ]
    signs = {label: sign for label, (sign, _) in legend(names).items()}
    nodes = told[::-1][:MOST_NODES]
    # the page may bear no styles in its markup: its script sets them
    markup = None if drawn is None else str(drawn).replace(' style="', ' data-style="')
    return {"tree": markup, "nodes": nodes, "legend": signs, "too_large": drawn is None}


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
    (found,) = tag(model, [line], TagRequest(words=mode, explain=True))
    if not found.words:
        raise InputError("no word to tag; type a sentence")
    names = [*found.tags, *(name for name in found.second or () if name is not None)]
    return found.as_dict() | {"names": {name: tag_in_words(name) for name in dict.fromkeys(names)}}


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
