"""The score of a finished hypothesis y of T tokens (including EOS).

    score(y) = Σ_t log P(y_t | y_<t, x) / lp(T) + cp(x, y)

    power      lp(T) = T^α
    gnmt       lp(T) = ((5 + T) / 6)^α                               (Wu et al. 2016, equation 14)
    coverage   cp(x, y) = β Σ_i log min(Σ_t a_ti, 1)                 (the same)

The plain sum (α = 0) favours short sentences, for each token makes it smaller; T^1 gives the mean a token. The coverage
penalty is 0 where each source position i was read once in all, and below 0 where some were hardly looked at.

Both forms of lp are at least 1 and never fall as T grows, and cp is never above 0. Beam search rests a proof on that.
"""

import math

import numpy as np

from langladder.decoding.limits import LengthForm

LEAST_READ = 1e-6
"""The attention of a source position without any attention, so that its logarithm is finite."""


def length_penalty(length: int, alpha: float, form: LengthForm = "power") -> float:
    """lp of `length` tokens, EOS included (1 or more)."""
    return math.pow(length if form == "power" else (5 + length) / 6, alpha)


def normalised(log_prob: float, length: int, alpha: float, form: LengthForm = "power") -> float:
    """Σ log P / lp(T) for a hypothesis of `length` tokens, EOS included."""
    return log_prob / length_penalty(length, alpha, form)


def coverage_penalty(attention: np.ndarray, beta: float) -> float:
    """cp of attention weights (T, S): at most 0."""
    read = np.clip(attention.sum(axis=0, dtype=np.float64), LEAST_READ, 1.0)  # (S,)
    return beta * float(np.log(read).sum())
