"""A model of the checkout in MLflow's registry: from the run that made it, as a copy, under a name and an alias."""

import json
import shutil
from pathlib import Path
from typing import Any

import mlflow
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from mlflow.exceptions import MlflowException

import langladder as ll
from langladder.faces.mlflow.functions import load
from langladder.models.language.gpt import GPT
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline.runs import main
from pipeline.tracking import lineage, store
from pipeline.tracking.job import TrackedJob, tracked_job

PLACE = Path("models/lm/lstm")
LINES = ["the old king sleeps .", "the cat sleeps ."]


@pytest.fixture
def registry(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The checkout as the place where the pipeline writes, its store as MLflow's own."""
    monkeypatch.setattr("pipeline.tracking.models.ROOT", checkout)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri())
    return checkout


def make(job: Any, **changes: Any) -> TrackedJob:
    """A run that makes a small GPT."""
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    with tracked_job("train_lm", job(**changes), {}) as work:
        with work.artefact(PLACE) as folder:
            GPT(GPT.Config(context=16, width=8, layers=1, heads=2), tokenizer.vocab_size).save(folder)
            tokenizer.save(folder / "tokenizer.json")
        work.run.metrics({"validation_loss": 1.25})
    return work


def runs(*words: str) -> Any:
    return CliRunner().invoke(main, list(words))


def output_of(of: Any) -> str:
    return " ".join(of.output.split())


def test_what_a_run_has_made_is_a_python_function(registry: Path, job: Any) -> None:
    """It is loaded from where it lies: no copy, no pickle."""
    work = make(job)
    [model] = store.client().get_run(work.run.run_id).outputs.model_outputs
    files = {file.path for file in store.client().list_logged_model_artifacts(model.model_id)}
    assert {"MLmodel", "input_example.json", "README.md", "provenance.json", "langladder.json"} <= files
    stored = [path for path in (registry / "mlartifacts").rglob("*") if path.is_file()]
    assert not [path.name for path in stored if path.suffix in (".pkl", ".pickle", ".safetensors")]
    loaded = mlflow.pyfunc.load_model(f"models:/{model.model_id}")
    assert loaded.predict(pd.DataFrame({"text": LINES})).to_dict("records") == load(PLACE).predict({"text": LINES})
    assert loaded.input_example is not None and loaded.metadata.run_id == work.run.run_id
    of_run = f"runs:/{work.run.run_id}/lstm"  # the rung's name
    frame = pd.DataFrame({"text": LINES}, index=[7, 9])
    result = mlflow.pyfunc.load_model(of_run).predict(frame)
    assert isinstance(result, pd.DataFrame) and result["bits"].tolist() == loaded.predict(frame)["bits"].tolist()
    for address in (of_run, f"models:/{model.model_id}"):
        here = ll.load(mlflow.artifacts.download_artifacts(address))
        assert here.name == "lstm" and [item.bits for item in here.score(LINES)] == result["bits"].tolist()
    make(job, seed=2)  # another model in its place
    with pytest.raises(ValueError, match=r"is not there any more.*register models/lm/lstm"):
        mlflow.pyfunc.load_model(f"models:/{model.model_id}")


@pytest.mark.parametrize("how", ["moved", "copied"])
def test_a_project_that_was_moved_or_copied_begins_new_experiments(
    how: str, registry: Path, job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """The numbers of earlier runs stay, and later runs are written beside the database; the original stays as it is."""
    first, new = registry / "first place", tmp_path / "new place"

    def use(folder: Path) -> None:
        monkeypatch.delenv("MLFLOW_TRACKING_URI")  # MLflow sets it
        for module in ("tracking.fingerprint", "tracking.models", "settings.run_folder"):
            monkeypatch.setattr(f"pipeline.{module}.ROOT", folder)
        monkeypatch.chdir(folder)

    def content(folder: Path) -> dict[str, bytes]:
        return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}

    first.mkdir()
    shutil.copy(registry / "mlflow.db", first)
    use(first)
    store.prepare()
    make(job)
    assert runs("register", str(PLACE), "--alias", "champion").exit_code == 0
    run_id = make(job, seed=4).run.run_id  # in its place: a model that MLflow has no copy of
    with pytest.raises(KeyError), tracked_job("train_lm", job(seed=2), {}) as interrupted:
        raise KeyError
    before = content(first)
    (shutil.move if how == "moved" else shutil.copytree)(first, new)
    use(new)
    assert runs("uri").output.strip() == f"sqlite:///{new / 'mlflow.db'}"  # with which `make ui` begins
    refused = runs("register", str(PLACE))
    assert refused.exit_code != 0 and "before the project was moved or copied" in refused.output
    with tracked_job("train_lm", job(seed=2), {}) as resumed:
        assert resumed.run.run_id != interrupted.run.run_id
    assert "begins anew here" in capsys.readouterr().err
    assert store.client().get_run(run_id).data.metrics["validation_loss"] == 1.25
    later = make(job, seed=3).run.run_id
    assert capsys.readouterr().err == "" and runs("register", str(PLACE)).exit_code == 0
    assert list((new / "mlartifacts").rglob(f"{later}/artifacts/resolved.yaml"))
    names = sorted(experiment.name for experiment in store.client().search_experiments())
    assert names == ["Default", "language models", f"language models (1: {(first / 'mlartifacts').as_uri()})"]
    assert content(first) == (before if how == "copied" else {}) and first.exists() == (how == "copied")


