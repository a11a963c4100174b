"""Untrusted model folders: each is loaded, or refused with a one-line error that names the file."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from safetensors.numpy import load_file, save_file

from langladder.embeddings.base import WordVectors
from langladder.faces.cli.main import app
from langladder.ground.errors import InputError
from langladder.models.ctc import CTCRecognizer
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.instructed import InstructedGPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.translation.seq2seq import Seq2Seq
from langladder.models.translation.transformer import Transformer
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig
from tests.hostile import little_memory

pytestmark = pytest.mark.timeout(60)  # with what is imported and compiled on the first call
Description = dict[str, Any]
FAMILIES = ("n-gram", "recurrent", "gpt", "instructed", "translator", "sequence", "vectors")
TOKENIZER = train_tokenizer(["a b c d e"], TokenizerConfig(kind="word", vocab_size=None))
V = TOKENIZER.vocab_size
NETWORKS = {"recurrent", "gpt", "instructed", "translator", "sequence"}


def make(family: str, folder: Path) -> None:
    ids = np.array([BOS, 4, 5, EOS, BOS, 5, 6, 7, EOS], dtype=np.int32)
    if family == "n-gram":
        model = KneserNey(KneserNey.Config(order=3), V)
        model.fit(TokenStream(ids, np.array([0, len(ids)])))
        model.save(folder)
    elif family == "recurrent":
        RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8), V).save(folder)
    elif family == "gpt":
        GPT(GPT.Config(context=8, width=8, layers=1, heads=2), V).save(folder)
    elif family == "instructed":
        InstructedGPT(GPTConfig(context=8, width=8, layers=1, heads=2), TOKENIZER.full_vocab_size).save(folder)
    elif family == "translator":
        Seq2Seq(Seq2Seq.Config(width=8, embedding_dim=8, layers=1), V, V).save(folder)
    elif family == "sequence":
        CTCRecognizer(CTCRecognizer.Config(width=8), 3, 5).save(folder)
    else:
        WordVectors(["a", "b", "c"], np.eye(3, 4, dtype=np.float32), np.array([3, 2, 1])).save(folder)
    for name in {"translator": ["source.json", "target.json"], "vectors": [], "sequence": []}.get(
        family, ["tokenizer.json"]
    ):
        TOKENIZER.save(folder / name)


def load(family: str, folder: Path) -> tuple[int, str]:
    """Exit code and what stands on stderr; no command reads the recogniser, so its loader is asked."""
    commands = {"translator": ["translate", str(folder), "a b"], "vectors": ["neighbours", str(folder), "a"]}
    with little_memory():
        if family == "sequence":
            try:
                CTCRecognizer.load(folder)
            except InputError as error:
                return 2, f"Error: {error}\n"
            return 0, ""
        result = CliRunner().invoke(app, commands.get(family, ["score", str(folder), "a b"]))
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result.exit_code, result.stderr


def refused(family: str, folder: Path) -> str:
    """The one line by which the folder is refused; it names the folder."""
    code, text = load(family, folder)
    assert code == 2, (code, text)
    assert text.startswith("Error: ") and text.count("\n") == 1 and str(folder) in text, text
    return text


def description(family: str, folder: Path) -> Path:
    return folder / ("words.json" if family == "vectors" else "config.json")


def size(family: str) -> str:
    return {"translator": "target_vocab_size", "sequence": "labels"}.get(family, "vocab_size")


def changed(**values: Any) -> Callable[[str, str], str]:
    """The description with other values, by key or by key within `config` (`config__width`)."""

    def change(family: str, text: str) -> str:
        content = json.loads(text)
        for key, value in values.items():
            outer, _, inner = key.replace("size", size(family), 1).partition("__")
            if inner:
                content[outer][inner] = value
            else:
                content[outer] = value
        return json.dumps(content)

    return change


# What is done to the description; of word vectors, those that mean something there too.
EVERYWHERE: dict[str, Callable[[str, str], str]] = {
    "not JSON": lambda _, text: text[:-10],
    "a list": lambda *_: "[]",
    "a number": lambda *_: "1",
    "empty": lambda *_: "",
    "deep": lambda *_: "[" * 100_000,
    "endless integer": lambda _, text: text.replace("{", '{"x": ' + "9" * 10_000 + ",", 1),
    "lone surrogate": lambda _, text: text.replace("{", '{"x": "\\ud800",', 1),
    "key twice": lambda _, text: text.replace("{", '{"format": 1,', 1),
    "NaN": lambda _, text: text.replace("{", '{"x": NaN,', 1),
    "format": changed(format=99),
    "format of no kind": changed(format=["1"] * 1000),
}
MODELS: dict[str, Callable[[str, str], str]] = {
    "lacks config": lambda _, text: text.replace('"config"', '"confg"'),
    "runs the command": changed(_target_="langladder.__main__.app"),
    "runs another module": changed(_target_="langladder.faces.cli.main.App"),
    "no code of ours": changed(_target_="os.system"),
    "a class not its own": changed(_target_="langladder.models.language.gpt.Path"),
    "no class": changed(_target_="langladder.models.language.gpt.nothing"),
    "target of no kind": changed(_target_=["langladder"]),
    "abstract": changed(_target_="langladder.models.language.language_model.LanguageModel"),
    "no model": changed(_target_="langladder.embeddings.glove.GloVe"),
    "vast": changed(size=100_000_000),
    "beyond all": changed(size=10**400),
    "negative": changed(size=-1),
    "size as text": changed(size="7"),
    "size true": changed(size=True),
    "size with a point": changed(size=9.0),
    "config null": changed(config=None),
    "unknown key": changed(config__colour="red"),
    "wrong type": changed(config__width="wide", config__order="three"),
    "out of range": changed(config__width=-3, config__order=99),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tampered_description_is_refused_in_one_line(tmp_path: Path, family: str) -> None:
    make(family, tmp_path / "m")
    path = description(family, tmp_path / "m")
    text = path.read_text(encoding="utf-8")
    assert load(family, tmp_path / "m")[0] == 0
    for name, change in (EVERYWHERE if family == "vectors" else EVERYWHERE | MODELS).items():
        path.write_text(change(family, text), encoding="utf-8")
        assert path.name in refused(family, tmp_path / "m"), name


@pytest.mark.parametrize("family", FAMILIES)
def test_files_that_are_not_valid_are_refused(tmp_path: Path, family: str) -> None:
    make(family, tmp_path / "m")
    names = [file.name for file in (tmp_path / "m").iterdir()]
    assert len(names) >= 2
    for name in names:
        path = tmp_path / "m" / name
        data = path.read_bytes()
        for what in (b"", data[: len(data) // 2], b"\xff\xfe" * 50, data + b"\0\0\0"):
            path.write_bytes(what)
            refused(family, tmp_path / "m")
        path.unlink()
        refused(family, tmp_path / "m")
        path.symlink_to("/dev/zero")
        refused(family, tmp_path / "m")
        path.unlink()
        path.mkdir()
        refused(family, tmp_path / "m")
        path.rmdir()
        path.write_bytes(data)
    assert load(family, tmp_path / "m")[0] == 0


def arrays_file(family: str, folder: Path) -> Path:
    return folder / ("vectors.safetensors" if family == "vectors" else "model.safetensors")


@pytest.mark.parametrize("family", FAMILIES)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, family: str) -> None:
    make(family, tmp_path / "m")
    path = arrays_file(family, tmp_path / "m")
    arrays = load_file(path)
    first = max(arrays, key=lambda name: arrays[name].size)
    strange = {
        "renamed": {f"{name}x": array for name, array in arrays.items()},
        "one more": arrays | {"x": np.zeros(3, dtype=np.float32)},
        "flat": arrays | {first: arrays[first].reshape(1, 1, -1)},
        "other type": arrays | {first: arrays[first].astype(np.float64)},
        "half type": arrays | {first: arrays[first].astype(np.float16)},
        "fewer": arrays | {first: arrays[first][:-1]},
        "none": {},
    }
    for name, result in strange.items():
        save_file({key: np.ascontiguousarray(array) for key, array in result.items()}, path)
        assert path.name in refused(family, tmp_path / "m"), name


@pytest.mark.parametrize("family", sorted(NETWORKS | {"vectors"}))
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, family: str) -> None:
    make(family, tmp_path / "m")
    path = arrays_file(family, tmp_path / "m")
    for bad in (np.nan, np.inf, -np.inf):
        arrays = load_file(path)
        next(array for array in arrays.values() if array.dtype == np.float32).flat[0] = bad
        save_file(arrays, path)
        assert "not finite" in refused(family, tmp_path / "m")


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("starts", 0, 0), ("starts", 1, 10**9), ("starts", 2, -5), ("starts", -1, 1), ("words", -1, 10**6),
        ("words", -1, -1), ("levels", 0, 1), ("levels", 1, 3), ("levels", 2, 10**12), ("levels", -1, 5),
        ("log_probs", 5, np.nan), ("log_backoffs", 5, np.inf),
    ],
)  # fmt: skip
def test_tables_of_n_grams_that_lead_out_of_themselves_are_refused(
    tmp_path: Path, name: str, index: int, value: float
) -> None:
    make("n-gram", tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    arrays = load_file(path)
    arrays[name][index] = value
    save_file(arrays, path)
    assert "do not fit" in refused("n-gram", tmp_path / "m")


@pytest.mark.parametrize(
    ("part", "index", "value"), [("indices", 0, 99), ("indices", 0, -1), ("indptr", 1, 99), ("shape", 1, 10**12)]
)
def test_sparse_vectors_that_lead_out_of_themselves_are_refused(
    tmp_path: Path, part: str, index: int, value: int
) -> None:
    from scipy.sparse import csr_matrix

    WordVectors(["a", "b"], csr_matrix(np.eye(2, 3, dtype=np.float32))).save(tmp_path / "m")
    path = tmp_path / "m" / "vectors.safetensors"
    arrays = load_file(path)
    arrays[part][index] = value
    save_file(arrays, path)
    assert "sparse matrix" in refused("vectors", tmp_path / "m")


@pytest.mark.parametrize("key", ["padding", "truncation", "pre_tokenizer", "normalizer"])
def test_a_tokenizer_with_rules_of_its_own_is_refused(tmp_path: Path, key: str) -> None:
    rules = {
        "padding": {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "<pad>"},
        "truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0},
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated", "invert": False},
        "normalizer": {"type": "Replace", "pattern": {"String": "a"}, "content": "a" * 1000},
    }  # fmt: skip
    make("recurrent", tmp_path / "m")
    path = tmp_path / "m" / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: rules[key]}))
    message = "normalizer: not a sequence of normalisation steps" if key == "normalizer" else f"other: {key}"
    assert message in refused("recurrent", tmp_path / "m")


@pytest.mark.parametrize("family", ["recurrent", "gpt", "translator", "n-gram"])
def test_a_tokenizer_of_another_size_is_refused(tmp_path: Path, family: str) -> None:
    make(family, tmp_path / "m")
    name = "target.json" if family == "translator" else "tokenizer.json"
    train_tokenizer(["a b c d e f g"], TokenizerConfig(kind="word", vocab_size=None)).save(tmp_path / "m" / name)
    assert f"{V} tokens, but its {name} has {V + 2}" in refused(family, tmp_path / "m")


def test_a_vast_vocabulary_takes_neither_memory_nor_time_in_a_process_of_its_own(tmp_path: Path) -> None:
    for family in ("recurrent", "gpt", "translator"):
        make(family, tmp_path / family)
    Transformer(Transformer.Config(width=8, layers=1, heads=2, tie="target"), V, V).save(tmp_path / "transformer")
    for family in ("recurrent", "gpt", "translator", "transformer"):
        path = tmp_path / family / "config.json"
        sort = "translator" if family == "transformer" else family
        path.write_text(changed(size=100_000_000)(sort, path.read_text()))
    code = """
