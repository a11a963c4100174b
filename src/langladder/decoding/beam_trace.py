"""Trace of a beam search: every hypothesis that it considered, when, and its outcome.

The search is that of `beam_search`; this module records its steps. A node extends its parent by one token:

    kept        lives on into the next step
    finished    ends in EOS, with the score that it is compared by
    dropped     was weighed and lost: of those that lost, the best B of each group of B are noted
    left        lived on until the search was over, and could not win any more

Shape legend: K beam width, B hypotheses of a group, V vocabulary, t tokens so far.
"""

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch

from langladder.decoding.beam_search import BeamConfig, Hypothesis, _best, _Search
from langladder.models.translation.translator import Translator
from langladder.text.tokenize.specials import EOS

Fate = Literal["kept", "finished", "dropped", "left"]


@dataclass
class Node:
    """A token that was appended to a hypothesis.

    Attributes:
        parent: the index of the parent among all nodes; None: the beginning.
        step: from 1.
        log_prob: natural log of P(token | previous tokens, source); total: the sum up to here.
        score: of a finished hypothesis, normalised by length and coverage.
    """

    parent: int | None
    step: int
    token: int
    log_prob: float
    total: float
    fate: Fate
    score: float | None = None


class Trace(NamedTuple):
    """The result of a search, and its trace.

    Attributes:
        best: what `beam_search` returns for the sentence, and `ends`, the node in which each of them ends.
    """

    best: list[Hypothesis]
    ends: list[int]
    nodes: list[Node]


@torch.no_grad()
def trace(model: Translator, source: torch.Tensor, config: BeamConfig) -> Trace:
    """Search for the translations of one sentence and record all steps.

    Args:
        source: (1, S) int64, ids … EOS.

    Raises:
        InputError: as `beam_search`.
    """
    assert len(source) == 1, source.shape
    search = _Watched.begin(model, source, config)
    while len(search.sentences):
        search.advance()
    for slot in search.slots:
        if slot is not None and search.nodes[slot].fate == "kept":
            search.nodes[slot].fate = "left"
    best = _best(search.finished[0], config.n_best)
    ends = {id(hypothesis): position for hypothesis, position in search.ends}
    return Trace(best, [ends[id(hypothesis)] for hypothesis in best], search.nodes)


@dataclass
class _Watched(_Search):
    """The search for one sentence, which records its hypotheses.

    Attributes:
        slots: the node of each of the K living hypotheses; None: the beginning, or there is none.
        following: the same after the step that is under way.
    """

    nodes: list[Node] = field(default_factory=list)
    slots: list[int | None] = field(default_factory=list)
    following: list[int | None] = field(default_factory=list)
    ends: list[tuple[Hypothesis, int]] = field(default_factory=list)

    def advance(self) -> None:
        """See `_Search.advance`."""
        self.slots = self.slots or [None] * self.config.width
        self.following = []
        super().advance()
        self.slots = self.following

    def _extend(
        self, group: int, allowed: torch.Tensor, chosen: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        first, known = group * self.group_size, len(self.finished[0][group])
        log_probs = allowed[0, first : first + self.group_size].clone()  # (B, V)
        sums = self.log_prob[0, first : first + self.group_size].unsqueeze(1) + log_probs  # (B, V) float64
        parents, tokens, totals = super()._extend(group, allowed, chosen)
        for hypothesis in self.finished[0][group][known:]:
            slot = self._slot_of(hypothesis.tokens, first)
            value = float(log_probs[slot - first, EOS])
            self.ends.append((hypothesis, len(self.nodes)))
            self._note(slot, EOS, value, hypothesis.log_prob, "finished", hypothesis.score)
            sums[slot - first, EOS] = -math.inf
        for slot, token, total in zip(parents[0].tolist(), tokens[0].tolist(), totals[0].tolist(), strict=True):
            self.following.append(len(self.nodes) if math.isfinite(total) else None)
            if math.isfinite(total):
                self._note(slot, token, float(log_probs[slot - first, token]), total, "kept")
                sums[slot - first, token] = -math.inf
        values, positions = sums.flatten().topk(min(self.group_size, sums.numel()))
        for total, position in zip(values.tolist(), positions.tolist(), strict=True):
            if math.isfinite(total):
                row, token = divmod(position, sums.shape[1])
                self._note(first + row, token, float(log_probs[row, token]), total, "dropped")
        return parents, tokens, totals

    def _slot_of(self, tokens: list[int], first: int) -> int:
        """The active hypothesis of a group with these tokens."""
        prefixes = self.prefix[0, first : first + self.group_size, 1:].tolist()
        living = self.log_prob[0, first : first + self.group_size].isfinite().tolist()
        return next(
            first + row
            for row, (prefix, lives) in enumerate(zip(prefixes, living, strict=True))
            if lives and prefix == tokens
        )

    def _note(
        self, slot: int, token: int, log_prob: float, total: float, fate: Fate, score: float | None = None
    ) -> None:
        step = self.prefix.shape[2]
        self.nodes.append(Node(self.slots[slot], step, token, log_prob, total, fate, score))
