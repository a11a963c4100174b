"""The entry point of every stage, for DVC, single Hydra runs and Hydra sweeps.

- `dvc repro` calls `python -m pipeline.<module> -cd resolved/<stage> -cn <job>`: the config is the resolved file,
  complete and checked, and outputs go to the repository root. Modules that serve several families (`train`, `evaluate`,
  `measure`) have the family's name as their first argument.
- `python -m pipeline.<module> [family] [-m] key=value …` composes conf/ with params.yaml as `resolve` does; outputs go
  to Hydra's run folder, so that a sweep never overwrites what `dvc repro` made. Inputs are those of the last repro.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

import hydra
from hydra import initialize_config_dir
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground import plugins, progress
from langladder.ground.atomic import check_file, check_folder, disk_error, explain
from langladder.ground.errors import InputError
from langladder.ground.memory import out_of_memory
from langladder.ground.ranks import first
from pipeline import ROOT
from pipeline.settings import checks, compose, errors, needed, params, plan, resources, run_folder, schema, sweeps
from pipeline.settings.errors import combined
from pipeline.settings.launch import end_with_starter, others
from pipeline.settings.resources import compute_with
from pipeline.settings.schema import FamilyJob, StageJob
from pipeline.settings.yaml_files import Values, read_yaml
from pipeline.tracking.job import Finished, OtherProcess, skip_finished

Run = Callable[[Any, Path], None]
"""A stage's function: it takes settings (of a class of `schema`) and the folder of its outputs."""
FamilyRun = Callable[[plan.Stage, Any, Path], None]

