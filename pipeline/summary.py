"""Print the results of the last run in the terminal: the ladder and where to look next. `make repro` ends with it.

    python -m pipeline.summary                # as wide as the terminal
    python -m pipeline.summary --markdown     # only the ladder and its tasks in words, as in docs/results/

It rewrites reports/timings.json, which a report from DVC's cache does not have.
"""

import sys

from rich.console import Console

from langladder.ground.artefacts import write_json
from langladder.ground.errors import InputError
from pipeline import INSTALLED, ROOT
from pipeline.tracking.report_inputs import report_inputs

MARKDOWN = "--markdown"
WIDTH = 100  # characters, if the output is not a terminal
COMPARE, UI = ("make compare", "make ui")
if INSTALLED:  # a project has no Makefile
    COMPARE, UI = "python -m pipeline.compare HEAD .", "mlflow ui --backend-store-uri sqlite:///mlflow.db"
NEXT = f"""Look next:
  reports/index.html   the whole report, every column
  models/              the trained models
  {COMPARE:20} these figures compared with those of the last commit
  {UI:20} every run with its settings and curves, side by side"""


def main() -> None:
    """Print the summary; exit code 2 if there are no results."""
    from langladder.faces.report.claims import prompts_markdown
    from langladder.faces.report.tables import brief, ladder_rows, ladder_timings, to_markdown, to_rich

    console = Console() if Console().is_terminal else Console(width=WIDTH)
    try:
        inputs = report_inputs(graph=False)
    except InputError as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        console.print("Run `dvc repro` first.", highlight=False)
        raise SystemExit(2) from error
    if MARKDOWN in sys.argv[1:]:
        print(to_markdown(brief(ladder_rows(inputs, steps=True))) + prompts_markdown(inputs), end="")
        return
    write_json(ROOT / "reports" / "timings.json", ladder_timings(inputs))
    for table in to_rich(ladder_rows(inputs), console.width):
        console.print(table, "", sep="\n")
    console.print(NEXT, highlight=False)


if __name__ == "__main__":
    main()
