"""Classifiers, taggers, readers of questions and translators as python functions."""

from pathlib import Path
from typing import Any, ClassVar, Self

from langladder.answers.classify import classify, example_of
from langladder.answers.loading import LoadedTranslator, read_tagger, read_translator
from langladder.answers.requests import ClassifyRequest, TagRequest
from langladder.answers.tag import tag
from langladder.answers.translate import translate
from langladder.decoding.beam_search import BeamConfig
from langladder.faces.mlflow.kind import Column, Kind, Rows
from langladder.ground.errors import InputError
from langladder.ground.schema import checked
from langladder.models.classifier import Classifier
from langladder.models.reader import Reader
from langladder.models.saving import read_description
from langladder.models.tagger import Tagger
from langladder.text.labelled.labelled import Example
from langladder.text.labelled.questions import Question
from langladder.text.words.segmenters import CHOICES


class Classifying(Kind):
    """The labels of a text, or of two, the likeliest first. What reads trees wants a bracketed tree as its text."""

    reads = (Column("text"), Column("second", required=False))
    gives = (
        Column("label"),
        Column("probability", "double"),
        Column("labels", "string", 1),
        Column("probabilities", "double", 1),
    )

    def __init__(self, model: Classifier) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(Classifier.load(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        kind = read_description(folder, Classifier, Classifier.SIZES, Classifier.WHAT).kind
        return {"text": "((not) (boring))" if getattr(kind, "reads_trees", False) else "not boring"}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        del asked
        found = classify(self.model, [self._example(row) for row in rows], ClassifyRequest(top=None))
        answers = []
        for one in found:
            labels, probabilities = zip(*one.top, strict=True)
            answers.append({"label": labels[0], "probability": probabilities[0]})
            answers[-1] |= {"labels": list(labels), "probabilities": list(probabilities)}
        return answers

    def _example(self, row: dict[str, Any]) -> Example:
        if row["second"]:
            return Example(row["text"].strip(), row["second"].strip())
        return example_of(self.model, row["text"].replace("\t", " "))


class Tagging(Kind):
    """The tag of each word of a text, and how likely it is given the whole."""

    reads = (Column("text"),)
    gives = (Column("words", "string", 1), Column("tags", "string", 1), Column("probabilities", "double", 1))
    asks: ClassVar[dict[str, Any]] = {"words": "whitespace"}

    def __init__(self, model: Tagger) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(read_tagger(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        del folder
        return {"text": "the dog sleeps ."}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`; words as the training text has them, or as the parameter says that they are cut."""
        if asked["words"] not in CHOICES:
            raise InputError(f"params: words: {asked['words']!r} is not allowed; one of {', '.join(CHOICES)}")
        found = tag(self.model, [row["text"] for row in rows], TagRequest(words=asked["words"], explain=True))
        return [{column.name: getattr(one, column.name) for column in self.gives} for one in found]


class Answering(Kind):
    """The answer to a question that stands in a paragraph, "" for none, or one of the options of those that choose."""

    reads = (Column("question"), Column("context"), Column("options", "string", 1, required=False))
    gives = (
        Column("answer"),
        Column("start", "long", required=False),
        Column("score", "double"),
        Column("probability", "double", required=False),
    )

    def __init__(self, model: Reader) -> None:
        self.model = model

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(Reader.load(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        found = {"question": "where does anna live ?", "context": "anna lives in paris ."}
        return found | ({"options": ["paris", "berlin"]} if Reader.load(folder).chooses else {})

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        del asked
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


class Translating(Kind):
    """The best translation of a sentence that beam search finds; an empty one of an empty one."""

    reads = (Column("text"),)
    gives = (Column("translation"), Column("score", "double", required=False))
    asks: ClassVar[dict[str, Any]] = {"width": 5, "max_length": 200}

    def __init__(self, loaded: LoadedTranslator) -> None:
        self.loaded = loaded

    @classmethod
    def load(cls, folder: Path) -> Self:
        """See `Kind.load`."""
        return cls(read_translator(folder))

    @classmethod
    def example(cls, folder: Path) -> dict[str, Any]:
        """See `Kind.example`."""
        del folder
        return {"text": "the cat sleeps ."}

    def answer(self, rows: Rows, asked: dict[str, Any]) -> Rows:
        """See `Kind.answer`."""
        found = translate(self.loaded, [row["text"] for row in rows], checked(BeamConfig, asked, "params"))
        best = [one.candidates[0] if one.candidates else None for one in found]
        return [{"translation": one.text if one else "", "score": one.score if one else None} for one in best]
