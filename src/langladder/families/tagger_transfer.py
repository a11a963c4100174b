"""Taggers that begin with the word vectors of another rung."""

from collections.abc import Mapping
from typing import Any

from pydantic import create_model

from langladder.families.family import Rung
from langladder.families.tagger import TaggerFamily, tagger_parts
from langladder.schema import Config


class TaggerTransferFamily(TaggerFamily):
    """See `Family`. Judged and shown as taggers are."""

    name = "tagger_transfer"
    listed = "tagger_transfers"
    title = "Taggers that begin with word vectors"
    place = 26
    default = "bilstm_crf_skipgram"
    bases = ("embedding",)

    def settings(self, value: Mapping[str, Any]) -> type[Config]:
        """A tagger's, and its base."""
        parts = {"base": (str, ...), "model": (self.rung_class(value).Config, ...)} | tagger_parts("TransferInput")
        return create_model("tagger_transfer_rung", __base__=Rung, **parts)

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """None but its base."""
        del value
        return {}

    def grows(self, value: Mapping[str, Any], base: Mapping[str, Any]) -> str | None:
        """What is counted has no vectors to begin with."""
        from torch import nn

        del base
        kind = self.rung_class(value)
        return None if issubclass(kind, nn.Module) else f"a {kind.__name__} has no input embedding to put vectors into"


FAMILY = TaggerTransferFamily()
