"""Cleaning English Wikipedia: MB a second and core of the whole stage's work, start-up included.

python benchmarks/data_stages.py clean [--peers FOLDER]
"""

import gzip
import tempfile
from pathlib import Path

import click
from data_stages import medians, spent
from measure import markdown, verdict
from public_data import data

OURS = """
import sys
from pathlib import Path
from langladder.text.cleaning import CleanConfig, clean_text
clean_text(Path(sys.argv[1]), Path(sys.argv[2]), CleanConfig(), 1)
"""
RAW = """
import sys
from pathlib import Path
from langladder.text.readers import read_text
from langladder.text.sources import TextSource
read_text(TextSource(path=sys.argv[1], documents="heading", heading="= [^=].* ="), Path(sys.argv[2]))
"""


@click.command()
@data
@click.option("--megabytes", default=40, show_default=True, help="Of wiki-en.")
@click.option("--repeats", default=3, show_default=True, help="Medians are of so many runs.")
def clean(data: Path, megabytes: int, repeats: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = gzip.decompress((data / "wiki-en" / "wiki_en.txt.gz").read_bytes())[: megabytes * 1_000_000]
        (folder / "wiki.txt").write_bytes(text[: text.rfind(b"\n") + 1])
        spent(["-c", RAW, folder / "wiki.txt", folder / "raw"])
        found = medians([spent(["-c", OURS, folder / "raw", folder / f"clean{run}"]) for run in range(repeats)])
    speed = len(text) / 1e6 / found.cpu
    rows = [["langladder", f"{found.cpu:.2f} s", f"{speed:.1f}", f"{found.peak / 2**20:.0f} MiB", verdict(speed, 10)]]
    markdown(
        f"`clean`, {len(text) / 1e6:.0f} MB of English Wikipedia", ["", "processor", "MB/s", "peak memory", "aim"], rows
    )
