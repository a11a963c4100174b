"""A corpus behind a URL is read as a copy of it here, without lying here; what goes wrong is said with the URL."""

import gzip
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from remote_servers import BUCKET, s3_server, web_server

from langladder.ground import remote
from langladder.ground.errors import InputError
from langladder.ground.remote import is_url, located
from langladder.text.labelled.label_files import LabelledSource, read_labels
from langladder.text.labelled.tag_files import TaggedSource, read_tags
from langladder.text.read.files import TextSource, read_text
from langladder.text.read.hub import HubSource, read_hub
from langladder.text.read.lines import ReadReport, read_lines, reading
from langladder.text.read.pairs import ParallelSource, read_parallel
from langladder.text.storage import tables

MANY = "\n".join(f"sentence {i} of a long file" for i in range(40_000)) + "\n"  # more than a buffer


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    with s3_server() as system:
        yield system


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A folder with every format, and with what is not read."""
    folder = tmp_path / "corpus"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "b.txt").write_text("the cat\n\nthe dog\n")
    (folder / "a-b.txt").write_text("before a, by its name\n")
    (folder / "a" / "x.txt").parent.mkdir()
    (folder / "a" / "x.txt").write_text("behind a folder\n")
    (folder / "c.txt.gz").write_bytes(gzip.compress(MANY[:50_000].encode()))
    (folder / "deep" / "d.jsonl").write_text(json.dumps({"text": "猫が座る"}) + "\n")
    tables.write_table(folder / "deep" / "er" / "e.parquet", pa.table({"text": ["one row", "two rows"]}))
    (folder / "README.md").write_text("not read")
    (folder / ".hidden.txt").write_text("nor this")
    (folder / "f.pdf").write_text("nor that")
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def same(make: Any, item: str, two: str, folder: Path) -> dict[str, Any]:
    """What a reader makes of two places; both are one."""
    reports = [make(path, folder / name) for name, path in (("here", item), ("there", two))]
    assert reports[0] == reports[1]
    assert files_in(folder / "here") == files_in(folder / "there") != {}
    return reports[0]


def text(path: str, out: Path, **settings: Any) -> ReadReport:
    return read_text(TextSource(path=path, files=settings.pop("files", "**/*"), **settings), out)


def test_a_bucket_is_read_as_the_same_folder_here(s3: Any, corpus: Path, tmp_path: Path) -> None:
    s3.put(str(corpus), f"{BUCKET}/one", recursive=True)
    report = same(text, str(corpus), f"s3://{BUCKET}/one", tmp_path)
    assert report["splits"]["all"]["lines"] == len(MANY[:50_000].splitlines()) + 7 and report["skipped_files"] == 3
    same(lambda path, out: text(path, out, files="**/*.gz"), str(corpus), f"s3://{BUCKET}/one/", tmp_path / "gz")
    same(text, str(corpus / "c.txt.gz"), f"s3://{BUCKET}/one/c.txt.gz", tmp_path / "file")
    splits = {"train": "*.gz", "test": "deep/**/*"}
    same(lambda path, out: text(path, out, files=splits), str(corpus), f"s3://{BUCKET}/one", tmp_path / "splits")


def test_pairs_labels_and_tags_come_by_the_same_door(s3: Any, tmp_path: Path) -> None:
    folder = tmp_path / "sides"
    for name, content in {
        "pairs/x.en": "a\nb\n",
        "pairs/x.eo": "c\nd\n",
        "labels/good/1.txt": "fine\n",
        "labels/bad/1.txt": "poor\n",
        "tags/x.conll": "the DET\ncat NOUN\n\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    s3.put(str(folder), f"{BUCKET}/sides", recursive=True)
    readers = {
        "pairs": lambda path, out: read_parallel(ParallelSource(path=path, layout="auto"), out),
        "labels": lambda path, out: read_labels(LabelledSource(path=path, files="**/*"), out),
        "tags": lambda path, out: read_tags(TaggedSource(path=path), out),
    }
    for side, reader in readers.items():
        same(reader, str(folder / side), f"s3://{BUCKET}/sides/{side}", tmp_path / side)


@pytest.mark.parametrize("parts", [True, False])
def test_the_web_gives_files_and_pages_of_links(corpus: Path, tmp_path: Path, parts: bool) -> None:
    with web_server(corpus, parts=parts) as (url, _):
        for name in ("b.txt", "c.txt.gz", "deep/d.jsonl", "deep/er/e.parquet"):
            same(text, str(corpus / name), f"{url}/{name}", tmp_path / name)
        same(text, str(corpus / "c.txt.gz"), f"{url}/c.txt.gz?session=1", tmp_path / "query")
        (corpus / ".hidden.txt").unlink()  # the page of a folder tells of it, too
        same(text, str(corpus), f"{url}/", tmp_path / "folder")


@pytest.mark.parametrize("parts", [True, False])
def test_a_connection_that_breaks_is_resumed_where_it_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: bool
) -> None:
    monkeypatch.setattr(remote, "PAUSE", 0)
    monkeypatch.setattr(remote, "BLOCK", 2**18)
    (tmp_path / "x.txt").write_text(MANY)
    with web_server(tmp_path, parts=parts, breaks=3) as (url, server):
        assert "".join(f"{line}\n" for line in read_lines(located(f"{url}/x.txt"))) == MANY
        assert server.breaks == 0, "nothing broke"
        server.breaks = 10**6
        with pytest.raises(InputError, match=r"x\.txt: cannot be read"):
            list(read_lines(located(f"{url}/x.txt")))


def test_a_big_file_is_not_fetched_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "BLOCK", 2**18)
    (tmp_path / "x.txt").write_text(MANY)
    with web_server(tmp_path) as (url, server):
        with reading(f"{url}/x.txt") as file:
            file.readline()
        assert server.asked and not [item for item in server.asked if item.startswith("GET") and "bytes=" not in item]


def test_what_is_wrong_is_reported_with_the_url(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(path: str, message: str) -> None:
        with pytest.raises(InputError, match=message):
            text(path, tmp_path / "raw")
        assert not (tmp_path / "raw").exists()

    refuses("s3://no-such-bucket/corpus", "path: 's3://no-such-bucket/corpus' does not exist")
    refuses(f"s3://{BUCKET}/nothing.txt", "does not exist")
    s3.pipe(f"{BUCKET}/odd/x.pdf", b"%")
    refuses(f"s3://{BUCKET}/odd", r"matches no file in 's3://bucket/odd'; not read: x\.pdf")
    s3.pipe(f"{BUCKET}/bad/x.txt.gz", gzip.compress(MANY.encode())[:-20])
    refuses(f"s3://{BUCKET}/bad", r"s3://bucket/bad/x\.txt\.gz: damaged gzip")
    s3.pipe(f"{BUCKET}/bad2/x.txt", b"fine\nb\xffd\n")
    refuses(f"s3://{BUCKET}/bad2", r"s3://bucket/bad2/x\.txt:2: invalid UTF-8")
    refuses("nonsense://x/y", "nonsense:// is not supported; use s3://")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    refuses("http://127.0.0.1:9/x.txt", r"127\.0\.0\.1:9/x\.txt: cannot be read")


def test_missing_credentials_and_missing_packages(s3: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.clear_instance_cache()
    for key in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(key)
    with pytest.raises(InputError, match=r"s3://bucket/x: access is refused .*AWS_ACCESS_KEY_ID"):
        located("s3://bucket/x").exists()
    s3.clear_instance_cache()
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3")
    with pytest.raises(InputError, match=r"s3://bucket/x: .* not installed .*pip install 'langladder\[cluster\]'"):
        located("s3://bucket/x").exists()


def test_places_here_stay_paths(tmp_path: Path) -> None:
    for path in ("input/text", "/a/b", "C:x", "a:b//c", "./s3:/x", "file:///a/b", os.fspath(tmp_path)):
        assert isinstance(located(path), Path) and not is_url(path)
    assert located("file:///a/b") == Path("/a/b")
    assert str(located("s3://bucket/corpus/")) == "s3://bucket/corpus"
    assert located("https://host/a/b.txt?x=1/2").name == "b.txt"
    assert str(located("https://host/a/b.txt").parent) == "https://host/a/"


def test_a_data_set_of_the_hub_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    (tmp_path / "x.jsonl").write_text("".join(json.dumps({"text": f"row {i}"}) + "\n" for i in range(5)))
    load, revisions = datasets.load_dataset, []

    def here(*_: Any, **options: Any) -> Any:
        revisions.append(options.pop("revision"))
        return load("json", data_files=str(tmp_path / "x.jsonl"), cache_dir=str(tmp_path / "kept"), **options)

    monkeypatch.setattr(datasets, "load_dataset", here)
    source = HubSource(name="x", splits="train", revision="abc", streaming=True)
    assert read_hub(source, tmp_path / "raw")["splits"]["all"]["lines"] == 5
    assert revisions == ["abc"] and not list((tmp_path / "kept").rglob("*.arrow")), "it was kept"

    def breaks(*_: Any, **__: Any) -> Iterator[dict[str, str]]:
        yield {"text": "one row"}
        raise ConnectionError("the line is dead")

    monkeypatch.setattr(datasets, "load_dataset", breaks)
    with pytest.raises(InputError, match=r"'x' .*cannot be loaded: the line is dead"):
        read_hub(source, tmp_path / "again")
    assert not (tmp_path / "again").exists()
