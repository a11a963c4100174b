"""Inside a translator: a translation step by step, with alternative tokens and attention weights of the source.

The attention weights are those of the search itself (`Translator.step`). A network without attention reads the sentence
once, into its initial state.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch

from langladder.decoding.beam_search import forbid
from langladder.models.language.neural import scoring
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import BOS, EOS

LIKELIEST = 5


class Step(NamedTuple):
    """One step of decoding.

    Attributes:
        token: the chosen id, EOS at the end; log_prob: its log P.
        likeliest: ids with their probabilities. weights: (S,) attention weights of the source; None for a network
            without attention.
    """

    token: int
    log_prob: float
    likeliest: list[tuple[int, float]]
    weights: list[float] | None


@torch.no_grad()
def steps(model: Translator, source: Sequence[int], target: Sequence[int]) -> list[Step]:
    """What the search sees at each step of a translation, its end included.

    Args:
        source: ids … EOS. target: ids, without BOS and EOS.
    """
    device = next(model.parameters()).device
    with scoring(model, device.type):
        ids = torch.tensor([[*source]], device=device)  # (1, S)
        state = model.encode(ids, torch.ones_like(ids, dtype=torch.bool))
        prefix, result = [BOS], list[Step]()
        for token in (*target, EOS):
            log_probs, state, weights = model.step(torch.tensor([prefix], device=device), state)
            allowed = forbid(log_probs)[0]  # (V,)
            values, likeliest = allowed.topk(min(LIKELIEST, len(allowed) - 2))
            pairs = list(zip(likeliest.tolist(), values.double().exp().tolist(), strict=True))
            read = None if weights is None else weights[0].tolist()
            result.append(Step(token, float(log_probs[0, token]), pairs, read))
            prefix.append(token)
    return result
