"""Captioning: a vector of facts about a scene → a sentence. Trained as translators are: likelihood of the words."""

from collections.abc import Sequence
from typing import Any

from langladder.corpora.scenes import Described
from langladder.data.captioning import SceneCodes
from langladder.models.captioner import Captioner
from langladder.models.making import Made, Run
from langladder.tasks.translation import train_translator


def make(
    model: Captioner,
    codes: SceneCodes,
    train: Sequence[Described],
    validation: Sequence[Described],
    *,
    settings: Any,
    run: Run,
) -> Made:
    """Train a captioner on scenes with their sentences; see `models.making`.

    Args:
        codes: ids of the facts and words.

    Raises:
        InputError: as `train_translator`; early_stopping=bleu, since words of scenes have no tokenizer.
    """
    result = train_translator(
        model,
        codes.pairs(train),
        codes.pairs(validation),
        settings.training,
        run,
    )
    return Made(result.curve, result.cost, result.best_validation_loss)
