"""From the choices to the checked settings of every job: Hydra composes conf/, with params.yaml on top."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import Self

from hydra import compose
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.families.folds import CurvedRung, FoldedRung
from langladder.families.job import EvaluationSets
from langladder.families.sides import SIDES
from langladder.ground import plugins
from langladder.ground.errors import InputError
from langladder.ground.schema import checked_name
from pipeline.settings import checks, needed, params, plan, schema, titles
from pipeline.settings.errors import combined
from pipeline.settings.plan import Stage
from pipeline.settings.resources import jobs_at_once
from pipeline.settings.schema import RESOURCES, RungValues, split_unwatched
from pipeline.settings.yaml_files import Values, flat
from pipeline.tracking.code_version import code_version

INSTEAD = {"optimizer": "optimizer", "scheduler": "schedule"}
"""Group of conf/ → the setting of a rung's training that it replaces."""
CHANGES = "changes"
"""The group, made from params.yaml, with changes to single rungs: changes/lm/lstm."""
ALONE = "rungs.{}.r0"  # the package of a rung of a family that is composed alone
MANY = 32  # rungs per composition: Hydra's time grows with the square of their number

Rung = tuple[str, str]  # family, name


def prepare(chosen: params.Choices, left_out: Sequence[str] = ()) -> None:
    """Register with Hydra, before it composes anything, what is not in files of conf/.

    - `families`: the default rung of each family, so that `lm=gpt` can choose another; the first of those that there
      are, if its package is not listed;
    - the rungs of a family whose files are in another's folder, as a group of their own: `tune=gpt_longer`;
    - `params`: the choices and values of params.yaml, and changes/<family>/<rung>: its changes to single rungs, which
      `families` adds to the chosen rung;
    - the functions that files of conf/ use. `${steps:400}` is 400 at size small, more or fewer at other sizes.
      `${warmup:400}` is the warm-up of 400 steps: that of the size, at most half of them. `${at_once:1}` is the number
      of jobs with one thread that run here at a time.

    Args:
        left_out: groups whose choice in params.yaml is ignored.
    """
    store = ConfigStore.instance()
    known = {name: params.conf_names(name) for name in families()}
    for entry in families().values():
        for name in known[entry.name] if entry.group != entry.name else ():
            store.store(name, {"defaults": [{f"/{entry.group}@_here_": name}]}, group=entry.name)
    first = {
        name: family.default if family.default in known[name] else known[name][0]
        for name, family in families().items()
        if known[name]
    }
    defaults = [{family: name} for family, name in first.items()]
    changes = [{f"optional {CHANGES}/{family}@{family}": f"${{{family}}}"} for family in first]
    store.store("families", {"defaults": [*defaults, *changes]}, package="_global_")
    store.store("params", params.as_config(chosen, left_out), package="_global_", provider="params.yaml")
    store.repo.pop(CHANGES, None)  # of other choices
    for family in families():
        for name, change in chosen.merged(family).items():
            store.store(name, change, group=f"{CHANGES}/{family}", provider="params.yaml")
    OmegaConf.register_new_resolver("steps", _steps, replace=True)
    OmegaConf.register_new_resolver("warmup", _warmup, replace=True)
    OmegaConf.register_new_resolver("at_once", jobs_at_once, replace=True)


