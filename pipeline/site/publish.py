"""The last run as a static folder for any web server: the report, the site, and the ladder in the reader's browser.

    python -m pipeline.site.publish            # → outputs/publish/ (`make publish`)
    python -m pipeline.site.publish FOLDER
    python -m pipeline.site.publish --ladder history    # and the report of ladders/history/

The pages of `browser/` compute in plain JavaScript: models.js holds the equations of one rung of each kind below, and
reads the safetensors and JSON files of models/ as they are. Nothing is loaded from another host.
"""

import argparse
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from safetensors import safe_open

from langladder.answers.kinds import kind_of_class, title_of
from langladder.ground.artefacts import read_json, write_json, write_text
from langladder.ground.atomic import Owner, atomic_folder, write_sums
from langladder.ground.errors import InputError
from langladder.models.classification.textcnn import TextCNN
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.backoff import BackoffLanguageModel
from langladder.models.saving import located
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.text.storage.tables import read_column
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.normalisation import STEPS, Normalisation, Replace
from langladder.text.words.segmentation import languages_of
from pipeline import ROOT
from pipeline.ladder import LADDERS

OUT = ROOT / "outputs" / "publish"
BROWSER = Path(__file__).parent / "browser"
LISTED = "rungs.json"
MOST_BYTES = 90 << 20  # of a rung's weights: GitHub takes files of 100 MB
EXAMPLES, LONGEST_EXAMPLE = 3, 240
PUBLISHED = Owner("what `make publish` wrote", ("*",), lambda folder: (folder / LISTED).is_file(), summed=True)


class Kind(NamedTuple):
    """A kind of rung; the browser runs one rung of each.

    Attributes:
        model: its class, which models.js computes; None: word vectors.
        preferred: the rung that is chosen if there are several.
        reads: files beside the weights.
        settings: values in config.json that models.js requires.
    """

    title: str
    model: type | None
    preferred: str
    reads: tuple[str, ...]
    settings: Mapping[str, object]


TOKENS, PAIR = ("tokenizer.json",), ("source.json", "target.json")
RECURRENT = {"cell": "lstm", "layer_norm": False, "output": "softmax", "recurrent_dropout": 0.0, "learn_start": False}
DECODER: dict[str, object] = {
    "norm": "pre",
    "positions": "learned",
    "sparse_window": None,
    "residual": True,
    "output": "softmax",
    "norm_kind": "layer",
    "norm_epsilon": 1e-5,
    "feed_forward": "gelu",
    "key_value_heads": None,
    "experts": None,
}
FILTERS = {"padding": "valid", "pooling": "max", "channels": 1, "pairs": "joined"}
KINDS = {
    "ngram": Kind("n-gram model", BackoffLanguageModel, "kneser_ney", TOKENS, {}),
    "lstm": Kind("LSTM", RecurrentLM, "lstm", TOKENS, RECURRENT),
    "gpt": Kind("GPT", GPT, "gpt", TOKENS, DECODER),
    "translator": Kind("attention translator", AttentionSeq2Seq, "attention", PAIR, {"score": "additive"}),
    "classifier": Kind("convolutional classifier", TextCNN, "textcnn", ("reading.json",), FILTERS),
    "vectors": Kind("word vectors", None, "skipgram", ("words.json",), {}),
}
TYPES = {"F32", "I32", "I64"}  # of arrays; models.js reads no others
SHARED = ("page.css", "explorer.css", "common.js")  # of the report and the explorer
WORDS = ("whitespace", "auto", "apart")  # ways to split a line into words; tokens.js has no others


class Page(NamedTuple):
    """A page: its name, title, purpose, and the kinds that it loads."""

    name: str
    title: str
    about: str
    kinds: tuple[str, ...] = ()


PAGES = (
    Page("index", "The ladder", "A history of language models, trained on the same data and running in your browser."),
    Page(
        "continue",
        "Continue a text",
        "How surprising your text is to each model, which token each expects next, and a sampled continuation.",
        ("ngram", "lstm", "gpt"),
    ),
    Page(
        "translate",
        "Translate",
        "A sentence, its translation, and which source words the model attended to.",
        ("translator",),
    ),
    Page("classify", "Classify", "The label of a text, and how sure the model is.", ("classifier",)),
    Page("words", "Words", "The nearest words to a word, and analogies, by cosine.", ("vectors",)),
)


class Rung(TypedDict):
    """A rung as the pages know it.

    files: paths in the folder, the weights first. bytes: of each. steps: how texts are normalised without a tokenizer.
    """

    kind: str
    name: str
    title: str
    config: dict[str, Any]
    files: list[str]
    bytes: list[int]
    steps: list[dict[str, Any]]


