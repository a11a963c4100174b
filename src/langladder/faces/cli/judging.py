"""`langladder evaluate` and `errors`: how good a model is on any labelled file, and where two models differ."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.answers.requests import EvaluateRequest
from langladder.faces.cli.options import FOLDER, json_option, options, overwrite_option
from langladder.faces.cli.output import claim, echo, note, print_json, print_table
from langladder.ground.errors import InputError

if TYPE_CHECKING:
    from langladder.evaluation.predictions import Compared, Prediction

RUNGS = Path("reports") / "rungs"
TABLES = (".csv", ".parquet")
LONGEST = 80  # characters of a text in a table


@click.command(short_help="Evaluate a model on any labelled file.")
@click.argument("model", type=FOLDER)
@click.argument("file", type=FOLDER, metavar="FILE")
@options(EvaluateRequest)
@click.option("--out", type=FOLDER, metavar="FILE", help="Write the predictions: FILE.csv or FILE.parquet.")
@overwrite_option
@json_option
def evaluate(
    model: Path, file: Path, request: EvaluateRequest, out: Path | None, overwrite: bool, as_json: bool
) -> None:
    """Evaluate MODEL on FILE, which has the correct answer for each text, with the metrics of the report.

    MODEL is a folder that the pipeline wrote. FILE has labelled texts (tsv, csv, jsonl, parquet) for a classifier, one
    word and its tag per line for a tagger, questions (SQuAD's JSON, jsonl) for a reader, sentence pairs for a
    translator, plain text for a language model. Texts are normalised like the training text; none is removed.

    \b
    Examples:
      langladder evaluate models/classifier/logistic reviews.csv --text review --label stars
      langladder evaluate models/tagger/hmm test.conll --label 3 --out hmm.csv
      langladder evaluate models/lm/gpt novel.txt --out gpt.parquet
    """
    from langladder.answers.evaluate import evaluate_file
    from langladder.evaluation.predictions import write_predictions

    if out is not None and out.suffix not in TABLES:
        raise InputError(f"{out}: the file name must end in {' or '.join(TABLES)}")
    path = None if out is None else claim(out, overwrite, [model, file])
    page = evaluate_file(model, file, request)
    if path is not None:
        write_predictions(path, page.table)
        note(f"{len(page.table):,} rows → {out}")
    if as_json:
        print_json({"model": str(model), "file": str(file), "kind": page.kind, "figures": page.figures})
    else:
        print_table(["figure", "value"], list(page.figures.items()))


@click.command(short_help="Compare two models item by item, with a significance test.")
@click.argument("first", metavar="A")
@click.argument("second", metavar="B")
@click.option(
    "--show",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    help="Number of differences to show for each model.",
)
@json_option
def errors(first: str, second: str, show: int, as_json: bool) -> None:
    """Show on which items the models A and B are correct, how often, and test whether they differ (a paired test).

    A and B are rungs that have been evaluated (classifier/logistic, or their folders models/classifier/logistic), or
    tables that `langladder evaluate --out` wrote. If items are correct or wrong, the test is McNemar's exact test; for
    words of sentences, F1, chrF and losses it is the paired randomisation test over test items.

    \b
    Examples:
      langladder errors classifier/logistic classifier/textcnn
      langladder errors lm/lstm lm/gpt --show 3
      langladder errors before.csv after.csv --json
    """
    from langladder.evaluation.predictions import compare, read_predictions

    compared = compare(read_predictions(_table(first)), read_predictions(_table(second)), (first, second))
    if as_json:
        print_json(_as_dict(compared, show))
        return
    by_loss = compared.measure.startswith("loss")
    right, wrong = ("lower loss", "not lower") if by_loss else ("right", "wrong")
    print_table(
        [f"of {compared.rows:,} rows", f"B {right}", f"B {wrong}"],
        [
            (f"A {right}", compared.both, compared.first_only),
            (f"A {wrong}", compared.second_only, compared.neither),
        ],
        title=f"A: {first}, B: {second}",
    )
    means = ", ".join(f"{name} {mean:.4f}" for name, mean in zip("AB", compared.means, strict=True))
    echo(f"{compared.measure}: {means}; {compared.test}: p = {compared.p:.4g}, {_verdict(compared)}")
    for better, title in enumerate(("where A is better", "where B is better")):
        rows = [difference for difference in compared.differences if difference.better == better][:show]
        if by_loss:
            print_table(
                ["text", "A: loss", "B: loss"],
                [(_cut(row.first.text), row.first.loss, row.second.loss) for row in rows],
                title=title,
            )
        else:
            print_table(
                ["text", "truth", "A", "p", "B", "p"],
                [
                    (*map(_cut, (a.text, a.truth, a.prediction)), a.probability, _cut(b.prediction), b.probability)
                    for a, b, _ in rows
                ],
                title=title,
            )


def _table(name: str) -> Path:
    """The table of a rung, by its name, its folder or the file itself.

    Raises:
        InputError: there is none.
    """
    path = Path(name)
    if path.suffix in TABLES and path.is_file():
        return path
    family, rung = path.parent.name, path.name
    root = path.resolve().parents[2] if path.is_dir() and len(path.resolve().parents) > 2 else Path()
    table = root / RUNGS / family / f"{rung}.parquet"
    if not family or not table.is_file():
        raise InputError(
            f"{name}: no table of predictions; give a rung that `dvc repro` has evaluated (classifier/logistic), its "
            f"folder, or a file that `langladder evaluate --out` wrote"
        )
    return table


def _verdict(compared: "Compared") -> str:
    """What p says at the level of 5 %; with fewer than six items that differ it cannot be lower than that."""
    from langladder.evaluation.significance import LEVEL

    if compared.p <= LEVEL:
        return "a significant difference"
    items = len({difference.first.item for difference in compared.differences})
    few = f": they differ on {items} items, too few for one" if 0.5 ** (items - 1) > LEVEL else ""
    return f"no significant difference{few}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _as_dict(compared: "Compared", show: int) -> dict[str, object]:
    content = compared._asdict()
    content["differences"] = [
        {"better": "AB"[pair.better], "A": _row(pair.first), "B": _row(pair.second)}
        for better in (0, 1)
        for pair in [difference for difference in compared.differences if difference.better == better][:show]
    ]
    return content


def _row(prediction: "Prediction") -> dict[str, object]:
    return {key: value for key, value in prediction._asdict().items() if value not in (None, "")}
