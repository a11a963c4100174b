"""Write the generated parts of README.md and docs/: the ladder table, the ladder picture, the table of stages.

    python -m pipeline.document           # after `dvc repro` at the default size (`make docs`)
    python -m pipeline.document rungs     # after an edit of conf/: the settings of `ll.train` in the wheel
    python -m pipeline.document claims    # after `make repro LADDER=claims`: docs/results/claims.md, foundations.md
    python -m pipeline.document history   # after `make repro LADDER=history`: docs/results/history.md
    python -m pipeline.document english full   # likewise

The tests check that the stage table agrees with dvc.yaml, and the settings of `ll.train` with conf/.
"""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import yaml

from langladder.experiments.findings import Shown
from langladder.experiments.page import ClaimPage
from langladder.faces.python.training import SIDE_OF_ARGUMENT
from langladder.faces.report.claims import mark
from langladder.faces.report.language_models import ladder_plot, sentence_floor
from langladder.faces.report.numbers import DASH, significant
from langladder.faces.report.tables import brief, ladder_rows, markdown_row, to_markdown
from langladder.families import families
from langladder.families.sides import SIDES
from langladder.ground.artefacts import read_json, write_text
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from pipeline import INSTALLED, ROOT
from pipeline.ladder import LADDERS
from pipeline.settings import params
from pipeline.settings.titles import in_order
from pipeline.settings.yaml_files import read_yaml
from pipeline.summary import MARKDOWN

CLAIM_FAMILIES = [family.name for family in families().values() if family.experiment == "claims"]
CLAIM_LADDER = "claims"
MEASURED = ROOT / LADDERS / CLAIM_LADDER / "reports" / "rungs"
CLAIMS = ROOT / "docs" / "results" / "claims.md"
FOUNDATIONS = ROOT / "docs" / "foundations.md"
FOUND = CLAIMS.with_suffix(".json")
"""The results of each claim, as `Measured`: for the table, and for the plots of the site."""


def stage_table() -> str:
    """The stages of dvc.yaml in Markdown."""
    stages: dict[str, Any] = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    rows = ["| stage | what it does | leaves |", "| --- | --- | --- |"]
    for name, stage in stages.items():
        body = stage.get("do", stage)
        many = "@…" if body is not stage or "matrix" in stage else ""
        paths = [out if isinstance(out, str) else next(iter(out)) for out in body["outs"]]
        kept = [path for path in paths if not path.startswith("metrics/")]
        outs = ", ".join(f"`{re.sub(r'[$][{][^}]*[}]', '…', path)}`" for path in kept)
        rows.append(f"| `{name}{many}` | {body['desc']} | {outs} |")
    return "\n".join(rows) + "\n"


def fill(text: str, section: str, content: str) -> str:
    """Put content between `<!-- section -->` and `<!-- /section -->`."""
    pattern = rf"(<!-- {section} -->\n).*?(<!-- /{section} -->)"
    return re.sub(pattern, lambda match: f"{match[1]}{content}{match[2]}", text, flags=re.DOTALL)


class Measured(Config):
    """The results of a claim: its page, and what depends on the machine and its speed.

    Attributes:
        processor_seconds: of all its threads. day: of the measurement, ISO. None: there is no run of it.
    """

    page: ClaimPage
    timed: Shown | None = None
    processor_seconds: float | None = None
    day: str | None = None


def published() -> dict[str, Measured]:
    """Name of a claim → its results in docs/."""
    return {name: Measured.model_validate(value) for name, value in read_json(FOUND).items()}


def measured() -> dict[str, Measured]:
    """Name of a claim → its results in ladders/claims/, else those in docs/."""
    from pipeline.tracking.job import TIMED
    from pipeline.tracking.store import by_fingerprint, finished_runs, stored_file

    results = published()
    pages = [file for family in CLAIM_FAMILIES for file in sorted((MEASURED / family).glob("*.json"))]
    runs = by_fingerprint(finished_runs()) if pages else {}
    for file in pages:
        page = ClaimPage.model_validate(read_json(file))
        results[file.stem] = Measured(page=page)
        if run := next(iter(runs.get(page.fingerprint, [])), None):
            results[file.stem] = Measured(
                page=page,
                timed=stored_file(run.info.run_id, TIMED),
                processor_seconds=run.data.metrics.get("processor_seconds"),
                day=datetime.fromtimestamp(run.info.start_time / 1000, UTC).date().isoformat(),
            )
    return results


