"""Classifiers that begin with what another rung has learnt: its word vectors."""

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from langladder.families.classifier import ClassifierFamily
from langladder.families.family import Rung
from langladder.schema import Config, locate


class ClassifierTransferFamily(ClassifierFamily):
    """See `Family`. Judged and shown as classifiers are."""

    name = "classifier_transfer"
    listed = "classifier_transfers"
    title = "Classifiers that grew from other rungs"
    place = 21
    default = "textcnn_skipgram"
    bases = ("embedding", "lm", "tune")

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """The same as of a classifier, and the base."""
        read_as = locate("langladder.tasks.settings.TransferInput")
        parts = self.parts(self.rung_class(value)) | {"base": (str, ...), "input": (read_as, read_as())}
        return create_model("classifier_transfer_rung", __base__=Rung, **parts)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """None but its base and the text's tokenizer, which all of the family wait for."""
        del value
        return {}

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """What is counted from n-grams begins with no vectors; a base must have some."""
        from torch import nn

        kind = self.rung_class(value)
        if not issubclass(kind, nn.Module):
            return f"a {kind.__name__} begins with no word vectors"
        counted = "_target_" in base and not issubclass(locate(base["_target_"]), nn.Module)
        if counted and not str(value["base"]).startswith("embedding/"):
            return "it has no input embedding to begin with"
        return None


FAMILY = ClassifierTransferFamily()
