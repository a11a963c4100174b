"""Stage `clean`: normalise, filter, validate and split one side; data/clean/<side>/ and the data report."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.text.cleaning import clean_parallel, clean_text
from pipeline.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    raw, folder = Path("data/raw") / job.side, out / "data" / "clean" / job.side
    settings = job.clean.model_copy(update={"iid": job.clean.iid or job.iid})
    clean = clean_text if job.side == "text" else clean_parallel
    report = clean(raw, folder, settings, job.split, seed=job.seed)
    write_json(out / "metrics" / "clean" / f"{job.side}.json", report)
    kept = ", ".join(f"{split} {counts['lines']:,}" for split, counts in report["splits"].items())
    print(f"clean {job.side}: {kept} lines → {folder}")


if __name__ == "__main__":
    main()
