"""Atomic writes: folders, links, devices, leftovers, permissions, full disks."""

import errno
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faults import device, largest_file

from langladder.ground.artefacts import read_arrays, write_arrays, write_json, write_text
from langladder.ground.atomic import STAGE, SUMS, Owner, atomic_file, atomic_folder, not_in_sums, write_sums
from langladder.ground.errors import InputError
from langladder.ground.memory import out_of_memory

BOOKS = Owner("a shelf of books", ("*.book", "mark"), lambda folder: (folder / "mark").is_file())


def names(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def refused(path: Path, message: str, owner: Owner | None = None) -> None:
    with pytest.raises(InputError, match=message), atomic_folder(path, owner) as folder:
        (folder / "new").touch()


def test_a_file_never_replaces_a_folder_nor_a_folder_a_file(tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    for write in (write_text, write_json):
        with pytest.raises(InputError, match="thesis: is a folder; name a file"):
            write(tmp_path / "thesis", "text")
    write_text(tmp_path / "file", "text")
    for owner in (None, BOOKS, STAGE):
        refused(tmp_path / "file", "file: is a file; name a folder", owner)
    with pytest.raises(InputError, match=r"file/below/text: .*file is a file, not a folder"):
        write_text(tmp_path / "file" / "below" / "text", "x")
    assert names(tmp_path) == ["file", "thesis", "thesis/chapter"]


def test_a_folder_is_replaced_by_its_owner_only(tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    for content in ("old", "new"):
        with atomic_folder(shelf, BOOKS) as folder:
            assert names(folder) == []
            (folder / "mark").touch()
            (folder / f"{content}.book").touch()
    assert names(shelf) == ["mark", "new.book"]
    refused(shelf, "shelf: this folder is not replaced: it is not empty; name another")
    (shelf / "notes.txt").touch()
    refused(shelf, r"it holds notes\.txt, which does not belong to a shelf of books", BOOKS)
    (shelf / "notes.txt").rename(shelf / ".DS_Store")  # a file manager's
    with atomic_folder(shelf, BOOKS) as folder:
        (folder / "mine.book").touch()
    refused(shelf, "it is not a shelf of books", BOOKS)  # the mark is missing
    assert names(tmp_path) == ["shelf", "shelf/mine.book"]
    with atomic_folder(shelf, STAGE):  # DVC removes it before the stage runs
        pass
    assert names(tmp_path) == ["shelf"]


@pytest.mark.parametrize("owner", [None, BOOKS])
def test_a_path_that_appears_during_writing_is_kept(owner: Owner | None, tmp_path: Path) -> None:
    """A user's file, in a folder that was not there or was the owner's when the work began."""
    shelf, message = tmp_path / "shelf", r"notes\.txt, which does not" if owner else "it is not empty"
    for _ in range(2):
        with pytest.raises(InputError, match=message), atomic_folder(shelf, owner) as folder:
            (folder / "mark").touch()
            shelf.mkdir(exist_ok=True)
            (shelf / "notes.txt").write_text("mine")
        assert names(tmp_path) == ["shelf", "shelf/notes.txt"] and (shelf / "notes.txt").read_text() == "mine"
        (shelf / "notes.txt").unlink()
    for write in (atomic_file, atomic_folder):
        path = tmp_path / write.__name__
        with pytest.raises(InputError, match=f"{path.name}: is a f"), write(path) as temporary:
            (path.mkdir if write is atomic_file else path.touch)()
            if write is atomic_file:
                temporary.write_text("new")
        assert path.exists() and path.is_dir() == (write is atomic_file)


def test_a_block_that_fails_leaves_all_as_it_was(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "old")
    with atomic_folder(tmp_path / "shelf", BOOKS) as folder:
        (folder / "mark").touch()
    before = names(tmp_path)
    with pytest.raises(KeyboardInterrupt), atomic_file(tmp_path / "file") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "shelf", BOOKS) as temporary:
        (temporary / "half.book").touch()
        raise KeyboardInterrupt
    assert names(tmp_path) == before and (tmp_path / "file").read_text() == "old"


def test_a_folder_comes_back_where_the_new_one_cannot_take_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with atomic_folder(tmp_path / "shelf", STAGE) as folder:
        (folder / "old").touch()
    rename = Path.rename

    def fails(self: Path, target: Path) -> Path:
        if self.name.endswith(".partial"):
            raise OSError(errno.EIO, "Input/output error", str(self))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    refused(tmp_path / "shelf", r"shelf: cannot be written \(input/output error\)", STAGE)
    assert names(tmp_path) == ["shelf", "shelf/old"]


def test_the_temporary_is_nobody_elses_file(tmp_path: Path) -> None:
    """Two at once, and a file of the user's that is called as temporaries once were."""
    (tmp_path / ".text.partial").write_text("mine")
    with atomic_file(tmp_path / "text") as first, atomic_file(tmp_path / "text") as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert (tmp_path / "text").read_text() == "first"  # left last
    assert names(tmp_path) == [".text.partial", "text"] and (tmp_path / ".text.partial").read_text() == "mine"
    long = "ä" * 120  # 240 bytes, of the 255 that a name may have
    write_text(tmp_path / long, "x")
    with atomic_folder(tmp_path / f"{long}2"):
        pass


KILLED = """
import os, signal, sys
from pathlib import Path
from langladder.ground.atomic import STAGE, atomic_file, atomic_folder
place = Path(sys.argv[1])
make = atomic_file(place) if sys.argv[2] == "file" else atomic_folder(place, STAGE)
with make as temporary:
    print(temporary.name, flush=True)
    if sys.argv[2] == "folder":
        (temporary / "half").touch()
        rename = Path.rename
        Path.rename = lambda self, to: (rename(self, to), os.kill(os.getpid(), signal.SIGKILL))
    elif sys.argv[2] == "nested":
        with atomic_folder(temporary, STAGE):
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def kill(path: Path, what: str) -> str:
    done = subprocess.run([sys.executable, "-c", KILLED, path, what], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    return done.stdout.strip()


def test_temporaries_of_a_killed_process_are_removed_by_the_next_write(tmp_path: Path) -> None:
    left = kill(tmp_path / "text", "file")
    others = f".text.0badcafe-{2**22 + 1}-01234567.partial"  # of another machine: perhaps alive there
    (tmp_path / others).touch()
    assert names(tmp_path) == sorted([left, others])
    with atomic_file(tmp_path / "text"):  # alive: stays
        write_text(tmp_path / "text", "new")
        assert len(names(tmp_path)) == 3 and left not in names(tmp_path)
    assert names(tmp_path) == sorted([others, "text"])


def test_what_is_written_inside_of_a_temporary_folder_is_removed_with_it(tmp_path: Path) -> None:
    """A function that writes a folder whole is given the temporary folder of its caller."""
    left = kill(tmp_path / "text", "nested")
    assert len(names(tmp_path)) == 2 and left in names(tmp_path)
    with atomic_folder(tmp_path / "text", STAGE) as outer, atomic_folder(outer, STAGE) as inner:
        (inner / "whole").touch()
    assert names(tmp_path) == ["text", "text/whole"]


def test_files_of_a_folder_that_were_edited_are_known(tmp_path: Path) -> None:
    for name in ("a", "b", "sub/c"):
        write_text(tmp_path / name, name)
    assert not_in_sums(tmp_path) == ["a", "b", "sub/c"]
    write_sums(tmp_path)
    assert not_in_sums(tmp_path) == []
    checked = subprocess.run(["sha256sum", "--check", SUMS], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert checked.stdout == "a: OK\nb: OK\nsub/c: OK\n"
    write_text(tmp_path / "a", "edited")
    write_text(tmp_path / "sub" / "new", "mine")
    (tmp_path / "b").unlink()
    (tmp_path / "b").symlink_to("sub/c")
    assert not_in_sums(tmp_path) == ["a", "b", "sub/new"]


def test_a_backup_folder_of_a_killed_process_is_restored(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").touch()
    kill(tmp_path / "out", "folder")  # between the two renames
    assert not (tmp_path / "out").exists()
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "out", STAGE):
        raise KeyboardInterrupt
    assert names(tmp_path) == ["out", "out/old"]


def test_links(tmp_path: Path) -> None:
    """A link to a file may be DVC's, into its cache: it is replaced itself. A link to a folder is followed."""
    write_text(tmp_path / "cache", "kept")
    (tmp_path / "out").symlink_to("cache")
    write_text(tmp_path / "out", "new")
    assert (tmp_path / "cache").read_text() == "kept" and not (tmp_path / "out").is_symlink()
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk")
    with atomic_folder(tmp_path / "link") as folder:
        (folder / "new").touch()
    assert (tmp_path / "link").is_symlink() and names(tmp_path / "disk") == ["new"]
    with pytest.raises(InputError, match="link: is a folder"):
        write_text(tmp_path / "link", "x")


def test_devices_and_pipes_are_written_to(tmp_path: Path) -> None:
    null, full = device("null", tmp_path), device("full", tmp_path)
    write_text(null, "x")
    assert null.is_char_device()
    with pytest.raises(InputError, match="/full: the disk is full"):
        write_text(full, "x")
    before = names(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join()
    assert read == ["through"] and names(tmp_path) == sorted([*before, "pipe"])


@pytest.fixture(params=[0o022, 0o077, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {name: stat.S_IMODE((folder / name).stat().st_mode) for name in names(folder)}


def test_permissions_follow_the_umask(tmp_path: Path, umask: int) -> None:
    write_text(tmp_path / "text", "x")
    write_arrays(tmp_path / "arrays", {"x": np.zeros(3)})  # the library itself writes for the owner alone
    with atomic_folder(tmp_path / "folder") as folder:
        (folder / "private").touch(0o600)
        (folder / "inside").mkdir(0o700)
    file, whole = 0o666 & ~umask, 0o777 & ~umask
    expected = {"text": file, "arrays": file, "folder": whole, "folder/inside": whole, "folder/private": file}
    assert modes(tmp_path) == expected


def test_a_replaced_file_hands_its_permissions_on(tmp_path: Path) -> None:
    (tmp_path / "secret").touch(0o600)
    write_text(tmp_path / "secret", "x")
    assert modes(tmp_path) == {"secret": 0o600}


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


WRITERS: dict[str, Callable[[Path], None]] = {
    "text": lambda path: write_text(path, "x" * 100_000),
    "safetensors": lambda path: write_arrays(path, {"x": np.zeros(100_000)}),
}


@pytest.mark.parametrize("writer", WRITERS)
def test_a_full_disk_is_one_sentence(writer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    WRITERS[writer](path)
    before = path.read_bytes()
    with largest_file(50_000), pytest.raises(InputError, match="out: larger than the file system or the limit"):
        WRITERS[writer](path)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError, match=r"out: the disk is full \([\d,]+ bytes free\); nothing was written"):
        WRITERS[writer](path)
    assert names(tmp_path) == ["out"] and path.read_bytes() == before


def test_a_full_disk_inside_a_folder_names_the_folder(tmp_path: Path) -> None:
    with largest_file(50_000), pytest.raises(InputError) as raised, atomic_folder(tmp_path / "model") as folder:
        write_text(folder / "config.json", "{}")
        WRITERS["safetensors"](folder / "model.safetensors")
    assert str(raised.value).startswith(f"{tmp_path}/model/model.safetensors: larger than") and names(tmp_path) == []


def test_a_read_only_path_is_a_one_sentence_error(tmp_path: Path) -> None:
    paths = [Path("/proc/nothing/here"), Path("/sys/nothing")]
    if os.getuid():  # for root nothing is read-only that is no file system
        (tmp_path / "locked").mkdir(0o500)
        paths.append(tmp_path / "locked" / "text")
    for path in paths:
        with pytest.raises(InputError, match=f"^{path}: (cannot be written|its folder cannot be made)"):
            write_text(path, "x")
        refused(path, f"^{path}: (cannot be written|its folder cannot be made)")


def test_errors_about_other_files_pass(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_file(tmp_path / "out"):
        (tmp_path / "in").read_text()
    with pytest.raises(PermissionError, match="in"), atomic_file(tmp_path / "out"):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "in"))
    assert names(tmp_path) == []


def test_array_files_store_their_metadata(tmp_path: Path) -> None:
    write_arrays(tmp_path / "a", {"x": np.arange(3)}, {"format": "pt"})
    assert read_arrays(tmp_path / "a")["x"].tolist() == [0, 1, 2]
    assert b'"__metadata__":{"format":"pt"}' in (tmp_path / "a").read_bytes()


def test_a_library_that_cannot_be_loaded_for_lack_of_memory() -> None:
    """As llvmlite's loader does, an error of its own hides that of the system."""
    hidden = OSError("Could not find/load shared object file")
    hidden.__context__ = OSError("libllvmlite.so: failed to map segment from shared object")
    assert out_of_memory(hidden) and not out_of_memory(OSError("no such file"))
