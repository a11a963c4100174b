"""`langladder classify`, `tag`, `answer` and `fill`: commands that answer each line of a text."""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.answers.requests import AnswerRequest, ClassifyRequest, FillRequest, TagRequest
from langladder.faces.cli.input import input_lines, typed_lines
from langladder.faces.cli.options import FOLDER, json_option, options
from langladder.faces.cli.output import echo, note, note_reading, print_json, print_table
from langladder.ground.errors import InputError, printable

if TYPE_CHECKING:
    from langladder.answers.classify import Classification
    from langladder.answers.tag import TaggedLine
    from langladder.evaluation.classifier import Node
    from langladder.models.classification.classifier import Classifier
    from langladder.models.reading.reader import Found, Reader
    from langladder.models.tagging.tagger import Tagger

TEXTS = 256  # lines per batch: enough to group similar lengths, few enough to see answers soon
SENTENCES = 512  # tagged together
TAG_COLOURS = (
    *("cyan", "green", "yellow", "magenta", "blue"),
    *("bright_red", "bright_cyan", "bright_green", "bright_yellow"),
)
# of the 256 colours of a terminal, from pale to full, with black letters: readable on dark and light
FOR, AGAINST, SEEN = (195, 153, 111, 75), (224, 217, 210, 203), (194, 157, 120, 83)
LEVELS = 4
BLACK = 16


@click.command(short_help="Classify texts, a file, or lines from a pipe.")
@click.argument("model", type=FOLDER)
@click.argument("texts", nargs=-1, metavar="[FILE | TEXT]...")
@options(ClassifyRequest)
@json_option
def classify(model: Path, texts: tuple[str, ...], request: ClassifyRequest, as_json: bool) -> None:
    """Classify each TEXT, and each line of each FILE (also .gz; - is the standard input).

    There is one answer for each input line; a blank line has no label. Without TEXT and FILE, the command reads from a
    pipe, or asks for texts. MODEL is a folder that the pipeline wrote. For pairs of texts, separate the two texts of a
    line with a tab. A classifier of trees reads one bracketed tree per line, and a line without
    brackets as a tree that branches to the right; a note says so.

    A terminal gets a table; a pipe gets lines of label, probability and text, separated by tabs.

    \b
    Examples:
      langladder classify models/classifier/logistic reviews.txt --top 2
      langladder classify models/classifier/bilstm "the film was not boring ." --explain
      langladder classify models/classifier/tree_lstm "((not) (boring))" --explain
    """
    from langladder.answers.classify import BLANK, example_of
    from langladder.answers.classify import classify as classified
    from langladder.answers.loading import read_classifier

    classifier = read_classifier(model)
    if not texts and sys.stdin.isatty():
        _classify_typed(model, classifier, request, as_json)
        return
    lines = list(input_lines(texts))
    note_reading(model, [line for _, line in lines])
    examples = [example_of(classifier, line, where) if line.strip() else BLANK for where, line in lines]
    answers: list[Classification] = []
    noted: set[str | None] = {None}
    for first in range(0, len(examples), TEXTS):
        part = classified(classifier, examples[first : first + TEXTS], request)
        for reading in {entry.note for entry in part} - noted:
            note(reading)
            noted.add(reading)
        if as_json:
            answers += part
        else:
            _print_labels(part, legend=first == 0)
    if as_json:
        print_json({"labels": classifier.labels, "texts": [entry.as_dict() for entry in answers]})


def _classify_typed(model: Path, classifier: "Classifier", request: ClassifyRequest, as_json: bool) -> None:
    from langladder.answers.classify import classify as classified
    from langladder.answers.classify import example_of

    legend = True
    for line in typed_lines("A text a line; Ctrl-D ends."):
        if not line.strip():
            continue
        try:
            result = classified(classifier, [example_of(classifier, line)], request)
        except InputError as error:
            echo(f"Error: {error}", err=True)
            continue
        note(result[0].note)
        note_reading(model, [line])
        print_json(result[0].as_dict()) if as_json else _print_labels(result, legend=legend)
        legend = False


