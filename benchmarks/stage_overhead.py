"""What a stage costs before its own work begins: the interpreter, imports, its settings, its run in MLflow.

    python benchmarks/stage_overhead.py                # after `dvc repro resolve`, whose files it reads
    python benchmarks/stage_overhead.py --repeats 9

Each stage is started as DVC starts it, with its own imports, and does nothing then. `clean` needs no torch; `train_lm`
imports torch and Lightning, opens a run in a store of its own and ends it. `warm` is the same as a fork of a process
that has all that loaded (`pipeline.warm`), as `make repro` starts it. Seconds by the clock and of processor time,
medians.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import click
from measure import markdown

ROOT = Path(__file__).parent.parent
STAGE = """
import sys
from pathlib import Path
import pipeline.{stage}
from pipeline.settings.stage import stage

def main(job, out):
    {body}

main.__module__ = "pipeline.{stage}"

def start():
    sys.argv = ["pipeline/{stage}.py", "-cd", "resolved/{stage}", "-cn", "{job}"]
    stage(main)()
"""
TRAIN = """import langladder.tasks.training
    from pipeline.provenance.job import tracked_job
    with tracked_job("lm", "train_lm", job, {}):
        pass"""
COLD = STAGE + "start()\n"
WARM = (
    """
import json, os, resource, time
from importlib import import_module
from pipeline import warm
for module in (*warm.DVC, *warm.TRAINING, *warm.TRACKING):
    import_module(module)
"""
    + STAGE
    + """
for _ in range({repeats}):
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    os.waitpid(warm.fork(start), 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    print(json.dumps([time.perf_counter() - began, spent]), flush=True)
"""
)
STARTS = {
    "the interpreter": ("", "", ""),
    "clean, without torch": ("clean", "text", "pass"),
    "train_lm, with torch, Lightning and MLflow": ("train_lm", "lstm", TRAIN),
}


def _started(code: str, environment: dict[str, str]) -> tuple[float, float]:
    """Seconds by the clock and of processor time of a process."""
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - began, spent


def _row(name: str, times: list[tuple[float, float]]) -> tuple[str, str, str]:
    clock, processor = (median(column) for column in zip(*times, strict=True))
    return name, f"{clock:.2f}", f"{processor:.2f}"


@click.command()
@click.option("--repeats", default=5, show_default=True)
def main(repeats: int) -> None:
    """Print the table."""
    if not (ROOT / "resolved" / "train_lm" / "lstm.yaml").is_file():
        sys.exit(
            "resolved/train_lm/lstm.yaml is not there: run `dvc repro resolve`, with lstm among the lms of params.yaml"
        )
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        environment = os.environ | {"MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db", "PYTHONPATH": path}
        for name, (stage, job, body) in STARTS.items():
            code = COLD.format(stage=stage, job=job, body=body) if stage else ""
            _started(code, environment)  # bytecode, the store's tables
            rows.append(_row(name, [_started(code, environment) for _ in range(repeats)]))
            if stage:
                code = WARM.format(stage=stage, job=job, body=body, repeats=repeats)
                result = subprocess.run(
                    [sys.executable, "-c", code],
                    cwd=ROOT,
                    env=environment,
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                lines = [line for line in result.stdout.splitlines() if line.startswith("[")]
                rows.append(_row(f"{name}, warm", [tuple(json.loads(line)) for line in lines]))
    markdown("A stage's start", ["start of", "seconds", "processor seconds"], rows)


if __name__ == "__main__":
    main()
