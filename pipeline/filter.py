"""Stage `filter`: remove bad, repeated or test-set text from the raw text, and mix in other corpora.

With `filter: none` nothing is copied: data/filtered/text/ then holds the hash of the raw text, which `clean` reads.
"""

from pathlib import Path
from typing import Any

from langladder.families.job import Seed
from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.text.filtering.filtering import FilterConfig, filter_text
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.schema import StageJob
from pipeline.settings.stage import stage
from pipeline.tracking.fingerprint import digest


class FilterJob(StageJob):
    """Settings of this stage."""

    seed: Seed
    filter: FilterConfig


@stage
def main(job: FilterJob, out: Path) -> None:
    raw, folder = Path("data/raw/text"), out / "data" / "filtered" / "text"
    report: dict[str, Any] = {"filtered": not job.filter.idle}
    with atomic_folder(folder, OUTPUT) as temporary:
        if job.filter.idle:
            write_json(temporary / "unfiltered.json", {str(raw): digest(raw)})
        else:
            report |= filter_text(raw, temporary, job.filter, job.seed)
    write_json(out / "metrics" / "filter.json", report)
    if job.filter.idle:
        print(f"filter: none, {raw} is unchanged")
        return
    size = report["size"]
    print(f"filter: {size['left']['documents']:,} documents, {size['left']['words']:,} words → {folder}")
    print(f"filter: read {size['read']['documents']:,} documents, {size['read']['words']:,} words")
    for reason, gone in report["went"].items():
        print(f"filter: {reason.replace('_', ' ')}: {gone['count']:,}")
    for warning in report.get("warnings", []):
        print(f"filter: warning: {warning}")


if __name__ == "__main__":
    main()
