"""Classifiers: a text, or two → its label, or its set of labels; judged by accuracy on the test texts.

Some start from another rung: its word vectors, or its whole network.
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
    is_network,
    takes_weights,
    unfit,
    validated,
    work_of_reader,
)
from langladder.families.folds import PARTS, fold_folder, part_folder
from langladder.ground.errors import InputError
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.evaluation.more_labels import MoreLabels
    from langladder.evaluation.predictions import Prediction
    from langladder.families.job import Job
    from langladder.families.rungs import ClassifierRung, ClassifierTransfer
    from langladder.models.classification.classifier import Classifier
    from langladder.models.classification.neural_classifier import NeuralClassifier

TOKENIZER = "data/tokens/text/tokenizer.json"

LABELS = Path("data/clean/labels")


class ClassifierFamily(Family["ClassifierRung | ClassifierTransfer"]):
    """See `Family`."""

    name = "classifier"
    listed = "classifiers"
    title = "Classifiers"
    guide = "reading.md"
    experiment = "classifiers"
    report_module = "langladder.faces.report.classifiers"
    position = 20
    default = "textcnn"
    reads = ("data/clean/labels",)
    side = "labels"
    model = "langladder.models.classification.classifier.Classifier"
    function = "langladder.faces.mlflow.functions.ClassifierFunction"
    asks = ("classify",)
    judge = "langladder.answers.evaluate.judge_classifier"
    trees = True
    in_python = True
    in_new = True
    loading = """from langladder.models.classification.classifier import Classifier
from langladder.text.labelled.labelled import Example


