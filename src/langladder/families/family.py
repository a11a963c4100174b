"""The declaration of a family of rungs: word vectors, language models, translators, claims, and future families.

Every stage loads all declarations, so their modules import nothing heavy: PyTorch and the report are imported inside
the methods that need them.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, cast

from pydantic import Field, SerializeAsAny, ValidationInfo, field_validator, model_validator

from langladder.evaluation.page import Page
from langladder.families.sides import SIDES
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.ground.progress import working
from langladder.ground.ranks import MACHINE
from langladder.ground.schema import Config, Name, checked, locate, locate_function

if TYPE_CHECKING:
    from langladder.counts.stored import Counting
    from langladder.evaluation.page import Work
    from langladder.evaluation.predictions import Prediction
    from langladder.families.job import Job
    from langladder.models import making
    from langladder.models.base import Model
    from langladder.models.network import Network

Values = Mapping[str, Any]
"""The settings of a rung as plain values, from its YAML file; they are not checked yet."""

MOST_SEEDS = 20
"""Trainings of one rung that `seeds` can ask for."""


class Make(Protocol):
    """Calls a rung's `maker`, the function that makes it (`langladder.models.making`, `embeddings.method`), with the
    run's seed, checkpoints and logger."""

    def __call__(self, start: Any, /, *data: Any, **more: Any) -> Any:
        """Make the rung.

        Args:
            start: a model, which is trained in place, a class, or the folder of the rung's base.
            data, more: what this maker takes besides.

        Returns:
            The result of the training; with the model before it if the maker builds the model.
        """


DEVICES = tuple(f"training.{name}" for name in MACHINE)
SHOWN = ("training.progress", "training.logger")
UNWATCHED = ("title", "year", "claim", "paper", *SHOWN, "training.checkpoint_every", *DEVICES)
"""Keys of a rung's file that do not change its result: no stage runs again for them."""
JUDGING = ("judged",)
"""Keys of a rung's file that only affect its evaluation: its model is not trained again for them."""


class Saved(Protocol):
    """A model that can be saved."""

    def save(self, folder: Path) -> None:
        """Write it into a folder."""


class TrainingResult(Protocol):
    """How training went."""

    @property
    def curve(self) -> list[dict[str, float | None]]:
        """Rows of the learning curve."""

    @property
    def cost(self) -> dict[str, float]:
        """The cost on this machine: seconds, tokens_per_second, peak_memory_bytes."""


class Trained(NamedTuple):
    """A trained rung.

    Attributes:
        result: how training went.
        figures: its scores on the validation data, its size.
        message: the figures in one line.
        beside: writes files into the model's folder that the model needs.
    """

    model: Saved
    result: TrainingResult
    figures: Mapping[str, object]
    message: str
    beside: Callable[[Path], object] | None = None

    def save(self, folder: Path) -> None:
        """Write the model into a folder, with what it needs beside it."""
        self.model.save(folder)
        if self.beside:
            self.beside(folder)


class Evaluated(NamedTuple):
    """An evaluated rung.

    Attributes:
        page: the content for the report.
        message: the main figures in one line.
        scores: metrics for the run that trained it; None: the page's figures.
        costs: the cost on this machine, for MLflow only.
        predictions: one row per test item, written beside the page; None if the family has no such table.
    """

    page: Page
    message: str
    scores: Mapping[str, object] | None = None
    costs: Mapping[str, float] = MappingProxyType({})
    predictions: "Sequence[Prediction] | None" = None


class Configured(Protocol):
    """A class that can be the `_target_` of a rung's file: a model, a method for word vectors, a claim."""

    Config: ClassVar[type[schema.Config]]


def config_of(values: Values) -> type[Config]:
    """The class of settings that the class of a rung's file declares."""
    kind: type[Configured] = locate(values["_target_"])
    return kind.Config


class Listed(Config):
    """The settings in every rung's file.

    Attributes:
        PARTS: key → the class of the settings there, which depends on the rung's class or on another setting above it.
    """

    PARTS: ClassVar[Mapping[str, Callable[[Values], type[Config]]]] = MappingProxyType({})

    name: Name
    title: str
    target: str = Field(alias="_target_")
    maker: str | None = Field(default=None, alias="_maker_")  # the function that makes it; set by `resolve`

    @field_validator("*", mode="before")
    @classmethod
    def _part(cls, value: object, info: ValidationInfo) -> object:
        if (kind := cls.PARTS.get(str(info.field_name))) is None:
            return value
        return kind(info.data | {"_target_": info.data.get("target")}).model_validate(value)


