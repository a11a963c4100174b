"""Taggers that start from another rung: its word vectors, or its whole network."""

from pydantic import create_model

from langladder.families.family import Fields, Values, is_network, takes_weights, unfit
from langladder.families.tagger import TaggerFamily, tagger_parts
from langladder.ground.schema import Config, locate


class TaggerTransferFamily(TaggerFamily):
    """See `Family`. Evaluated and shown like taggers."""

    name = "tagger_transfer"
    listed = "tagger_transfers"
    guide = "fine-tuning.md"
    title = "Taggers that start from other rungs"
    position = 26
    default = "bilstm_crf_skipgram"
    bases = ("embedding", "encoder", "encoder_transfer", "given")

    def settings(self, value: Values) -> type[Config]:
        """The settings of a tagger, and its base; a network from the base keeps the base's input."""
        kind = self.rung_class(value)
        parts: Fields = {"base": (str, ...), "model": (kind.Config, ...)}
        if takes_weights(kind):
            parts["training"] = (locate("langladder.tasks.settings.TaggingTraining"), ...)
        else:
            parts |= tagger_parts("TaggerTransferInput")
        return create_model("tagger_transfer_rung", __base__=self.base_settings, **parts)

    def inputs(self, value: Values) -> dict[str, str]:
        """None but its base."""
        return {}

    def grows(self, value: Values, base: Values) -> str | None:
        """Counted taggers cannot start with vectors; a base must have vectors, or be the required network."""
        kind = self.rung_class(value)
        if takes_weights(kind):
            return unfit(kind, value, base)
        if str(value["base"]).startswith(("encoder/", "encoder_transfer/", "given/")):
            return f"a {kind.__name__} starts with word vectors; a rung that starts from an encoder is a BERTTagger"
        return None if is_network(kind) else f"a {kind.__name__} has no input embedding to put vectors into"


FAMILY = TaggerTransferFamily()
