"""What a family of rungs declares: word vectors, language models, translators, claims, and whatever comes next.

A declaration is read far more often than a rung is trained (every stage begins with all of them), so its module
imports nothing heavy: what needs PyTorch or the report is imported inside the method that needs it.
"""

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar, cast

from pydantic import Field, create_model, model_validator

from langladder.evaluation.page import Page
from langladder.ground import schema
from langladder.ground.errors import InputError
from langladder.ground.ranks import MACHINE
from langladder.ground.schema import Config, Name, checked, locate

if TYPE_CHECKING:
    from langladder.counts.stored import Counting
    from langladder.decoding.limits import LengthForm
    from langladder.evaluation.bleu import BleuChoice
    from langladder.evaluation.page import Work
    from langladder.evaluation.predictions import Prediction
    from langladder.models import making
    from langladder.models.base import Model
    from langladder.models.network import Network

Values = Mapping[str, Any]
"""The settings of a rung as plain values: what its YAML file says, which may be anything."""
Fields = dict[str, Any]
"""Fields of a settings class by name, as pydantic's `create_model` takes them: (type, default)."""

MOST_SEEDS = 20
"""With which a rung is trained."""

Make = Callable[..., Any]
"""Calls the function that makes the rung (`langladder.models.making`, `langladder.embeddings.method`):
`make(start, *data, **more)`, where start is a model, to be trained in place, a class, or the folder of its base."""

DEVICES = tuple(f"training.{name}" for name in MACHINE)
SHOWN = ("training.progress", "training.logger")
UNWATCHED = ("title", "year", "claim", "paper", *SHOWN, "training.checkpoint_every", *DEVICES)
"""What a rung's file says that changes nothing of its result: no stage is run again for it."""
JUDGING = ("judged",)
"""What a rung's file says of how it is judged alone: its model is not made again for it."""


class Saved(Protocol):
    """A model, which can be saved."""

    def save(self, folder: Path) -> None:
        """Write it into a folder."""


class TrainingResult(Protocol):
    """How training went."""

    @property
    def curve(self) -> list[dict[str, float | None]]:
        """Rows of the learning curve."""

    @property
    def cost(self) -> dict[str, float]:
        """What the machine took: seconds, tokens_per_second, peak_memory_bytes."""


class Trained(NamedTuple):
    """A trained rung.

    Attributes:
        result: how training went.
        figures: what it scores on the validation data, its size.
        message: the figures in a line.
        beside: writes into the model's folder what it cannot be used without.
    """

    model: Saved
    result: TrainingResult
    figures: Mapping[str, object]
    message: str
    beside: Callable[[Path], object] | None = None


class Evaluated(NamedTuple):
    """An evaluated rung.

    Attributes:
        page: what the report shows.
        message: the most telling figures in a line.
        scores: what is logged to the run that trained it; None: the page's figures.
        costs: what the machine took, for MLflow alone.
        predictions: a row a test item, which is written beside the page; None where the family has no such table.
    """

    page: Page
    message: str
    scores: Mapping[str, object] | None = None
    costs: Mapping[str, float] = MappingProxyType({})
    predictions: "Sequence[Prediction] | None" = None


class Configured(Protocol):
    """What a rung's file may name as `_target_`: a model, a method for word vectors, a claim."""

    Config: ClassVar[type[schema.Config]]


class EvaluationSettings(Protocol):
    """The key `evaluation` of params.yaml: how rungs are evaluated and shown."""

    prompts: list[str] | int
    sample_tokens: int
    temperature: float
    beam: int
    length_alpha: float
    length_form: "LengthForm"
    coverage: float
    n_best: int
    search_error_widths: list[int]
    search_error_sentences: int
    bleu_tokenize: "BleuChoice"
    max_length: int
    restrict_vocabulary: int | None
    neighbours: int


