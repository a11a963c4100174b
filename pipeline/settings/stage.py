"""What every stage shares: one entry point for DVC, single Hydra runs and Hydra sweeps.

- `dvc repro` calls `python -m pipeline.<stage> -cd resolved/<stage> -cn <job>`: the config is the resolved file,
  complete and checked, and outputs go to the repository root.
- `python -m pipeline.<stage> [-m] key=value …` composes conf/ with params.yaml as `resolve` does; outputs go to
  Hydra's run folder, so that a sweep never overwrites what `dvc repro` made. Inputs are those of the last `dvc repro`.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException

from langladder import collector, progress
from langladder.atomic import disk_error, explain
from langladder.errors import InputError
from langladder.families import families
from langladder.memory import out_of_memory
from langladder.ranks import first
from langladder.schema import Config
from pipeline import ROOT
from pipeline.provenance.finished import Finished, Trained, skip_finished
from pipeline.settings import compose, jobs, names, params, place, plan, run_folder, schema, sweeps
from pipeline.settings.aside import Values
from pipeline.settings.errors import together
from pipeline.settings.launch import others, watch_starter
from pipeline.settings.threads import compute_with

Run = Callable[[Any, Path], None]

# No library of ours may call home.
QUIET = {"HF_HUB_DISABLE_TELEMETRY": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}
QUIET |= {"MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false"}
QUIET |= {"HYDRA_FULL_ERROR": "1"}  # its errors come to us, which say them in one line
QUIET |= {"TOKENIZERS_PARALLELISM": "true", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}


SMALLER = (
    "run fewer jobs at a time (JOBS), or choose a smaller size, training.batch_size, or memory in params.yaml: memory"
)


def stage(run: Run) -> Callable[[], None]:
    """Make `run(job, out)` a stage: job = its checked settings, out = the folder that its outputs are relative to."""
    name = run.__module__.rpartition(".")[2] if run.__module__ != "__main__" else Path(sys.argv[0]).stem

    def job(config: DictConfig) -> float | None:
        try:
            if "_job_" not in config:
                return _single(name, run, config)
            _whole(name, run, config)
        except InputError as error:
            problem = str(error)
        except Exception as error:
            if out_of_memory(error):
                problem = (
                    f"not enough memory ({' '.join(str(error).split())[:200] or 'no more could be had'}); {SMALLER}"
                )
            elif (number := disk_error(error)) is not None:
                problem = explain(Path(getattr(error, "filename", None) or "."), number)
            else:
                raise
        else:
            return None
        if sweeps.swept():
            raise InputError(problem)  # which its launcher brings to `main`, from another process or machine
        print(f"{name}: {problem}", file=sys.stderr)
        sys.exit(2)

    @collector.rarely()
    def main() -> None:
        watch_starter()
        os.chdir(ROOT)
        compose.prepare()
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]  # progress, under DVC too
        for key, value in QUIET.items():
            os.environ.setdefault(key, value)
        try:
            if not any(argument in ("-cn", "--config-name") for argument in sys.argv):
                run_folder.check(sys.argv[1:])
                sweeps.check(sys.argv[1:])
                carried = _carried(sys.argv[1:])
                _insert([*carried, f"hydra.job.name={name}", _unnamed(carried)])
            hydra.main(version_base="1.3", config_path=str(ROOT / "conf"), config_name="config")(job)()
        except (InputError, HydraException, OmegaConfBaseException) as error:
            said = str(error) if isinstance(error, InputError) else " ".join(str(error).split())
            print(f"{name}: {said}", file=sys.stderr)
            sys.exit(2)
        except KeyboardInterrupt:
            print(f"{name}: interrupted", file=sys.stderr)
            sys.exit(128 + signal.SIGINT)

    return main


def _whole(name: str, run: Run, config: DictConfig) -> None:
    """A job of `dvc repro`."""
    (values, settings), rung = _resolved(name, config), Path(config._job_).stem
    compute_with(getattr(settings, "threads", 1))
    title = name if rung == name else f"{name} {rung}"
    with _shown(title), place.engine(settings, title), others(name, rung, values, settings), suppress(Trained):
        run(settings, Path())


def _single(name: str, run: Run, config: DictConfig) -> float | None:
    """A single run, or a job of a sweep: there, what has finished before is said and passed over.

    Returns:
        What a search has asked for.
    """
    (values, settings), out = _composed(name, config), Path(HydraConfig.get().runtime.output_dir)
    family = plan.stages()[name].family
    compute_with(getattr(settings, "threads", 1))
    token = skip_finished.set(sweeps.swept() and not config.again)
    try:
        with _shown(name), place.engine(settings, name), others(name, name, values, settings):
            run(settings, out)
        figures = sweeps.written(out, name, getattr(settings, family).name) if family else {}
    except Finished as done:
        print(f"{', '.join(_task())}: {done}")
        figures = dict(done.figures)
    except Trained:
        return None
    finally:
        skip_finished.reset(token)
    return sweeps.objective(family, config.objective, figures) if sweeps.swept() else None


@contextmanager
def _shown(title: str) -> Iterator[None]:
    """Begin to compute, and say what is under way; of several processes that train together, the first does."""
    with collector.as_usual(), progress.shown() if first() else nullcontext(), progress.working(title):
        yield


def _resolved(name: str, config: DictConfig) -> tuple[Values, Config]:
    """Settings of a job from its file in resolved/, and overrides on the command line."""
    values = jobs.plain(config)
    file = values.pop("_job_")
    return values, schema.checked(name, values, lambda _: file)


def _composed(name: str, config: DictConfig) -> tuple[Values, Config]:
    """Settings of a job from the whole composition of a single run or a sweep."""
    chosen = params.load()
    stage, rung = plan.stages()[name], compose.Compositions(chosen).rung
    everything = jobs.plain(config, without=list(families()))
    own = jobs.rung_values(stage.family, config, chosen, _task()) if stage.family else {}
    values = jobs.job_values(stage, name, everything, own, chosen, rung)
    return values, schema.checked(name, values, schema.file_of(config))


def _carried(arguments: list[str]) -> list[str]:
    """The overrides that carry params.yaml, all names checked, those on the command line too."""
    chosen = params.load()
    if problems := [*names.problems(chosen), *names.on_command_line(arguments), *names.conf_problems()]:
        raise together(problems)
    return params.overrides(chosen, arguments)


def _task() -> list[str]:
    return list(HydraConfig.get().overrides.task)


def _unnamed(carried: list[str]) -> str:
    """Folders of a sweep are named by what its command line sets; of params.yaml, by the seed."""
    keys = [key for key in (override.partition("=")[0] for override in carried) if key != "seed"]
    return f"hydra.job.config.override_dirname.exclude_keys=[{','.join(keys)}]"


def _insert(values: list[str]) -> None:
    """Put overrides beside those that stand on the command line already (argparse wants them together)."""
    places = [i for i, argument in enumerate(sys.argv) if "=" in argument and not argument.startswith("-")]
    place = places[0] if places else len(sys.argv)
    sys.argv[place:place] = values
