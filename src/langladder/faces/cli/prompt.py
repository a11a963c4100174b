"""`langladder prompt`: give a language model a task in words, and see which option it finds likeliest."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from langladder.answers.loading import LoadedModel, read_model
from langladder.faces.cli.input import typed_lines
from langladder.faces.cli.options import json_option
from langladder.faces.cli.output import echo, interval, print_json, print_table

if TYPE_CHECKING:
    from langladder.evaluation.prompting import Prompter

SIZES = ("tiny", "small", "base")


@click.command(short_help="Ask a language model in words, with no examples, one or several.")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("text", required=False)
@click.option("--option", "options", multiple=True, help="An answer to TEXT; two or more.")
@click.option("--after", default="", help="What follows every answer, such as ' .'")
@click.option("--calibrate", metavar="WORDS", help="Divide by P(option | WORDS): what announces an answer.")
@click.option("--task", metavar="FILE|NAME", help="A file of conf/prompt/, or its name.")
@click.option("--data", "data_file", type=click.Path(path_type=Path), help="Items of your own: .tsv or .jsonl.")
@click.option("--shots", type=click.IntRange(0, 1000), help="Examples in the prompt [default: those of the task].")
@click.option("--items", type=click.IntRange(1, 100_000), help="Most items [default: those of the task].")
@click.option("--show", type=click.IntRange(0, 1000), default=0, help="Items to show with their options' scores.")
@click.option("--world", type=click.Choice(SIZES), default="small", show_default=True, help="Size of microworld.")
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True, help="Of items and examples.")
@json_option
def prompt(
    model: Path,
    text: str | None,
    options: tuple[str, ...],
    after: str,
    calibrate: str | None,
    task: str | None,
    as_json: bool,
    **how: Any,
) -> None:
    """Score the answers to TEXT under MODEL, or let it do a task. Without either, ask for texts.

    A task is a template with answers in words; accuracy is shown by number of examples in the prompt, with 95 %
    intervals over items and orders of examples. A text may have several lines: write $'first\\nsecond'.

    \b
    Examples:
      langladder prompt models/lm/gpt "what is the capital of france ?" --option paris --option rome
      langladder prompt models/lm/gpt --task knowledge --shots 4 --show 2
      langladder prompt models/lm/lstm --task mine.yaml --data mine.tsv
    """
    loaded = read_model(model)
    if task is not None:
        if text is not None or options:
            raise click.UsageError("--task brings its own texts and options; give either it or TEXT with --option")
        _do_task(loaded, task, as_json, **how)
        return
    if how["data_file"] is not None or how["shots"] is not None:
        raise click.UsageError("--data and --shots go with --task")
    if len(options) < 2 or len(set(options)) < len(options):
        raise click.UsageError(f"{len(options)} options: give --option two times or more, each time another answer")
    if text is not None:
        _answer(loaded, text, options, after, calibrate, as_json)
        return
    for line in typed_lines("A text a line; Ctrl-D ends.") if sys.stdin.isatty() else sys.stdin:
        if line.strip():
            _answer(loaded, line.strip(), options, after, calibrate, as_json)


def score_text(
    loaded: LoadedModel, text: str, options: tuple[str, ...], after: str = "", calibrate: str | None = None
) -> list[dict[str, Any]]:
    """[{"option", "log_prob", "tokens", "per_token", "share", "calibrated"}], likeliest first; the impossible: None.

    share: P(option) / Σ P over the options. calibrated: log P(option | text) − log P(option | words), where asked for.
    """
    import math

    from langladder.decoding.options import asked_of, score_options
    from langladder.text.labelled.templates import ids_of

    def scored(context: str) -> Any:
        wholes = ids_of(loaded.tokenizer, [f"{context} {option}{after}".lstrip(" ") for option in options])
        item = asked_of(wholes, ids_of(loaded.tokenizer, [context])[0])
        return item, score_options(loaded.model, [item])[0]

    item, log_probs = scored(text.rstrip(" "))
    alone = None if calibrate is None else scored(calibrate.strip(" "))[1]
    peak = max(log_probs)
    total = sum(math.exp(value - peak) for value in log_probs) if math.isfinite(peak) else math.nan
    rows = []
    for place, option in enumerate(options):
        value, tokens = float(log_probs[place]), len(item.options[place])
        row = {"option": option, "log_prob": value, "tokens": tokens, "per_token": value / tokens}
        row["share"] = math.exp(value - peak) / total if math.isfinite(peak) else None
        if alone is not None:
            row["calibrated"] = value - float(alone[place]) if math.isfinite(value) else -math.inf
        rows.append(row)
    key = "log_prob" if alone is None else "calibrated"
    ranked = sorted(rows, key=lambda row: -float(str(row[key])))
    return [{name: _finite(value) for name, value in row.items()} for row in ranked]


def _finite(value: Any) -> Any:
    import math

    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


def _answer(
    loaded: LoadedModel, text: str, options: tuple[str, ...], after: str, calibrate: str | None, as_json: bool
) -> None:
    found = score_text(loaded, text, options, after, calibrate)
    if as_json:
        print_json({"model": loaded.name, "text": text, "options": found})
        return
    names = {"option": "option", "log_prob": "log P", "per_token": "per token", "share": "share"}
    names |= {"calibrated": "calibrated"} if calibrate is not None else {}
    print_table(list(names.values()), [[row[name] for name in names] for row in found], title=text)


def _do_task(
    loaded: LoadedModel,
    task: str,
    as_json: bool,
    *,
    data_file: Path | None,
    shots: int | None,
    items: int | None,
    show: int,
    world: str,
    seed: int,
) -> None:
    from langladder.evaluation.prompting import Prompter, chance
    from langladder.evaluation.significance import crossed_interval
    from langladder.experiments.experiment import Data
    from langladder.experiments.prompt_files import read_task
    from langladder.experiments.prompting import Prompting

    changes = {} if items is None else {"items": items}
    settings = read_task(task, world=world, data=data_file, shots=shots, **changes)
    chosen, orders = Prompting(settings).items(Data(), seed)
    asking = Prompter(loaded.model, loaded.tokenizer, settings)
    rows: list[list[Any]] = []
    for number in settings.shots:
        found = asking.measure(chosen, orders, number)
        accuracies = {scoring: float(right.mean()) for scoring, right in found.right.items()}
        rows.append([number, found.used, *accuracies.values(), crossed_interval(found.right[settings.scorings[0]])])
    shown = [_shown(asking, one, orders[0][: settings.shots[-1]]) for one in chosen[:show]]
    columns = ["examples", "in the prompt", *settings.scorings, f"95 % of {settings.scorings[0]}"]
    if as_json:
        table = [dict(zip(columns, row, strict=True)) for row in rows]
        print_json({"model": loaded.name, "items": len(chosen), "chance": chance(chosen), "by": table, "shown": shown})
        return
    title = f"{loaded.name}: {len(chosen)} items, chance {chance(chosen):.3f}"
    print_table(columns, [[*row[:-1], interval(row[-1])] for row in rows], title=title)
    for one in shown:
        echo(one["prompt"])
        print_table(
            ["option", "", settings.scorings[0]], [[o["option"], o["right"], o["score"]] for o in one["options"]]
        )


def _shown(asking: "Prompter", item: Any, examples: Any) -> dict[str, Any]:
    """An item as it is asked, with the scores of its options."""
    scores = asking.scores([item], examples)
    figures = next(iter(scores.values()))[0].tolist() if scores else [float("nan")] * len(item.options)
    ranked = sorted(zip(item.options, figures, range(len(figures)), strict=True), key=lambda one: -one[1])
    options = [
        {"option": option, "right": "right" if place == item.right else "", "score": _finite(value)}
        for option, value, place in ranked
    ]
    return {"prompt": asking.prompt(examples, item.fields).rstrip(" ") + " …", "options": options}
