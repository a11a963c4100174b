"""Text files read in parts: whatever the parts, the same rows, the same report, the same errors."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

from langladder.engine.base import Local, used
from langladder.ground.errors import InputError
from langladder.text.read import files
from langladder.text.read.files import TextSource, parts_of, read_text
from langladder.text.storage import shards

LINES = ["the king sells bread", "= a heading =", "", "", "  她喜欢看书  ", "จบ", "a\rb", "é" * 30, "x"]
RULES: list[dict[str, Any]] = [
    {"documents": "line"},
    {"documents": "blank_line"},
    {"documents": "file"},
    {"documents": "record"},
    {"documents": "heading", "heading": "= .* ="},
]


def corpus(folder: Path, seed: int) -> Path:
    """Files of random lines: some empty of text at their ends, some with CRLF or a byte-order mark, one of JSON."""
    random = Random(seed)
    folder.mkdir()
    for name in "abc":
        ends = random.choice(["\n", "\r\n"])
        text = "".join(random.choice(LINES) + ends for _ in range(random.randrange(1, 14))) + random.choice(["", "end"])
        mark = random.choice([b"", b"\xef\xbb\xbf"])
        (folder / f"{name}.txt").write_bytes(mark + (text.encode() or b"x"))
    rows = "".join(f'{{"text": "one {row}\\n\\ntwo"}}\n' for row in range(9))
    (folder / "d.jsonl").write_text(rows)
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["documents"])
@pytest.mark.parametrize("seed", range(3))
def test_parity_of_parts_of_any_size(rule, seed, tmp_path, monkeypatch):
    source = TextSource(path=str(corpus(tmp_path / "files", seed)), **rule)
    monkeypatch.setattr(shards, "SHARD_BYTES", 60)  # documents go over the bounds of shards, parts and files of lines
    report = read_text(source, tmp_path / "whole")
    assert len(shards.shard_files(tmp_path / "whole" / "all")) > 1 or rule["documents"] == "file"
    for size in (9, 30, 100):
        monkeypatch.setattr(files, "PART_BYTES", size)
        monkeypatch.setattr(shards, "ROWS_PER_GROUP", size // 9)
        assert read_text(source, tmp_path / str(size)) == report
        assert contents(tmp_path / str(size)) == contents(tmp_path / "whole")


def test_parity_of_several_processes(tmp_path, monkeypatch):
    source = TextSource(path=str(corpus(tmp_path / "files", 1)), documents="blank_line")
    report = read_text(source, tmp_path / "whole")
    monkeypatch.setattr(files, "PART_BYTES", 40)
    with used(Local(2)):
        assert read_text(source, tmp_path / "parts") == report
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.parametrize("bad", [b"\xff", b"\x00", b"y" * 41, b'{"text": 1}', b"{"], ids=repr)
@pytest.mark.parametrize("line", [2, 20])
def test_errors_name_the_line_of_the_whole_file(bad, line, tmp_path, monkeypatch):
    rows = [b'{"text": "one line of text"}'] * 20
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*rows[: line - 1], bad, *rows[line:]]))
    source = TextSource(path=str(tmp_path), max_line_bytes=40)
    messages = []
    for size in (10**6, 100, 28):
        monkeypatch.setattr(files, "PART_BYTES", size)
        with pytest.raises(InputError, match=f"a.jsonl:{line}: ") as error:
            read_text(source, tmp_path / "out")
        messages.append(str(error.value))
        assert not (tmp_path / "out").exists()
    assert len(set(messages)) == 1


def test_small_files_go_together_and_large_ones_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "PART_BYTES", 10)
    sizes = {"a": 4, "b": 5, "c": 4, "d": 25, "e": 3}
    for name, size in sizes.items():
        (tmp_path / name).write_bytes(b"x" * size)
    result = parts_of([tmp_path / name for name in sizes], TextSource(path=str(tmp_path)), tmp_path / "work")
    pieces = [[(piece.file.name, piece.span.start, piece.span.stop) for piece in part.pieces] for part in result]
    assert pieces == [
        [("a", 0, None), ("b", 0, None)],
        [("c", 0, None)],
        [("d", 0, 10)],
        [("d", 10, 20)],
        [("d", 20, 25)],
        [("e", 0, None)],
    ]


def test_a_large_file_that_cannot_be_opened_is_reported(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("a line\n" * 9)
    monkeypatch.setattr(files, "PART_BYTES", 10)

    def refused(self, *_):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(InputError, match=r"a\.txt: cannot be read \(Permission denied"):
        read_text(TextSource(path=str(tmp_path / "a.txt")), tmp_path / "out")
