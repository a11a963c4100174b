"""params.yaml, the user's choices: read here once, checked, and passed to Hydra as a config (`as_config`).

The same values reach every entry point: `dvc repro` and `dvc exp run -S` through the stage `resolve`, and
`python -m pipeline.<stage> -m …` through `pipeline.settings.stage`, where a preset and the command line override them.
"""

import re
import subprocess
from collections.abc import Collection
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
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
from langladder.families.job import EvaluationSets, Seed, Threads
from langladder.families.sides import CHOSEN, ON_REQUEST, SIDES, Side
from langladder.ground import plugins
from langladder.ground.errors import InputError
from langladder.ground.plugins import checked_package
from langladder.ground.remote import is_url
from langladder.ground.schema import Config, Name, checked_name, short
from pipeline import INSTALLED, ROOT
from pipeline.settings.errors import combined, explained, keys
from pipeline.settings.run_folder import OUTPUT_FOLDERS
from pipeline.settings.yaml_files import Values, display_path, flat, read_leniently, read_yaml

GROUPS = (
    "size",
    *(side.group for side in CHOSEN),
    "filter",
    "clean",
    "tokenizer",
    "words",
    "engine",
    "debug",
)  # keys with the name of a file in conf/<key>/

NONE = "none"
"""The choice for a side without data: conf/<group>/none.yaml."""
LIGHTNING = ("trainer", "callbacks", "logger", "optimizer", "scheduler")
"""Keys with names of files in conf/<key>/, none or several; `trainer` can have flags instead."""
OPEN = tuple(f"{key}." for key in LIGHTNING)
"""Groups whose keys on the command line need not be in files of conf/: `trainer.profiler=simple`."""

PACKAGES = {"s3": "dvc_s3", "gs": "dvc_gs", "http": "dvc_http", "https": "dvc_http", "ssh": "dvc_ssh"}
INSTALL = {"dvc_s3": "'langladder[cluster]'", "dvc_gs": "dvc-gs gcsfs", "dvc_ssh": "dvc-ssh sshfs"}
READ = (*(side.name for side in CHOSEN), "filter")
"""The keys of `paths` in params.yaml that can be URLs; the others are small and read as a whole."""

ABSENT = "not set"
FEW = 6
"""Maximum number of uncommitted values in the message."""
RESTORE = (
    "`dvc exp run -S` keeps its values in the file; `git checkout -- params.yaml` restores the whole file, "
    "`dvc exp run -S key=value` a single value"
)


def _for_hydra(values: Values) -> Values:
    """Settings that are merged with those of files: values of YAML that OmegaConf has, without the environment's."""
    if "${oc." in str(values):
        raise ValueError("${oc.…} is not supported here; write the value itself")
    try:
        OmegaConf.create(values)
    except OmegaConfBaseException as error:
        raise ValueError(" ".join(str(error.msg or error).split())) from error
    return values


ForHydra = Annotated[Values, AfterValidator(_for_hydra)]
Changes = dict[str, ForHydra]  # rung → settings that override its file in conf/


def _from_outside(path: str) -> str:
    """A path of params.yaml: unchanged, and not one that a stage would overwrite."""
    if "${" in path:
        raise ValueError("references are not supported here; write the path itself")
    try:
        (ROOT / path).stat()
    except (FileNotFoundError, NotADirectoryError, PermissionError):  # its reader reports it
        pass
    except OSError as error:  # too long, or a cycle of links
        raise ValueError(f"not a valid path on this system ({str(error.strerror).lower()})") from error
    root, real = ROOT.resolve(), (ROOT / path).resolve()
    if root.is_relative_to(real):
        raise ValueError("the project itself, or a folder above it; give a file or folder of its own")
    return path


def _no_output(path: str) -> str:
    """A path that no stage writes to."""
    real = (ROOT / path).resolve()
    for folder in OUTPUT_FOLDERS:
        if real.is_relative_to((ROOT / folder).resolve()):
            raise ValueError(f"in {folder}/, whose content stages replace; move it to input/")
    return path


def objection(key: str, path: str) -> str | None:
    """Why a URL in `paths` of params.yaml is not allowed; None if it is, or if the path is not a URL."""
    if not is_url(path):
        return None
    scheme = path.partition("://")[0]
    if key not in READ:
        return f"a URL; only {', '.join(READ)} can be URLs: copy it here (langladder copy {path} input/{key})"
    if scheme not in PACKAGES:
        hub = "; for a data set of the Hub set corpus: hub" if scheme == "hf" else ""
        return f"a URL that DVC cannot track; supported: {', '.join(f'{package}://' for package in PACKAGES)}{hub}"
    if scheme.startswith("http") and path.endswith("/"):
        return "a web folder, which has no ETag for DVC to track; give one file, or copy it here (langladder copy)"
    if find_spec(PACKAGES[scheme]) is None:
        package = PACKAGES[scheme]
        return f"{scheme}:// needs {package.replace('_', '-')}, which is not installed; pip install {INSTALL[package]}"
    return None


