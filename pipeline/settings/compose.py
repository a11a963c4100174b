"""From what is chosen to the checked settings of every job: conf/ composed by Hydra, with params.yaml on top."""

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

MANY_RUNGS = "_together_"  # where one composition holds many rungs: `_together_.lm.gpt`
INSTEAD = {"optimizer": "optimizer", "scheduler": "schedule"}
"""Group of conf/ → the setting of a rung's training that it takes the place of."""
MANY = 32  # rungs that one holds; more of them make every step of it slower


def prepare(chosen: params.Choices | None = None, left_out: Sequence[str] = ()) -> None:
    """Tell Hydra of the families, of params.yaml (`chosen`), and of what files of conf/ compute.

    `${steps:400}` is 400 at size small, more and fewer at others; `${warmup:400}` the warm-up of 400 steps: that of the
    size, at most half of them; `${at_once:1}` how many jobs of one thread run here.

    conf/config.yaml takes the default rung of each family, so that `lm=gpt` can choose another, and the config
    `params`, which stands for params.yaml. Classes of plugins may be named, and their files conf/<group>/<name>.yaml
    chosen.

    Args:
        chosen: None: the config is left as it is.
        left_out: groups whose choice of params.yaml is none.
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
    """Hydra takes a file of the project's own conf/ where there is one, and else the installed one."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for folder in filter(Path.is_dir, params.conf_folders()[:-1]):
            search_path.prepend("project", f"file://{folder}", "main")


def conf_folder() -> str:
    """The folder that Hydra composes from, and that has every file; the project's own are found before its."""
    if len(params.conf_folders()) > 1:
        Plugins.instance().register(OwnFirst)
    return str(params.conf_folders()[-1])


def _store_params(node: Values) -> None:
    ConfigStore.instance().store("params", node, package="_global_", provider="params.yaml")


def _set_defaults(rungs: Mapping[str, str]) -> None:
    """What conf/config.yaml takes as its rungs: group, with the place (`lm@place`) where it is not the usual → name."""
    defaults = [{group: name} for group, name in rungs.items()]
    ConfigStore.instance().store("families", {"defaults": defaults}, package="_global_")


def _steps(count: int, *, _root_: DictConfig) -> int:
    return max(2, round(count * float(_root_.size.effort)))


