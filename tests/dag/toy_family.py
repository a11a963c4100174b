"""A family of one's own, as somebody would add it: what the first word of a line will be, guessed by counting.

Its files are its own (a declaration with a model and a page, a template, conf/opening/, two stages); of the house's,
dvc.yaml gets the two stages, and params.yaml the line that chooses the rung.
"""

import subprocess
from pathlib import Path

DECLARATION = '''"""Opening words: which words lines begin with, by counting."""

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field

from langladder.evaluation.page import Metric
from langladder.ground import schema
from langladder.ground.artefacts import read_json, write_json
from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Trained
from langladder.ground.schema import locate
from langladder.models.making import TrainingResult
from langladder.models.model_function import ModelFunction, Parameters, Row, Rows, SchemaColumn

TEXT = Path("data/clean/text")


class Opening:
    """The words with which most lines of the training text begin."""

    class Config(schema.Config):
        """Settings."""

        words: int = Field(default=1, ge=1)  # how many are guessed

    approach = "counted"

    def __init__(self, words: list[str]) -> None:
        self.words = words

    @classmethod
    def count(cls, lines: list[str], config: Any) -> "Opening":
        """The most frequent first words."""
        found = Counter(line.split()[0] for line in lines if line.split())
        return cls([word for word, _ in found.most_common(config.words)])

    def save(self, folder: Path) -> None:
        """Write it."""
        write_json(folder / "opening.json", {"words": self.words})

    @classmethod
    def load(cls, folder: Path) -> "Opening":
        """Read it."""
        return cls(read_json(Path(folder) / "opening.json")["words"])


class OpeningPage(Page):
    """How often a line of the test text begins so."""

    words: list[str]
    right: Annotated[
        float,
        Metric(
            "begins as guessed",
            "share of the lines that begin with a word that was guessed",
            unit="share",
            better="higher",
            brief=True,
        ),
    ]


class OpeningFunction(ModelFunction[Opening]):
    """Whether a line begins as guessed."""

    inputs = (SchemaColumn("text"),)
    outputs = (SchemaColumn("guessed", "boolean"),)
    row: ClassVar[Row] = {"text": "the cat sleeps ."}
    read = staticmethod(Opening.load)

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        """One answer a line."""
        return [{"guessed": row["text"].split(" ")[0] in self.model.words} for row in rows]


def score(model: Opening, lines: list[str], name: str) -> OpeningPage:
    """How often lines begin as guessed."""
    right = sum(line.split()[0] in model.words for line in lines) / len(lines)
    return OpeningPage(name=name, approach=model.approach, words=model.words, right=right)


def judge(folder: Path, file: Path, request: Any, table: Any) -> OpeningPage:
    """The same of any file."""
    lines = file.read_text(encoding=request.encoding).splitlines()
    return score(Opening.load(folder), lines, folder.name)


class OpeningFamily(Family):
    """See `Family`."""

    name = "opening"
    listed = "openings"
    title = "Opening words"
    experiment = "openings"
    position = 90
    default = "first_word"
    report_module = "langladder.faces.report.openings"
    reads = ("data/clean/text",)
    model = "langladder.families.opening.Opening"
    file = "opening.json"
    function = "langladder.families.opening.OpeningFunction"
    judge = "langladder.families.opening.judge"
    loading = """from langladder.families.opening import Opening

model = Opening.load("{folder}")"""

    def page(self) -> Any:
        """`OpeningPage`."""
        return OpeningPage

    def training_inputs(self, rung: Any) -> dict[str, Path]:
        """The text."""
        return {"text": TEXT}

    def train(self, rung: Any, job: Any, make: Any) -> Trained:
        """Count how lines begin."""
        from langladder.text.storage.tables import read_table

        model = locate(rung.target).count(read_table(TEXT / "train")["text"].to_pylist(), rung.model)
        return Trained(model, TrainingResult([], {"seconds": 0.0}), {"words": len(model.words)}, "counted")

    def evaluation_inputs(self, rung: Any, job: Any) -> dict[str, Path]:
        """The test text."""
        return {"text": TEXT / "test"}

    def evaluate(self, rung: Any, job: Any, folder: Path) -> Evaluated:
        """How often a line of the test text begins as guessed."""
        from langladder.text.storage.tables import read_table

        model = Opening.load(folder)
        lines = [line for line in read_table(TEXT / "test")["text"].to_pylist() if line.split()]
        page = score(model, lines, rung.name)
        return Evaluated(page, f"{page.right:.1%} begin as guessed")


FAMILY = OpeningFamily()
'''

