"""`langladder serve` as its users start it, and the commands of docs/serving.md."""

import json
import re
import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

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
    found = re.search(r"serving kneser_ney, gpt, sft at (http://127.0.0.1:\d+)", line)
    assert found, line + started.stderr.read()
    yield found[1]
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


def test_an_address_in_use_is_said(address, shelf) -> None:
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
