"""What each data stage costs as the text grows: time and peak memory by engine, exponents, pictures.

    python benchmarks/scaling.py run --sizes 10,100,1000 --engines 1,2,dask-2
    python benchmarks/scaling.py show --svg docs/results

`run` makes text that grows as English Wikipedia does (`growing_text.py`), puts it through the stages, each in a process
of its own (`scaling_stages.py`), and notes every figure in benchmarks/results/scaling.json at once, so that it goes on
where it was stopped. Outputs of all engines are compared by their hashes. Other work on the machine makes seconds on
the clock worthless; seconds of the processor stay about right.
"""

import hashlib
import json
import multiprocessing
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
from growing_text import heaps, read_source, write_text
from measure import markdown
from public_data import data, find
from scaling_stages import ALONE, STAGES

from langladder.experiments.findings import Plot, series
from langladder.faces.report.claims import findings_file
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.artefacts import write_text as write_file

RESULTS = Path("benchmarks/results/scaling.json")
ROWS = {stage: stage for stage in ("labels", "dialogues", "questions")}
MADE = {"corpus": "raw", "clean": "clean", "tokenize": "tokens", "vocab": "words", "cooccur": "counts"} | ROWS
READ_BY: dict[str, set[str]] = {
    "raw": {"clean"},
    "clean": {"tokenize", "vocab"},
    "tokens": {"ngrams"},
    "words": {"cooccur", "skipgram"},
    **{place: set() for place in ("rows", *ROWS)},
}
BEGIN = 1_000_000  # running words from which on Heaps' exponent is measured
TABLES = {
    "processor": ("processor seconds", 1.0),
    "driver": ("processor seconds of the driver", 1.0),
    "wall": ("seconds", 1.0),
    "peak": ("MB, sum of the processes' peaks", 1e6),
    "pss": ("MB at one time, shared memory counted once", 1e6),
}
"""Figures of a stage (`scaling_stages.py`): the title and the scale of the table of each."""
results = click.option("--results", type=click.Path(path_type=Path), default=RESULTS, show_default=True)