def claim_table(claims: Mapping[str, Measured]) -> str:
    """How many claims of conf/ hold, and each with its paper and its verdict, in Markdown, in historical order."""
    outcomes: Counter[str] = Counter()
    lines = ["| name | claim | found | figures | CPU s | measured |\n", "| --- | --- | --- | --- | ---: | --- |\n"]
    for described in in_order({family: params.conf_names(family) for family in CLAIM_FAMILIES}).values():
        for name, about in described.items():
            cells = [f"`{name}`", f"{about.claim} ({about.paper})", "not measured", "", "", ""]
            if claim := claims.get(name):
                parts = [claim.page.findings, *([claim.timed] if claim.timed else [])]
                outcome = mark(parts)
                outcomes[outcome] += 1
                cells[2:] = [
                    f"**{outcome}**" if outcome == "refuted" else outcome,
                    " ".join(map(_sentence, parts)),
                    "" if claim.processor_seconds is None else f"{claim.processor_seconds:.0f}",
                    claim.day or "",
                ]
            else:
                outcomes[cells[2]] += 1
            lines.append(markdown_row(cells))
    hours = sum(claim.processor_seconds or 0 for claim in claims.values()) / 3600
    counts = ", ".join(f"{number} {outcome}" for outcome, number in outcomes.most_common())
    return f"{outcomes.total()} claims: {counts}; {hours:.1f} CPU hours.\n\n" + "".join(lines)


def _sentence(part: Shown) -> str:
    """The numbers, after the reason if there is no verdict."""
    return f"{part.reason + ': ' if part.reason else ''}{part.found}"


def difference_table(claims: Mapping[str, Measured]) -> str:
    """Every difference that a verdict rests on, in Markdown; positive where it is in favour of the claim."""
    lines = [
        "| name | compared | difference | 95 % interval | seeds | margin |\n",
        "| --- | --- | ---: | --- | ---: | ---: |\n",
    ]
    for name, claim in sorted(claims.items()):
        for part in (claim.page.findings, *([claim.timed] if claim.timed else [])):
            for rests in part.rests_on:
                if rests.mean is None or rests.low is None or rests.high is None:
                    continue
                interval, seeds = f"{rests.low:+.3g} to {rests.high:+.3g}", "" if rests.seeds is None else rests.seeds
                cells = [f"`{name}`", rests.what, f"{rests.mean:+.3g}", interval, seeds, f"{rests.least:.3g}"]
                lines.append(markdown_row(map(str, cells)))
    return "".join(lines)


def means_table(claim: Measured) -> str:
    """The table of a claim, in Markdown."""
    part = claim.page.findings
    lines = [part.columns, ["---"] * len(part.columns)]
    lines += [
        [cell if isinstance(cell, str) else DASH if cell is None else significant(cell) for cell in row]
        for row in part.rows
    ]
    return "".join(map(markdown_row, lines))


def with_claims(page: str, claims: Mapping[str, Measured]) -> str:
    """A page with the generated parts about claims: their table, their differences, the means of single ones."""
    for section, content in (("claims", claim_table(claims)), ("differences", difference_table(claims))):
        page = fill(page, section, content)
    for name in re.findall(r"<!-- means (\w+) -->", page):
        page = fill(page, f"means {name}", means_table(claims[name]) if name in claims else "Not measured.\n")
    return page


def write_claims() -> None:
    """The pages of claims, and the numbers of their plots."""
    pages = measured()
    for file in (CLAIMS, FOUNDATIONS):
        write_text(file, with_claims(file.read_text(encoding="utf-8"), pages))
    lines = [
        f"{json.dumps(name)}: {page.model_dump_json(exclude_defaults=True)}" for name, page in sorted(pages.items())
    ]
    write_text(FOUND, "{\n" + ",\n".join(lines) + "\n}\n")  # one line per claim, for small diffs
    print(f"document: {CLAIMS.relative_to(ROOT)}, {FOUND.relative_to(ROOT)}: {len(pages)} claims measured")


def write_ladder(name: str) -> None:
    """The tables of a ladder's last run, read by that ladder's own code.

    Raises:
        InputError: the ladder has no page, or has not been run.
    """
    folder, page = ROOT / LADDERS / name, CLAIMS.with_name(f"{name}.md")
    if "<!-- ladder -->" not in (page.read_text(encoding="utf-8") if page.is_file() else ""):
        raise InputError(
            f"{name[:80]!r} has no page: docs/results/{name[:80]}.md with <!-- ladder --> <!-- /ladder -->"
        )
    if not (folder / "reports" / "ladder.json").is_file():
        raise InputError(f"{LADDERS / name}: no report; first `make repro LADDER={name}`")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "src"), str(folder)])}
    command = [sys.executable, "-m", "pipeline.summary", MARKDOWN]
    tables = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout
    write_text(page, fill(page.read_text(encoding="utf-8"), "ladder", tables))
    print(f"document: {page.relative_to(ROOT)}")


TABLES = ROOT / "docs" / "results" / "default.md"
"""The tables of the default ladder; README.md has the first of them."""

RUNGS = ROOT / "src" / "langladder" / "faces" / "python" / "rungs.json"
TRAINED_IN_PYTHON = [family.name for family in families().values() if family.in_python]
SMALL = "small"


