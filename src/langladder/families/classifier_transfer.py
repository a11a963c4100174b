"""Classifiers that begin with what another rung has learnt: its word vectors."""

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from langladder.families.classifier import ClassifierFamily
from langladder.families.family import Rung
from langladder.schema import Config


class ClassifierTransferFamily(ClassifierFamily):
    """See `Family`. Judged and shown as classifiers are."""

    name = "classifier_transfer"
    listed = "classifier_transfers"
    title = "Classifiers that grew from other rungs"
    place = 21
    default = "text_cnn_skipgram"
    bases = ("embedding", "lm", "tune")

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """The same as of a classifier, and the base."""
        parts: dict[str, Any] = {"base": (str, ...)}
        return create_model("classifier_transfer_rung", __base__=Rung, **self.parts(self.rung_class(value)), **parts)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """None but its base and the text's tokenizer, which all of the family wait for."""
        del value
        return {}

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """What is counted from n-grams begins with no vectors; a base must have some."""
        from torch import nn

        from langladder.schema import locate

        kind = self.rung_class(value)
        if not issubclass(kind, nn.Module):
            return f"a {kind.__name__} begins with no word vectors"
        if "training" in base and not issubclass(locate(base["_target_"]), nn.Module):
            return "it has no input embedding to begin with"
        return None


FAMILY = ClassifierTransferFamily()