def _print_labels(answers: "Sequence[Classification]", *, legend: bool) -> None:
    if any(entry.explained is not None for entry in answers):
        if legend:
            click.echo(legend_line())
        for entry in answers:
            click.echo(explanation(entry) if entry.explained is not None else "")
    elif not sys.stdout.isatty():
        for entry in answers:
            echo("\t".join([*(f"{label}\t{p:.4f}" for label, p in entry.top), entry.line]))
    else:
        most = max((len(entry.top) for entry in answers), default=0)
        columns = ["label", "p", *(name for index in range(2, most + 1) for name in (f"{index}.", "p")), "text"]
        rows = [
            [
                *(cell for result in entry.top for cell in result),
                *[""] * 2 * (most - len(entry.top)),
                entry.line.replace("\t", " ‖ "),
            ]
            for entry in answers
        ]
        print_table(columns, rows)


def coloured() -> bool:
    """Whether the standard output is a terminal with colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def legend_line() -> str:
    """What the colours of words mean, or the signs after them if there are no colours."""
    speaking = [_marked("speaks for the label", 1.0, 1.0, FOR), _marked("against it", -1.0, 1.0, AGAINST)]
    return f"Words: {', '.join(speaking)}; the stronger, the {'fuller' if coloured() else 'more'}."


def explanation(answer: "Classification") -> str:
    """Print the labels of a text, then its words with their weights or attention, or the nodes of its tree."""
    why = answer.explained
    assert why is not None
    lines = [printable(", ".join(f"{label} {p:.4f}" for label, p in answer.top))]
    most = max(map(abs, why.weights), default=0.0)
    words = (
        _marked(_word(piece), weight, most, FOR if weight > 0 else AGAINST)
        for piece, weight in zip(why.pieces, why.weights, strict=True)
    )
    lines.append("  " + " ".join(words))
    if why.attention:
        lines.append("  attention: " + _attended(why.pieces, why.attention))
    if why.tree:
        lines += _nodes(why.tree, (why if answer.note else answer.example).text.split(" "))
    return "\n".join(lines)


def _attended(pieces: Sequence[str], weights: Sequence[float]) -> str:
    """In per cent if there are no colours."""
    most, rows = max(weights, default=0.0), list(zip(pieces, weights, strict=True))
    if coloured():
        return " ".join(_marked(_word(piece), weight, most, SEEN) for piece, weight in rows)
    return " ".join(f"{_word(piece)}[{100 * weight:.0f}]" for piece, weight in rows)


def _word(piece: str) -> str:
    return printable(piece.strip("▁ ")) or "␣"


def _marked(text: str, weight: float, most: float, colours: Sequence[int]) -> str:
    level = round(LEVELS * abs(weight) / most) if most > 0 else 0
    if not level:
        return text
    if coloured():
        return click.style(text, fg=BLACK, bg=colours[level - 1])
    return f"{text}[{('+' if weight > 0 else '-') * level}]"


def _nodes(nodes: "Sequence[Node]", words: Sequence[str]) -> Iterator[str]:
    """Print one line per node, the root first; children are indented below their parent."""
    from langladder.answers.classify import words_below

    waiting, covered = [(len(nodes) - 1, 0)], words_below(nodes)
    while waiting:
        index, depth = waiting.pop()
        node = nodes[index]
        text = f"{node.said} {node.probability:.2f}  {' '.join(words[w] for w in covered[index])}"
        yield "  " * (depth + 1) + printable(text)
        waiting += [(child, depth + 1) for child in sorted(node.children, key=lambda child: -covered[child][0])]


@click.command(short_help="Tag the words of sentences, of a file, or of lines from a pipe.")
@click.argument("model", type=FOLDER)
@click.argument("texts", nargs=-1, metavar="[FILE | SENTENCE]...")
@options(TagRequest)
@json_option
def tag(model: Path, texts: tuple[str, ...], request: TagRequest, as_json: bool) -> None:
    """Tag the words of each SENTENCE, and of each line of each FILE (also .gz; - is the standard input).

    There is one output line for each input line; a blank line gives an empty one. Without SENTENCE and FILE, the
    command reads from a pipe, or asks for sentences. MODEL is a folder that the pipeline wrote. Words should look as in
    the training text, with punctuation separated: `the dog sleeps .`; --words apart separates it for you.

    The probability of a tag is its marginal given the whole sentence. On a terminal each tag has a colour.

    \b
    Examples:
      langladder tag models/tagger/bilstm_crf "the dog sleeps ." --explain
      langladder tag models/tagger/hmm sentences.txt --json
      langladder tag models/tagger/bilstm_crf
    """
    from langladder.answers.loading import read_tagger
    from langladder.answers.tag import tag as tagged

    tagger = read_tagger(model)
    if not texts and sys.stdin.isatty():
        for line in typed_lines("One sentence per line, punctuation separated from words; Ctrl-D ends."):
            if line.strip():
                (answer,) = tagged(tagger, [line], request)
                note_reading(model, [line])
                print_json(answer.as_dict()) if as_json else _print_tags(tagger, [answer])
        return
    lines = [line for _, line in input_lines(texts)]
    note_reading(model, lines)
    answers: list[TaggedLine] = []
    for first in range(0, len(lines), SENTENCES):
        part = tagged(tagger, lines[first : first + SENTENCES], request)
        if as_json:
            answers += part
        else:
            _print_tags(tagger, part)
    if as_json:
        print_json({"sentences": [answer.as_dict() for answer in answers]})


def _print_tags(model: "Tagger", answers: "Sequence[TaggedLine]") -> None:
    colours = {name: TAG_COLOURS[index % len(TAG_COLOURS)] for index, name in enumerate(model.tags)}
    for entry in answers:
        # click removes the colours in a pipe or file
        plain = printable if sys.stdout.isatty() else str
        tagged = zip(entry.words, entry.tags, strict=True)
        click.echo(" ".join(f"{plain(word)}/{click.style(plain(name), fg=colours[name])}" for word, name in tagged))
        if entry.words and entry.probabilities and entry.second and entry.second_probabilities:
            rows = list(
                zip(entry.words, entry.tags, entry.probabilities, entry.second, entry.second_probabilities, strict=True)
            )
            print_table(["word", "tag", "p", "second best", "p"], rows)


@click.command(short_help="Answer questions about a paragraph from its text.")
@click.argument("model", type=FOLDER)
@click.argument("texts", nargs=-1, metavar="[FILE | QUESTION]...")
@click.option(
    "--context", "paragraph", metavar="FILE | TEXT", required=True, help="The paragraph, or a file with the paragraph."
)
@options(AnswerRequest, options="--option")
@json_option
def answer(model: Path, texts: tuple[str, ...], paragraph: str, request: AnswerRequest, as_json: bool) -> None:
    """Answer each QUESTION, and each line of each FILE (also .gz; - is the standard input).

    Without QUESTION and FILE, the command reads from a pipe, or asks for questions. MODEL is a folder that the pipeline
    wrote. The answer is a span of the paragraph, or one of the options if MODEL chooses among options. A terminal shows
    it marked in the paragraph. A pipe gets lines of answer, first character, score and question, separated by tabs; a
    blank line gives an empty line.

    \b
    Examples:
      langladder answer models/reader_transfer/bert_span "where does anna live ?" --context text.txt
      langladder answer models/reader/sliding_window questions.txt --context "anna lives in paris ."
      langladder answer models/reader_transfer/gpt_choice "where does anna live ?" --context text.txt
        --option paris --option berlin
    """
    from langladder.answers.loading import read_reader

    reader, chosen = read_reader(model), list(request.options)
    if chosen and not reader.chooses:
        raise InputError(f"--option: {model} finds a span in the paragraph; it does not choose among options")
    if len(chosen) == 1 or len(set(chosen)) < len(chosen):
        raise InputError(f"--option: {chosen}; give two or more different options")
    context = " ".join(line.strip() for _, line in input_lines([paragraph]) if line.strip())
    if not context:
        raise InputError(f"--context: {paragraph[:60]!r} is empty")
    if not texts and sys.stdin.isatty():
        for line in typed_lines("One question per line; Ctrl-D ends."):
            if line.strip():
                note_reading(model, [context, line])
                _print_answers(reader, context, [line], request, as_json)
        return
    questions = [line for _, line in input_lines(texts)]
    note_reading(model, [context, *questions, *chosen])
    _print_answers(reader, context, questions, request, as_json)


def _print_answers(reader: "Reader", context: str, lines: Sequence[str], request: AnswerRequest, as_json: bool) -> None:
    from langladder.answers.answer import answer as answered
    from langladder.text.labelled.questions import Question

    answers = answered(reader, [Question(context, line.strip(), (), tuple(request.options)) for line in lines], request)
    if as_json:
        questions = [
            {"question": line, "answers": [_as_dict(entry) for entry in some]}
            for line, some in zip(lines, answers, strict=True)
        ]
        print_json({"context": context, "questions": questions})
        return
    for line, some in zip(lines, answers, strict=True):
        if not some:
            click.echo("")
            continue
        if not sys.stdout.isatty():
            for entry in some:
                echo(f"{entry.text}\t{entry.start if entry.start >= 0 else ''}\t{entry.score:.4f}\t{line}")
            continue
        echo(line)
        click.echo(_in_context(context, some[0]))
        print_table(
            ["answer", "score", "p"], [(entry.text or "no answer", entry.score, entry.probability) for entry in some]
        )


def _in_context(context: str, result: "Found") -> str:
    if result.start < 0:
        return printable(context)
    end = result.start + len(result.text)
    span = click.style(printable(result.text), fg="green", bold=True)
    return printable(context[: result.start]) + span + printable(context[end:])


def _as_dict(result: "Found") -> dict[str, object]:
    """As JSON; `start` is null if the answer is not a span."""
    return result._asdict() | {"start": result.start if result.start >= 0 else None}


@click.command(short_help="Fill the gaps (<mask>) of sentences, of a file, or of lines from a pipe.")
@click.argument("model", type=FOLDER)
@click.argument("texts", nargs=-1, metavar="[FILE | SENTENCE]...")
@options(FillRequest)
@json_option
def fill(model: Path, texts: tuple[str, ...], request: FillRequest, as_json: bool) -> None:
    """Fill the gaps of each SENTENCE, and of each line of each FILE (also .gz; - is the standard input).

    MODEL is the folder of an encoder. `<mask>` stands for one token: a frequent word, or part of a word. If there are
    several gaps, each is filled independently.

    \b
    Examples:
      langladder fill models/encoder/bert_mini "the <mask> sleeps ."
      langladder fill models/encoder/bert_mini sentences.txt --best 1 --json
    """
    from langladder.answers.fill import fill as filled
    from langladder.answers.loading import read_encoder

    encoder = read_encoder(model)
    answers = []
    lines = [line for _, line in input_lines(texts)]
    for line in lines:
        gaps = filled(encoder, line, request) if line.strip() else []
        if as_json:
            answers.append({"sentence": line, "gaps": [[filling._asdict() for filling in gap] for gap in gaps]})
            continue
        echo(line)
        rows = [
            (index, filling.text, f"{filling.probability:.3f}")
            for index, gap in enumerate(gaps, start=1)
            for filling in gap
        ]
        print_table(["gap", "word", "p"], rows)
    note_reading(model, lines)
    if as_json:
        print_json({"sentences": answers})