class Job(Protocol):
    """Settings of a stage beside those of the rung. Each stage has those that dvc.yaml lists for it, and no others."""

    seed: int
    evaluation: EvaluationSettings
    paths: Config
    beam: int
    bleu_tokenize: "BleuChoice | None"
    lms: Sequence[str]
    tunes: Sequence[str]
    agreement: str


class Listed(Config):
    """What every rung's file says."""

    name: Name
    title: str
    target: str = Field(alias="_target_")
    maker: str | None = Field(default=None, alias="_maker_")  # the function that makes it; found by `resolve`


class Seeded(Listed):
    """What the file of a rung says that has a model: with how many seeds it is trained, for tables that cover them.

    The first is the job's, and its model the rung's; the others are the next numbers. No job of one seed knows of them.
    """

    seeds: int = Field(default=1, ge=1, le=MOST_SEEDS, exclude=True)

    @model_validator(mode="after")
    def _are_trained_here(self) -> Self:
        training: Any = getattr(self, "training", None)
        if self.seeds > 1 and getattr(training, "devices", 1) * getattr(training, "nodes", 1) > 1:
            raise ValueError(
                f"seeds={self.seeds} with training.devices={training.devices}, training.nodes={training.nodes}: one "
                "process trains several seeds; set devices and nodes to 1, or seeds to 1"
            )
        return self


class Rung(Seeded):
    """What the file of a rung says that has a model."""

    model: Config

    @model_validator(mode="after")
    def _can_be_shared_out(self) -> Self:
        strategy = getattr(getattr(self, "training", None), "strategy", None)
        if strategy == "fsdp" and not getattr(locate(self.target), "shards", ()):
            raise ValueError(
                f"training.strategy=fsdp: a {self.target.rpartition('.')[2]} has no layers to share out; GPT and BERT "
                "have. Set it to ddp"
            )
        return self

    @model_validator(mode="after")
    def _window_fits_context(self) -> Self:
        context = getattr(self.model, "context", None)
        length = getattr(getattr(self, "training", None), "sequence_length", None)
        if context is not None and length is not None and length > context:
            raise ValueError(f"training.sequence_length={length} exceeds model.context={context}")
        return self


Settings = TypeVar("Settings", bound=Listed)