class AllFolders(SearchPathPlugin):
    """Let Hydra use the project's own conf/ first, then the installed one, then those of the listed packages."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in filter(Path.is_dir, params.conf_folders()[:-1]):
            search_path.prepend("project", f"file://{folder}", "main")
        for folder in params.plugin_folders():
            search_path.append("package", f"file://{folder}")


def conf_folder() -> str:
    """The folder with all files of conf/, from which Hydra composes, with the others of `AllFolders`."""
    plugins.allow(params.listed_plugins())
    Plugins.instance().register(AllFolders)
    return str(params.conf_folders()[-1])


def _steps(count: int, *, _root_: DictConfig) -> int:
    return max(2, round(count * float(_root_.size.effort)))


def _warmup(count: int, *, _root_: DictConfig) -> int:
    return min(int(_root_.size.warmup), count // 2)


class Compositions:
    """The settings of all jobs for the choices of params.yaml, after `prepare`.

    Rungs are composed together, in the package `rungs`: each refers to the same size, corpus and so on.

    Attributes:
        config: the settings that belong to no rung, with references to each other.
        everything: the same as plain values.

    Raises:
        HydraException: settings that belong to no rung cannot be composed.
        InputError: one of them is missing, or refers to a missing one.
    """

    def __init__(self, chosen: params.Choices) -> None:
        self.chosen = chosen
        self._raw: dict[Rung, DictConfig] = {}
        self._values: dict[Rung, Values] = {}
        self._checked: set[Rung] = set()
        listed = [(family, name) for family in families() for name in chosen.rungs(family)]
        config = None
        for first in range(0, len(listed), MANY):
            with suppress(HydraException):  # `raw` composes each of these alone, to say which one is wrong
                config, rungs = _compose(listed[first : first + MANY], chosen)
                self._raw |= rungs
        self.config = config or _compose([], chosen)[0]
        self.everything = plain(self.config, without=(*families(), "rungs"))

    @classmethod
    def prepared(cls, chosen: params.Choices, left_out: Sequence[str] = ()) -> Self:
        """The same after `prepare`."""
        prepare(chosen, left_out)
        return cls(chosen)

    def raw(self, family: str, name: str) -> DictConfig:
        """The settings of a rung, with references to other settings.

        Raises:
            HydraException: it cannot be composed.
        """
        if (family, name) not in self._raw:
            self._raw |= _compose([(family, name)], self.chosen)[1]
        return self._raw[family, name]

    def _rung(self, family: str, name: str) -> Values:
        if (family, name) in self._values:
            return deepcopy(self._values[family, name])
        try:
            values = self._plain(family, name)
        except (InputError, HydraException, RecursionError) as error:
            message = " ".join(str(error).split())[:300].replace(ALONE.format(family), family)
            where = f"params.yaml: {family}.{name} or {params.display_file(family, name)}"
            raise InputError(f"{family}.{name}: {message}; fix it in {where}") from error
        values = rung_values(family, values, self.everything, self.chosen)
        if self.chosen.learning_curve and issubclass(families()[family].rung(), CurvedRung):
            values.setdefault("learning_curve", True)
        if self.chosen.folds > 1 and issubclass(families()[family].rung(), FoldedRung):
            values.setdefault("folds", self.chosen.folds)
        elif self.chosen.seeds > 1 and families()[family].by_gradient(values):
            values.setdefault("seeds", self.chosen.seeds)
        if problem := checks.phrases_in_folds(family, name, values, self.everything):
            raise InputError(problem)
        if values.get("name") != name:  # its models, reports and metrics have the name of its file
            raise InputError(
                f"{family}.name: {values.get('name')!r}, but it must be the name of the file, {name!r}; fix or "
                f"remove the key name in params.yaml: {family}.{name} or {params.display_file(family, name)}"
            )
        self._values[family, name] = values
        return deepcopy(values)

    def _plain(self, family: str, name: str) -> Values:
        with suppress(InputError, RecursionError):
            return plain(self.raw(family, name))
        return plain(_compose([(family, name)], self.chosen)[1][family, name])  # alone its package is known: ALONE

    def rung(self, family: str, name: str) -> Values:
        """The plain settings of a rung, checked.

        Raises:
            InputError: they are not valid.
        """
        values = self._rung(family, name)
        if (family, name) not in self._checked:
            schema.checked_rung(family, values, schema.file_of({family: values}))
            self._checked.add((family, name))
        return values

    def job(self, job: plan.Job) -> Values:
        """The plain settings of a job, checked.

        Raises:
            InputError: they are not valid.
        """
        everything = self.everything | ({"side": job.name} if "side" in job.stage.keys else {})
        own = self._rung(job.stage.family, job.name) if job.stage.family else {}
        values = job_values(job.stage, job.name, everything, own, self.chosen, self.rung)
        merged = everything | ({job.stage.family: own} if job.stage.family else {})
        schema.checked(job.stage.name, values, schema.file_of(merged))
        return values

    def graph(self) -> needed.Graph:
        """The jobs, and what each reads; a rung with invalid settings has no inputs of its own."""

        def reads(family: str, rung: str) -> list[str]:
            with suppress(InputError, HydraException):
                paths = self.chosen.paths.model_dump()
                return list(_inputs(family, self.rung(family, rung), paths).values())
            return []

        filtering = {str(value) for value in flat(self.everything["filter"]).values()}
        return needed.Graph(self.chosen, reads, filtering)


def _compose(rungs: Sequence[Rung], chosen: params.Choices) -> tuple[DictConfig, dict[Rung, DictConfig]]:
    """A composition: the settings that belong to no rung, and those of rungs, which refer to them."""
    packages = {rung: f"rungs.{rung[0]}.r{number}" for number, rung in enumerate(rungs)}  # names may have any letters
    overrides = []
    for (family, name), package in packages.items():
        overrides.append(f"+{family}@{package}={quote(name)}")
        if name in chosen.merged(family):
            overrides.append(f"+{CHANGES}/{family}@{package}={quote(name)}")
    config = compose("config", overrides)
    results = {rung: OmegaConf.select(config, package) for rung, package in packages.items()}
    for (family, _), raw in results.items():
        if family in config:  # a file of conf/debug changes all rungs of a family
            raw.merge_with(config[family])
    return config, results


def quote(name: str) -> str:
    """A name in Hydra's grammar, which needs quotes for letters beyond ASCII."""
    return QuotedString(name, Quote.single).with_quotes()


