"""Models that answer questions as Python functions: their input and output columns; and how to load it from a folder.

MLflow's folder has `langladder.json` beside its MLmodel: {"model": path of the model in the folder, "place": where that
was written, "fingerprint"}. A registered model is a copy and is in the folder. A logged model stays where the pipeline
wrote it, and is found there as long as it is the same; if the project was moved, beside `mlartifacts/`.
"""

from pathlib import Path, PurePosixPath
from pkgutil import resolve_name
from typing import Any, ClassVar

from langladder.answers.chat import Assistant, Conversation, read_assistant
from langladder.answers.classify import classify, example_of
from langladder.answers.fill import fill
from langladder.answers.generate import generate
from langladder.answers.kinds import kind_of
from langladder.answers.loading import (
    LoadedEncoder,
    LoadedModel,
    LoadedTranslator,
    read_encoder,
    read_model,
    read_tagger,
    read_translator,
)
from langladder.answers.requests import MOST_ANSWERS, ClassifyRequest, FillRequest, TagRequest
from langladder.answers.score import score_sentences
from langladder.answers.tag import tag
from langladder.answers.translate import translate
from langladder.answers.words import text_vector
from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.sampling import SamplingConfig
from langladder.embeddings.base import WordVectors
from langladder.families import families
from langladder.formats.vector_files import read_vectors
from langladder.ground.artefacts import read_json
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.classification.classifier import Classifier
from langladder.models.model_function import ModelFunction, Parameters, Row, Rows, SchemaColumn
from langladder.models.reading.reader import Reader
from langladder.models.reward import RewardModel
from langladder.models.saving import located, read_description
from langladder.models.tagging.tagger import Tagger
from langladder.text.labelled.instructions import ASSISTANT, USER, Message
from langladder.text.labelled.labelled import Example
from langladder.text.labelled.questions import Question
from langladder.text.words.segmentation import CHOICES

TEXT = "the old king sleeps ."
INSTRUCTION = "in which country is paris ?"
POINTER = "langladder.json"


def sampling(parameters: Parameters) -> SamplingConfig:
    """Sampling settings: temperature 0 is greedy; top_k 0 and top_p 1 mean no limit.

    Raises:
        InputError: a number that is not allowed.
    """
    settings = {"strategy": "sample" if parameters["temperature"] else "greedy", **parameters}
    settings |= {"temperature": parameters["temperature"] or 1.0}
    settings |= {name: None for name, none in (("top_k", 0), ("top_p", 1.0)) if parameters.get(name) == none}
    return checked(SamplingConfig, settings, "params")