class Family(Generic[Settings]):
    """One family of rungs. Subclasses fill in the names and the methods; their one instance is `FAMILY`.

    `Settings` is the class of its rungs' checked settings, as far as the methods read them.

    Attributes:
        name: `lm`: its folder conf/lm/, models/lm/, and the key of single rungs' changes in params.yaml.
        listed: `lms`: the key of params.yaml that lists which rungs to train, and what dvc.yaml's stages go through.
        title: `Language models`, over its table.
        experiment: MLflow's experiment of its runs.
        report_module: the module whose functions show it in the report, see `faces.report.section`.
        position: its place in the report, the smaller the earlier.
        default: the rung of a single run or sweep that names none.
        reads: the folders of the DAG's data that all its rungs read, for their provenance's way back to the corpus.
        side: the corpus that it is about: the key of params.yaml that names it.
        tokens: the folder whose tokenizer its models speak; None where they know no tokens. A rung and the one it
            starts from must speak the same.
        bases: families that its rungs may start from. A family with any is listed in params.yaml as a dictionary,
            `name: {base: family/rung}`, so that DVC sees what each waits for. `given` among them stands for networks
            that were trained elsewhere.
        beside: folders of what its rungs read beside their base, each with the family whose rungs it holds one entry
            of ("": it is read as a whole). A family with any says `reads: folder/entry` too, in that dictionary.
        objective: the figure of a training that a search over settings makes as small as it can; None: it leaves none.
        looks_into: families whose trained models its rungs measure.
        trained: whether its rungs leave a model in models/<name>/.
        loading: Python that loads a model of it, for its card; `{folder}` is what the reader calls the folder.
        limits: a sentence for the card on what not to expect.
        base_settings: what the file of each of its rungs says, whatever the rung's class.
    """

    name: ClassVar[str]
    listed: ClassVar[str]
    title: ClassVar[str]
    experiment: ClassVar[str]
    report_module: ClassVar[str] = ""
    position: ClassVar[int]
    default: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    side: ClassVar[str] = "corpus"
    tokens: ClassVar[str | None] = None
    bases: ClassVar[tuple[str, ...]] = ()
    beside: ClassVar[Mapping[str, str]] = MappingProxyType({})
    objective: ClassVar[str | None] = "validation_loss"
    looks_into: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[bool] = True
    loading: ClassVar[str] = ""
    limits: ClassVar[str] = "The model knows what it was trained on, and is sure of itself elsewhere too."
    base_settings: ClassVar[type[Rung]] = Rung

    # ---- making a rung -------------------------------------------------------------------------------------------

    def settings(self, value: Values) -> type[Config]:
        """Schema of a rung's file; its class (`_target_`) has a say.

        Raises:
            InputError: it names no class of the house.
        """
        return create_model(f"{self.name}_rung", __base__=self.base_settings, **self.parts(self.rung_class(value)))

    def parts(self, kind: type[Configured]) -> Fields:
        """The parts of the file that differ from family to family: pydantic fields."""
        return {"model": (kind.Config, ...)}

    def rung_class(self, value: Values) -> type[Configured]:
        """The class that a rung's file names."""
        if "_target_" not in value:
            file = f"conf/{self.name}/{value.get('name')}.yaml"
            raise InputError(f"{self.name}._target_: missing; name the rung's class in {file}")
        kind: type[Configured] = locate(value["_target_"])
        return kind

    def maker(self, value: Values) -> str | None:
        """Dotted name of the function that makes such a rung; None where the stage itself does.

        Args:
            value: the rung's checked settings, as plain values.
        """
        return getattr(self.rung_class(value), "maker", None)

    def inputs(self, value: Values) -> dict[str, str]:
        """Files and folders that this very rung reads, beyond what all rungs of its family do: name → path.

        They are noted for each rung by the stage `watch`, so that another rung is not made anew for them. A name that
        params.yaml has among its `paths` is a file from outside.
        """
        return {}

    def counting(self, value: Values) -> "Counting | None":
        """What the stage `cooccur` counts in the text for such a rung, once for all that need it; None: nothing."""

    def grows(self, value: Values, base: Values) -> str | None:
        """Why such a rung cannot start from such a base; None where it can. Both are checked settings."""
        return None

    def by_gradient(self, value: Values) -> bool:
        """Whether such a rung is trained by gradient, so that another seed makes another model of it.

        Args:
            value: its settings, as plain values.
        """
        kind = self.rung_class(value) if value.get("_target_") else None
        return self.trained and ("training" in value or bool(getattr(kind, "by_gradient", False)))

    def also_given(self, value: Values, title: Callable[[str], str]) -> str:
        """What such a rung is given that others of its table are not, for those who compare them; "" of most.

        It follows from the rung's class, its base, what it reads beside that, and files of word vectors.

        Args:
            value: its checked settings. title: of another rung (`family/name`).
        """
        found = []
        model: Values = value.get("model") or {}
        if value.get("_target_"):
            kind: Any = self.rung_class(value)
            if hasattr(kind, "also_given"):
                found.append(kind.also_given(checked(kind.Config, model, f"{self.name}.{value['name']}.model")))
        if (base := value.get("base")) and model.get("pretrained", True):
            found.append(f"{'word vectors' if base.startswith('embedding/') else 'pre-training'}: {title(base)}")
        if "vectors" in (files := self.inputs(value)):
            found.append(f"word vectors: {files['vectors']}")
        if reads := value.get("reads"):
            rewards = f"rewards: {title(reads.removeprefix('models/'))}" if reads.startswith("models/") else ""
            found.append(rewards or ("preferences" if reads.startswith("data/preferences/") else "the gold judge"))
        return "; ".join(filter(None, found))

    def training_inputs(self, rung: Settings) -> dict[str, Path]:
        """What all its rungs read to be trained: name → file or folder. What a rung names itself is `inputs`."""
        raise NotImplementedError

    def train(self, rung: Settings, job: "Job", make: Make) -> Trained:
        """Make a rung.

        Args:
            rung: its settings. job: those of the whole job: seed, and what else the stage reads.
            make: calls the rung's maker with the run's seed, checkpoints and logger.
        """
        raise NotImplementedError

    # ---- evaluating and showing it -------------------------------------------------------------------------------

    def evaluation_inputs(self, rung: Settings, job: "Job") -> dict[str, Path]:
        """What its evaluation reads beside the model: name → file or folder."""
        raise NotImplementedError

    def evaluate(self, rung: Settings, job: "Job", folder: Path) -> Evaluated:
        """Evaluate the model in a folder on the test data."""
        raise NotImplementedError

    def page(self) -> type[Page]:
        """What its evaluation writes to reports/rungs/<name>/<rung>.json."""
        raise NotImplementedError

    def inside(self, page: Page) -> Mapping[str, tuple[Page, str]]:
        """What its pages hold of other families: family → the page, and what it is called after the rung's title."""
        return {}