def publish(root: Path, out: Path, ladders: Sequence[str] = ()) -> dict[str, Rung | str]:
    """Write the folder.

    Args:
        root: with models/, and data/, reports/index.html and site/ if they exist.
        ladders: those in ladders/ whose reports are published, too.

    Returns:
        Kind → its rung, or why there is none.

    Raises:
        InputError: there is no rung at all, a ladder has no report, or `out` holds something else.
    """
    for name in ladders:
        if not (root / LADDERS / name / "reports" / "index.html").is_file():
            existing = sorted(report.parts[-3] for report in (root / LADDERS).glob("*/reports/index.html"))
            raise InputError(f"--ladder {name[:80]}: no report; reports in {LADDERS}/: {', '.join(existing) or 'none'}")
    with atomic_folder(out, PUBLISHED) as folder:
        models = {name: _folder_of(root / "models", kind) for name, kind in KINDS.items()}
        rungs = {
            name: model if isinstance(model, str) else _copied(model, name, folder) for name, model in models.items()
        }
        if all(isinstance(model, str) for model in models.values()):
            raise InputError(f"{root / 'models'}: no rung that runs in the browser; `make repro` trains some")
        _write_pages(folder, rungs, root, ladders)
        write_json(folder / LISTED, rungs)
        (folder / ".nojekyll").touch()  # GitHub Pages serves the folder as it is
        write_sums(folder)
    return rungs


def _folder_of(models: Path, kind: Kind) -> Path | str:
    """The folder of the rung of a kind that the browser runs, or why there is none."""
    obstacles = []
    family = "embedding" if kind.model is None else kind_of_class(kind.model)
    folders = [path for path in (models / str(family)).glob("*") if path.is_dir()]
    for folder in sorted(folders, key=lambda path: (path.name != kind.preferred, path.name)):
        described = {} if kind.model is None else read_json(folder / "config.json")
        if kind.model is not None and not issubclass(located(folder, str(described["_target_"])), kind.model):
            continue
        obstacle = _obstacle(folder, kind, described.get("config", {}))
        if obstacle is None:
            return folder
        obstacles.append(f"{title_of(folder)} has {obstacle}")
    return f"not in the browser: {obstacles[0]}" if obstacles else "not in this run"


def _obstacle(folder: Path, kind: Kind, config: Mapping[str, object]) -> str | None:
    """Why the browser cannot run a rung; None: it can."""
    for key, value in kind.settings.items():
        if config.get(key, value) != value:  # a model saved before there was a choice lacks the key
            return f"{key}: {config[key]}, and the browser runs {key}: {value}"
    with safe_open(_weights(folder), framework="numpy") as arrays:
        types = {arrays.get_slice(name).get_dtype() for name in arrays.keys()}  # noqa: SIM118 - it is no mapping
        dense = "vectors" in arrays.keys()  # noqa: SIM118
    if kind.model is None and not dense:
        return "a sparse matrix, and the browser reads dense vectors"
    if others := types - TYPES:
        return f"numbers of type {', '.join(sorted(others))}, and the browser reads {', '.join(sorted(TYPES))}"
    if (size := _weights(folder).stat().st_size) > MOST_BYTES:
        return f"{size >> 20} MB of weights, and {MOST_BYTES >> 20} are published at most"
    for name in (*TOKENS, *PAIR):
        if name in kind.reads and (result := Tokenizer.load(folder / name).kind) != "bpe_bytes":
            return f"a tokenizer of kind {result}, and the browser has bpe_bytes (tokenizer: bpe)"
    if "reading.json" in kind.reads:
        units = read_json(folder / "reading.json")["units"]
        if units.get("mode") not in WORDS:
            return f"words: {units.get('mode', units['kind'])}, and the browser splits by {' or '.join(WORDS)}"
    return None


def _weights(folder: Path) -> Path:
    return folder / ("vectors.safetensors" if (folder / "words.json").is_file() else "model.safetensors")


def _copied(folder: Path, name: str, out: Path) -> Rung:
    """Copy the files of a rung that the browser reads; JSON by its content, so that rungs share a tokenizer."""
    described = read_json(folder / ("words.json" if name == "vectors" else "config.json"))
    paths = [f"models/{name}-{folder.name}.safetensors"]
    (out / "models").mkdir(exist_ok=True)
    shutil.copyfile(_weights(folder), out / paths[0])
    for file in KINDS[name].reads:
        value = read_json(folder / file)
        text = json.dumps({"words": value["words"]} if name == "vectors" else value, ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).hexdigest()[:12]
        paths.append(f"models/{digest}.json")
        write_text(out / paths[-1], text)
    steps = Normalisation.checked(described.get("normalisation"), f"{folder}: normalisation")
    return {
        "kind": name,
        "name": folder.name,
        "title": title_of(folder),
        "config": described.get("config", {}),
        "files": paths,
        "bytes": [(out / path).stat().st_size for path in paths],
        "steps": _rules(steps),
    }


def _rules(normalisation: Normalisation) -> list[dict[str, Any]]:
    """The steps as the `normalizers` of a tokenizer.json."""
    return [
        {"type": "Replace", "pattern": {"Regex": rule.pattern}, "content": rule.by}
        if isinstance(rule, Replace)
        else {"type": "Lowercase" if rule == "lower" else rule}
        for name in normalisation.names
        for rule in STEPS[name].rules
    ]


