"""The probability of each of several options after a context, log P(option | context), for any language model.

    log P(o | c) = Σ_t log P(o_t | c, o_1 … o_{t−1})

What contexts share is read once. With k examples in a prompt and O options of an item, a pass an option reads
everything O times an item; here

1. the beginning that all items share (task, examples) is read once, and its state (hidden states, the keys and values
   of a cache) kept;
2. each item's own words are read once, items of equal length side by side, from that state;
3. the first token of every option is scored from the last hidden state of step 2; only what longer options have beyond
   it is read, options of like length side by side.

Models without a state to go on from (n-grams), and rows that are longer than a network's context, are scored as whole
rows by `LanguageModel.log_probs`. The sums are the same, and neither order nor padding changes them.

Shape legend: N items, O options of an item, B rows read together, n tokens, D width.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from langladder.data.language_modelling import pad_rows
from langladder.ground.errors import InputError
from langladder.models.language.language_model import LanguageModel, State, check_tokens, predicted
from langladder.models.language.neural import NeuralLanguageModel, scoring
from langladder.text.tokenize.specials import BOS

ROWS = 64
"""Rows read together."""


class OptionItem(NamedTuple):
    """One item: the tokens (n,) of its context, which begin with BOS, and those of each option after it, n ≥ 1 each."""

    context: np.ndarray
    options: list[np.ndarray]


def option_item(wholes: Sequence[np.ndarray], context: np.ndarray) -> OptionItem:
    """An item from texts that were tokenized as a whole: an option is the part after the tokens that all share.

    A tokenizer may join a context's last letters with an option's first; then both belong to the option.

    Args:
        wholes: ids of context and option together, each option's. context: ids of the context alone.

    Raises:
        InputError: an option is empty.
    """
    shared = common_beginning([context, *wholes])
    options = [whole[shared:] for whole in wholes]
    if not all(map(len, options)) or not shared:
        raise InputError("options: one of them is empty, or there is no text before them; every option needs a token")
    return OptionItem(np.asarray(wholes[0][:shared]), options)


def common_beginning(rows: Sequence[np.ndarray]) -> int:
    """The number of first tokens that all rows share."""
    shortest = min(map(len, rows))
    table = np.stack([row[:shortest] for row in rows])  # (rows, shortest)
    differs = (table != table[0]).any(axis=0)
    return int(differs.argmax()) if differs.any() else shortest


@torch.no_grad()
def score_options(model: LanguageModel, items: Sequence[OptionItem]) -> list[np.ndarray]:
    """Natural-log probability of every option: N times (O,) float64.

    Raises:
        InputError: a context does not begin with BOS, or an id is outside the vocabulary.
    """
    scores = [np.zeros(len(item.options)) for item in items]
    if not items:
        return scores
    everything = np.concatenate([part for item in items for part in (item.context, *item.options)]).astype(np.int64)
    check_tokens(torch.from_numpy(np.concatenate([items[0].context[:1], everything]))[None], model.vocab_size)
    if model.joins_lines:
        items = [
            OptionItem(
                np.array(model.as_read(item.context.tolist())), [option[option != BOS] for option in item.options]
            )
            for item in items
        ]
    carried = [position for position, item in enumerate(items) if _can_be_carried(model, item)]
    if carried and isinstance(model, NeuralLanguageModel):
        with scoring(model, _device(model).type):
            _score_carried(model, items, carried, scores)
    _score_whole(model, items, sorted({*range(len(items))} - {*carried}), scores)
    return scores


def _can_be_carried(model: LanguageModel, item: OptionItem) -> bool:
    if not isinstance(model, NeuralLanguageModel):
        return False
    longest = len(item.context) + max(map(len, item.options)) - 1  # the last token of an option is not read
    return model.context is None or longest <= model.context


def _score_whole(
    model: LanguageModel, items: Sequence[OptionItem], positions: list[int], scores: list[np.ndarray]
) -> None:
    rows = [(position, index) for position in positions for index in range(len(items[position].options))]
    rows.sort(key=lambda row: len(items[row[0]].context) + len(items[row[0]].options[row[1]]))
    device = _device(model)
    for first in range(0, len(rows), ROWS):
        part = rows[first : first + ROWS]
        tokens = pad_rows(
            [np.concatenate([items[position].context, items[position].options[entry]]) for position, entry in part]
        )
        log_probs = model.log_probs(tokens.to(device)).cpu().double()  # (B, n)
        for (position, option), row in zip(part, log_probs, strict=True):
            start = len(items[position].context)
            scores[position][option] = float(row[start : start + len(items[position].options[option])].sum())


def _score_carried(
    model: NeuralLanguageModel, items: Sequence[OptionItem], positions: list[int], scores: list[np.ndarray]
) -> None:
    contexts = [items[position].context for position in positions]
    shared = min(common_beginning(contexts), min(map(len, contexts)) - 1)  # at least one token belongs to the option
    state = None
    if shared:
        _, state = model.read_on(_tokens(model, contexts[0][None, :shared]), None)
    for group in _equally_long(items, positions):
        own = np.stack([items[position].context[shared:] for position in group])  # (B, n)
        begun = None if state is None else model.state_of(state, _tokens(model, np.zeros(len(group))))
        hidden, after = model.read_on(_tokens(model, own), begun)  # (B, n, D)
        _score_group(model, [(position, items[position].options) for position in group], hidden[:, -1], after, scores)


def _equally_long(items: Sequence[OptionItem], positions: list[int]) -> Iterator[list[int]]:
    """Items with contexts of the same length, so that there is no padding."""
    by_length: dict[int, list[int]] = {}
    for position in positions:
        by_length.setdefault(len(items[position].context), []).append(position)
    for group in by_length.values():
        for first in range(0, len(group), ROWS):
            yield group[first : first + ROWS]


def _score_group(
    model: NeuralLanguageModel,
    items: Sequence[tuple[int, list[np.ndarray]]],
    hidden: torch.Tensor,
    state: State,
    results: list[np.ndarray],
) -> None:
    """The options of some items, from the last hidden states of their contexts (B, D) and the states after these."""
    flat = [(row, position, index) for row, (position, options) in enumerate(items) for index in range(len(options))]
    options = [items[row][1][option] for row, _, option in flat]
    parents = _tokens(model, np.array([row for row, _, _ in flat]))
    first = _tokens(model, np.array([option[0] for option in options]))
    sums = _target_log_probs(model, hidden[parents], first)  # (N · O,)
    longer = sorted((k for k, option in enumerate(options) if len(option) > 1), key=lambda k: len(options[k]))
    for start in range(0, len(longer), ROWS):
        part = longer[start : start + ROWS]
        tokens = pad_rows([options[k] for k in part]).to(hidden.device)  # (B, n)
        rest, _ = model.read_on(tokens[:, :-1], model.state_of(state, parents[part]))  # (B, n − 1, D)
        scores = _target_log_probs(model, rest.flatten(0, 1), tokens[:, 1:].flatten())
        sums[part] += scores.view(len(part), -1).sum(dim=1)
    for (_, position, entry), total in zip(flat, sums.tolist(), strict=True):
        results[position][entry] = total


def _target_log_probs(model: NeuralLanguageModel, hidden: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """log P of (N,) targets from (N, D), as float64; 0 for tokens that are not predicted: BOS and PAD."""
    scores = torch.zeros(len(targets), dtype=torch.float64, device=targets.device)
    keep = predicted(targets)
    scores[keep] = model.head.target_log_probs(hidden[keep], targets[keep]).double()
    return scores


def _tokens(model: NeuralLanguageModel, values: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(values.astype(np.int64)).to(_device(model))


def _device(model: LanguageModel) -> torch.device:
    return next(model.parameters()).device if isinstance(model, torch.nn.Module) else torch.device("cpu")
