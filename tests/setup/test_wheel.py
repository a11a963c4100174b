"""The wheel: library and commands without DVC, Hydra and MLflow, and all that a registered model needs."""

import contextlib
import json
import os
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

import pytest
import torch
from mlflow import MlflowClient

from langladder.faces.mlflow import _load_pyfunc
from langladder.models.language.gpt import GPT
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from pipeline import ROOT
from pipeline.tracking.models import write_copy, write_description

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

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
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    words = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source)]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    [found] = out.glob("langladder-*.whl")
    return found


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of an environment with the wheel, and everything that is installed here but the checkout."""
    folder = tmp_path_factory.mktemp("clean") / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    # a path in a .pth file: packages are found there, what its own .pth files point at (the checkout) is not
    (packages / "all.pth").write_text(sysconfig.get_path("purelib") + "\n")
    install = ["install", "--quiet", "--no-deps", "--no-index", "--target", str(packages), str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True)
    server = folder / "bin" / "uvicorn"  # as installing it would have put it there: MLflow starts it by its name
    server.write_text(f"#!{folder / 'bin' / 'python'}\nfrom uvicorn.main import main\n\nmain()\n")
    server.chmod(0o755)
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
    """Templates, styles, scripts and data too; nothing of the checkout beside it."""
    source = ROOT / "src"
    tracked = subprocess.run(
        ["git", "ls-files", "src/langladder"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    files = [Path(name).relative_to("src") for name in tracked if (ROOT / name).is_file()]
    wanted = {file.as_posix() for file in files or (path.relative_to(source) for path in source.rglob("*.py"))}
    names = zipfile.ZipFile(wheel).namelist()
    found = {name for name in names if ".dist-info/" not in name}
    assert wanted and not wanted - found
    assert all(name.startswith("langladder/") for name in found)
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


def test_commands_run_without_the_pipelines_tools(elsewhere: Path, tmp_path: Path) -> None:
    model = saved(tmp_path / "gpt")
    where = run(elsewhere, tmp_path, "-c", "import langladder; print(langladder.__file__)", refused=True)
    assert str(elsewhere.parent.parent) in where.stdout, where.stderr
    for tool in ("mlflow", "dvc", "hydra", "omegaconf"):
        assert run(elsewhere, tmp_path, "-c", f"import {tool}", refused=True).returncode == 1
    assert "langladder neighbours" in run(elsewhere, tmp_path, "-m", "langladder", "--help", refused=True).stdout
    scored = run(elsewhere, tmp_path, "-m", "langladder", "score", str(model), LINES[0], "--json", refused=True)
    assert scored.returncode == 0, scored.stderr
    bits = json.loads(scored.stdout)["models"][0]["sentences"][0]["bits"]
    assert bits == _load_pyfunc(model).predict([{"text": LINES[0]}])[0]["bits"]


def test_every_module_is_imported_without_the_pipelines_tools(elsewhere: Path, tmp_path: Path) -> None:
    code = (
        "import importlib, pkgutil, langladder\n"
        "names = [one.name for one in pkgutil.walk_packages(langladder.__path__, 'langladder.')]\n"
        "[importlib.import_module(name) for name in names if not name.endswith('__main__')]\n"
        "print(len(names))"
    )
    done = run(elsewhere, tmp_path, "-c", code, refused=True)
    assert done.returncode == 0 and int(done.stdout) > 300, done.stderr


def test_mlflow_loads_and_serves_a_model_where_the_wheel_is(elsewhere: Path, tmp_path: Path) -> None:
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
    done = run(elsewhere, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    place, answers = done.stdout.splitlines()[-2:]
    assert str(elsewhere.parent.parent) in place and json.loads(answers) == expected
    address = f"sqlite:///{tmp_path / 'registry.db'}"
    client = MlflowClient(address)
    client.create_registered_model("lm-gpt")
    client.create_model_version("lm-gpt", out.as_uri())
    client.set_registered_model_alias("lm-gpt", "champion", "1")
    assert served(elsewhere, tmp_path, "models:/lm-gpt@champion", address) == expected


def served(python: Path, where: Path, model: str, registry: str) -> list[dict[str, object]]:
    """What `mlflow models serve` answers to the two lines, far from the checkout."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
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
                    found: list[dict[str, object]] = json.load(answer)["predictions"]
                    return found
            except urllib.error.HTTPError as error:
                raise AssertionError(error.read().decode()[:2000]) from error
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline, (where / "log").read_text()
                time.sleep(0.5)
    finally:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
