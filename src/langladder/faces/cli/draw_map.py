"""`langladder map`: words on a plane, as a picture."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.answers.requests import LARGEST_SEED
from langladder.evaluation.maps import METHODS
from langladder.faces.cli.options import Number, json_option, overwrite_option, vectors_argument
from langladder.faces.cli.output import claim, echo, print_json, read_vectors_argument
from langladder.ground.errors import Damage, InputError

if TYPE_CHECKING:
    from langladder.evaluation.maps import MapMethod, WordMap

SHOWN = 100  # words, where none are named


@click.command("map")
@vectors_argument
@click.argument("out", type=click.Path(path_type=Path))
@click.argument("words", nargs=-1)
@click.option("--words", "file", type=click.Path(path_type=Path), help="A word a line; after a tab, its group's name.")
@click.option("--top", type=click.IntRange(min=3), help=f"The most frequent so many words [default: {SHOWN}].")
@click.option("--method", type=click.Choice(list(METHODS)), default="pca", show_default=True)
@click.option(
    "--perplexity", type=Number(0, 10_000, min_open=True), help="Of t-SNE [default: 30, or less for few words]."
)
@click.option("--seed", type=click.IntRange(0, LARGEST_SEED), default=0, show_default=True, help="Of t-SNE, UMAP.")
@overwrite_option
@json_option
def draw_map(
    vectors: str,
    damage: Damage,
    out: Path,
    words: tuple[str, ...],
    file: Path | None,
    top: int | None,
    method: "MapMethod",
    perplexity: float | None,
    seed: int,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Draw words on a plane.

    WORDS, or those of a file, or the most frequent ones, go into OUT: an .svg file or an .html page (self-contained).
    PCA shows directions (pairs that differ in one way lie in parallel), t-SNE and UMAP clusters (UMAP where the
    package umap-learn is installed). Where labels would overlap, the
    mouse over a point tells its word; --json prints all places as well.

    \b
    Examples:
      langladder map models/embedding/skipgram royal.svg king queen man woman
      langladder map vectors.bin words.html --words animals.tsv --method tsne
    """
    if out.suffix not in (".svg", ".html"):
        wanted = "a map is written as .svg or .html, and its name stands between VECTORS and the words"
        raise InputError(f"{out}: {wanted}")
    place = claim(out, overwrite, [vectors, file])
    from langladder.evaluation.maps import word_map
    from langladder.evaluation.word_questions import find

    known = read_vectors_argument(vectors, damage)
    groups = dict.fromkeys(words, "") | ({} if file is None else _read_groups(file))
    for word in groups:
        find(known, word)
    if top is not None or not groups:
        groups = dict.fromkeys(known.words[: top or SHOWN], "") | groups
    if len(groups) < 3:
        raise InputError(f"a map needs at least three different words, not {len(groups)}")
    found = word_map(known, list(groups), method, perplexity=perplexity, seed=seed)
    caption = _draw(place, found, groups, vectors, method)
    if as_json:
        points = zip(found.words, found.points.tolist(), strict=True)
        places = [{"word": word, "x": round(x, 6), "y": round(y, 6), "group": groups[word]} for word, (x, y) in points]
        print_json({"out": str(out), "method": method, "explained": found.explained, "words": places}, damage)
    else:
        echo(f"{caption} → {out}")


def _draw(out: Path, found: "WordMap", groups: dict[str, str], vectors: str, method: "MapMethod") -> str:
    from langladder.faces.report.word_vectors import word_map_html, word_map_svg
    from langladder.ground.artefacts import write_text

    how = METHODS[method]
    if found.explained is not None:
        how += f", which shows {found.explained:.0%} of the variance"
    caption = f"{len(found.words)} words by {how}"
    title = f"Words of {Path(vectors).name}"
    svg = word_map_svg(found, groups, f"{title}: {caption}")
    write_text(out, word_map_html(svg, title, caption) if out.suffix == ".html" else svg)
    return caption


def _read_groups(path: Path) -> dict[str, str]:
    from langladder.text.read.lines import filled_lines

    groups = {}
    for _, line in filled_lines(path):
        word, _, group = line.partition("\t")
        groups[word.strip()] = group.strip()
    return groups
