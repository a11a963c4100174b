"""Stage `report`: one table (reports/ladder.json) and one self-contained page (reports/index.html).

reports/headline/ has one file per family with one figure per rung, for `dvc metrics` and `dvc exp show`.
All other figures are in metrics/, which DVC keeps and does not list. reports/plots/ has the pictures of the
ladder, of learning curves and of confusions, which `dvc plots` shows without a network.

The page shows seconds and tokens per second, so it is the only DVC output that differs between two fresh checkouts.
reports/ladder.md and reports/timings.json also have timings; DVC does not keep them.
"""

from pathlib import Path

from langladder.faces.report.page import build_page
from langladder.faces.report.picture_files import picture_files
from langladder.faces.report.tables import ladder_headline, ladder_rows, ladder_summary, ladder_timings, to_markdown
from langladder.ground.artefacts import write_json, write_text
from langladder.ground.atomic import atomic_folder
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.schema import ReportJob
from pipeline.settings.stage import stage
from pipeline.tracking.report_inputs import report_inputs


@stage
def main(job: ReportJob, out: Path) -> None:
    inputs = report_inputs(job.rungs)
    folder = out / "reports"
    write_text(folder / "index.html", build_page(inputs))
    write_text(folder / "ladder.md", to_markdown(ladder_rows(inputs, steps=True)))
    write_json(folder / "timings.json", ladder_timings(inputs))
    write_json(folder / "ladder.json", ladder_summary(inputs))
    with atomic_folder(folder / "headline", OUTPUT) as headline:
        for name, figures in ladder_headline(inputs, job.rungs).items():
            write_json(headline / f"{name}.json", figures)
    with atomic_folder(folder / "plots", OUTPUT) as plots:
        for name, picture in picture_files(inputs):
            write_text(plots / f"{name}.svg", picture)
    print(f"report: → {folder}/index.html")


if __name__ == "__main__":
    main()
