"""Files and folders copied from here to a URL, from a URL to here, or from one URL to another.

A copy stands in its place when it is whole, not before; here it replaces no folder, behind a URL no file of another
name. Where it breaks off, what stood there stands there still. Bytes go through in pieces. A stranger's listing names
what it likes: names that lead out of the folder are refused. What is fetched is checked by whoever reads it, as if it
had come by hand.

Of a folder here everything is copied or the copy is refused. A link to a file in the same folder, or in DVC's cache
(where DVC may keep the content of its outputs), is copied as the file. Any other link is refused: a copy of it could
hand on a file that its owner never put into the folder.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from langladder.ground.atomic import atomic_file, atomic_folder
from langladder.ground.errors import InputError
from langladder.ground.remote import File, Remote, below, in_order, is_url, located
from langladder.ground.remote_errors import told

PIECE = 2**23  # bytes
CACHED = re.compile(r"/files/md5/[0-9a-f]{2}/[0-9a-f]{30}$")  # a file in a cache of DVC


@contextmanager
def fetched(path: str | File) -> Iterator[Path]:
    """A path as it is, or a temporary copy of what is behind a URL; errors name the URL.

    Raises:
        InputError: there is nothing, or it cannot be read.
    """
    if not is_url(path):
        yield Path(str(located(path)))
        return
    source = located(path)
    with tempfile.TemporaryDirectory() as folder:
        local = Path(folder) / source.name
        copy(source, local)
        try:
            yield local
        except InputError as error:
            raise InputError(str(error).replace(str(local), str(source))) from error


def copy(source: File, target: File, *, overwrite: bool = False) -> tuple[int, int]:
    """Copy a file, or a folder with all that is below.

    Args:
        overwrite: whether a file that is there already may be replaced. Behind a URL, files of other names stay; here
            only an empty folder is filled.

    Returns:
        How many files, and their bytes.

    Raises:
        InputError: there is no source, the target is there or inside the source, a link in a folder leads elsewhere, or
            something cannot be read or written.
    """
    if not source.exists():
        raise InputError(f"{source}: no such file or folder")
    if _inside(target, source):
        raise InputError(f"{target}: is inside {source}, which would be copied into itself; name a place outside")
    if not overwrite and target.exists():
        raise InputError(f"{target}: exists already; give --overwrite to replace it")
    files = {".": source} if source.is_file() else _files(source)
    if not files:
        raise InputError(f"{source}: an empty folder; there is nothing to copy")
    if isinstance(target, Remote):
        return len(files), _upload(files, target)
    if "." in files:
        with atomic_file(target) as temporary:
            return 1, _pour(source, temporary)
    with atomic_folder(target) as folder:
        return len(files), sum(_pour(file, folder / name) for name, file in files.items())


def _inside(target: File, source: File) -> bool:
    """Whether the target is a folder that is copied, or anywhere below it, links followed."""
    if isinstance(target, Path) and isinstance(source, Path):
        return source.is_dir() and target.resolve().is_relative_to(source.resolve())
    both = isinstance(target, Remote) and isinstance(source, Remote) and target.scheme == source.scheme
    return both and source.is_dir() and target.parts[: len(source.parts)] == source.parts


def _files(folder: File) -> dict[str, File]:
    """The path of each file below a folder → the file. Raises InputError where a path leads elsewhere."""
    if isinstance(folder, Path):
        return dict(sorted(_files_here(folder).items()))
    found: dict[str, File] = {}
    for file in in_order(folder.rglob("*")):
        if file.is_file():
            parts = below(folder, file).parts
            if not parts or {"", ".", ".."} & set(parts) or "/" in parts:
                raise InputError(f"{file}: a name that leads out of {folder}; nothing was copied")
            found["/".join(parts)] = file
    return found


def _files_here(folder: Path) -> dict[str, File]:
    found: dict[str, File] = {}
    root = folder.resolve()
    for place, folders, names in os.walk(folder, onerror=_unreadable):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink():
                there = path.resolve()
                if not there.is_file() or not (there.is_relative_to(root) or CACHED.search(there.as_posix())):
                    what = "a file outside" if there.is_file() else "a folder" if there.is_dir() else "nothing"
                    raise InputError(
                        f"{path}: a link to {what}; links are copied where they lead to a file in {folder} itself. "
                        "Nothing was copied; remove the link or put what it means in its place"
                    )
            if path.is_file():
                found[path.relative_to(folder).as_posix()] = path
            elif not path.is_dir():
                raise InputError(f"{path}: neither a file nor a folder; nothing was copied")
    return found


def _unreadable(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be read ({error.strerror}); nothing was copied") from error


def _pour(source: File, target: Path) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as reading, target.open("wb") as writing:
        shutil.copyfileobj(reading, writing, PIECE)
        return writing.tell()


def _upload(files: dict[str, File], target: Remote) -> int:
    if target.is_web or target.scheme == "hf":
        raise InputError(f"{target}: {target.scheme}:// is only read; write to s3://, gs:// or a path")
    system, place = target.system()
    size = 0
    try:
        with system.transaction:  # all files come to be at its end, or none
            for name, file in files.items():
                path = place if name == "." else f"{place.rstrip('/')}/{name}"
                with file.open("rb") as reading, system.open(path, "wb", block_size=PIECE) as writing:
                    shutil.copyfileobj(reading, writing, PIECE)
                    size += writing.tell()
    except Exception as error:
        raise told(target.url, error) from error
    return size
