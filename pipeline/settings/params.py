"""params.yaml: what IS chosen. Read here once, checked, and given to Hydra as a config of its own (`as_config`).

The same values reach every entry point: `dvc repro` and `dvc exp run -S` through the stage `resolve`, and
`python -m pipeline.<stage> -m …` through `pipeline.settings.stage`, where a preset and the command line win.
"""

import subprocess
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    create_model,
    field_validator,
    model_validator,
)

from langladder.engine.settings import Memory
from langladder.families import families
from langladder.families.family import MOST_SEEDS
from langladder.families.folds import MOST_FOLDS, checked_folds
from langladder.families.sides import CHOSEN, ON_REQUEST, SIDES
from langladder.ground import plugins
from langladder.ground.errors import InputError
from langladder.ground.plugins import checked_package
from langladder.ground.remote import is_url
from langladder.ground.schema import Config, Name, checked_name, short
from pipeline import INSTALLED, ROOT
from pipeline.settings.errors import combined, explained
from pipeline.settings.run_folder import OUTPUT_FOLDERS
from pipeline.settings.yaml_files import Values, flat, read_leniently, read_yaml

GROUPS = (
    "size",
    *(side.group for side in CHOSEN),
    "filter",
    "clean",
    "tokenizer",
    "words",
    "engine",
    "debug",
)  # keys that name a file in conf/<key>/

NONE = "none"
"""The choice of a side of which there are no data: conf/<group>/none.yaml."""
LIGHTNING = ("trainer", "callbacks", "logger", "optimizer", "scheduler")
"""Keys that name files in conf/<key>/, none or several; `trainer` may hold flags instead."""
OPEN = tuple(f"{key}." for key in LIGHTNING)
"""Where a key on the command line need not be in the files of conf/: `trainer.profiler=simple`."""

PACKAGES = {"s3": "dvc_s3", "gs": "dvc_gs", "http": "dvc_http", "https": "dvc_http", "ssh": "dvc_ssh"}
INSTALL = {"dvc_s3": "'langladder[cluster]'", "dvc_gs": "dvc-gs gcsfs", "dvc_ssh": "dvc-ssh sshfs"}
READ = (*(side.name for side in CHOSEN), "filter")
"""The keys of params.yaml: paths that may be URLs; the rest is small and read as a whole."""

ABSENT = "not set"
FEW = 6
"""So many uncommitted values are named."""
RESTORE = (
    "`dvc exp run -S` leaves its values there; `git checkout -- params.yaml` restores the whole file, "
    "`dvc exp run -S key=value` one of them"
)

Changes = dict[str, Values]  # rung → what differs from its file in conf/


def _from_outside(path: str) -> str:
    """A path of params.yaml: as it is written, and not in the project's way."""
    if "${" in path:
        raise ValueError("references are not followed here; write the path itself")
    try:
        (ROOT / path).stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # who reads it will say so
        pass
    except OSError as error:  # too long, a circle of links
        raise ValueError(f"no path that this system has ({str(error.strerror).lower()})") from error
    root, real = ROOT.resolve(), (ROOT / path).resolve()
    if root.is_relative_to(real):
        raise ValueError("the project itself, or a folder above it; name a file or folder of its own")
    return path


def _no_output(path: str) -> str:
    """A path that no stage writes to."""
    real = (ROOT / path).resolve()
    for folder in OUTPUT_FOLDERS:
        if real.is_relative_to((ROOT / folder).resolve()):
            raise ValueError(f"in {folder}/, whose content stages replace; move it to input/")
    return path


def objection(key: str, path: str) -> str | None:
    """Why a path of params.yaml: paths is not taken; None where it is, and where it is no URL."""
    if not is_url(path):
        return None
    scheme = path.partition("://")[0]
    if key not in READ:
        return f"a URL; {', '.join(READ)} may be URLs, this not: copy it here (langladder copy {path} input/{key})"
    if scheme not in PACKAGES:
        hub = "; for a data set of the Hub set corpus: hub" if scheme == "hf" else ""
        return f"a URL that DVC cannot watch; {', '.join(f'{one}://' for one in PACKAGES)} are watched{hub}"
    if scheme.startswith("http") and path.endswith("/"):
        return "a web folder, which has no ETag that DVC could watch; name one file, or copy it here (langladder copy)"
    if find_spec(PACKAGES[scheme]) is None:
        package = PACKAGES[scheme]
        return f"{scheme}:// needs {package.replace('_', '-')}, which is not installed; pip install {INSTALL[package]}"
    return None


Input = Annotated[str, AfterValidator(_from_outside), AfterValidator(_no_output)]


