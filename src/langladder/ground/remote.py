"""Files behind a URL (S3, Google Storage, HTTPS, the Hugging Face Hub): listed, read and copied.

`Remote` has the part of the interface of `pathlib.Path` that its readers use. Listings and bytes come through `fsspec`:
`s3://` needs s3fs, `gs://` needs gcsfs, `https://` and `hf://` need nothing more. A file is read block by block and is
never stored here as a whole. Nothing in it is executed. A broken connection is retried from the byte where it broke, so
a reader sees the whole file or an error, never a part. If a web server does not support ranges, the file is read from
the beginning, again for each step back.

A copy gets its final name only when it is complete. A local copy never replaces a folder; a copy to a URL never deletes
files with other names. After a failed copy nothing has changed. Bytes are copied in pieces. Names in a remote listing
that lead out of the folder are refused. The content of a copy is checked by its reader, like any other file.

A local folder is copied completely, or the copy is refused. A link to a file in the same folder, or in DVC's cache
(where DVC can keep the content of its outputs), is copied as the file. Any other link is refused: a copy might publish
a file that its owner never put into the folder.
"""

import io
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any, TypeVar

from langladder.ground.atomic import atomic_file, atomic_folder
from langladder.ground.errors import InputError

# ---- errors


_PACKAGES = {"s3": "'langladder[cluster]'", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}
_CREDENTIALS = {
    "s3": "; credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or AWS_PROFILE, the server from "
    "AWS_ENDPOINT_URL (unset: Amazon's); FSSPEC_S3_ANON=true reads a public bucket without any",
    "gs": "; credentials come from GOOGLE_APPLICATION_CREDENTIALS or `gcloud auth application-default login`",
    "hf": "; credentials come from HF_TOKEN or `hf auth login`",
}


def without_secrets(text: str) -> str:
    """A text whose URLs are without secrets: user, password, values of the query."""
    text = re.sub(r"\b([a-z][a-z0-9+.-]*://)[^/?#\s]*@", r"\1", text, flags=re.IGNORECASE)
    return re.sub(r"\b([a-z][a-z0-9+.-]*://[^?\s'\"]*)\?[^\s'\")]+", r"\1?…", text, flags=re.IGNORECASE)


def is_missing(error: BaseException) -> bool:
    """Whether a server has reported that nothing exists there; an unreachable web server has not (see the cause)."""
    cause = error.__cause__
    return cause is None or getattr(cause, "status", getattr(cause, "errno", 404)) in (404, 410) or cause is error


def remote_error(url: str, error: BaseException) -> InputError:
    """The message for an error of a URL."""
    if isinstance(error, InputError):
        return error
    scheme, url = url.partition("://")[0], without_secrets(url)
    reason = without_secrets((str(error) or type(error).__name__).splitlines()[0])[:200]
    if isinstance(error, ImportError):
        package = _PACKAGES.get(scheme, "what it names")
        return InputError(f"{url}: {scheme}:// needs a package that is not installed ({reason}); pip install {package}")
    if isinstance(error, FileNotFoundError) and is_missing(error):
        return InputError(f"{url}: no such file, folder or bucket")
    if isinstance(error, ValueError) and "Protocol not known" in reason:
        return InputError(f"{url}: {scheme}:// is not supported; use s3://, gs://, https://, hf:// or a path")
    if isinstance(error, PermissionError) or "Credential" in type(error).__name__:
        return InputError(f"{url}: access is refused ({reason}){_CREDENTIALS.get(scheme, '')}")
    if isinstance(error, FileNotFoundError):
        reason = without_secrets(str(error.__cause__))[:200]
    return InputError(f"{url}: cannot be read ({reason})")


# ---- bytes


BLOCK = 2**23  # bytes per request
TRIES = 5
PAUSE = 0.2  # seconds before the first retry; each further one waits twice as long
Result = TypeVar("Result")


