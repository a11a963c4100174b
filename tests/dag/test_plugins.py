"""Classes of packages that the project lists: named in its files, part of its jobs' code, never a stranger's choice."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from hydra import compose, initialize_config_dir
from project_copy import ENVIRONMENT, finished_project, smallest

from langladder.ground import plugins
from langladder.ground.errors import InputError
from langladder.ground.schema import locate, locate_function
from langladder.models.language.language_model import LanguageModel
from langladder.tasks.optimisation import TrainingConfig, make_optimizer
from langladder.text.tokenize.specials import BOS
from pipeline import ROOT
from pipeline.settings import checks, params, stage
from pipeline.settings.compose import Compositions, conf_folder, prepare
from pipeline.tracking import code_version

EXAMPLE = ROOT / "examples" / "my_rung"
TARGET = "my_rung.network.DecayingMean"
FAST = """
import torch
from .constants import FACTOR

class Fast(torch.optim.SGD):
    factor = FACTOR

def fast():
    return FACTOR
"""


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """No package is listed, and none of the test's stays imported."""
    monkeypatch.delenv(plugins.VARIABLE, raising=False)
    before = set(sys.modules)
    yield monkeypatch
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("speedy", "my_rung"):
            del sys.modules[name]
    for remembered in (code_version._base, code_version._file, code_version._data, code_version.module_code):
        remembered.cache_clear()
    code_version._hash.cache_clear()


@pytest.fixture
def speedy(tmp_path: Path, unlisted: pytest.MonkeyPatch) -> Path:
    """A package with an optimiser, which is installed but not listed."""
    folder = tmp_path / "speedy"
    (folder / "conf" / "optimizer").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "constants.py").write_text("FACTOR = 2\n")
    (folder / "other.py").write_text("UNUSED = 2\n")
    (folder / "optimisers.py").write_text(FAST)
    (folder / "conf" / "optimizer" / "fast.yaml").write_text("_target_: speedy.optimisers.Fast\n")
    unlisted.syspath_prepend(str(tmp_path))
    return folder


@pytest.mark.usefixtures("speedy")
def test_a_package_counts_where_the_user_lists_it_and_nowhere_else(unlisted: pytest.MonkeyPatch) -> None:
    target = "speedy.optimisers.Fast"
    with pytest.raises(InputError, match=r"params.yaml: plugins: \[speedy\], or LANGLADDER_PLUGINS=speedy"):
        locate(target)
    with pytest.raises(ValueError, match="LANGLADDER_PLUGINS=speedy"):
        TrainingConfig(optimizer={"_target_": target})
    assert "speedy" not in sys.modules  # nothing was imported to find out
    unlisted.setenv(plugins.VARIABLE, "speedy")
    assert locate(target).factor == 2 and locate_function("speedy.optimisers.fast")() == 2
    optimizer = make_optimizer(torch.nn.Linear(2, 2), TrainingConfig(optimizer={"_target_": target}))
    assert type(optimizer).__name__ == "Fast"
    for other, message in (("speedy.optimisers.torch", "is not a class"), ("speedy.nothing.Fast", "does not exist")):
        with pytest.raises(InputError, match=message):
            locate(other)
    with pytest.raises(InputError, match="is not a class or function defined in speedy"):
        locate("speedy.optimisers.FACTOR")