class EvaluationSets(Config):
    """What word vectors are judged by."""

    analogies: str
    similarity: str
    groups: str


class OtherPaths(EvaluationSets):
    """Files from outside, some of which may be URLs; DVC watches them. `Paths` adds that of each side."""

    vectors: str
    lexicon: str
    filter: str
    agreement: str
    prompts: str = "input/prompts"
    plugins: str = "input/plugins"

    @field_validator("*")
    @classmethod
    def _can_be_tracked(cls, path: str, info: ValidationInfo) -> str:
        if wrong := objection(str(info.field_name), path):
            raise ValueError(wrong)
        if is_url(path):
            return path
        own = str(info.field_name) in (*READ, "prompts")  # the others may be what the ladder has made
        return _no_output(_from_outside(path)) if own else _from_outside(path)


_SIDES_PATHS: dict[str, Any] = {
    side.name: (str, ... if side.default is None else f"input/{side.name}") for side in CHOSEN
}
Paths = create_model("Paths", __base__=OtherPaths, **_SIDES_PATHS)


class Growth(Config):
    """What a rung starts from."""

    base: str  # family/rung

    @field_validator("*")
    @classmethod
    def _is_of_names(cls, value: str) -> str:
        parts = value.split("/")
        if len(parts) < 2:
            raise ValueError("write two names, family/rung; of a folder its path, data/preferences/sft")
        for part in parts:
            checked_name(part)
        return value


class GrowthBeside(Growth):
    """The same of a rung that reads something else beside its base."""

    reads: str  # a folder of the DAG


def _listed(value: object) -> object:
    """`labels` or `[labels, text]`; null is none."""
    return [] if value is None else [value] if isinstance(value, str) else value


class Choices(Config):
    """What params.yaml says for all families alike; `schema` adds two keys a family, and one a side."""

    size: str
    seed: int = Field(ge=0, lt=2**31)
    seeds: int = Field(default=1, ge=1, le=MOST_SEEDS)
    folds: Annotated[int, Field(ge=1, le=MOST_FOLDS), AfterValidator(checked_folds)] = 1
    learning_curve: bool = False
    precision: str
    threads: int = Field(ge=1, le=256)
    filter: str
    clean: str
    tokenizer: str
    words: str
    engine: str = "local"
    memory: Memory | None = None
    debug: str
    only: Annotated[list[Literal[tuple(SIDES)]], BeforeValidator(_listed)] = Field(default_factory=list)  # type: ignore[valid-type]
    data: dict[Literal[tuple(side.name for side in CHOSEN)], Values] = Field(default_factory=dict)  # type: ignore[valid-type]
    trainer: str | dict[str, Any] = Field(default_factory=dict)
    callbacks: list[str] = Field(default_factory=list)
    logger: list[str] = Field(default_factory=list)
    optimizer: str | None = None
    scheduler: str | None = None
    plugins: list[Annotated[str, AfterValidator(checked_package)]] = Field(default_factory=list)
    corpora: list[str] = Field(default_factory=list, max_length=len(ON_REQUEST))
    prompted: Literal["lm", "tune"] = "lm"
    paths: OtherPaths
    given: dict[Name, Input] = Field(default_factory=dict)  # name → folder

    @field_validator("data")
    @classmethod
    def _of_corpora(cls, data: dict[str, Values]) -> dict[str, Values]:
        for side, values in data.items():
            if "${" in str(values):
                raise ValueError(f"{side}: references are not followed here; write the value itself")
            if "path" in values:
                raise ValueError(f"{side}.path: DVC watches the paths; name it in paths.{side}")
        return data

    @model_validator(mode="after")
    def _models_to_look_into(self) -> Self:
        if self.prompted == "tune" and self.rungs("prompt") and not self.rungs("tune"):
            raise ValueError("prompted=tune, but tunes is empty; list some, or set prompted to lm")
        for family in families().values():
            for other in family.looks_into:
                if self.rungs(family.name) and not self.rungs(other):
                    named, listed = f"{family.listed}={self.rungs(family.name)}", families()[other].listed
                    raise ValueError(f"{named} look into the trained models of {listed}, which is empty")
        return self

    @model_validator(mode="after")
    def _corpora_to_read(self) -> Self:
        for family in families().values():
            if family.side in ON_REQUEST and family.side not in self.corpora and self.rungs(family.name):
                named, missing = f"{family.listed}={self.rungs(family.name)}", f"corpora: [{family.side}]"
                raise ValueError(f"{named} read data/clean/{family.side}, which is not made; set {missing}")
        return self

    def files(self, key: str) -> list[str]:
        """The files of conf/<key>/ that a key of `GROUPS` or `LIGHTNING` names."""
        value = getattr(self, key)
        return value if isinstance(value, list) else [value] if isinstance(value, str) else []

    def rungs(self, family: str) -> list[str]:
        """The rungs listed of a family, e.g. of `lm`."""
        return list(getattr(self, families()[family].listed))

    def changes(self, family: str) -> Changes:
        """Changes to single rungs of a family, on top of their files."""
        found: Changes = getattr(self, family)
        return found

    def bases(self, family: str) -> dict[str, str]:
        """Rung → the rung (family/name) that it starts from, where the family's grow."""
        listed = getattr(self, families()[family].listed)
        return {name: growth.base for name, growth in listed.items()} if isinstance(listed, dict) else {}

    def reads(self, family: str) -> dict[str, str]:
        """Rung → the folder that it reads beside its base, where the family's do."""
        listed = getattr(self, families()[family].listed)
        return {name: growth.reads for name, growth in listed.items()} if families()[family].beside else {}

    def with_rungs(self, kept: dict[str, list[str]]) -> Self:
        """The same with these rungs of each family only; those that grow keep their bases."""
        values: dict[str, object] = {}
        for family, names in kept.items():
            now = getattr(self, families()[family].listed)
            values[families()[family].listed] = {name: now[name] for name in names} if isinstance(now, dict) else names
        return self.model_copy(update=values)


