"""Cleaning English Wikipedia: MB a second and core of the whole stage's work, start-up included.

python benchmarks/data_stages.py clean [--peers FOLDER]
"""

import gzip
import json
import tempfile
from pathlib import Path

import click
from measure import Spent, markdown, medians, spent
from public_data import data

from langladder.text.storage.tables import read_documents

OURS = """
import sys
from pathlib import Path
from langladder.text.clean.clean_text import CleanConfig, clean_text
clean_text(Path(sys.argv[1]), Path(sys.argv[2]), CleanConfig(), 1)
"""
RAW = """
import sys
from pathlib import Path
from langladder.text.read.files import read_text
from langladder.text.read.files import TextSource
read_text(TextSource(path=sys.argv[1], documents="heading", heading="= [^=].* ="), Path(sys.argv[2]))
"""

DATATROVE = """
import hashlib, sys
from datatrove.executor.local import LocalPipelineExecutor
from datatrove.pipeline.filters import LambdaFilter
from datatrove.pipeline.formatters import FTFYFormatter
from datatrove.pipeline.readers import JsonlReader
from datatrove.pipeline.stats import DocStats, LineStats
from datatrove.pipeline.writers import JsonlWriter
seen = set()
def new(document):
    digest = hashlib.blake2b(document.text.encode(), digest_size=16).digest()
    found = digest not in seen
    seen.add(digest)
    return found
read, write, logs = sys.argv[1:]
kept = {"groups_to_compute": ["summary", "histogram"]}
stats = [DocStats(logs + "/documents", **kept), LineStats(logs + "/lines", **kept)]
steps = [JsonlReader(read, compression=None), FTFYFormatter(), LambdaFilter(new), *stats]
LocalPipelineExecutor([*steps, JsonlWriter(write, compression=None)], logging_dir=logs).run()
"""


@click.command()
@data
@click.option("--megabytes", default=40, show_default=True, help="Of wiki-en.")
@click.option("--repeats", default=3, show_default=True, help="Medians are of so many runs.")
@click.option("--peers", type=click.Path(path_type=Path), help="Folder of packages with datatrove.")
def clean(data: Path, megabytes: int, repeats: int, peers: Path | None) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = gzip.decompress((data / "wiki-en" / "wiki_en.txt.gz").read_bytes())[: megabytes * 1_000_000]
        (folder / "wiki.txt").write_bytes(text[: text.rfind(b"\n") + 1])
        spent(["-c", RAW, folder / "wiki.txt", folder / "raw"])
        (folder / "json").mkdir()
        with (folder / "json" / "wiki.jsonl").open("w", encoding="utf-8") as file:
            for number, document in enumerate(read_documents(folder / "raw" / "all")):
                file.write(json.dumps({"text": document.text, "id": str(number)}, ensure_ascii=False) + "\n")
        runs: dict[str, list[Spent]] = {"datatrove": [], "langladder": []}
        for run in range(repeats):
            runs["langladder"].append(spent(["-c", OURS, folder / "raw", folder / f"clean{run}"]))
            if peers is not None:
                arguments = ["-c", DATATROVE, folder / "json", folder / f"out{run}", folder / f"logs{run}"]
                runs["datatrove"].append(spent(arguments, [peers]))
    found = {name: medians(some) for name, some in runs.items() if some}
    size, ours = len(text) / 1e6, found["langladder"]
    rows = [[n, f"{s.cpu:.2f} s", f"{size / s.cpu:.1f}", f"{s.peak / 2**20:.0f} MiB"] for n, s in found.items()]
    notes = [f"datatrove / langladder {found['datatrove'].cpu / ours.cpu:.2f}"] if peers else []
    markdown(f"`clean`, {size:.0f} MB of English Wikipedia", ["", "processor", "MB/s a core", "peak"], rows, notes)
