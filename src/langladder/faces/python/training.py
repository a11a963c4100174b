"""`ll.train`: train a rung on your own data in one call, without DVC, Hydra or MLflow: for scripts and notebooks.

It calls the functions that the stages `corpus`, `clean`, `tokenize`, `vocab`, `cooccur` and `train` call, in a
temporary folder, and makes the same models from the same data and settings. The settings of each rung are in
`rungs.json`, as Hydra composes them from conf/ (written by `python -m pipeline.document rungs`), because the library
does not know Hydra.

Families that are made from outputs of other rungs, or whose data only microworld has (tunes, instruction tuning,
rewards, alignment, captions, speech), are trained by `dvc repro` only.
"""

import json
import pkgutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from langladder.counts.cooccurrence import AnyCounting, store_counts
from langladder.faces.python.model import Model
from langladder.families import families
from langladder.families.embedding import COUNTS, WORDS
from langladder.families.family import Make, Trained, make_in, takes_weights
from langladder.families.job import Job
from langladder.families.sides import SIDES
from langladder.ground.atomic import atomic_folder, check_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import checked, locate_function
from langladder.models.making import Row, Run
from langladder.text.labelled.label_files import LIST
from langladder.text.tokenize.side import tokenize_side
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.vocabulary import VocabularyConfig, WordCorpus, encode_words

SIDE_OF_ARGUMENT = {side.argument: side.name for side in SIDES.values() if side.argument}
"""Argument for the data → its side."""
SETS = (list, tuple, set, frozenset)
"""Types that can hold the labels of a multi-label text."""
Settings = dict[str, Any]
Texts = str | Path | Sequence[str]
Labels = str | Path | Sequence[tuple[str, str | Sequence[str]]]
Tags = str | Path | Sequence[Sequence[tuple[str, str]]]
Pairs = str | Path | Sequence[tuple[str, str]]
Questions = str | Path | Sequence[tuple[str, str, str] | Mapping[str, object]]


class _Family(Protocol):
    """A family whose data can be in any folder."""

    def train(self, rung: Any, job: Any, make: Make, root: Path) -> Trained:
        """See `Family.train`."""


def trained_on(argument: str) -> list[str]:
    """The families whose rungs are trained on an argument for the data."""
    return [
        family.name
        for family in families().values()
        if family.name in defaults() and family.texts == (SIDE_OF_ARGUMENT[argument],)
    ]


class _Rung(NamedTuple):
    """What is trained: the argument for its data, its family, its settings, checked and as plain values."""

    argument: str
    family: str
    settings: Any
    values: Settings

    @property
    def side(self) -> str:
        """The side of its data."""
        return SIDE_OF_ARGUMENT[self.argument]


class TrainedModel(Model):
    """A model with the figures of its training.

    Attributes:
        figures: its scores on the validation data, its size.
        curve: rows of the learning curve; empty if it is not trained in steps.
    """

    figures: Mapping[str, object]
    curve: list[Row]
    _kept: object = None  # its temporary folder, deleted with it

    def save(self, folder: str | Path) -> None:
        """Copy it into a folder, for `load`, the command line and the servers.

        Raises:
            InputError: the folder is not empty, or cannot be written.
        """
        import shutil

        with atomic_folder(Path(folder)) as temporary:
            shutil.copytree(self.folder, temporary, dirs_exist_ok=True)


