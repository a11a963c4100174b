"""Speculative decoding: a cheap draft model proposes tokens that a large model checks (Leviathan et al. 2023).

In each step the draft q proposes γ tokens x_1 … x_γ, one after the other, and the target p reads all of them at once
(algorithm 1). From left to right

    x_i is accepted with probability min(1, p_i(x_i) / q_i(x_i))
    the first rejected one is replaced by a token from max(0, p_i − q_i) / Σ_v max(0, p_i(v) − q_i(v))
    after γ accepted tokens one more is drawn from p_{γ+1}

so that each step gives 1 to γ + 1 tokens, and the text has exactly the distribution of the target alone (appendix A.1).
p and q are the distributions after temperature, penalties, top-k and top-p. Greedy decoding is the case in
which both are one-hot. The random numbers are used in another way than in `sampling`: the same seed gives other texts.

Any language model can be the draft; the n-gram needs no network. A target gains where it reads several tokens in less
time than one after the other: a GPT does (`LanguageModel.advance_each`).

Shape legend: V vocabulary, t tokens so far, n tokens read at once (at most γ + 1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.nn.functional import one_hot

from langladder.decoding.sampling import SamplingConfig, candidates, device_of, draw, generator
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel, State
from langladder.text.tokenize.specials import BOS, EOS


@dataclass
class Speculation:
    """Counts of the steps.

    Attributes:
        steps: how often the target read. proposed: tokens of the draft; accepted: those that stayed.
        tokens: tokens of the texts, with their EOS.
    """

    steps: int = 0
    proposed: int = 0
    accepted: int = 0
    tokens: int = 0


@torch.no_grad()
def speculate(
    model: LanguageModel,
    draft: LanguageModel,
    prefix: Sequence[int],
    config: SamplingConfig,
    *,
    lookahead: int = 4,
    row: int = 0,
    counts: Speculation | None = None,
) -> list[int]:
    """Continue one text, as `generate_batch` does, with the help of a draft.

    Args:
        draft: a model over the same tokens. lookahead: γ.
        row: the number of the sample; each sample has its own random numbers. counts: is added to.

    Returns:
        The new ids, at most `max_tokens`, without the EOS that ended them.

    Raises:
        InputError: the prefix does not begin with BOS, or the draft has another vocabulary.
    """
    if not prefix or prefix[0] != BOS:
        raise InputError(f"prefix: {list(prefix)[:5]} … must begin with BOS ({BOS})")
    if draft.vocab_size != model.vocab_size:
        raise InputError(
            f"draft: it has {draft.vocab_size} tokens, the model {model.vocab_size}; choose one of the same tokenizer"
        )
    prefix = model.as_read(prefix)
    random, counts = generator(config.seed, row), Speculation() if counts is None else counts
    target, helper = (_Reader(network, len(prefix), config, lookahead + 2) for network in (model, draft))
    ids = list(prefix)
    end = len(prefix) + config.max_tokens
    while len(ids) < end and (len(ids) == len(prefix) or ids[-1] != EOS):
        proposed: list[int] = []
        guesses: list[torch.Tensor] = []
        for _ in range(min(lookahead, end - len(ids) - 1)):
            guesses.append(helper.read([*ids, *proposed])[-1])  # q_i, (V,)
            proposed.append(_drawn(guesses[-1], random))
            if proposed[-1] == EOS:
                break
        read = [*ids, *proposed[:-1]] if EOS in proposed else [*ids, *proposed]  # nothing follows an EOS
        checked = target.read(read, last=1 + len(read) - len(ids))  # p_1 … p_{γ+1}
        kept = 0
        for token, p, q in zip(proposed, checked, guesses, strict=False):
            # accept with probability min(1, p(x) / q(x))
            if float(torch.rand((), generator=random)) * float(q[token]) >= float(p[token]):
                break
            kept += 1
        new = proposed[:kept]
        if not new or new[-1] != EOS:
            p = checked[kept]
            rest = (p - guesses[kept]).clamp(min=0) if kept < len(proposed) else p  # max(0, p − q)
            new.append(_drawn(rest if float(rest.sum()) > 0 else p, random))
        ids += new
        counts.steps, counts.proposed = counts.steps + 1, counts.proposed + len(proposed)
        counts.accepted, counts.tokens = counts.accepted + kept, counts.tokens + len(new)
    new = ids[len(prefix) :]
    return new[:-1] if new and new[-1] == EOS else new


class _Reader:
    """A model that reads a text on from the tokens that are certain."""

    def __init__(self, model: LanguageModel, prompt_length: int, config: SamplingConfig, kept: int) -> None:
        self.model, self.prompt_length, self.config, self.kept = model, prompt_length, config, kept
        self.device = device_of(model)
        self.states: dict[int, State] = {0: None}
        """The state after this many tokens: the last `kept` ones."""

    def read(self, ids: list[int], *, last: int = 1) -> list[torch.Tensor]:
        """The distributions (V,) after each of the last `last` tokens of a text; only these may be new."""
        begin = max((count for count in self.states if count <= len(ids) - last), default=0)
        unread = torch.tensor([ids[begin:]], device=self.device)  # (1, n)
        log_probs, states = self.model.advance_each(unread, self.states.get(begin))  # (1, n, V), n states
        results = {count: state for count, state in self.states.items() if count <= begin}
        results |= dict(enumerate(states, start=begin + 1))
        self.states = {count: results[count] for count in sorted(results)[-self.kept :]}
        distributions = []
        for position in range(len(ids) - last, len(ids)):
            seen = torch.tensor([ids[: position + 1]])  # (1, t)
            scores = candidates(log_probs[:, position - begin].cpu(), seen, self.config, [self.prompt_length])
            distributions.append(_distribution(scores[0], self.config))
        return distributions


def _distribution(scores: torch.Tensor, config: SamplingConfig) -> torch.Tensor:
    """What `draw` draws from, by scores (V,): (V,) probabilities."""
    if config.strategy == "greedy" or bool(torch.isneginf(scores).all()):
        return one_hot(torch.tensor(draw(scores, config, torch.Generator())), len(scores)).float()
    probs = torch.softmax(scores, dim=0)
    if bool(probs.isnan().any()):
        raise InputError("the model's probabilities are not numbers: its weights are unusable")
    return probs


def _drawn(probs: torch.Tensor, random: torch.Generator) -> int:
    return int(torch.multinomial(probs, 1, generator=random))
