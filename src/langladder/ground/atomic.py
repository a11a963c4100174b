"""What may be written where; all output of this project is written through this module.

1. All or nothing. A file or folder is written under a temporary name beside its final path and renamed when it is
   complete, so a reader sees the old one or the new one, never a part. After an error nothing has changed.
2. A file replaces only a file, and a folder only a folder.
3. A folder is replaced only by its `Owner`. It is not replaced if it has anything that the owner does not write, or
   if no owner is given (an empty folder is filled). Files are replaced without asking, as `open(…, "w")`
   does; the command line asks for `--overwrite` first (`langladder.faces.cli.output`).
4. A link to a folder is followed. A link to a file is itself replaced, because DVC can link an output into its cache.
   Anything else (/dev/null, a pipe) is written to, not replaced.
5. New files and folders have the permissions of the umask; a replaced file keeps its permissions.
6. The temporary name is unique and contains its process; leftovers of dead processes on this machine are removed, also
   those of a folder that is written inside of another's temporary one.
7. A full or read-only disk, or missing permissions, raise an `InputError` with the path.
"""

import errno
import fnmatch
import hashlib
import os
import platform
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from langladder.ground.errors import InputError

LITTER = ("*.DS_Store", "*Thumbs.db", "*desktop.ini")  # files of file managers
_FULL = {errno.ENOSPC, errno.EDQUOT}
_REFUSED = {errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.EIO, errno.EBUSY}
_LONGEST = 120  # bytes of a name that are repeated in its temporary name
_TEMPORARY = re.compile(r"(\..*\.)[0-9a-f]{8}-\d+-[0-9a-f]{8}\.partial")
SUMS = "SHA256SUMS"
"""The file that lists a folder's other files with their hashes, in the format of the program `sha256sum`."""


@dataclass(frozen=True)
class Owner:
    """A kind of folder, and how to recognise it.

    Attributes:
        what: its name in messages.
        names: patterns (fnmatch) of the paths that it can contain.
        marked: whether a folder is of this kind: has a file that only this kind has.
        summed: whether it must have exactly the files that its SHA256SUMS lists (`write_sums`).
    """

    what: str
    names: tuple[str, ...]
    marked: Callable[[Path], bool]
    summed: bool = False

    def objection(self, folder: Path) -> str | None:
        """Why this existing folder is not replaced; None if it may be."""
        inside = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not _is_folder(path))
        for name in inside:
            if not any(fnmatch.fnmatchcase(name, pattern) for pattern in (*self.names, *LITTER)):
                return f"it holds {name}, which does not belong to {self.what}"
        if self.summed and (others := not_in_sums(folder)):
            more = f" and {len(others) - 5:,} more files" if len(others) > 5 else ""
            return f"it holds {', '.join(others[:5])}{more}: not in {self.what}, or edited since"
        return None if not inside or self.marked(folder) else f"it is not {self.what}"


STAGE = Owner("an output of a stage", ("*",), lambda _: True)
"""A stage's own folder in dvc.yaml: DVC removes it before the stage runs, so all of its content is the stage's."""


def write_sums(folder: Path, files: Iterable[Path] | None = None) -> None:
    """List files of a folder, by default all, with their hashes in SHA256SUMS, so that edited ones are recognised."""
    listed = [path for path in folder.rglob("*") if path.is_file()] if files is None else files
    sums = {path.relative_to(folder).as_posix(): _sha256(path) for path in listed if path.name != SUMS}
    with atomic_file(folder / SUMS) as temporary:
        temporary.write_text("".join(f"{sums[name]}  {name}\n" for name in sorted(sums)), encoding="utf-8")


def not_in_sums(folder: Path) -> list[str]:
    """The files of a folder that its SHA256SUMS does not list, or lists with another content: those of a user."""
    lines = (folder / SUMS).read_text(encoding="utf-8").splitlines() if (folder / SUMS).is_file() else []
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = (path for path in folder.rglob("*") if not _is_folder(path))
    results = {path.relative_to(folder).as_posix(): path for path in files}
    others = [name for name in results if not any(fnmatch.fnmatchcase(name, pattern) for pattern in (SUMS, *LITTER))]
    return sorted(name for name in others if name not in listed or _sha256(results[name]) != listed[name])


def _sha256(path: Path) -> str:
    if path.is_symlink():
        return "a link"
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """An empty temporary sibling of `path` to write; renamed to `path` when the block succeeds.

    Raises:
        InputError: the path is a folder, or cannot be written; the message has the path and the reason.
    """
    path = Path(path)
    check_file(path)
    if path.exists() and not path.is_file():
        with _through(path) as temporary:
            yield temporary
        return
    with _sibling(path) as temporary:
        temporary.touch(exist_ok=False)
        mode = stat.S_IMODE(temporary.stat().st_mode)
        if path.is_file() and not path.is_symlink():
            mode = stat.S_IMODE(path.stat().st_mode) | stat.S_IRUSR | stat.S_IWUSR
        yield temporary
        temporary.chmod(mode)  # a library can have replaced our file by one with its own mode
        check_file(path)
        temporary.replace(path)


@contextmanager
def atomic_folder(path: Path, owner: Owner | None = None) -> Iterator[Path]:
    """An empty temporary sibling folder of `path` to fill; renamed to `path` when the block succeeds.

    Args:
        owner: the owner; None only fills an empty folder.

    Raises:
        InputError: the path is a file or another owner's folder, or cannot be written; with the path and the reason.
    """
    path = Path(path)
    if path.is_symlink():
        path = path.resolve()
    check_folder(path, owner)
    with _sibling(path) as temporary:
        temporary.mkdir()
        yield temporary
        _follow_umask(temporary)
        check_folder(path, owner)
        _put(temporary, path)


