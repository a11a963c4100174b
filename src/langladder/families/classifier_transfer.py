"""Classifiers that start from another rung: its word vectors, or its whole network."""

from pydantic import create_model

from langladder.families.classifier import ClassifierFamily
from langladder.families.family import Values, is_network, takes_weights, unfit
from langladder.ground.schema import Config, locate


class ClassifierTransferFamily(ClassifierFamily):
    """See `Family`. Evaluated and shown like classifiers."""

    name = "classifier_transfer"
    listed = "classifier_transfers"
    title = "Classifiers that start from other rungs"
    guide = "fine-tuning.md"
    position = 21
    default = "textcnn_skipgram"
    bases = ("embedding", "lm", "tune", "encoder", "encoder_transfer", "given")

    def settings(self, value: Values) -> type[Config]:
        """The same as for a classifier, and the base; a network from the base keeps the base's input."""
        kind = self.rung_class(value)
        parts = self.parts(kind) | {"base": (str, ...)}
        if takes_weights(kind):
            del parts["input"]
        else:
            read_as = locate("langladder.tasks.settings.TransferInput")
            parts["input"] = (read_as, read_as())
        return create_model("classifier_transfer_rung", __base__=self.base_settings, **parts)

    def inputs(self, value: Values) -> dict[str, str]:
        """None except its base and the text's tokenizer, on which the whole family depends."""
        return {}

    def grows(self, value: Values, base: Values) -> str | None:
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


FAMILY = ClassifierTransferFamily()
