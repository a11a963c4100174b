"""Scoring options: equal to `LanguageModel.log_probs` of the whole text, for every rung, whatever is read together."""

import numpy as np
import pytest
import torch

from langladder.decoding.options import ROWS, OptionItem, common_beginning, option_item, score_options
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT, GPTConfig
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM
from langladder.text.tokenize.specials import BOS, EOS
from tests.models.test_every_language_model import MODELS, V, build

PROMPT = np.array([BOS, 4, 9, EOS, BOS])


def items(seed: int = 0, count: int = 6) -> list[OptionItem]:
    """Items with one beginning, contexts of one to four tokens more, two to four options of one to three tokens."""
    random = np.random.default_rng(seed)
    result = []
    for _ in range(count):
        own = random.integers(4, V, random.integers(1, 5))
        options = [random.integers(4, V, random.integers(1, 4)) for _ in range(random.integers(2, 5))]
        result.append(OptionItem(np.concatenate([PROMPT, own]), options))
    return result


def whole(model: LanguageModel, item: OptionItem) -> list[float]:
    """Σ log P of each option, from the log-probabilities of the whole row."""
    rows = [torch.from_numpy(np.concatenate([item.context, option])[None]) for option in item.options]
    return [float(model.log_probs(row)[0, len(item.context) :].double().sum()) for row in rows]


@pytest.mark.parametrize("name", MODELS)
def test_parity_with_whole_texts(name: str) -> None:
    model, batch = build(name), items()
    for item, scored in zip(batch, score_options(model, batch), strict=True):
        assert scored == pytest.approx(whole(model, item), abs=1e-5)


@pytest.mark.parametrize("name", ["gpt", "lstm", "kneser_ney", "nnlm"])
def test_padding_and_order_change_nothing(name: str) -> None:
    model, batch = build(name), items(count=ROWS + 9)
    batched = score_options(model, batch)
    for index, turned in zip(reversed(range(len(batch))), score_options(model, batch[::-1]), strict=True):
        assert turned == pytest.approx(batched[index], abs=1e-5)
    for item, result in list(zip(batch, batched, strict=True))[::17]:
        assert score_options(model, [item])[0] == pytest.approx(result, abs=1e-5)
        alone = [score_options(model, [OptionItem(item.context, [option])])[0][0] for option in item.options]
        assert alone == pytest.approx(result.tolist(), abs=1e-5)


def test_rows_beyond_the_context_are_scored_by_windows() -> None:
    """As `log_probs` scores a long text; shorter items beside them are read from the cache."""
    model = build("GPT, sliding")
    batch = [*items(count=3), OptionItem(np.concatenate([PROMPT, np.arange(4, 16)]), [np.array([5]), np.array([6, 7])])]
    for item, scored in zip(batch, score_options(model, batch), strict=True):
        assert scored == pytest.approx(whole(model, item), abs=1e-5)


def test_a_row_of_just_the_context_is_carried(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last token of an option is predicted and never read, so a row may be one token longer than the context."""
    torch.manual_seed(0)
    model = GPT(GPTConfig(context=8, width=8, layers=1, heads=2), V).eval()
    item = OptionItem(np.array([BOS, 4, 5, 6, 7, 8]), [np.array([9, 10, 11]), np.array([12])])
    expected = whole(model, item)
    monkeypatch.setattr(model, "log_probs", None)  # not asked
    assert score_options(model, [item])[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_shared_tokens_are_read_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    gpt = GPT(GPTConfig(context=32, width=8, layers=1, heads=2), V)
    model = gpt if kind == "gpt" else RecurrentLM(RecurrentConfig(width=8, embedding_dim=8), V)
    read, read_on = [], model.read_on

    def counted(tokens: torch.Tensor, state: object) -> object:
        read.append(tuple(tokens.shape))
        return read_on(tokens, state)

    monkeypatch.setattr(model, "read_on", counted)
    batch = [OptionItem(np.concatenate([PROMPT, [first, 8]]), [np.array([5]), np.array([6])]) for first in (4, 5, 6)]
    score_options(model, batch)
    assert read == [(1, 5), (3, 2)]  # the beginning once, three contexts of two tokens; options of one token not at all
    read.clear()
    score_options(model, [OptionItem(item.context, [np.array([5, 6, 7]), np.array([6])]) for item in batch])
    assert read == [(1, 5), (3, 2), (3, 2)]


def test_the_mode_stays_and_dropout_is_off() -> None:
    torch.manual_seed(0)
    model = GPT(GPTConfig(context=32, width=8, layers=1, heads=2, dropout=0.5), V).train()
    first, second = (score_options(model, items(count=2)) for _ in range(2))
    assert model.training and all((a == b).all() for a, b in zip(first, second, strict=True))


def test_the_context_ends_where_the_tokens_of_the_options_differ() -> None:
    """The tokenizer joined the context's last token with the first option's: both are scored from before it."""
    context = np.array([BOS, 4, 5])
    item = option_item([np.array([BOS, 4, 17, 8]), np.array([BOS, 4, 5, 9])], context)
    assert item.context.tolist() == [BOS, 4]
    assert [option.tolist() for option in item.options] == [[17, 8], [5, 9]]
    assert common_beginning([context, context[:2]]) == 2
    with pytest.raises(InputError, match="one of them is empty"):
        option_item([context, np.append(context, 6)], context)


def test_an_invalid_context_is_refused() -> None:
    model = build("gpt")
    with pytest.raises(InputError, match="begins with BOS"):
        score_options(model, [OptionItem(np.array([5, 6]), [np.array([7])])])
    with pytest.raises(InputError, match=f"ids .*{V}"):
        score_options(model, [OptionItem(np.array([BOS, 6]), [np.array([V])])])
    assert score_options(model, []) == []