class Seeded(Listed):
    """The number of seeds of a rung with a model, for tables that cover seeds.

    The first is the job's seed, and its model is the rung's; the others are the next numbers. Jobs with one seed do not
    have this setting.
    """

    seeds: int = Field(default=1, ge=1, le=MOST_SEEDS, exclude=True)

    @model_validator(mode="after")
    def _training_fits(self) -> Self:
        """A training checks itself what it needs of a rung."""
        if (training := getattr(self, "training", None)) is not None:
            kind = locate(self.target) if self.target else None
            base, model = getattr(self, "base", None), getattr(self, "model", None)
            training.check_rung(kind, base=base, seeds=self.seeds, model=model)
        return self


class Rung(Seeded):
    """The settings in the file of a rung with a model."""

    PARTS = MappingProxyType({"model": config_of})

    model: SerializeAsAny[Config]


class Continued(Seeded):
    """The settings in the file of a rung with the network of its base."""

    target: None = Field(default=None, alias="_target_")  # type: ignore[assignment]  # from the base
    base: str


Settings = TypeVar("Settings", bound=Listed)


class Family(Generic[Settings]):
    """One family of rungs. Subclasses define the attributes and methods; their single instance is `FAMILY`.

    `Settings` is the class of its rungs' checked settings, as far as the methods read them.

    Attributes:
        name: `lm`: its folders conf/lm/ and models/lm/, and the key of single rungs' settings in params.yaml.
        listed: `lms`: the key of params.yaml with the rungs to train, over which the stages of dvc.yaml loop.
        title: `Language models`, the title of its table.
        experiment: MLflow's experiment of its runs.
        report_module: the module with the functions that show it in the report, see `faces.report.section`.
        guide: the page of docs/ about its rungs.
        position: its position in the report; smaller comes earlier.
        default: the rung of a single run or sweep without a choice.
        reads: the folders of the DAG's data that all its rungs read, for the lineage in their provenance.
        side: its corpus: the key of params.yaml that chooses it.
        tokens: the folder with the tokenizer of its models; None if they have no tokens. A rung and its base must have
            the same.
        bases: families that its rungs can start from. If there are any, params.yaml lists the rungs as a dictionary,
            `name: {base: family/rung}`, so that DVC knows the dependencies. `given` means networks that were trained
            elsewhere.
        beside: folders of additional inputs of its rungs, each with the family that has one entry per rung in it ("":
            the folder is read as a whole). If there are any, the dictionary also has `reads: folder/entry`.
        objective: the figure of a training that a search over settings minimises; None: there is none.
        looks_into: families whose trained models its rungs measure.
        trained: whether its rungs write a model to models/<name>/.
        model: the class of its models, a dotted name; models of one class are of one kind, whatever their family.
        file: the file by which a folder with such a model is known; `config.json` names the class.
        function: the class, a dotted name, of a `models.model_function.ModelFunction`: what can be asked of its models
            in rows, by MLflow and by `predict` in Python.
        asks: further methods of its models in Python (`faces.python.model`).
        judge: the function, a dotted name, that evaluates such a model on any file (`answers.evaluate.Judge`).
        in_python: whether `ll.train` trains its rungs; `train` then has the argument `root`, the folder of data/.
        in_new: whether its rungs are in the projects that `langladder new` makes for data of its side.
        trees: whether its models may be given a text as a bracketed tree.
        loading: Python code that loads a model, for its card; `{folder}` is replaced by the folder.
        limits: a sentence for the card about limitations.
        group: the folder of conf/ with the files of its rungs: its own name, or that of the family of which it has the
            rungs that start from others. Families of a group share a table.
    """

    name: str
    listed: str
    title: str
    experiment: ClassVar[str]
    report_module: ClassVar[str] = ""
    guide: str = ""
    position: int
    default: str
    reads: ClassVar[tuple[str, ...]] = ()
    side: ClassVar[str] = "corpus"
    tokens: ClassVar[str | None] = None
    bases: tuple[str, ...] = ()
    beside: ClassVar[Mapping[str, str]] = MappingProxyType({})
    objective: ClassVar[str | None] = "validation_loss"
    looks_into: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[bool] = True
    model: ClassVar[str] = ""
    file: ClassVar[str] = "config.json"
    function: ClassVar[str] = ""
    asks: ClassVar[tuple[str, ...]] = ()
    judge: ClassVar[str] = ""
    in_python: bool = False
    in_new: ClassVar[bool] = False
    trees: ClassVar[bool] = False
    loading: ClassVar[str] = ""
    limits: ClassVar[str] = "The model only knows what it was trained on, and is overconfident on anything else."

    def __init__(self) -> None:
        self.group = self.name

    def from_base(
        self,
        *,
        name: str,
        listed: str,
        title: str,
        position: int,
        default: str,
        bases: tuple[str, ...],
        guide: str = "",
        in_python: bool = False,
    ) -> Self:
        """The same family for rungs that start from others.

        They are listed on their own, because DVC needs their bases, and have folders and stages of their own.
        """
        other = copy(self)
        other.name, other.listed, other.title, other.position = name, listed, title, position
        other.default, other.bases, other.guide, other.in_python = default, bases, guide or self.guide, in_python
        other.group = self.name
        return other

    @property
    def texts(self) -> tuple[str, ...]:
        """The sides of the data whose training texts have the words of its models: of their tokens, and its own."""
        own = next(side.name for side in SIDES.values() if side.group == self.side)
        return tuple(dict.fromkeys([*([Path(self.tokens).name] if self.tokens else []), own]))

    # ---- making a rung -------------------------------------------------------------------------------------------

    def settings(self, value: Values) -> type[Listed]:
        """Schema of a rung's file.

        Raises:
            InputError: the file names no class of langladder.
        """
        self.rung_class(value)
        return self.rung()

    def rung(self) -> type[Listed]:
        """The class of its rungs' settings, one of `families.rungs`, which is imported here."""
        return Rung

    def rung_class(self, value: Values) -> type[Configured]:
        """The class of a rung's file."""
        if "_target_" not in value:
            file = f"conf/{self.group}/{value.get('name')}.yaml"
            raise InputError(f"{self.name}._target_: missing; name the rung's class in {file}")
        kind: type[Configured] = locate(value["_target_"])
        return kind

    def maker(self, value: Values) -> str | None:
        """Dotted name of the function that makes such a rung; None if the stage itself does.

        Args:
            value: the rung's checked settings, as plain values.
        """
        return getattr(self.rung_class(value), "maker", None)

    def inputs(self, value: Values) -> dict[str, str]:
        """Files and folders that only this rung reads, in addition to those of its family: name → path.

        The stage `watch` records them for each rung, so that other rungs do not run again for them. Names that are keys
        of `paths` in params.yaml are input files.
        """
        return {}

    def counting(self, value: Values) -> "Counting | None":
        """The counts that the stage `cooccur` makes for such a rung, once for all that need it; None: nothing."""

    def base_problem(self, value: Values, base: Values) -> str | None:
        """Why such a rung cannot start from such a base; None if it can. Both are checked settings."""
        return None

    def by_gradient(self, value: Values) -> bool:
        """Whether such a rung is trained by gradient, so that another seed gives another model.

        Args:
            value: its settings, as plain values.
        """
        kind = self.rung_class(value) if value.get("_target_") else None
        return self.trained and ("training" in value or bool(getattr(kind, "by_gradient", False)))

    def also_given(self, value: Values, title: Callable[[str], str]) -> str:
        """Additional inputs of such a rung compared with others in its table; "" for most.

        They follow from the rung's class, its base, its other inputs, and files of word vectors.

        Args:
            value: its checked settings. title: gives the title of another rung (`family/name`).
        """
        parts = []
        model: Values = value.get("model") or {}
        if value.get("_target_"):
            kind: Any = self.rung_class(value)
            if hasattr(kind, "also_given"):
                parts.append(kind.also_given(checked(kind.Config, model, f"{self.name}.{value['name']}.model")))
        if (base := value.get("base")) and model.get("pretrained", True):
            parts.append(f"{'word vectors' if base.startswith('embedding/') else 'pre-training'}: {title(base)}")
        if "vectors" in (files := self.inputs(value)):
            parts.append(f"word vectors: {files['vectors']}")
        if reads := value.get("reads"):
            rewards = f"rewards: {title(reads.removeprefix('models/'))}" if reads.startswith("models/") else ""
            parts.append(rewards or ("preferences" if reads.startswith("data/preferences/") else "the gold judge"))
        return "; ".join(filter(None, parts))

    def training_inputs(self, rung: Settings) -> dict[str, Path]:
        """The training data of all its rungs: name → file or folder. See `inputs` for those of single rungs."""
        raise NotImplementedError

    def train(self, rung: Settings, job: "Job", make: Make) -> Trained:
        """Make a rung.

        Args:
            rung: its settings. job: those of the whole job: the seed and the stage's other settings.
            make: calls the rung's maker with the run's seed, checkpoints and logger.
        """
        raise NotImplementedError

    # ---- evaluating and showing it -------------------------------------------------------------------------------

    def evaluation_inputs(self, rung: Settings, job: "Job") -> dict[str, Path]:
        """The data of its evaluation: name → file or folder."""
        raise NotImplementedError

    def evaluate(self, rung: Settings, job: "Job", folder: Path) -> Evaluated:
        """Evaluate the model in a folder on the test data."""
        raise NotImplementedError

    def page(self) -> type[Page]:
        """The class of the page that its evaluation writes to reports/rungs/<name>/<rung>.json."""
        raise NotImplementedError

    def inside(self, page: Page) -> Mapping[str, tuple[Page, str]]:
        """Pages of other families inside its pages: family → the page, and its name after the rung's title."""
        return {}


