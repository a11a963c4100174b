"""Bad input through the stages themselves: a message that helps, an exit code other than 0, nothing half-written."""

import errno
import importlib
import re
import sys
from pathlib import Path

import pytest

from langladder import progress
from langladder.text.shards import ShardWriter


def run_stage(stage: str, out: Path, monkeypatch: pytest.MonkeyPatch, *overrides: str) -> int:
    """Run a stage as `python -m pipeline.<stage> …` does, with its outputs under `out`; returns the exit code."""
    monkeypatch.setattr(sys, "argv", [f"{stage}.py", *overrides, f"hydra.run.dir='{out}'", "hydra.output_subdir=null"])
    try:
        importlib.import_module(f"pipeline.{stage}").main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def corpus(path: Path, out: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> int:
    return run_stage("corpus", out, monkeypatch, "corpus=text", f"paths.text='{path}'", *more)


CASES = {
    "missing path": (None, ["no_such_file", "does not exist"]),
    "empty file": (b"", ["text.txt", "empty"]),
    "only blank lines": (b"\n  \n\n", ["blank"]),
    "binary file": (b"\x7fELF\x00\x01\x02\x00" * 50, ["text.txt"]),
    "invalid UTF-8": (b"good line\nbad \xff\xfe line\n", ["text.txt:2", "UTF-8"]),
    "one long line": (b"a" * 3_000_000, ["text.txt:1", "max_line_bytes"]),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content, said = CASES[case]
    path = tmp_path / "no_such_file"
    if content is not None:
        path = tmp_path / "text.txt"
        path.write_bytes(content)
    out = tmp_path / "out"
    code = corpus(path, out, monkeypatch, "corpus.source.max_line_bytes=1000000")
    message = capsys.readouterr().err
    assert code == 2, message
    for part in said:
        assert part in message, message
    assert not list(out.rglob("*.arrow"))
    assert not [file for file in out.rglob("*") if "partial" in file.name]


LABELLED = {
    "labels.csv": ("labels=text", "text,label\ngood,1\nbad\n", ["labels.csv:3", "1 columns"]),
    "tags.conll": ("tags=columns", "he B-PER\n\nshe I-PER\n", ["tags.conll:3", "'I-PER' must not follow", "IOB1"]),
}


@pytest.mark.parametrize("name", LABELLED)
def test_bad_labelled_files(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    choice, content, said = LABELLED[name]
    side = choice.partition("=")[0]
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / name).write_text(content)
    paths = f"paths.{side}='{tmp_path / 'input'}'"
    assert run_stage("corpus", tmp_path / "out", monkeypatch, choice, paths, f"side={side}") == 2
    message = capsys.readouterr().err
    for part in said:
        assert part in message, message
    assert not list((tmp_path / "out").rglob("*.parquet"))


def test_crlf_and_byte_order_marks_are_taken_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from langladder.text.tables import read_table

    path = tmp_path / "text.txt"
    path.write_bytes(b"\xef\xbb\xbffirst line\r\nsecond line\r\n")
    assert corpus(path, tmp_path / "out", monkeypatch) == 0
    table = read_table(tmp_path / "out" / "data" / "raw" / "text" / "all")
    assert table.column("text").to_pylist() == ["first line", "second line"]
    truth = tmp_path / "out" / "data" / "raw" / "text" / "truth"
    sets = {"analogies.txt", "similarity.tsv", "groups.txt", "agreement.jsonl"}
    assert {file.name for file in truth.iterdir()} == sets  # text of one's own brings none, but DVC wants the files
    assert all(file.stat().st_size for file in truth.iterdir())  # and warns of empty ones, once a stage


def test_a_stage_says_what_it_does_and_how_far_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("langladder.progress.FIRST", 0.01)
    monkeypatch.setattr("langladder.progress.EVERY", 0.02)
    assert run_stage("corpus", tmp_path / "out", monkeypatch, "corpus=microworld", "size=tiny", "debug=fast") == 0
    said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("… corpus")]
    assert any(re.search(r"drawing train: [\d,]+ of [\d,]+ sentences \(\d+%\)", line) for line in said), said
    assert not progress._always.tasks  # all of it is over


def test_parallel_files_of_different_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.en").write_text("one\ntwo\nthree\n")
    (tmp_path / "a.eo").write_text("unu\ndu\n")
    code = run_stage(
        "corpus",
        tmp_path / "out",
        monkeypatch,
        "side=parallel",
        "parallel=text",
        f"paths.parallel='{tmp_path}'",
        "parallel.source.layout=two_files",
        "parallel.source.files='*.en'",
        "+parallel.source.target_files='*.eo'",
    )
    message = capsys.readouterr().err
    assert code == 2
    assert "3" in message and "2" in message and "a.eo" in message


def test_a_full_disk_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\n")

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(ShardWriter, "add", full)
    assert corpus(path, tmp_path / "out", monkeypatch) == 2
    assert "the disk is full" in capsys.readouterr().err
    left = [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert left in ([], ["corpus.log"])  # Hydra's


def test_an_interrupt_and_too_little_memory_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "text.txt"
    path.write_text("one\ntwo\n")
    of_torch = "[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate memory: you tried"
    errors = {
        KeyboardInterrupt(): (130, r"corpus: interrupted\n"),
        MemoryError(): (2, r"corpus: not enough memory \(no more could be had\); .*training\.batch_size.*\n"),
        MemoryError("Unable to\nallocate 9 TiB"): (2, r"corpus: not enough memory \(Unable to allocate 9 TiB\); .*\n"),
        RuntimeError(of_torch): (2, r"corpus: not enough memory \(\[enforce fail .*\n"),
    }
    for error, (code, said) in errors.items():

        def fails(*_: object, error: BaseException = error, **__: object) -> None:
            raise error

        monkeypatch.setattr(ShardWriter, "add", fails)
        assert corpus(path, tmp_path / "out", monkeypatch) == code
        lines = [line for line in capsys.readouterr().err.splitlines(keepends=True) if not line.startswith("… ")]
        assert len(lines) == 1 and re.fullmatch(said, lines[0]), lines
    left = [file.name for file in (tmp_path / "out").rglob("*") if file.is_file()]
    assert left in ([], ["corpus.log"])
    monkeypatch.setattr(ShardWriter, "add", lambda *_: 1 / 0)  # our own mistakes keep their traceback
    with pytest.raises(ZeroDivisionError):
        corpus(path, tmp_path / "out", monkeypatch)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lm=lsmt"], ["lm: 'lsmt' is not a choice: the nearest: lstm", "on the command line"]),
        (["-m", "lm=lstm,lsmt,gtp", "size=tinny"], ["3 problems", "'lsmt'", "'gtp'", "nearest: tiny"]),
        (["lm=../lm/lstm"], ["'../lm/lstm' is not a choice"]),
        (["lm.model.wdith=8"], ["wdith"]),
        (["sede=1"], ["sede"]),
    ],
    ids=str,
)
def test_wrong_names_on_the_command_line_are_refused_in_our_words(
    arguments: list[str],
    said: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    assert run_stage("train_lm", tmp_path, monkeypatch, *arguments) == 2
    message = capsys.readouterr().err
    for part in said:
        assert part in message, message
    assert "Traceback" not in message and "HYDRA_FULL_ERROR" not in message


def test_wrong_overrides_are_refused_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_stage("corpus", tmp_path, monkeypatch, "corpus=text", "+corpus.source.pth=x") == 2
    assert "corpus.source.pth: unknown key" in capsys.readouterr().err


def test_a_run_folder_that_cannot_be_made_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Hydra makes it before the stage has its say, and would print a traceback."""
    (tmp_path / "file").touch()
    assert run_stage("corpus", tmp_path / "file" / "run", monkeypatch) == 2
    assert f"{tmp_path}/file is a file, not a folder; set hydra.run.dir=" in capsys.readouterr().err
    monkeypatch.setattr("os.access", lambda *_: False)  # as on a disk that is read-only
    assert run_stage("corpus", tmp_path / "run", monkeypatch) == 2
    told = capsys.readouterr().err
    assert f"{tmp_path} cannot be written (read-only, or no permission)" in told and told.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
