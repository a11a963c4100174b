"""Small networks that an experiment pre-trains itself, once for all that it measures, and classifiers grown from them.

    defaults:
      - /encoder@settings.bodies.bert: bert_mini                     the very files of conf/encoder, conf/lm
      - /classifier_transfer@settings.rungs.bert: bert_fine_tuned    and conf/classifier_transfer
    settings:
      bodies: {bert: {model: {width: 64}}}                           what it changes of them

A rung grows from the one body that is of its kind, whatever its file names as its base. Bodies read the training text
and, with `task_texts`, the training texts of the labels, whose labels they never see. They lie in a folder of their own
while the experiment runs.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
import torch
from pydantic import Field, model_validator

from langladder.embeddings.base import WordVectors
from langladder.experiments.experiment import Data, Progress
from langladder.experiments.reading_training import ReadingConfig, Texts, train_network
from langladder.experiments.rungs import ClassifierRung
from langladder.experiments.training import train_language_model
from langladder.models.bert import BERT
from langladder.models.gpt import GPT
from langladder.models.growing import TOKENIZER, Grown, too_many
from langladder.models.neural_classifier import NeuralClassifier
from langladder.schema import Config, checked, locate
from langladder.tasks import masked_language_modelling
from langladder.tasks.fine_tuning import begin
from langladder.tasks.masked_settings import MaskedTraining
from langladder.tasks.reading_units import table_of
from langladder.tasks.settings import LMTrainingConfig, ReadingTraining
from langladder.text.corpus_ids import TokenStream
from langladder.text.encoding import framed
from langladder.text.tokenizers import Tokenizer
from langladder.text.units import SubwordUnits


class BodyRung(Config):
    """A file of conf/encoder or conf/lm; the number of its steps is that at effort 1."""

    name: str
    title: str
    year: int | None = None
    target: str = Field(alias="_target_")
    model: dict[str, Any] = Field(default={})
    training: dict[str, Any] = Field(default={})
    judged: Any = None  # of the ladder alone

    @property
    def kind(self) -> Any:
        """Its class."""
        return locate(self.target)

    def config(self) -> Any:
        """Settings of the network."""
        return checked(self.kind.Config, self.model, f"body {self.name}")

    def trained(self, steps: Callable[[int], int]) -> Any:
        """How it is pre-trained, in `steps` of the number that the file says: in fp32, on the CPU."""
        kind: type[Config] = MaskedTraining if issubclass(self.kind, BERT) else LMTrainingConfig
        here = {"precision": "fp32", "accelerator": "cpu", "progress": False, "warmup_steps": 1}
        where, values = f"body {self.name}", self.training | here
        made = steps(checked(kind, values, where).model_dump()["max_steps"])
        values |= {"max_steps": made, "warmup_steps": max(1, made // 10), "validate_every": made}
        return checked(kind, values, where)

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        if not issubclass(self.kind, BERT | GPT):
            raise ValueError(f"body {self.name}: {self.target} is neither a BERT nor a GPT")
        self.config()
        self.trained(lambda steps: steps)
        return self


class GrownRung(ClassifierRung):
    """A file of conf/classifier_transfer whose body is a network."""

    base: str  # on the ladder

    @model_validator(mode="after")
    def _grows(self) -> Self:
        if not issubclass(self.kind, Grown):
            raise ValueError(f"rung {self.name}: {self.target} takes no network of its base; name one that does")
        return self


class TransferConfig(ReadingConfig):
    """Settings of an experiment that grows classifiers."""

    rungs: dict[str, GrownRung] = Field(min_length=1)  # type: ignore[assignment]
    bodies: dict[str, BodyRung] = Field(min_length=1)
    task_texts: bool = True  # false: the text alone is read before

    def body_of(self, rung: GrownRung) -> str:
        """The name of the body that a rung grows from. Raises ValueError where there is none, or more than one."""
        fit = [name for name, body in self.bodies.items() if issubclass(body.kind, rung.kind.BODY)]
        if len(fit) != 1:
            raise ValueError(f"bodies: rung {rung.name} grows from one {rung.kind.BODY.__name__}; there are {len(fit)}")
        return fit[0]

    def check_grown(self, rung: GrownRung, model: Mapping[str, Any]) -> None:
        """Whether a rung of such settings can grow from its body. Raises ValueError where it cannot."""
        body = self.bodies[self.body_of(rung)].config()
        settings = rung.model | dict(model)
        if why := too_many(settings.get("layers_transferred"), body.layers) or rung.kind.refuses(settings, body):
            raise ValueError(f"rung {rung.name}: {why}")

    @model_validator(mode="after")
    def _can_grow(self) -> Self:
        for rung in self.rungs.values():
            self.check_grown(rung, {})
        return self


@contextmanager
def pretrained(config: TransferConfig, data: Data, *, seed: int, progress: Progress) -> Iterator[Mapping[str, Path]]:
    """The folder of each body, pre-trained; they are gone afterwards.

    Raises:
        InputError: the text is too small; see the tasks.
    """
    tokenizer, text = data.tokenizer(), unlabelled(data, task_texts=config.task_texts)
    with TemporaryDirectory(prefix="langladder-") as folder:
        found = {name: Path(folder) / name for name in config.bodies}
        for name, body in config.bodies.items():
            training = body.trained(config.steps)
            network = _learnt(body, training, tokenizer, text, data, seed=seed, folder=Path(folder))
            network.save(found[name])
            tokenizer.save(found[name] / TOKENIZER)
            size = f"{network.number_of_parameters():,} parameters"
            progress(f"{body.title}: pre-trained in {training.max_steps:,} steps, {size}")
        yield found


def _learnt(
    body: BodyRung, training: Any, tokenizer: Tokenizer, text: TokenStream, data: Data, *, seed: int, folder: Path
) -> Any:
    torch.manual_seed(seed)
    if issubclass(body.kind, GPT):
        causal = body.kind(body.config(), tokenizer.vocab_size)
        train_language_model(causal, text, training, seed=seed)
        return causal
    encoder = body.kind(body.config(), tokenizer.full_vocab_size)
    masked_language_modelling.make(
        encoder,
        tokenizer,
        text,
        data.stream("validation"),
        settings=SimpleNamespace(training=training),
        seed=seed,
        checkpoints=folder / f"{body.name}-checkpoints",
    )
    return encoder


def unlabelled(data: Data, *, task_texts: bool) -> TokenStream:
    """The training text; behind it, where asked for, the training texts of the labels as one more document."""
    text = data.stream("train")
    if not task_texts:
        return text
    lines = [line for one in data.examples("train") for line in (one.text, one.second) if line is not None]
    ids = np.concatenate([text.ids, *map(framed, data.tokenizer().encode_lines(lines))])
    return TokenStream(ids.astype(np.int32), np.append(text.offsets, len(ids)))


def grown(
    rung: GrownRung,
    base: Path,
    texts: Texts,
    training: ReadingTraining,
    *,
    seed: int,
    model: Any = None,
    vectors: WordVectors | None = None,
) -> NeuralClassifier:
    """A rung, begun as its base and trained on `texts`.

    Args:
        base: the folder of its body.
        model: settings other than those of the rung.
        vectors: that the tokens which are words begin with, as wide as the body.
    """
    settings = SimpleNamespace(name=rung.name, model=rung.config() if model is None else model)
    network, tokenizer = begin(rung.kind, settings, base, len(texts.labels), seed)
    units = SubwordUnits(tokenizer)
    network.equip(units, texts.labels)
    if vectors is not None:
        table, covered = table_of(units, vectors)
        embedding, rows = network.body().embedding.weight, torch.from_numpy(covered)
        with torch.no_grad():
            # E_w ← v_w · std(E) / std(v)
            embedding[rows] = torch.from_numpy(table[covered]) * (embedding.std() / float(table[covered].std()))
    train_network(network, texts, training, seed=seed)
    found: NeuralClassifier = network
    return found
