"""Stage `report`: one table (reports/ladder.json) and one self-contained page (reports/index.html).

The page shows seconds and tokens per second: it alone, of all that DVC keeps, differs between two fresh checkouts.
reports/ladder.md and reports/timings.json, which have them too, are written beside it and not kept by DVC.
"""

from pathlib import Path

from langladder.faces.report.page import build_page
from langladder.faces.report.tables import ladder_rows, ladder_summary, ladder_timings, to_markdown
from langladder.ground.artefacts import write_json, write_text
from langladder.ground.schema import Config
from pipeline.settings.stage import stage
from pipeline.tracking.report_inputs import report_inputs


@stage
def main(job: Config, out: Path) -> None:
    inputs = report_inputs(job.model_dump()["rungs"])
    folder = out / "reports"
    write_text(folder / "index.html", build_page(inputs))
    write_text(folder / "ladder.md", to_markdown(ladder_rows(inputs)))
    write_json(folder / "timings.json", ladder_timings(inputs))
    write_json(folder / "ladder.json", ladder_summary(inputs))
    print(f"report: → {folder}/index.html")


if __name__ == "__main__":
    main()
