"""Speculative decoding: the texts of the target's own distribution, and greedy ones the same as without a draft."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
import torch

from langladder.decoding.sampling import SamplingConfig, generate_batch
from langladder.decoding.speculative import Speculation, speculate
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.text.tokenize.specials import BOS, EOS
from tests.tasks.small_run import V, make_model, make_stream

A, B = 4, 5


class Table(LanguageModel):
    """P(next | last token) from a table, over A, B and EOS."""

    def __init__(self, rows: dict[int, list[float]]) -> None:
        super().__init__(Config(), 6)
        self.rows = rows

    def number_of_parameters(self) -> int:
        return 9

    def save(self, folder: Path) -> None:
        raise NotImplementedError

    def log_probs(self, tokens: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError

    def next_log_probs(self, prefix: torch.Tensor) -> torch.Tensor:
        result = torch.full((len(prefix), 6), -torch.inf)
        for row, last in enumerate(prefix[:, -1].tolist()):
            result[row, [A, B, EOS]] = torch.tensor(self.rows[last]).log()
        return result


TARGET = Table({BOS: [0.6, 0.3, 0.1], A: [0.2, 0.5, 0.3], B: [0.7, 0.1, 0.2]})
DRAFT = Table({BOS: [0.2, 0.7, 0.1], A: [0.5, 0.0, 0.5], B: [0.1, 0.8, 0.1]})  # never proposes B after A
DRAWN = 1000


def probability(ids: tuple[int, ...], most: int) -> float:
    """Of a text of at most `most` tokens; shorter ones end with EOS."""
    result, last = 1.0, BOS
    for token in [*ids, *[EOS] * (len(ids) < most)]:
        result *= TARGET.rows[last][[A, B, EOS].index(token)]
        last = token
    return result


@pytest.mark.parametrize("lookahead", [pytest.param(1, marks=pytest.mark.long), 3])
def test_texts_have_the_distribution_of_the_target(lookahead: int) -> None:
    config, counts = SamplingConfig(max_tokens=3), Speculation()
    drawn = Counter(
        tuple(speculate(TARGET, DRAFT, [BOS], config, lookahead=lookahead, row=row, counts=counts))
        for row in range(DRAWN)
    )
    texts = [ids for length in range(4) for ids in product((A, B), repeat=length)]
    expected = {ids: DRAWN * probability(ids, 3) for ids in texts}
    assert sum(expected.values()) == pytest.approx(DRAWN)
    assert set(drawn) <= set(texts)
    statistic = sum((drawn[ids] - count) ** 2 / count for ids, count in expected.items())
    assert statistic < 36.1  # χ² of 14 degrees of freedom: above with p = 0.001
    assert 0 < counts.accepted < counts.proposed
    assert counts.tokens == sum(len(ids) + (len(ids) < 3) for ids in drawn.elements())


def kneser_ney() -> KneserNey:
    model = KneserNey(KneserNey.Config(order=2), V)
    model.fit(make_stream(0))
    return model


@pytest.mark.parametrize("settings", [{}, {"context": 64}, {"context": 64, "sparse_window": 3}])
def test_greedy_texts_are_those_without_a_draft(settings: dict[str, int]) -> None:
    torch.manual_seed(0)
    model = GPT(GPT.Config(**{"context": 8, "width": 8, "layers": 2, "heads": 2} | settings), V).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
    config = SamplingConfig(strategy="greedy", max_tokens=14, repetition_penalty=1.3)
    prefixes = [[BOS], [BOS, 7, 8], [BOS, 5, 6, 7, 8, 9, 10, 11, 12, 13]]
    alone = generate_batch(model, prefixes, config)
    assert any(len(text) > 10 for text in alone)
    for draft in (kneser_ney(), make_model("lstm").eval(), model):
        counts = Speculation()
        speculated = [speculate(model, draft, prefix, config, counts=counts) for prefix in prefixes]
        assert speculated == alone
        if draft is model:
            assert counts.accepted == counts.proposed > 0


def test_a_recurrent_target_and_sampling_with_cuts() -> None:
    model = make_model("lstm").eval()
    config = SamplingConfig(max_tokens=12, top_k=1, temperature=0.7)  # one token is left: as greedy
    assert speculate(model, kneser_ney(), [BOS, 6], config) == generate_batch(model, [[BOS, 6]], config)[0]
    config = SamplingConfig(max_tokens=12, seed=3)
    texts = [speculate(model, kneser_ney(), [BOS, 6], config, row=row) for row in (0, 0, 1)]
    assert texts[0] == texts[1] != texts[2]


def test_another_vocabulary_is_refused() -> None:
    with pytest.raises(InputError, match="draft: it has 6 tokens, the model 20"):
        speculate(make_model("lstm"), DRAFT, [BOS], SamplingConfig())
    with pytest.raises(InputError, match="must begin with BOS"):
        speculate(TARGET, DRAFT, [A], SamplingConfig())
