"""Servers on loopback that tests read from and write to: moto's S3 and a web server that can be made to fail."""

import http.server
import os
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

BUCKET = "bucket"
AWS = {"AWS_ACCESS_KEY_ID": "nobody", "AWS_SECRET_ACCESS_KEY": "nothing", "AWS_DEFAULT_REGION": "us-east-1"}
AWS |= {"AWS_EC2_METADATA_DISABLED": "true"}


@contextmanager
def s3_server() -> Iterator[Any]:
    """An S3 server with one empty bucket, which the environment names; gives its file system. Skips without moto."""
    pytest.importorskip("moto", reason="needs moto's S3 server: pip install 'langladder[cluster]'")
    s3fs = pytest.importorskip("s3fs", reason="needs s3fs: pip install 'langladder[cluster]'")
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    reset = urllib.request.Request(f"http://{host}:{port}/moto-api/reset", method="POST")  # all servers share one state
    urllib.request.urlopen(reset).close()
    with patch.dict(os.environ, AWS | {"AWS_ENDPOINT_URL": f"http://{host}:{port}"}):
        s3fs.S3FileSystem.clear_instance_cache()
        system = s3fs.S3FileSystem()
        system.mkdir(BUCKET)
        yield system
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


class Web(http.server.SimpleHTTPRequestHandler):
    """Files of a folder, with parts of them where `parts` is set; the first `breaks` answers end half-way."""

    parts = True
    breaks = 0
    asked: list[str]

    def log_message(self, *_: Any) -> None:
        self.asked.append(f"{self.command} {self.path} {self.headers.get('Range', '')}".strip())

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def _answer(self, with_body: bool) -> None:
        path = Path(self.translate_path(self.path))
        if not path.is_file():
            return super().do_GET() if with_body else super().do_HEAD()
        data = path.read_bytes()
        start, end = 0, len(data)
        if wanted := self.headers.get("Range") if self.parts else None:
            first, _, last = wanted.removeprefix("bytes=").partition("-")
            start, end = int(first), min(end, int(last) + 1)
        self.send_response(206 if wanted else 200)
        if self.parts:
            self.send_header("Accept-Ranges", "bytes")
        if wanted:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(data)}")
        self.send_header("Content-Length", str(end - start))
        self.send_header("ETag", f'"{hash(data)}"')
        self.end_headers()
        if with_body:
            broken = type(self).breaks > 0
            type(self).breaks -= broken
            self.wfile.write(data[start : (start + end) // 2 if broken else end])
            self.close_connection = broken
        return None


@contextmanager
def web_server(folder: Path, *, parts: bool = True, breaks: int = 0) -> Iterator[tuple[str, type[Web]]]:
    """A web server of a folder: its address, and the handler class, which records the requests."""
    handler_type = type("Told", (Web,), {"parts": parts, "breaks": breaks, "asked": []})

    def handler(*arguments: Any) -> Web:
        return handler_type(*arguments, directory=str(folder))  # type: ignore[no-any-return]

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", handler_type
        server.shutdown()
        thread.join()