def _warmup(count: int, *, _root_: DictConfig) -> int:
    return min(int(_root_.size.warmup), count // 2)


class Compositions:
    """Compositions of conf/ for the choices of params.yaml. Each takes a while, so one serves many rungs."""

    def __init__(self, chosen: params.Choices, left_out: list[str] | None = None) -> None:
        prepare()
        self.chosen, self.left_out = chosen, left_out or []
        self._alone: dict[str, DictConfig] = {}
        self._plain: dict[str, Values] = {}
        self._rungs: dict[tuple[str, str], Values] = {}
        self._checked: set[tuple[str, str]] = set()

    @cached_property
    def _shared(self) -> dict[str, DictConfig]:
        """Selection → its composition, made with others. What cannot be made so is left out: alone, it says why."""
        listed = [(family, name) for family in families() for name in self.chosen.rungs(family)]
        composed: dict[str, DictConfig] = {}
        for first in range(0, max(1, len(listed)), MANY):
            with suppress(InputError, HydraException):
                composed |= self._many(listed[first : first + MANY])
        return composed

    def _many(self, rungs: list[tuple[str, str]]) -> dict[str, DictConfig]:
        """These rungs, each with all that is no rung; none where another file (of debug, say) changes rungs too."""
        whole = self._compose([], {f"{family}@{MANY_RUNGS}.{family}.{name}": name for family, name in rungs})
        if any(family in whole for family in families()):
            return {}
        OmegaConf.set_struct(whole, False)
        held = whole.pop(MANY_RUNGS, {})
        sides = {f"side={job.name}": {"side": job.name} for job in plan.jobs(self.chosen) if "side" in job.stage.keys}
        parts = {"": {}} | sides | {f"{family}={name}": {family: held[family][name]} for family, name in rungs}
        return {selection: cast(DictConfig, OmegaConf.merge(whole, part)) for selection, part in parts.items()}

    def _compose(self, selection: list[str], rungs: Mapping[str, str] | None = None) -> DictConfig:
        """A composition with these rungs instead of each family's default."""
        before = ConfigStore.instance().repo["params.yaml"].node
        prepare(self.chosen, self.left_out)
        if rungs is not None:
            _set_defaults(rungs)
        try:
            return with_data(compose("config", [params.quoted(one) for one in selection]), self.chosen)
        finally:
            prepare()
            _store_params(before)  # of a sweep, whose next job is composed after this one

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
        """All that is no rung, as plain values; the same for all rungs that were composed together."""
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
            if values.get("name") != name:  # its models, reports and metrics are found by the name of its file
                raise InputError(
                    f"{family}.name: {values.get('name')!r}, but a rung has the name of its file, {name!r}; fix or "
                    f"remove the key name in params.yaml: {family}.{name} or conf/{family}/{name}.yaml"
                )
            self._rungs[family, name] = values
        return deepcopy(self._rungs[family, name])

    def rung(self, family: str, name: str) -> Values:
        """The plain settings of a rung, checked.

        Raises:
            InputError: what is wrong with them.
        """
        values = self._rung(family, name)
        if (family, name) not in self._checked:
            schema.checked("rung", {family: values}, schema.file_of(self.of(f"{family}={name}")))
            self._checked.add((family, name))
        return values

    def job(self, job: plan.Job) -> Values:
        """The plain settings of a job, checked.

        Raises:
            InputError: what is wrong with them.
        """
        everything = self._everything(job.selection)
        own = self._rung(job.stage.family, job.name) if job.stage.family else {}
        values = job_values(job.stage, job.name, everything, own, self.chosen, self.rung)
        schema.checked(job.stage.name, values, schema.file_of(self.of(job.selection)))
        return values

    def graph(self) -> needed.Graph:
        """The jobs, and what each reads; a rung whose settings are wrong reads nothing of its own."""

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
        found: what is wrong with params.yaml itself, to be said with the rest.

    Raises:
        InputError: every problem of every job, one a line.
    """
    problems = [*found, *checks.other_version(), *checks.name_problems(chosen)]
    if unreadable := checks.conf_problems():
        raise combined([*problems, *unreadable], params.uncommitted())
    checks.warn(checks.unused(chosen) if not problems else ())
    left_out = checks.bad_groups(chosen)
    problems += [*checks.growth_problems(chosen), *checks.broken_links(chosen.paths.model_dump())]
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
            if "inputs" in job.stage.keys:  # a file each, which the jobs of rungs that are left out wait for, too
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
    """A composition with what params.yaml: data says of the corpora, on top of their files in conf/.

    A key is one of the file's own (`language`), one of its `source:` (`delimiter`), or `split`, how it is cut.

    Args:
        task: overrides on the command line, which win.
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
"""What the stage `filter` has in dvc.yaml beside the corpus and `paths.filter`."""

ENGINED = ("corpus", "demonstrate", "filter", "clean", "tokenize", "vocab", "cooccur", "train_lm")
"""The stages that go through a whole corpus, which an engine may do for them: conf/engine."""


def job_values(
    stage: Stage, name: str, everything: Values, own: Values, chosen: params.Choices, rung: RungValues
) -> Values:
    """The plain values that a stage reads, `code` (the hash of the code that it runs) and `aside` with them.

    Args:
        name: of the job.
        everything: the composition but for rungs.
        own: the settings of the rung that the job is about; {} where it is about none.
        rung: the settings of any rung, for stages that read those of a whole family.
    """
    values: Values = {}
    for key in stage.keys:
        if key in families():
            values[key] = own | ({"_maker_": families()[key].maker(own)} if stage.makes else {})
        elif key != "code":
            values[key] = _computed(key, name, everything, chosen, rung)
    training = next((values[family].get("training") for family in families() if family in values), None)
    if "bleu_tokenize" in values and training and training.get("early_stopping") != "bleu":
        values["bleu_tokenize"] = None  # not read: another choice must not train anew
    values["code"] = code_version(stage.name, values)
    if stage.name in ENGINED:
        values |= {key: everything[key] for key in RESOURCES}
    tracked, untracked = split_unwatched(values, makes=stage.makes)
    return tracked | ({"aside": untracked} if untracked else {})


def rung_values(family: str, config: DictConfig, chosen: params.Choices, task: Sequence[str] = ()) -> Values:
    """A rung's plain settings with params.yaml's changes to it.

    Args:
        config: the whole composition.
        task: overrides on the command line; they win over params.yaml's changes to single rungs.
    """
    name = config[family].name
    listed = {"base": chosen.bases(family).get(name), "reads": chosen.reads(family).get(name)}
    change = chosen.changes(family).get(name, {}) | {key: value for key, value in listed.items() if value}
    if "${oc." in str(change):
        raise InputError(f"{family}.{name}: ${{oc.…}} is not followed here; write the value itself in params.yaml")
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
    if "year" not in change:  # said for the report alone, and by the rung's file
        values.pop("year", None)
    return values


def _instead(family: str, config: DictConfig, change: Values, typed: Sequence[str]) -> dict[str, object]:
    """What takes the place of a rung's own optimiser and schedule: the file of conf/optimizer, of conf/scheduler.

    The nearer wins: what the command line says of the rung itself, then the file that it chooses, then what params.yaml
    changes of the rung, then the file that params.yaml chooses.
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
    """A setting that is no rung's: of the composition, or found from it."""
    side = everything["side"]
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
        case "wanted":  # whether anybody reads the preferences made of this rung's answers, or asks for them by hand
            folders = {folder for family in families() for folder in chosen.reads(family).values()}
            return name not in chosen.rungs("instruct") or f"data/preferences/{name}" in folders
        case "given":
            if name not in chosen.given:
                raise InputError(
                    f"given: nothing is called {name!r}; `dvc repro` takes in what params.yaml lists there"
                )
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
    """What a rung reads beyond what its family does.

    Raises:
        InputError: a file from outside that DVC does not know as its input.
    """
    found = families()[family].inputs(value)
    for name, path in found.items():
        if name in paths and path != paths[name]:
            key = next((key for key, value in flat(value).items() if value == path), name)
            raise InputError(
                f"{family}.{key}: {path!r}, but params.yaml: paths.{name} is {paths[name]!r}; set both to the same, "
                "so that DVC runs the rung again when that changes"
            )
    return found


def _checked_filter(value: Values, folder: str) -> Values:
    """A filter, all of whose files the stage has as inputs in dvc.yaml.

    Raises:
        InputError: a file that DVC does not know as its input.
    """
    for key, path in flat(value).items():
        file = PurePosixPath(normpath(path)) if key.endswith(".path") and isinstance(path, str) else None
        if file is not None and str(file) not in FILTER_READS and not file.is_relative_to(normpath(folder)):
            raise InputError(
                f"filter.{key}: {path!r} is not below params.yaml: paths.filter ({folder!r}), nor is it one of "
                f"{', '.join(FILTER_READS)}; put it there or set paths.filter, so that DVC sees it change"
            )
    return value


def plain(config: DictConfig, without: Sequence[str] = ()) -> Values:
    """A composition as plain values, its references resolved.

    Raises:
        InputError: a value is missing, or refers to one that is not there.
    """
    try:
        return {str(key): _plain(config[key]) for key in config if key not in without}
    except OmegaConfBaseException as error:
        raise InputError(f"{error.full_key or '?'}: {error.msg or error}") from error


def _plain(value: object) -> object:
    return OmegaConf.to_container(value, resolve=True, throw_on_missing=True) if OmegaConf.is_config(value) else value
