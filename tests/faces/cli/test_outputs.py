"""Every command that writes, against everything of the user's that may stand in its way: nothing of it is touched."""

import gzip
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
import torch
from click.testing import CliRunner, Result
from faults import device, largest_file

from langladder.embeddings.base import WordVectors
from langladder.faces.cli.main import app
from langladder.formats.arpa import write_arpa
from langladder.formats.vector_files import read_vectors
from langladder.ground.artefacts import write_json
from langladder.models.language.gpt import GPT
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

WORDS = ["she", "he", "nurse", "pilot", "rose", "ant"]
LINES = ["the cat sleeps", "the cat", "a cat sleeps", "the cat sleeps"] * 3
# The command with OUT in the place of what it writes; whether that is a folder; what the command reads.
OUTPUTS: dict[str, tuple[str, bool, list[str]]] = {
    "map": ("map vectors OUT.svg she he nurse", False, []),
    "convert": ("convert vectors OUT.vec", False, ["vectors/words.json"]),
    "convert.gz": ("convert vectors OUT.glove.gz", False, []),
    "convert folder": ("convert vectors OUT", True, ["vectors"]),
    "convert projector": ("convert vectors OUT --to projector", True, ["vectors"]),
    "copy": ("copy vectors/words.json OUT.json", False, ["vectors/words.json"]),
    "bias debias": ("bias debias vectors lists OUT.bin", False, ["lists/professions.txt"]),
    "export gpt2": ("export models/gpt OUT", True, ["models/gpt", "models"]),
    "export arpa": ("export models/counted OUT --scores scores.json", True, ["models/counted", "scores.json"]),
    "export marian": ("export models/transformer OUT --to marian", True, ["models/transformer"]),
    "import": ("import models/counted.arpa OUT --tokenizer models/counted/tokenizer.json", True, ["models"]),
    "translate": ("translate models/attention -f text.en -o OUT.eo", False, ["text.en", "models/attention"]),
    "translate gz": ("translate models/attention -f text.en -o OUT.eo.gz", False, []),
    "translate --json": ("translate models/attention -f text.en -o OUT.json --json", False, ["text.en"]),
    "evaluate": ("evaluate models/counted text.en --out OUT.csv", False, ["text.en", "models/counted/config.json"]),
    "translate --attention-svg": ("translate models/attention cat --attention-svg OUT.svg", False, []),
}  # fmt: skip
FOLDERS = [name for name, (_, folder, _) in OUTPUTS.items() if folder]
FILES = [name for name in OUTPUTS if name not in FOLDERS]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("models")
    tokenizer = train_tokenizer(LINES, TokenizerConfig(kind="word", vocab_size=None))
    ids = np.concatenate([[BOS, *tokenizer.encode(line), EOS] for line in LINES]).astype(np.int32)
    counted = KneserNey(KneserNey.Config(order=2), tokenizer.vocab_size)
    counted.fit(TokenStream(ids, np.array([0, len(ids)])))
    torch.manual_seed(0)
    V = tokenizer.vocab_size
    by_name: dict[str, Any] = {
        "counted": counted,
        "gpt": GPT(GPT.Config(context=6, width=8, layers=1, heads=2), V),
        "lstm": RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8), V),
        "transformer": Transformer(TransformerConfig(width=8, layers=1, heads=2), V, V),
        "attention": AttentionSeq2Seq(AttentionSeq2Seq.Config(width=8, embedding_dim=8, attention_width=8), V, V),
    }
    for name, model in by_name.items():
        model.save(root / name)
        sides = ("tokenizer",) if name in ("counted", "gpt", "lstm") else ("source", "target")
        for side in sides:
            tokenizer.save(root / name / f"{side}.json")
    write_arpa(root / "counted.arpa", counted, [tokenizer.name(token) for token in range(V)])
    return root


