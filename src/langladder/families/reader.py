"""Readers: a paragraph and a question → the answer in the paragraph, or none; evaluated by exact match and F₁.

Some start from the network of another rung.
"""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from langladder.evaluation.page import Page
from langladder.families.family import (
    Evaluated,
    Family,
    Make,
    Trained,
    Values,
    base_of,
    takes_weights,
    unfit,
    validated,
    work_of_reader,
)
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.evaluation.predictions import Prediction
    from langladder.families.job import Job
    from langladder.families.rungs import ReaderRung
    from langladder.models.reading.network_reader import AnyReader

QUESTIONS = Path("data/raw/questions")


class ReaderFamily(Family["ReaderRung"]):
    """See `Family`."""

    name = "reader"
    listed = "readers"
    guide = "questions.md"
    title = "Readers"
    experiment = "readers"
    report_module = "langladder.faces.report.readers"
    position = 27
    default = "sliding_window"
    reads = ("data/raw/questions",)
    side = "questions"
    model = "langladder.models.reading.reader.Reader"
    function = "langladder.faces.mlflow.functions.ReaderFunction"
    asks = ("answer",)
    judge = "langladder.answers.evaluate.judge_reader"
    in_python = True
    loading = """from pathlib import Path

from langladder.models.reading.reader import Reader
from langladder.text.labelled.questions import Question


model = Reader.load(Path("{folder}"))
asked = [Question("anna lives in paris .", "where does anna live ?")]  # options=(…) for those that choose
model.answers(asked, best=3)  # for each question: text, start (a character of the paragraph), score, probability"""
    limits = "The model answers from the paragraph only, and needs words like those that it was trained on."

    def page(self) -> type[Page]:
        """`ReaderPage`."""
        from langladder.evaluation.reader import ReaderPage

        return ReaderPage

    def rung(self) -> "type[ReaderRung]":
        """Networks are trained."""
        from langladder.families.rungs import ReaderRung, ReaderTransfer

        return ReaderTransfer if self.bases else ReaderRung

    def base_problem(self, value: Values, base: Values) -> str | None:
        """A base must be the required network."""
        kind = self.rung_class(value)
        return unfit(kind, value, base) if takes_weights(kind) else f"a {kind.__name__} starts from no base"

    def training_inputs(self, rung: "ReaderRung") -> dict[str, Path]:
        """The questions."""
        return {"questions": QUESTIONS}

    def train(self, rung: "ReaderRung", job: "Job", make: Make, root: Path = Path()) -> Trained:
        """Train on the training questions, validate on the validation questions; start from its base, if it has one.

        Args:
            root: the folder that holds data/.
        """
        from langladder.text.labelled.questions import read_questions

        train, validation = (read_questions(root / QUESTIONS / f"{split}.parquet") for split in ("train", "validation"))
        model, result = make(locate(rung.target), train, validation, settings=rung, base=base_of(rung))
        figures, message = validated(model, result)
        return Trained(model, result, figures | {"train_questions": len(train), "threshold": model.threshold}, message)

    def evaluation_inputs(self, rung: "ReaderRung", job: "Job") -> dict[str, Path]:
        """The test questions."""
        return {"questions": QUESTIONS / "test.parquet"}

    def evaluate(self, rung: "ReaderRung", job: "Job", folder: Path) -> Evaluated:
        """Answer the test questions and count correct answers."""
        from langladder.evaluation.reader import evaluate_reader
        from langladder.models.reading.reader import Reader
        from langladder.text.labelled.questions import read_questions

        model = Reader.load(folder)
        test = read_questions(QUESTIONS / "test.parquet")
        table: list[Prediction] = []
        page = evaluate_reader(model, test, name=rung.name, table=table)
        network = cast("AnyReader", model)  # where `work_of_reader` reads lengths
        work = work_of_reader(model, rung, (row.length for question in test for row in network.encode(question)))
        scores = page.scores
        message = f"{scores.exact:.1%} of {scores.questions:,} test questions right, F₁ {100 * scores.f1:.1f}"
        return Evaluated(page.model_copy(update={"work": work}), message, predictions=table)


FAMILY = ReaderFamily()
TRANSFER = FAMILY.from_base(
    name="reader_transfer",
    listed="reader_transfers",
    title="Readers that start from other rungs",
    position=28,
    default="bert_span",
    bases=("encoder", "encoder_transfer", "lm", "tune", "given"),
    in_python=True,
)
