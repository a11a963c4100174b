"""`langladder bias`: bias in word vectors (WEAT, the audit), and vectors without it (hard debiasing)."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from langladder.faces.cli.options import json_option, overwrite_option, vectors_argument
from langladder.faces.cli.output import claim, echo, print_json, print_table
from langladder.faces.cli.vectors import FORMATS, folder_of
from langladder.ground.errors import Damage

if TYPE_CHECKING:
    from langladder.embeddings.base import WordVectors
    from langladder.evaluation.bias import BiasReport
    from langladder.formats.vector_files import Format

Function = TypeVar("Function", bound=Callable[..., Any])
FROM_EITHER_END = 5  # professions from either end


def _audit_options(function: Function) -> Function:
    components = click.option(
        "--components",
        type=click.IntRange(min=1),
        default=1,
        show_default=True,
        help="Dimensions of the bias subspace.",
    )
    sets = click.option("--weat", type=click.Path(path_type=Path), help="A file of WEAT tests to run before and after.")
    return components(sets(function))


@click.group(short_help="Measure bias in word vectors, and remove it.")
def bias() -> None:
    """Measure bias in word vectors (weat, audit), and remove it (debias)."""


@bias.command()
@vectors_argument
@click.argument("tests", type=click.Path(path_type=Path))
@json_option
def weat(vectors: str, damage: Damage, tests: Path, as_json: bool) -> None:
    """Run the word-embedding association test (WEAT) for each test in a file.

    TESTS is a text file: a line `: name of the test`, then four lines `set: word word …`, two targets and two
    attributes; or JSON with the sets of the WEFE library. The effect size is positive if the first target is closer to
    the first attribute. p is the share of all divisions of the targets with at least this effect.

    \b
    Example:
      langladder bias weat vectors.bin WEAT.json
    """
    from langladder.evaluation.bias import evaluate_weat
    from langladder.formats.vector_files import read_vectors

    results = evaluate_weat(read_vectors(vectors, damage), tests)
    if as_json:
        print_json(results, damage)
        return
    rows = [
        [test["name"], test["effect_size"], test["p_value"], f"{test['coverage']:.0%}"] for test in results["tests"]
    ]
    print_table(["test", "effect size", "p", "words known"], rows)


@bias.command()
@vectors_argument
@click.argument("lists", type=click.Path(path_type=Path))
@_audit_options
@json_option
def audit(vectors: str, damage: Damage, lists: Path, weat: Path | None, components: int, as_json: bool) -> None:
    """Show the bias of professions, and what hard debiasing would change.

    LISTS is a folder with definitional_pairs, equalize_pairs, specific (or gender_specific_full) and professions, each
    as .json as in Bolukbasi et al.'s debiaswe, or as .txt with one entry per line.

    \b
    Example:
      langladder bias audit vectors.bin debiaswe --weat WEAT.json
    """
    _, report = _debias(vectors, damage, lists, weat, components)
    print_json(report, damage) if as_json else _print(report)


@bias.command()
@vectors_argument
@click.argument("lists", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option(
    "--to", "format", type=click.Choice(FORMATS), help="The format, if the name of OUT does not determine it."
)
@overwrite_option
@_audit_options
@json_option
def debias(
    vectors: str,
    damage: Damage,
    lists: Path,
    out: Path,
    format: "Format | None",
    overwrite: bool,
    weat: Path | None,
    components: int,
    as_json: bool,
) -> None:
    """Write hard-debiased vectors to OUT, and show what changed.

    LISTS is as in `langladder bias audit`, OUT as in `langladder convert`. Hard debiasing has a limit: words that
    share a stereotype remain neighbours of each other (Gonen & Goldberg 2019).

    \b
    Example:
      langladder bias debias vectors.bin debiaswe neutral.bin
    """
    from langladder.formats.vector_files import format_of, write_vectors

    chosen = format or format_of(out)
    path = claim(out, overwrite, [vectors, lists, weat], folder_of(chosen), answers=True)
    debiased, report = _debias(vectors, damage, lists, weat, components)
    write_vectors(debiased, path, chosen)
    if as_json:
        print_json(report | {"out": str(out), "format": chosen}, damage)
        return
    _print(report)
    echo(f"{len(debiased):,} words × {debiased.matrix.shape[1]} → {out} ({chosen})")


def _debias(
    vectors: str, damage: Damage, lists: Path, weat: Path | None, components: int
) -> "tuple[WordVectors, BiasReport]":
    from langladder.embeddings.word_lists import BiasLists
    from langladder.evaluation.bias import debias_and_audit
    from langladder.formats.vector_files import read_vectors

    return debias_and_audit(read_vectors(vectors, damage), BiasLists.read(lists), weat=weat, components=components)


def _print(report: "BiasReport") -> None:
    before, after = report["before"], report["after"]
    figures: list[list[str | float | None]] = [
        ["mean bias of the professions", before["direct_bias"], after["direct_bias"]]
    ]
    people = "agreement with people's stereotypes (Spearman's ρ)"
    figures.append([people, before["stereotype"]["spearman"], after["stereotype"]["spearman"]])
    for then, now in zip(before["weat"] or [], after["weat"] or [], strict=True):
        figures.append([f"WEAT {then['name']}", then["effect_size"], now["effect_size"]])
    print_table([f"{before['covered']} of {before['words']} professions are known", "before", "after"], figures)

    second, first = (before["analogies"] or {"pair": ["the second words", "the first words"]})["pair"]
    later, order = dict(after["projections"]), before["projections"]
    ends = [*order[:FROM_EITHER_END], *order[FROM_EITHER_END:][-FROM_EITHER_END:]]
    leaning = [[word, second if cosine < 0 else first, cosine, later.get(word)] for word, cosine in ends]
    print_table(["profession", "leans to", "cosine before", "after"], leaning)
    if before["analogies"] is None:
        return
    again = {answer["word"]: answer["answer"] for answer in (after["analogies"] or {"answers": []})["answers"]}
    answers = [
        [answer["word"], answer["answer"], again.get(answer["word"])] for answer in before["analogies"]["answers"]
    ]
    print_table([f"{second} is to this as {first} is to", "before", "after"], answers)
