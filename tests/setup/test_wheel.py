"""The wheel: library and commands without DVC, Hydra and MLflow, and all that a registered model needs."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.error
import urllib.request
import zipfile
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
import yaml
from mlflow import MlflowClient

from langladder.faces.mlflow import _load_pyfunc
from langladder.models.language.gpt import GPT
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline import ROOT
from pipeline.tracking.models import write_copy, write_description

pytestmark = [pytest.mark.long, pytest.mark.slow, pytest.mark.timeout(900)]

LINES = ["the cat sleeps .", "the old king sleeps ."]
REFUSING = """
import sys


class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"dvc", "hydra", "omegaconf", "mlflow", "sqlalchemy", "pipeline"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Refuse())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what git knows, in a folder of its own, by the environment's setuptools."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", "dvc.yaml", "params.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, source)
    for name in ("src", "pipeline", "conf"):
        left = shutil.ignore_patterns("__pycache__", "*.egg-info")
        shutil.copytree(ROOT / name, source / name, ignore=left, symlinks=True)
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    [result] = out.glob("langladder-*.whl")
    return result


@pytest.fixture(scope="module")
def wheel_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with the wheel, and everything that is installed here but the checkout."""
    folder = tmp_path_factory.mktemp("clean") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    # a path in a .pth file: packages are found there, what its own .pth files point at (the checkout) is not
    (packages / "all.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(packages), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    # as installing them would have put them there; MLflow starts uvicorn by its name
    mains = {"uvicorn": "uvicorn.main:main", "dvc": "dvc.cli:main", "langladder": "langladder.faces.cli.main:app"}
    for name, main in mains.items():
        script, (package, function) = folder / "bin" / name, main.split(":")
        script.write_text(
            f"#!{folder / 'bin' / 'python'}\nimport sys\nfrom {package} import {function}\n\nsys.exit({function}())\n"
        )
        script.chmod(0o755)
    return folder / "bin" / "python"


def run(python: Path, where: Path, *words: str, refused: bool = False) -> subprocess.CompletedProcess[str]:
    """In another directory, with nothing of the checkout on the path."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MLFLOW"))}
    if refused:
        (where / "sitecustomize.py").write_text(REFUSING)
        environment["PYTHONPATH"] = str(where)
    return subprocess.run(
        [str(python), *words], cwd=where, env=environment, capture_output=True, text=True, check=False
    )


