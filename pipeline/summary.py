"""What the last run made, in the terminal: the ladder and where to look next. `make repro` ends with it."""

from rich.console import Console

from langladder.errors import InputError
from pipeline.provenance.report_inputs import report_inputs

WIDTH = 100  # characters, where the output is no terminal
NEXT = """Look next:
  reports/index.html   the whole report, every column
  make compare         these figures beside those of the last commit
  make ui              every run with its settings and curves, side by side
  models/              the models, to take away"""


def main() -> None:
    from langladder.reporting.tables import ladder_rows, to_rich

    console = Console() if Console().is_terminal else Console(width=WIDTH)
    try:
        inputs = report_inputs()
    except InputError as error:
        console.print(str(error), style="red", markup=False, highlight=False)
        console.print("Run `dvc repro` first.", highlight=False)
        raise SystemExit(2) from error
    for table in to_rich(ladder_rows(inputs), console.width):
        console.print(table, "", sep="\n")
    console.print(NEXT, highlight=False)


if __name__ == "__main__":
    main()
