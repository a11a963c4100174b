"""`langladder serve` as its users start it, and the commands of docs/serving.md."""

import json
import re
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest
import uvicorn

from langladder.faces.http import api, server
from tests.models.spoken import saved_instructed

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "serving.md").read_text(encoding="utf-8")
CURLS = re.findall(r"^curl -s localhost:8000.*?(?<!\\)$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def address(shelf, tmp_path_factory):
    models = [str(shelf.folders[name]) for name in ("kneser_ney", "gpt")]
    models.append(str(saved_instructed(tmp_path_factory.mktemp("instruct") / "sft", context=24)))
    command = [sys.executable, "-m", "langladder", "serve", *models, "--port", "0"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = started.stdout.readline()
    match = re.search(r"serving kneser_ney, gpt, sft at (http://127.0.0.1:\d+)", line)
    assert match, line + started.stderr.read()
    yield match[1]
    started.send_signal(signal.SIGINT)
    assert "Traceback" not in started.communicate(timeout=10)[1]


@pytest.mark.parametrize("curl", CURLS)
def test_the_page_s_requests_are_answered(address, curl) -> None:
    words = shlex.split(curl.replace("\\\n", " "))
    body = words[words.index("-d") + 1].encode()
    url = address + words[2].removeprefix("localhost:8000")
    request = urllib.request.Request(url, body, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        (choice,) = json.loads(answer.read())["choices"]
    assert choice["message"]["content"] if "chat" in url else choice["text"]
    assert len(CURLS) == 3


def test_an_address_in_use_is_reported(address, shelf) -> None:
    command = [
        sys.executable,
        "-m",
        "langladder",
        "serve",
        str(shelf.folders["gpt"]),
        "--port",
        address.rpartition(":")[2],
    ]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "choose another --port" in ended.stderr


@pytest.fixture
def hasty(shelf, monkeypatch):
    """A server that waits for a head for half a second."""
    monkeypatch.setattr(server, "HEAD", 0.5)
    served = uvicorn.Server(uvicorn.Config(api.create(shelf), http=server.Heads, port=0, log_level="error"))
    thread = threading.Thread(target=served.run, daemon=True)
    thread.start()
    while not served.started:
        assert thread.is_alive()
        thread.join(0.01)
    yield served.servers[0].sockets[0].getsockname()
    served.should_exit = True
    thread.join(5)


HEAD = b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\n"


@pytest.mark.parametrize("before", [b"", b"G", HEAD, HEAD + b"\r\n" + HEAD])
def test_half_a_head_is_closed_even_if_bytes_trickle_in(hasty, before) -> None:
    began = time.monotonic()
    with socket.create_connection(hasty, timeout=5) as client:
        client.sendall(before)
        client.settimeout(0.1)
        answer, ended = b"", False
        while not ended and time.monotonic() < began + 5:
            try:
                client.sendall(b"x" * (HEAD in before))
                piece = client.recv(4096)
                answer, ended = answer + piece, not piece
            except TimeoutError:
                continue
            except OSError:  # closed while a byte was on its way
                ended = True
    assert ended and time.monotonic() < began + 3
    assert answer.count(b"HTTP/1.1 200") == before.count(b"\r\n\r\n")


def test_a_connection_serves_requests_one_after_the_other(hasty) -> None:
    with socket.create_connection(hasty, timeout=5) as client, client.makefile("rb") as file:
        for _ in range(3):
            client.sendall(HEAD + b"\r\n")
            lines = list(iter(file.readline, b"\r\n"))
            assert lines[0].startswith(b"HTTP/1.1 200")
            file.read(int(next(line for line in lines if line.startswith(b"content-length")).split()[1]))
            time.sleep(0.7)  # longer than a head may take: an idle connection is not one


@pytest.mark.long
def test_more_half_heads_than_files_end_in_one_line_and_then_everybody_is_answered(shelf) -> None:
    command = [sys.executable, "-m", "langladder", "serve", str(shelf.folders["gpt"]), "--port", "0"]
    few = ["bash", "-c", 'ulimit -n 128; exec "$@"', "serve", *command]
    started = subprocess.Popen(few, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    clients = []
    try:
        port = int(re.search(r":(\d+) \(Ctrl", started.stdout.readline())[1])
        for _ in range(200):
            clients.append(socket.create_connection(("127.0.0.1", port), timeout=10))
            clients[-1].sendall(HEAD)
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/v1/models", timeout=3 * server.HEAD) as answer:
            assert answer.status == 200
    finally:
        for client in clients:
            client.close()
        started.send_signal(signal.SIGINT)
        _, errors = started.communicate(timeout=20)
    assert "Traceback" not in errors and 1 <= errors.count("too many connections") <= 3


@pytest.mark.parametrize(("host", "warned"), [("0.0.0.0", True), ("127.0.0.1", False), ("localhost", False)])
def test_who_can_reach_a_server_is_reported(host, warned, monkeypatch, capsys) -> None:
    monkeypatch.setattr(uvicorn.Server, "serve", lambda _, sockets: _ended(sockets))
    server.run(lambda *_: None, host, 0, "serving nothing")
    errors = capsys.readouterr().err
    assert ("without a password" in errors and "proxy" in errors) == warned


async def _ended(sockets) -> None:
    sockets[0].close()