AnyFamily = Family[Any]
"""A family with any settings of its rungs."""


def make_in(run: "making.Run", rung: Listed) -> Make:
    """The function that makes a rung in a training run: calls its maker with the run."""

    def make(start: Any, *data: Any, **more: Any) -> Any:
        with working("loading what makes it"):  # Lightning loads slowly: only if needed
            maker = locate_function(str(rung.maker))
        return maker(start, *data, run=run, **more)

    return make


def is_network(rung: type) -> bool:
    """Whether a class is a `torch.nn.Module`; torch is not imported for it."""
    return any(base.__module__ == "torch.nn.modules.module" for base in rung.__mro__)


def base_of(rung: "Listed") -> Path | None:
    """The folder of the rung's base; None if it has none."""
    base: str | None = getattr(rung, "base", None)
    return None if base is None else Path("models") / base


def takes_weights(kind: type) -> bool:
    """Whether such a rung uses its base's network, not only its word vectors."""
    from langladder.models.fine_tuned import FineTuned

    return issubclass(kind, FineTuned)


def unfit(kind: type, value: Values, base: Values) -> str | None:
    """Why a rung's body cannot be the network of its base; None if it can. Both are settings as plain values."""
    from langladder.models.fine_tuned import BodyConfig, FineTuned, too_many

    assert issubclass(kind, FineTuned), kind
    settings = value.get("model") or {}
    wrong = []
    if settings.get("body") is not None:
        wrong.append("model.body comes from the base; leave it out")
    if "_target_" in base:  # else the base itself got its network from a base
        result = locate(base["_target_"])
        if not issubclass(result, kind.BODY):
            wrong.append(f"it is a {result.__name__}, but a {kind.__name__} starts from {kind.FAMILIES}")
        else:
            body: BodyConfig = checked(result.Config, base["model"], "base: model")
            wrong += filter(
                None, [too_many(settings.get("layers_transferred"), body.layers), kind.refuses(settings, body)]
            )
    return "; ".join(wrong) or None


