"""From the choices to the checked settings of every job: Hydra composes conf/, with params.yaml on top."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from os.path import normpath
from pathlib import Path, PurePosixPath
from typing import cast

from hydra import compose
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.families.folds import CurvedRung, FoldedRung
from langladder.families.sides import SIDES
from langladder.ground import plugins
from langladder.ground.errors import InputError
from pipeline.settings import checks, needed, params, plan, schema, titles
from pipeline.settings.errors import combined
from pipeline.settings.plan import Stage
from pipeline.settings.resources import jobs_at_once
from pipeline.settings.schema import RESOURCES, RungValues, split_unwatched
from pipeline.settings.yaml_files import Values, flat
from pipeline.tracking.code_version import code_version

MANY_RUNGS = "_together_"  # a composition with many rungs: `_together_.lm.gpt`
INSTEAD = {"optimizer": "optimizer", "scheduler": "schedule"}
"""Group of conf/ → the setting of a rung's training that it replaces."""
MANY = 32  # rungs per composition; more make every step slower


def prepare(chosen: params.Choices | None = None, left_out: Sequence[str] = ()) -> None:
    """Register with Hydra the families, params.yaml (`chosen`), and the functions that files of conf/ use.

    `${steps:400}` is 400 at size small, more or fewer at other sizes. `${warmup:400}` is the warm-up of 400 steps: that
    of the size, at most half of them. `${at_once:1}` is the number of jobs with one thread that run here at a time.

    conf/config.yaml contains the default rung of each family, so that `lm=gpt` can choose another, and the config
    `params`, which represents params.yaml. Classes of plugins, and their files conf/<group>/<name>.yaml, are allowed.

    Args:
        chosen: None: the config is not changed.
        left_out: groups whose choice in params.yaml is ignored.
    """
    plugins.allow(params.listed_plugins())
    for (group, name), file in params.plugin_files().items():
        ConfigStore.instance().store(name, OmegaConf.load(file), group=group)
    _set_defaults({name: family.default for name, family in families().items()})
    if chosen or "params.yaml" not in ConfigStore.instance().repo:
        _store_params(params.as_config(chosen, left_out) if chosen else {})
    OmegaConf.register_new_resolver("steps", _steps, replace=True)
    OmegaConf.register_new_resolver("warmup", _warmup, replace=True)
    OmegaConf.register_new_resolver("at_once", jobs_at_once, replace=True)


