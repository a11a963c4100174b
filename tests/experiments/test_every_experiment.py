"""Every file in conf/claim and conf/probe of src/claims, run as the smallest ladder does: a new YAML needs no new test.

pytest -m long tests/experiments/test_every_experiment.py -k NAME
"""

import json
import math
import re
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hydra import initialize_config_dir

from langladder.experiments.experiment import Data, Experiment, Source
from langladder.experiments.findings import Findings
from langladder.experiments.page import ClaimPage
from langladder.faces.report.claims import claim_views
from langladder.faces.report.inputs import Entry, Timing
from langladder.ground.errors import InputError
from langladder.ground.schema import locate
from pipeline.settings import params, schema
from pipeline.settings.compose import Compositions, conf_folder

NAMES = [(group, name) for group in ("claim", "probe") for name in params.conf_names(group)]
NOWHERE = Path("nowhere")
every_experiment = pytest.mark.parametrize(("group", "name"), NAMES)
pytestmark = pytest.mark.long


@cache
def compositions() -> Compositions:
    """Of size tiny with debug=fast."""
    return Compositions.prepared(
        params.load().model_copy(update={"size": "tiny", "debug": "fast", "claim": {}, "probe": {}})
    )


@cache
def job(group: str, name: str) -> Any:
    """The job's settings, composed and checked as the pipeline does."""
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        values = compositions().rung(group, name)
    return schema.checked_rung(group, values, str)


@pytest.fixture(scope="module")
def measured() -> dict[str, Findings]:
    """What an experiment's first run found."""
    return {}


def first(name: str, measured: dict[str, Findings], group: str, data: Data) -> Findings:
    if name not in measured:
        measured[name] = measure(group, name, data)
    return measured[name]


def measure(group: str, name: str, data: Data) -> Findings:
    listed = job(group, name)
    experiment: Experiment[Any] = locate(listed.target)(listed.settings)
    progress: list[str] = []
    findings = experiment.run(declared(data, experiment.reads), seed=1, progress=progress.append)
    assert progress
    return findings


def declared(data: Data, reads: tuple[Source, ...]) -> Data:
    """The data of which all that `reads` does not name is nowhere."""
    nowhere: dict[Source, dict[str, Any]] = {
        "tokens/text": {"text": NOWHERE},
        "tokens/parallel": {"parallel": NOWHERE},
        "clean/text": {"clean": NOWHERE},
        "clean/labels": {"labels": NOWHERE},
        "clean/tags": {"tags": NOWHERE},
        "agreement": {"agreement": NOWHERE},
        "models": {"models": dict.fromkeys(data.models, NOWHERE)},
    }
    return replace(data, **{k: v for source, lost in nowhere.items() if source not in reads for k, v in lost.items()})


@every_experiment
def test_it_reads_all_that_it_declares(group: str, name: str, data: Data) -> None:
    """Any of it missing, it cannot run. (That it reads nothing else, every other run here shows.)"""
    listed = job(group, name)
    experiment: Experiment[Any] = locate(listed.target)(listed.settings)
    for source in experiment.reads:
        if source == "clean/text" and getattr(listed.settings, "vectors", None) == []:
            continue  # it reads the lines for word vectors only
        rest = tuple(other for other in experiment.reads if other != source)
        with pytest.raises((InputError, OSError)):
            experiment.run(declared(data, rest), seed=1, progress=lambda _: None)


@every_experiment
def test_it_runs_and_its_findings_can_be_shown(
    group: str, name: str, data: Data, measured: dict[str, Findings]
) -> None:
    findings = first(name, measured, group, data)
    page = ClaimPage(name=name, fingerprint="f", findings=findings)
    written = json.dumps(page.model_dump(mode="json", exclude={"findings": {"timed"}}), allow_nan=False)
    timed = None if findings.timed is None else json.loads(findings.timed.model_dump_json())
    read = Entry(ClaimPage.model_validate_json(written), timing=Timing.model_validate({"timed": timed}))
    (view,) = claim_views([read])
    assert len(view.parts) == (1 if findings.timed is None else 2)
    assert sum(len(part.figures) for part in view.parts) >= 1
    assert all(part.rows and part.verdict for part in view.parts)
    assert all(math.isfinite(value) for value in findings.figures.values())
    assert re.search(r"\d", findings.verdict)


@every_experiment
def test_the_same_seed_finds_the_same_however_slow_the_machine(
    group: str, name: str, data: Data, measured: dict[str, Findings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Measured times are not in the files that DVC tracks."""
    once = first(name, measured, group, data)
    clock = time.perf_counter
    monkeypatch.setattr(time, "perf_counter", lambda: 1000 * clock())
    assert measure(group, name, data).model_dump(exclude={"timed"}) == once.model_dump(exclude={"timed"})