SHOWN = '''"""Opening words in the report."""

from typing import Any

from langladder.faces.report.section import Section


def sections(inputs: Any, name: str) -> Any:
    """The words."""
    return [Section("openings", "How lines begin", "opening.html.j2", {"rungs": inputs.of(name)})]
'''

TEMPLATE = """{% for rung in rungs %}
<p>{{ rung.title }}: {{ rung.page.words | join(", ") }}</p>
{% endfor %}
"""

RUNG = """# The word that most lines begin with.
name: first_word
title: The first word
year: 1913
_target_: langladder.families.opening.Opening
model:
  words: 1
"""

STAGES = """
  train_opening:
    desc: count how lines begin
    matrix: {rung: "${openings}"}
    cmd: python -m pipeline.train opening -cd resolved/train_opening -cn ${item.rung}
    meta: {settings: [seed, opening, code]}
    deps: ["resolved/train_opening/${item.rung}.yaml", data/clean/text]
    outs: ["models/opening/${item.rung}", "metrics/train_opening/${item.rung}.json"]
    plots:
      - curves/opening/${item.rung}.csv

  evaluate_opening:
    desc: how often a line of the test text begins as guessed
    matrix: {rung: "${openings}"}
    cmd: python -m pipeline.evaluate opening -cd resolved/evaluate_opening -cn ${item.rung}
    meta: {settings: [opening, code]}
    deps: ["resolved/evaluate_opening/${item.rung}.yaml", "models/opening/${item.rung}", data/clean/text/test]
    outs: ["reports/rungs/opening/${item.rung}.json", "metrics/evaluate_opening/${item.rung}.json"]
"""

ASKED = """
import json
from pathlib import Path

import mlflow
import pandas as pd
from starlette.testclient import TestClient

import langladder as ll
from langladder.faces.explorer.app import create
from langladder.faces.http.shelf import Shelf

folder, lines = Path("models/opening/first_word"), ["the cat sleeps .", "zzz sleeps ."]
model = ll.load(folder)
mlflow.set_tracking_uri("sqlite:///mlflow.db")
[logged] = mlflow.search_logged_models(
    [mlflow.get_experiment_by_name("openings").experiment_id], output_format="list"
)
client = TestClient(create(Shelf.below([Path("models")])), base_url="http://localhost")
text = {"text": "the zzz", "models": ["first_word"]}
run = client.post("/api/ladder/run").json()
print(json.dumps({
    "repr": repr(model),
    "python": model.predict({"text": lines}),
    "mlflow": mlflow.pyfunc.load_model(logged.model_uri).predict(pd.DataFrame({"text": lines})).to_dict("records"),
    "models": [one for one in run["models"] if one["name"] == "first_word"],
    "tables": [one["title"] for one in run["tables"]],
    "unknown": client.post("/api/typed/unknown", json={"asked": [text]}).json(),
}))
"""

FILES = {
    "src/langladder/families/opening.py": DECLARATION,
    "src/langladder/faces/report/openings.py": SHOWN,
    "src/langladder/faces/report/templates/opening.html.j2": TEMPLATE,
    "conf/opening/first_word.yaml": RUNG,
}


def add(project: Path) -> set[str]:
    """Add the family to a copy of the project; returns the files of the house that it changed."""
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    subprocess.run(["git", "commit", "-qm", "before", "--allow-empty"], cwd=project, check=True)
    for name, text in FILES.items():
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(text)
    with (project / "dvc.yaml").open("a") as file:
        file.write(STAGES)
    with (project / "params.yaml").open("a") as file:
        file.write("openings: [first_word]\n")
    changed = subprocess.run(["git", "diff", "--name-only"], cwd=project, capture_output=True, text=True, check=True)
    return set(changed.stdout.split())
