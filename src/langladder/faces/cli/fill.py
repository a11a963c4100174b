"""`langladder fill`: the likeliest words for the gaps of a sentence, by an encoder."""

from pathlib import Path

import click

from langladder.faces.cli.encoders import read_encoder
from langladder.faces.cli.output import echo, json_option, print_json, print_table
from langladder.faces.cli.reading import lines_given


@click.command(short_help="Fill the gaps (<mask>) of sentences, of a file, or of what comes through a pipe.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("given", nargs=-1, metavar="[FILE | SENTENCE]...")
@click.option("--best", type=click.IntRange(1, 1000), default=5, show_default=True, help="Words for each gap.")
@json_option
def fill(model: Path, given: tuple[str, ...], best: int, as_json: bool) -> None:
    """Fill the gaps of each SENTENCE, and of those in each FILE, one a line (also .gz; - is the standard input).

    MODEL is an encoder's folder. `<mask>` stands for one token, a word that is frequent enough to be one or a part of a
    word; several gaps are filled each by itself.

    \b
    Examples:
      langladder fill models/encoder/bert_mini "the <mask> sleeps ."
      langladder fill models/encoder/bert_mini sentences.txt --best 1 --json
    """
    from langladder.decoding.fill import fill as filled

    encoder = read_encoder(model)
    answers = []
    for _, line in lines_given(given):
        gaps = filled(encoder.model, encoder.tokenizer, line, best=best) if line.strip() else []
        if as_json:
            answers.append({"sentence": line, "gaps": [[one._asdict() for one in gap] for gap in gaps]})
            continue
        echo(line)
        rows = [(place, one.text, f"{one.probability:.3f}") for place, gap in enumerate(gaps, start=1) for one in gap]
        print_table(["gap", "word", "p"], rows)
    if as_json:
        print_json({"sentences": answers})
