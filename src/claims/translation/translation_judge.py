"""Evaluation of a translator on test pairs: BLEU and exact matches of its translations, and the loss of the
references."""

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Self

from langladder.decoding.beam_search import BeamConfig
from langladder.decoding.translate import translate
from langladder.evaluation.bleu import BleuConfig, bleu_config, corpus_bleu
from langladder.evaluation.translation import Sentence, evenly, reference_log_probs
from langladder.experiments.experiment import Data
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.tokenizers import Tokenizer


def tokenizer(data: Data, side: Literal["source", "target"]) -> Tokenizer:
    """The tokenizer of one side of the pairs."""
    return Tokenizer.load(data.parallel / f"{side}.json")


class Score(NamedTuple):
    """BLEU (0 to 100) and the share of exact matches of greedy translations, and nats per token of the references."""

    bleu: float
    exact: float
    loss: float

    @property
    def perplexity(self) -> float:
        """e^loss, at most e^700."""
        return math.exp(min(self.loss, 700.0))


@dataclass(frozen=True)
class Judge:
    """Test sentences, and a translator's results on them. References are as decoded by the tokenizer."""

    sentences: list[Sentence]
    tokenizer: Tokenizer  # tokenizer of the target
    bleu: BleuConfig = field(default_factory=lambda: BleuConfig(bootstrap=0))

    @classmethod
    def open(cls, data: Data, count: int | None = None) -> Self:
        """`count` test pairs, evenly spread; None: all."""
        source, target = tokenizer(data, "source"), tokenizer(data, "target")
        pairs = data.pairs("test")
        rows = [
            Sentence(ids, two, source.decode(ids), target.decode(two))
            for ids, two in map(pairs.pair, range(len(pairs)))
        ]
        bleu = bleu_config(data.parallel, data.bleu_tokenize)
        return cls(rows if count is None else evenly(rows, count), target, bleu)

    @property
    def references(self) -> list[list[str]]:
        """The reference of each sentence, in a list."""
        return [[sentence.reference] for sentence in self.sentences]

    def translations(self, model: Translator, beam: BeamConfig | None = None) -> list[str]:
        """The best translation of each sentence; with None, by greedy search."""
        results = translate(model, [sentence.source for sentence in self.sentences], beam or BeamConfig(width=1))
        return [self.tokenizer.decode(hypotheses[0].tokens) for hypotheses in results]

    def score(self, model: Translator) -> Score:
        """See `Score`."""
        outputs, references = self.translations(model), self.references
        exact = sum(output == reference for output, (reference,) in zip(outputs, references, strict=True)) / len(
            outputs
        )
        pairs = [(sentence.source, sentence.target) for sentence in self.sentences]
        tokens = sum(len(target) - 1 for _, target in pairs)
        loss = -float(reference_log_probs(model, pairs).sum()) / tokens
        return Score(corpus_bleu(outputs, references, self.bleu), exact, loss)