class RemoteBytes(io.RawIOBase):
    """An open remote file: bytes or `InputError`."""

    def __init__(self, url: str, system: Callable[[], tuple[Any, str]]) -> None:
        self._url, self._system = url, system  # the file system of fsspec, and the file's path there
        self._at = 0  # position of the reader
        self._file: Any = None  # the open file, and its position
        self._file_at = 0
        self._size: int | None = None  # None: unknown
        self._parts = True  # whether the server supports ranges, as far as known
        self._version: list[object] | None = None
        self._insist(self._open)

    def readable(self) -> bool:
        """Always true."""
        return True

    def seekable(self) -> bool:
        """Always true, whatever the server supports."""
        return True

    def tell(self) -> int:
        """The position of the reader."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position; nothing is read yet. Raises InputError for the end if the length is unknown."""
        if whence == io.SEEK_END and self._size is None:
            raise InputError(
                f"{without_secrets(self._url)}: the server does not report its length; copy it first (langladder copy)"
            )
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size or 0}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes. Raises InputError after `TRIES` tries."""
        data = self._insist(lambda: self._read(len(buffer)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def close(self) -> None:
        """Close the connection."""
        if self._file is not None:
            self._file.close()
        super().close()

    def _open(self) -> None:
        system, path = self._system()
        info = system.info(path)
        version = [info.get(key) for key in ("size", "ETag", "Last-Modified")]
        if self._version not in (None, version):
            raise InputError(f"{without_secrets(self._url)}: the file changed while it was read; run this again")
        self._version, self._size = version, info.get("size")
        self._parts &= info.get("partial", True)
        self._file = system.open(path, "rb", block_size=BLOCK if self._parts else 0, cache_type="readahead")
        self._file_at = 0

    def _read(self, length: int) -> bytes:
        if self._file is None or (self._at < self._file_at and not self._parts):
            self._open()
        if self._at != self._file_at and self._parts:
            self._file_at = self._file.seek(self._at)
        while self._file_at < self._at:
            self._next(self._at - self._file_at)
        return self._next(length)

    def _next(self, length: int) -> bytes:
        """The next bytes of the open file; empty only at its end."""
        try:
            data: bytes = self._file.read(length)
        except ValueError as error:
            self._parts &= "range requests" not in str(error)
            raise
        if not data and length and self._file_at < (self._size or 0):
            raise OSError(f"it ends at byte {self._file_at:,} of {self._size:,}")
        self._file_at += len(data)
        return data

    def _insist(self, work: Callable[[], Result]) -> Result:
        for attempt in range(TRIES):
            try:
                return work()
            except (FileNotFoundError, PermissionError, ImportError, InputError) as error:
                raise remote_error(self._url, error) from error
            except Exception as error:
                self._file = None
                if attempt == TRIES - 1:
                    raise remote_error(self._url, error) from error
                time.sleep(PAUSE * 2**attempt)
        raise AssertionError("unreachable")


# ---- files and folders


BUFFER = 2**20  # bytes that a reader holds
_URL = re.compile(r"[a-z][a-z0-9+.-]+://")


def is_url(path: object) -> bool:
    """Whether a location is a URL; a path of this machine is not, nor is file://."""
    return isinstance(path, Remote) or (
        isinstance(path, str) and _URL.match(path) is not None and path[:7] != "file://"
    )


@dataclass(frozen=True)
class Remote:
    """A file or folder behind a URL; as text, without user, password and query."""

    url: str = field(repr=False)
    listed: bool = field(default=False, compare=False, repr=False)  # listed as a file, so no request is needed

    def __str__(self) -> str:
        return without_secrets(self.url)

    @property
    def scheme(self) -> str:
        """The part before ://."""
        return self.url.partition("://")[0]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts between slashes, without the query of a web address."""
        path = self.url.partition("://")[2]
        return tuple((path.partition("?")[0] if self.is_web else path).rstrip("/").split("/"))

    @property
    def name(self) -> str:
        """The last part."""
        return self.parts[-1]

    @property
    def parent(self) -> "Remote":
        """The folder above."""
        return Remote(f"{self.scheme}://{'/'.join(self.parts[:-1])}{'/' * self.is_web}")

    def exists(self) -> bool:
        """Whether there is a file or a folder. Raises InputError if that is unknown."""
        return self._info() is not None

    def is_file(self) -> bool:
        """Whether it is a file; of a web address, all that does not end in /."""
        return self.listed or (self._info() or {}).get("type") == "file"

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return not self.listed and (self._info() or {}).get("type") == "directory"

    def glob(self, pattern: str) -> list["Remote"]:
        """The files below that match a pattern. Raises InputError if nothing can be listed."""
        from fsspec.utils import glob_translate

        wanted = re.compile(glob_translate(pattern))
        return [file for file in self._files() if wanted.match(str(below(self, file)))]

    def rglob(self, pattern: str) -> list["Remote"]:
        """The files in this folder and all below."""
        return self.glob(f"**/{pattern}")

    def open(self, _mode: str = "rb") -> io.BufferedReader:
        """Its bytes. Raises InputError if they cannot be read, also later."""
        return io.BufferedReader(RemoteBytes(self.url, self.system), BUFFER)

    @property
    def is_web(self) -> bool:
        """Whether it is a web address, whose folders are pages of links."""
        return self.scheme in ("http", "https")

    def system(self) -> tuple[Any, str]:
        """The file system of fsspec, and its name of this path."""
        import fsspec.core

        try:
            return fsspec.core.url_to_fs(self.url)  # type: ignore[no-any-return]
        except Exception as error:
            raise remote_error(self.url, error) from error

    def _info(self) -> dict[str, Any] | None:
        system, path = self.system()
        if self.is_web and self.url.endswith("/"):
            return {"type": "directory"}
        try:
            info: dict[str, Any] = system.info(path)
        except FileNotFoundError as error:
            if is_missing(error):
                return None
            raise remote_error(self.url, error) from error
        except Exception as error:
            raise remote_error(self.url, error) from error
        return info

    def _files(self) -> list["Remote"]:
        system, path = self.system()
        try:
            paths = [system.unstrip_protocol(entry) for entry in system.find(path)]
        except Exception as error:
            raise remote_error(self.url, error) from error
        files = [Remote(url, listed=True) for url in paths if not url.endswith("/")]
        return [file for file in files if file.parts != self.parts]


File = Path | Remote


def located(path: str | File) -> File:
    """What a path or URL names."""
    if isinstance(path, Remote) or not is_url(path):
        return path if isinstance(path, Path | Remote) else Path(path.removeprefix("file://"))
    url = str(path)
    return Remote(url if url.startswith("http") else url.rstrip("/"))


def below(folder: File, file: File) -> PurePath:
    """The path of a file below a folder."""
    depth = len(folder.parts)
    assert file.parts[:depth] == folder.parts
    return PurePosixPath(*file.parts[depth:])


def in_order(files: Iterable[File]) -> list[File]:
    """Files sorted by name, those of a URL as a local copy would be."""
    return sorted(files, key=lambda file: file.parts)


# ---- copies


PIECE = 2**23  # bytes
CACHED = re.compile(r"/files/md5/[0-9a-f]{2}/[0-9a-f]{30}$")  # a file in a cache of DVC


@contextmanager
def fetched(path: str | File) -> Iterator[Path]:
    """A path unchanged, or a temporary copy of a URL; errors name the URL.

    Raises:
        InputError: it does not exist, or cannot be read.
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
    """Copy a file, or a folder with its content.

    Args:
        overwrite: whether to replace an existing file. At a URL, files with other names stay; locally, only an empty
            folder is filled.

    Returns:
        How many files, and their bytes.

    Raises:
        InputError: there is no source, the target is there or inside the source, a link in a folder leads elsewhere, or
            something cannot be read or written.
    """
    if not source.exists():
        raise InputError(f"{source}: no such file or folder")
    if _inside(target, source):
        raise InputError(f"{target}: is inside {source}, which would be copied into itself; give a path outside of it")
    if not overwrite and target.exists():
        raise InputError(f"{target}: exists already; give --overwrite to replace it")
    files = {".": source} if source.is_file() else _files_of(source)
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
    """Whether the target is the copied folder or below it, with links followed."""
    if isinstance(target, Path) and isinstance(source, Path):
        return source.is_dir() and target.resolve().is_relative_to(source.resolve())
    both = isinstance(target, Remote) and isinstance(source, Remote) and target.scheme == source.scheme
    return both and source.is_dir() and target.parts[: len(source.parts)] == source.parts


