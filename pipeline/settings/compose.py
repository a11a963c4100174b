"""From what is chosen to the checked settings of every job: conf/ composed by Hydra, with params.yaml on top."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from typing import cast

from hydra import compose
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline.settings import growth, jobs, names, params, plan, schema, urls
from pipeline.settings.aside import Values
from pipeline.settings.errors import together
from pipeline.settings.threads import jobs_at_once

TOGETHER = "_together_"  # where one composition holds many rungs: `_together_.lm.gpt`
MANY = 32  # rungs that one holds; more of them make every step of it slower


def prepare() -> None:
    """Tell Hydra of the families, and of what files of conf/ compute.

    `${steps:400}` is 400 at size small, more and fewer at others; `${warmup:400}` the warm-up of so many steps: that of
    the size, at most half of them; `${at_once:1}` how many jobs of one thread run here.

    conf/config.yaml takes the default rung of each family, so that `lm=gpt` can choose another.
    """
    _take({name: family.default for name, family in families().items()})
    OmegaConf.register_new_resolver("steps", _steps, replace=True)
    OmegaConf.register_new_resolver("warmup", _warmup, replace=True)
    OmegaConf.register_new_resolver("at_once", jobs_at_once, replace=True)


def _take(rungs: Mapping[str, str]) -> None:
    """What conf/config.yaml takes as its rungs: group, with the place (`lm@place`) where it is not the usual → name."""
    defaults = [{group: name} for group, name in rungs.items()]
    ConfigStore.instance().store("families", {"defaults": defaults}, package="_global_")


def _steps(count: int, *, _root_: DictConfig) -> int:
    return max(2, round(count * float(_root_.size.effort)))


def _warmup(count: int, *, _root_: DictConfig) -> int:
    return min(int(_root_.size.warmup), _steps(count, _root_=_root_) // 2)


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
    def _together(self) -> dict[str, DictConfig]:
        """Selection → its composition, made with others. What cannot be made so is left out: alone, it says why."""
        listed = [(family, name) for family in families() for name in self.chosen.rungs(family)]
        composed: dict[str, DictConfig] = {}
        for first in range(0, max(1, len(listed)), MANY):
            with suppress(InputError, HydraException):
                composed |= self._many(listed[first : first + MANY])
        return composed

    def _many(self, rungs: list[tuple[str, str]]) -> dict[str, DictConfig]:
        """These rungs, each with all that is no rung; none where another file (of debug, say) changes rungs too."""
        _take({f"{family}@{TOGETHER}.{family}.{name}": name for family, name in rungs})
        try:
            whole = self._compose([])
        finally:
            prepare()
        if any(family in whole for family in families()):
            return {}
        OmegaConf.set_struct(whole, False)
        held = whole.pop(TOGETHER, {})
        sides = {f"side={job.name}": {"side": job.name} for job in plan.jobs(self.chosen) if "side" in job.stage.keys}
        parts = {"": {}} | sides | {f"{family}={name}": {family: held[family][name]} for family, name in rungs}
        return {selection: cast(DictConfig, OmegaConf.merge(whole, part)) for selection, part in parts.items()}

    def _compose(self, selection: list[str]) -> DictConfig:
        carried = params.overrides(self.chosen, selection + self.left_out)
        return compose("config", carried + [params.quoted(one) for one in selection])

    def of(self, selection: str) -> DictConfig:
        """A composition for a choice such as `lm=gpt`; "" for any.

        Raises:
            HydraException: there is none.
        """
        if selection in self._together:
            return self._together[selection]
        if selection not in self._alone:
            self._alone[selection] = self._compose([selection] if selection else [])
        return self._alone[selection]

    def _everything(self, selection: str) -> Values:
        """All that is no rung, as plain values; the same for all rungs that were composed together."""
        family = selection.partition("=")[0]
        key = "" if family in families() and selection in self._together else selection
        if key not in self._plain:
            self._plain[key] = jobs.plain(self.of(key), without=list(families()))
        return self._plain[key]

    def _rung(self, family: str, name: str) -> Values:
        if (family, name) not in self._rungs:
            try:
                values = jobs.rung_values(family, self.of(f"{family}={name}"), self.chosen)
            except (OmegaConfBaseException, RecursionError) as error:
                said = " ".join(str(error).split())[:300]
                raise InputError(
                    f"{family}.{name}: {said}; mend it in params.yaml: {family}.{name} or conf/{family}/{name}.yaml"
                ) from error
            if values.get("name") != name:  # its models, reports and metrics are found by the name of its file
                raise InputError(
                    f"{family}.name: {values.get('name')!r}, but a rung has the name of its file, {name!r}; mend or "
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
        values = jobs.job_values(job.stage, job.name, everything, own, self.chosen, self.rung)
        schema.checked(job.stage.name, values, schema.file_of(self.of(job.selection)))
        return values


def resolve(chosen: params.Choices, found: Sequence[str] = ()) -> dict[str, Values]:
    """Checked settings of every job, keyed `<stage>/<job>`.

    Args:
        found: what is wrong with params.yaml itself, to be said with the rest.

    Raises:
        InputError: every problem of every job, one a line.
    """
    problems = [*found, *names.problems(chosen)]
    if unreadable := names.conf_problems():
        raise together([*problems, *unreadable])
    names.warn(names.unused(chosen) if not problems else ())
    left_out = names.bad_groups(chosen)
    problems += [*growth.problems(chosen), *urls.broken_links(chosen.paths.model_dump())]
    chosen = names.known(chosen)
    compositions = Compositions(chosen, left_out)
    resolved: dict[str, Values] = {}
    for job in plan.jobs(chosen):
        try:
            resolved[job.file] = compositions.job(job)
        except InputError as error:
            problems.append(str(error))
        except (HydraException, OmegaConfBaseException, RecursionError) as error:
            problems.append(f"{job.stage.name} {job.name}: " + " ".join(str(error).split()))
    problems += growth.misfits(chosen, compositions.rung)
    if problems:
        raise together(problems)
    return resolved