def quoted(override: str) -> str:
    """An override as the user types it, in Hydra's grammar.

    The grammar needs quotes for letters beyond ASCII, `lm=модель,gpt`, and ++ for new keys: `trainer.profiler=simple`.
    """
    if override.startswith(params.OPEN):
        return f"++{override}"
    key, _, value = override.partition("=")
    try:
        names = [checked_name(name) for name in value.split(",")]
    except ValueError:
        return override
    return f"{key}={','.join(name if name.isascii() else quote(name) for name in names)}"


def resolve(chosen: params.Choices, known_problems: Sequence[str] = ()) -> dict[str, Values]:
    """Checked settings of every job, keyed `<stage>/<job>`.

    Args:
        known_problems: those of params.yaml itself, to report with the others.

    Raises:
        InputError: every problem of every job, one per line.
    """
    problems = [*known_problems, *checks.other_version(), *checks.name_problems(chosen)]
    if unreadable := checks.conf_problems():
        raise combined([*problems, *unreadable], params.uncommitted())
    checks.warn([*checks.unused(chosen), *checks.seeds_in_folds(chosen)] if not problems else ())
    left_out = checks.bad_groups(chosen)
    problems += [*checks.base_problems(chosen), *checks.broken_links(chosen.paths.model_dump())]
    problems += checks.linked_outputs()
    chosen = checks.known(chosen)
    try:
        compositions = Compositions.prepared(chosen, left_out)
    except (InputError, HydraException, RecursionError) as error:
        raise combined([*problems, " ".join(str(error).split())], params.uncommitted()) from error
    graph = compositions.graph()
    what = needed.needed(chosen, graph)
    problems += what.problems
    checks.warn([what.note] if what.note and not problems else ())
    dropped = {name: set(chosen.rungs(name)) - set(kept) for name, kept in what.rungs.items()}
    compositions.chosen = chosen = chosen.with_rungs(what.rungs)
    resolved: dict[str, Values] = {}
    for job in graph.jobs.values():
        try:
            if job.file in what.jobs:
                resolved[job.file] = needed.idle_settings(job, what.jobs[job.file], graph)
                continue
            resolved[job.file] = compositions.job(job)
            if "inputs" in job.stage.keys:  # one file each; the jobs of rungs that are left out also depend on it
                resolved[job.file]["inputs"] |= {rung: [] for rung in dropped[job.name]}
        except InputError as error:
            problems.append(str(error))
        except (HydraException, OmegaConfBaseException, RecursionError) as error:
            problems.append(f"{job.stage.name} {job.name}: " + " ".join(str(error).split()))
    problems += checks.misfits(chosen, compositions.rung)
    if problems:
        raise combined(problems, params.uncommitted())
    return resolved


FILTER_READS = ("data/clean/labels/test.parquet", "data/clean/tags/test.parquet")
"""Inputs of the stage `filter` in dvc.yaml besides the corpus and `paths.filter`."""

ENGINED = ("corpus", "demonstrate", "filter", "clean", "tokenize", "vocab", "cooccur", "train_lm")
"""The stages that process a whole corpus, for which conf/engine applies."""


def job_values(
    stage: Stage, name: str, everything: Values, own: Values, chosen: params.Choices, rung: RungValues
) -> Values:
    """The plain values that a stage reads, with `code` (the hash of the code that it runs) and `aside`.

    Args:
        name: of the job.
        everything: the composition without rungs.
        own: the settings of the job's rung; {} if it has none.
        rung: the settings of any rung, for stages that read a whole family.
    """
    values: Values = {}
    for key in stage.keys:
        if key in families():
            values[key] = own | ({"_maker_": families()[key].maker(own)} if stage.makes else {})
        elif key != "code":
            values[key] = _computed(key, name, everything, chosen, rung)
    training = next((values[family].get("training") for family in families() if family in values), None)
    if "bleu_tokenize" in values and training and training.get("early_stopping") != "bleu":
        values["bleu_tokenize"] = None  # not read: a change must not train the rung again
    values["code"] = code_version(stage.name, values)
    if stage.name in ENGINED:
        values |= {key: everything[key] for key in RESOURCES}
    tracked, untracked = split_unwatched(values, makes=stage.makes)
    return tracked | ({"aside": untracked} if untracked else {})


