"""Files behind a URL (S3, Google Storage, HTTPS, the Hugging Face Hub), with what of `pathlib.Path` their readers use.

Listings and bytes come through `fsspec`: `s3://` needs s3fs, `gs://` gcsfs, `https://` and `hf://` nothing more. A file
is read block by block (`remote_bytes`) and never lies here as a whole. Nothing in it is run.
"""

import io
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any

from langladder.ground.remote_bytes import RemoteBytes
from langladder.ground.remote_errors import missing, told, without_secrets

BUFFER = 2**20  # bytes that a reader holds
_URL = re.compile(r"[a-z][a-z0-9+.-]+://")


def is_url(path: object) -> bool:
    """Whether a place is a URL; a path of this machine is none, nor is file://."""
    return isinstance(path, Remote) or (
        isinstance(path, str) and _URL.match(path) is not None and path[:7] != "file://"
    )


@dataclass(frozen=True)
class Remote:
    """A file or folder behind a URL; as text, without user, password and query."""

    url: str = field(repr=False)
    listed: bool = field(default=False, compare=False, repr=False)  # as a file, so nobody need ask again

    def __str__(self) -> str:
        return without_secrets(self.url)

    @property
    def scheme(self) -> str:
        """What stands before ://."""
        return self.url.partition("://")[0]

    @property
    def parts(self) -> tuple[str, ...]:
        """What stands between the slashes, the query of a web address aside."""
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
        """Whether there is a file or a folder. Raises InputError where that cannot be found out."""
        return self._info() is not None

    def is_file(self) -> bool:
        """Whether it is a file; of a web address, all that does not end in /."""
        return self.listed or (self._info() or {}).get("type") == "file"

    def is_dir(self) -> bool:
        """Whether it is a folder."""
        return not self.listed and (self._info() or {}).get("type") == "directory"

    def glob(self, pattern: str) -> list["Remote"]:
        """The files below that a pattern names. Raises InputError where nothing can be listed."""
        from fsspec.utils import glob_translate

        wanted = re.compile(glob_translate(pattern))
        return [file for file in self._files() if wanted.match(str(below(self, file)))]

    def rglob(self, pattern: str) -> list["Remote"]:
        """The files in this folder and all below."""
        return self.glob(f"**/{pattern}")

    def open(self, _mode: str = "rb") -> io.BufferedReader:
        """Its bytes. Raises InputError where they cannot be read, also later."""
        return io.BufferedReader(RemoteBytes(self.url, self.system), BUFFER)

    @property
    def is_web(self) -> bool:
        """Whether it is a web address, whose folders are pages of links."""
        return self.scheme in ("http", "https")

    def system(self) -> tuple[Any, str]:
        """The file system of fsspec, and what it calls this place."""
        import fsspec.core

        try:
            return fsspec.core.url_to_fs(self.url)  # type: ignore[no-any-return]
        except Exception as error:
            raise told(self.url, error) from error

    def _info(self) -> dict[str, Any] | None:
        system, path = self.system()
        if self.is_web and self.url.endswith("/"):
            return {"type": "directory"}
        try:
            found: dict[str, Any] = system.info(path)
        except FileNotFoundError as error:
            if missing(error):
                return None
            raise told(self.url, error) from error
        except Exception as error:
            raise told(self.url, error) from error
        return found

    def _files(self) -> list["Remote"]:
        system, path = self.system()
        try:
            found = [system.unstrip_protocol(one) for one in system.find(path)]
        except Exception as error:
            raise told(self.url, error) from error
        files = [Remote(url, listed=True) for url in found if not url.endswith("/")]
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
    """Files by their names, those of a URL as a copy of them here would be."""
    return sorted(files, key=lambda file: file.parts)
