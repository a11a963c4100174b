"""Taggers: words → a tag each; judged by the share of the test words that get their tag."""

from collections.abc import Mapping
from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate


class TaggerFamily(Family):
    """See `Family`."""

    name = "tagger"
    listed = "taggers"
    title = "Taggers"
    experiment = "taggers"
    report_module = "langladder.faces.report.taggers"
    place = 25
    default = "hmm"
    reads = ("data/clean/tags",)
    side = "tags"
    loading = """from pathlib import Path

from langladder.models.tagger import Tagger

model = Tagger.load(Path("{folder}"))
model.tag([["the", "dog", "sleeps", "."]])  # a list of tags a sentence; log_probs: log P(tag | sentence), (T, K)"""
    limits = "The model gives every word one of its tags; it wants words apart from punctuation, as it has learnt them."

    def parts(self, rung: Any) -> dict[str, Any]:
        """Networks may begin with vectors, and are trained."""
        from torch import nn

        parts = super().parts(rung)
        return parts | tagger_parts("TaggerInput") if issubclass(rung, nn.Module) else parts

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The word vectors that it begins with, where it does."""
        given = value.get("input") or {}
        return {"vectors": given["vectors"]} if given.get("vectors") else {}

    def page(self) -> type[Page]:
        """`TaggerPage`."""
        from langladder.evaluation.tagger import TaggerPage

        return TaggerPage


def tagger_parts(read_as: str) -> dict[str, Any]:
    """What the file of a network says beside its `model`; `read_as` is the class of its `input`."""
    read: Any = locate(f"langladder.tasks.tagging_settings.{read_as}")
    return {"training": (locate("langladder.tasks.tagging_settings.TaggerTraining"), ...), "input": (read, read())}


FAMILY = TaggerFamily()