def copies_of(*files: Path) -> Callable[[Path], None]:
    """A function for `Trained.beside` that copies files into the model's folder."""

    def copy(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)

    return copy


def validated(model: "Model", result: "making.TrainingResult") -> tuple[dict[str, object], str]:
    """The figures and the message of a model that was trained with a validation loss."""
    loss = result.validation_loss
    written = "–" if loss is None else f"{loss:.4f}"  # nothing was measured
    figures = result.sizes(model.number_of_parameters()) | {"validation_loss": loss}
    if result.kept is not None:
        figures[result.kept.measure] = result.kept.value
        if result.kept.measure != "validation_loss":
            written += f" ({result.kept})"
    return figures, f"validation loss {written}"


def work_of_reader(model: "Model", rung: "Listed", lengths: Iterable[int]) -> "Work | None":
    """Operations and memory of training a network that reads whole texts; None if it is not trained by gradient.

    Args:
        rung: its settings. lengths: pieces of each text.
    """
    training = getattr(rung, "training", None)
    if training is None:
        return None
    from langladder.evaluation.work import work_of  # import torch only if needed

    network = cast("Network", model)
    if (read_as := getattr(rung, "input", None)) and read_as.frozen:
        network.get_submodule("embedding").requires_grad_(False)
    length = max(1, round(mean(lengths)))
    return work_of(network, training.optimizer, rows=training.batch_size, length=length)