def rung_settings() -> dict[str, dict[str, Any]]:
    """The defaults of conf/ for the user's files, and for each rung that `ll.train` can train on them, at size small.

    `sizes`: size → a rung, as `family.rung` → the settings that differ from small, by dotted keys.
    """
    small = _at_size(SMALL)
    sizes: dict[str, dict[str, Any]] = {"sizes": {}}
    for size in params.conf_names("size"):
        parts = _at_size(size)
        differing = {
            f"{part}.{name}": changes
            for part, values in small.items()
            for name, value in values.items()
            if (changes := _differing(value, parts[part][name]))
        }
        sizes["sizes"][size] = differing
    return small | sizes


def _at_size(size: str) -> dict[str, dict[str, Any]]:
    """Side → how its data are read; family → rung → its settings, as Hydra composes them."""
    from hydra import initialize_config_dir  # which takes its time

    from pipeline.settings.compose import Compositions, conf_folder

    listed = {families()[family].listed: _as_listed(family) for family in TRAINED_IN_PYTHON}
    own = {SIDES[side].group: SIDES[side].own for side in SIDE_OF_ARGUMENT.values()}
    settings: dict[str, dict[str, Any]] = {}
    with initialize_config_dir(conf_folder(), version_base="1.3"):
        compositions = Compositions.prepared(params.usual(own | listed | {"size": size}))
        whole = compositions.everything
        for side in SIDE_OF_ARGUMENT.values():
            source = {key: value for key, value in whole[SIDES[side].group]["source"].items() if key != "path"}
            settings[side] = {"source": source} | ({"clean": whole["clean"][side]} if side in whole["clean"] else {})
            if SIDES[side].tokenized:
                settings[side]["tokenizer"] = whole["tokenizer"]
            if side == "text":
                settings[side]["words"] = whole["words"]
            if side == "parallel":
                settings[side]["shared_tokenizer"] = whole["shared_tokenizer"]
        for family in TRAINED_IN_PYTHON:
            settings[family] = {name: compositions.rung(family, name) for name in params.conf_names(family)}
    return settings


def _differing(value: Any, other: Any, above: str = "") -> dict[str, Any]:
    """Dotted key → the other value, where two values differ."""
    if not isinstance(value, dict) or not isinstance(other, dict):
        return {} if value == other else {above: other}
    values: dict[str, Any] = {}
    for key in value:
        values |= _differing(value[key], other[key], f"{above}.{key}" if above else key)
    return values


def _as_listed(family: str) -> Any:
    """All rungs of a family, as params.yaml lists them."""
    names = params.conf_names(family)
    if not families()[family].bases:
        return names
    return {name: {"base": read_yaml(params.conf_file(family, name))["base"]} for name in names}


def rungs_text() -> str:
    """`rung_settings` as JSON, one line per rung, so that a changed rung changes few lines."""
    parts = [f"{json.dumps(part)}: {_lines(values, part == 'sizes')}" for part, values in rung_settings().items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(values: Mapping[str, Any], nested: bool = False) -> str:
    """JSON with one line per value, or per value of a value."""
    lines = (f"{json.dumps(name)}: {_lines(value) if nested else _line(value)}" for name, value in values.items())
    return "{\n" + ",\n".join(lines) + "\n}"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    from pipeline.tracking.report_inputs import report_inputs

    if INSTALLED:
        sys.exit("document: this command writes the docs of a checkout; run it in one")
    params.load()  # its `plugins` have choices, too: the claims
    if names := sys.argv[1:]:
        try:
            for name in names:
                if name == "rungs":
                    write_text(RUNGS, rungs_text())
                    print(f"document: {RUNGS.relative_to(ROOT)}")
                else:
                    write_claims() if name == CLAIM_LADDER else write_ladder(name)
        except InputError as error:
            print(f"document: {error}", file=sys.stderr)
            sys.exit(2)
        return
    inputs = report_inputs()
    tables = brief(ladder_rows(inputs, steps=True))
    for page, page_tables in ((ROOT / "README.md", tables[:1]), (TABLES, tables)):
        write_text(page, fill(page.read_text(encoding="utf-8"), "ladder", to_markdown(page_tables)))
    stages = ROOT / "docs" / "stages.md"
    write_text(stages, fill(stages.read_text(encoding="utf-8"), "stages", stage_table()))
    alone = sentence_floor(inputs)
    if picture := ladder_plot(inputs.of("lm"), inputs.meta.text, sentence_floor=alone, standalone=True):
        write_text(ROOT / "docs" / "ladder.svg", picture)
    print(f"document: README.md, {TABLES.relative_to(ROOT)}, docs/ladder.svg, docs/stages.md")


if __name__ == "__main__":
    main()