class OwnFirst(SearchPathPlugin):
    """Let Hydra use the project's own conf/ first, and then the installed one."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in filter(Path.is_dir, params.conf_folders()[:-1]):
            search_path.prepend("project", f"file://{folder}", "main")


def conf_folder() -> str:
    """The folder with all files of conf/, from which Hydra composes; files of the project override them."""
    if len(params.conf_folders()) > 1:
        Plugins.instance().register(OwnFirst)
    return str(params.conf_folders()[-1])


def _store_params(node: Values) -> None:
    ConfigStore.instance().store("params", node, package="_global_", provider="params.yaml")


def _set_defaults(rungs: Mapping[str, str]) -> None:
    """The rungs in conf/config.yaml: group, with the package (`lm@package`) if it is not the default → name."""
    defaults = [{group: name} for group, name in rungs.items()]
    ConfigStore.instance().store("families", {"defaults": defaults}, package="_global_")


def _steps(count: int, *, _root_: DictConfig) -> int:
    return max(2, round(count * float(_root_.size.effort)))


def _warmup(count: int, *, _root_: DictConfig) -> int:
    return min(int(_root_.size.warmup), count // 2)


class Compositions:
    """Compositions of conf/ for the choices of params.yaml. Each takes a while, so one is used for many rungs."""

    def __init__(self, chosen: params.Choices, left_out: list[str] | None = None) -> None:
        prepare()
        self.chosen, self.left_out = chosen, left_out or []
        self._alone: dict[str, DictConfig] = {}
        self._plain: dict[str, Values] = {}
        self._rungs: dict[tuple[str, str], Values] = {}
        self._checked: set[tuple[str, str]] = set()

    @cached_property
    def _shared(self) -> dict[str, DictConfig]:
        """Selection → its composition, made together with others. A failing one is left out and reported later."""
        listed = [(family, name) for family in families() for name in self.chosen.rungs(family)]
        composed: dict[str, DictConfig] = {}
        for first in range(0, max(1, len(listed)), MANY):
            with suppress(InputError, HydraException):
                composed |= self._many(listed[first : first + MANY])
        return composed

    def _many(self, rungs: list[tuple[str, str]]) -> dict[str, DictConfig]:
        """These rungs, each with all other settings; none if another file (such as debug) also changes rungs."""
        whole = self._compose([], {f"{family}@{MANY_RUNGS}.{family}.{name}": name for family, name in rungs})
        if any(family in whole for family in families()):
            return {}
        OmegaConf.set_struct(whole, False)
        held = whole.pop(MANY_RUNGS, {})
        sides = {f"side={job.name}": {"side": job.name} for job in plan.jobs(self.chosen) if "side" in job.stage.keys}
        parts = {"": {}} | sides | {f"{family}={name}": {family: held[family][name]} for family, name in rungs}
        return {selection: cast(DictConfig, OmegaConf.merge(whole, part)) for selection, part in parts.items()}

    def _compose(self, selection: list[str], rungs: Mapping[str, str] | None = None) -> DictConfig:
        """A composition with these rungs instead of the families' defaults."""
        before = ConfigStore.instance().repo["params.yaml"].node
        prepare(self.chosen, self.left_out)
        if rungs is not None:
            _set_defaults(rungs)
        try:
            return with_data(compose("config", [params.quoted(one) for one in selection]), self.chosen)
        finally:
            prepare()
            _store_params(before)  # in a sweep, the next job is composed after this one

    def of(self, selection: str) -> DictConfig:
        """A composition for a choice such as `lm=gpt`; "" for any.

        Raises:
            HydraException: there is none.
        """
        if selection in self._shared:
            return self._shared[selection]
        if selection not in self._alone:
            self._alone[selection] = self._compose([selection] if selection else [])
        return self._alone[selection]

    def _everything(self, selection: str) -> Values:
        """All settings except rungs, as plain values; the same for all rungs that were composed together."""
        family = selection.partition("=")[0]
        key = "" if family in families() and selection in self._shared else selection
        if key not in self._plain:
            self._plain[key] = plain(self.of(key), without=list(families()))
        return self._plain[key]

    def _rung(self, family: str, name: str) -> Values:
        if (family, name) not in self._rungs:
            try:
                values = rung_values(family, self.of(f"{family}={name}"), self.chosen)
            except (OmegaConfBaseException, RecursionError) as error:
                message = " ".join(str(error).split())[:300]
                raise InputError(
                    f"{family}.{name}: {message}; fix it in params.yaml: {family}.{name} or conf/{family}/{name}.yaml"
                ) from error
            base = families()[family].base_settings
            if self.chosen.learning_curve and issubclass(base, CurvedRung):
                values.setdefault("learning_curve", True)
            if self.chosen.folds > 1 and issubclass(base, FoldedRung):
                values.setdefault("folds", self.chosen.folds)
            elif self.chosen.seeds > 1 and families()[family].by_gradient(values):
                values.setdefault("seeds", self.chosen.seeds)
            if problem := checks.phrases_in_folds(family, name, values, self.of(f"{family}={name}")):
                raise InputError(problem)
            if values.get("name") != name:  # its models, reports and metrics have the name of its file
                raise InputError(
                    f"{family}.name: {values.get('name')!r}, but it must be the name of the file, {name!r}; fix or "
                    f"remove the key name in params.yaml: {family}.{name} or conf/{family}/{name}.yaml"
                )
            self._rungs[family, name] = values
        return deepcopy(self._rungs[family, name])

    def rung(self, family: str, name: str) -> Values:
        """The plain settings of a rung, checked.

        Raises:
            InputError: they are not valid.
        """
        values = self._rung(family, name)
        if (family, name) not in self._checked:
            schema.checked("rung", {family: values}, schema.file_of(self.of(f"{family}={name}")))
            self._checked.add((family, name))
        return values

    def job(self, job: plan.Job) -> Values:
        """The plain settings of a job, checked.

        Raises:
            InputError: they are not valid.
        """
        everything = self._everything(job.selection)
        own = self._rung(job.stage.family, job.name) if job.stage.family else {}
        values = job_values(job.stage, job.name, everything, own, self.chosen, self.rung)
        schema.checked(job.stage.name, values, schema.file_of(self.of(job.selection)))
        return values

    def graph(self) -> needed.Graph:
        """The jobs, and what each reads; a rung with invalid settings has no inputs of its own."""

        def reads(family: str, rung: str) -> list[str]:
            with suppress(InputError, HydraException, OmegaConfBaseException, RecursionError):
                paths = self.chosen.paths.model_dump()
                return list(_inputs(family, self.rung(family, rung), paths).values())
            return []

        filtering: set[str] = set()
        with suppress(InputError, HydraException, OmegaConfBaseException, RecursionError):
            filtering = {str(value) for value in flat(self._everything("")["filter"]).values()}
        return needed.Graph(self.chosen, reads, filtering)


def resolve(chosen: params.Choices, found: Sequence[str] = ()) -> dict[str, Values]:
    """Checked settings of every job, keyed `<stage>/<job>`.

    Args:
        found: problems of params.yaml itself, to report with the others.

    Raises:
        InputError: every problem of every job, one per line.
    """
    problems = [*found, *checks.other_version(), *checks.name_problems(chosen)]
    if unreadable := checks.conf_problems():
        raise combined([*problems, *unreadable], params.uncommitted())
    checks.warn([*checks.unused(chosen), *checks.seeds_in_folds(chosen)] if not problems else ())
    left_out = checks.bad_groups(chosen)
    problems += [*checks.growth_problems(chosen), *checks.broken_links(chosen.paths.model_dump())]
    problems += checks.linked_outputs()
    chosen = checks.known(chosen)
    compositions = Compositions(chosen, left_out)
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


