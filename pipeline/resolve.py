"""Stage `resolve`: compose and check every job's settings, and write one plain YAML file per job, which DVC tracks.

Settings that change no result (the engine, devices) are in a separate file in aside/, which the first file includes.

No other stage runs before this one has passed. It reports all problems of all jobs at once.
"""

import sys
from pathlib import Path

from hydra import initialize_config_dir

from langladder.ground.artefacts import write_text
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from pipeline.settings import params
from pipeline.settings.compose import conf_folder, resolve
from pipeline.settings.errors import combined, disk
from pipeline.settings.plan import ASIDE
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.yaml_files import for_hydra
from pipeline.tracking.code_version import keep

HEADER = "# Written by the stage `resolve` from conf/ and params.yaml. Edit those: this file is overwritten.\n"
# Hydra's settings when this file is the primary config: no run folder, no log file.
HYDRA = {
    "defaults": ["_self_", {"override hydra/job_logging": "disabled"}, {"override hydra/hydra_logging": "disabled"}],
    "hydra": {"run": {"dir": "."}, "output_subdir": None},
}


def main() -> None:
    try:
        chosen, problems = params.load_leniently()
        if chosen is None:
            raise combined(problems, params.uncommitted())
        with initialize_config_dir(conf_folder(), version_base="1.3"):
            resolved = resolve(chosen, problems)
        with disk(), atomic_folder(Path("resolved"), OUTPUT) as folder:
            for job, values in resolved.items():
                file = folder / f"{job}.yaml"
                untracked = values.pop(ASIDE, None)
                if untracked:
                    write_text(file.parent / ASIDE / file.name, HEADER + for_hydra(untracked))
                own = {"defaults": [*([{ASIDE: file.stem}] if untracked else []), *HYDRA["defaults"]]}
                write_text(file, HEADER + for_hydra({"_job_": f"resolved/{job}.yaml"} | HYDRA | own | values))
        with disk():
            keep()
    except InputError as error:
        print(f"resolve: {error}", file=sys.stderr)
        sys.exit(2)
    print(f"resolve: {len(resolved)} jobs checked → resolved/")


if __name__ == "__main__":
    main()
