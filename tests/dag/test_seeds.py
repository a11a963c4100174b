"""`seeds` in params.yaml: no job more; what gradient trains is trained so often, and tables show the mean."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir
from project_copy import FORKED, copy_project, run, smallest

from langladder.evaluation.seeds import uncertainty
from langladder.faces.report import numbers
from langladder.ground.errors import InputError
from pipeline.settings import params
from pipeline.settings.compose import conf_folder, resolve

RUNGS: dict[str, Any] = {
    "embeddings": ["svd", "skipgram"],
    "lms": ["kneser_ney", "lstm"],
    "encoders": ["roberta_mini"],
    "classifiers": ["logistic", "fasttext"],
    "classifier_transfers": {"bert_fine_tuned": {"base": "encoder/roberta_mini"}},
    "translators": [],
    "claims": [],
    "probes": [],
}
TEST_SCORES = """
import json, sys
from langladder.ground.artefacts import read_json
from pipeline.tracking.store import find_runs
found = [find_runs(read_json(f"{one}/provenance.json")["fingerprint"])[0].data.metrics for one in sys.argv[1:]]
print(json.dumps(found))
"""


def resolved(**changes: Any) -> dict[str, Any]:
    chosen = params.schema().model_validate(params.load().model_dump() | RUNGS | {"taggers": []} | changes)
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        return resolve(chosen)


def test_one_seed_changes_nothing_and_several_make_no_job() -> None:
    without = {key: value for key, value in params.load().model_dump().items() if key != "seeds"} | RUNGS
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        plain = resolve(params.schema().model_validate(without | {"taggers": []}))
    assert resolved(seeds=1) == plain
    three = resolved(seeds=3, lm={"lstm": {"seeds": 2}})
    assert three.keys() == plain.keys()
    seeds = {job: value[job.partition("_")[2].partition("/")[0]].get("seeds") for job, value in three.items()
             if job.startswith(("train_lm", "train_encoder", "train_classifier", "evaluate_"))}  # fmt: skip
    assert {job: count for job, count in seeds.items() if count} == {
        "train_lm/lstm": 2,
        "train_encoder/roberta_mini": 3,
        "train_classifier/fasttext": 3,
        "evaluate_lm/lstm": 2,
        "evaluate_encoder/roberta_mini": 3,
        "evaluate_embedding/skipgram": 3,
        "evaluate_classifier/fasttext": 3,
        "evaluate_classifier_transfer/bert_fine_tuned": 3,
    }
    assert {job for job in three if three[job] != plain[job]} == {
        *(job for job, count in seeds.items() if count),
        "embed/skipgram",
        "transfer_classifier/bert_fine_tuned",
    }


def test_several_seeds_and_several_devices_are_refused() -> None:
    with pytest.raises(InputError, match=r"seeds=2 with training\.devices=2.*set devices and nodes to 1"):
        resolved(seeds=2, lm={"lstm": {"training": {"devices": 2}}})


@pytest.mark.long
@pytest.mark.slow
def test_tables_show_the_mean_of_the_seeds(tmp_path: Path) -> None:
    project = copy_project(tmp_path)
    smallest(project, seeds=2, **RUNGS)
    run(project, "dvc", "config", "--local", "core.no_scm", "true")
    run(project, "env", "OMP_NUM_THREADS=1", f"JOBS={os.environ.get('JOBS', 1)}", sys.executable, FORKED)

    def seed_of(folder: str) -> int:
        settings = json.loads((project / "models" / folder / "provenance.json").read_text())["settings"]
        return int(settings["seed"])

    for rung in ("lm/lstm", "embedding/skipgram", "encoder/roberta_mini", "classifier_transfer/bert_fine_tuned"):
        assert (seed_of(rung), seed_of(f"{rung}/seeds/2")) == (1, 2)
    assert not list((project / "models").glob("*/*/seeds/3"))
    assert not any((project / "models" / rung / "seeds").exists() for rung in ("lm/kneser_ney", "classifier/logistic"))
    second = json.loads((project / "models/classifier_transfer/bert_fine_tuned/seeds/2/provenance.json").read_text())
    assert second["settings"]["classifier_transfer"]["base"] == "encoder/roberta_mini/seeds/2"

    ladder = json.loads((project / "reports" / "ladder.json").read_text())
    page = next(item for item in ladder["lm"] if item["name"] == "lstm")
    folders = ["models/lm/lstm", "models/lm/lstm/seeds/2"]
    runs = json.loads(run(project, sys.executable, "-c", TEST_SCORES, *folders).splitlines()[-1])
    values = [item["test_perplexity_per_word"] for item in runs]
    assert values[0] != values[1]
    assert page["seeds"] == 2 and page["scores"]["perplexity_per_word"] == pytest.approx(sum(values) / 2, rel=1e-4)
    assert page["spread"]["perplexity_per_word"] == pytest.approx(uncertainty(values), rel=1e-3)
    assert next(item for item in ladder["lm"] if item["name"] == "kneser_ney")["seeds"] == 1
    text = (project / "reports" / "ladder.md").read_text()
    assert "**Classifiers** (±: 95 % interval over test texts and, of rungs trained by gradient, 2 seeds" in text
    assert f"{numbers.perplexity(sum(values) / 2)} ± " in text and "95 % interval over 2 seeds;" in text
    assert yaml.safe_load((project / "params.yaml").read_text())["seeds"] == 2