def train(
    rung: str,
    *,
    text: Texts | None = None,
    pairs: Pairs | None = None,
    labels: Labels | None = None,
    tags: Tags | None = None,
    questions: Questions | None = None,
    base: str | Path | Model | None = None,
    size: str = "small",
    steps: int | None = None,
    seed: int = 1,
    folder: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
) -> TrainedModel:
    """Train a rung on your own data. Give one of `text`, `pairs`, `labels`, `tags`, `questions`.

    Args:
        rung: a name of conf/lm, conf/embedding or conf/encoder (with `text`), conf/translator (`pairs`),
            conf/classifier (`labels`), conf/tagger (`tags`), conf/reader (`questions`).
        text: a file or folder, as `corpus: text` reads it, or lines.
        pairs: a file or folder, as `parallel: text` reads it, or (source, target) pairs.
        labels: a file or folder, as `labels: text` reads it, or (text, label) pairs; of multi-label texts (text, list
            of labels) pairs.
        tags: a file or folder, as `tags: columns` reads it, or sentences of (word, tag) pairs.
        questions: a file or folder, as `questions: squad` reads it, or (paragraph, question, answer) triples, the
            answer must be a part of the paragraph; or dictionaries with context, question, answers and options.
        base: the model that a rung with `base` in its file starts from, or its folder: an encoder, word vectors, …
        size: tiny, small, medium or base: the numbers of conf/size.
        steps: of rungs that are trained by gradient, in place of the rung's epochs; None: the rung's default.
        seed: every random choice follows from it.
        folder: where to save the model, new or empty; None: save it later with `save`.
        settings: changes to the rung's settings by dotted keys, e.g. {"model.width": 64, "training.lr": 0.003}.
        data: changes to how the data are read: source.…, clean.…, for text also tokenizer.… and words.…

    Raises:
        InputError: no such rung, settings that are not allowed, data that cannot be read, or `folder` is not empty.

    >>> names = [f"{a}{b}" for a in ("an", "be", "ca", "do") for b in ("na", "ro", "li")]
    >>> text = [f"{one} {does} {other} ." for one in names for does in ("sees", "hears") for other in names]
    >>> model = ll.train("lstm", text=text, steps=30, settings={"model.width": 16, "model.embedding_dim": 16})
    >>> len(model.curve) > 0 and model.generate("anna", seed=1).text.startswith("anna")
    True
    >>> model.save("models/lm/mine")
    >>> ll.load("models/lm/mine").score("anna sees caro .").bits == model.score("anna sees caro .").bits
    True
    >>> texts = [(f"{name} is {how}", label) for name in names for how, label in (("kind", "good"), ("mean", "bad"))]
    >>> ll.train("logistic", labels=texts).classify(["dona is kind", "anli is mean"]).to_frame()["label"].tolist()
    ['good', 'bad']

    An encoder of your own text, and a classifier that starts from it:

    >>> bert = ll.train("roberta_mini", text=text, size="tiny", steps=2)
    >>> ll.train("bert_fine_tuned", labels=texts, base=bert, steps=2).classify("dona is kind").label in ("good", "bad")
    True
    >>> pairs = [(line, line.upper()) for line in text]
    >>> ll.train("seq2seq", pairs=pairs, size="tiny", steps=2).translate("anna sees caro .").source
    'anna sees caro .'
    >>> asked = [(f"{name} sleeps . {name} eats soup .", "who sleeps ?", name) for name in names]
    >>> ll.train("sliding_window", questions=asked).answer("who sleeps ?", "anna sleeps .").text
    'anna'
    """
    name, source = _only({"text": text, "pairs": pairs, "labels": labels, "tags": tags, "questions": questions})
    chosen = _chosen(name, rung, dict(settings or {}), steps, size, base)
    kept = None
    if folder is None:
        kept = tempfile.TemporaryDirectory(prefix="langladder-")
        folder = Path(kept.name) / rung
    check_folder(Path(folder))
    trained = _trained(chosen, source, dict(data or {}), seed, size, Path(folder))
    model = TrainedModel(Path(folder))
    model.figures, model.curve, model._kept = dict(trained.figures), trained.result.curve, kept
    return model


def _trained(chosen: _Rung, source: object, data: Settings, seed: int, size: str, folder: Path) -> Trained:
    """Prepare the data in a folder that is deleted afterwards, train the rung and save it."""
    with tempfile.TemporaryDirectory(prefix="langladder-") as work:
        root = Path(work)
        _prepare(root, chosen, source, data, seed, size)
        family = cast(_Family, families()[chosen.family])
        make = make_in(Run(seed, root / "checkpoints"), chosen.settings)
        trained = family.train(chosen.settings, Job(seed=seed), make, root=root)
        with atomic_folder(folder) as temporary:
            trained.save(temporary)
    return trained


def _only(data: Mapping[str, object]) -> tuple[str, object]:
    """The one kind of data that is not None, by its name.

    Raises:
        InputError: there is none, or there are several.
    """
    chosen = {name: value for name, value in data.items() if value is not None}
    if len(chosen) != 1:
        raise InputError(f"train: {' and '.join(chosen) or 'no data'} given; give one of {', '.join(SIDE_OF_ARGUMENT)}")
    [entry] = chosen.items()
    return entry


