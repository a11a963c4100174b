"""Fine-tuning: a classifier or tagger whose body starts with another rung's weights, trained like all others.

(Dai & Le 2015; Radford et al. 2018; Devlin et al. 2019, section 4.) The base's folder has the body's settings, weights
and tokenizer.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, cast

import torch

from langladder.ground.errors import InputError
from langladder.models.classification.classifier import is_multi_label
from langladder.models.classification.neural_classifier import NeuralClassifier
from langladder.models.fine_tuned import TOKENIZER, FineTuned, FineTunedConfig, base_for, settings_with_body
from langladder.models.making import NamedSettings, Run, TrainingResult
from langladder.models.network import Network
from langladder.models.tagging.bert_tagger import BERTTagger
from langladder.models.units import SubwordUnits
from langladder.tasks.classification import train_classifier
from langladder.tasks.settings import ReadingTraining, TaggingTraining, TransferSettings
from langladder.tasks.tagging import train_tagger
from langladder.text.labelled.labelled import Example, Tagged
from langladder.text.tokenize.tokenizers import Tokenizer

Kind = TypeVar("Kind", bound=Network)


def begin(
    kind: type[Kind], settings: NamedSettings[FineTunedConfig], base: Path, *labels: int, seed: int
) -> tuple[Kind, Tokenizer]:
    """The network before its first step, without label names, and the tokenizer of its base.

    Args:
        kind: the class in the rung's file. settings: `name` and `model` of the rung.
        base: the folder of the rung that it starts from. labels: the number of labels, if it has labels.

    Raises:
        InputError: the base is of another kind, has fewer layers than requested, or has no matching tokenizer.
    """
    model = base_for(cast(type[FineTuned], kind), base)
    vocab_size: int = getattr(model, "vocab_size", 0)
    tokenizer = Tokenizer.load(Path(base) / TOKENIZER)
    if vocab_size not in (tokenizer.vocab_size, tokenizer.full_vocab_size):
        raise InputError(
            f"{base}: the network has {vocab_size:,} tokens, its {TOKENIZER} {tokenizer.vocab_size:,}; they do "
            "not belong together"
        )
    network = network_from_base(kind, settings.model, model, tokenizer, *labels, seed=seed, rung=settings.name)
    return network, tokenizer


def network_from_base(
    kind: type[Kind], config: FineTunedConfig, base: Network, tokenizer: Tokenizer, *labels: int, seed: int, rung: str
) -> Kind:
    """A network of `kind` that starts with the weights of `base`, before its first step.

    Args:
        config: its settings, except those of the body. labels: the number of labels, if it has labels.
        rung: its name, for messages.

    Raises:
        InputError: the settings request more layers than the base has.
    """
    torch.manual_seed(seed)
    network = kind(settings_with_body(config, base, rung), tokenizer.full_vocab_size, *labels)
    cast(FineTuned, network).copy_weights(base)
    return network


def make_classifier(
    kind: type[NeuralClassifier],
    labels: Sequence[str],
    train: Sequence[Example],
    validation: Sequence[Example],
    *,
    settings: TransferSettings[FineTunedConfig, ReadingTraining],
    base: Path,
    run: Run,
    **_: object,
) -> tuple[NeuralClassifier, TrainingResult]:
    """Fine-tune on labelled texts; see `models.making`."""
    network, tokenizer = begin(kind, settings, base, len(labels), seed=run.seed)
    model = network.equip(SubwordUnits(tokenizer), labels, multi_label=is_multi_label([*train, *validation]))
    return model, train_classifier(model, train, validation, settings.training, run)


def make_tagger(
    kind: type[BERTTagger],
    tags: Sequence[str],
    train: Sequence[Tagged],
    validation: Sequence[Tagged],
    *,
    settings: TransferSettings[FineTunedConfig, TaggingTraining],
    base: Path,
    run: Run,
    **_: object,
) -> tuple[BERTTagger, TrainingResult]:
    """Fine-tune on tagged sentences; see `models.making`."""
    network, tokenizer = begin(kind, settings, base, len(tags), seed=run.seed)
    model = network.equip(tokenizer, tags)
    return model, train_tagger(model, train, validation, settings.training, run)
