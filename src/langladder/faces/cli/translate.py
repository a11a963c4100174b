"""`langladder translate`: sentences, files, or a conversation, by one translator or several side by side."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.answers.requests import TranslateRequest
from langladder.faces.cli.input import LONGEST_LINE, TOO_LONG, standard_input, typed_lines
from langladder.faces.cli.options import FOLDER, json_option, options, overwrite_option
from langladder.faces.cli.output import STDOUT, Cell, as_text, claim, echo, note_reading, print_json, print_table
from langladder.ground.errors import InputError, needs, printable
from langladder.text.words.direction import clusters, direction

if TYPE_CHECKING:
    from langladder.answers.loading import LoadedTranslator
    from langladder.answers.translate import SentenceTranslations

CHUNK = 512  # lines per batch: enough to sort by length, few enough to see answers soon
SHADES = ("  ", "░░", "▒▒", "▓▓", "██")  # of attention: below 5 %, 25 %, 50 %, 75 %, and above
BOUNDS = (0.05, 0.25, 0.5, 0.75)
KEPT = "\u200e"  # between right-to-left letters: a terminal that reorders them keeps each in its column
WIDEST = 40  # source tokens in a row if the output is a pipe


@click.command(short_help="Translate sentences, a file, or lines from a pipe.")
@click.argument("model", type=FOLDER)
@click.argument("sentences", nargs=-1, metavar="[SENTENCE]...")
@click.option("-m", "--model", "others", type=FOLDER, multiple=True, help="Another model, for comparison.")
@click.option("-f", "--file", type=FOLDER, help="Sentences to translate, one per line (also .gz).")
@click.option("-o", "--out", type=FOLDER, help="Write to this file instead of the terminal (also .gz).")
@options(TranslateRequest)
@click.option("--attention-svg", type=FOLDER, help="Draw the attention into a file (one sentence, one model).")
@overwrite_option
@click.option("--progress/--no-progress", default=None, help="Show a progress bar [default: if no lines are printed].")
@json_option
def translate(
    model: Path,
    sentences: tuple[str, ...],
    others: tuple[Path, ...],
    file: Path | None,
    out: Path | None,
    request: TranslateRequest,
    attention_svg: Path | None,
    overwrite: bool,
    progress: bool | None,
    as_json: bool,
) -> None:
    """Translate each SENTENCE, or a file, or lines from a pipe; without any of these, the command asks for sentences.

    MODEL is a folder that the pipeline wrote. Sentences should look as in the training text (case, spaces). With one
    model and one translation for each sentence, there is one output line for each input line; else a table for each
    sentence.

    \b
    Examples:
      langladder translate models/translator/attention "the cat sleeps ." --attention
      langladder translate models/translator/attention -m models/translator/transformer "a cat ."
      langladder translate models/translator/attention -f test.en -o test.eo --beam 10
    """
    if sentences and file is not None:
        raise click.UsageError("give either sentences or --file, not both")
    if attention_svg is not None and (len(sentences) != 1 or others):
        raise click.UsageError("--attention-svg needs one sentence and one model")
    out, attention_svg = _claimed(out, attention_svg, overwrite, [model, *others, file])
    from langladder.answers.translate import read_translators

    request.search()  # refuses options that contradict each other before a model is read
    models = read_translators([model, *others])
    if attention_svg is not None:
        _draw_attention(models[0], sentences[0], request, attention_svg)
    if not sentences and file is None and sys.stdin.isatty():
        _converse([model, *others], models, request, as_json)
        return
    lines = list(sentences) if sentences else _read(file)
    for language_model in (model, *others):
        note_reading(language_model, lines)
    if progress is None:
        progress = not sentences and sys.stderr.isatty() and (out is not None or not sys.stdout.isatty())
    answers = _answers(models, request, lines, progress)
    plain = _is_plain(models, request)
    if out is not None:
        _write(out, answers, plain, as_json)
    elif as_json:
        print_json({"sentences": [answer.as_dict() for answer in answers]})
    else:
        for answer in answers:
            _print(answer, plain)


def _is_plain(models: "Sequence[LoadedTranslator]", request: TranslateRequest) -> bool:
    """Whether one line for each sentence is enough."""
    return len(models) == 1 and request.n_best == 1 and not request.attention


def _claimed(
    out: Path | None, picture: Path | None, overwrite: bool, reads: list[Path | None]
) -> tuple[Path | None, Path | None]:
    """Both output paths, if requested; the standard output is None, as if --out were not given."""
    if picture == STDOUT:
        raise InputError("--attention-svg -: give a file")
    text, drawing = (None if path is None else claim(path, overwrite, reads) for path in (out, picture))
    if text is not None and drawing is not None and text.resolve() == drawing.resolve():
        raise InputError(f"{out}: given twice, for the translations and for the picture")
    return None if text == STDOUT else text, drawing


def _read(file: Path | None) -> list[str]:
    if file is None:
        return standard_input()
    from langladder.text.read.lines import read_lines

    return list(read_lines(file, max_bytes=LONGEST_LINE, advice=TOO_LONG))


def _answers(
    models: "Sequence[LoadedTranslator]", request: TranslateRequest, lines: list[str], progress: bool
) -> "Iterator[SentenceTranslations]":
    from langladder.answers.translate import translate_by_all
    from langladder.ground.progress import working

    with working("translating", len(lines), "sentences", always=progress) as task:
        for start in range(0, len(lines), CHUNK):
            part = lines[start : start + CHUNK]
            yield from translate_by_all(models, part, request.search(), attention=request.attention)
            task.advance(len(part))


def _write(out: Path, answers: "Iterator[SentenceTranslations]", plain: bool, as_json: bool) -> None:
    from langladder.text.read.lines import writing

    if as_json:
        text = as_text({"sentences": [answer.as_dict() for answer in answers]}) + "\n"
    elif plain:
        text = "".join(answer.best + "\n" for answer in answers)
    else:
        raise InputError(f"{out}: a text file has one translation by one model per line; for more, add --json")
    with writing(out) as file:  # gzipped if the name ends in .gz
        file.write(text.encode())


def _converse(
    folders: Sequence[Path], models: "Sequence[LoadedTranslator]", request: TranslateRequest, as_json: bool
) -> None:
    from langladder.answers.translate import translate_by_all

    for line in typed_lines("One sentence per line; Ctrl-D ends."):
        try:
            (answer,) = translate_by_all(models, [line], request.search(), attention=request.attention)
        except InputError as error:
            echo(f"Error: {error}", err=True)
            continue
        for folder in folders:
            note_reading(folder, [line])
        print_json(answer.as_dict()) if as_json else _print(answer, _is_plain(models, request))


def _print(answer: "SentenceTranslations", plain: bool) -> None:
    if plain:
        echo(answer.best)
        return
    rows: list[list[Cell]] = [
        [result.model if index == 0 else "", candidate.text, candidate.score, candidate.log_prob]
        for result in answer.found
        for index, candidate in enumerate(result.candidates)
    ]
    print_table(["model", "translation", "score", "log P"], rows, title=answer.source or " ")
    for result in answer.found:
        best = result.candidates[0] if result.candidates else None
        if best is not None and best.attention is not None:
            print_attention(result.model, best.source_tokens, best.output_tokens, best.attention)


def _draw_attention(loaded: "LoadedTranslator", line: str, request: TranslateRequest, path: Path) -> None:
    """Draw the attention of each token of the best translation, as SVG.

    Raises:
        InputError: the model has no attention, or the line is empty.
    """
    from langladder.answers.translate import translate as translated
    from langladder.evaluation.translation import Translation

    with needs("report", "--attention-svg"):
        from langladder.faces.report.translators import attention_plot
    from langladder.ground.artefacts import write_text

    (result,) = translated(loaded, [line], request.search(), attention=True)
    if not result.candidates:
        raise InputError("--attention-svg: the sentence is empty")
    best = result.candidates[0]
    example = Translation(
        source=line,
        reference="",
        output=best.text,
        source_tokens=best.source_tokens,
        output_tokens=best.output_tokens,
        attention=best.attention,
    )
    svg = attention_plot(example, "attention", result.model, standalone=True)
    assert svg is not None  # `found` has weights
    write_text(path, svg)


def print_attention(
    title: str, source: Sequence[str], output: Sequence[str], weights: Sequence[Sequence[float]]
) -> None:
    """Print attention as characters: rows are output tokens, columns source tokens; fuller characters mean more weight.

    A column is two terminal cells wide, like a Chinese character; letters keep their combining marks. The columns of a
    right-to-left source begin at the right. A wide map is split into parts as wide as the terminal.

    Args:
        weights: (output tokens, source tokens).
    """
    from rich.console import Console
    from rich.text import Text

    source, output = ([printable(token.strip()) for token in tokens] for tokens in (source, output))
    terminal = sys.stdout.isatty()
    console = Console(force_terminal=terminal, highlight=False, color_system="auto" if terminal else None)
    fits = max(1, (console.width - _label_width(output) - 2) // 2) if terminal else WIDEST
    console.print(Text(printable(f"attention of {title}")), soft_wrap=True)
    for first in range(0, len(source), fits):
        part = slice(first, first + fits)
        for line in attention_lines(source[part], output, [row[part] for row in weights]):
            console.print(Text(line), soft_wrap=True)


def attention_lines(source: Sequence[str], output: Sequence[str], weights: Sequence[Sequence[float]]) -> list[str]:
    """The map as lines: source tokens from top to bottom above their columns, then one line for each output token."""
    from rich.cells import cell_len

    between = ""
    if direction(" ".join(source)) == "rtl":
        source, weights, between = source[::-1], [row[::-1] for row in weights], KEPT
    width = _label_width(output)
    columns = [_column(token) for token in source]
    height = max(map(len, columns))
    columns = [[" "] * (height - len(letters)) + list(letters) for letters in columns]
    rows = (between.join(letter + " " * (2 - cell_len(letter)) for letter in row) for row in zip(*columns, strict=True))
    lines = [" " * (width + 1) + row for row in rows]
    for token, row_weights in zip(output, weights, strict=True):
        label = " " * (width - cell_len(token)) + token
        lines.append(label + " " + "".join(SHADES[sum(weight >= bound for bound in BOUNDS)] for weight in row_weights))
    return [line.rstrip(f" {KEPT}") for line in lines]


def _column(token: str) -> list[str]:
    r"""What stands below each other in a column: letters with their marks; of `\xe4\xbd`, torn bytes, their digits."""
    parts = re.split(r"\\x([0-9a-f]{2})", token)  # every other one is the digits of a byte
    return [cell for at, part in enumerate(parts) for cell in ([part] if at % 2 else clusters(part))]


def _label_width(output: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, output))