@pytest.fixture
def project(tmp_path: Path, models: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    (root / "models").symlink_to(models)
    matrix = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    WordVectors(WORDS, matrix, np.arange(6, 0, -1)).save(root / "vectors")
    (root / "lists").mkdir()
    lists = {"definitional_pairs": "she he", "equalize_pairs": "she he", "specific": "she\nhe", "professions": "nurse"}
    for name, lines in lists.items():
        (root / "lists" / f"{name}.txt").write_text(f"{lines}\n")
    (root / "text.en").write_text("the cat\n")
    write_json(root / "scores.json", {"perplexity_per_word": 3.0})
    thesis = root / "thesis"
    (thesis / "figures").mkdir(parents=True)
    (thesis / "chapter.txt").write_text("years of work")
    (thesis / "config.json").write_text('{"model_type": "somebody\'s"}')
    (thesis / "README.md").write_text("# A model\n")
    return root


Snapshot = dict[str, tuple[bytes, int, int]]


def snapshot(root: Path) -> Snapshot:
    """Content, time and permissions of everything."""
    result = {}
    for path in [root, *sorted(root.rglob("*")), *sorted((root / "models").resolve().rglob("*"))]:
        about = path.lstat()
        content = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        result[str(path)] = (content, about.st_mtime_ns, about.st_mode)
    return result


def unchanged(before: Snapshot) -> bool:
    """Whether all that was there is there as it was (the project's folder itself may hold more)."""
    after = snapshot(Path.cwd())
    return all(after[path] == about for path, about in before.items() if path != str(Path.cwd()))


def run(name: str, out: Path | str, *more: str) -> Result:
    """The command with its output at `out`, whatever ending the table gives it."""
    parts = OUTPUTS[name][0].split()
    return CliRunner().invoke(app, [str(out) if part.startswith("OUT") else part for part in parts] + [*more])


def refuses(name: str, out: Path | str, message: str, *more: str, named: Path | str | None = None) -> None:
    before = snapshot(Path.cwd())
    result = run(name, out, *more)
    assert result.exit_code == 2, (result.output, result.exception)
    assert f"Error: {out if named is None else named}" in result.stderr and message in result.stderr, result.stderr
    assert snapshot(Path.cwd()) == before


def ending(name: str) -> str:
    (out,) = (part for part in OUTPUTS[name][0].split() if part.startswith("OUT"))
    return out.removeprefix("OUT")


def commands(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[str, set[str]]]:
    if isinstance(command, click.Group):
        for name, part in command.commands.items():
            yield from commands(part, (*path, name))
    else:
        yield " ".join(path), {str(parameter.name) for parameter in command.params}


def test_every_output_of_every_command_stands_above() -> None:
    for name, parameters in commands(app):
        writes = parameters & {"out", "attention_svg", "output"}
        assert bool(writes) == ("overwrite" in parameters), name
        assert not writes or any(known.startswith(name) for known in OUTPUTS), name


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_folder_of_the_users_stays(name: str, project: Path) -> None:
    thesis = (project / "thesis").rename(project / f"thesis{ending(name)}")
    for more in ([], ["--overwrite"]):
        message = "this folder is not replaced: it holds " if name in FOLDERS else "is a folder; name a file"
        refuses(name, thesis, message, *more)
        (project / f"link{ending(name)}").symlink_to(thesis)
        refuses(name, project / f"link{ending(name)}", message, *more, named="")
        (project / f"link{ending(name)}").unlink()


@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_of_the_same_names_but_a_strangers_stays(name: str, project: Path) -> None:
    (project / "thesis" / "chapter.txt").unlink()
    (project / "thesis" / "figures").rmdir()
    for file in ("README.md", "config.json"):
        (project / "thesis" / file).touch()
    refuses(name, project / "thesis", "this folder is not replaced: it", "--overwrite")


@pytest.mark.parametrize("name", OUTPUTS)
def test_a_file_of_the_users_stays_unless_requested(name: str, project: Path) -> None:
    file = project / f"notes{ending(name)}"
    file.write_text("mine")
    file.chmod(0o600)
    if name in FOLDERS:
        for more in ([], ["--overwrite"]):
            refuses(name, file, "is a file; name a folder", *more)
    else:
        refuses(name, file, "exists already; give --overwrite to replace it")
        link = project / f"link{ending(name)}"
        link.symlink_to(file.name)
        refuses(name, link, "exists already; give --overwrite to replace it")
        assert run(name, link, "--overwrite").exit_code == 0
        assert link.is_symlink() and file.read_bytes() != b"mine" and stat.S_IMODE(file.stat().st_mode) == 0o600
    refuses(name, file / f"below{ending(name)}", "is a file, not a folder", "--overwrite")


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_it_made_itself_is_replaced_when_asked(name: str, project: Path) -> None:
    out = project / "new" / f"out{ending(name)}"
    before = snapshot(project)
    first = run(name, out)
    assert first.exit_code == 0, first.output
    written = snapshot(out)
    refuses(name, out, "exists already; give --overwrite to replace it")
    assert run(name, out, "--overwrite").exit_code == 0
    again = snapshot(out)
    assert [*again] == [*written]
    assert [content for content, _, _ in again.values()] == [content for content, _, _ in written.values()]
    assert [path.name for path in out.parent.iterdir()] == [out.name]  # nothing else is left beside it
    assert unchanged(before)


@pytest.mark.parametrize("name", FOLDERS)
def test_an_empty_folder_is_filled(name: str, project: Path) -> None:
    (project / "empty").mkdir()
    assert run(name, "empty").exit_code == 0 and any((project / "empty").iterdir())


@pytest.mark.parametrize("name", OUTPUTS)
def test_what_is_read_is_not_written(name: str, project: Path) -> None:
    for read in OUTPUTS[name][2]:
        for more in ([], ["--overwrite"]):
            refuses(name, read, "", *(["--to", "word2vec"] if name == "convert" else []), *more)
    assert (project / "text.en").read_text() == "the cat\n"


@pytest.mark.parametrize("name", OUTPUTS)
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions_follow_the_umask(name: str, umask: int, project: Path) -> None:
    before = os.umask(umask)
    try:
        out = project / f"out{ending(name)}"
        assert run(name, out).exit_code == 0
    finally:
        os.umask(before)
    for path in [out, *out.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o777 if path.is_dir() else 0o666) & ~umask, (path, oct(mode))


def test_a_dash_is_the_standard_output(project: Path) -> None:
    plain = CliRunner().invoke(app, ["translate", "models/attention", "the cat"]).stdout
    before = snapshot(project)
    assert run("translate", "-").stdout_bytes == plain.encode()
    result = run("convert", "-", "--to", "glove")
    assert [
        line.split()[0] for line in result.stdout.splitlines()
    ] == WORDS and "6 words × 4 → - (glove)" in result.stderr
    assert snapshot(project) == before
    refuses("convert", "-", "the standard output is used for the answer", "--to", "glove", "--json")
    for name in [*FOLDERS, "convert"]:
        refuses(name, "-", "a folder cannot go to the standard output")
    refuses("bias debias", "-", "", "--to", "glove")
    refuses("map", "-", "OUT must end in .svg or .html")
    refuses("translate --attention-svg", "-", "", named="--attention-svg -: give a file")


@pytest.mark.usefixtures("project")
def test_devices_are_written_to_and_stay(tmp_path: Path) -> None:
    null, full = device("null", tmp_path), device("full", tmp_path)
    for name in ("convert", "translate"):
        more = ["--to", "glove"] if name == "convert" else []
        assert run(name, null, *more).exit_code == 0
        assert null.is_char_device()
        refuses(name, full, "the disk is full", *more)


@pytest.mark.usefixtures("project")
def test_translations_are_gzipped_where_the_name_says_so() -> None:
    assert run("translate", "plain.eo").exit_code == run("translate gz", "packed.eo.gz").exit_code == 0
    assert gzip.decompress(Path("packed.eo.gz").read_bytes()) == Path("plain.eo").read_bytes()


@pytest.mark.usefixtures("project")
def test_one_place_for_two_things() -> None:
    result = run("translate --attention-svg", "one.svg", "-o", "one.svg")
    assert result.exit_code == 2 and "one.svg: given twice" in result.stderr and not Path("one.svg").exists()


def test_a_full_disk_is_one_sentence(project: Path) -> None:
    before = snapshot(project)
    for name in ("convert", "convert folder", "export gpt2", "export marian"):
        with largest_file(64):
            result = run(name, f"out{ending(name)}")
        assert result.exit_code == 2 and "larger than the file system or the limit" in result.stderr, result.output
        assert result.stderr.startswith(f"Error: out{ending(name)}") and result.stderr.count("\n") == 1
    assert unchanged(before) and len(snapshot(Path.cwd())) == len(before)


def test_json_names_the_place_as_it_was_given(project: Path) -> None:
    (project / "elsewhere").mkdir()
    (project / "link.vec").symlink_to("elsewhere/vectors.vec")  # leads to nothing yet
    report = json.loads(run("convert", "link.vec", "--json").stdout)
    assert report["out"] == "link.vec" and len(read_vectors(project / "elsewhere" / "vectors.vec")) == 6


def test_help_fits_a_terminal_of_100_columns() -> None:
    """What stands in blocks of its own (examples, formats) is never folded by click: the terminal would cut words."""
    for name, _ in commands(app):
        help_text = CliRunner().invoke(app, [*name.split(), "--help"], terminal_width=100).stdout
        assert max(map(len, help_text.splitlines())) <= 100, name
    listed = CliRunner().invoke(app, ["--help"], terminal_width=100).stdout.split("Commands:")[1]
    assert "..." not in listed, listed