@cache
def schema() -> type[Choices]:
    """Schema of params.yaml, with every family's list of rungs and changes to them; a family need not be named."""
    corpora: Any = list[Literal[ON_REQUEST]]  # type: ignore[valid-type]
    fields: dict[str, Any] = {"paths": (Paths, ...)}
    fields["corpora"] = (corpora, Field(default_factory=list, max_length=len(ON_REQUEST)))
    fields |= {side.group: (str, ... if side.default is None else side.default) for side in CHOSEN}
    for family in families().values():
        growth = GrowthBeside if family.beside else Growth
        kind: Any = dict[str, growth] if family.bases else list[str]  # type: ignore[valid-type]
        fields[family.listed] = (kind, Field(default_factory=dict if family.bases else list))
        fields[family.name] = (Changes, Field(default_factory=dict))
    return create_model("Params", __base__=Choices, **fields)


def load() -> Choices:
    """Read and check params.yaml.

    Raises:
        InputError: not YAML (line), keys that stand twice, unknown keys, wrong types, values out of range; all at once.
    """
    chosen, problems = load_leniently()
    if problems or not chosen:
        raise combined(problems, uncommitted())
    return chosen


def uncommitted() -> str:
    """Which values of params.yaml the last commit does not have, and how to restore the file; "" where there are none.

    `dvc exp run -S` writes its values into the file and leaves them there, also where they are refused. In the copies
    that DVC makes for its queue, and in a ladder's own folder, there is nothing to restore.
    """
    if ".dvc" in ROOT.parts:
        return ""
    try:
        shown = subprocess.run(["git", "show", "HEAD:./params.yaml"], cwd=ROOT, capture_output=True, check=False)
    except OSError:  # no git
        return ""
    if shown.returncode:
        return ""
    try:
        before, now = (flat(yaml.safe_load(text) or {}) for text in (shown.stdout, (ROOT / "params.yaml").read_bytes()))
    except (yaml.YAMLError, AttributeError, OSError, ValueError):
        return ""
    keys = [key for key in before | now if before.get(key, ABSENT) != now.get(key, ABSENT)]
    if not keys:
        return ""
    few = "; ".join(f"{key}: {_value_text(now, key)} (committed: {_value_text(before, key)})" for key in keys[:FEW])
    more = f"; {len(keys) - FEW} more" if len(keys) > FEW else ""
    return f"params.yaml differs from the last commit in {few}{more}. {RESTORE}"


def _value_text(values: Values, key: str) -> str:
    return short(values[key]) if key in values else ABSENT


def load_leniently() -> tuple[Choices | None, list[str]]:
    """What params.yaml says, and what is wrong with it, one line each.

    What is wrong counts as what conf/config.yaml says, so that the rest can be checked too; None where even so it
    cannot.

    Raises:
        InputError: not YAML (line).
    """
    raw, problems = read_leniently(ROOT / "params.yaml")
    plugins.allow(listed_plugins())  # whose files of conf/ are choices, too
    for again in (False, True):
        try:
            return schema().model_validate(raw), problems
        except ValidationError as error:
            details, lines = error.errors(), explained(error, lambda _: "params.yaml", kind=schema())
            new = zip(details, lines, strict=True)
            problems += [line for detail, line in new if not again or detail["type"] != "missing"]
            wrong = {str(detail["loc"][0]) for detail in details if detail["loc"]}
            if not isinstance(raw, dict) or not wrong:
                break
            usual = _usual()
            raw = {key: value for key, value in raw.items() if key not in wrong}
            raw |= {key: usual[key] for key in wrong & usual.keys()}
    return None, problems


