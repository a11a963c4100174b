"""Sweeps with Hydra plugins: launchers that run jobs in parallel or under Slurm, and searches for the best setting.

Their files are in conf/hydra/. A search passes settings to a stage and needs one number back: the figure of the rung's
family (`Family.objective`) or of the setting `objective`, from the figures that the stage wrote
to metrics/.
"""

import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode

from langladder.families import families
from langladder.ground.artefacts import figures_from_json, read_json
from langladder.ground.errors import InputError

INSTALL = "pip install 'langladder[cluster]'"
SLURM = "slurm", "slurm_here", "submitit_slurm", "submitit_local"
PLUGINS = {  # package of plugins → its names on the command line: our files in conf/hydra/, and its own
    "hydra_joblib_launcher": ("hydra/launcher=processes", "hydra/launcher=joblib"),
    "hydra_submitit_launcher": tuple(f"hydra/launcher={name}" for name in SLURM),
    "hydra_optuna_sweeper": ("hydra/sweeper=search", "hydra/sweeper=optuna"),
}


def check(arguments: Sequence[str]) -> None:
    """Check that the launcher and the sweeper are installed, and that the command is a sweep.

    Raises:
        InputError: they are not.
    """
    if {"-m", "--multirun"} & set(arguments) and (options := {"--cfg", "-c", "--info", "-i"} & set(arguments)):
        raise InputError(f"{options.pop()}: shows the settings of one run; leave out -m, and give one value per key")
    logging.getLogger("alembic").setLevel(logging.WARNING)  # from Optuna, which lists its own parts
    for package, names in PLUGINS.items():
        for argument in set(names) & set(arguments):
            if not (find_spec("hydra_plugins") and find_spec(f"hydra_plugins.{package}")):
                raise InputError(f"{argument}: {package.replace('_', '-')} is not installed; {INSTALL}")
            if not {"-m", "--multirun"} & set(arguments):
                raise InputError(f"{argument}: works in sweeps only; add -m after the stage's name")


def swept() -> bool:
    """Whether this job is one of a sweep."""
    return HydraConfig.initialized() and HydraConfig.get().mode == RunMode.MULTIRUN


def objective(family: str | None, requested: str | None, figures: Mapping[str, object]) -> float | None:
    """The figure of a job that a search gets; None outside of a search.

    Args:
        requested: the setting `objective`.
        figures: those of the job.

    Raises:
        InputError: the job does not have the figure.
    """
    wanted = requested or (families()[family].objective if family else None)
    if not requested and not str(HydraConfig.get().sweeper._target_).endswith("OptunaSweeper"):
        return None
    value = figures.get(f"best_{wanted}", figures.get(wanted or ""))
    if not isinstance(value, int | float):
        numbers = sorted(key for key, figure in figures.items() if isinstance(figure, int | float))
        raise InputError(
            f"objective: {wanted or 'null'} is not a figure of this job; set objective=… to one of "
            f"{', '.join(numbers) or 'another stage: this one has no figures'}"
        )
    return float(value)


def written(out: Path, stage: str, rung: str) -> dict[str, Any]:
    """The figures that a stage wrote for a rung below `out`, if any."""
    file = out / "metrics" / stage / f"{rung}.json"
    return figures_from_json(read_json(file)) if file.is_file() else {}