def with_data(config: DictConfig, chosen: params.Choices, task: Sequence[str] = ()) -> DictConfig:
    """A composition with the settings of `data` in params.yaml for the corpora, on top of their files in conf/.

    A key is one of the file (`language`), one of its `source:` (`delimiter`), or `split`.

    Args:
        task: overrides on the command line, which come last.
    """
    if not chosen.data:
        return config
    config = config.copy()
    OmegaConf.set_struct(config, False)
    for side, values in chosen.data.items():
        corpus = config[SIDES[side].group]
        for key, value in values.items():
            if key == "split" and SIDES[side].cleaning:
                config.clean[side].split = OmegaConf.merge(config.clean[side].split, value)
            else:
                place = corpus if key in corpus else corpus.setdefault("source", {})
                place[key] = value
    groups = tuple(f"{SIDES[side].group}." for side in chosen.data)
    for override in OverridesParser.create().parse_overrides(list(task)):
        if override.key_or_group.startswith(groups):
            OmegaConf.update(config, override.key_or_group, override.value())
    return config


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


def rung_values(family: str, config: DictConfig, chosen: params.Choices, task: Sequence[str] = ()) -> Values:
    """A rung's plain settings with params.yaml's changes to it.

    Args:
        config: the whole composition.
        task: overrides on the command line, which override params.yaml's settings of single rungs.
    """
    name = config[family].name
    listed = {"base": chosen.bases(family).get(name), "reads": chosen.reads(family).get(name)}
    change = chosen.changes(family).get(name, {}) | {key: value for key, value in listed.items() if value}
    if "${oc." in str(change):
        raise InputError(f"{family}.{name}: ${{oc.…}} is not supported here; write the value itself in params.yaml")
    overrides = OverridesParser.create().parse_overrides(list(task))
    instead = _instead(family, config, change, [override.key_or_group for override in overrides])
    if change or instead:
        config = config.copy()
        OmegaConf.set_struct(config, False)
        config[family] = OmegaConf.merge(config[family], change)
        for key, value in instead.items():
            config[family].training[key] = value
        for override in overrides:  # the command line wins
            *above, last = override.key_or_group.split(".")
            if override.is_delete() and above[:1] == [family]:
                (OmegaConf.select(config, ".".join(above)) or {}).pop(last, None)
            elif override.key_or_group.startswith(f"{family}."):
                OmegaConf.update(config, override.key_or_group, override.value())
    values: Values = plain(config, without=[str(key) for key in config if key != family])[family]
    if "year" not in change:  # for the report only, from the rung's file
        values.pop("year", None)
    return values


def _instead(family: str, config: DictConfig, change: Values, typed: Sequence[str]) -> dict[str, object]:
    """The replacement for a rung's own optimiser and schedule: the file of conf/optimizer, of conf/scheduler.

    Order of precedence: the rung's settings on the command line, the file chosen there, the rung's settings in
    params.yaml, the file chosen in params.yaml.
    """
    found: dict[str, object] = {}
    for group, key in INSTEAD.items():
        of_rung = any(f"{one}.".startswith(f"{family}.training.{key}.") for one in typed)
        chosen = any(one.partition(".")[0] == group for one in typed)
        of_params = key in (change.get("training") or {}) and not chosen
        if config.get(group) and "training" in config[family] and not of_rung and not of_params:
            found[key] = config[group]
    return found


def _computed(key: str, name: str, everything: Values, chosen: params.Choices, rung: RungValues) -> object:
    """A setting that belongs to no rung: of the composition, or derived from it."""
    side = everything["side"]
    allowed = [one for one in SIDES if key != "clean" or one in everything["clean"]]
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
            return {path: everything["paths"][path] for path in params.EvaluationSets.model_fields}
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
                family.counting(rung(key, one)) for key, family in families().items() for one in chosen.rungs(key)
            )
            found = {counting.key: counting.model_dump(mode="json") for counting in counted if counting}
            return [found[key] for key in sorted(found)]
        case "family":
            return name
        case "inputs":
            read = {one: _inputs(name, rung(name, one), everything["paths"]) for one in chosen.rungs(name)}
            return {one: sorted(paths.values()) for one, paths in read.items()}
        case _:
            return everything[key]


def _inputs(family: str, value: Values, paths: Mapping[str, str]) -> dict[str, str]:
    """The inputs of a rung in addition to those of its family.

    Raises:
        InputError: an input file that is not among DVC's dependencies.
    """
    found = families()[family].inputs(value)
    for name, path in found.items():
        if name in paths and path != paths[name]:
            key = next((key for key, value in flat(value).items() if value == path), name)
            raise InputError(
                f"{family}.{key}: {path!r}, but params.yaml: paths.{name} is {paths[name]!r}; set both to the same "
                "path, so that DVC runs the rung again when the file changes"
            )
    return found


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


def plain(config: DictConfig, without: Sequence[str] = ()) -> Values:
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
