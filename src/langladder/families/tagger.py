"""Taggers: words → one tag each; evaluated by the share of test words with the correct tag.

Some start from another rung: its word vectors, or its whole network.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import (
    Evaluated,
    Family,
    Make,
    Trained,
    Values,
    base_of,
    is_network,
    takes_weights,
    unfit,
    validated,
    work_of_reader,
)
from langladder.families.folds import fold_folder
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.evaluation.predictions import Prediction
    from langladder.families.job import Job
    from langladder.families.rungs import TaggerRung, TaggerTransfer

TAGS = Path("data/clean/tags")


class TaggerFamily(Family["TaggerRung | TaggerTransfer"]):
    """See `Family`."""

    name = "tagger"
    listed = "taggers"
    guide = "reading.md"
    title = "Taggers"
    experiment = "taggers"
    report_module = "langladder.faces.report.taggers"
    position = 25
    default = "hmm"
    reads = ("data/clean/tags",)
    side = "tags"
    model = "langladder.models.tagging.tagger.Tagger"
    function = "langladder.faces.mlflow.functions.TaggerFunction"
    asks = ("tag",)
    judge = "langladder.answers.evaluate.judge_tagger"
    trees = True
    in_python = True
    in_new = True
    loading = """from pathlib import Path

from langladder.models.tagging.tagger import Tagger


model = Tagger.load(Path("{folder}"))
model.tag([["the", "dog", "sleeps", "."]])  # a list of tags a sentence; log_probs: log P(tag | sentence), (T, K)"""
    limits = (
        "The model gives every word one of its tags; words must be separate from punctuation, as in its training data."
    )

    def rung(self) -> "type[TaggerRung | TaggerTransfer]":
        """Networks are trained, and can start with vectors."""
        from langladder.families.rungs import TaggerRung, TaggerTransfer

        return TaggerTransfer if self.bases else TaggerRung

    def inputs(self, value: Values) -> dict[str, str]:
        """The word vectors that it starts with, if any; none but its base if it has one."""
        chosen = value.get("input") or {}
        return {"vectors": chosen["vectors"]} if chosen.get("vectors") and not self.bases else {}

    def base_problem(self, value: Values, base: Values) -> str | None:
        """Counted taggers cannot start with vectors; a base must have vectors, or be the required network."""
        kind = self.rung_class(value)
        if takes_weights(kind):
            return unfit(kind, value, base)
        if str(value["base"]).startswith(("encoder/", "encoder_transfer/", "given/")):
            return f"a {kind.__name__} starts with word vectors; a rung that starts from an encoder is a BERTTagger"
        return None if is_network(kind) else f"a {kind.__name__} has no input embedding to put vectors into"

    def page(self) -> type[Page]:
        """`TaggerPage`."""
        from langladder.evaluation.tagger import TaggerPage

        return TaggerPage

    def training_inputs(self, rung: "TaggerRung | TaggerTransfer") -> dict[str, Path]:
        """The tagged sentences."""
        return {"tags": TAGS}

    def train(self, rung: "TaggerRung | TaggerTransfer", job: "Job", make: Make, root: Path = Path()) -> Trained:
        """Train on the training sentences, validate on the validation sentences; start from its base, if it has one.

        Args:
            root: the folder that holds data/.
        """
        from langladder.text.labelled.folds import training_splits
        from langladder.text.labelled.labelled import Tagged, read_labels, read_tagged
        from langladder.text.words.segmentation import conventions_of

        tags = read_labels(root / TAGS)
        train, validation = training_splits(root / TAGS, read_tagged, Tagged.dealt_by, rung.fold)
        conventions = conventions_of(root / TAGS)
        more = {"base": base_of(rung), "language": conventions.language}
        model, result = make(locate(rung.target), tags, train, validation, settings=rung, **more)
        model.normalisation = conventions.normalisation
        figures, message = validated(model, result)
        figures |= {"train_sentences": len(train), "train_words": sum(len(sentence.words) for sentence in train)}
        return Trained(model, result, figures | {"tags": len(tags)}, message)

    def evaluation_inputs(self, rung: "TaggerRung | TaggerTransfer", job: "Job") -> dict[str, Path]:
        """The tagged sentences; those for training define which words are known."""
        return {"tags": TAGS}

    def evaluate(self, rung: "TaggerRung | TaggerTransfer", job: "Job", folder: Path) -> Evaluated:
        """Tag the test sentences and count correct tags."""
        from langladder.evaluation.folds import out_of_fold
        from langladder.evaluation.tagger import evaluate_tagger
        from langladder.models.tagging.tagger import Tagger
        from langladder.text.labelled.folds import Folds
        from langladder.text.labelled.labelled import Tagged, read_tagged

        model = Tagger.load(folder)
        table: list[Prediction] = []
        if rung.folds > 1:
            whole = Folds.read(TAGS, read_tagged, Tagged.dealt_by, rung.folds)
            models = [Tagger.load(fold_folder(folder, number)) for number in range(1, rung.folds + 1)]
            test, folds = whole.rows, out_of_fold(whole, models, lambda _, row: row.words)
            page = evaluate_tagger(model, test, known=(), name=rung.name, folds=folds, table=table)
        else:
            known = {word for sentence in read_tagged(TAGS / "train.parquet") for word in sentence.words}
            test = read_tagged(TAGS / "test.parquet")
            page = evaluate_tagger(model, test, known=known, name=rung.name, table=table)
        work = work_of_reader(model, rung, (len(sentence.words) for sentence in test))
        best = "" if page.bayes_accuracy is None else f" (the best possible is {page.bayes_accuracy:.1%})"
        share = "" if page.majority_accuracy is None else f", {page.majority_accuracy:.1%} by one tag for all"
        message = f"{page.scores.accuracy:.1%} of {page.words:,} test words right{best}{share}"
        if page.scores.entity_f1 is not None:
            message += f"; entity F₁ {page.scores.entity_f1:.1%}"
        message += "" if page.by_fold is None else f"; {page.by_fold}"
        return Evaluated(page.model_copy(update={"work": work}), message, predictions=table)


FAMILY = TaggerFamily()
TRANSFER = FAMILY.from_base(
    name="tagger_transfer",
    listed="tagger_transfers",
    title="Taggers that start from other rungs",
    position=26,
    default="bilstm_crf_skipgram",
    bases=("embedding", "encoder", "encoder_transfer", "given"),
    guide="fine-tuning.md",
    in_python=True,
)
