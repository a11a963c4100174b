"""The full ladder: every rung that conf/ has, in ladders/full/ (`make repro LADDER=full`); params.yaml stays as it is.

    python -m pipeline.ladder          # as many jobs as processors, at most 8; JOBS=… for another number

Rungs that the default ladder has made are taken from DVC's cache. Its report is ladders/full/reports/index.html.
"""

import os
import subprocess
import sys

from langladder.families import families
from langladder.ground.errors import InputError
from pipeline.settings import ladder_copy, params
from pipeline.settings.plan import jobs


def main() -> None:
    try:
        chosen = params.load()
        folder = ladder_copy.make(chosen)
    except InputError as error:
        print(f"ladder: {error}", file=sys.stderr)
        sys.exit(2)
    every = ladder_copy.every_rung(chosen)
    rungs = sum(len(every.rungs(family)) for family in families())
    print(f"ladder: {rungs} rungs and claims, {1 + len(jobs(every))} jobs → {ladder_copy.FOLDER}/reports/index.html")
    print("ladder: how many of them are to be made, and about how long that takes, follows", flush=True)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
    python = [sys.executable, "-m"]
    for command in ([*python, "pipeline.parallel"], [*python, "pipeline.summary"]):
        if code := subprocess.run(command, cwd=folder, env=environment, check=False).returncode:
            sys.exit(code)


if __name__ == "__main__":
    main()
