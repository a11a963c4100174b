"""Stage `clean`: normalise, filter, validate and split one side; data/clean/<side>/ and the data report."""

from pathlib import Path

from langladder.families.job import Seed
from langladder.families.sides import SIDES
from langladder.ground.artefacts import read_json, write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.schema import Config, locate_function
from langladder.text.words.normalisation import APOSTROPHE
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import Part, SideJob, clean_parts
from pipeline.settings.stage import stage
from pipeline.settings.yaml_files import Values


class CleanJob(SideJob):
    """Settings of this stage."""

    seed: Seed
    clean: Part

    @classmethod
    def parts(cls, values: Values) -> dict[str, type[Config]]:
        """The class of the cleaning."""
        return clean_parts(values)


@stage
def main(job: CleanJob, out: Path) -> None:
    raw, folder = Path("data/raw") / job.side, output(out, "data/clean", job.side)
    side = SIDES[job.side]
    settings = job.clean
    if (filtered := Path("data/filtered") / job.side / "filter.json").is_file():  # else the text is unchanged
        raw = filtered.parent
        if read_json(filtered)["repeats_documents"]:  # a mixture of several epochs repeats on purpose
            settings = settings.model_copy(update={"iid": True})
    with atomic_folder(folder, OUTPUT) as temporary:
        report = locate_function(side.clean)(raw, temporary, settings, job.seed)
    write_json(output(out, "metrics/clean", job.side, ending=".json"), report)
    kept = ", ".join(f"{split} {counts[side.unit]:,}" for split, counts in report["splits"].items())
    print(f"clean {job.side}: {kept} {side.unit} → {folder}")
    for name, conventions in report.get("conventions", {}).items():
        if APOSTROPHE in conventions["normalisation"]:
            print(
                f"clean {job.side}: in {name} an apostrophe beside a letter is a letter, written ʼ; if it is "
                "punctuation, set steps: {apostrophe: punctuation} in conf/clean/standard.yaml"
            )
    for warning in report.get("warnings", []):
        print(f"clean {job.side}: warning: {warning}")


if __name__ == "__main__":
    main()