# No library may send telemetry.
QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}
QUIET |= {"MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
QUIET |= {"HYDRA_FULL_ERROR": "1"}  # so that its errors are raised here and printed in one line
VALUED = ("-c", "--cfg", "-p", "--package", "-cp", "--config-path", "-cd", "--config-dir", "--experimental-rerun")
"""Hydra's options that take a value."""
QUIET |= {"TOKENIZERS_PARALLELISM": "true", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}


SMALLER = (
    "run fewer jobs at a time (JOBS), or choose a smaller size, training.batch_size, or memory in params.yaml: memory"
)


def stage(run: Run) -> Callable[[], None]:
    """Make `run(job, out)` a stage: job = its checked settings, out = the folder that its outputs are relative to."""
    name = _module(run)
    return lambda: _main(name, run)


def family_stage(run: FamilyRun) -> Callable[[], None]:
    """Make `run(stage, job, out)` the stages of several families; the first command-line argument is the family."""
    module = _module(run)

    def main() -> None:
        family = sys.argv[1] if len(sys.argv) > 1 and re.fullmatch(r"\w+", sys.argv[1]) else None
        if family is None and {"-h", "--help"} & set(sys.argv[1:]):
            names = [str(name) for name in plan.stages_of(module)]
            print(f"python -m pipeline.{module} FAMILY …, where FAMILY is one of {', '.join(names)}\n")
            family = names[0]
            sys.argv.insert(1, family)
        try:
            chosen = plan.stage_of(module, family)
        except InputError as error:
            print(f"{module}: {error}", file=sys.stderr)
            sys.exit(2)
        del sys.argv[1]
        _main(chosen.name, partial(run, chosen))

    return main


def _module(run: Callable[..., None]) -> str:
    return run.__module__.rpartition(".")[2] if run.__module__ != "__main__" else Path(sys.argv[0]).stem


def _main(name: str, run: Run) -> None:
    """The main function of a stage."""
    end_with_starter()
    os.chdir(ROOT)
    plugins.allow(params.listed_plugins())
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # progress, under DVC too
    for key, value in QUIET.items():
        os.environ.setdefault(key, value)
    try:
        if not any(argument in ("-cn", "--config-name") for argument in sys.argv):
            _check_single(name)
            run_folder.check(sys.argv[1:])
            sweeps.check(sys.argv[1:])
            chosen = _chosen(sys.argv[1:])
            another = any(argument.startswith("trainer=") for argument in sys.argv)  # instead of flags in params.yaml
            compose.prepare(chosen, ["trainer"] if another else [])
            _insert(f"hydra.job.name={name}")
        elif wrong := checks.linked_outputs():
            raise combined(wrong)
        elif _left_out(name):
            return
        elif (code := _on_worker(name)) is not None:
            sys.exit(code)
        hydra.main(version_base="1.3", config_path=compose.conf_folder(), config_name="stage")(_job(name, run))()
    except (InputError, HydraException, OmegaConfBaseException) as error:
        message = str(error) if isinstance(error, InputError) else _message(name, error)
        note = errors.where_installed(message)
        print(f"{name}: {message}" + (f"\n{note}" if note not in message else ""), file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        sys.exit(128 + signal.SIGINT)


def _check_single(name: str) -> None:
    """Raise InputError for a stage without settings in conf/: only `dvc repro` runs it, or its family has no rung."""
    keys = plan.stages()[name].keys if name in plan.stages() else ()
    for family in (key for key in keys if key in families() and not params.conf_names(key)):
        raise InputError(f"{checks.nothing_in(family)}; change it in params.yaml")
    if {"family", "given"} & {*keys} and not {"-h", "--help"} & {*sys.argv}:
        job = "FAMILY" if "family" in keys else "NAME, of a network that is listed under `given` in params.yaml"
        raise InputError(
            f"cannot be run by itself, because its settings are made by `resolve`; run dvc repro {name}@{job}"
        )


def _left_out(name: str) -> bool:
    """Whether a job of `dvc repro` is left out; then its empty outputs are made without composing anything."""
    file = _file_of_job()
    values = read_yaml(file) if file.is_file() else {}
    if needed.LEFT_OUT not in values:
        return False
    needed.do_nothing(ROOT, values)
    title = name if file.stem == name else f"{name} {file.stem}"
    print(f"{title}: left out ({values[needed.LEFT_OUT]})")
    return True


def _on_worker(name: str) -> int | None:
    """The exit code of a job of `dvc repro` that a worker of a cluster runs for this process; None: it runs here."""
    if resources.CLUSTER_ADDRESS not in os.environ:
        return None
    from pipeline.cluster import run_there

    return run_there(f"{name}@{_file_of_job().stem}")


def _file_of_job() -> Path:
    """The resolved file of a job of `dvc repro`."""
    options = dict(pairwise(sys.argv))
    return ROOT / options.get("-cd", "") / f"{options.get('-cn')}.yaml"


def _job(name: str, run: Run) -> Callable[[DictConfig], float | None]:
    """One job, for Hydra; its errors are printed in one line."""

    def job(config: DictConfig) -> float | None:
        try:
            if "_job_" not in config:
                return _single(name, run, config)
            _repro_job(name, run, config)
        except InputError as error:
            problem = str(error)
        except Exception as error:
            if out_of_memory(error):
                problem = f"not enough memory ({' '.join(str(error).split())[:200] or 'allocation failed'}); {SMALLER}"
            elif (number := disk_error(error)) is not None:
                problem = explain(Path(getattr(error, "filename", None) or "."), number)
            else:
                raise
        else:
            return None
        if sweeps.swept():
            raise InputError(problem)  # its launcher sends it to `_main` from another process or machine
        print("\n".join(filter(None, [f"{name}: {problem}", errors.where_installed(problem)])), file=sys.stderr)
        sys.exit(2)

    return job


def _repro_job(name: str, run: Run, config: DictConfig) -> None:
    """Run a job of `dvc repro`."""
    (values, settings), rung = _resolved(name, config), Path(config._job_).stem
    compute_with(getattr(settings, "threads", 1))
    title = name if rung == name else f"{name} {rung}"
    _check_output(name, settings, Path())
    with (
        _progress(title),
        resources.engine(settings, title),
        others(name, rung, values, settings),
        suppress(OtherProcess),
    ):
        run(settings, Path())


def _single(name: str, run: Run, config: DictConfig) -> float | None:
    """Run a single run, or a job of a sweep; a sweep prints and skips finished jobs.

    Returns:
        The figure that a search optimises.
    """
    (values, settings), out = _composed(name, config), Path(HydraConfig.get().runtime.output_dir)
    family = settings.family if isinstance(settings, FamilyJob) else None
    if sweeps.swept():
        run_folder.check_below(str(out), HydraConfig.get().sweep.dir)
    _check_output(name, settings, out)
    needed.check_data(name)
    compute_with(getattr(settings, "threads", 1))
    token = skip_finished.set(sweeps.swept() and not config.again)
    try:
        with _progress(name), resources.engine(settings, name), others(name, name, values, settings):
            run(settings, out)
        figures = sweeps.written(out, name, settings.name) if isinstance(settings, FamilyJob) else {}
    except Finished as done:
        print(f"{', '.join(_task())}: {done}")
        figures = dict(done.figures)
    except OtherProcess:
        return None
    finally:
        skip_finished.reset(token)
    return sweeps.objective(family, config.objective, figures) if sweeps.swept() else None


def _check_output(name: str, settings: StageJob, out: Path) -> None:
    """Check before the work that its outputs can be written.

    Raises:
        InputError: a stage must not replace what is there.
    """
    job = settings.name if isinstance(settings, FamilyJob) else getattr(settings, "side", "")
    for declared in plan.outputs_of(name):
        path = PurePosixPath(re.sub(r"\$\{[^}]+\}", lambda _: job, declared))
        if job or "${" not in declared:
            output = run_folder.output(out, str(path.parent), path.stem, ending=path.suffix)
            check_file(output) if path.suffix else check_folder(output, run_folder.OUTPUT)


@contextmanager
def _progress(title: str) -> Iterator[None]:
    """Start computing and print progress; if several processes train together, only the first prints."""
    with progress.displayed() if first() else nullcontext(), progress.working(title):
        yield


def _resolved(name: str, config: DictConfig) -> tuple[Values, StageJob]:
    """Settings of a job from its file in resolved/, and overrides on the command line."""
    values = compose.plain(config)
    file = values.pop("_job_")
    return values, schema.checked(name, values, lambda _: file)


def _composed(name: str, config: DictConfig) -> tuple[Values, StageJob]:
    """Settings of a job from the whole composition of a single run or a sweep."""
    chosen, stage = params.load(), plan.stages()[name]
    typed = [override.key_or_group for override in OverridesParser.create().parse_overrides(_task())]
    everything = compose.plain(config, without=families())
    own: Values = {}
    if stage.family:
        own = compose.rung_values(stage.family, compose.plain(config[stage.family]), everything, chosen, typed)

    @cache
    def compositions() -> compose.Compositions:
        return compose.Compositions(chosen)

    def rung(family: str, name: str) -> Values:
        return compositions().rung(family, name)

    values = compose.job_values(stage, name, everything, own, chosen, rung)
    settings = schema.checked(name, values, _origin_of(config, typed))
    _refuse_unread(stage, typed, schema.keys(name, values))
    return values, settings


def _origin_of(config: DictConfig, keys: Sequence[str]) -> Callable[[tuple[str, ...]], str]:
    """Function from a key's path to where its value can be changed: the command line, if it was typed there, or a file.

    Of several keys that do not fit together, some can be typed.

    Args:
        keys: the keys on the command line.
    """
    typed = [key for key in keys if key in params.LIGHTNING or not params.conf_names(key)]  # lm=gpt names a file
    file_of = schema.file_of(config)

    def origin(location: tuple[str, ...]) -> str:
        file = file_of(location)
        own = [".".join(location), *schema.typed_as(location, config.side)]
        if any(f"{key}.".startswith(f"{name}.") for key in own for name in typed):
            return errors.TYPED
        below = [name for name in typed if any(name.startswith(f"{key}.") for key in own)]
        return f"{errors.TYPED} ({', '.join(below)}) or in {file}" if below else file

    return origin


def _refuse_unread(stage: plan.Stage, typed: Sequence[str], known: list[str]) -> None:
    """Refuse overrides that nothing reads, such as `+training.lr=0.1` instead of `lm.training.lr=0.1`.

    Args:
        typed: the keys on the command line; known: the keys that the stage reads.

    Raises:
        InputError: all such overrides.
    """
    tops = {key: re.split(r"[./]", key.rpartition("@")[2])[0] for key in typed}
    allowed = checks.top_keys() - (set(families()) - {stage.family}) | {"hydra"}
    if unread := [_unread(stage, key, known) for key in typed if tops[key] not in allowed]:
        raise combined(unread)


def _unread(stage: plan.Stage, key: str, known: list[str]) -> str:
    """The problem with a key of the command line that the stage does not read, and the nearest key that it reads."""
    first = key.partition(".")[0]
    if first in set(families()) - {stage.family}:
        return f"{key}: {stage.name} reads no settings of {first}; remove it from the command line"
    nearest = errors.near(key, [*known, *sorted(checks.top_keys())])
    nearest += f" (a preset: +{checks.PRESET}=…)" if key == "experiment" else ""  # as lightning-hydra-template has it
    return f"{key}: unknown key{nearest}; remove it from the command line or fix its spelling"


def _message(name: str, error: Exception) -> str:
    """Hydra's message; for an unknown key, the nearest known key instead of the advice to add it."""
    message = " ".join(str(error).split())
    typed = (argument.partition("=")[0].lstrip("~") for argument in sys.argv[1:])
    key = next((key for key in typed if f"'{key}'" in message.partition("+")[0]), None)
    if key is None:
        return message
    known = _known(name)
    if key == checks.PRESET:
        return f"{key}: write + before it: +{key}=…"
    if key in known and f"~{key}" not in " ".join(sys.argv):
        return f"{key}: not set in the files of conf/; write + before it: +{key}=…"
    return _unread(plan.stages()[name], key, known)


def _known(name: str) -> list[str]:
    """Every key of a stage's settings, for the choices on the command line: the rung, the side, its corpus."""
    stage = plan.stages()[name]
    typed = {key: value.split(",")[0] for key, _, value in (argument.partition("=") for argument in sys.argv[1:])}
    with suppress(InputError, HydraException), initialize_config_dir(compose.conf_folder(), version_base="1.3"):
        groups = {side.group for side in SIDES.values()}
        chosen = params.load().model_copy(update={key: value for key, value in typed.items() if key in groups})
        if stage.family:
            job = typed.get(stage.family, families()[stage.family].default)
        else:
            side = typed.get("side", "text")
            job = (side if side in SIDES else "text") if "side" in stage.keys else name
        values = compose.Compositions.prepared(chosen).job(plan.Job(stage, job))
        parts = {key: tuple(key.split(".")) for key in schema.keys(name, values)}
        return [schema.typed_as(own, job)[0] if own[0] in ("corpus", "clean") else key for key, own in parts.items()]
    return []


def _chosen(arguments: list[str]) -> params.Choices:
    """The choices of params.yaml; all names are checked, also those on the command line."""
    chosen = params.load()
    if problems := [*checks.name_problems(chosen), *checks.on_command_line(arguments), *checks.conf_problems()]:
        raise combined(problems, params.uncommitted())
    return chosen


def _task() -> list[str]:
    return list(HydraConfig.get().overrides.task)


def _insert(value: str) -> None:
    """Put an override before those of the command line, and all before the options: argparse needs them together."""
    own: list[str] = []
    options: list[str] = []
    for before, argument in pairwise(["", *sys.argv[1:]]):
        belongs = before in VALUED or (before in ("-i", "--info") and "=" not in argument)
        (options if argument.startswith("-") or belongs else own).append(argument)
    sys.argv[1:] = [value, *map(compose.quoted, own), *options]