def saved(folder: Path) -> Path:
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    torch.manual_seed(1)
    GPT(GPT.Config(context=16, width=8, layers=1, heads=2), tokenizer.vocab_size).save(folder)
    tokenizer.save(folder / "tokenizer.json")
    return folder


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Templates, styles, scripts and data too; of the checkout beside it the stages, and what a project is made of."""
    source = ROOT / "src"
    tracked = subprocess.run(
        ["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    files = [Path(name).relative_to("src") for name in tracked if (ROOT / name).is_file()]
    wanted = {file.as_posix() for file in files or (path.relative_to(source) for path in source.rglob("*.py"))}
    names = zipfile.ZipFile(wheel).namelist()
    result = {name for name in names if ".dist-info/" not in name}
    assert wanted and not wanted - result
    stages = {file.relative_to(ROOT).as_posix() for file in (ROOT / "pipeline").rglob("*.py")}
    stages = {name for name in stages if not name.startswith("pipeline/site/")}
    conf = {file.relative_to(ROOT).as_posix() for file in (ROOT / "conf").rglob("*.yaml")}
    parts = {*conf, *("stages.yaml", "params.yaml", "dvcignore", "README.md", "gitignore")}
    beside = {name for name in result if name not in wanted}
    assert beside == stages | {f"pipeline/project/{name}" for name in parts}
    assert zipfile.ZipFile(wheel).read("pipeline/project/stages.yaml") == (ROOT / "dvc.yaml").read_bytes()
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_commands_run_without_the_pipelines_tools(wheel_python: Path, tmp_path: Path) -> None:
    model = saved(tmp_path / "gpt")
    where = run(wheel_python, tmp_path, "-c", "import langladder; print(langladder.__file__)", refused=True)
    assert str(wheel_python.parent.parent) in where.stdout, where.stderr
    for tool in ("mlflow", "dvc", "hydra", "omegaconf"):
        assert run(wheel_python, tmp_path, "-c", f"import {tool}", refused=True).returncode == 1
    assert "langladder neighbours" in run(wheel_python, tmp_path, "-m", "langladder", "--help", refused=True).stdout
    scored = run(wheel_python, tmp_path, "-m", "langladder", "score", str(model), LINES[0], "--json", refused=True)
    assert scored.returncode == 0, scored.stderr
    bits = json.loads(scored.stdout)["models"][0]["sentences"][0]["bits"]
    assert bits == _load_pyfunc(model).predict([{"text": LINES[0]}])[0]["bits"]


def test_every_module_is_imported_without_the_pipelines_tools(wheel_python: Path, tmp_path: Path) -> None:
    code = (
        "import importlib, pkgutil, langladder\n"
        "names = [one.name for one in pkgutil.walk_packages(langladder.__path__, 'langladder.')]\n"
        "[importlib.import_module(name) for name in names if not name.endswith('__main__')]\n"
        "print(len(names))"
    )
    done = run(wheel_python, tmp_path, "-c", code, refused=True)
    assert done.returncode == 0 and int(done.stdout) > 300, done.stderr


def test_mlflow_loads_and_serves_a_model_where_the_wheel_is(wheel_python: Path, tmp_path: Path) -> None:
    folder, out = saved(tmp_path / "models" / "lm" / "gpt"), tmp_path / "logged"
    (folder / "provenance.json").write_text('{"fingerprint": "x", "inputs": {}, "settings": {}}')
    expected = _load_pyfunc(folder).predict([{"text": line} for line in LINES])
    out.mkdir()
    write_description(folder, out, run_id="r", model_id="m-1")
    write_copy(folder, out)
    shutil.rmtree(tmp_path / "models")
    code = (
        "import json, sys, mlflow.pyfunc, langladder, pandas\n"
        "assert not any('pipeline' == name.partition('.')[0] for name in sys.modules)\n"
        f"print(langladder.__file__, json.dumps(mlflow.pyfunc.load_model({str(out)!r})"
        f".predict(pandas.DataFrame({{'text': {LINES!r}}})).to_dict('records')), sep='\\n')"
    )
    done = run(wheel_python, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    path, answers = done.stdout.splitlines()[-2:]
    assert str(wheel_python.parent.parent) in path and json.loads(answers) == expected
    address = f"sqlite:///{tmp_path / 'registry.db'}"
    client = MlflowClient(address)
    client.create_registered_model("lm-gpt")
    client.create_model_version("lm-gpt", out.as_uri())
    client.set_registered_model_alias("lm-gpt", "champion", "1")
    assert served(wheel_python, tmp_path, "models:/lm-gpt@champion", address) == expected


def served(python: Path, where: Path, model: str, registry: str) -> list[dict[str, object]]:
    """What `mlflow models serve` answers to the two lines, far from the checkout."""
    with socket.socket() as item:
        item.bind(("127.0.0.1", 0))
        port = item.getsockname()[1]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MLFLOW"))}
    environment["PATH"] = f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin"
    environment["MLFLOW_TRACKING_URI"] = registry
    words = ["-m", "mlflow", "models", "serve", "-m", model, "--env-manager", "local", "-p", str(port), "-w", "1"]
    with (where / "log").open("w") as log:
        process = subprocess.Popen(
            [str(python), *words], cwd=where, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        body = json.dumps({"dataframe_records": [{"text": line} for line in LINES]}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/invocations", body, {"content-type": "application/json"}
        )
        deadline = time.monotonic() + 120
        while True:
            try:
                with urllib.request.urlopen(request, timeout=30) as answer:
                    predictions: list[dict[str, object]] = json.load(answer)["predictions"]
                    return predictions
            except urllib.error.HTTPError as error:
                raise AssertionError(error.read().decode()[:2000]) from error
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, (where / "log").read_text()
                time.sleep(0.5)
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


class Project:
    """A project of `langladder new`, far from the checkout, with the environment of the wheel activated."""

    def __init__(self, python: Path, folder: Path) -> None:
        self.python, self.folder = python, folder
        self.environment = {
            key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "MLFLOW", "LANGLADDER"))
        }
        self.environment |= {"PATH": f"{python.parent}{os.pathsep}/usr/bin{os.pathsep}/bin", "DVC_NO_ANALYTICS": "1"}

    def run(self, *command: str, refused: bool = False, where: Path | None = None) -> str:
        """What a command says, on both streams."""
        done = subprocess.run(
            command,
            cwd=where or self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode != 0) == refused, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    def repro(self) -> set[str]:
        """The stages that `dvc repro` runs."""
        return set(re.findall(r"Running stage '([^']+)'", self.run("dvc", "repro")))

    def edit(self, name: str, old: str, new: str) -> None:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text, text
        (self.folder / name).write_text(text.replace(old, new), encoding="utf-8")

    def settings(self, rung: str) -> dict[str, Any]:
        """Of a classifier, as they are resolved."""
        file = self.folder / "resolved" / "train_classifier" / f"{rung}.yaml"
        result: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
        return result


@pytest.fixture(scope="module")
def project(wheel_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with reviews of a user, reproduced by DVC."""
    above = tmp_path_factory.mktemp("user")
    random, words = Random(1), {"5": ["lovely", "moving", "bright"], "1": ["dull", "weak", "cold"]}
    lines = ["review;stars"]
    for number in range(300):
        stars = random.choice("15")
        lines.append(f"the film number {number} is {random.choice(words[stars])} to me .;{stars}")
    (above / "reviews.csv").write_text("\n".join(lines) + "\n")
    new_project = Project(wheel_python, above / "mine")
    printed = new_project.run("langladder", "new", "mine", "--data", "reviews.csv", where=above)
    assert "read as labels (text: 'review', label: 'stars', delimiter: ';')" in printed
    new_project.edit("params.yaml", "size: small ", "size: tiny ")
    new_project.edit("params.yaml", "debug: none", "debug: fast")
    ran = new_project.repro()
    assert {"corpus@labels", "train_classifier@textcnn", "evaluate_classifier@logistic", "report"} <= ran
    return new_project


