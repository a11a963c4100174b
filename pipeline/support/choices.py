"""params.yaml: what IS chosen. Read here once, checked, and turned into Hydra overrides.

The same values reach every entry point: `dvc repro` and `dvc exp run -S` through the stage `resolve`, and
`python -m pipeline.<stage> -m …` through `pipeline.support.stage`, where an override on the command line wins.
"""

from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from langladder.errors import InputError
from langladder.schema import Config
from pipeline import ROOT
from pipeline.support.problems import explain, gather
from pipeline.support.yaml_files import read_leniently

GROUPS = ("size", "corpus", "parallel", "clean", "tokenizer", "words", "debug")  # keys that name a file in conf/<key>/
LADDERS = {"embedding": "embeddings", "lm": "lms", "translator": "translators"}  # conf group: list of rungs
LADDERS |= {"sequence": "sequences", "experiment": "experiments", "probe": "probes"}

Changes = dict[str, dict[str, Any]]  # rung → what differs from its file in conf/


class EvaluationSets(Config):
    """What word vectors are judged by."""

    analogies: str
    similarity: str
    groups: str


class Paths(EvaluationSets):
    """Files from outside; DVC watches them."""

    text: str
    parallel: str
    vectors: str
    lexicon: str
    agreement: str


class Choices(Config):
    """Schema of params.yaml."""

    size: str
    seed: int = Field(ge=0, lt=2**31)
    precision: str
    threads: int = Field(ge=1, le=256)
    corpus: str
    parallel: str
    clean: str
    tokenizer: str
    words: str
    debug: str
    paths: Paths
    embeddings: list[str]
    lms: list[str]
    translators: list[str]
    sequences: list[str]
    experiments: list[str]
    probes: list[str]
    embedding: Changes = Field(default_factory=dict)
    lm: Changes = Field(default_factory=dict)
    translator: Changes = Field(default_factory=dict)
    sequence: Changes = Field(default_factory=dict)
    experiment: Changes = Field(default_factory=dict)
    probe: Changes = Field(default_factory=dict)

    @model_validator(mode="after")
    def _probes_have_models(self) -> Self:
        if self.probes and not self.lms:
            raise ValueError(f"probes={self.probes} look into the trained models of lms, which is empty")
        return self

    def rungs(self, group: str) -> list[str]:
        """Names listed for a ladder, e.g. `lm`."""
        names: list[str] = getattr(self, LADDERS[group])
        return names


def load_choices() -> Choices:
    """Read and check params.yaml.

    Raises:
        InputError: not YAML (line), keys that stand twice, unknown keys, wrong types, values out of range; all at once.
    """
    raw, problems = read_leniently(ROOT / "params.yaml")
    try:
        with explain(file_of=lambda _: "params.yaml"):
            chosen = Choices.model_validate(raw)
    except InputError as error:
        problems.append(str(error))
    if problems:
        raise gather(problems)
    return chosen


def overrides(choices: Choices, given: list[str]) -> list[str]:
    """Hydra overrides that carry params.yaml, without the keys that `given` (the command line) sets itself."""
    taken = {override.lstrip("+~").partition("=")[0].partition("@")[0] for override in given}
    values: dict[str, Any] = {group: getattr(choices, group) for group in GROUPS}
    values |= {"seed": choices.seed, "precision": choices.precision, "threads": choices.threads}
    values |= {f"paths.{key}": value for key, value in choices.paths.model_dump().items()}
    return [f"{key}={_quote(value)}" for key, value in values.items() if key not in taken]


def _quote(value: Any) -> str:
    """A value in Hydra's override grammar; paths may hold characters that the grammar would read."""
    if isinstance(value, str) and not (value.isascii() and value.replace("_", "").replace("-", "").isalnum()):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def conf_file(group: str, name: str) -> Path:
    """The file of a choice."""
    return ROOT / "conf" / group / f"{name}.yaml"


def conf_names(group: str) -> list[str]:
    """Names that conf/<group>/ offers."""
    return sorted(Path(file).stem for file in (ROOT / "conf" / group).glob("*.yaml"))
