"""Translate many sentences: sorted by length, searched in batches, returned in the original order."""

from collections.abc import Sequence

import numpy as np
import torch

from langladder.data.translation import pack, pad
from langladder.decoding.beam_search import BeamConfig, Hypothesis, beam_search
from langladder.decoding.sample_translations import SampleConfig, sample_translations
from langladder.ground.errors import InputError
from langladder.ground.progress import working
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import EOS


def translate(
    model: Translator,
    sources: Sequence[np.ndarray],
    config: BeamConfig | SampleConfig,
    *,
    batch_tokens: int = 1024,
    progress: bool = False,
) -> list[list[Hypothesis]]:
    """The best translations of each sentence, or some drawn ones, as `config` says.

    Args:
        sources: for each sentence its ids, EOS last.
        batch_tokens: the most source cells (sentences × longest) of a batch; each is searched `width` times.
        progress: always show a bar (`langladder.ground.progress.show`).

    Raises:
        InputError: a sentence lacks its EOS or has an id outside the source vocabulary (names the sentence).
    """
    for index, source in enumerate(sources):
        if not len(source) or source[-1] != EOS:
            raise InputError(f"sentence {index}: a source ends with EOS ({EOS}), got {list(source[-3:])}")
        if source.min() < 0 or source.max() >= model.source_vocab_size:
            raise InputError(f"sentence {index}: ids must be in 0..{model.source_vocab_size - 1}, got {source.max()}")
    lengths = np.array([len(source) for source in sources], dtype=np.int64)
    order = np.argsort(lengths, kind="stable")
    results: list[list[Hypothesis]] = [[] for _ in sources]
    device = next(model.parameters()).device
    training = model.training
    model.eval()
    try:
        with working("translating", len(sources), "sentences", always=progress) as task:
            for rows in pack(order, lengths, batch_tokens):
                batch = pad([sources[row] for row in rows]).to(device)
                with torch.autocast(device.type, enabled=False):
                    result = _decode(model, batch, config)
                for row, hypotheses in zip(rows, result, strict=True):
                    results[row] = hypotheses
                task.advance(len(rows))
    finally:
        model.train(training)
    return results


def _decode(model: Translator, batch: torch.Tensor, config: BeamConfig | SampleConfig) -> list[list[Hypothesis]]:
    if isinstance(config, SampleConfig):
        return sample_translations(model, batch, config)
    return beam_search(model, batch, config)
