"""What the stages that judge language models share: those of the family `lm`, and those that grow from it."""

from pathlib import Path
from typing import Any

from langladder.decoding.sampling import SamplingConfig
from langladder.evaluation.language_model import evaluate_language_model
from langladder.evaluation.page import Work
from langladder.evaluation.word_vectors import WordVectorsPage
from langladder.evaluation.work import work_of
from langladder.formats.vector_files import input_embedding
from langladder.ground.artefacts import format_figure, read_json
from langladder.models.base import LanguageModel
from langladder.models.neural import NeuralLanguageModel
from langladder.text.storage.corpus_ids import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.vocabulary import Vocabulary
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged

TOKENS = Path("data/tokens/text")
WORDS = Path("data/words/vocabulary.json")
INSIDE = "inside language models"  # the approach of these vectors


def judge(job: Any, out: Path, *, family: str, stage: str) -> None:
    """Score a trained model on the test text and its input embedding as word vectors; let it continue prompts."""
    name = getattr(job, family).name
    folder = Path("models") / family / name
    inputs = {"model": folder, "test": TOKENS / "test.arrow", "sizes": TOKENS / "sizes.json", "words": WORDS}
    sets = {key: Path(value) for key, value in job.paths.model_dump().items()}
    with tracked_job(family, stage, job, inputs | sets) as work:
        model = LanguageModel.load(folder)
        page = evaluate_language_model(
            model,
            Tokenizer.load(folder / "tokenizer.json"),
            TokenStream.open(TOKENS / "test.arrow"),
            read_json(TOKENS / "sizes.json")["test"],
            name=name,
            prompts=job.evaluation.prompts,
            sampling=SamplingConfig(temperature=job.evaluation.temperature, max_tokens=job.evaluation.sample_tokens),
            vectors=_input_vectors(model, folder, sets, job, name),
            work=_work(model, getattr(job, family)),
        )
        judged(work, out, page, folder, page.scores.figures())
    scores = page.scores
    name_of_figure, figure = scores.headline
    above = (
        ""
        if (floor := scores.above_floor_percent) is None
        else f", {format_figure(floor, '.1f')} % above the entropy floor"
    )
    print(f"{stage} {name}: test {name_of_figure} {format_figure(figure, '.2f')}{above}")


def _work(model: LanguageModel, rung: Any) -> Work | None:
    """Operations and memory, as it is trained; nothing of a counted model."""
    if not isinstance(model, NeuralLanguageModel):
        return None
    training = rung.training
    return work_of(model, training.optimizer, rows=training.batch_size, length=training.sequence_length)


def _input_vectors(
    model: LanguageModel, folder: Path, sets: dict[str, Path], job: Any, name: str
) -> WordVectorsPage | None:
    """The input embedding, judged as the word vectors of other rungs are; nothing where the model has none."""
    if not isinstance(model, NeuralLanguageModel) or model.input_embedding() is None:
        return None
    from langladder.evaluation.word_vectors import QuestionSets, evaluate_word_vectors  # which takes a second to import

    return evaluate_word_vectors(
        input_embedding(folder, Vocabulary.load(WORDS)),
        QuestionSets(**sets),
        name=f"{name}_input",
        approach=INSIDE,
        restrict_vocabulary=job.evaluation.restrict_vocabulary,
        neighbours=job.evaluation.neighbours,
    )