def check_file(path: Path) -> None:
    """Raise InputError if no file can be written: a folder is there, or its parent is a file."""
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name a file")
    _check_parents(path)


def check_folder(path: Path, owner: Owner | None = None) -> None:
    """Raise InputError if this owner cannot write the folder: a file or another's folder is there or above."""
    if path.is_dir():
        objection = "it is not empty" if any(path.iterdir()) else None
        if objection and owner is not None:
            objection = owner.objection(path)
        if objection:
            raise InputError(f"{path}: this folder is not replaced: {objection}; name another")
    elif path.exists():
        raise InputError(f"{path}: is a file; name a folder")
    _check_parents(path)


def _check_parents(path: Path) -> None:
    for parent in path.parents:
        if parent.exists():
            if not parent.is_dir():
                raise InputError(f"{path}: {parent} is a file, not a folder")
            return


def disk_error(error: BaseException) -> int | None:
    """The errno of an error of the disk (full, read-only, no permission), else None."""
    number = error.errno if isinstance(error, OSError) else None
    if number is None and type(error).__name__ == "SafetensorError":  # wraps the system's error
        match = re.search(r"\(os error (\d+)\)", str(error))
        number = int(match[1]) if match else None
    return number if number in _FULL | _REFUSED | {errno.EFBIG} else None


def explain(path: Path, number: int) -> str:
    """The message for an error of the disk."""
    if number in _FULL:
        near = next(parent for parent in path.absolute().parents if parent.exists())
        return f"{path}: the disk is full ({shutil.disk_usage(near).free:,} bytes free); nothing was written"
    if number == errno.EFBIG:
        return f"{path}: larger than the file system or the limit (`ulimit -f`) allows; nothing was written"
    return f"{path}: cannot be written ({os.strerror(number).lower()})"


@contextmanager
def _sibling(path: Path) -> Iterator[Path]:
    """A unique name beside `path`; a file left there at the end is removed. Errors of the disk become an InputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
    except OSError as error:
        raise InputError(explain(path, error.errno or errno.EIO)) from error
    temporary = _beside(path, "partial")
    try:
        yield temporary
    except InputError as error:  # of a write inside the block
        if str(temporary) not in str(error):
            raise
        raise InputError(str(error).replace(str(temporary), str(path))) from error
    except Exception as error:
        number = disk_error(error)
        file = getattr(error, "filename", None)
        others = file is not None and Path(file) != path and not Path(file).is_relative_to(temporary)
        if number is None or (others and number not in _FULL):
            raise
        raise InputError(explain(path, number)) from error
    finally:
        _remove(temporary)


@contextmanager
def _through(path: Path) -> Iterator[Path]:
    """A temporary file that is copied into a device or a pipe at the end."""
    if path.is_block_device() or path.is_socket():
        raise InputError(f"{path}: neither a file nor a pipe; name another")
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder) / "out"
        temporary.touch()
        yield temporary
        try:
            with temporary.open("rb") as source, path.open("wb") as target:
                shutil.copyfileobj(source, target)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError(explain(path, error.errno or errno.EIO)) from error


def _put(temporary: Path, path: Path) -> None:
    """Rename a folder to its final path; the old one is removed after that."""
    if not path.is_dir() or not any(path.iterdir()):
        temporary.replace(path)
        return
    replaced = _beside(path, "replaced")
    path.rename(replaced)
    try:
        temporary.rename(path)
    except BaseException:
        replaced.rename(path)
        raise
    shutil.rmtree(replaced, ignore_errors=True)


def _follow_umask(folder: Path) -> None:
    """Give the content the permissions that the umask gave the folder: some libraries write for the owner only."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(mode if path.is_dir() else mode & 0o666)


def _beside(path: Path, what: str) -> Path:
    return path.with_name(f"{_prefix(path)}{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.{what}")


def _prefix(path: Path) -> str:
    """How the temporary names of a path begin; of a temporary file itself, how its own name begins."""
    name = path.name
    if temporary := _TEMPORARY.fullmatch(name):
        return temporary[1]
    whole = os.fsencode(name)
    if len(whole) > _LONGEST:
        name = whole[: _LONGEST // 2].decode(errors="ignore") + hashlib.sha256(whole).hexdigest()[:16]
    return f".{name}."


@cache
def _machine() -> str:
    """Where process ids are those of this process: the machine and, on Linux, the namespace of process ids."""
    try:
        space = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        space = ""
    return hashlib.sha256(f"{platform.node()} {space}".encode()).hexdigest()[:8]


def _remove_leftovers(path: Path) -> None:
    """Remove leftovers of dead processes beside `path`; the old folder is restored if one was killed in `_put`."""
    ours = re.compile(re.escape(f"{_prefix(path)}{_machine()}-") + r"(\d+)-[0-9a-f]{8}\.(partial|replaced)")
    for entry in path.parent.iterdir():
        match = ours.fullmatch(entry.name)
        if not match or _alive(int(match[1])):
            continue
        if match[2] == "replaced" and not path.exists():
            entry.rename(path)
        else:
            _remove(entry)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove(path: Path) -> None:
    if _is_folder(path):
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()
