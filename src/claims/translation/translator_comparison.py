"""`Comparison` of translators on the sentence pairs, by the references' loss or by BLEU of greedy translations."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from claims.comparison import Change, Comparison, Measure, Scored, Values
from claims.declaration import Metric, NetworkComparisonConfig
from claims.training import unigram_loss
from claims.translation.small_translators import TITLES, Network, TranslationConfig, trained
from claims.translation.translation_judge import Judge
from langladder.experiments.experiment import Data
from langladder.ground import schema
from langladder.models.translation.translator import Translator


class TranslatorComparisonConfig(TranslationConfig, NetworkComparisonConfig):
    """Settings of `TranslatorComparison`."""

    bases: list[Network] = Field(min_length=1)
    metric: Literal["loss", "perplexity", "bleu", "exact"] = "loss"


class TranslatorComparison(Comparison[TranslatorComparisonConfig]):
    """Variants of a small translator."""

    Config: ClassVar[type[schema.Config]] = TranslatorComparisonConfig
    reads = ("tokens/parallel",)
    titles = TITLES
    metrics: ClassVar[dict[str, Metric]] = {
        "loss": Metric("loss per token"),
        "perplexity": Metric("perplexity per token", drawn=False),
        "bleu": Metric("BLEU", more_is_better=True),
        "exact": Metric("exact, share", more_is_better=True, drawn=False),
    }

    def levels(self, data: Data) -> dict[str, float]:
        """See `Comparison.levels`."""
        return {"loss": unigram_loss(data.pairs("train").target.ids)}

    def measure(self, data: Data, seeds: range) -> Measure:
        """See `Comparison.measure`."""
        del seeds
        judge = Judge.open(data, self.config.fewer(self.config.test_sentences))

        def trial(base: Any, change: Change, seed: int) -> Scored:
            kind, settings, training = self.config.variant(base, change)
            model, _ = trained(kind, settings, data, self.config, seed=seed, **training)
            return model.number_of_parameters(), self.measures(model, judge)

        return trial

    def measures(self, model: Translator, judge: Judge) -> Values:
        """The measurements of a trained network."""
        score = judge.score(model)
        return {key: getattr(score, key) for key in TranslatorComparison.metrics}