class LanguageModelFunction(ModelFunction[LoadedModel]):
    """A language model: the surprisal of a text, its end included, and its continuation if tokens are requested."""

    inputs = (SchemaColumn("text"),)
    outputs = (
        SchemaColumn("bits", "double", required=False),
        SchemaColumn("tokens", "long"),
        SchemaColumn("continuation"),
    )
    parameters: ClassVar[Parameters] = {"max_tokens": 0, "temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0}
    row: ClassVar[Row] = {"text": TEXT}
    read = staticmethod(read_model)

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        """Bits are None if the probability is 0."""
        config = sampling(parameters)
        texts = [row["text"] for row in rows]
        results = []
        for text, (_, continuation) in zip(texts, generate(self.model, texts, config), strict=True):
            (scored,) = score_sentences(self.model, [text])
            results.append({"bits": scored["bits"], "tokens": len(scored["tokens"]), "continuation": continuation})
        return results


class VectorsFunction(ModelFunction[WordVectors]):
    """Word vectors: the vector of a text, the mean over its words; for a word also its neighbours."""

    inputs = (SchemaColumn("text"),)
    outputs = (
        SchemaColumn("vector", "double", 1),
        SchemaColumn("neighbours", "string", 1),
        SchemaColumn("cosines", "double", 1),
    )
    parameters: ClassVar[Parameters] = {"neighbours": 10}
    read = staticmethod(read_vectors)

    @classmethod
    def example(cls, folder: Path) -> Row:
        return {"text": str(read_json(folder / "words.json")["words"][0])}

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        results = []
        for row in rows:
            text, count = self.model.spelled(row["text"]), max(0, parameters["neighbours"])
            near = self.model.nearest(text, count) if count and text in self.model else []
            answer = {"vector": text_vector(self.model, text).astype("<f8").tolist()}
            results.append(
                answer | {"neighbours": [word for word, _ in near], "cosines": [float(pair) for _, pair in near]}
            )
        return results


class EncoderFunction(ModelFunction[LoadedEncoder]):
    """An encoder: the likeliest tokens for each `<mask>` of a text."""

    inputs = (SchemaColumn("text"),)
    outputs = (SchemaColumn("fillings", "string", 2), SchemaColumn("probabilities", "double", 2))
    parameters: ClassVar[Parameters] = {"best": 5}
    row: ClassVar[Row] = {"text": "the old <mask> sleeps ."}
    read = staticmethod(read_encoder)

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        gaps = [
            fill(self.model, row["text"], FillRequest(best=min(max(1, parameters["best"]), MOST_ANSWERS)))
            for row in rows
        ]
        return [
            {
                "fillings": [[filling.text for filling in gap] for gap in row],
                "probabilities": [[filling.probability for filling in gap] for gap in row],
            }
            for row in gaps
        ]


class AssistantFunction(ModelFunction[Assistant]):
    """The answer of a model to an instruction: each row is a separate dialogue."""

    inputs = (SchemaColumn("text"), SchemaColumn("system", required=False))
    outputs = (SchemaColumn("answer"),)
    parameters: ClassVar[Parameters] = {"max_tokens": 40, "temperature": 0.0, "seed": 0}
    row: ClassVar[Row] = {"text": INSTRUCTION}
    read = staticmethod(read_assistant)  # a best-of-n needs its reward model, at the path in its provenance

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        config, results = sampling(parameters), []
        for row in rows:
            talk = Conversation(self.model, config, system=row["system"] or "", forget=True)
            results.append({"answer": talk.say(row["text"].strip()).text})
        return results


class RewardFunction(ModelFunction[RewardModel]):
    """The reward of an answer to an instruction, by a reward model."""

    inputs = (SchemaColumn("text"), SchemaColumn("answer"))
    outputs = (SchemaColumn("reward", "double"),)
    row: ClassVar[Row] = {"text": INSTRUCTION, "answer": "france"}
    read = staticmethod(RewardModel.load)

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        del parameters
        dialogues = [(Message(USER, row["text"]), Message(ASSISTANT, row["answer"])) for row in rows]
        return [{"reward": float(reward)} for reward in self.model.rewards(dialogues)]


class ClassifierFunction(ModelFunction[Classifier]):
    """The labels of a text, or of two, likeliest first.

    A classifier of trees reads a bracketed tree, and a text without brackets as a tree that branches to the right; then
    `note` says so.

    Of a multi-label classifier `label` names all that the text gets, and `probability` is that of the set.
    """

    inputs = (SchemaColumn("text"), SchemaColumn("second", required=False))
    outputs = (
        SchemaColumn("label"),
        SchemaColumn("probability", "double"),
        SchemaColumn("labels", "string", 1),
        SchemaColumn("probabilities", "double", 1),
        SchemaColumn("note"),
    )
    read = staticmethod(Classifier.load)

    @classmethod
    def example(cls, folder: Path) -> Row:
        kind = read_description(folder, Classifier, Classifier.WHAT).kind
        return {"text": "((not) (boring))" if getattr(kind, "reads_trees", False) else "not boring"}

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        del parameters
        results = classify(self.model, [self._example(row) for row in rows], ClassifyRequest(top=None))
        answers: Rows = []
        for result in results:
            labels, probabilities = zip(*result.top, strict=True)
            label, probability = result.best()
            answers.append({"label": label, "probability": probability})
            answers[-1] |= {"labels": list(labels), "probabilities": list(probabilities), "note": result.note or ""}
        return answers

    def _example(self, row: Row) -> Example:
        if row["second"]:
            return Example(row["text"].strip(), row["second"].strip())
        return example_of(self.model, row["text"].replace("\t", " "))


class TaggerFunction(ModelFunction[Tagger]):
    """The tag of each word of a text, with its probability given the whole text."""

    inputs = (SchemaColumn("text"),)
    outputs = (
        SchemaColumn("words", "string", 1),
        SchemaColumn("tags", "string", 1),
        SchemaColumn("probabilities", "double", 1),
    )
    parameters: ClassVar[Parameters] = {"words": "whitespace"}
    row: ClassVar[Row] = {"text": "the dog sleeps ."}
    read = staticmethod(read_tagger)

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        """Words as in the training text, or split as the parameter says."""
        if parameters["words"] not in CHOICES:
            raise InputError(f"params: words: {parameters['words']!r} is not allowed; one of {', '.join(CHOICES)}")
        results = tag(self.model, [row["text"] for row in rows], TagRequest(words=parameters["words"], explain=True))
        return [{column.name: getattr(result, column.name) for column in self.outputs} for result in results]


class ReaderFunction(ModelFunction[Reader]):
    """The answer to a question from a paragraph, "" for none, or one of the options if the model chooses."""

    inputs = (SchemaColumn("question"), SchemaColumn("context"), SchemaColumn("options", "string", 1, required=False))
    outputs = (
        SchemaColumn("answer"),
        SchemaColumn("start", "long", required=False),
        SchemaColumn("score", "double"),
        SchemaColumn("probability", "double", required=False),
    )
    read = staticmethod(Reader.load)

    @classmethod
    def example(cls, folder: Path) -> Row:
        row = {"question": "where does anna live ?", "context": "anna lives in paris ."}
        return row | ({"options": ["paris", "berlin"]} if Reader.load(folder).chooses else {})

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        del parameters
        questions = []
        for number, row in enumerate(rows):
            options = tuple(row["options"] or ())
            if bool(options) != self.model.chooses:
                wanted = "chooses among options; give some" if self.model.chooses else "finds a span; give no options"
                raise InputError(f"row {number}: options: {list(options)[:5]}, but this reader {wanted}")
            questions.append(Question(row["context"], row["question"].strip(), (), options))
        return [
            {
                "answer": best.text,
                "start": best.start if best.start >= 0 else None,
                "score": best.score,
                "probability": best.probability,
            }
            for best, *_ in self.model.answers(questions, 1)
        ]


class TranslatorFunction(ModelFunction[LoadedTranslator]):
    """The best translation of a sentence by beam search; empty for an empty sentence."""

    inputs = (SchemaColumn("text"),)
    outputs = (SchemaColumn("translation"), SchemaColumn("score", "double", required=False))
    parameters: ClassVar[Parameters] = {"width": 5, "max_length": 200}
    row: ClassVar[Row] = {"text": "the cat sleeps ."}
    read = staticmethod(read_translator)

    def answer(self, rows: Rows, parameters: Parameters) -> Rows:
        translations = translate(
            self.model, [row["text"] for row in rows], checked(BeamConfig, dict(parameters), "params")
        )
        best = [translation.candidates[0] if translation.candidates else None for translation in translations]
        return [
            {"translation": candidate.text if candidate else "", "score": candidate.score if candidate else None}
            for candidate in best
        ]


def load(path: str | Path, _: Any = None) -> ModelFunction[Any]:
    """The function for a model's folder, or for one that MLflow has downloaded.

    Raises:
        InputError: it has no model, or one that no longer exists.
    """
    folder = lies_in(Path(path))
    kind = function_of(folder)
    if kind is None:
        family = kind_of(folder)
        why = f"a model of family {family}, which is used by its class: see its README.md" if family else "no model"
        raise InputError(f"{folder}: {why}; expected a folder such as models/lm/gpt")
    return kind.load(folder)


def function_of(folder: Path) -> type[ModelFunction[Any]] | None:
    """The kind of function for a model's folder, from its files alone; None if it cannot predict.

    Raises:
        InputError: its config.json is damaged, or names no class of langladder.
    """
    if (path := folder / "config.json").is_file():
        description = read_json(path)
        located(path, str(description.get("_target_") if isinstance(description, dict) else None))
    kind = kind_of(folder)
    if kind is None or not families()[kind].function:
        return None
    function: type[ModelFunction[Any]] = resolve_name(families()[kind].function)
    return function


def lies_in(folder: Path) -> Path:
    """The path of the model of an MLflow folder; for a folder of the pipeline, the folder itself."""
    if not (folder / POINTER).is_file():
        return folder
    pointer = read_json(folder / POINTER)
    if not isinstance(pointer, dict) or not all(
        isinstance(pointer.get(key), str) for key in ("model", "place", "fingerprint")
    ):
        raise InputError(f"{folder / POINTER}: must have the keys model, place and fingerprint")
    inside = PurePosixPath(pointer["model"])
    if inside.is_absolute() or ".." in inside.parts:
        raise InputError(f"{folder / POINTER}: model: {pointer['model'][:200]!r} is outside its folder")
    if (folder / inside).is_dir():
        return folder / inside
    path = Path(pointer["place"])
    beside = [above.parent / inside for above in folder.resolve().parents if above.name == "mlartifacts"]
    for candidate in (*beside, path):  # a project that was moved or copied has its models beside MLflow's folder
        about = read_json(candidate / "provenance.json") if (candidate / "provenance.json").is_file() else None
        if isinstance(about, dict) and about.get("fingerprint") == pointer["fingerprint"]:
            return candidate
    raise InputError(
        f"{path}: the model {pointer['fingerprint']} is not there any more, and MLflow has no copy of it: run "
        f"`python -m pipeline.runs register {pointer['model']}` where the model is, to make one"
    )