@pytest.mark.parametrize(
    ("name", "message"),
    [("os", "your own package"), ("langladder", "your own package"), ("no_such_package", "not installed"),
     ("a.b", "letters, digits and _"), ("../x", "letters, digits and _")],
)  # fmt: skip
def test_what_cannot_be_a_plugin_is_refused_with_the_settings(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        params.schema().model_validate(params.load().model_dump() | {"plugins": [name]})


def test_without_the_package_of_the_claims_the_rest_works_and_a_message_names_the_list(
    unlisted: pytest.MonkeyPatch,
) -> None:
    unlisted.setattr(params, "listed_plugins", list)
    chosen = params.load()
    assert "agreement" in chosen.rungs("probe") and not params.conf_names("claim")
    [problem] = checks.name_problems(chosen)
    assert "neither in conf/probe/ nor in a package of params.yaml: plugins (listed: none)" in problem
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        prepare(chosen.model_copy(update={"probes": []}))
        single = compose("stage", ["lm=gpt"])
    assert single.lm.name == "gpt" and "claim" not in single
    with pytest.raises(InputError, match="there is none, neither in conf/claim"):
        stage._check_single("claim")


def test_its_files_are_choices_and_its_code_is_part_of_the_jobs_that_import_it(
    speedy: Path, unlisted: pytest.MonkeyPatch
) -> None:
    unlisted.setenv(plugins.VARIABLE, "speedy")
    assert "fast" in params.conf_names("optimizer") and "nadam" in params.conf_names("optimizer")
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        chosen = params.load().model_copy(update={"optimizer": "fast"})
        training = Compositions.prepared(chosen).rung("lm", "lstm")["training"]
    assert training["optimizer"] == {"_target_": "speedy.optimisers.Fast"}

    def version(**edits: str) -> str:
        for name, text in edits.items():
            (speedy / f"{name}.py").write_text(text)
        code_version.module_code.cache_clear()
        code_version._hash.cache_clear()
        return code_version.code_version("train_lm", {"lm": {"training": training}})

    before = version()
    assert version(other="UNUSED = 3\n") == before  # nothing imports it
    assert version(constants="# a comment\nFACTOR = 2\n") == before
    assert version(constants="FACTOR = 3\n") != before  # which the optimiser imports by `from .constants`
    without = code_version.code_version("train_lm", {})
    (speedy / "optimisers.py").write_text(FAST + "\nMORE = 1\n")
    assert code_version.code_version("train_lm", {}) == without


def example(**settings: Any) -> Any:
    return locate(TARGET)(locate(TARGET).Config(width=8, **settings), 20)


def test_a_model_of_a_package_that_is_not_listed_is_not_loaded(tmp_path: Path, unlisted: pytest.MonkeyPatch) -> None:
    unlisted.syspath_prepend(str(EXAMPLE / "src"))
    unlisted.setenv(plugins.VARIABLE, "my_rung")
    model = example().eval()
    model.save(tmp_path / "mine")
    model.save(tmp_path / "mine")  # what a listed package saved is replaced
    tokens = torch.tensor([[BOS, 5, 6, 7, 8], [BOS, 9, 4, 9, 4]])
    loaded = LanguageModel.load(tmp_path / "mine")
    assert torch.equal(loaded.log_probs(tokens), model.log_probs(tokens))
    unlisted.delenv(plugins.VARIABLE)
    with pytest.raises(InputError, match=r"mine/config.json: _target_: .*LANGLADDER_PLUGINS=my_rung"):
        LanguageModel.load(tmp_path / "mine")
    unlisted.setenv(plugins.VARIABLE, "my_rung")
    description = json.loads((tmp_path / "mine" / "config.json").read_text())
    description["_target_"] = "my_rung.task.PenalisedModelling"  # of the package, but no model
    (tmp_path / "mine" / "config.json").write_text(json.dumps(description))
    with pytest.raises(InputError, match="not a LanguageModel"):
        LanguageModel.load(tmp_path / "mine")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example installed from its wheel, and nothing else."""
    source, out = tmp_path_factory.mktemp("source") / "my_rung", tmp_path_factory.mktemp("wheel")
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info", "build"))
    pip = [sys.executable, "-m", "pip"]
    wheel = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source)]
    subprocess.run([*pip, *wheel], check=True)
    target = tmp_path_factory.mktemp("site")
    [built] = out.glob("my_rung-*.whl")
    subprocess.run(
        [*pip, "install", "--quiet", "--no-deps", "--no-index", "--target", str(target), str(built)], check=True
    )
    return target


@pytest.mark.long
@pytest.mark.dag
@pytest.mark.timeout(1800)
def test_the_example_from_a_wheel_trained_evaluated_and_queried(
    site: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    project = finished_project(tmp_path_factory)
    shutil.rmtree(project / "examples")
    more = {"lms": ["decaying_mean"], "plugins": ["my_rung"], "lm": {"decaying_mean": {"training": {"max_steps": 60}}}}
    smallest(project, embeddings=[], translators=[], claims=[], probes=[], **more)
    environment = {key: value for key, value in ENVIRONMENT.items() if key != plugins.VARIABLE}
    environment["PYTHONPATH"] = os.pathsep.join([str(site), str(project / "src"), str(project)])

    def run(*command: str, refused: bool = False, **variables: str) -> str:
        words = [sys.executable, "-m", *command] if command[0] != "dvc" else [*command]
        done = subprocess.run(
            words, cwd=project, env=environment | variables, capture_output=True, text=True, check=False
        )
        assert (done.returncode != 0) == refused, done.stdout + done.stderr
        return done.stdout + done.stderr

    run("dvc", "repro", "evaluate_lm@decaying_mean")
    folder = project / "models" / "lm" / "decaying_mean"
    assert json.loads((folder / "config.json").read_text())["_target_"] == TARGET
    provenance = json.loads((folder / "provenance.json").read_text())["settings"]
    assert provenance["lm"]["_maker_"] == "my_rung.task.make" and provenance["lm"]["model"]["penalty"] == 0.1
    curve = (project / "curves" / "lm" / "decaying_mean.csv").read_text().splitlines()
    assert curve[-1].startswith("60,")
    page = json.loads((project / "reports" / "rungs" / "lm" / "decaying_mean.json").read_text())
    assert page["scores"]
    text = project / "asked.txt"
    text.write_text("the cat sleeps .\n")
    command = ("langladder", "perplexity", str(folder), str(text))
    assert "perplexity" in run(*command, LANGLADDER_PLUGINS="my_rung")
    assert run("langladder", "generate", str(folder), LANGLADDER_PLUGINS="my_rung").strip()
    assert "LANGLADDER_PLUGINS=my_rung" in run(*command, refused=True)

    code = yaml.safe_load((project / "resolved/train_lm/decaying_mean.yaml").read_text())["code"]
    network = site / "my_rung" / "network.py"
    network.write_text(network.read_text().replace("torch.linspace(-2.0, 4.0, D)", "torch.linspace(-2.0, 5.0, D)"))
    run("dvc", "repro", "-f", "-s", "resolve")
    assert yaml.safe_load((project / "resolved/train_lm/decaying_mean.yaml").read_text())["code"] != code
    assert "train_lm@decaying_mean" in run("dvc", "status", "train_lm@decaying_mean")
