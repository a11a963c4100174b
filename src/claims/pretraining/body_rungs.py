"""Bodies from files in conf/, pre-trained once per experiment, and rungs that start from them.

    defaults:
      - /encoder@settings.bodies.bert: bert_mini            the files of conf/encoder, conf/lm
      - /classifier@settings.rungs.bert: bert_fine_tuned    and conf/classifier
    settings:
      bodies: {bert: {model: {width: 64}}}                  changes to these files

A rung starts from the body of its kind, independent of the base in its file. Bodies are trained on the training text
and, with `task_texts`, on the training texts of the labels, without the labels. For training and fine-tuning see
`small_bodies`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from pydantic import Field, model_validator

from claims.pretraining.small_bodies import Body, fine_tuned, fresh, pretrain
from claims.reading.reading_training import ReadingConfig, Texts
from claims.reading.rungs import ClassifierRung
from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Progress
from langladder.ground.schema import Config, checked, locate
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.models.encoders.bert import BERT
from langladder.models.fine_tuned import FineTuned, too_many
from langladder.models.language.gpt import GPT
from langladder.tasks.settings import LMTrainingConfig, MaskedTraining, ReadingTraining
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.encoding import framed
from langladder.text.tokenize.tokenizers import Tokenizer


class BodyRung(Config):
    """A file of conf/encoder or conf/lm; its number of steps is for effort 1."""

    name: str
    title: str
    year: int | None = None
    target: str = Field(alias="_target_")
    model: dict[str, object] = Field(default={})
    training: dict[str, object] = Field(default={})
    judged: Any = None  # only used on the ladder

    @property
    def kind(self) -> Any:
        """The class of the network."""
        return locate(self.target)

    def config(self) -> Any:
        """Settings of the network."""
        return checked(self.kind.Config, self.model, f"body {self.name}")

    def trained(self, steps: Callable[[int], int]) -> Any:
        """Pre-training settings, with `steps` instead of the file's number; a tenth of them are warm-up."""
        kind: type[Config] = MaskedTraining if issubclass(self.kind, BERT) else LMTrainingConfig
        where, values = f"body {self.name}", self.training | {"warmup_steps": 1}
        max_steps = steps(checked(kind, values, where).model_dump()["max_steps"])
        return checked(kind, values | {"max_steps": max_steps, "warmup_steps": max(1, max_steps // 10)}, where)

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        if not issubclass(self.kind, BERT | GPT):
            raise ValueError(f"body {self.name}: {self.target} is neither a BERT nor a GPT")
        self.config()
        self.trained(lambda steps: steps)
        return self


class FineTunedRung(ClassifierRung):
    """A file of conf/classifier whose body is a network."""

    base: str  # only used on the ladder

    @model_validator(mode="after")
    def _check_base_is_used(self) -> Self:
        if not issubclass(self.kind, FineTuned):
            raise ValueError(f"rung {self.name}: {self.target} does not use its base's network; use a class that does")
        return self


class FineTuningConfig(ReadingConfig):
    """Settings of an experiment whose classifiers start from pre-trained bodies."""

    rungs: dict[str, FineTunedRung] = Field(min_length=1)  # type: ignore[assignment]
    bodies: dict[str, BodyRung] = Field(min_length=1)
    task_texts: bool = True  # false: bodies are only trained on the text

    def body_of(self, rung: FineTunedRung) -> str:
        """The name of the body that a rung starts from. Raises ValueError if there is none, or more than one."""
        fit = [name for name, body in self.bodies.items() if issubclass(body.kind, rung.kind.BODY)]
        if len(fit) != 1:
            raise ValueError(
                f"bodies: rung {rung.name} needs exactly one {rung.kind.BODY.__name__}; there are {len(fit)}"
            )
        return fit[0]

    def check_fine_tuned(self, rung: FineTunedRung, model: Mapping[str, Any]) -> None:
        """Check that a rung with these settings can start from its body. Raises ValueError if it cannot."""
        body = self.bodies[self.body_of(rung)].config()
        settings: dict[str, Any] = rung.model | dict(model)
        if why := too_many(settings.get("layers_transferred"), body.layers) or rung.kind.refuses(settings, body):
            raise ValueError(f"rung {rung.name}: {why}")

    @model_validator(mode="after")
    def _can_grow(self) -> Self:
        for rung in self.rungs.values():
            self.check_fine_tuned(rung, {})
        return self


def pretrained(config: FineTuningConfig, data: Data, *, seed: int, progress: Progress) -> dict[str, Body]:
    """All bodies, each pre-trained once; callers must not change them.

    Raises:
        InputError: the text is too small; see the tasks.
    """
    tokenizer, text = data.tokenizer(), unlabelled(data, task_texts=config.task_texts)
    bodies = dict[str, Body]()
    for name, rung in config.bodies.items():
        training = rung.trained(config.steps)
        body = fresh(rung.kind, rung.config(), tokenizer, seed=seed)
        pretrain(body, tokenizer, text, training, seed=seed)
        progress(
            f"{rung.title}: pre-trained in {training.max_steps:,} steps, {body.number_of_parameters():,} parameters"
        )
        bodies[name] = body
    return bodies


def unlabelled(data: Data, *, task_texts: bool) -> TokenStream:
    """The training text, followed, if requested, by the texts of the labels, except the test texts, as one document."""
    text = data.stream("train")
    if not task_texts:
        return text
    examples = [*data.examples("train"), *data.examples("validation")]
    lines = [line for example in examples for line in (example.text, example.second) if line is not None]
    ids = np.concatenate([text.ids, *map(framed, data.tokenizer().encode_lines(lines))])
    return TokenStream(ids.astype(np.int32), np.append(text.offsets, len(ids)))


def fine_tuned_rung(
    rung: FineTunedRung,
    base: Body,
    tokenizer: Tokenizer,
    texts: Texts,
    training: ReadingTraining,
    *,
    seed: int,
    model: Any = None,
    vectors: WordVectors | None = None,
) -> NeuralClassifier:
    """A rung that starts from its base and is trained on `texts`; see `small_bodies.fine_tuned`.

    Args:
        model: changes to the settings of the rung.
    """
    config = rung.config() if model is None else model
    how: dict[str, Any] = {"seed": seed, "vectors": vectors, "rung": rung.name}
    return fine_tuned(base, tokenizer, texts, training, kind=rung.kind, config=config, **how)
