"""`langladder advise`: which measured rung is worth its cost on this text, in three sentences per kind."""

from pathlib import Path

import click

from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import echo, print_json
from langladder.ground.errors import needs


@click.command(short_help="Which of the measured rungs is worth its cost.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path())
@json_option
def advise(folder: Path, as_json: bool) -> None:
    """Say which of the measured rungs of FOLDER (default: this folder) is worth its cost on its text.

    FOLDER is a project, or ladders/NAME in a project, after `dvc repro`. The command reads its reports/ and metrics/.
    For each kind of rung it prints three sentences: the size of the data and the best rung; whether a cheaper rung is
    within 2 % of it, or not significantly different; the gain of word vectors and pre-training over the same network
    without them. It uses measured figures only, and says what was not measured. The report has the same sentences
    under "What should I use?". --json adds the figure, the processor time of training and the size of the rung to use.

    \b
    Examples:
      langladder advise .
      langladder advise ladders/english --json
    """
    with needs("report", "advise"):
        from langladder.faces.report.advice import advice, lines, nothing_measured
        from langladder.faces.report.last_run import read_data, read_last_run

    results = advice(read_last_run(folder)) if (folder / "reports" / "ladder.json").is_file() else []
    if as_json:
        print_json([line._asdict() for line in results])
        return
    for line in list(lines(results)) or [nothing_measured(read_data(folder))]:
        echo(line)
