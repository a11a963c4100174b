"""The peak memory of a process that works on millions of random words."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS


def write_words(path: Path) -> None:
    """8 million words of 30,000, in lines of nineteen."""
    ids = (4 + 29_996 * np.random.default_rng(0).random(8_000_000) ** 3).astype(np.int32)
    ids[::20] = BOS
    TokenStream.write(path, [ids], batch_tokens=1 << 30)


def measured(script: str, path: Path, memory: int) -> tuple[int, str]:
    """Bytes held and the hash that a script prints; its arguments are a path and the granted memory (0: any)."""
    command = [sys.executable, "-c", script, str(path), str(memory)]
    peak, digest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return int(peak), digest
