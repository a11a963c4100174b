"""Word vectors: counted, factorised or learned by prediction; evaluated on analogies, similarity and groups."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.family import Evaluated, Family, Make, Trained, Values
from langladder.ground.errors import InputError
from langladder.ground.schema import locate

WORDS, COUNTS = Path("data/words"), Path("data/cooccurrence")
PROVIDED = ("microworld", "wordnet")  # lexicons and lists that are not the user's: of the code, of NLTK


if TYPE_CHECKING:
    from langladder.counts.stored import Counting
    from langladder.families.job import Job
    from langladder.families.rungs import WordVectorRung


class WordVectorFamily(Family["WordVectorRung"]):
    """See `Family`."""

    name = "embedding"
    listed = "embeddings"
    title = "Word vectors"
    guide = "vectors.md"
    experiment = "word vectors"
    report_module = "langladder.faces.report.word_vectors"
    position = 30
    objective = None
    default = "skipgram"
    reads = ("data/words",)
    model = "langladder.embeddings.base.WordVectors"
    file = "words.json"
    function = "langladder.faces.mlflow.functions.VectorsFunction"
    asks = ("neighbours", "embed")
    in_python = True
    in_new = True
    loading = """from langladder.formats.vector_files import read_vectors

vectors = read_vectors("{folder}")
vectors.nearest(vectors.words[0])"""
    limits = (
        "The vectors reflect which words co-occur in the training text, including its prejudices; other words have no "
        "vector."
    )

    def rung(self) -> "type[WordVectorRung]":
        """Networks are trained; all vectors can be postprocessed."""
        from langladder.families.rungs import WordVectorRung

        return WordVectorRung

    def inputs(self, value: Values) -> dict[str, str]:
        """The user's lexicon or lists of words, if the rung reads them; the counts that a rung is made from.

        Raises:
            InputError: it reads both, from different places; DVC tracks one.
        """
        from langladder.counts.stored import file_name

        counting = self.counting(value)
        lists = [step.get("lists") for step in (value.get("after") or {}).get("steps", [])]
        own = [name for name in (value["model"].get("lexicon"), *lists) if name not in (None, *PROVIDED)]
        if len(set(own)) > 1:
            raise InputError(
                f"embedding.{value['name']}: model.lexicon={own[0]!r} and lists={own[1]!r}, but a rung reads one path "
                "of its own, params.yaml: paths.lexicon, so that DVC tracks it; set one of them to microworld"
            )
        inputs = {"lexicon": own[0]} if own else {}
        return inputs if counting is None else inputs | {"counts": f"data/cooccurrence/{file_name(counting)}"}

    def counting(self, value: Values) -> "Counting | None":
        """The counts of the text that such a rung needs; None for rungs that read the text itself."""
        from langladder.embeddings.method import counting_of

        return counting_of(self.rung_class(value).Config.model_validate(value["model"]))

    def page(self) -> type[Page]:
        """`WordVectorsPage`."""
        from langladder.evaluation.word_vectors import WordVectorsPage

        return WordVectorsPage

    def training_inputs(self, rung: "WordVectorRung") -> dict[str, Path]:
        """The training text as word ids."""
        return {"words": WORDS}

    def train(self, rung: "WordVectorRung", job: "Job", make: Make, root: Path = Path()) -> Trained:
        """Make vectors from the text, or from its counts; then postprocess them.

        Args:
            root: the folder that holds data/.
        """
        from langladder.embeddings.postprocess import HardDebias, postprocess
        from langladder.text.words.segmentation import conventions_of
        from langladder.text.words.vocabulary import WordCorpus

        corpus = WordCorpus.open(root / WORDS, root / COUNTS)
        result = make(locate(rung.target), rung.model, corpus, training=rung.training)
        conventions = conventions_of(root / WORDS)
        changed = postprocess(result.vectors, rung.after.steps)
        for step in rung.after.steps:
            if isinstance(step, HardDebias):
                from langladder.evaluation.bias import bias_shift

                shift = bias_shift(result.vectors, changed, step)
                changed = replace(changed, about=changed.about | {"bias": shift.model_dump()})
        vectors = replace(
            changed,
            normalisation=conventions.normalisation,
            words_by=conventions.words,
        )
        figures = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        figures["bytes_per_word"] = round(vectors.bytes_per_word)
        return Trained(vectors, result, figures, f"{len(vectors):,} words × {figures['dimension']}")

    def evaluation_inputs(self, rung: "WordVectorRung", job: "Job") -> dict[str, Path]:
        """The sets of questions."""
        return question_sets(job)

    def evaluate(self, rung: "WordVectorRung", job: "Job", folder: Path) -> Evaluated:
        """Analogies, similarity and groups."""
        from langladder.embeddings.saved import load_vectors
        from langladder.evaluation.word_vectors import QuestionSets, evaluate_word_vectors

        page = evaluate_word_vectors(
            load_vectors(folder),
            QuestionSets(**question_sets(job)),
            name=rung.name,
            approach=locate(rung.target).approach,
            restrict_vocabulary=job.evaluation.restrict_vocabulary,
            neighbours=job.evaluation.neighbours,
        )
        figures, answered = page.figures(), "no analogies to answer"
        if figures["analogy"] is not None:
            right, coverage = 100 * figures["analogy"], 100 * figures["analogy_coverage"]
            answered = f"{right:.1f} % of the analogies right, {coverage:.1f} % answered"
        return Evaluated(page, answered)


def question_sets(job: "Job") -> dict[str, Path]:
    """The evaluation sets of word vectors: analogies, similarity, groups."""
    return {key: Path(value) for key, value in job.paths.model_dump().items()}


FAMILY = WordVectorFamily()