def _files_of(folder: File) -> dict[str, File]:
    """The path of each file below a folder → the file. Raises InputError if a path leads out of the folder."""
    if isinstance(folder, Path):
        return dict(sorted(_files_here(folder).items()))
    files: dict[str, File] = {}
    for file in in_order(folder.rglob("*")):
        if file.is_file():
            parts = below(folder, file).parts
            if not parts or {"", ".", ".."} & set(parts) or "/" in parts:
                raise InputError(f"{file}: this name leads out of {folder}; nothing was copied")
            files["/".join(parts)] = file
    return files


def _files_here(folder: Path) -> dict[str, File]:
    files: dict[str, File] = {}
    root = folder.resolve()
    for parent, folders, names in os.walk(folder, onerror=_unreadable):
        for path in (Path(parent, name) for name in (*folders, *names)):
            if path.is_symlink():
                there = path.resolve()
                if not there.is_file() or not (there.is_relative_to(root) or CACHED.search(there.as_posix())):
                    what = "a file outside" if there.is_file() else "a folder" if there.is_dir() else "nothing"
                    raise InputError(
                        f"{path}: a link to {what}; only links to a file in {folder} itself are copied. "
                        "Nothing was copied; remove the link, or replace it by its target"
                    )
            if path.is_file():
                files[path.relative_to(folder).as_posix()] = path
            elif not path.is_dir():
                raise InputError(f"{path}: neither a file nor a folder; nothing was copied")
    return files


def _unreadable(error: OSError) -> None:
    raise InputError(f"{error.filename}: cannot be read ({error.strerror}); nothing was copied") from error


def _pour(source: File, target: Path) -> int:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as reading, target.open("wb") as writing:
        shutil.copyfileobj(reading, writing, PIECE)
        return writing.tell()


def _upload(files: dict[str, File], target: Remote) -> int:
    if target.is_web or target.scheme == "hf":
        raise InputError(f"{target}: {target.scheme}:// is read-only; write to s3://, gs:// or a path")
    system, base = target.system()
    size = 0
    try:
        with system.transaction:  # all files appear at its end, or none
            for name, file in files.items():
                path = base if name == "." else f"{base.rstrip('/')}/{name}"
                with file.open("rb") as reading, system.open(path, "wb", block_size=PIECE) as writing:
                    shutil.copyfileobj(reading, writing, PIECE)
                    size += writing.tell()
    except Exception as error:
        raise remote_error(target.url, error) from error
    return size
