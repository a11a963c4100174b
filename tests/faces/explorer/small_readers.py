"""Small trained classifiers, taggers, readers of questions and instructed models, saved in a folder."""

from pathlib import Path
from typing import Any

import torch

from langladder.models.classification.linear_classifier import LinearClassifier
from langladder.models.classification.recurrent_classifier import RecurrentClassifier
from langladder.models.classification.tree_lstm import TreeLSTM
from langladder.models.reading.sliding_window import SlidingWindow
from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.hmm import HMM
from langladder.models.units import WordUnits
from langladder.text.labelled.labelled import Example, Tagged
from tests.models.spoken import saved_base, saved_instructed

TEXTS = [Example(f"{word} film .", label=label) for word, label in (("good", "yes"), ("bad", "no"), ("fine", "yes"))]
UNITS = WordUnits(["good", "bad", "film", "not", "."], "whitespace")
TAGGED = [Tagged(("the", "dog", "sleeps", "."), ("DET", "NOUN", "VERB", "PUNCT"))]
TAGGED += [Tagged(("a", "cat", "."), ("DET", "NOUN", "PUNCT"))]


def classifiers(root: Path) -> None:
    """One that counts, one of trees, one with attention."""
    counted = LinearClassifier(LinearClassifier.Config(), ["no", "yes"])
    counted.fit(TEXTS, TEXTS)
    counted.save(root / "classifier" / "logistic")
    torch.manual_seed(0)
    small: dict[str, Any] = {"embedding_dim": 8, "width": 8}
    for network, name, more in ((TreeLSTM, "trees", {}), (RecurrentClassifier, "attentive", {"pooling": "attentive"})):
        model: Any = network(network.Config(**small, **more), UNITS.full_vocab_size, 2)
        model.equip(UNITS, ["no", "yes"]).save(root / "classifier" / name)


def tagger(root: Path) -> None:
    """A hidden Markov model of two sentences."""
    names = sorted({tag for sentence in TAGGED for tag in sentence.tags})
    model = HMM(HMM.Config(), names)
    model.fit(TAGGED, tag_ids(TAGGED, names))
    model.save(root / "tagger" / "hmm")


def readers(root: Path) -> None:
    """One that finds a span, one that chooses."""
    for name, options in (("spans", False), ("options", True)):
        model = SlidingWindow(SlidingWindow.Config(options=options))
        model.threshold = None if options else 0.5
        model.save(root / "reader" / name)


def instructed(root: Path) -> None:
    """A GPT and two that learnt to answer, of a few words."""
    saved_instructed(root / "instruct" / "sft", width=16, context=24)
    saved_instructed(root / "align" / "ppo", width=12, context=24)
    saved_base(root / "lm" / "gpt", context=24)
