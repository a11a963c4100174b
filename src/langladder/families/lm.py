"""Language models: P(w_t | w_1 … w_{t-1}), counted or trained; evaluated by perplexity on the test text.

Some start from another rung and are trained further: from its weights, its word vectors, or with it as teacher.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from langladder.evaluation.page import Page
from langladder.families.embedding import question_sets
from langladder.families.family import (
    Evaluated,
    Family,
    Listed,
    Make,
    Trained,
    Values,
    copies_of,
    is_network,
)
from langladder.ground.schema import locate

if TYPE_CHECKING:
    from langladder.evaluation.page import Work
    from langladder.evaluation.predictions import Prediction
    from langladder.evaluation.word_vectors import WordVectorsPage
    from langladder.families.job import Job
    from langladder.families.rungs import ContinuedLanguageModel, LanguageModelRung, TunedLanguageModel
    from langladder.models.language.language_model import LanguageModel
    from langladder.models.making import TrainingResult
    from langladder.text.storage.token_streams import TokenStream

    AnyRung = LanguageModelRung | ContinuedLanguageModel | TunedLanguageModel


TOKENS = Path("data/tokens/text")
TOKENIZER = TOKENS / "tokenizer.json"
WORDS = Path("data/words/vocabulary.json")


class LanguageModelFamily(Family["AnyRung"]):
    """See `Family`."""

    name = "lm"
    listed = "lms"
    title = "Language models"
    guide = "language-models.md"
    experiment = "language models"
    report_module = "langladder.faces.report.language_models"
    position = 10
    objective = "validation_perplexity_per_word"
    default = "lstm"
    reads = ("data/tokens/text",)
    tokens = "data/tokens/text"
    model = "langladder.models.language.language_model.LanguageModel"
    function = "langladder.faces.mlflow.functions.LanguageModelFunction"
    asks = ("score", "generate")
    judge = "langladder.answers.evaluate.judge_language_model"
    in_python = True
    in_new = True
    loading = """from langladder.models.language.language_model import LanguageModel

model = LanguageModel.load("{folder}")
model.log_probs(tokens)  # (B, T) ids that begin with BOS → log P(token | those before it)"""
    limits = "The model only knows the language of its training text, and repeats its content, including prejudices."

    def settings(self, value: Values) -> type[Listed]:
        """Networks are trained, and can start with word vectors; with a base, a rung can have the base's network."""
        from langladder.families.rungs import ContinuedLanguageModel, LanguageModelRung, TunedLanguageModel

        if self.bases and "_target_" not in value:
            return ContinuedLanguageModel
        self.rung_class(value)
        return TunedLanguageModel if self.bases else LanguageModelRung

    def maker(self, value: Values) -> str | None:
        """Rungs that start with word vectors read their files; other rungs must not depend on those readers."""
        if self.bases:
            return self._maker_from(value)
        maker: str = getattr(self.rung_class(value), "maker_from_vectors" if self.inputs(value) else "maker")
        return maker

    def inputs(self, value: Values) -> dict[str, str]:
        """The word vectors that it starts with, if any."""
        vectors = (value.get("input") or {}).get("vectors")
        return {"vectors": vectors} if vectors else {}

    def _maker_from(self, value: Values) -> str:
        """The maker depends on what the rung starts from: weights, word vectors, a teacher."""
        if own := self._tuned_maker(value):
            return own
        if _is_distilled(value):
            return "langladder.tasks.distillation.make_tuned"
        return f"langladder.tasks.{'from_vectors' if _from_vectors(value) else 'language_modelling'}.make_tuned"

    def _tuned_maker(self, value: Values) -> str | None:
        """The maker of a class that is not trained by gradient; None of most."""
        kind = self.rung_class(value) if "_target_" in value else None
        return getattr(kind, "tuned_maker", None)

    def base_problem(self, value: Values, base: Values) -> str | None:
        """A counted model has no weights; word vectors need a network that starts with them."""
        if "_target_" not in base:  # the base got its network from its own base
            return None
        if self._tuned_maker(value):
            wanted, kind = self.rung_class(value), locate(base["_target_"])
            fits = issubclass(kind, getattr(wanted, "BODY", ()))
            return None if fits else f"it is a {kind.__name__}, and no base of a {wanted.__name__}"
        if _is_distilled(value):
            kind = locate(base["_target_"])
            return None if is_network(kind) else f"a {kind.__name__} is counted, and a teacher is a network"
        if _from_vectors(value):
            return None if "_target_" in value else "word vectors are not a network; set _target_ and model"
        kind = locate(base["_target_"])
        if not is_network(kind):
            return f"a {kind.__name__} is counted, so it has no weights to start from"
        if "_target_" in value and value["_target_"] != base["_target_"]:
            return f"it is a {kind.__name__}, but the rung is a {locate(value['_target_']).__name__}"
        return None

    def also_given(self, value: Values, title: Callable[[str], str]) -> str:
        """See `Family.also_given`; a teacher is no beginning."""
        taught = bool(self.bases) and _is_distilled(value)
        return f"teacher: {title(value['base'])}" if taught else super().also_given(value, title)

    def page(self) -> type[Page]:
        """`LanguageModelPage`."""
        from langladder.evaluation.language_model import LanguageModelPage

        return LanguageModelPage

    def inside(self, page: Page) -> Mapping[str, tuple[Page, str]]:
        """The input embedding, among the word vectors."""
        vectors: Page | None = getattr(page, "vectors", None)
        return {} if vectors is None else {"embedding": (vectors, "input embedding")}

    def training_inputs(self, rung: "AnyRung") -> dict[str, Path]:
        """The encoded text and its tokenizer."""
        return {"tokens": TOKENS}

    def train(self, rung: "AnyRung", job: "Job", make: Make, root: Path = Path()) -> Trained:
        """Train a network from random weights or from its base, or count.

        Args:
            root: the folder that holds data/.
        """
        import torch

        from langladder.families.rungs import LanguageModelRung
        from langladder.text.tokenize.tokenizers import Tokenizer

        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(root / TOKENIZER)
        if not isinstance(rung, LanguageModelRung):
            model, result = make(root / "models" / rung.base, tokenizer, *streams(root), settings=rung)
            return scored(model, result, root)
        model = locate(rung.target)(rung.model, tokenizer.vocab_size)
        return scored(model, make(model, tokenizer, *streams(root), settings=rung), root)

    def evaluation_inputs(self, rung: "AnyRung", job: "Job") -> dict[str, Path]:
        """The encoded test text, and the evaluation sets of word vectors."""
        read = {"test": TOKENS / "test.arrow", "sizes": TOKENS / "sizes.json", "words": WORDS}
        return read | question_sets(job)

    def evaluate(self, rung: "AnyRung", job: "Job", folder: Path) -> Evaluated:
        """Score the test text, evaluate the input embedding as word vectors, continue prompts."""
        from langladder.decoding.sampling import SamplingConfig
        from langladder.evaluation.language_model import evaluate_language_model
        from langladder.ground.artefacts import format_figure, read_json
        from langladder.models.language.language_model import LanguageModel
        from langladder.text.storage.token_streams import TokenStream
        from langladder.text.tokenize.tokenizers import Tokenizer

        model, chosen = LanguageModel.load(folder), job.evaluation
        table: list[Prediction] = []
        page = evaluate_language_model(
            model,
            Tokenizer.load(folder / "tokenizer.json"),
            TokenStream.open(TOKENS / "test.arrow"),
            read_json(TOKENS / "sizes.json")["test"],
            name=rung.name,
            prompts=chosen.prompts,
            sampling=SamplingConfig(temperature=chosen.temperature, max_tokens=chosen.sample_tokens),
            vectors=input_vectors(model, rung, job, folder),
            work=work_of_network(model, rung),
            table=table,
        )
        name, figure = page.scores.headline
        floor = page.scores.above_floor_percent
        above = "" if floor is None else f", {format_figure(floor, '.1f')} % above the entropy floor"
        return Evaluated(
            page, f"test {name} {format_figure(figure, '.2f')}{above}", page.scores.figures(), predictions=table
        )


