"""`langladder neighbours`, `analogy`, `similarity`, `map` and `convert`: questions to word vectors, and conversion."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from langladder.answers.requests import LARGEST_SEED, AnalogyRequest, NeighboursRequest, SimilarityRequest
from langladder.evaluation.maps import METHODS
from langladder.faces.cli.options import (
    FOLDER,
    Number,
    PathOrURL,
    json_option,
    options,
    overwrite_option,
    vectors_argument,
)
from langladder.faces.cli.output import Cell, claim, echo, interval, note, print_json, print_table, report_written, to
from langladder.ground.errors import Damage, InputError, needs

if TYPE_CHECKING:
    from langladder.embeddings.base import AnalogyMethod, WordVectors
    from langladder.evaluation.maps import MapMethod, WordMap
    from langladder.evaluation.similarity import Measure
    from langladder.formats.vector_files import Format
    from langladder.ground.atomic import Owner
    from langladder.ground.remote import File

MEASURES: "dict[Measure, str]" = {"cosine": "cosine", "dot": "dot product", "euclidean": "distance"}
ANALOGIES: dict[str, "AnalogyMethod"] = {"add": "3cosadd", "mul": "3cosmul"}
FORMATS = ("safetensors", "word2vec", "word2vec-binary", "glove", "projector")
ON_A_MAP = 100  # words, if none are given


@click.command()
@vectors_argument
@click.argument("words", nargs=-1, required=True)
@options(NeighboursRequest, count=("-k", "--count"))
@json_option
def neighbours(vectors: str, damage: Damage, words: tuple[str, ...], request: NeighboursRequest, as_json: bool) -> None:
    """The words nearest to each of WORDS.

    \b
    Example:
      langladder neighbours models/embedding/skipgram king Paris -k 5
    """
    from langladder.answers.words import nearest
    from langladder.formats.vector_files import read_vectors

    known = read_vectors(vectors, damage)
    _note_words(known, words)
    neighbours_of = {word: nearest(known, word, request.count, request.measure) for word in words}
    if as_json:
        answers = [{"word": word, "nearest": near} for word, near in neighbours_of.items()]
        print_json({"measure": request.measure, "neighbours": answers}, damage)
        return
    for word, near in neighbours_of.items():
        rows: list[list[Cell]] = [[index, other["word"], other["score"]] for index, other in enumerate(near, start=1)]
        print_table(["", f"nearest to {word}", MEASURES[request.measure]], rows)


@click.command()
@vectors_argument
@click.argument("words", nargs=-1, required=True, metavar="A B C | FILE")
@options(AnalogyRequest, count=("-k", "--count"))
@json_option
def analogy(vectors: str, damage: Damage, words: tuple[str, ...], request: AnalogyRequest, as_json: bool) -> None:
    """Complete an analogy: A is to B as C is to …

    On the embedded corpus, the first example gives queen.

    With a FILE (or folder) in the format of Google's question set, the command counts the correct answers. It then
    ignores the case of words, and skips questions with a word that has no vector.

    \b
    Examples:
      langladder analogy models/embedding/skipgram he king she
      langladder analogy vectors.bin questions-words.txt --method mul --restrict 30000
    """
    if len(words) not in (1, 3):
        raise click.UsageError(f"{len(words)} words: an analogy needs three, A B C (or give one file of questions)")
    from langladder.answers.words import analogy as answers_to
    from langladder.formats.vector_files import read_vectors

    known, method = read_vectors(vectors, damage), ANALOGIES[request.method]
    if len(words) == 1:
        _evaluate_analogies(known, words[0], method, request.restrict, damage, as_json)
        return
    _note_words(known, words)
    answers = answers_to(known, words, request.count, method, request.restrict)
    if as_json:
        print_json({"a": words[0], "b": words[1], "c": words[2], "method": method, "answers": answers}, damage)
        return
    title = "{} is to {} as {} is to".format(*words)
    rows: list[list[Cell]] = [[index, answer["word"], answer["score"]] for index, answer in enumerate(answers, start=1)]
    print_table(["", title, "cosine" if request.method == "add" else "3CosMul"], rows)


def _evaluate_analogies(
    vectors: "WordVectors", path: str, method: "AnalogyMethod", restrict: int | None, damage: Damage, as_json: bool
) -> None:
    from langladder.evaluation.analogy import evaluate_analogies

    questions = _file_of(vectors, path, "an analogy needs three words, A B C, or one file of questions")
    result = evaluate_analogies(vectors, questions, restrict_vocabulary=restrict, method=method)
    if as_json:
        print_json(result.model_dump(mode="json", exclude={"cosmul"}), damage)
        return
    totals = {"all": result.overall, "semantic": result.semantic, "syntactic": result.syntactic}
    named = [(section.name, section) for section in result.sections]
    figures = [*named, *((name, figure) for name, figure in totals.items() if figure)]
    print_table(
        ["section", "right", "95 % interval", "answered", "questions"],
        [[name, f.accuracy, interval(f.interval), f.answered, f.questions] for name, f in figures],
    )


@click.command(short_help="Similarity of two words, or of scored pairs.")
@vectors_argument
@click.argument("words", nargs=-1, required=True, metavar="WORD WORD | FILE")
@options(SimilarityRequest)
@json_option
def similarity(vectors: str, damage: Damage, words: tuple[str, ...], request: SimilarityRequest, as_json: bool) -> None:
    """Compute the similarity of two words, or compare vectors with scored pairs.

    For two words: cosine, dot product and Euclidean distance.

    With a FILE (or folder) of lines `word word score`: Spearman's correlation between its scores and the vectors. The
    command then ignores the case of words, and skips pairs with a word that has no vector.

    \b
    Examples:
      langladder similarity models/embedding/skipgram king queen
      langladder similarity vectors.bin wordsim353.tsv
    """
    if len(words) not in (1, 2):
        raise click.UsageError(f"{len(words)} words: give two, or one file of pairs")
    from langladder.formats.vector_files import read_vectors

    known = read_vectors(vectors, damage)
    if len(words) == 2:
        _compare(known, *words, damage, as_json)
        return
    from langladder.evaluation.similarity import evaluate_similarity

    pairs = _file_of(known, words[0], "give two words to compare, or one file of pairs `word word score`")
    result = evaluate_similarity(known, pairs, measure=request.measure)
    if as_json:
        print_json(result.model_dump(mode="json"), damage)
        return
    print_table(
        ["pairs of", "Spearman's ρ", "95 % interval", "known", "pairs"],
        [[s.name, s.spearman, interval(s.interval), s.covered, s.pairs] for s in result.sets],
    )


def _compare(vectors: "WordVectors", first: str, second: str, damage: Damage, as_json: bool) -> None:
    from langladder.answers.words import compare

    _note_words(vectors, [first, second])
    figures = compare(vectors, first, second)
    if as_json:
        print_json({"first": first, "second": second, **figures}, damage)
        return
    rows: list[list[Cell]] = [
        ["cosine", figures["cosine"]],
        ["dot product", figures["dot"]],
        ["distance", figures["euclidean"]],
    ]
    print_table([f"{first} and {second}", ""], rows)


def _file_of(vectors: "WordVectors", name: str, wanted: str) -> Path:
    """A single argument is a file (or folder) to read.

    Raises:
        InputError: no such file; the message says whether it is a word, and what is `wanted`.
    """
    path = Path(name)
    if not path.exists():
        what = f"{name!r} is one word" if name in vectors else f"{name}: neither a file nor a word with a vector"
        raise InputError(f"{what}; {wanted}")
    return path


def _note_words(vectors: "WordVectors", words: Sequence[str]) -> None:
    """Print which words are looked up in another spelling than was typed, and which are rare in the training text."""
    from langladder.answers.words import rare_note

    note(vectors.normalisation.note(words, "words", vectors.index))
    note(rare_note(vectors, words))


@click.command("map")
@vectors_argument
@click.argument("out", type=FOLDER)
@click.argument("words", nargs=-1)
@click.option("--words", "file", type=FOLDER, help="A file with one word per line, optionally a tab and its group.")
@click.option(
    "--top", type=click.IntRange(min=3), help=f"Draw this many of the most frequent words [default: {ON_A_MAP}]."
)
@click.option("--method", type=click.Choice(list(METHODS)), default="pca", show_default=True)
@click.option(
    "--perplexity",
    type=Number(0, 10_000, min_open=True),
    help="Perplexity of t-SNE [default: 30, or less for few words].",
)
@click.option(
    "--seed", type=click.IntRange(0, LARGEST_SEED), default=0, show_default=True, help="Seed of t-SNE and UMAP."
)
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
    """Draw a map of words in two dimensions.

    The command draws WORDS, or the words of a file, or the most frequent words, into OUT: an .svg file or a
    self-contained .html page. PCA shows directions (pairs that differ in one way are parallel). t-SNE and UMAP show
    clusters (UMAP needs the package umap-learn). If labels would overlap, move the mouse over a point to see its word.
    --json also prints all positions.

    \b
    Examples:
      langladder map models/embedding/skipgram royal.svg king queen man woman
      langladder map vectors.bin words.html --words animals.tsv --method tsne
    """
    if out.suffix not in (".svg", ".html"):
        wanted = "OUT must end in .svg or .html; give it between VECTORS and the words"
        raise InputError(f"{out}: {wanted}")
    path = claim(out, overwrite, [vectors, file])
    from langladder.answers.words import find
    from langladder.evaluation.maps import word_map
    from langladder.formats.vector_files import read_vectors

    known = read_vectors(vectors, damage)
    groups = dict.fromkeys(words, "") | ({} if file is None else read_groups(file))
    for word in groups:
        find(known, word)
    if top is not None or not groups:
        groups = dict.fromkeys(known.words[: top or ON_A_MAP], "") | groups
    if len(groups) < 3:
        raise InputError(f"a map needs at least three different words, not {len(groups)}")
    result = word_map(known, list(groups), method, perplexity=perplexity, seed=seed)
    caption = _draw(path, result, groups, vectors, method)
    if as_json:
        points = zip(result.words, result.points.tolist(), strict=True)
        rows = [{"word": word, "x": round(x, 6), "y": round(y, 6), "group": groups[word]} for word, (x, y) in points]
        print_json({"out": str(out), "method": method, "explained": result.explained, "words": rows}, damage)
    else:
        echo(f"{caption} → {out}")


def _draw(out: Path, word_map: "WordMap", groups: dict[str, str], vectors: str, method: "MapMethod") -> str:
    from langladder.ground.artefacts import write_text

    with needs("report", "map"):
        from langladder.faces.report.word_vectors import word_map_html, word_map_svg

    how = METHODS[method]
    if word_map.explained is not None:
        how += f", which shows {word_map.explained:.0%} of the variance"
    caption = f"{len(word_map.words)} words by {how}"
    title = f"Words of {Path(vectors).name}"
    svg = word_map_svg(word_map, groups, f"{title}: {caption}")
    write_text(out, word_map_html(svg, title, caption) if out.suffix == ".html" else svg)
    return caption


def read_groups(path: Path) -> dict[str, str]:
    """The words of a file, one per line, each with the group after a tab ("" if there is none)."""
    from langladder.text.read.lines import filled_lines

    groups = {}
    for _, line in filled_lines(path):
        word, _, group = line.partition("\t")
        groups[word.strip()] = group.strip()
    return groups


@click.command()
@vectors_argument
@click.argument("out", type=PathOrURL())
@click.option("--to", "format", type=click.Choice(FORMATS), help="The format, where the name of OUT does not say it.")
@click.option("--top", type=click.IntRange(min=1), help="Keep only this many of the first (most frequent) words.")
@click.option("--vocabulary", type=FOLDER, help="Words to take from a model: a vocabulary.json.")
@overwrite_option
@json_option
def convert(
    vectors: str,
    damage: Damage,
    out: "File",
    format: "Format | None",
    top: int | None,
    vocabulary: Path | None,
    overwrite: bool,
    as_json: bool,
) -> None:
    """Write word vectors in another format.

    The name of OUT determines the format: x.vec or x.txt is word2vec text, x.bin word2vec binary, x.glove GloVe text
    (all also .gz); a name without a dot is a folder of safetensors; - is the standard output (with --to). --to
    projector writes a folder for TensorBoard's projector. OUT and VECTORS may be URLs (s3://…).

    A language model gives the vectors of words that are one token. With --vocabulary it gives those of all words of a
    vocabulary; a word of several tokens gets the mean of their vectors.

    \b
    Examples:
      langladder convert models/embedding/skipgram skipgram.bin
      langladder convert models/lm/lstm lstm.vec.gz --vocabulary data/words/vocabulary.json
    """
    from langladder.formats.vector_files import format_of, read_vectors, write_vectors

    chosen = format or format_of(str(out))
    target = claim(out, overwrite, [vectors, vocabulary], folder_of(chosen), answers=as_json)
    known = read_vectors(vectors, damage) if vocabulary is None else _from_model(Path(vectors), vocabulary)
    if top is not None:
        known = _first(known, top)
    with to(target) as path:
        write_vectors(known, path, chosen)
    words, dimension = len(known), int(known.matrix.shape[1])
    if as_json:
        print_json({"out": str(out), "format": chosen, "words": words, "dimension": dimension}, damage)
    else:
        report_written(target, f"{words:,} words × {dimension} → {out} ({chosen})")


def folder_of(format: "Format") -> "Owner | None":
    """The kind of folder of a format; None if the format is a file."""
    from langladder.embeddings.base import VECTORS
    from langladder.formats.vector_files import PROJECTOR

    return {"safetensors": VECTORS, "projector": PROJECTOR}.get(format)


def _first(vectors: "WordVectors", top: int) -> "WordVectors":
    from langladder.embeddings.base import WordVectors

    return WordVectors(
        vectors.words[:top],
        vectors.matrix[:top],
        None if vectors.counts is None else vectors.counts[:top],
        vectors.about,
        words_by=vectors.words_by,
        normalisation=vectors.normalisation,
    )


def _from_model(folder: Path, vocabulary: Path) -> "WordVectors":
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder}: not a language model; --vocabulary needs one (a folder with config.json)")
    from langladder.formats.vector_files import input_embedding
    from langladder.text.words.vocabulary import Vocabulary

    return input_embedding(folder, Vocabulary.load(vocabulary))