model = Classifier.load("{folder}")
texts = [Example("not boring", tree="((not) (boring))")]  # only classifiers of trees read the tree
model.log_probs(texts)  # (1, C) log P(label | text); model.labels names them"""
    limits = (
        "The model gives every text one of its labels, whatever the text is about, and knows the words it has seen."
    )

    def rung(self) -> "type[ClassifierRung | ClassifierTransfer]":
        """Networks read words or subwords, may begin with vectors, and are trained."""
        from langladder.families.rungs import ClassifierRung, ClassifierTransfer

        return ClassifierTransfer if self.bases else ClassifierRung

    def inputs(self, value: Values) -> dict[str, str]:
        """The word vectors that it starts with, and the tokenizer of its subwords; with a base all have the latter."""
        return {} if self.bases else reading_inputs(value)

    def base_problem(self, value: Values, base: Values) -> str | None:
        """Classifiers over n-grams cannot start with vectors; a base must have vectors, or be the required network."""
        kind = self.rung_class(value)
        if not is_network(kind):
            return f"a {kind.__name__} cannot start with word vectors"
        if takes_weights(kind):
            return unfit(kind, value, base)
        if str(value["base"]).startswith(("encoder/", "encoder_transfer/", "given/")):
            return f"a {kind.__name__} starts with word vectors; a rung that starts from an encoder is a BERTClassifier"
        counted = "_target_" in base and not is_network(locate(base["_target_"]))
        if counted and not str(value["base"]).startswith("embedding/"):
            return "it has no input embedding to start with"
        return None

    def page(self) -> type[Page]:
        """`ClassifierPage`."""
        from langladder.evaluation.classifier import ClassifierPage

        return ClassifierPage

    def training_inputs(self, rung: "ClassifierRung | ClassifierTransfer") -> dict[str, Path]:
        """The labelled texts; whatever a transfer may read."""
        return {"labels": LABELS} | ({"tokenizer": Path(TOKENIZER)} if self.bases else {})

    def train(
        self, rung: "ClassifierRung | ClassifierTransfer", job: "Job", make: Make, root: Path = Path()
    ) -> Trained:
        """Train on the training texts, validate on the validation texts; start from its base, if it has one.

        Args:
            root: the folder that holds data/.
        """
        from langladder.models.classification.classifier import Classifier, is_multi_label, right_texts, targets
        from langladder.text.labelled.folds import training_splits
        from langladder.text.labelled.labelled import Example, read_labelled, read_labels
        from langladder.text.words.segmentation import conventions_of

        labels = read_labels(root / LABELS)
        train, validation = training_splits(root / LABELS, read_labelled, Example.dealt_by, rung.fold, rung.part)
        paths = {"tokenizer": root / TOKENIZER, "base": base_of(rung)}
        kind: type[Classifier] = locate(rung.target)
        if is_multi_label(train) and (why := kind.refuses_multi_label(rung.model)):
            raise InputError(
                f"{self.name}.{rung.name}: {why}, and the texts are multi-label (params.yaml: data: {{labels: "
                f"{{multi_label: …}}}}); remove {rung.name} from {self.listed} in params.yaml, or set multi_label: null"
            )
        conventions = conventions_of(root / LABELS)
        language = conventions.language
        model, result = make(kind, labels, train, validation, settings=rung, language=language, **paths)
        gold = targets(validation, labels, multi_label=model.multi_label)
        right = float(right_texts(model.log_probs(validation), gold).mean()) if len(gold) else None
        model.normalisation = conventions.normalisation
        figures, _ = validated(model, result)
        figures |= {"validation_accuracy": right, "train_texts": len(train), "labels": len(labels)}
        return Trained(
            model, result, figures, f"{'–' if right is None else f'{right:.1%}'} of the validation texts right"
        )

    def evaluation_inputs(self, rung: "ClassifierRung | ClassifierTransfer", job: "Job") -> dict[str, Path]:
        """The test texts, and the training texts for the known words. In folds all of them are tested."""
        if rung.folds > 1:
            return {"labels": LABELS}
        return {"test": LABELS / "test.parquet", "train": LABELS / "train.parquet"}

    def evaluate(self, rung: "ClassifierRung | ClassifierTransfer", job: "Job", folder: Path) -> Evaluated:
        """Classify the test texts; count correct labels, and measure the confidence."""
        from langladder.evaluation.classifier import evaluate_classifier
        from langladder.evaluation.folds import out_of_fold
        from langladder.models.classification.classifier import Classifier
        from langladder.text.labelled.folds import Folds
        from langladder.text.labelled.labelled import Example, read_labelled
        from langladder.text.words.segmentation import conventions_of

        model, split = Classifier.load(folder), conventions_of(LABELS).split
        table: list[Prediction] = []
        if rung.folds > 1:
            whole = Folds.read(LABELS, read_labelled, Example.dealt_by, rung.folds)
            models = [Classifier.load(fold_folder(folder, number)) for number in range(1, rung.folds + 1)]
            examples, folds = whole.rows, out_of_fold(whole, models, lambda model, row: model.words(row, split))
            page = evaluate_classifier(model, examples, name=rung.name, split=split, folds=folds, table=table)
        else:
            examples = read_labelled(LABELS / "test.parquet")
            known = {
                word for example in read_labelled(LABELS / "train.parquet") for word in model.words(example, split)
            }
            page = evaluate_classifier(model, examples, name=rung.name, known=known, split=split, table=table)
        page = page.model_copy(update={"more_labels": self._more_labels(rung, folder, model)})
        network = cast("NeuralClassifier", model)  # where `work_of_reader` reads lengths
        work = work_of_reader(model, rung, (len(network.encode(example).ids) for example in examples))
        best = "" if page.bayes_accuracy is None else f" (the best possible is {page.bayes_accuracy:.1%})"
        best = best if page.multi_label is None else f" in all their labels, micro-F₁ {page.multi_label.micro_f1:.3f}"
        message = f"{page.scores.accuracy:.1%} of {page.texts:,} test texts right{best}"
        message += "" if page.by_fold is None else f"; {page.by_fold}"
        return Evaluated(page.model_copy(update={"work": work}), message, predictions=table)

    def _more_labels(
        self, rung: "ClassifierRung | ClassifierTransfer", folder: Path, model: "Classifier"
    ) -> "MoreLabels | None":
        """The effect of more labels, by the models of the parts; None if there are none."""
        import numpy as np

        from langladder.evaluation.more_labels import more_labels
        from langladder.models.classification.classifier import Classifier, right_texts, targets
        from langladder.text.labelled.labelled import read_labelled

        parts = [part for part in PARTS if rung.learning_curve and part_folder(folder, part).is_dir()]
        test = read_labelled(LABELS / "test.parquet")
        if not parts or not test:
            return None
        models = [*(Classifier.load(part_folder(folder, part)) for part in parts), model]
        gold = targets(test, model.labels, multi_label=model.multi_label)
        right = np.stack([right_texts(model.log_probs(test), gold) for model in models])  # (M, N)
        count = len(read_labelled(LABELS / "train.parquet"))
        texts = [*(count // part.of for part in parts), count]
        _, commonest = np.unique(gold, axis=0, return_counts=True)
        return more_labels(texts, right, chance=float(commonest.max() / len(gold)))


def reading_inputs(value: Values) -> dict[str, str]:
    """The inputs named in the `input` of a network that reads whole texts: vectors, the tokenizer of the text."""
    chosen = value.get("input") or {}
    inputs = {"vectors": chosen["vectors"]} if chosen.get("vectors") else {}
    return inputs | ({"tokenizer": TOKENIZER} if chosen.get("units") == "subwords" else {})


FAMILY = ClassifierFamily()
TRANSFER = FAMILY.from_base(
    name="classifier_transfer",
    listed="classifier_transfers",
    title="Classifiers that start from other rungs",
    position=21,
    default="textcnn_skipgram",
    bases=("embedding", "lm", "tune", "encoder", "encoder_transfer", "given"),
    guide="fine-tuning.md",
    in_python=True,
)
