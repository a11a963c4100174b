"""Stage `corpus`: make microworld, or read text files or a Hub data set, into data/raw/<side>/.

The text side also gets `truth/`: the evaluation sets that the corpus brings itself (microworld: analogies, …).
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from langladder.artefacts import write_json, write_text
from langladder.atomic import STAGE, atomic_folder
from langladder.corpora import microworld
from langladder.text import hub, readers
from langladder.text.tables import write_table
from pipeline.settings.stage import stage


def make_microworld(side: str, source: microworld.MicroworldConfig, folder: Path) -> dict[str, Any]:
    """Generate one side of microworld, with its truth beside the text."""
    tables = microworld.generate_text(source) if side == "text" else microworld.generate_parallel(source)
    for split, table in tables.items():
        write_table(folder / f"{split}.parquet", table)
    if side == "text":
        microworld.write_truth(source, folder / "truth", tables["train"])
    return {"splits": {split: {"lines": table.num_rows} for split, table in tables.items()}}


READ: dict[tuple[str, str], Callable[[Any, Path], dict[str, Any]]] = {
    ("text", "files"): readers.read_text,
    ("parallel", "files"): readers.read_parallel,
    ("text", "hub"): hub.read_hub,
    ("parallel", "hub"): hub.read_hub_parallel,
}


@stage
def main(job: Any, out: Path) -> None:
    folder = out / "data" / "raw" / job.side
    with atomic_folder(folder, STAGE) as temporary:
        if job.corpus.kind == "microworld":
            facts = make_microworld(job.side, job.corpus.source, temporary)
        else:
            facts = READ[job.side, job.corpus.kind](job.corpus.source, temporary)
        if job.side == "text":  # a corpus that brings no questions has blank sets (DVC warns of empty files)
            for name in ("analogies.txt", "similarity.tsv", "groups.txt", "agreement.jsonl"):
                if not (file := temporary / "truth" / name).is_file():
                    write_text(file, "\n")
    write_json(out / "metrics" / "corpus" / f"{job.side}.json", facts)
    lines = sum(split.get("lines", split.get("pairs", 0)) for split in facts["splits"].values())
    print(f"corpus {job.side}: {lines:,} lines → {folder}")
    for pair in facts.get("aligned", []):
        print(f"corpus {job.side}: read as source → target: {pair}")
    if others := facts.get("skipped"):
        said = ", ".join(f"{one['file']} ({one['why']})" for one in others)
        more = facts["skipped_files"] - len(others)
        print(f"corpus {job.side}: not read: {said}{f' and {more:,} more' if more else ''}")


if __name__ == "__main__":
    main()
