"""Making a kNN-LM: its base's states on the training text become the store; λ and τ come from the validation text."""

from pathlib import Path

from langladder.data.language_modelling import document_batches
from langladder.ground.errors import InputError
from langladder.ground.progress import Stopwatch, say
from langladder.models.language.gpt import GPT
from langladder.models.language.knn import KNNLM, KNNConfig, from_gpt, pairs_of
from langladder.models.language.language_model import LanguageModel
from langladder.models.making import NamedSettings, Run, TrainingResult
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.tokenizers import Tokenizer

VALIDATION_TOKENS = 20_000
"""Tokens of the validation text, at most, by which λ and τ are chosen."""


def make_tuned(
    base: Path,
    tokenizer: Tokenizer,  # noqa: ARG001 - as all makers of tuned models are called
    train: TokenStream,
    validation: TokenStream,
    *,
    settings: NamedSettings[KNNConfig],
    run: Run,  # noqa: ARG001 - nothing is drawn
) -> tuple[KNNLM, TrainingResult]:
    """A kNN-LM from the network in `base`; see `models.making`.

    Raises:
        InputError: the base is no GPT; a text is empty.
    """
    gpt, config, clock = LanguageModel.load(base), settings.model, Stopwatch()
    if not isinstance(gpt, GPT):
        raise InputError(
            f"{settings.name} cannot start from {base}: a {type(gpt).__name__}, but a KNNLM starts from a GPT of the "
            "families lm and tune; choose another base"
        )
    store = pairs_of(gpt, document_batches(train, limit=config.entries), config.entries)
    model = from_gpt(config, gpt, store)
    held_out = pairs_of(gpt, document_batches(validation, limit=VALIDATION_TOKENS))
    loss = model.head.choose(held_out, config.temperatures)
    weight, temperature = model.head.mix.tolist()
    say(f"kNN-LM: {len(store.tokens):,} entries, λ = {weight:.2f}, τ = {temperature:g}, validation loss {loss:.4f}")
    return model, TrainingResult([], clock.cost(len(store.tokens)), loss)
