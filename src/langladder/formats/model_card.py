"""The model card of a saved model: description, training data, scores, how to load it (Mitchell et al. 2019).

One form for all families. All facts come from the model's folder (config.json or words.json, tokenizers,
provenance.json), except the scores, which are an argument.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from langladder.embeddings.base import WordVectors
from langladder.ground.artefacts import (
    JSONObject,
    figures_from_json,
    format_figure,
    map_arrays,
    read_json,
    regular_file,
)
from langladder.ground.errors import InputError
from langladder.models.saving import located
from langladder.text.tokenize.tokenizers import Tokenizer

ANY = """from {module} import {class}

model = {class}.load("{folder}")"""
LIMITS = "The model knows what it was trained on, and is sure of itself elsewhere too."
_BASES = {"LanguageModel": "lm", "Translator": "translator", "Classifier": "classifier", "Tagger": "tagger"}
_BASES |= {"Encoder": "encoder"}
_NAMED = 12  # labels that are listed


@dataclass(frozen=True)
class _Described:
    """The content of a folder's files: the model's class, a sentence, its settings."""

    kind: type
    summary: str
    settings: JSONObject


def model_card(
    folder: Path,
    scores: Mapping[str, object] | None = None,
    titles: Mapping[str, str] = MappingProxyType({}),
    *,
    loading: str = ANY,
    limits: str = LIMITS,
    name: str = "folder",
) -> str:
    """The card of a saved model, as Markdown; the same folder gives the same text.

    Args:
        folder: what `save` wrote; tokenizers and provenance.json are described if present.
        scores: figures on the test text, as the pipeline writes them to metrics/.
        titles: name of a figure → its title, as its page declares it
            (`evaluation.page.titles`).
        loading: Python that loads it, with the places {folder}, {module} and {class}.
        limits: the limits of the model.
        name: the folder or file that is loaded, as the reader of the card names it.

    Raises:
        InputError: no saved model there.
    """
    folder = Path(folder)
    provenance = folder / "provenance.json"
    about = _read(provenance)
    for part in ("settings", "inputs"):
        about[part] = _object(provenance, about, part)
    job = next((part for part in about["settings"].values() if isinstance(part, dict) and "name" in part), {})
    model = _described(folder, job)
    loading = loading.replace("{folder}", name)
    loading = loading.replace("{module}", model.kind.__module__).replace("{class}", model.kind.__name__)
    scores = figures_from_json(scores or {})
    titled = {title: scores[name] for name, title in titles.items() if name in scores}
    titled |= {key: value for key, value in scores.items() if key.startswith("similarity_")}
    parts = [
        f"# {job.get('title') or model.kind.__name__}",
        model.summary,
        "## Model",
        _table("setting", model.settings),
        *_tokens(folder),
        "## Training",
        *_training(about, job),
        "## Scores",
        "On the held-out test text." if titled else "None were given.",
        _table("figure", titled),
        "## Use",
        f"```python\n{loading}\n```",
        limits,
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _described(folder: Path, job: JSONObject) -> _Described:
    if (folder / "words.json").exists():
        return _vectors(folder, job)
    if (folder / "config.json").exists() or "_target_" not in job:
        return _network(folder)
    kind = located(folder / "provenance.json", job["_target_"])  # a family with its own way to save
    return _Described(kind, f"{_first_line(kind)}.", _object(folder / "provenance.json", job, "model"))


def _network(folder: Path) -> _Described:
    path = folder / "config.json"
    regular_file(path)
    target = _read(path).get("_target_")
    if target is None:
        raise InputError(f"{path}: not a saved model (lacks _target_)")
    kind: Any = located(path, target)
    if not hasattr(kind, "load"):
        raise InputError(f"{path}: has a {target}, which is not a model")
    sort = next((_BASES[base.__name__] for base in kind.__mro__ if base.__name__ in _BASES), "other")
    model = kind.load(folder)
    what, size = "", f"{model.number_of_parameters():,} parameters"
    if sort == "lm":
        what = "A language model, P(w_t | w_1 … w_{t-1}): "
        size = f"{size}, a vocabulary of {model.vocab_size:,} tokens"
    elif sort == "encoder":
        what = "An encoder, P(w_t | all other words): "
        size = f"{size}, a vocabulary of {model.vocab_size:,} tokens"
    elif sort == "translator":
        what = "A translator, P(y_t | y_1 … y_{t-1}, x): "
        vocabularies = f"{model.source_vocab_size:,} source and {model.target_vocab_size:,} target tokens"
        size = f"{size}, vocabularies of {vocabularies}"
    elif sort == "classifier":
        what, size = "A classifier, P(label | text): ", f"{size}, {_labels(model.labels, 'labels')}. {_reads(model)}"
    elif sort == "tagger":
        what, size = "A tagger, P(tags | words): ", f"{size}, {_labels(model.tags, 'tags')}"
    order = getattr(model, "order", None)  # of n-grams: how many tokens it looks at, itself included
    named = _first_line(kind) if order is None else f"{_first_line(kind)}, of order {order}"
    return _Described(kind, f"{what}{named}. {size}.", _flat(model.config.model_dump(mode="json")))


def _flat(settings: JSONObject, before: str = "") -> JSONObject:
    """Settings inside settings as `body.width`."""
    flat: JSONObject = {}
    for name, value in settings.items():
        flat |= _flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return flat


def _labels(labels: Sequence[str], what: str) -> str:
    named = [label.replace("|", "\\|") for label in labels[:_NAMED]]
    more = len(labels) - len(named)
    return f"{len(labels)} {what}: {', '.join(named)}{f' and {more} more' if more else ''}"


def _reads(model: object) -> str:
    """The units of a classifier."""
    if (units := getattr(model, "units", None)) is None:
        return "It does not look at the text"
    words = getattr(units, "words", None)
    if words is None:
        return f"It reads subwords, {units.vocab_size:,} of them"
    trees = "the words of bracketed trees" if getattr(model, "reads_trees", False) else "words"
    return f"It reads {trees}{f', {len(words):,} of which it knows' if words else ''}"


def _vectors(folder: Path, job: JSONObject) -> _Described:
    words, provenance = _read(folder / "words.json"), folder / "provenance.json"
    arrays = map_arrays(folder / "vectors.safetensors")
    sparse = "shape" in arrays
    shape = arrays["shape"] if sparse else arrays["vectors"].shape if "vectors" in arrays else ()
    if len(shape) != 2:
        raise InputError(f"{folder / 'vectors.safetensors'}: no word vectors (its arrays are {sorted(arrays)[:8]})")
    V, D = shape
    method = f"{_first_line(located(provenance, job['_target_']))}. " if "_target_" in job else ""
    stored = "stored sparse" if sparse else "dense"
    summary = f"Word vectors. {method}{V:,} words × {D:,} dimensions, {stored}"
    if words.get("kind") == "subword":
        summary += ", and vectors of parts of words, from which unseen words get theirs"
    return _Described(WordVectors, f"{summary}.", _object(provenance, job, "model"))


def _first_line(kind: type) -> str:
    return (kind.__doc__ or kind.__name__).strip().splitlines()[0].rstrip(".")


def _tokens(folder: Path) -> list[str]:
    lines = []
    for file, what in (("tokenizer", "Tokenizer"), ("source", "Source tokenizer"), ("target", "Target tokenizer")):
        path = folder / f"{file}.json"
        if path.exists():
            tokenizer = Tokenizer.load(path)
            lines.append(f"{what} `{tokenizer.kind}`, {tokenizer.vocab_size:,} tokens (`{file}.json`).")
    return ["## Tokens", *lines] if lines else []


def _training(about: JSONObject, job: JSONObject) -> list[str]:
    if not any(about.values()):
        return ["Not recorded: the folder holds no provenance.json."]
    settings = about.get("settings", {})
    lineage = about.get("lineage")
    chain = [_base(base) for base in lineage] if isinstance(lineage, list) else []
    inputs = {f"input `{name}`": fingerprint for name, fingerprint in about.get("inputs", {}).items()}
    traces = {"rung": job.get("name"), "seed": settings.get("seed"), "code": settings.get("code")} | inputs
    traces |= {"fingerprint": about.get("fingerprint")}
    how = _object(Path("provenance.json"), job, "training")
    table = _table("provenance", {name: value for name, value in traces.items() if value is not None})
    started = [f"It starts from {', which starts from '.join(chain)}."] if chain else []
    read = [f"It learnt from {base['rung']} ({base['title']})." for base in about.get("beside", [])[:1]]
    return [*started, *read, table, _table("training setting", how)]


def _base(base: object) -> str:
    """A rung in the model's lineage, with the hashes of its data."""
    rung = base if isinstance(base, dict) else {}
    inputs = rung.get("inputs") if isinstance(rung.get("inputs"), dict) else {}
    read = ", ".join(f"{name} `{digest}`" for name, digest in (inputs or {}).items())
    whole = f"{rung.get('title')}, `{rung.get('fingerprint')}`{f', made of {read}' if read else ''}"
    return f"{rung.get('rung')} ({whole})"


def _table(column: str, rows: JSONObject) -> str:
    if not rows:
        return ""
    return "\n".join(
        [f"| {column} | value |", "| --- | --- |", *(f"| {key} | {_cell(v)} |" for key, v in rows.items())]
    )


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):  # four digits; 16,873 and not 1.687e+04
        return format_figure(value, ",.0f" if abs(value) >= 9999.5 else ".4g")
    return str(value).replace("|", "\\|")


def _read(path: Path) -> JSONObject:
    content = read_json(path) if path.exists() else {}
    if not isinstance(content, dict):
        raise InputError(f"{path}: a {type(content).__name__}, not an object")
    return content


def _object(path: Path, holder: JSONObject, key: str) -> JSONObject:
    """An object within an object of a file; empty where it is not there."""
    value = holder.get(key) or {}
    if not isinstance(value, dict):
        raise InputError(f"{path}: {key}: a {type(value).__name__}, not an object")
    return value