@cache
def defaults() -> dict[str, dict[str, Settings]]:
    """Side → how its data are read; family → rung → its settings: those of conf/ at size small.

    `sizes`: size → a rung, as `family.rung` → the settings that differ from small, by dotted keys.
    """
    results: dict[str, dict[str, Settings]] = json.loads(
        (files(__package__) / "rungs.json").read_text(encoding="utf-8")
    )
    return results


def sized(part: str, name: str, size: str) -> Settings:
    """Settings at a size, a copy.

    Args:
        part: a family, and the name of a rung; or a side, and tokenizer or words.

    Raises:
        InputError: there is no such size.
    """
    sizes = defaults()["sizes"]
    if size not in sizes:
        raise InputError(f"train: size: {size!r} is not allowed; sizes: {', '.join(sizes)}")
    settings: Settings = deepcopy(defaults()[part][name])
    _change(settings, sizes[size].get(f"{part}.{name}", {}), name)
    return settings


def _chosen(
    argument: str, name: str, changes: Settings, steps: int | None, size: str, base: str | Path | Model | None
) -> _Rung:
    """The rung with its changes.

    Raises:
        InputError: there is none of that name, its settings are not allowed, or its base is missing or does not fit.
    """
    family = next((kind for kind in trained_on(argument) if name in defaults()[kind]), None)
    if family is None:
        names = ", ".join(known for kind in trained_on(argument) for known in defaults()[kind])
        raise InputError(f"train: {name[:80]!r} is not a rung that is trained on {argument}; rungs: {names}")
    values = sized(family, name, size)
    if steps is not None:
        if "training" not in values:
            raise InputError(f"train: steps: {steps}, but {name} is not trained by steps; leave it out")
        values["training"]["max_steps"] = steps
        if "epochs" in values["training"]:
            values["training"]["epochs"] = None  # which could end it earlier
    _change(values, changes, name)
    where = f"train: {family}.{name}"
    if bases := families()[family].bases:
        values["base"] = _base(base, values, family, f"{where}: base", bases)
    elif base is not None:
        names = ", ".join(
            known for kind in trained_on(argument) if families()[kind].bases for known in defaults()[kind]
        )
        raise InputError(
            f"{where}: base: {name} starts from no other model; leave it out, or choose from {names or '–'}"
        )
    if values.get("input", {}).get("units") == "subwords":
        raise InputError(f"{where}.input.units: 'subwords' needs the tokenizer of a text; use dvc repro, or words")
    settings = checked(families()[family].settings(values), values, where)
    return _Rung(argument, family, settings.model_copy(update={"maker": families()[family].maker(values)}), values)


def _base(base: str | Path | Model | None, values: Settings, family: str, where: str, bases: Sequence[str]) -> str:
    """The folder of the model that a rung starts from.

    Raises:
        InputError: none is given, or one that does not fit.
    """
    from langladder.formats.imported import described  # which imports PyTorch

    kinds = ", ".join(base for base in bases if base != "given")
    if base is None:
        raise InputError(f"{where}: missing; give a model, or its folder, of: {kinds}")
    folder = (base.folder if isinstance(base, Model) else Path(base)).resolve()
    if not folder.is_dir():
        raise InputError(f"{where}: {folder}: no such folder; give a model, or its folder, of: {kinds}")
    if takes_weights(families()[family].rung_class(values)):
        try:
            kind, config = described(folder)
        except InputError as error:
            raise InputError(f"{where}: {error}; give a model, or its folder, of: {kinds}") from error
        there = {"_target_": f"{kind.__module__}.{kind.__qualname__}", "model": config.model_dump(mode="json")}
        if why := families()[family].base_problem(values | {"base": str(folder)}, there):
            raise InputError(f"{where}: {folder}: {why}")
    return str(folder)


def _change(values: Settings, changes: Mapping[str, object], name: str) -> None:
    """Set dotted keys, in place.

    Raises:
        InputError: a part of a key is not a group of settings.
    """
    for key, value in changes.items():
        *above, last = key.split(".")
        inner = values
        for part in above:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise InputError(f"train: {name}: {key}: {part} is not a group of settings")
        inner[last] = value


