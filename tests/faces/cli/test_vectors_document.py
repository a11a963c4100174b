"""Every command of docs/vectors.md works, in the order of the page, on small stand-ins for the files it names."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from langladder.embeddings.base import WordVectors
from langladder.faces.cli.main import app
from langladder.models.language.gpt import GPT
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from langladder.text.words.vocabulary import Vocabulary

DOCS = Path(__file__).resolve().parents[3] / "docs"


def commands(page: Path) -> list[list[str]]:
    """The commands that a page shows."""
    return [shlex.split(line) for line in re.findall(r"(?m)^\$ langladder (.*)$", page.read_text(encoding="utf-8"))]


COMMANDS = commands(DOCS / "vectors.md")
NAMES = "france paris italy rome spain madrid king kings queen baking man woman he she nurse pilot good bad"
WORDS = NAMES.split()

FILES = {
    "data/raw/text/truth/analogies.txt": ": capitals\nfrance paris italy rome\n",
    "input/wordsim353.tsv": "king\tqueen\t8\nking\tbaking\t1\nman\twoman\t7\n",
    "input/weat.txt": ": royal\nhigh: king queen\nlow: man woman\npleasant: good\nunpleasant: bad\n",
    "input/lists/definitional_pairs.txt": "she he\nwoman man\n",
    "input/lists/equalize_pairs.txt": "woman man\n",
    "input/lists/specific.txt": "she\nhe\nqueen\nking\n",
    "input/lists/professions.txt": "nurse\npilot\n",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    rng = np.random.default_rng(0)
    counts = np.arange(len(WORDS), 0, -1)
    WordVectors(WORDS, rng.normal(size=(len(WORDS), 8)).astype(np.float32), counts).save(
        root / "models/embedding/skipgram"
    )
    tokenizer = train_tokenizer([" ".join(WORDS)], TokenizerConfig(kind="word", vocab_size=None))
    torch.manual_seed(0)
    model = GPT(GPT.Config(context=4, width=4, layers=1, heads=1), tokenizer.vocab_size)
    model.save(root / "models/lm/gpt")
    tokenizer.save(root / "models/lm/gpt/tokenizer.json")
    Vocabulary(WORDS, counts).save(root / "data/words/vocabulary.json")
    return root


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_of_the_page_works(project: Path, command: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = CliRunner().invoke(app, command)
    unknown = "kng" in command
    assert result.exit_code == (2 if unknown else 0), result.output
    if unknown:
        assert re.fullmatch(r"Error: 'kng' is not among the 18 words .* did you mean king, kings\?\n", result.stderr)
    elif command[0] in ("convert", "map"):
        assert (project / command[2]).exists()


def test_the_pages_show_every_command() -> None:
    documented = {command[0] for page in DOCS.glob("*.md") for command in commands(page)}
    assert documented == set(app.commands)
    assert {command[1] for command in COMMANDS if command[0] == "bias"} == {"weat", "audit", "debias"}