def digest(folder: Path) -> str:
    """Of all files by name and content; times that a file holds are none of ours."""
    found = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        with file.open("rb") as stream:
            found.update(f"{file.relative_to(folder)} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return found.hexdigest()[:16]


def measure(stage: str, folder: Path, engine: str, memory: str | None) -> dict[str, Any]:
    """One stage in a process of its own, and the hash of what it made."""
    script = Path(__file__).with_name("scaling_stages.py")
    options = ["--workers", engine.rpartition("-")[2]] + ["--dask"] * engine.startswith("dask")
    options += ["--memory", memory] if memory else []
    done = subprocess.run(
        [sys.executable, script, stage, folder, *options], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        raise click.ClickException(f"{stage} with {engine}: exit code {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found | ({"hash": digest(folder / MADE[stage])} if stage in MADE else {})


@click.group()
def main() -> None:
    """Cost curves of the data stages."""


@main.command()
@data
@results
@click.option(
    "--sizes", default="10,100", show_default=True, help="Megabytes of text; 10000: 60 GB of disk without cooccur."
)
@click.option("--engines", default="1,2", show_default=True, help="Workers of the local engine; dask-N for Dask's.")
@click.option("--stages", default=",".join(STAGES), show_default=True)
@click.option("--memory", help="What a stage may hold, e.g. 1GB.")
@click.option("--scratch", type=click.Path(path_type=Path), help="Where text and outputs lie.")
def run(
    data: Path, results: Path, sizes: str, engines: str, stages: str, memory: str | None, scratch: Path | None
) -> None:
    """Measure what is not in the results yet."""
    found: dict[str, Any] = read_json(results) if results.is_file() else {}
    with tempfile.TemporaryDirectory(dir=scratch) as temporary:
        for size in sizes.split(","):
            text = Path(temporary) / f"{size}.txt"
            for engine in engines.split(","):
                wanted = [stage for stage in stages.split(",") if engine == "1" or stage not in ALONE]
                if all(size in found.get(stage, {}).get(engine, {}) for stage in wanted):
                    continue
                if not text.exists():
                    place = find(data, "wiki-en/wiki_en.txt")
                    found.setdefault("grown", {})[size] = apart(grow, place, text, int(size) * 1_000_000)
                folder = Path(temporary) / f"{size}-{engine}"
                folder.mkdir()
                (folder / "text.txt").symlink_to(text)
                for number, stage in enumerate(wanted, start=1):
                    figures = measure(stage, folder, engine, memory)
                    found.setdefault(stage, {}).setdefault(engine, {})[size] = figures
                    write_json(results, found)
                    took = f"{figures['processor']:.1f} s, driver {figures['driver']:.2f} s"
                    click.echo(f"{size} MB, {engine}, {stage}: {took}, {figures['pss'] / 1e6:.0f} MB")
                    for place, readers in READ_BY.items():  # what no later stage reads: 10 GB fill a disk otherwise
                        if not readers & set(wanted[number:]):
                            shutil.rmtree(folder / place, ignore_errors=True)
                shutil.rmtree(folder)
            text.unlink(missing_ok=True)
    made = [(stage, size) for stage in MADE for size in _sizes(found.get(stage, {}))]
    differ = [f"{stage} {size}" for stage, size in made if len(_hashes(found[stage], size)) > 1]
    click.echo(f"outputs differ between engines: {', '.join(differ)}" if differ else "all engines made the same bytes")


def apart(function: Any, *given: Any) -> Any:
    """A call in a process of its own: what this one has held is counted as the peak of all that it starts."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *given).result()


def grow(place: Path, text: Path, size: int) -> dict[str, Any]:
    """Write the text; its words, different ones and Heaps' exponent, and that of the real text."""
    source = read_source(place)
    growth = [one for one in write_text(source, text, size) if one[0] >= BEGIN]
    words, types = zip(*growth, strict=True)
    beta = exponent(words, types) if len(growth) > 1 else None
    return {"words": words[-1], "types": types[-1], "beta": beta, "beta_real": heaps(source.words, BEGIN)[1]}


def _sizes(by_engine: dict[str, Any]) -> list[str]:
    found = {size for sizes in by_engine.values() if isinstance(sizes, dict) for size in sizes}
    return sorted(found, key=int)


def _hashes(by_engine: dict[str, Any], size: str) -> set[str]:
    return {sizes[size]["hash"] for sizes in by_engine.values() if "hash" in sizes.get(size, {})}


def exponent(sizes: Sequence[Any], values: Sequence[float]) -> float:
    """p of c nᵖ: least squares of the logarithms."""
    if len(sizes) < 2:
        return float("nan")
    return float(np.polyfit(np.log([float(size) for size in sizes]), np.log(values), 1)[0])


@main.command()
@results
@click.option("--svg", type=click.Path(path_type=Path), help="Folder for the pictures.")
def show(results: Path, svg: Path | None) -> None:
    """Print the tables; draw the pictures."""
    found = read_json(results)
    stages = [stage for stage in STAGES if stage in found]
    engines = list(dict.fromkeys(engine for stage in stages for engine in found[stage]))
    sizes = sorted({size for stage in stages for engine in found[stage] for size in found[stage][engine]}, key=int)
    for what, (unit, scale) in TABLES.items():
        rows = []
        for stage in stages:
            for engine, measured in found[stage].items():
                values = [measured[size][what] / scale if what in measured.get(size, {}) else None for size in sizes]
                known = [(size, value) for size, value in zip(sizes, values, strict=True) if value is not None]
                power = exponent([size for size, _ in known], [max(1e-3, value) for _, value in known])
                cells = ["–" if value is None else f"{value:,.1f}" for value in values]
                rows.append([stage, engine, *cells, "–" if np.isnan(power) else f"{power:.2f}"])
        markdown(f"{unit}", ["stage", "engine", *(f"{size} MB" for size in sizes), "exponent"], rows)
    if svg:
        for what, label, scale in (("processor", "processor seconds", 1.0), ("peak", "peak memory in MB", 1e6)):
            lines = [
                series(
                    stage,
                    [float(size) for size in _sizes(found[stage])],
                    [found[stage][engines[0]].get(size, {}).get(what, np.nan) / scale for size in _sizes(found[stage])],
                )
                for stage in stages
            ]
            title = f"Data stages as the text grows, {label}"
            plot = Plot(title=title, x_label="MB of text", y_label=label, series=lines, log_x=True, log_y=True)
            write_file(svg / f"scaling_{what}.svg", findings_file(plot))


if __name__ == "__main__":
    main()
