"""`langladder copy`, and what other commands write to and read from a URL."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from remote_servers import BUCKET, s3_server, web_server

from langladder.embeddings.base import WordVectors
from langladder.faces.cli.main import app
from langladder.formats.vector_files import read_vectors
from langladder.ground.errors import InputError
from langladder.ground.remote import Remote, copy, fetched, located


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    with s3_server() as system:
        yield system


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    WordVectors(["a", "b"], np.array([[1, 0], [0, 1]], np.float32)).save(tmp_path / "vectors")
    return tmp_path / "vectors"


def ask(*arguments: object, code: int = 0) -> str:
    """What the command prints; where that is JSON, without its notes."""
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result.stdout if "--json" in arguments else result.output


def test_a_folder_goes_to_a_bucket_and_back(s3: Any, vectors: Path, tmp_path: Path) -> None:
    (vectors / "deep").mkdir()
    (vectors / "deep" / "x.bin").write_bytes(os.urandom(100_000))
    url = f"s3://{BUCKET}/there"
    assert json.loads(ask("copy", vectors, url, "--json"))["files"] == len(s3.find(f"{BUCKET}/there"))
    ask("copy", url, tmp_path / "back")
    for file in filter(Path.is_file, vectors.rglob("*")):
        assert (tmp_path / "back" / file.relative_to(vectors)).read_bytes() == file.read_bytes()
    assert "exists already" in ask("copy", vectors, url, code=2)
    assert "this folder is not replaced" in ask("copy", url, tmp_path / "back", "--overwrite", code=2)
    ask("copy", vectors / "words.json", f"{url}/words.json", "--overwrite")
    with_file = CliRunner().invoke(app, ["copy", f"{url}/words.json", "-"])
    assert with_file.stdout.encode() == (vectors / "words.json").read_bytes() and "1 file," in with_file.stderr
    assert s3.cat(f"{BUCKET}/there/words.json") == (vectors / "words.json").read_bytes()


def test_commands_write_to_a_bucket_and_read_from_it(s3: Any, vectors: Path) -> None:
    assert not s3.exists(f"{BUCKET}/converted")
    for name in ("x.vec.gz", "folder"):
        url = f"s3://{BUCKET}/converted/{name}"
        assert url in ask("convert", vectors, url)
        assert np.array_equal(read_vectors(url).matrix, np.eye(2))
        assert "exists already" in ask("convert", vectors, url, code=2)
        ask("convert", vectors, url, "--overwrite")
    assert "b" in ask("neighbours", f"s3://{BUCKET}/converted/folder", "a")
    assert f"s3://{BUCKET}/nothing" in ask("neighbours", f"s3://{BUCKET}/nothing", "a", code=2)
    assert f"s3://{BUCKET}/converted/folder: no config.json" in ask(
        "import", f"s3://{BUCKET}/converted/folder", vectors.parent / "model", code=2
    )
    assert not (vectors.parent / "model").exists()


@pytest.mark.parametrize("size", [100, 9 * 2**20])  # in one request, and in parts
def test_an_upload_that_breaks_off_changes_nothing(
    size: int, s3: Any, vectors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, pour, done = f"{BUCKET}/broken{size}", shutil.copyfileobj, []
    (vectors / "a.bin").write_bytes(bytes(size))
    s3.pipe(f"{path}/a.bin", b"what was there")

    def breaks(*arguments: Any) -> None:
        pour(*arguments)
        done.append(1)
        if len(done) == 2:
            raise OSError("the line is dead")

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copyfileobj", breaks)
        with pytest.raises(InputError, match=rf"s3://{path}: .*the line is dead"):
            copy(vectors, located(f"s3://{path}"), overwrite=True)
    s3.invalidate_cache()
    assert s3.find(path) == [f"{path}/a.bin"] and s3.cat(f"{path}/a.bin") == b"what was there"
    copy(vectors, located(f"s3://{path}"), overwrite=True)
    assert s3.cat(f"{path}/a.bin") == bytes(size)


def test_names_that_lead_out_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    listed = [Remote("s3://b/x/fine", listed=True), Remote("s3://b/x/../../evil", listed=True)]
    monkeypatch.setattr(Remote, "rglob", lambda *_: listed)
    monkeypatch.setattr(Remote, "_info", lambda _: {"type": "directory"})  # nobody is asked
    with pytest.raises(InputError, match="leads out of"):
        copy(Remote("s3://b/x"), tmp_path / "in" / "here")
    assert not list(tmp_path.rglob("*"))


@pytest.mark.usefixtures("s3")
def test_a_folder_is_not_copied_into_itself(vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vectors)
    before = sorted(tmp_path.rglob("*"))
    for inside in (vectors / "x", vectors / "deep" / "x", tmp_path / "link" / "x"):
        for source in (vectors, tmp_path / "link"):
            assert "copied into itself; give a path outside" in ask("copy", source, inside, code=2)
    assert sorted(tmp_path.rglob("*")) == before
    ask("copy", vectors, f"s3://{BUCKET}/whole")
    assert "copied into itself" in ask("copy", f"s3://{BUCKET}/whole", f"s3://{BUCKET}/whole/part", code=2)
    ask("copy", vectors, tmp_path / "vectors2")  # only the beginning of the name is the same
    ask("copy", vectors / "words.json", vectors / "more" / "words.json")  # a file has no inside


def test_links_out_of_a_folder_are_refused_and_none_is_dropped(s3: Any, vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("key")
    (tmp_path / "folder").mkdir()
    messages = {
        "secret": "a link to a file outside",
        "folder": "a link to a folder",
        "vectors": "a link to a folder",  # a circle
        "missing": "a link to nothing",
    }
    for name, what in messages.items():
        (vectors / "odd").symlink_to(tmp_path / name)
        for out in (tmp_path / "copy", f"s3://{BUCKET}/linked"):
            assert f"odd: {what}" in " ".join(ask("copy", vectors, out, code=2).split())
        (vectors / "odd").unlink()
    os.mkfifo(vectors / "odd")
    assert "neither a file nor a folder" in ask("copy", vectors, tmp_path / "copy", code=2)
    (vectors / "odd").unlink()
    assert not (tmp_path / "copy").exists() and not s3.exists(f"{BUCKET}/linked")
    cached = tmp_path / "cache" / "files" / "md5" / "ab" / ("0" * 30)
    cached.parent.mkdir(parents=True)
    cached.write_text("of DVC")
    (vectors / "output").symlink_to(cached)
    (vectors / "again").symlink_to("words.json")
    ask("copy", vectors, tmp_path / "copy")
    copied = {file.name: file.read_text() for file in (tmp_path / "copy").iterdir() if file.suffix != ".safetensors"}
    assert copied["output"] == "of DVC" and copied["again"] == copied["words.json"]
    assert not any(file.is_symlink() for file in (tmp_path / "copy").iterdir())


def test_a_folder_that_may_not_be_read_is_not_left_out(vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (vectors / "deep").mkdir()
    scan = os.scandir

    def refuses(path: Any) -> Any:
        if Path(path).name == "deep":
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuses)
    with pytest.raises(InputError, match=r"deep: cannot be read \(Permission denied\); nothing was copied"):
        copy(vectors, vectors.parent / "copy")


def test_no_password_is_shown(vectors: Path, tmp_path: Path) -> None:
    with web_server(vectors.parent) as (url, _):
        secret = url.replace("http://", "http://me:PASS@")
        for path in ("words.json", "words.json?token=SIGNED", "nothing.json?token=SIGNED"):
            missing = path.startswith("nothing")
            output = ask("copy", f"{secret}/vectors/{path}", tmp_path / f"out{len(path)}", code=2 if missing else 0)
            output += ask("copy", f"{secret}/vectors/{path}", tmp_path, code=2)
            assert f"{url}/vectors/{path.partition('?')[0]}" in output
            assert "PASS" not in output and "SIGNED" not in output
    for address in ("http://me:PASS@127.0.0.1:1/x", "nonsense://me:P@ASS:PASS@b/x", "s3://me:PASS@b?versionId=SIGNED"):
        output = ask("copy", address, tmp_path / "new", code=2)
        assert "PASS" not in output and "SIGNED" not in output, output
    assert "PASS" not in repr(Remote("http://me:PASS@host/x"))


def test_the_web_is_only_read(vectors: Path, tmp_path: Path) -> None:
    with web_server(vectors.parent) as (url, _):
        ask("copy", f"{url}/vectors/words.json", tmp_path / "words.json")
        assert (tmp_path / "words.json").read_bytes() == (vectors / "words.json").read_bytes()
        assert "is read-only" in ask("copy", vectors / "words.json", f"{url}/new.json", code=2)
        with (
            pytest.raises(InputError, match=r"127\.0\.0\.1:\d+/vectors/words\.json: bad"),
            fetched(f"{url}/vectors/words.json") as local,
        ):
            raise InputError(f"{local}: bad")
