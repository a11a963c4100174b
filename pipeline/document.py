"""Write what README.md and docs/ take from elsewhere: the ladder table, the ladder picture, the table of stages.

python -m pipeline.document           after `dvc repro` at the default size (`make docs`)
The tests check that the stage table is that of dvc.yaml.
"""

import re
from typing import Any

import yaml

from langladder.faces.report.language_models import ladder_plot, sentence_floor
from langladder.faces.report.tables import brief, ladder_rows, to_markdown
from langladder.ground.artefacts import write_text
from pipeline import ROOT


def stage_table() -> str:
    """The stages of dvc.yaml in Markdown."""
    stages: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    rows = ["| stage | what it does | leaves |", "| --- | --- | --- |"]
    for name, stage in stages.items():
        body = stage.get("do", stage)
        many = "@…" if body is not stage or "matrix" in stage else ""
        paths = [out if isinstance(out, str) else next(iter(out)) for out in body["outs"]]
        outs = ", ".join(f"`{re.sub(r'[$][{][^}]*[}]', '…', path)}`" for path in paths)
        rows.append(f"| `{name}{many}` | {body['desc']} | {outs} |")
    return "\n".join(rows) + "\n"


def fill(text: str, section: str, content: str) -> str:
    """Put content between `<!-- section -->` and `<!-- /section -->`."""
    pattern = rf"(<!-- {section} -->\n).*?(<!-- /{section} -->)"
    return re.sub(pattern, lambda match: f"{match[1]}{content}{match[2]}", text, flags=re.DOTALL)


def main() -> None:
    from pipeline.tracking.report_inputs import report_inputs

    inputs = report_inputs()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    readme = fill(readme, "ladder", to_markdown(brief(ladder_rows(inputs))))
    write_text(ROOT / "README.md", readme)
    stages = ROOT / "docs" / "stages.md"
    write_text(stages, fill(stages.read_text(encoding="utf-8"), "stages", stage_table()))
    alone = sentence_floor(inputs)
    if picture := ladder_plot(inputs.of("lm"), inputs.meta.text, sentence_floor=alone, standalone=True):
        write_text(ROOT / "docs" / "ladder.svg", picture)
    print("document: README.md, docs/ladder.svg, docs/stages.md")


if __name__ == "__main__":
    main()
