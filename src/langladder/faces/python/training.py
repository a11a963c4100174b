"""`ll.train`: a rung of one's own data in one call, without DVC, Hydra or MLflow: for scripts and notebooks.

It does what the stages `corpus`, `clean`, `tokenize` or `vocab`, and `train` do, by the same functions, in a folder
that goes afterwards. The settings of each rung stand in `rungs.json` (written by `python -m pipeline.document rungs`):
those of conf/ at size small.
"""

import json
import pkgutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol, cast

from langladder.counts.cooccurrence import AnyCounting, store_counts
from langladder.faces.python.model import Model
from langladder.families import families
from langladder.families.embedding import COUNTS, WORDS
from langladder.families.family import Make, Trained
from langladder.families.lm import TOKENS
from langladder.families.sides import SIDES
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import checked, locate_function
from langladder.models.making import Row, Run
from langladder.text.labelled.label_files import LIST
from langladder.text.tokenize.encoding import encode_corpus, training_text
from langladder.text.tokenize.tokenizer_training import Sample, train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.segmentation import conventions_of
from langladder.text.words.vocabulary import VocabularyConfig, WordCorpus, encode_words

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "text": ("lm", "embedding"),
    "labels": ("classifier",),
    "tags": ("tagger",),
}
"""Side of the data → the families that are trained on it."""
SETS = (list, tuple, set, frozenset)
"""What the labels of a multi-label text may come in."""
Settings = dict[str, Any]
Texts = str | Path | Sequence[str]
Labels = str | Path | Sequence[tuple[str, str | Sequence[str]]]
Tags = str | Path | Sequence[Sequence[tuple[str, str]]]


class _Family(Protocol):
    """A family whose data may lie in any folder."""

    def train(self, rung: Any, job: Any, make: Make, root: Path) -> Trained:
        """See `Family.train`."""


class _Rung(NamedTuple):
    """What is to be trained: the side of its data, its family, its checked settings, the function that makes it."""

    side: str
    family: str
    settings: Any
    maker: str
    values: Settings


class TrainedModel(Model):
    """A model with how its training went.

    Attributes:
        figures: what it scores on the validation data, its size.
        curve: rows of the learning curve; none where nothing is learnt step by step.
    """

    figures: Mapping[str, object]
    curve: list[Row]
    _kept: object = None  # the temporary folder that it lies in, which goes with it

    def save(self, folder: str | Path) -> None:
        """Copy it into a folder, which `load`, the command line and the servers read.

        Raises:
            InputError: the folder holds something, or cannot be written.
        """
        import shutil

        with atomic_folder(Path(folder)) as temporary:
            shutil.copytree(self.folder, temporary, dirs_exist_ok=True)


def train(
    rung: str,
    *,
    text: Texts | None = None,
    labels: Labels | None = None,
    tags: Tags | None = None,
    steps: int | None = None,
    seed: int = 1,
    folder: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    data: Mapping[str, object] | None = None,
) -> TrainedModel:
    """Train a rung on data of one's own. Give one of `text`, `labels`, `tags`; it says which family the rung is of.

    Args:
        rung: a name of conf/lm or conf/embedding (with `text`), conf/classifier (`labels`), conf/tagger (`tags`).
        text: a file or folder, as `corpus: text` reads it, or lines.
        labels: a file or folder, as `labels: text` reads it, or (text, label) pairs; of multi-label texts (text, list
            of labels) pairs.
        tags: a file or folder, as `tags: columns` reads it, or sentences of (word, tag) pairs.
        steps: of what is trained by gradient; None: as the rung has it.
        seed: every random choice follows from it.
        folder: where the model is saved; None: nowhere, until `save`.
        settings: changes to the rung's settings by dotted keys, e.g. {"model.width": 64, "training.lr": 0.003}.
        data: the same for how the data are read: source.…, clean.…, and of text tokenizer.… and words.…

    Raises:
        InputError: no such rung, settings that are not allowed, data that cannot be read.

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
    """
    given = {side: value for side, value in (("text", text), ("labels", labels), ("tags", tags)) if value is not None}
    if len(given) != 1:
        raise InputError(f"train: {' and '.join(given) or 'no data'} given; give one of text, labels, tags")
    [(side, source)] = given.items()
    chosen = _chosen(side, rung, dict(settings or {}), steps)
    kept = None
    if folder is None:
        kept = tempfile.TemporaryDirectory(prefix="langladder-")
        folder = Path(kept.name) / rung
    with tempfile.TemporaryDirectory(prefix="langladder-") as work:
        root = Path(work)
        _prepare(root, chosen, source, dict(data or {}), seed)

        def make(start: Any, *given: Any, **more: Any) -> Any:
            run = Run(seed, root / "checkpoints")
            return locate_function(chosen.maker)(start, *given, run=run, **more)

        family = cast(_Family, families()[chosen.family])
        trained = family.train(chosen.settings, SimpleNamespace(seed=seed), make, root=root)
        with atomic_folder(Path(folder)) as temporary:
            trained.model.save(temporary)
            if trained.beside:
                trained.beside(temporary)
    model = TrainedModel(Path(folder))
    model.figures, model.curve, model._kept = dict(trained.figures), trained.result.curve, kept
    return model


