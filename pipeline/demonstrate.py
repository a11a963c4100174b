"""Stage `demonstrate`: make instructions with correct answers, or read dialogues, and clean them; data/clean/<side>/.

It runs if params.yaml lists the corpus in `corpora`: only rungs that follow instructions read it.
"""

from pathlib import Path

from langladder.families.job import Seed
from langladder.families.sides import SIDES
from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.schema import Config, locate_function
from pipeline.corpus import print_facts
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import CorpusPart, Part, SideJob, clean_parts, corpus_parts
from pipeline.settings.stage import stage
from pipeline.settings.yaml_files import Values


class DemonstrateJob(SideJob):
    """Settings of this stage."""

    seed: Seed
    corpus: CorpusPart
    clean: Part

    @classmethod
    def parts(cls, values: Values) -> dict[str, type[Config]]:
        """The classes of the corpus, of its source and of the cleaning."""
        return corpus_parts(values) | clean_parts(values)


@stage
def main(job: DemonstrateJob, out: Path) -> None:
    raw, folder = (output(out, f"data/{part}", job.side) for part in ("raw", "clean"))
    with atomic_folder(raw, OUTPUT) as read:  # both folders or none: cleaning may fail, too
        facts = locate_function(job.corpus.maker)(job.corpus.source, read)
        with atomic_folder(folder, OUTPUT) as cleaned:
            report = locate_function(SIDES[job.side].clean)(read, cleaned, job.clean, job.seed)
    write_json(output(out, "metrics/corpus", job.side, ending=".json"), facts)
    write_json(output(out, "metrics/clean", job.side, ending=".json"), report)
    kept = ", ".join(f"{split} {counts[SIDES[job.side].unit]:,}" for split, counts in report["splits"].items())
    print(f"demonstrate {job.side}: {kept} {SIDES[job.side].unit} → {folder}")
    print_facts(f"demonstrate {job.side}", facts)
    for warning in report.get("warnings", []):
        print(f"demonstrate {job.side}: warning: {warning}")


if __name__ == "__main__":
    main()
