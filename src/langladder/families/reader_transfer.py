"""Readers that start from the network of another rung."""

from pydantic import create_model

from langladder.families.family import Rung, Values, takes_weights, unfit
from langladder.families.reader import ReaderFamily
from langladder.ground.schema import Config


class ReaderTransferFamily(ReaderFamily):
    """See `Family`. Evaluated and shown like readers."""

    name = "reader_transfer"
    listed = "reader_transfers"
    guide = "questions.md"
    title = "Readers that start from other rungs"
    position = 28
    default = "bert_span"
    bases = ("encoder", "encoder_transfer", "lm", "tune", "given")

    def settings(self, value: Values) -> type[Config]:
        """The settings of a reader, and its base."""
        parts = self.parts(self.rung_class(value)) | {"base": (str, ...)}
        return create_model("reader_transfer_rung", __base__=Rung, **parts)

    def grows(self, value: Values, base: Values) -> str | None:
        """A base must be the required network."""
        kind = self.rung_class(value)
        return unfit(kind, value, base) if takes_weights(kind) else f"a {kind.__name__} starts from no base"


FAMILY = ReaderTransferFamily()
