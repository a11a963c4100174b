"""Word vectors: counted, factorised or learnt by predicting; judged by analogies, similarity and groups."""

from collections.abc import Mapping
from typing import Any

from langladder.families.family import Family
from langladder.schema import locate

PROVIDED = ("microworld", "wordnet")  # lexicons that are no file of the user's: they come with the code, and with NLTK


class WordVectorFamily(Family):
    """See `Family`."""

    name = "embedding"
    listed = "embeddings"
    title = "Word vectors"
    experiment = "word vectors"
    place = 30
    default = "skipgram"
    reads = ("data/words",)
    loading = """from langladder.embeddings.base import WordVectors

vectors = WordVectors.load("{folder}")
vectors.nearest(vectors.words[0])"""
    limits = (
        "The vectors hold the company that words kept in the training text, its prejudice included; words that were "
        "not there have none."
    )

    def parts(self, rung: Any) -> dict[str, Any]:
        """Networks are trained; whatever made the vectors, they may be postprocessed."""
        from torch import nn

        from langladder.embeddings.postprocess import PostprocessConfig

        parts = super().parts(rung) | {"after": (PostprocessConfig, PostprocessConfig(steps=[]))}
        if issubclass(rung, nn.Module):
            parts["training"] = (locate("langladder.tasks.settings.TrainingConfig"), ...)
        return parts

    def inputs(self, value: Mapping[str, Any]) -> dict[str, str]:
        """The user's lexicon, where the vectors are made of it; the counts of a rung that factorises them."""
        lexicon = value["model"].get("lexicon")
        return {"lexicon": lexicon} if lexicon not in (None, *PROVIDED) else {}

    def load(self, folder: Any) -> Any:
        """`WordVectors`."""
        from langladder.export.vector_files import read_vectors

        return read_vectors(folder)


FAMILY = WordVectorFamily()