AnyFamily = Family[Any]
"""A family, whatever its rungs' settings."""


def is_network(rung: type) -> bool:
    """Whether a class is a `torch.nn.Module`; torch is not imported for it."""
    return any(base.__module__ == "torch.nn.modules.module" for base in rung.__mro__)


def base_of(rung: "Listed") -> Path | None:
    """The folder of the rung that this one starts from; None where it starts from none."""
    base: str | None = getattr(rung, "base", None)
    return None if base is None else Path("models") / base


def takes_weights(kind: type) -> bool:
    """Whether such a rung takes its base's network, and not only its word vectors."""
    from langladder.models.growing import Grown

    return issubclass(kind, Grown)


def unfit(kind: type, value: Values, base: Values) -> str | None:
    """Why a rung's body cannot be the network of its base; None where it can. Both are settings as plain values."""
    from langladder.models.growing import BodyConfig, Grown, too_many

    assert issubclass(kind, Grown), kind
    settings = value.get("model") or {}
    wrong = []
    if settings.get("body") is not None:
        wrong.append("model.body is the network of the base; leave it out")
    if "_target_" in base:  # else the base has its network from its own base
        found = locate(base["_target_"])
        if not issubclass(found, kind.BODY):
            wrong.append(f"it is a {found.__name__}, and a {kind.__name__} starts from {kind.FAMILIES}")
        else:
            body: BodyConfig = checked(found.Config, base["model"], "base: model")
            wrong += filter(
                None, [too_many(settings.get("layers_transferred"), body.layers), kind.refuses(settings, body)]
            )
    return "; ".join(wrong) or None


def copies_of(*files: Path) -> Callable[[Path], None]:
    """For `Trained.beside`: copies files into the model's folder."""

    def copy(folder: Path) -> None:
        for file in files:
            shutil.copy(file, folder)

    return copy


def validated(model: "Model", result: "making.TrainingResult") -> tuple[dict[str, object], str]:
    """The figures of a model that was trained against a validation loss, and the message of them."""
    loss = result.validation_loss
    written = "–" if loss is None else f"{loss:.4f}"  # nothing was measured
    return {"parameters": model.number_of_parameters(), "validation_loss": loss}, f"validation loss {written}"


def work_of_reader(model: "Model", rung: "Listed", lengths: Iterable[int]) -> "Work | None":
    """Operations and memory of a network that reads whole texts, as it is trained; None where no gradient trained it.

    Args:
        rung: its settings. lengths: pieces of each text.
    """
    training = getattr(rung, "training", None)
    if training is None:
        return None
    from langladder.evaluation.work import work_of  # torch only for those that need it

    network = cast("Network", model)
    if hasattr(rung, "input") and rung.input.frozen:
        network.get_submodule("embedding").requires_grad_(False)
    length = max(1, round(mean(lengths)))
    return work_of(network, training.optimizer, rows=training.batch_size, length=length)
