"""The plan from dvc.yaml: the stages, the settings that each reads, and the jobs of each.

Only dvc.yaml defines the plan. A stage's `meta` lists the settings that it reads; its first input is the resolved file
with these settings, so that DVC runs a job again when one of them has changed. They are not `params` of DVC: these are
only those of params.yaml, each shown once. A stage that loops over `${lms}` has one job per rung of that family.
"""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from langladder.families import families
from langladder.families.folds import PARTS
from langladder.ground.errors import InputError
from pipeline import ROOT
from pipeline.settings.params import Choices
from pipeline.settings.yaml_files import Values, read_yaml

RESOLVED = "resolved/"
ASIDE = "aside"
"""The folder beside a stage's resolved files for settings that DVC does not track because they change no result."""
COMMAND = re.compile(r"python -m pipeline\.(?P<module>\w+)(?: (?P<family>\w+))? -cd ")
IMPORTED = "${given}"
"""The list for the stage that imports networks; not a family, because none of them is trained here."""
CORPORA = "${corpora}"
"""The list for stages that make a corpus only if a rung reads it."""


@dataclass(frozen=True)
class Stage:
    """A stage of dvc.yaml that has settings.

    Attributes:
        module: the module of pipeline/ that it runs.
        argument: the family in its command, if the module serves several.
        keys: the settings that it reads.
        family: the family whose rungs are its jobs; None: the jobs are `jobs` or, where there are none, what
            params.yaml lists as given or as corpora.
        makes: whether it leaves models.
    """

    name: str
    module: str
    argument: str | None
    keys: tuple[str, ...]
    family: str | None
    jobs: tuple[str, ...]
    makes: bool

    @property
    def family_name(self) -> str:
        """The family of a stage, for stages that have one."""
        assert self.family
        return self.family

    @property
    def command(self) -> list[str]:
        """What `python -m` runs."""
        return [f"pipeline.{self.module}", *([self.argument] if self.argument else [])]


@dataclass(frozen=True)
class Job:
    """One job: a stage, and the job's name."""

    stage: Stage
    name: str

    @property
    def file(self) -> str:
        """Its resolved file, below resolved/, without the ending."""
        return f"{self.stage.name}/{self.name}"


@cache
def declared() -> dict[str, Values]:
    """The stages of dvc.yaml.

    Raises:
        InputError: dvc.yaml cannot be read.
    """
    declared_stages: dict[str, Values] = read_yaml(ROOT / "dvc.yaml")["stages"]
    return declared_stages


def outputs_of(stage: str) -> list[str]:
    """The outputs of a stage of dvc.yaml, with `${…}` for the name of the job."""
    body = declared()[stage].get("do", declared()[stage])
    outs = [out for key in ("outs", "metrics", "plots") for out in body.get(key, [])]
    return [out if isinstance(out, str) else str(next(iter(out))) for out in outs]


@cache
def stages() -> dict[str, Stage]:
    """Every stage with settings, in the order of dvc.yaml.

    Raises:
        InputError: dvc.yaml cannot be read, or a stage loops over a list that belongs to no family.
    """
    read = declared()
    results = (_stage(name, body) for name, body in read.items())
    return {stage.name: stage for stage in results if stage}


def stages_of(module: str) -> dict[str | None, Stage]:
    """Family in the command → stage, for the stages of a module of pipeline/."""
    return {stage.argument: stage for stage in stages().values() if stage.module == module}


def stage_of(module: str, family: str | None) -> Stage:
    """The stage with a module of pipeline/ and a family in its command.

    Raises:
        InputError: there is no such stage; the message lists the families.
    """
    known = stages_of(module)
    if family in known:
        return known[family]
    names = ", ".join(str(name) for name in known)
    wrong = f"{family!r} is not a family here" if family else "name a family first"
    raise InputError(f"{wrong}: there are {names}; for example python -m pipeline.{module} {next(iter(known))}")


def _stage(name: str, body: Values) -> Stage | None:
    inner = body.get("do", body)
    keys = (inner.get("meta") or {}).get("settings")
    if not keys:
        return None
    path = next((str(path) for path in inner.get("deps", []) if str(path).startswith(f"{RESOLVED}{name}/")), None)
    if path is None:
        raise InputError(f"dvc.yaml: the stage {name} reads settings, and {RESOLVED}{name}/… is not among its deps")
    if not (command := COMMAND.match(str(inner.get("cmd")))):
        raise InputError(f"dvc.yaml: the stage {name}: cmd is {inner.get('cmd')!r}, not python -m pipeline.… -cd …")
    who = name, command["module"], command["family"], tuple(keys)
    outs = [out if isinstance(out, str) else next(iter(out)) for out in inner.get("outs", [])]
    makes = any(out.startswith("models/") for out in outs)
    through = body.get("foreach", *inner.get("matrix", {"": None}).values())
    if through in (IMPORTED, CORPORA):
        return Stage(*who, None, (), makes)
    if isinstance(through, str):
        return Stage(*who, _family(name, through), (), makes)
    return Stage(*who, None, tuple(through or [PurePosixPath(path).stem]), makes)


def _family(stage: str, through: str) -> str:
    listed = {family.listed: name for name, family in families().items()}
    key = match[1] if (match := re.fullmatch(r"\$\{(\w+)\}", through)) else through
    if key not in listed:
        raise InputError(
            f"dvc.yaml: the stage {stage} loops over {through}, which is not the list of a family: {', '.join(listed)} "
            "(src/langladder/families/)"
        )
    return listed[key]


def jobs(chosen: Choices) -> list[Job]:
    """Every job of the choices, in the order of dvc.yaml."""
    results = []
    for stage in stages().values():
        if stage.family:
            results += [Job(stage, rung) for rung in chosen.rungs(stage.family)]
        elif "given" in stage.keys:
            results += [Job(stage, name) for name in chosen.given]
        elif "side" in stage.keys:
            results += [Job(stage, side) for side in stage.jobs or chosen.corpora]
        else:
            results += [Job(stage, name) for name in stage.jobs]
    return results


def resolved(folder: Path, job: str) -> Values:
    """The content of the resolved file of a job (`train_lm@lstm`) in a project's folder; {} if there is none."""
    stage, _, name = job.partition("@")
    file = folder / RESOLVED / stage / f"{name or stage}.yaml"
    values: Values = read_yaml(file) if file.is_file() else {}
    untracked = file.parent / ASIDE / file.name
    return values | ({ASIDE: read_yaml(untracked)} if untracked.is_file() else {})


def training(settings: Values) -> Values:
    """The training settings of the rung in these settings; {} if it is not trained by gradient, or there is none."""
    trainings = ((settings[family] or {}).get("training") for family in families() if family in settings)
    return next(trainings, None) or {}


def training_steps(folder: Path, job: str) -> int:
    """The training steps of a job, for all its seeds and folds, from its resolved file; 0 if it trains nothing."""
    stage = stages().get(job.partition("@")[0])
    if not (stage and stage.makes and stage.family):
        return 0
    settings = resolved(folder, job)
    rung = settings.get(stage.family, {})
    folds = int(rung.get("folds", 1))
    parts = len(PARTS) if rung.get("learning_curve") else 0
    times = int(rung.get("seeds", 1)) + (folds if folds > 1 else 0) + parts
    return int(training(settings).get("max_steps") or 0) * times
