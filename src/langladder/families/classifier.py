"""Classifiers: a text, or two → its label; judged by accuracy on the test texts."""

from collections.abc import Mapping
from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate

TOKENIZER = "data/tokens/text/tokenizer.json"


class ClassifierFamily(Family):
    """See `Family`."""

    name = "classifier"
    listed = "classifiers"
    title = "Classifiers"
    experiment = "classifiers"
    report_module = "langladder.faces.report.classifiers"
    place = 20
    default = "textcnn"
    reads = ("data/clean/labels",)
    side = "labels"
    loading = """from langladder.models.classifier import Classifier
from langladder.text.labelled.labelled import Example

model = Classifier.load("{folder}")
texts = [Example("not boring", tree="((not) (boring))")]  # the tree is for those alone that read trees
model.log_probs(texts)  # (1, C) log P(label | text); model.labels names them"""
    limits = (
        "The model gives every text one of its labels, whatever the text is about, and knows the words it has seen."
    )

    def parts(self, rung: Any) -> dict[str, Any]:
        """Networks read words or subwords, may begin with vectors, and are trained."""
        from torch import nn

        parts = super().parts(rung)
        if issubclass(rung, nn.Module):
            parts["training"] = (locate("langladder.tasks.settings.ReadingTraining"), ...)
            read_as = locate("langladder.tasks.settings.ReadingInput")
            parts["input"] = (read_as, read_as())
        return parts

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The word vectors that it begins with, and the tokenizer of its subwords, where it has them."""
        return reading_inputs(value)

    def page(self) -> type[Page]:
        """`ClassifierPage`."""
        from langladder.evaluation.classifier import ClassifierPage

        return ClassifierPage


def reading_inputs(value: Mapping[str, Any]) -> dict[str, str]:
    """What the `input` of a network that reads whole texts names: vectors, the tokenizer of the text."""
    given = value.get("input") or {}
    found = {"vectors": given["vectors"]} if given.get("vectors") else {}
    return found | ({"tokenizer": TOKENIZER} if given.get("units") == "subwords" else {})


FAMILY = ClassifierFamily()