@cache
def defaults() -> dict[str, dict[str, Settings]]:
    """Side → how its data are read; family → rung → its settings: those of conf/ at size small."""
    found: dict[str, dict[str, Settings]] = json.loads((files(__package__) / "rungs.json").read_text(encoding="utf-8"))
    return found


def _chosen(side: str, name: str, changes: Settings, steps: int | None) -> _Rung:
    """The rung with its changes.

    Raises:
        InputError: there is none of that name, or its settings are not allowed.
    """
    family = next((one for one in FAMILIES[side] if name in defaults()[one]), None)
    if family is None:
        names = ", ".join(known for one in FAMILIES[side] for known in defaults()[one])
        raise InputError(f"train: {name[:80]!r} is no rung that is trained on {side}; there are {names}")
    values = deepcopy(defaults()[family][name])
    if steps is not None:
        if "training" not in values:
            raise InputError(f"train: steps: {steps}, but {name} is not trained by steps; leave it out")
        values["training"]["max_steps"] = steps
    _change(values, changes, name)
    where = f"train: {family}.{name}"
    if values.get("input", {}).get("units") == "subwords":
        raise InputError(f"{where}.input.units: 'subwords' wants the tokenizer of a text; use dvc repro, or words")
    found = checked(families()[family].settings(values), values, where)
    return _Rung(side, family, found, str(families()[family].maker(values)), values)


def _change(values: Settings, changes: Mapping[str, object], name: str) -> None:
    """Set dotted keys, in place.

    Raises:
        InputError: a key leads through what is no group of settings.
    """
    for key, value in changes.items():
        *above, last = key.split(".")
        inner = values
        for part in above:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise InputError(f"train: {name}: {key}: {part} is no group of settings")
        inner[last] = value


def _prepare(root: Path, chosen: _Rung, source: object, changes: Settings, seed: int) -> None:
    """Make in `root`/data what the family reads, as the stages do.

    Raises:
        InputError: the data cannot be read, or how they are to be read is not allowed.
    """
    side = SIDES[chosen.side]
    values = deepcopy(defaults()[chosen.side])
    _change(values, changes, "data")
    if strange := values.keys() - defaults()[chosen.side].keys():
        raise InputError(f"train: data: {min(strange)!r} is none of {', '.join(defaults()[chosen.side])}")
    reading = side.sources["files"]
    if isinstance(source, str | Path):
        path = str(source)
    else:
        rows: Any = list(source) if isinstance(source, Iterable) else source
        path = str(_written(root, chosen.side, rows))
        if chosen.side == "labels" and any(isinstance(label, SETS) for _, label in rows):
            values["source"]["multi_label"] = LIST
    settings = checked(pkgutil.resolve_name(reading.settings), values["source"] | {"path": path}, "train: data: source")
    raw, clean = root / "data" / "raw" / side.name, root / "data" / "clean" / side.name
    with atomic_folder(raw) as temporary:
        locate_function(reading.function)(settings, temporary)
    cleaning = checked(pkgutil.resolve_name(side.cleaning), values["clean"], "train: data: clean")
    with atomic_folder(clean) as temporary:
        locate_function(side.clean)(raw, temporary, cleaning, seed)
    if chosen.family == "lm":
        config = checked(TokenizerConfig, values["tokenizer"], "train: data: tokenizer")
        sample = Sample.of(training_text(clean).shards(), config.sample_bytes)
        tokenizer = train_tokenizer(sample, config, conventions_of(clean).normalisation)
        with atomic_folder(root / TOKENS) as temporary:
            encode_corpus(clean, tokenizer, temporary)
    if chosen.family == "embedding":
        with atomic_folder(root / WORDS) as temporary:
            encode_words(clean, checked(VocabularyConfig, values["words"], "train: data: words"), temporary)
        counting = cast("AnyCounting | None", families()["embedding"].counting(chosen.values))
        with atomic_folder(root / COUNTS) as temporary:
            for _ in store_counts(temporary, WordCorpus.open(root / WORDS), [counting] if counting else []):
                pass


def _plain(label: object) -> str | list[str]:
    """A label, or the labels of a multi-label text, as JSON can hold them."""
    return list(map(str, label)) if isinstance(label, SETS) else str(label)


def _written(root: Path, side: str, source: Any) -> Path:
    """What was given as Python values, as a file that the side's reader reads.

    Raises:
        InputError: it is not of that form.
    """
    wanted = {"text": "lines", "labels": "(text, label) pairs", "tags": "lists of (word, tag) pairs"}[side]
    try:
        if side == "text":
            lines, name = [" ".join(line.splitlines()) for line in source], "text.txt"
        elif side == "labels":
            lines = [json.dumps({"text": str(text), "label": _plain(label)}) for text, label in source]
            name = "labels.jsonl"
        else:
            lines = ["\n".join(f"{word}\t{tag}" for word, tag in one) + "\n" for one in source]
            name = "tags.tsv"
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(f"train: {side}: neither a path nor {wanted}") from error
    file = root / "given" / name
    file.parent.mkdir()
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return file