def _write_pages(out: Path, rungs: Mapping[str, Rung | str], root: Path, ladders: Sequence[str]) -> None:
    environment = Environment(
        loader=FileSystemLoader(BROWSER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    explorer, report = (files("langladder.faces") / path for path in ("explorer/static", "report/templates"))
    (out / "static").mkdir()
    for name in SHARED:
        source = (report if name == "page.css" else explorer) / name
        write_text(out / "static" / name, source.read_text(encoding="utf-8"))
    for script in BROWSER.glob("*.js"):
        shutil.copyfile(script, out / "static" / script.name)
    extras = dict(_extras(out, root, ladders))
    models = {kind: rung for kind, rung in rungs.items() if not isinstance(rung, str)}
    for page in PAGES:
        text = environment.get_template(f"{page.name}.html.j2").render(
            page=page,
            pages=PAGES,
            extras=extras,
            kinds=KINDS,
            rungs={kind: models[kind] for kind in page.kinds if kind in models},
            missing={kind: rungs[kind] for kind in page.kinds or KINDS if kind not in models},
            downloads={page.title: _downloads(out, page, models) for page in PAGES if page.kinds},
            examples=_examples(root / "data"),
            languages=languages_of(root / "data" / "clean"),
        )
        write_text(out / f"{page.name}.html", text)


def _extras(out: Path, root: Path, ladders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Copy the reports (of this ladder and of `ladders`) and the site, if they exist: title → path."""
    guides = (root / "site" / "index.html").is_file()
    for ladder in (root, *(root / LADDERS / name for name in ladders)):
        report = ladder / "reports" / "index.html"
        if report.is_file():
            page = without_checkout(report.read_text(encoding="utf-8"), guides=guides)
            directory = "report" if ladder == root else f"report-{ladder.name}"
            write_text(out / directory / "index.html", page)
            yield ("Report" if ladder == root else f"Report: {ladder.name}"), f"{directory}/index.html"
    if (root / "site" / "index.html").is_file():
        shutil.copytree(root / "site", out / "docs")
        yield "Docs", "docs/index.html"


def without_checkout(report: str, *, guides: bool) -> str:
    """The report without its links to files of the checkout; those to guides lead to the site, if there is one."""

    def turned(match: re.Match[str]) -> str:
        folder, name, text = match.groups()
        site = guides and folder == "docs"
        return f'<a href="../docs/{name.removesuffix(".md")}.html">{text}</a>' if site else text

    return re.sub(r'<a href="(?:\.\./)+(src|docs)/([^"]+)">(.*?)</a>', turned, report)


def _downloads(out: Path, page: Page, rungs: Mapping[str, Rung]) -> list[tuple[str, list[str], int]]:
    """The files that a page loads: description, files, bytes; the sum of all comes last."""
    scripts = [f"static/{name}" for name in (*SHARED, "asking.js", "models.js", "tokens.js", f"{page.name}.js")]
    parts = {"styles and scripts": scripts} | {
        rungs[kind]["title"]: rungs[kind]["files"] for kind in page.kinds if kind in rungs
    }
    sizes = {path: (out / path).stat().st_size for paths in parts.values() for path in paths}
    rows = [(what, sorted(set(paths)), sum(sizes[path] for path in set(paths))) for what, paths in parts.items()]
    return [*rows, ("together, each file once", [], sum(sizes.values()))]


def _examples(data: Path) -> dict[str, list[str]]:
    """Texts of the test splits that a page proposes, and an analogy; none if there are no data."""
    examples: dict[str, list[str]] = {name: [] for name in ("analogy", *(page.name for page in PAGES))}
    columns = {"continue": ("text/test", "text"), "translate": ("parallel/test.parquet", "source")}
    for page, (table, column) in (columns | {"classify": ("labels/test.parquet", "text")}).items():
        path = data / "clean" / table
        texts = (text for part in read_column(path, column) for text in part) if path.exists() else ()
        examples[page] = list(islice((text for text in texts if 20 <= len(text) <= LONGEST_EXAMPLE), EXAMPLES))
    examples["continue"] = [" ".join(text.split()[: max(1, len(text.split()) // 2)]) for text in examples["continue"]]
    analogies = data / "raw" / "text" / "truth" / "analogies.txt"
    for line in analogies.read_text(encoding="utf-8").splitlines() if analogies.is_file() else ():
        if len(line.split()) == 4 and not line.startswith(":"):
            return examples | {"analogy": line.split()}
    return examples


def main() -> None:
    """Publish this checkout's last run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=OUT)
    about = "publish the report of ladders/NAME/, too; may be repeated"
    parser.add_argument("--ladder", metavar="NAME", action="append", default=[], help=about)
    options = parser.parse_args()
    out = options.folder
    try:
        rungs = publish(ROOT, out, options.ladder)
    except InputError as error:
        sys.exit(f"publish: {error}")
    for kind, rung in rungs.items():
        if isinstance(rung, str):
            print(f"publish: {KINDS[kind].title}: {rung}")
        else:
            print(f"publish: {rung['title']}: {sum(rung['bytes']) / 1e6:.1f} MB")
    print(f"publish: → {out}/index.html; to look at it: python -m http.server -d {out}")


if __name__ == "__main__":
    main()