@pytest.mark.usefixtures("registry")
def test_a_registered_model_is_a_copy_with_figures_and_hashes(job: Any) -> None:
    work = make(job)
    expected = load(PLACE).predict({"text": LINES})
    done = runs("register", str(PLACE), "--alias", "champion")
    assert done.exit_code == 0, done.output
    assert "lm-lstm, version 1" in done.output and "mlflow models serve -m models:/lm-lstm@champion" in done.output
    version = store.client().get_model_version_by_alias("lm-lstm", "champion")
    assert version.run_id == work.run.run_id and int(version.version) == 1
    assert version.tags["fingerprint"] == lineage.provenance(PLACE).fingerprint
    assert float(version.tags["figure.validation_loss"]) == 1.25 and len(version.tags["content"]) == 16
    shutil.rmtree(PLACE)  # nothing of this checkout is needed any more
    loaded = mlflow.pyfunc.load_model("models:/lm-lstm@champion")
    assert loaded.predict(pd.DataFrame({"text": LINES})).to_dict("records") == expected


@pytest.mark.usefixtures("registry")
def test_a_name_that_is_taken_gets_a_new_version(job: Any) -> None:
    make(job)
    assert runs("register", str(PLACE), "--name", "mine", "--alias", "champion").exit_code == 0
    first = mlflow.pyfunc.load_model("models:/mine@champion").predict(pd.DataFrame({"text": LINES})).to_dict("records")
    make(job, seed=2)
    assert "mine, version 2" in runs("register", str(PLACE), "--name", "mine", "--alias", "champion").output
    second = mlflow.pyfunc.load_model("models:/mine@champion").predict(pd.DataFrame({"text": LINES})).to_dict("records")
    assert first != second
    assert mlflow.pyfunc.load_model("models:/mine/1").predict(pd.DataFrame({"text": LINES})).to_dict("records") == first
    assert "mine, version 3" in runs("register", str(PLACE), "--name", "mine").output  # the same once more


@pytest.mark.usefixtures("registry")
def test_what_cannot_be_registered_is_reported_in_a_sentence(job: Any) -> None:
    make(job)
    Path("models/lm/empty").mkdir()
    missing = runs("register", "models/lm/empty")
    assert missing.exit_code == 2 and "provenance.json" in missing.output
    shutil.copytree(PLACE, "models/lm/other")
    about = json.loads((PLACE / "provenance.json").read_text()) | {"fingerprint": "0123456789abcdef"}
    Path("models/lm/other/provenance.json").write_text(json.dumps(about))
    foreign = runs("register", "models/lm/other")
    assert foreign.exit_code == 2 and "no finished run with its fingerprint 0123456789abcdef" in output_of(foreign)
    assert runs("register", "models/lm/none").exit_code == 2
    named = runs("register", str(PLACE), "--name", "a/b")
    assert named.exit_code == 2 and "MLflow refuses it" in output_of(named)
    for alias in ("1:2", "latest", "v3", ""):
        refused = runs("register", str(PLACE), "--alias", alias)
        assert refused.exit_code == 2 and "--alias" in output_of(refused), alias
    assert not store.client().search_registered_models()


@pytest.mark.usefixtures("registry")
def test_rows_that_do_not_fit_the_signature_are_refused(job: Any) -> None:
    make(job)
    runs("register", str(PLACE))
    loaded = mlflow.pyfunc.load_model("models:/lm-lstm/1")
    for wrong in ({"words": ["the cat"]}, {"text": [3]}):
        with pytest.raises(MlflowException, match="schema"):
            loaded.predict(pd.DataFrame(wrong))
    with pytest.raises(MlflowException, match="max_tokens"):
        loaded.predict(pd.DataFrame({"text": LINES}), params={"max_tokens": "many"})
    predicted = loaded.predict(pd.DataFrame({"text": LINES}), params={"max_tokens": 3, "temperature": 0.0})
    assert [isinstance(item, str) for item in predicted["continuation"]] == [True, True]
    assert np.isfinite(predicted["bits"]).all()
