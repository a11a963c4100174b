"""Progress of long work, where it is enabled; short work and libraries print nothing."""

import io
import re
import time
from collections.abc import Iterator

import pytest

from langladder.ground import progress
from langladder.ground.progress import Board, Piece, tracked, working


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def stream(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Where lines go; they come quickly here."""
    monkeypatch.setattr(progress, "FIRST", 0.05)
    monkeypatch.setattr(progress, "EVERY", 0.1)
    string_io = io.StringIO()
    monkeypatch.setattr(progress, "_always", Board(string_io))
    return string_io


@pytest.fixture
def output(stream: io.StringIO) -> Iterator[io.StringIO]:
    progress.show()
    yield stream
    progress.show(False)


def test_a_line_every_so_often_says_what_and_how_far(output: io.StringIO) -> None:
    with working("clean text"):
        for _ in tracked(range(8), "reading train", unit="rows"):
            time.sleep(0.05)
    lines = output.getvalue().splitlines()
    assert 2 <= len(lines) <= 8
    for line in lines:
        assert re.fullmatch(r"… clean text( · reading train: \d of 8 rows \(\d+%\))? · \d+ s", line), line
    assert re.search(r"[1-8] of 8 rows", lines[-1])


def test_progress_prints_sizes_notes_and_unknown_totals() -> None:
    task = Piece("writing", unit="rows")
    assert task.state == "writing"
    task.advance(12_000)
    task.note("loss 3.1")
    assert task.state == "writing: 12,000 rows, loss 3.1"
    assert Piece("training", 200, "steps", done=50).state == "training: 50 of 200 steps (25%)"


def test_a_long_library_call_prints_progress(output: io.StringIO) -> None:
    with working("finding singular values"):
        time.sleep(0.3)  # as a call into another library does
    assert output.getvalue().count("finding singular values") >= 2


def test_short_work_says_nothing(output: io.StringIO) -> None:
    for _ in range(20):
        with working("short"):
            pass
    time.sleep(0.2)
    assert output.getvalue() == ""


def test_libraries_print_nothing_by_default(stream: io.StringIO) -> None:
    with working("quiet"):
        time.sleep(0.2)
    assert stream.getvalue() == ""
    with working("asked for", always=True):
        time.sleep(0.2)
    assert "asked for" in stream.getvalue()
    with working("over at once", 3, "steps", always=True) as task:
        task.advance(3)
    assert stream.getvalue().splitlines()[-1] == "… over at once: 3 of 3 steps (100%) · 0 s"


def test_an_error_ends_the_progress_display(output: io.StringIO) -> None:
    with pytest.raises(ValueError), working("outer"), working("inner"):
        raise ValueError
    time.sleep(0.2)
    assert output.getvalue() == ""


def test_bars_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "FIRST", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(progress, "_always", Board(terminal))
    with working("training", 10, "steps", always=True) as task:
        task.advance(5)
        time.sleep(0.8)
        progress.say("a line that stays [with brackets]")
    assert "training: 5 of 10 steps (50%)" in terminal.getvalue()
    assert "a line that stays [with brackets]" in terminal.getvalue()
