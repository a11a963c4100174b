"""The command as a user starts it: a process of its own, in a pipe."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from langladder.embeddings.base import WordVectors
from langladder.formats.vector_files import write_vectors


def start(*arguments: object, python: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *python, "-m", "langladder", *map(str, arguments)]
    environment = os.environ | {"FORCE_COLOR": "1", "COLUMNS": "20", "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", env=environment, check=False)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    words = ["king", "queen", "a-word-that-is-longer-than-the-terminal"]
    vectors = WordVectors(words, np.array([[1, 0], [1, 1], [0, 1]], dtype=np.float32))
    write_vectors(vectors, tmp_path / "v.bin.gz", "word2vec-binary")
    return tmp_path / "v.bin.gz"


def test_answers_in_a_pipe_are_plain_and_whole(file: Path) -> None:
    table = start("neighbours", file, "king")
    assert table.returncode == 0 and table.stderr == ""
    assert "a-word-that-is-longer-than-the-terminal" in table.stdout and "\x1b" not in table.stdout
    content = json.loads(start("similarity", file, "king", "queen", "--json").stdout)
    assert content["cosine"] == pytest.approx(0.5**0.5, abs=1e-6)


def test_bad_input_ends_with_code_2_and_one_line(file: Path) -> None:
    result = start("neighbours", file, "kingg")
    assert result.returncode == 2 and result.stdout == ""
    assert result.stderr == "Error: 'kingg' is not among the 3 words that have a vector; did you mean king?\n"


def test_what_takes_long_to_load_is_not_loaded(file: Path) -> None:
    result = start("neighbours", file, "king", python=("-X", "importtime"))
    loaded = {line.rpartition("|")[2].strip() for line in result.stderr.splitlines()}
    assert result.returncode == 0 and "numpy" in loaded
    assert loaded.isdisjoint(
        {"torch", "sklearn", "matplotlib", "pytorch_lightning", "datasets", "scipy.stats", "tokenizers"}
    )


def test_a_closed_pipe_is_no_error(file: Path) -> None:
    command = f"{sys.executable} -m langladder neighbours {file} king queen | head -n 1"
    result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert result.returncode == 0 and "Traceback" not in result.stderr


def test_the_shell_completes_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """As docs/vectors.md sets it up."""
    script = Path(sys.executable).with_name("langladder")
    monkeypatch.setenv("_LANGLADDER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "langladder nei")
    monkeypatch.setenv("COMP_CWORD", "1")
    completed = subprocess.run([script], capture_output=True, text=True, check=False)
    assert completed.stdout == "plain,neighbours\n"