Input = Annotated[str, AfterValidator(_from_outside), AfterValidator(_no_output)]


class OtherPaths(EvaluationSets):
    """Input files, some of which can be URLs; DVC tracks them. `Paths` adds one for each side."""

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
        own = str(info.field_name) in (*READ, "prompts")  # the others can be outputs of the ladder
        return _no_output(_from_outside(path)) if own else _from_outside(path)


_SIDES_PATHS: dict[str, Any] = {
    side.name: (str, ... if side.default is None else f"input/{side.name}") for side in CHOSEN
}
Paths = create_model("Paths", __base__=OtherPaths, **_SIDES_PATHS)


class BaseChoice(Config):
    """What a rung starts from."""

    base: str  # family/rung

    @field_validator("*")
    @classmethod
    def _is_of_names(cls, value: str) -> str:
        parts = value.split("/")
        if len(parts) < 2:
            raise ValueError("write two names, family/rung; for a folder its path, such as data/preferences/sft")
        for part in parts:
            checked_name(part)
        return value


class BaseAndReads(BaseChoice):
    """The same for a rung that reads something else besides its base."""

    reads: str  # a folder of the DAG


def _listed(value: object) -> object:
    """`labels` or `[labels, text]`; null is none."""
    return [] if value is None else [value] if isinstance(value, str) else value


class Choices(Config):
    """The keys of params.yaml that do not depend on families; `schema` adds two keys per family, and one per side."""

    size: str
    seed: Seed
    seeds: int = Field(default=1, ge=1, le=MOST_SEEDS)
    folds: Annotated[int, Field(ge=1, le=MOST_FOLDS), AfterValidator(checked_folds)] = 1
    learning_curve: bool = False
    precision: str
    threads: Threads
    filter: str
    clean: str
    tokenizer: str
    words: str
    engine: str = "local"
    memory: Memory | None = None
    debug: str
    only: Annotated[list[Literal[tuple(SIDES)]], BeforeValidator(_listed)] = Field(default_factory=list)  # type: ignore[valid-type]
    data: dict[Literal[tuple(side.name for side in CHOSEN)], ForHydra] = Field(default_factory=dict)  # type: ignore[valid-type]
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

    @field_validator("trainer")
    @classmethod
    def _flags(cls, trainer: str | Values) -> str | Values:
        return trainer if isinstance(trainer, str) else _for_hydra(trainer)

    @field_validator("data")
    @classmethod
    def _of_corpora(cls, data: dict[str, Values]) -> dict[str, Values]:
        for side, values in data.items():
            if "${" in str(values):
                raise ValueError(f"{side}: references are not supported here; write the value itself")
            if "path" in values:
                raise ValueError(f"{side}.path: set it in paths.{side}, so that DVC tracks it")
        return data

    @model_validator(mode="after")
    def _models_to_look_into(self) -> Self:
        if self.prompted == "tune" and self.rungs("prompt") and not self.rungs("tune"):
            raise ValueError("prompted=tune, but tunes is empty; list some, or set prompted to lm")
        for family in families().values():
            for other in family.looks_into:
                if self.rungs(family.name) and not self.rungs(other):
                    named, listed = f"{family.listed}={self.rungs(family.name)}", families()[other].listed
                    raise ValueError(f"{named} need the trained models of {listed}, which is empty")
        return self

    @model_validator(mode="after")
    def _corpora_to_read(self) -> Self:
        for family in families().values():
            if family.side in ON_REQUEST and family.side not in self.corpora and self.rungs(family.name):
                named, missing = f"{family.listed}={self.rungs(family.name)}", f"corpora: [{family.side}]"
                raise ValueError(f"{named} need data/clean/{family.side}, which is not made; set {missing}")
        return self

    def files(self, key: str) -> list[str]:
        """The files of conf/<key>/ in a key of `GROUPS` or `LIGHTNING`."""
        value = getattr(self, key)
        return value if isinstance(value, list) else [value] if isinstance(value, str) else []

    def rungs(self, family: str) -> list[str]:
        """The listed rungs of a family, e.g. of `lm`."""
        return list(getattr(self, families()[family].listed))

    def changes(self, family: str) -> Changes:
        """Settings of single rungs of a family, which override their files."""
        changes: Changes = getattr(self, family)
        return changes

    def bases(self, family: str) -> dict[str, str]:
        """Rung → the rung (family/name) that it starts from, if the family's rungs have bases."""
        listed = getattr(self, families()[family].listed)
        return {name: entry.base for name, entry in listed.items()} if isinstance(listed, dict) else {}

    def reads(self, family: str) -> dict[str, str]:
        """Rung → the folder that it reads besides its base, if the family's rungs have one."""
        listed = getattr(self, families()[family].listed)
        return {name: entry.reads for name, entry in listed.items()} if families()[family].beside else {}

    def merged(self, family: str) -> Changes:
        """Rung → what is merged with its file: its changes, its base and what it reads."""
        listed = {"base": self.bases(family), "reads": self.reads(family)}
        changes = {name: dict(change) for name, change in self.changes(family).items()}
        for key, values in listed.items():
            for name, value in values.items():
                changes.setdefault(name, {})[key] = value
        return {name: change for name, change in changes.items() if change}

    def with_rungs(self, kept: dict[str, list[str]]) -> Self:
        """The same with only these rungs of each family; rungs with bases keep them."""
        values: dict[str, object] = {}
        for family, names in kept.items():
            now = getattr(self, families()[family].listed)
            values[families()[family].listed] = {name: now[name] for name in names} if isinstance(now, dict) else names
        return self.model_copy(update=values)


