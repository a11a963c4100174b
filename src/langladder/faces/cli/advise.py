"""`langladder advise`: which of the measured rungs is worth its cost on this text, in three sentences a kind."""

from pathlib import Path

import click

from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import echo, print_json
from langladder.ground.errors import needs


@click.command(short_help="Which of the rungs that were measured is worth its cost.")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=Path())
@json_option
def advise(folder: Path, as_json: bool) -> None:
    """Say which of the rungs that were measured in FOLDER (this one) is worth its cost on its text.

    FOLDER is a project, or ladders/NAME in one, after `dvc repro`: its reports/ and metrics/ are read. Each kind of
    rung gets three sentences: what there was to learn from and what is best; what the best costs beside a cheaper one
    that is within 2 % of it or within the ±; what word vectors and pre-training gave. Only measured figures are used,
    and what was not measured is named. The report has the same under "What should I use?". --json adds the figure, the
    training time and the size of the rung to use.

    \b
    Examples:
      langladder advise .
      langladder advise ladders/english --json
    """
    with needs("report", "advise"):
        from langladder.faces.report.advice import advice, lines, nothing_measured
        from langladder.faces.report.last_run import read_data, read_last_run

    found = advice(read_last_run(folder)) if (folder / "reports" / "ladder.json").is_file() else []
    if as_json:
        print_json([one._asdict() for one in found])
        return
    for line in list(lines(found)) or [nothing_measured(read_data(folder))]:
        echo(line)
