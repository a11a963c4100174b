"""`langladder translate`: sentences, files, or a conversation, by one translator or several side by side."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.faces.cli.out import STDOUT, claim, overwrite_option
from langladder.faces.cli.output import Cell, as_text, echo, json_option, print_json, print_table
from langladder.faces.cli.reading import LARGEST_SEED, LONGEST_LINE, TOO_LONG, Number, asked, standard_input
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.faces.cli.translators import Answer, Request

CHUNK = 512  # lines searched together: long enough to be sorted by length, short enough to see them come


@click.command(short_help="Translate sentences, a file, or what comes through a pipe.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("sentences", nargs=-1, metavar="[SENTENCE]...")
@click.option("-m", "--model", "others", type=click.Path(path_type=Path), multiple=True, help="Another, side by side.")
@click.option("-f", "--file", type=click.Path(path_type=Path), help="Sentences to translate, one per line (also .gz).")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Write here, not to the terminal (also .gz).")
@click.option("--beam", type=click.IntRange(1, 1000), default=5, show_default=True, help="Beam width; 1 is greedy.")
@click.option("--alpha", type=Number(0, 2), default=0.7, show_default=True, help="Length normalisation.")
@click.option("--length-form", type=click.Choice(["power", "gnmt"]), default="power", show_default=True)
@click.option("--coverage", type=Number(0, 100), default=0.0, help="Weight of the coverage penalty.")
@click.option("--n-best", type=click.IntRange(1, 1000), default=1, show_default=True, help="Translations to show.")
@click.option("--groups", type=click.IntRange(1, 1000), default=1, show_default=True, help="Of diverse beam search.")
@click.option("--diversity", type=Number(0, 1000), default=0.5, show_default=True, help="Between the groups.")
@click.option("--min-length", type=click.IntRange(0, 10_000), default=1, show_default=True, help="Fewest tokens.")
@click.option("--max-length", type=click.IntRange(1, 10_000), default=200, show_default=True, help="Most tokens.")
@click.option("--sample", is_flag=True, help="Draw --n-best translations instead of searching.")
@click.option("--temperature", type=Number(0.01, 100), default=1.0, help="Of --sample.")
@click.option("--top-k", type=click.IntRange(min=1), help="Of --sample.")
@click.option("--top-p", type=Number(0, 1, min_open=True), help="Of --sample.")
@click.option("--seed", type=click.IntRange(0, LARGEST_SEED), default=0, show_default=True, help="Of --sample.")
@click.option("--attention", is_flag=True, help="Show what each token was written from.")
@click.option(
    "--attention-svg", type=click.Path(path_type=Path), help="Draw that into a file (one sentence, one model)."
)
@overwrite_option
@click.option("--progress/--no-progress", default=None, help="A bar  [default: where lines do not show it].")
@json_option
def translate(
    model: Path,
    sentences: tuple[str, ...],
    others: tuple[Path, ...],
    file: Path | None,
    out: Path | None,
    attention: bool,
    attention_svg: Path | None,
    overwrite: bool,
    progress: bool | None,
    as_json: bool,
    **search: Any,
) -> None:
    """Translate each SENTENCE, or a file, or what comes through a pipe; without any of these, ask for sentences.

    MODEL is a folder that the pipeline wrote. Sentences should look as in the training text (its case, its spaces).
    One model with one translation a sentence answers in lines, as many as came in; else there is a table a sentence.

    \b
    Examples:
      langladder translate models/translator/attention "the cat sleeps ." --attention
      langladder translate models/translator/attention -m models/translator/transformer "a cat ."
      langladder translate models/translator/attention -f test.en -o test.eo --beam 10
    """
    if sentences and file is not None:
        raise click.UsageError("sentences and --file: give either")
    if attention_svg is not None and (len(sentences) != 1 or others):
        raise click.UsageError("--attention-svg draws one sentence of one model")
    out, attention_svg = _places(out, attention_svg, overwrite, [model, *others, file])
    from langladder.faces.cli.translators import Request

    request = Request.build([model, *others], attention, search)
    if attention_svg is not None:
        request.draw(sentences[0], attention_svg)
    if not sentences and file is None and sys.stdin.isatty():
        _converse(request, as_json)
        return
    lines = list(sentences) if sentences else _read(file)
    if progress is None:
        progress = not sentences and sys.stderr.isatty() and (out is not None or not sys.stdout.isatty())
    answers = _answers(request, lines, progress)
    if out is not None:
        _write(out, answers, request, as_json)
    elif as_json:
        print_json({"sentences": [answer.as_dict() for answer in answers]})
    else:
        for answer in answers:
            _show(answer, request)


def _places(
    out: Path | None, picture: Path | None, overwrite: bool, reads: list[Path | None]
) -> tuple[Path | None, Path | None]:
    """Both places to write, where they are asked for; the standard output is None, as if --out were not given."""
    if picture == STDOUT:
        raise InputError("--attention-svg -: name a file")
    text, drawing = (None if path is None else claim(path, overwrite, reads) for path in (out, picture))
    if text is not None and drawing is not None and text.resolve() == drawing.resolve():
        raise InputError(f"{out}: named twice, for the translations and for the picture")
    return None if text == STDOUT else text, drawing


def _read(file: Path | None) -> list[str]:
    if file is None:
        return standard_input()
    from langladder.text.read.lines import read_lines

    return list(read_lines(file, max_bytes=LONGEST_LINE, advice=TOO_LONG))


def _answers(request: "Request", lines: list[str], progress: bool) -> Iterator["Answer"]:
    from langladder.ground.progress import working

    with working("translating", len(lines), "sentences", always=progress) as task:
        for start in range(0, len(lines), CHUNK):
            part = lines[start : start + CHUNK]
            yield from request.answer(part)
            task.advance(len(part))


def _write(out: Path, answers: Iterator["Answer"], request: "Request", as_json: bool) -> None:
    from langladder.text.read.lines import writing

    if as_json:
        text = as_text({"sentences": [answer.as_dict() for answer in answers]}) + "\n"
    elif request.plain:
        text = "".join(answer.best + "\n" for answer in answers)
    else:
        raise InputError(f"{out}: a text file takes one translation of one model a line; for more, add --json")
    with writing(out) as file:  # gzipped where the name says so
        file.write(text.encode())


def _show(answer: "Answer", request: "Request") -> None:
    if request.plain:
        echo(answer.best)
        return
    rows: list[list[Cell]] = [
        [found.model if place == 0 else "", candidate.text, candidate.score, candidate.log_prob]
        for found in answer.found
        for place, candidate in enumerate(found.candidates)
    ]
    print_table(["model", "translation", "score", "log P"], rows, title=answer.source or " ")
    if request.attention:
        from langladder.faces.cli.attention_map import print_attention

        for found in answer.found:
            best = found.candidates[0] if found.candidates else None
            if best is not None and best.attention is not None:
                print_attention(found.model, best.source_tokens, best.output_tokens, best.attention)


def _converse(request: "Request", as_json: bool) -> None:
    for line in asked("A sentence a line; Ctrl-D ends."):
        try:
            (answer,) = request.answer([line])
        except InputError as error:
            echo(f"Error: {error}", err=True)
            continue
        print_json(answer.as_dict()) if as_json else _show(answer, request)
