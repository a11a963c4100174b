"""Captioning: a vector of facts about a scene → a sentence. Trained as translators are: likelihood of the words."""

from collections.abc import Sequence

from langladder.corpora.scenes import Described
from langladder.data.captioning import SceneCodes
from langladder.models.making import Run, TrainingResult, TrainingSettings
from langladder.models.translation.captioner import Captioner
from langladder.tasks.settings import TranslationTraining
from langladder.tasks.translation import train_translator


def make(
    model: Captioner,
    codes: SceneCodes,
    train: Sequence[Described],
    validation: Sequence[Described],
    *,
    settings: TrainingSettings[TranslationTraining],
    run: Run,
) -> TrainingResult:
    """Train a captioner on scenes with their sentences; see `models.making`.

    Args:
        codes: ids of the facts and words.

    Raises:
        InputError: as `train_translator`; early_stopping=bleu, since words of scenes have no tokenizer.
    """
    return train_translator(
        model,
        codes.pairs(train),
        codes.pairs(validation),
        settings.training,
        run,
    )
