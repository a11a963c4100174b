"""Stage `corpus`: make microworld, or read text files or a Hub data set, into data/raw/<side>/.

The text side also gets `truth/`: the evaluation sets of the corpus itself (microworld: analogies, …).
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from langladder.families.sides import SIDES
from langladder.ground.artefacts import write_json, write_text
from langladder.ground.atomic import atomic_folder
from langladder.ground.schema import Config, locate_function
from langladder.text.storage.tables import not_read
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import CorpusPart, SideJob, corpus_parts
from pipeline.settings.stage import stage
from pipeline.settings.yaml_files import Values


class CorpusJob(SideJob):
    """Settings of this stage."""

    corpus: CorpusPart

    @classmethod
    def parts(cls, values: Values) -> dict[str, type[Config]]:
        """The classes of the corpus and of its source."""
        return corpus_parts(values)


def print_facts(stage: str, facts: Mapping[str, Any]) -> None:
    """Print what was corrected or left out while a corpus was read, a line each."""
    if skipped := not_read(facts):
        print(f"{stage}: {skipped}")
    for state in ("damaged", "left_out"):
        for kind, fact in facts.get(state, {}).items():
            name = state.replace("_", " ")
            print(f"{stage}: {name}: {kind}: {fact['count']:,}, the first at {fact['first']}")
    for warning in facts.get("warnings", []):
        print(f"{stage}: warning: {warning}")


@stage
def main(job: CorpusJob, out: Path) -> None:
    folder = output(out, "data/raw", job.side)
    with atomic_folder(folder, OUTPUT) as temporary:
        facts = locate_function(job.corpus.maker)(job.corpus.source, temporary)
        if job.side == "text":  # a corpus without questions gets blank sets (DVC warns about empty files)
            for name in ("analogies.txt", "similarity.tsv", "groups.txt", "agreement.jsonl"):
                if not (file := temporary / "truth" / name).is_file():
                    write_text(file, "\n")
    write_json(output(out, "metrics/corpus", job.side, ending=".json"), facts)
    counts = list(facts["splits"].values())
    unit = SIDES[job.side].unit if SIDES[job.side].unit in counts[0] else "lines"  # as microworld counts its pairs
    print(f"corpus {job.side}: {sum(split[unit] for split in counts):,} {unit} → {folder}")
    for pair in facts.get("aligned", []):
        print(f"corpus {job.side}: read as source → target: {pair}")
    print_facts(f"corpus {job.side}", facts)


if __name__ == "__main__":
    main()
