"""Word vectors: counted, factorised or learnt by predicting; judged by analogies, similarity and groups."""

from collections.abc import Mapping
from typing import Any

from langladder.evaluation.page import Page
from langladder.families.family import Family
from langladder.ground.schema import locate

PROVIDED = ("microworld", "wordnet")  # lexicons that are no file of the user's: they come with the code, and with NLTK


class WordVectorFamily(Family):
    """See `Family`."""

    name = "embedding"
    listed = "embeddings"
    title = "Word vectors"
    experiment = "word vectors"
    report_module = "langladder.faces.report.word_vectors"
    place = 30
    objective = None
    default = "skipgram"
    reads = ("data/words",)
    loading = """from langladder.formats.vector_files import read_vectors

vectors = read_vectors("{folder}")
vectors.nearest(vectors.words[0])"""
    limits = (
        "The vectors hold which words co-occur in the training text, its prejudice included; words that are not in it "
        "have none."
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
        """The user's lexicon, where the vectors are made of one; the counts that a rung is made of."""
        from langladder.counts.stored import file_name

        counting, lexicon = self.counting(value), value["model"].get("lexicon")
        found = {} if lexicon in (None, *PROVIDED) else {"lexicon": lexicon}
        return found if counting is None else found | {"counts": f"data/cooccurrence/{file_name(counting)}"}

    def counting(self, value: Mapping[str, Any]) -> Any:
        """What is counted in the text for such a rung; None for those that are made of the text itself."""
        from langladder.embeddings.method import counting_of

        return counting_of(self.rung_class(value).Config.model_validate(value["model"]))

    def page(self) -> type[Page]:
        """`WordVectorsPage`."""
        from langladder.evaluation.word_vectors import WordVectorsPage

        return WordVectorsPage


FAMILY = WordVectorFamily()
