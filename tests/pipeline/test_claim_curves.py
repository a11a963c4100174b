"""What a claim draws over whole numbers is drawn by MLflow, too: the number of labels is the step."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from langladder.experiments.experiment import Data, Experiment, ExperimentConfig, Progress
from langladder.experiments.findings import Findings, Plot, series
from pipeline import measure
from pipeline.settings import plan
from pipeline.tracking import store

pytestmark = pytest.mark.usefixtures("checkout")
BY_LABELS = {"TF-IDF": [0.5, 0.625, 0.75], "BERT, fine-tuned": [0.5, 0.75, 1.0]}


class Drawing(Experiment[ExperimentConfig]):
    """Finds the same whatever it reads."""

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        progress(f"seed {seed}, {len(data.models)} models")
        lines = [series(name, [16, 64, 256], values) for name, values in BY_LABELS.items()]
        plot = Plot(title="Accuracy by number of labels", x_label="labels", y_label="accuracy", series=lines)
        figures = {"tf_idf_16": 0.5}
        return Findings(holds=True, verdict="v 1", columns=[], rows=[], plots=[plot], figures=figures)


@pytest.mark.long
def test_the_run_of_a_claim_has_a_point_for_each_number_of_labels(
    job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = {
        "name": "by_labels",
        "title": "By labels",
        "_target_": "claims.reading.by_labels.ByLabels",
        "settings": {},
    }
    monkeypatch.setattr(measure, "locate", lambda _: Drawing)
    claim_job = job(claim=claim)
    claim_job.family = "claim"
    claim_job.rung = SimpleNamespace(name="by_labels", target=claim["_target_"], settings=ExperimentConfig())
    claim_job.seed = 1
    claim_job.bleu_tokenize = None
    measure.measure(plan.stages()["claim"], claim_job, tmp_path)
    client, experiments = store.prepare(["claims"])
    [run] = client.search_runs([experiments["claims"]])
    for name, values in {"tf_idf": BY_LABELS["TF-IDF"], "bert_fine_tuned": BY_LABELS["BERT, fine-tuned"]}.items():
        history = client.get_metric_history(run.info.run_id, f"accuracy_by_number_of_labels/{name}")
        assert [(point.step, point.value) for point in history] == list(zip([16, 64, 256], values, strict=True))
    assert run.data.metrics["tf_idf_16"] == 0.5  # the figures stay
    assert run.data.tags["outcome"] == "holds"
