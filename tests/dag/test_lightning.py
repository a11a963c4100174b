"""Lightning's flags, callbacks, loggers and torch's optimisers on the command line and in params.yaml."""

import csv
import json
import sqlite3
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import initialize_config_dir
from project_copy import finished_project, forking, run, smallest
from test_bad_input import run_stage

from langladder.ground.errors import InputError
from pipeline.settings import params
from pipeline.settings.compose import Compositions, conf_folder, resolve

pytestmark = pytest.mark.timeout(900)

TRAIN = ("python", "-m", "pipeline.train", "lm", "lm=lstm", "lm.training.max_steps=30")
NADAM = {"_target_": "torch.optim.NAdam"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A copy of the project whose text is tokenised."""
    folder = finished_project(tmp_path_factory)
    smallest(folder, embeddings=[], lms=["lstm"], translators=[], claims=[], probes=[])
    with forking(folder):
        run(folder, "python", "-m", "pipeline.resolve")
        yield folder


def optimiser_of(checkpointed: Path) -> dict[str, Any]:
    """The settings in a model's provenance."""
    provenance = json.loads((checkpointed / "provenance.json").read_text())
    training: dict[str, Any] = provenance["settings"]["lm"]["training"]
    return training


@pytest.mark.long
@pytest.mark.dag
def test_all_of_them_on_the_command_line(project: Path) -> None:
    printed = run(
        project,
        *TRAIN,
        *("optimizer=nadam", "lm.training.validate_every=10", "lm.training.log_every=5"),
        *("trainer.profiler=simple", "callbacks=[lr_monitor,model_summary]", "logger=csv", "hydra.run.dir=outputs/all"),
    )
    assert "run_training_batch" in printed and "Total params" in printed  # the profiler's table, the summary
    training = optimiser_of(project / "outputs/all/models/lm/lstm")
    assert training["optimizer"]["_target_"] == "torch.optim.NAdam" and training["trainer"] == {"profiler": "simple"}
    version = project / "logs" / "csv" / "version_0"
    rows = list(csv.DictReader((version / "metrics.csv").open()))
    assert {int(row["step"]) for row in rows if row["validation_loss"]} == {10, 20, 30}
    rates = [float(row["lr-NAdam/pg1"]) for row in rows if row["lr-NAdam/pg1"]]
    assert rates and max(rates) <= 0.01 and len(set(rates)) > 1
    database = sqlite3.connect(project / "mlflow.db")
    assert database.execute("SELECT count(*) FROM metrics WHERE key = 'lr-NAdam/pg1'").fetchone()[0] == len(rates)


@pytest.mark.long
@pytest.mark.dag
def test_a_class_of_torch_for_one_rung_and_a_flag_of_the_trainer_in_params_yaml(project: Path) -> None:
    written = yaml.safe_load((project / "params.yaml").read_text())
    changes: dict[str, Any] = {"lm": {"lstm": {"training": {"max_steps": 20, "optimizer": NADAM | {"lr": 0.005}}}}}
    changes |= {"trainer": {"inference_mode": False}, "callbacks": ["lr_monitor"], "scheduler": "one_cycle"}
    (project / "params.yaml").write_text(yaml.safe_dump(written | changes, sort_keys=False))
    try:
        run(project, "python", "-m", "pipeline.resolve")
        run(project, "python", "-m", "pipeline.train", "lm", "-cd", "resolved/train_lm", "-cn", "lstm")
        training = optimiser_of(project / "models/lm/lstm")
        assert training["optimizer"] == NADAM and training["lr"] == 0.005
        assert training["schedule"]["_target_"].endswith("OneCycleLR") and training["trainer"] == {
            "inference_mode": False
        }
        rates = [float(row["lr"]) for row in csv.DictReader((project / "curves/lm/lstm.csv").open())]
        assert rates[-1] < 1e-3  # down again at the last of the run's own steps
    finally:
        (project / "params.yaml").write_text(yaml.safe_dump(written, sort_keys=False))


@pytest.mark.long
@pytest.mark.dag
@pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed")
def test_weights_and_biases_offline(project: Path) -> None:
    run(project, *TRAIN, "logger=wandb", "hydra.run.dir=outputs/wandb")
    assert list((project / "logs" / "wandb").glob("offline-run-*"))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trainer.profilr=simple", "trainer.profilr: not a flag of pytorch_lightning.Trainer; the nearest: profiler"),
        (
            "trainer.limit_train_batches=2",
            "a run that is resumed would validate at other steps; set training.max_steps",
        ),
        ("trainer.gradient_clip_val=1", "set training.clip_norm"),
        ("callbacks=lr_monitr", "callbacks: 'lr_monitr' is not a choice: the nearest: lr_monitor"),
        ("callbacks.stop={_target_: pytorch_lightning.callbacks.EarlyStopping}", "set training.patience"),
        ("lm.training.optimizer={_target_: torch.optim.NAdamm}", "'torch.optim.NAdamm' does not exist"),
        ("optimizer._target_=os.system", "'os.system' is not allowed: a class of torch.optim, langladder.tasks"),
    ],
)
def test_what_is_refused_is_reported_in_a_line(
    override: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run_stage("train_lm", tmp_path, monkeypatch, "lm=lstm", override)
    printed = capsys.readouterr().err
    assert len([line for line in printed.splitlines() if message in line]) == 1, printed


def chosen(**changes: object) -> params.Choices:
    lists = {name: [] for name in ("embeddings", "translators", "encoders", "classifiers", "taggers", "probes")}
    values = params.load().model_dump() | lists | {"classifier_transfers": {}, "lms": ["lstm", "gpt"]} | changes
    return params.schema().model_validate(values)


@pytest.mark.long
def test_params_yaml_says_it_for_every_rung_and_the_nearer_wins() -> None:
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        plain = Compositions.prepared(chosen())
        every = Compositions.prepared(
            chosen(optimizer="nadam", trainer={"profiler": "simple"}, callbacks=["lr_monitor"])
        )
        own = chosen(optimizer="nadam", lm={"gpt": {"training": {"optimizer": "adam"}}}, trainer="profile")
        result, nearer = (
            {name: compositions.rung("lm", name)["training"] for name in ("lstm", "gpt")}
            for compositions in (every, Compositions.prepared(own))
        )
        assert plain.rung("lm", "gpt")["training"]["optimizer"] == "muon"
    for training in result.values():
        assert training["optimizer"]["_target_"] == "torch.optim.NAdam" and training["trainer"] == {
            "profiler": "simple"
        }
        assert list(training["callbacks"]) == ["lr_monitor"]
    assert nearer["gpt"]["optimizer"] == "adam" and nearer["lstm"]["optimizer"]["_target_"] == "torch.optim.NAdam"
    assert nearer["gpt"]["trainer"] == {"profiler": "simple"}


def test_a_logger_without_its_package_is_one_problem_of_params_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langladder.tasks.extensions.find_spec", lambda _: None)
    with initialize_config_dir(conf_folder(), version_base="1.3"), pytest.raises(InputError) as caught:
        resolve(chosen(lms=["lstm", "gpt"], logger=["wandb"]))
    assert "1 problem in" in str(caught.value) and "pip install wandb; change it in params.yaml: logger" in str(
        caught.value
    )


def test_the_files_of_conf_are_what_settings_take(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is chosen once, for the LSTM, with one of each other group; the package of a logger may be missing."""
    monkeypatch.setattr("langladder.tasks.extensions.find_spec", lambda _: True)
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        for names in zip_longest(*(params.conf_names(group) for group in params.LIGHTNING)):
            files = {group: name for group, name in zip(params.LIGHTNING, names, strict=True) if name}
            values = {group: [name] if group in ("callbacks", "logger") else name for group, name in files.items()}
            training = Compositions.prepared(chosen(lms=["lstm"], **values)).rung("lm", "lstm")["training"]
            for group, name in files.items():
                key = {"scheduler": "schedule"}.get(group, group)
                assert training[key] or (group, name) == ("trainer", "default"), (group, name)
