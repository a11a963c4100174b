"""What a family of rungs declares: word vectors, language models, translators, claims, and whatever comes next.

A declaration is read far more often than a rung is trained (every stage begins with all of them), so its module
imports nothing heavy: what needs PyTorch or the report is imported inside the method that needs it.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from pydantic import Field, create_model, model_validator

from langladder.evaluation.page import Page
from langladder.ground.errors import InputError
from langladder.ground.schema import Config, Name, locate

DEVICES = ("training.devices", "training.nodes", "training.strategy")
"""How many processes train together: their sums differ in last bits. It is a matter of the machine, and a training that
was interrupted may go on with another number."""
ASIDE = ("title", "year", "claim", "training.progress", "training.checkpoint_every", *DEVICES)
"""What a rung's file says that changes nothing of its result: no stage is run again for it."""
JUDGING = ("judged",)
"""What a rung's file says of how it is judged alone: its model is not made again for it."""


class Listed(Config):
    """What every rung's file says."""

    name: Name
    title: str
    target: str = Field(alias="_target_")
    maker: str | None = Field(default=None, alias="_maker_")  # the function that makes it; found by `resolve`


class Rung(Listed):
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


class Family:
    """One family of rungs. Subclasses fill in the names and the methods; their one instance is `FAMILY`.

    Attributes:
        name: `lm`: its folder conf/lm/, models/lm/, and the key of single rungs' changes in params.yaml.
        listed: `lms`: the key of params.yaml that lists which rungs to train, and what dvc.yaml's stages go through.
        title: `Language models`, over its table.
        experiment: MLflow's experiment of its runs.
        report_module: the module whose functions show it in the report, see `faces.report.section`.
        place: its place in the report, the smaller the earlier.
        default: the rung of a single run or sweep that names none.
        reads: the folders of the DAG's data that all its rungs read, for their provenance's way back to the corpus.
        side: the corpus that it is about: the key of params.yaml that names it.
        tokens: the folder whose tokenizer its models speak; None where they know no tokens. A rung and the one it
            grows from must speak the same.
        bases: families that its rungs may grow from. A family with any is listed in params.yaml as a dictionary,
            `name: {base: family/rung}`, so that DVC sees what each waits for. `given` among them stands for networks
            that were trained elsewhere.
        beside: folders of what its rungs read beside their base, each with the family whose rungs it holds one entry
            of ("": it is read as a whole). A family with any says `reads: folder/entry` too, in that dictionary.
        objective: the figure of a training that a search over settings makes as small as it can; None: it leaves none.
        looks_into: families whose trained models its rungs measure.
        trained: whether its rungs leave a model in models/<name>/.
        judged_in: seconds that judging a rung takes, roughly: what is said before any has been judged.
        loading: Python that loads a model of it, for its card; `{folder}` is what the reader calls the folder.
        limits: a sentence for the card on what not to expect.
    """

    name: ClassVar[str]
    listed: ClassVar[str]
    title: ClassVar[str]
    experiment: ClassVar[str]
    report_module: ClassVar[str] = ""
    place: ClassVar[int]
    default: ClassVar[str]
    reads: ClassVar[tuple[str, ...]] = ()
    side: ClassVar[str] = "corpus"
    tokens: ClassVar[str | None] = None
    bases: ClassVar[tuple[str, ...]] = ()
    beside: ClassVar[Mapping[str, str]] = MappingProxyType({})
    objective: ClassVar[str | None] = "validation_loss"
    looks_into: ClassVar[tuple[str, ...]] = ()
    trained: ClassVar[bool] = True
    judged_in: ClassVar[float] = 5.0
    loading: ClassVar[str] = ""
    limits: ClassVar[str] = "The model knows what it was trained on, and is sure of itself elsewhere too."

    # ---- making a rung -------------------------------------------------------------------------------------------

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """Schema of a rung's file; its class (`_target_`) has a say.

        Raises:
            InputError: it names no class of the house.
        """
        return create_model(f"{self.name}_rung", __base__=Rung, **self.parts(self.rung_class(value)))

    def parts(self, rung: Any) -> dict[str, Any]:
        """The parts of the file that differ from family to family: pydantic fields."""
        return {"model": (rung.Config, ...)}

    def rung_class(self, value: Mapping[str, Any]) -> Any:
        """The class that a rung's file names."""
        if "_target_" not in value:
            file = f"conf/{self.name}/{value.get('name')}.yaml"
            raise InputError(f"{self.name}._target_: missing; name the rung's class in {file}")
        return locate(value["_target_"])

    def maker(self, value: Mapping[str, Any]) -> str | None:
        """Dotted name of the function that makes such a rung; None where the stage itself does.

        Args:
            value: the rung's checked settings, as plain values.
        """
        return getattr(self.rung_class(value), "maker", None)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """Files and folders that this very rung reads, beyond what all rungs of its family do: name → path.

        They are noted for each rung by the stage `watch`, so that another rung is not made anew for them. A name that
        params.yaml has among its `paths` is a file from outside.
        """
        del value
        return {}

    def counting(self, value: Mapping[str, Any]) -> Any:
        """What the stage `cooccur` counts in the text for such a rung, once for all that need it; None: nothing."""
        del value

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """Why such a rung cannot grow from such a base; None where it can. Both are checked settings."""
        del value, base
        return None

    # ---- judging and showing it ----------------------------------------------------------------------------------

    def page(self) -> type[Page]:
        """What its evaluation writes to reports/rungs/<name>/<rung>.json."""
        raise NotImplementedError

    def inside(self, page: Any) -> Mapping[str, tuple[Any, str]]:
        """What its pages hold of other families: family → the page, and what it is called after the rung's title."""
        del page
        return {}
