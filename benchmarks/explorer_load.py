"""The explorer under load: 50 users ask for the surprisal of 30-word sentences, each never asked before.

    python benchmarks/explorer_load.py            # or make bench-explorer; on the models of this folder's ladder

Starts `langladder explore` on a free port, waits for the first page, asks each model once (so that it is loaded), then
sends the requests: first from users who read for a moment before they ask again, then from users who never rest. Each
request asks an n-gram model, an LSTM and a GPT together. Everything happens on this machine, the users included.
"""

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import time

from microworld.engine import world

HOST, WORDS = "127.0.0.1", 30


async def post(port: int, body: dict[str, object]) -> tuple[int, bytes]:
    """Status and body of one request, on a connection of its own."""
    text = json.dumps(body).encode()
    head = f"POST /api/surprisal/score HTTP/1.1\r\nhost: {HOST}:{port}\r\ncontent-type: application/json\r\n"
    reader, writer = await asyncio.open_connection(HOST, port, limit=2**22)
    writer.write(f"{head}content-length: {len(text)}\r\nconnection: close\r\n\r\n".encode() + text)
    answer = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    return int(answer.split(b" ", 2)[1]), answer


def sentences(count: int, seed: int) -> list[str]:
    """Different texts of 30 words, of microworld's stories one after the other."""
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        words: list[str] = []
        while len(words) < WORDS:
            words += [word for line in world().draw(rng) for word in line.words]
        texts.append(" ".join(words[:WORDS]))
    return texts


async def load(port: int, models: list[str], texts: list[str], users: int, pause: float) -> tuple[list[float], int]:
    """Seconds of each request, and how many failed; `pause`: seconds that a user reads, on average."""
    waiting, took, failed = iter(texts), [], 0

    async def user(number: int) -> None:
        nonlocal failed
        rng = random.Random(number)
        await asyncio.sleep(rng.random() * pause)
        for text in waiting:
            begun = time.perf_counter()
            status, answer = await post(port, {"texts": [text], "models": models})
            took.append(time.perf_counter() - begun)
            failed += status != 200 or answer.count(b'"bits"') != len(models) or b'"error"' in answer
            await asyncio.sleep(rng.uniform(0.5, 1.5) * pause)

    await asyncio.gather(*(user(number) for number in range(users)))
    return took, failed


def taken(process: int) -> tuple[float, float]:
    """MB that a process holds in memory, and the seconds of processor time that it has taken."""
    command = ["ps", "-o", "rss=,time=", "-p", str(process)]
    memory, clock = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    hours, minutes, seconds = (float(part) for part in f"0:{clock}".split(":")[-3:])
    return int(memory) / 1000, 3600 * hours + 60 * minutes + seconds


def told(what: str, took: list[float], failed: int, seconds: float, worked: float) -> None:
    """One line of figures."""
    ordered = sorted(took)
    share = {name: 1000 * ordered[min(len(ordered) - 1, int(len(ordered) * part))] for name, part in SHARES.items()}
    shown = ", ".join(f"{name} {value:.0f} ms" for name, value in share.items())
    rate = f"{len(took) / seconds:.0f} a second, {1000 * worked / len(took):.1f} ms of processor time each"
    print(f"{what}: {len(took)} requests, {failed} failed, {rate}, {shown}", flush=True)


PARTS = 5  # of each load, after which memory is read
SHARES = {"median": 0.5, "p95": 0.95, "p99": 0.99}


def main() -> None:
    """See the module."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folder", default="models")
    options.add_argument("--models", nargs="+", default=["kneser_ney", "lstm", "gpt"])
    options.add_argument("--users", type=int, default=50)
    options.add_argument("--requests", type=int, default=5000)
    options.add_argument("--pause", type=float, default=2.0, help="Seconds that a user reads, on average.")
    asked = options.parse_args()
    texts = sentences(asked.requests + asked.requests // 5, 1)
    begun = time.perf_counter()
    command = [sys.executable, "-m", "langladder", "explore", asked.folder, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r":(\d+) ", server.stdout.readline())
        assert found, "the server did not start"
        port = int(found[1])
        asyncio.run(page(port))
        print(f"first page: {time.perf_counter() - begun:.2f} s after the command", flush=True)
        begun = time.perf_counter()
        asyncio.run(load(port, asked.models, sentences(10, 2), 5, 0.0))
        print(f"models loaded: {time.perf_counter() - begun:.1f} s", flush=True)
        asyncio.run(load(port, asked.models, sentences(200, 3), asked.users, 0.0))
        held = [taken(server.pid)[0]]
        for what, pause, some in (
            (f"{asked.users} users who read {asked.pause:g} s", asked.pause, texts[: asked.requests]),
            (f"{asked.users} users without rest", 0.0, texts[asked.requests :]),
        ):
            begun, (_, before), took, failed = time.perf_counter(), taken(server.pid), [], 0
            for part in range(PARTS):
                these = some[len(some) * part // PARTS : len(some) * (part + 1) // PARTS]
                seconds, wrong = asyncio.run(load(port, asked.models, these, asked.users, pause))
                took, failed = took + seconds, failed + wrong
                held.append(taken(server.pid)[0])
            told(what, took, failed, time.perf_counter() - begun, taken(server.pid)[1] - before)
        after = ", ".join(f"{megabytes:.0f}" for megabytes in held[1:])
        print(f"memory: {held[0]:.0f} MB after warm-up; after each fifth of both loads: {after}")
    finally:
        server.terminate()
        server.wait(20)


async def page(port: int) -> None:
    """Ask for the first page."""
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(f"GET / HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 200"), answer[:200]


if __name__ == "__main__":
    main()