@cache
def schema() -> type[Choices]:
    """Schema of params.yaml, with every family's list of rungs and their settings; each family is optional."""
    corpora: Any = list[Literal[ON_REQUEST]]  # type: ignore[valid-type]
    fields: dict[str, Any] = {"paths": (Paths, ...)}
    fields["corpora"] = (corpora, Field(default_factory=list, max_length=len(ON_REQUEST)))
    fields |= {side.group: (str, ... if side.default is None else side.default) for side in CHOSEN}
    for family in families().values():
        entry = BaseAndReads if family.beside else BaseChoice
        kind: Any = dict[str, entry] if family.bases else list[str]  # type: ignore[valid-type]
        fields[family.listed] = (kind, Field(default_factory=dict if family.bases else list))
        fields[family.name] = (Changes, Field(default_factory=dict))
    return create_model("Params", __base__=Choices, **fields)


def load() -> Choices:
    """Read and check params.yaml.

    Raises:
        InputError: not YAML (line), duplicate keys, unknown keys, wrong types, values out of range; all at once.
    """
    chosen, problems = load_leniently()
    if problems or not chosen:
        raise combined(problems, uncommitted())
    return chosen


def uncommitted() -> str:
    """The values of params.yaml that differ from the last commit, and how to restore the file; "" if there are none.

    `dvc exp run -S` writes its values into the file and keeps them there, even if they are refused. In the copies that
    DVC makes for its queue, and in a ladder's own folder, there is nothing to restore.
    """
    if ".dvc" in ROOT.parts:
        return ""
    try:
        committed = subprocess.run(["git", "show", "HEAD:./params.yaml"], cwd=ROOT, capture_output=True, check=False)
    except OSError:  # no git
        return ""
    if committed.returncode:
        return ""
    try:
        before, now = (
            flat(yaml.safe_load(text) or {}) for text in (committed.stdout, (ROOT / "params.yaml").read_bytes())
        )
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
    """The content of params.yaml, and its problems, one line each.

    Invalid values are replaced by those of conf/config.yaml, so that the rest can be checked too; None if it still
    cannot be checked.

    Raises:
        InputError: not YAML (line).
    """
    raw, problems = read_leniently(ROOT / "params.yaml")
    plugins.allow(listed_plugins())  # their files of conf/ are choices, too
    for again in (False, True):
        try:
            return schema().model_validate(raw), problems
        except ValidationError as error:
            details, lines = error.errors(), explained(error, lambda _: "params.yaml", known=lambda: keys(schema()))
            new = zip(details, lines, strict=True)
            problems += [line for detail, line in new if not again or (detail["type"] != "missing" and detail["loc"])]
            wrong = {str(detail["loc"][0]) for detail in details if detail["loc"]}
            if not isinstance(raw, dict) or not wrong:
                break
            usual = _usual()
            raw = {key: value for key, value in raw.items() if key not in wrong}
            raw |= {key: usual[key] for key in wrong & usual.keys()}
    return None, problems


def usual(values: Values) -> Choices:
    """The choices of conf/config.yaml without params.yaml, with some values."""
    results = {key: value for key, value in _usual().items() if key in schema().model_fields}
    return schema().model_validate(results | values)


def _usual() -> Values:
    """The replacement for an invalid choice."""
    file = conf_path("config.yaml")
    absent = {"defaults": [], "seed": 1, "precision": "default", "threads": 1}
    stated: Values = read_yaml(file) if file.is_file() else absent
    usual = {key: value for entry in stated["defaults"] if isinstance(entry, dict) for key, value in entry.items()}
    usual |= {key: stated[key] for key in ("seed", "precision", "threads")}
    return usual | {"paths": {key: f"input/{key}" for key in Paths.model_fields}}