def usual(values: Values) -> Choices:
    """What conf/config.yaml says where there is no params.yaml, with some values."""
    found = {key: value for key, value in _usual().items() if key in schema().model_fields}
    return schema().model_validate(found | values)


def _usual() -> Values:
    """What stands in for a wrong choice."""
    file = conf_path("config.yaml")
    absent = {"defaults": [], "seed": 1, "precision": "default", "threads": 1}
    stated: Values = read_yaml(file) if file.is_file() else absent
    usual = {key: value for entry in stated["defaults"] if isinstance(entry, dict) for key, value in entry.items()}
    usual |= {key: stated[key] for key in ("seed", "precision", "threads")}
    return usual | {"paths": {key: f"input/{key}" for key in Paths.model_fields}}


def as_config(chosen: Choices, without: Collection[str] = ()) -> Values:
    """params.yaml as conf/config.yaml takes it: its choices as overrides of the defaults list, its values as values.

    A file cannot do so itself: `size: small` names a file of a group there, and is a value to Hydra.

    Args:
        without: groups whose choice is left to conf/config.yaml.
    """
    named = {group: getattr(chosen, group) for group in (*GROUPS, *LIGHTNING) if group not in without}
    choices = [{f"override /{group}": value} for group, value in named.items() if value and not isinstance(value, dict)]
    values = {"seed": chosen.seed, "precision": chosen.precision, "threads": chosen.threads, "memory": chosen.memory}
    values |= {group: value for group, value in named.items() if value and isinstance(value, dict)}  # flags, no file
    return {"defaults": choices} | values | {"paths": chosen.paths.model_dump()}


def _quote(value: object) -> str:
    """A value in Hydra's override grammar; paths may hold characters that the grammar would read."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{','.join(map(_quote, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{key}: {_quote(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, str) and not (value.isascii() and value.replace("_", "").replace("-", "").isalnum()):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return str(value)


def quoted(override: str) -> str:
    """An override as it is typed, for Hydra's grammar.

    That takes letters beyond ASCII in quotes only, `lm=модель,gpt`, and new keys behind ++: `trainer.profiler=simple`.
    """
    if override.startswith(OPEN):
        return f"++{override}"
    key, _, value = override.partition("=")
    try:
        names = [checked_name(name) for name in value.split(",")]
    except ValueError:
        return override
    return f"{key}={','.join(map(_quote, names))}"


def conf_folders() -> list[Path]:
    """The project's conf/ and, if the project is not a checkout, the installed conf/, which comes second."""
    return [ROOT / "conf", *([INSTALLED] if INSTALLED else [])]


def conf_path(name: str) -> Path:
    """A file below conf/; where there is none of that name, its place in the project."""
    files = [folder / name for folder in conf_folders()]
    return next((file for file in files if file.is_file()), files[0])


def conf_file(group: str, name: str) -> Path:
    """The file of a choice; where the project has none of that name, a plugin's."""
    own = conf_path(f"{group}/{name}.yaml")
    return own if own.is_file() else plugin_files().get((group, name), own)


def conf_names(group: str) -> list[str]:
    """Names that conf/<group>/ offers, here and in plugins."""
    files = [file for folder in conf_folders() for file in (folder / group).glob("*.yaml")]
    own = {file.stem for file in files if not file.name.startswith(".")}  # file managers' and editors' own
    return sorted(own | {name for of, name in plugin_files() if of == group})


def listed_plugins() -> list[str]:
    """The packages that params.yaml lists and that are installed; what is wrong with others, `load` says."""
    try:
        raw, _ = read_leniently(ROOT / "params.yaml")
    except InputError:
        return []
    found = []
    for name in (raw.get("plugins") or []) if isinstance(raw, dict) else []:
        with suppress(ValueError, TypeError):
            found.append(checked_package(name))
    return found


def plugin_files() -> dict[tuple[str, str], Path]:
    """(group, name) → conf/<group>/<name>.yaml of a plugin. What the project itself has of that name comes first."""
    folders = [folder for package in plugins.listed() if (folder := plugins.folder_of(package))]
    files = [file for folder in folders for file in sorted((folder / "conf").glob("*/*.yaml"))]
    return {(file.parent.name, file.stem): file for file in reversed(files) if not file.name.startswith(".")}