def _prepare(root: Path, chosen: _Rung, source: object, changes: Settings, seed: int, size: str) -> None:
    """Make in `root`/data what the family reads, as the stages do.

    Raises:
        InputError: the data cannot be read, or how they are to be read is not allowed.
    """
    side = SIDES[chosen.side]
    values = deepcopy(defaults()[chosen.side])
    values |= {part: sized(chosen.side, part, size) for part in ("tokenizer", "words") if part in values}
    if chosen.side == "questions":
        values["source"]["seed"] = seed
    _change(values, changes, "data")
    if strange := values.keys() - defaults()[chosen.side].keys():
        raise InputError(f"train: data: {min(strange)!r} is not one of {', '.join(defaults()[chosen.side])}")
    reading = side.sources["files"]
    if isinstance(source, str | Path):
        path = str(source)
    else:
        rows: Any = list(source) if isinstance(source, Iterable) else source
        path = str(_written(root, chosen.argument, rows))
        if chosen.side == "labels" and any(isinstance(label, SETS) for _, label in rows):
            values["source"]["multi_label"] = LIST
    settings = checked(pkgutil.resolve_name(reading.settings), values["source"] | {"path": path}, "train: data: source")
    raw, clean = root / "data" / "raw" / side.name, root / "data" / "clean" / side.name
    with atomic_folder(raw) as temporary:
        locate_function(reading.function)(settings, temporary)
    if "clean" in values:
        cleaning = checked(pkgutil.resolve_name(side.cleaning), values["clean"], "train: data: clean")
        with atomic_folder(clean) as temporary:
            locate_function(side.clean)(raw, temporary, cleaning, seed)
    family = families()[chosen.family]
    if family.tokens:
        config, shared = checked(TokenizerConfig, values["tokenizer"], "train: data: tokenizer"), "shared_tokenizer"
        with atomic_folder(root / "data" / "tokens" / side.name) as temporary:
            tokenize_side(side.name, clean, config, temporary, shared=bool(values.get(shared)))
    if WORDS.as_posix() in family.reads:
        with atomic_folder(root / WORDS) as temporary:
            encode_words(clean, checked(VocabularyConfig, values["words"], "train: data: words"), temporary)
        counting = cast("AnyCounting | None", family.counting(chosen.values))
        with atomic_folder(root / COUNTS) as temporary:
            store_counts(temporary, WordCorpus.open(root / WORDS), [counting] if counting else [])


def _plain(label: object) -> str | list[str]:
    """A label, or the labels of a multi-label text, for JSON."""
    return list(map(str, label)) if isinstance(label, SETS) else str(label)


FORMS = {
    "text": "lines",
    "pairs": "(source, target) pairs",
    "labels": "(text, label) pairs",
    "tags": "lists of (word, tag) pairs",
    "questions": "(paragraph, question, answer) triples",
}
"""Argument for the data → its form if it is not a path."""


def _question(value: Any) -> Mapping[str, object]:
    """A question as in jsonl.

    Raises:
        InputError: the answer is not a part of the paragraph.
    """
    if isinstance(value, Mapping):
        return value
    context, question, answer = value
    if (start := context.find(answer)) < 0:
        raise InputError(
            f"train: questions: {question[:60]!r}: the paragraph does not contain the answer {answer[:60]!r}"
        )
    return {"context": context, "question": question, "answers": [{"text": answer, "start": start}]}


def _written(root: Path, argument: str, source: Any) -> Path:
    """Write Python values to a file for the side's reader.

    Raises:
        InputError: it is not of that form.
    """
    try:
        if argument == "text":
            lines, name = [" ".join(line.splitlines()) for line in source], "text.txt"
        elif argument == "pairs":
            lines = [json.dumps({"source": str(pair), "target": str(other)}) for pair, other in source]
            name = "pairs.jsonl"
        elif argument == "questions":
            lines, name = [json.dumps(_question(question)) for question in source], "questions.jsonl"
        elif argument == "labels":
            lines = [json.dumps({"text": str(text), "label": _plain(label)}) for text, label in source]
            name = "labels.jsonl"
        else:
            lines = ["\n".join(f"{word}\t{tag}" for word, tag in sentence) + "\n" for sentence in source]
            name = "tags.tsv"
    except InputError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"train: {argument}: neither a path nor {FORMS[argument]}") from error
    file = root / "given" / name
    file.parent.mkdir()
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file