def as_config(chosen: Choices, without: Collection[str] = ()) -> Values:
    """params.yaml as a config of Hydra's: its choices as overrides of the defaults list, its values as values.

    A file cannot do this itself: in params.yaml `size: small` chooses a file of a group, but to Hydra it is a value.

    Args:
        without: groups whose choice is left to conf/config.yaml.
    """
    named = {group: getattr(chosen, group) for group in (*GROUPS, *LIGHTNING) if group not in without}
    choices = [{f"override /{group}": value} for group, value in named.items() if value and not isinstance(value, dict)]
    values = {"seed": chosen.seed, "precision": chosen.precision, "threads": chosen.threads, "memory": chosen.memory}
    values |= {group: value for group, value in named.items() if value and isinstance(value, dict)}  # flags, no file
    corpora = {SIDES[side].group: _of_corpus(SIDES[side], own) for side, own in chosen.data.items()}
    splits = {side: {"split": own["split"]} for side, own in chosen.data.items() if "split" in own}
    values |= corpora | {"clean": splits, "paths": chosen.paths.model_dump()}
    return {"defaults": choices} | values


def _of_corpus(side: Side, values: Values) -> Values:
    """The settings of a corpus in `data`, by their places in its file: a key of the file itself or of its `source`."""
    above = {"kind", "iid", "rows", "source", *side.languages}
    within = {key: value for key, value in values.items() if key not in above and key != "split"}
    own = {key: value for key, value in values.items() if key in above}
    return own | ({"source": own.get("source", {}) | within} if within else {})


def conf_folders() -> list[Path]:
    """The project's conf/ and, if the project is not a checkout, the installed conf/, which comes second."""
    return [ROOT / "conf", *([INSTALLED] if INSTALLED else [])]


def conf_path(name: str) -> Path:
    """A file below conf/; where there is not one of that name, its place in the project."""
    files = [folder / name for folder in conf_folders()]
    return next((file for file in files if file.is_file()), files[0])


def group_folder(group: str) -> str:
    """The folder in conf/ of a group or a family; families of a group share one."""
    return families()[group].group if group in families() else group


def conf_file(group: str, name: str) -> Path:
    """The file of a choice, of the project or else of a plugin."""
    folder = group_folder(group)
    own = conf_path(f"{folder}/{name}.yaml")
    return own if own.is_file() else plugin_files().get((folder, name), own)


def display_file(group: str, name: str) -> str:
    """The path of a choice's file, as messages name it: its place in the project, unless a plugin has it."""
    file = conf_file(group, name)
    return str(display_path(file)) if file in plugin_files().values() else f"conf/{group_folder(group)}/{name}.yaml"


def conf_names(group: str) -> list[str]:
    """Names of the choices of a group or the rungs of a family, here and in plugins.

    Of a folder that families share, the rungs with a base belong to one of them, the others to the other.
    """
    folder = group_folder(group)
    files = [file for above in conf_folders() for file in (above / folder).glob("*.yaml")]
    own = {file.stem for file in files if not file.name.startswith(".")}  # of file managers and editors
    names = sorted(own | {name for of, name in plugin_files() if of == folder})
    if group not in families() or sum(family.group == folder for family in families().values()) == 1:
        return names
    return [name for name in names if _has_base(conf_file(group, name)) == bool(families()[group].bases)]


def _has_base(file: Path) -> bool:
    return re.search(rb"^base:", file.read_bytes(), re.MULTILINE) is not None


def listed_plugins() -> list[str]:
    """The listed packages of params.yaml that are installed; `load` reports problems of the others."""
    try:
        raw, _ = read_leniently(ROOT / "params.yaml")
    except InputError:
        return []
    results = []
    for name in (raw.get("plugins") or []) if isinstance(raw, dict) else []:
        with suppress(ValueError, TypeError):
            results.append(checked_package(name))
    return results


def plugin_folders() -> list[Path]:
    """The folders conf/ of the listed packages that have one."""
    folders = [folder / "conf" for package in plugins.listed() if (folder := plugins.folder_of(package))]
    return [folder for folder in folders if folder.is_dir()]


def plugin_files() -> dict[tuple[str, str], Path]:
    """(group, name) → conf/<group>/<name>.yaml of a plugin. Files of the project have precedence."""
    files = [file for folder in plugin_folders() for file in sorted(folder.glob("*/*.yaml"))]
    return {(file.parent.name, file.stem): file for file in reversed(files) if not file.name.startswith(".")}