def rung_values(
    family: str, values: Values, everything: Values, chosen: params.Choices, typed: Sequence[str] = ()
) -> Values:
    """A rung's plain settings, with the optimiser and the schedule that replace its own.

    Order of precedence: the rung's settings on the command line, the file of conf/optimizer or conf/scheduler chosen
    there, the rung's settings in params.yaml, the file chosen in params.yaml.

    Args:
        typed: the keys on the command line.
    """
    change = chosen.changes(family).get(values["name"], {})
    for group, key in INSTEAD.items():
        of_rung = any(f"{entry}.".startswith(f"{family}.training.{key}.") for entry in typed)
        of_params = key in (change.get("training") or {}) and not any(key.split(".")[0] == group for key in typed)
        if everything[group] and "training" in values and not of_rung and not of_params:
            values["training"][key] = everything[group]
    if "year" not in change:  # for the report only, from the rung's file
        values.pop("year", None)
    return values


def _computed(key: str, name: str, everything: Values, chosen: params.Choices, rung: RungValues) -> object:
    """A setting that belongs to no rung: of the composition, or derived from it."""
    side = everything["side"]
    allowed = [side for side in SIDES if key != "clean" or side in everything["clean"]]
    if side not in allowed:
        raise InputError(f"side: {side!r} is not allowed: {', '.join(allowed)}; change it on the command line")
    match key:
        case "corpus":
            corpus: Values = everything[SIDES[side].group]
            return corpus | {"_maker_": schema.source_of(side, corpus).function}
        case "clean":
            return everything["clean"][side]
        case "filter":
            return _checked_filter(everything["filter"], everything["paths"]["filter"])
        case "paths":
            return {path: everything["paths"][path] for path in EvaluationSets.model_fields}
        case "agreement":
            return everything["paths"]["agreement"]
        case "beam" | "bleu_tokenize":
            return everything["evaluation"][key]
        case "lms":
            return chosen.rungs("lm")
        case "tunes":
            return chosen.rungs("tune") if chosen.prompted == "tune" else []
        case "wanted":  # whether a rung reads the preferences made from this rung's answers, or the user requests them
            folders = {folder for family in families() for folder in chosen.reads(family).values()}
            return name not in chosen.rungs("instruct") or f"data/preferences/{name}" in folders
        case "given":
            if name not in chosen.given:
                raise InputError(f"given: no entry {name!r}; list it under `given` in params.yaml")
            return {"name": name, "path": chosen.given[name]}
        case "rungs":
            return titles.titles_of(chosen, rung)
        case "countings":
            counted = (
                family.counting(rung(key, name)) for key, family in families().items() for name in chosen.rungs(key)
            )
            result = {counting.key: counting.model_dump(mode="json") for counting in counted if counting}
            return [result[key] for key in sorted(result)]
        case "family":
            return name
        case "inputs":
            read = {entry: _inputs(name, rung(name, entry), everything["paths"]) for entry in chosen.rungs(name)}
            return {name: sorted(paths.values()) for name, paths in read.items()}
        case _:
            return everything[key]


def _inputs(family: str, value: Values, paths: Mapping[str, str]) -> dict[str, str]:
    """The inputs of a rung in addition to those of its family.

    Raises:
        InputError: an input file that is not among DVC's dependencies.
    """
    inputs = families()[family].inputs(value)
    for name, path in inputs.items():
        if name in paths and path != paths[name]:
            key = next((key for key, value in flat(value).items() if value == path), name)
            raise InputError(
                f"{family}.{key}: {path!r}, but params.yaml: paths.{name} is {paths[name]!r}; set both to the same "
                "path, so that DVC runs the rung again when the file changes"
            )
    return inputs


def _checked_filter(value: Values, folder: str) -> Values:
    """A filter whose files are all inputs of the stage in dvc.yaml.

    Raises:
        InputError: a file that is not among DVC's dependencies.
    """
    for key, path in flat(value).items():
        file = PurePosixPath(normpath(path)) if key.endswith(".path") and isinstance(path, str) else None
        if file is not None and str(file) not in FILTER_READS and not file.is_relative_to(normpath(folder)):
            raise InputError(
                f"filter.{key}: {path!r} is neither below params.yaml: paths.filter ({folder!r}) nor one of "
                f"{', '.join(FILTER_READS)}; move it there or set paths.filter, so that DVC tracks it"
            )
    return value


def plain(config: DictConfig, without: Collection[str] = ()) -> Values:
    """A composition as plain values, with references resolved.

    Raises:
        InputError: a value is missing, or refers to a missing one.
    """
    try:
        return {str(key): _plain(config[key]) for key in config if key not in without}
    except OmegaConfBaseException as error:
        raise InputError(f"{error.full_key or '?'}: {error.msg or error}") from error


def _plain(value: object) -> object:
    return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if OmegaConf.is_config(value) else value
