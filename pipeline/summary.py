"""What the last run made, in the terminal: the ladder and where to look next. `make repro` ends with it."""

from rich.console import Console

from langladder.errors import InputError
from pipeline.support.gather import gather


def main() -> None:
    from langladder.reporting.tables import ladder_rows, to_rich

    console = Console(width=None if Console().is_terminal else 140)
    try:
        inputs = gather()
    except InputError as error:
        console.print(f"[red]{error}[/red]\nRun `dvc repro` first.")
        raise SystemExit(2) from error
    for table in to_rich(ladder_rows(inputs)):
        console.print(table)
    console.print(
        "Look next:  reports/index.html (the whole report) · `make ui` (every run, side by side) · models/ (take away)"
    )


if __name__ == "__main__":
    main()
