"""From what is chosen to the checked settings of every job: conf/ composed by Hydra, with params.yaml on top."""

from contextlib import suppress
from functools import cached_property
from itertools import zip_longest

from hydra import compose
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf

from langladder.errors import InputError
from langladder.families import families
from pipeline.settings import growth, jobs, names, params, plan, schema
from pipeline.settings.aside import Values
from pipeline.settings.errors import together


def prepare() -> None:
    """Tell Hydra of the families, and of `${steps:400}`: 400 at size small, more and fewer at others.

    conf/config.yaml takes the default rung of each family, so that `lm=gpt` can choose another.
    """
    defaults = [{name: family.default} for name, family in families().items()]
    ConfigStore.instance().store("families", {"defaults": defaults}, package="_global_")
    OmegaConf.register_new_resolver("steps", _steps, replace=True)


def _steps(count: int, *, _root_: DictConfig) -> int:
    return max(2, round(count * float(_root_.size.effort)))


class Compositions:
    """Compositions of conf/ for the choices of params.yaml; each takes a while and serves a rung of every family."""

    def __init__(self, chosen: params.Choices, left_out: list[str] | None = None) -> None:
        prepare()
        self.chosen, self.left_out = chosen, left_out or []
        self._rungs: dict[tuple[str, str], Values] = {}

    @cached_property
    def _together(self) -> dict[str, DictConfig]:
        """Selection → a composition that holds it. What cannot be composed is left out: alone, it says why."""
        sides = [job.selection for job in plan.jobs(self.chosen) if "side" in job.stage.keys]
        columns = [list(dict.fromkeys(sides))]
        columns += [[f"{family}={rung}" for rung in self.chosen.rungs(family)] for family in families()]
        composed: dict[str, DictConfig] = {}
        for row in zip_longest(*columns):
            selection = [choice for choice in row if choice]
            with suppress(InputError, HydraException):
                composed |= dict.fromkeys(["", *selection], self._compose(selection))
        return composed

    def _compose(self, selection: list[str]) -> DictConfig:
        return compose("config", params.overrides(self.chosen, selection + self.left_out) + selection)

    def of(self, selection: str) -> DictConfig:
        """A composition for a choice such as `lm=gpt`; "" for any.

        Raises:
            HydraException: there is none.
        """
        if selection not in self._together:
            self._together[selection] = self._compose([selection])
        return self._together[selection]

    def rung(self, family: str, name: str) -> Values:
        """The plain settings of a rung, checked.

        Raises:
            InputError: what is wrong with them.
        """
        if (family, name) not in self._rungs:
            config = self.of(f"{family}={name}")
            values = jobs.rung_values(family, config, self.chosen)
            schema.checked("rung", {family: values}, schema.file_of(config))
            self._rungs[family, name] = values
        return self._rungs[family, name]

    def job(self, job: plan.Job) -> Values:
        """The plain settings of a job, checked.

        Raises:
            InputError: what is wrong with them.
        """
        config = self.of(job.selection)
        values = jobs.job_values(job.stage, job.name, config, self.chosen, self.rung)
        schema.checked(job.stage.name, values, schema.file_of(config))
        return values


def resolve(chosen: params.Choices) -> dict[str, Values]:
    """Checked settings of every job, keyed `<stage>/<job>`.

    Raises:
        InputError: every problem of every job, one a line.
    """
    problems = names.problems(chosen)
    if unreadable := names.conf_problems():
        raise together([*problems, *unreadable])
    names.warn(names.unused(chosen) if not problems else ())
    left_out = names.bad_groups(chosen)
    problems += growth.problems(chosen)
    chosen = names.known(chosen)
    compositions = Compositions(chosen, left_out)
    resolved: dict[str, Values] = {}
    for job in plan.jobs(chosen):
        try:
            resolved[job.file] = compositions.job(job)
        except InputError as error:
            problems.append(str(error))
        except HydraException as error:
            problems.append(f"{job.stage.name} {job.name}: " + " ".join(str(error).split()))
    problems += growth.misfits(chosen, compositions.rung)
    if problems:
        raise together(problems)
    return resolved