import resource, sys
import langladder.models.language.gpt, langladder.models.language.recurrent
import langladder.models.translation.seq2seq, langladder.models.translation.transformer
from langladder.models.language.language_model import LanguageModel
from langladder.models.translation.translator import Translator
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for kind, folder in zip((LanguageModel, LanguageModel, Translator, Translator), sys.argv[2:]):
    try:
        kind.load(f"{sys.argv[1]}/{folder}")
    except ValueError as error:
        assert "expected (100000000, 8)" in str(error), error
        print("refused")
assert "torch._dynamo" not in sys.modules, "torch's compiler takes seconds to load, and nothing is compiled"
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    folders = ["recurrent", "gpt", "translator", "transformer"]
    command = [sys.executable, "-c", code, str(tmp_path), *folders]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    *lines, peak = result.stdout.split()
    assert lines == ["refused"] * 4
    assert int(peak) * (1 if sys.platform == "darwin" else 1024) < 64 * 2**20


def test_a_link_is_followed_like_the_file_itself(tmp_path: Path) -> None:
    make("recurrent", tmp_path / "m")
    path = tmp_path / "m" / "model.safetensors"
    path.replace(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")  # as DVC may store it
    assert load("recurrent", tmp_path / "m")[0] == 0
    path.unlink()
    path.symlink_to("/etc/passwd")
    assert "root:" not in refused("recurrent", tmp_path / "m")