def streams(root: Path = Path()) -> "list[TokenStream]":
    """The texts for training and validation; root: the folder of data/."""
    from langladder.text.storage.token_streams import TokenStream

    return [TokenStream.open(root / TOKENS / f"{split}.arrow") for split in ("train", "validation")]


def scored(model: "LanguageModel", result: "TrainingResult", root: Path = Path()) -> Trained:
    """A trained language model with its tokenizer and its scores on the validation text."""
    from langladder.evaluation.perplexity import score
    from langladder.ground.artefacts import format_figure, read_json
    from langladder.text.storage.token_streams import TokenStream
    from langladder.text.words.segmentation import CONVENTIONS

    sizes = read_json(root / TOKENS / "sizes.json")["validation"]
    results = score(model, TokenStream.open(root / TOKENS / "validation.arrow"), **sizes)
    scores, (name, value) = results.figures(), results.headline
    figures = result.sizes(model.number_of_parameters())
    figures |= {
        f"validation_{key}": scores[key] for key in ("perplexity_per_word", "bits_per_character", "bits_per_byte")
    }
    beside = copies_of(root / TOKENIZER, root / TOKENS / CONVENTIONS)
    return Trained(model, result, figures, f"validation {name} {format_figure(value, '.2f')}", beside)


def work_of_network(model: "LanguageModel", rung: "AnyRung") -> "Work | None":
    """Operations and memory of its training; nothing for a counted model."""
    from langladder.evaluation.work import work_of
    from langladder.models.language.neural import NeuralLanguageModel

    training = getattr(rung, "training", None)
    if training is None or not isinstance(model, NeuralLanguageModel):
        return None
    return work_of(model, training.optimizer, rows=training.batch_size, length=training.sequence_length)


def input_vectors(model: "LanguageModel", rung: "AnyRung", job: "Job", folder: Path) -> "WordVectorsPage | None":
    """The input embedding, evaluated like the word vectors of other rungs; nothing if the model has none."""
    from langladder.models.language.neural import NeuralLanguageModel

    if not isinstance(model, NeuralLanguageModel) or model.input_embedding() is None:
        return None
    from langladder.evaluation.word_vectors import QuestionSets, evaluate_word_vectors  # takes a second to import
    from langladder.formats.vector_files import input_embedding
    from langladder.text.words.vocabulary import Vocabulary

    return evaluate_word_vectors(
        input_embedding(folder, Vocabulary.load(WORDS)),
        QuestionSets(**question_sets(job)),
        name=f"{rung.name}_input",
        approach="inside language models",
        restrict_vocabulary=job.evaluation.restrict_vocabulary,
        neighbours=job.evaluation.neighbours,
    )


def _is_distilled(value: Values) -> bool:
    return bool((value.get("training") or {}).get("distil"))


def _from_vectors(value: Values) -> bool:
    return str(value["base"]).startswith("embedding/")


FAMILY = LanguageModelFamily()
TRANSFER = FAMILY.from_base(
    name="tune",
    listed="tunes",
    title="Language models that start from others",
    position=11,
    default="gpt_longer",
    bases=("lm", "tune", "embedding"),
)
