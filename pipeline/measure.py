"""Stage: test one claim; reports/rungs/<claim, probe or prompt>/<claim>.json.

    python -m pipeline.measure claim -cd resolved/claim -cn gradient_flow

A claim trains small networks of its own, a probe measures the trained language models of the ladder, a prompt
gives them a task in words. The tracked file contains what depends on the seed. What depends on the machine's speed
goes to the MLflow run as `timed.json`; so do the curves, with labels, examples or parameters as their steps.
"""

from pathlib import Path
from typing import Any

from langladder.experiments.findings import curves
from langladder.experiments.page import ClaimPage
from langladder.families import families
from langladder.families.claim import ClaimFamily
from langladder.ground.progress import Stopwatch, working
from langladder.ground.schema import locate
from pipeline.evaluate import write_page
from pipeline.settings.plan import Stage
from pipeline.settings.schema import FamilyJob
from pipeline.settings.stage import family_stage
from pipeline.tracking.job import TIMED, tracked_job


def measure(stage: Stage, job: FamilyJob, out: Path) -> None:
    family = families()[stage.family_name]
    assert isinstance(family, ClaimFamily)
    claim: Any = job.rung
    data, inputs = family.data(claim, job)
    with tracked_job(stage.name, job, inputs) as work:
        experiment, clock = locate(claim.target)(claim.settings), Stopwatch()
        with working("measuring") as task:

            def note(line: str) -> None:
                task.note(line)
                print(f"{claim.name}: {line}")

            findings = experiment.run(data, seed=job.seed, progress=note)
        page = ClaimPage(name=claim.name, fingerprint=work.fingerprint, findings=findings)
        write_page(out, family.name, stage.name, page, without={"findings": {"timed"}})
        work.run.metrics(findings.figures | {"processor_seconds": clock.processor_seconds})
        work.run.tag("outcome", findings.outcome)
        work.run.curve(curves(findings))
        if findings.timed is not None:
            work.run.file(TIMED, findings.timed.model_dump(mode="json"))
    print(f"{stage.name} {claim.name}: {findings.verdict}")


main = family_stage(measure)


if __name__ == "__main__":
    main()