def test_a_project_of_one_s_own_runs_the_installed_stages(project: Project) -> None:
    """Nothing runs twice, a setting runs again what reads it, and the report and the models are there."""
    assert project.repro() == set()
    assert "Data and pipelines are up to date." in project.run("dvc", "status")
    where = project.run("python", "-c", "import pipeline, langladder; print(pipeline.CODE, langladder.__file__)")
    assert str(ROOT) not in where and where.count("site-packages") == 2
    assert "TextCNN" in (project.folder / "reports" / "index.html").read_text(encoding="utf-8")
    assert "5" in project.run("langladder", "classify", "models/classifier/logistic", "a lovely film .")
    project.edit("params.yaml", "# lm: {lstm", "classifier: {textcnn: {training: {lr: 0.004}}}\n# lm: {lstm")
    assert project.repro() == {"resolve", "train_classifier@textcnn", "evaluate_classifier@textcnn", "report"}
    assert project.settings("textcnn")["classifier"]["training"]["lr"] == 0.004
    assert "everything is up to date" in project.run("python", "-m", "pipeline.parallel")


def test_a_file_of_one_s_own_conf_comes_before_the_installed_one(project: Project) -> None:
    installed = Path(project.run("python", "-c", "import pipeline; print(pipeline.INSTALLED)").strip())
    text = (installed / "classifier" / "logistic.yaml").read_text(encoding="utf-8")
    own = project.folder / "conf" / "classifier" / "logistic.yaml"
    own.write_text(text.replace("title: ", "title: My "), encoding="utf-8")
    assert project.repro() == {"resolve", "report"}  # a title makes no other model
    own.write_text(text.replace("strengths: [1.0, 3.0, 10.0, 30.0]", "strengths: [2.0]"), encoding="utf-8")
    project.edit("params.yaml", "- textcnn\n", "- textcnn\n- my_textcnn\n")
    ran = project.repro()
    assert {"train_classifier@my_textcnn", "train_classifier@logistic"} <= ran and "train_classifier@textcnn" not in ran
    assert project.settings("logistic")["classifier"]["model"]["strengths"] == [2.0]
    assert project.settings("my_textcnn")["classifier"]["model"]["widths"] == [2, 3, 4, 5]
    sweep = project.run(
        "python", "-m", "pipeline.train", "classifier", "-m", "classifier=my_textcnn", "classifier.model.filters=8,9"
    )
    assert sweep.count("multirun/train_classifier") >= 2


def test_messages_name_what_this_user_has(project: Project, tmp_path: Path) -> None:
    project.edit("params.yaml", "size: tiny", "size: tinny")
    message = project.run("python", "-m", "pipeline.resolve", refused=True)
    assert "conf/size/" in message and "site-packages/pipeline/project/conf: copy a file" in message
    project.edit("params.yaml", "size: tinny", "size: tiny")
    project.edit("requirements.txt", "==", "==9")
    assert "new --update" in project.run("python", "-m", "pipeline.resolve", refused=True)
    project.run("langladder", "new", "--update", ".")
    assert project.repro() == set()
    message = project.run("python", "-m", "pipeline.train", "lm", refused=True, where=tmp_path)
    assert message.startswith("langladder: no dvc.yaml in ") and len(message.splitlines()) == 1
    project.environment["PYTHONPATH"] = str(next(project.python.parent.parent.glob("lib/python*/site-packages")))
    message = project.run("python", "-S", "-m", "pipeline.resolve", refused=True)  # -S: the wheel is all that there is
    del project.environment["PYTHONPATH"]
    assert "pip install 'langladder[pipeline]'" in message and len(message.splitlines()) == 1
