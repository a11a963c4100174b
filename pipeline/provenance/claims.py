"""What the stages `experiment` and `probe` share: run one experiment, write what it found.

The tracked file holds what the seed decides. What the machine's speed decides goes to the MLflow run, as `timed.json`;
so do the curves, over labels, examples or parameters as their steps.
"""

from pathlib import Path
from typing import Any

from langladder.experiments.experiment import Data
from langladder.experiments.findings import curves
from langladder.experiments.page import ClaimPage
from langladder.ground.progress import working
from langladder.ground.schema import locate
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import keep_page

TIMED = "timed.json"


def measure(ladder: str, job: Any, data: Data, inputs: dict[str, Path], out: Path) -> None:
    """Run the job's experiment on `data`; `inputs` are the files and folders that DVC watches for it."""
    listed = getattr(job, ladder)
    with tracked_job(ladder, ladder, job, inputs) as work:
        experiment = locate(listed.target)(listed.settings)
        with working("measuring") as task:

            def tell(line: str) -> None:
                task.note(line)
                print(f"{listed.name}: {line}")

            findings = experiment.run(data, seed=job.seed, progress=tell)
        page = ClaimPage(name=listed.name, fingerprint=work.fingerprint, findings=findings)
        keep_page(work, out, page, aside={"findings": {"timed"}})
        work.run.metrics(findings.figures)
        work.run.curve(curves(findings))
        if findings.timed is not None:
            work.run.file(TIMED, findings.timed.model_dump(mode="json"))
    print(f"{ladder} {listed.name}: {findings.verdict}")
