"""The scorer: known perplexities, every unit, independence of batching."""

import json
import math

import numpy as np
import pytest
import torch

from langladder.evaluation.perplexity import TextScores, score
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.storage.token_streams import POSITIONS, TokenStream
from langladder.text.tokenize.specials import BOS, EOS, UNK


class Uniform(LanguageModel):
    """Every token has probability 1/size, but for one that may be ruled out."""

    def __init__(self, size: int, impossible: int = -1) -> None:
        self.vocab_size, self.impossible = size, impossible

    def log_probs(self, tokens):
        scores = torch.full(tokens.shape, -math.log(self.vocab_size))
        scores[tokens == self.impossible] = -math.inf
        return scores * predicted(tokens) if self.impossible < 0 else scores.masked_fill(~predicted(tokens), 0.0)

    def next_log_probs(self, prefix):
        raise NotImplementedError

    def number_of_parameters(self):
        return 0

    def save(self, folder):
        raise NotImplementedError


def stream(*documents: list[int]) -> TokenStream:
    ids = np.concatenate([np.array(document, dtype=np.int32) for document in documents])
    return TokenStream(ids, np.cumsum([0, *map(len, documents)]))


TEXT = stream([BOS, 4, 5, EOS, BOS, 6, EOS], [BOS, 7, 8, 9, EOS])


@pytest.mark.parametrize("size", [10, 100, 10_000])
def test_golden_uniform_guess_has_perplexity_of_its_size(size):
    result = score(Uniform(size), TEXT, words=9, characters=20, bytes=30)
    assert (result.tokens, result.words, result.characters, result.bytes) == (9, 9, 20, 30)
    assert result.perplexity_per_token == pytest.approx(size, rel=1e-6)
    assert result.nll_nats == pytest.approx(9 * math.log(size), rel=1e-6)
    assert result.unknown_rate == 0 and result.note is None


def test_golden_units():
    """p = ½, ¼, ⅛: perplexity 4 a token; 6 bits over 3 bytes and 2 characters; the same 6 bits as 2 words."""

    class Halves(Uniform):
        def log_probs(self, tokens):  # noqa: ARG002
            return torch.tensor([[0.0, 0.5, 0.25, 0.125]]).log().nan_to_num(neginf=0.0)

    result = score(Halves(8), stream([BOS, 4, 5, EOS]), words=2, characters=2, bytes=3, log_prob=-4 * math.log(2))
    assert result.perplexity_per_token == pytest.approx(4)
    assert result.perplexity_per_word == pytest.approx(8)
    assert result.bits_per_byte == pytest.approx(2)
    assert result.bits_per_character == pytest.approx(3)
    assert result.floor_perplexity_per_word == pytest.approx(4)
    assert result.above_floor_percent == pytest.approx(100)


def test_golden_perplexity_by_position_in_the_document():
    """Documents of three lines and of one: their first lines together, the second ones, the third ones."""

    class ByToken(Uniform):
        def log_probs(self, tokens):
            return torch.where(tokens == BOS, 0.0, -tokens.double())  # a token of id n costs n nats

    three, item = [BOS, 4, EOS, BOS, 5, 6, EOS, BOS, 7, EOS], [BOS, 8, EOS]
    words = [4, 3, 2, *[0] * (len(POSITIONS) - 3)]
    known = [-2.0, -3.0, -1.0, *[0.0] * (len(POSITIONS) - 3)]
    costs = [4 + 8 + 2 * EOS, 5 + 6 + EOS, 7 + EOS]
    for batch_tokens in (1, 10**6):
        positions = score(
            ByToken(9),
            stream(three, item),
            words=9,
            characters=9,
            bytes=9,
            words_by_position=words,
            log_prob_by_position=known,
            batch_tokens=batch_tokens,
        ).positions
        assert [(entry.first, entry.last, entry.words) for entry in positions] == [(1, 1, 4), (2, 2, 3), (3, 4, 2)]
        assert [entry.perplexity for entry in positions] == pytest.approx(
            [math.exp(c / w) for c, w in zip(costs, words, strict=False)]
        )
        assert [entry.floor for entry in positions] == pytest.approx([math.exp(2 / 4), math.e, math.exp(1 / 2)])
    unknown = score(
        Uniform(10, impossible=5), stream(three), words=9, characters=9, bytes=9, words_by_position=words
    ).positions
    assert [entry.perplexity is None for entry in unknown] == [False, True, False]
    assert {entry.floor for entry in unknown} == {None}


def test_golden_perplexity_of_given_losses():
    assert math.exp(7.8) == pytest.approx(2440.6020, rel=1e-6)
    result = score(Uniform(1), TEXT, words=9, characters=9, bytes=9)
    assert result.perplexity_per_word == 1 and result.bits_per_byte == result.bits_per_character == 0


def test_unknowns_are_counted_and_noted():
    result = score(Uniform(10), stream([BOS, 4, UNK, UNK, EOS]), words=4, characters=9, bytes=9)
    assert result.unknown_rate == 0.5 and "not comparable" in str(result.note)


def test_impossible_tokens_are_shown_not_hidden():
    result = score(Uniform(10, impossible=7), TEXT, words=9, characters=20, bytes=30, log_prob=-5.0)
    assert result.impossible_tokens == 1
    assert (
        result.perplexity_per_word
        == result.bits_per_byte
        == result.bits_per_character
        == result.above_floor_percent
        == math.inf
    )
    written = result.model_dump(mode="json")
    assert written["perplexity_per_word"] is written["bits_per_byte"] is written["above_floor_percent"] is None
    assert {"perplexity_per_word", "above_floor_percent"} <= set(written["infinite"])  # a result, not a gap
    assert TextScores.model_validate(json.loads(json.dumps(written, allow_nan=False))) == result


def numbers_of(scores):
    return {name: value for name, value in scores.figures().items() if not isinstance(value, str)}


def test_golden_headline_of_graphemes_is_bits_per_character():
    sizes = {"words": 5, "characters": 6, "bytes": 16}
    per_word = score(Uniform(8), stream([BOS, 4, 5, EOS]), **sizes)
    assert per_word.headline == ("perplexity per word", per_word.perplexity_per_word)
    graphemes = score(Uniform(8), stream([BOS, 4, 5, EOS]), **sizes, word_unit="graphemes")
    name, value = graphemes.headline
    assert name == "bits per character" and value == pytest.approx(3 * 3 / 6)
    assert TextScores.model_validate(graphemes.model_dump()).word_unit == "graphemes"


@pytest.mark.parametrize("kind", ["lstm", "gpt"])
def test_result_is_independent_of_batching(kind):
    torch.manual_seed(0)
    model = (
        GPT(GPT.Config(context=8, width=8, layers=1, heads=2), 20)
        if kind == "gpt"
        else RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8), 20)
    )
    random = np.random.default_rng(0)
    documents = [[BOS, *random.integers(4, 20, size=n).tolist(), EOS] for n in random.integers(1, 40, size=30)]
    alone = score(model, stream(*documents), words=100, characters=400, bytes=500, batch_tokens=1)
    for batch_tokens in (64, 300, 10**6):
        batched = score(model, stream(*documents), words=100, characters=400, bytes=500, batch_tokens=batch_tokens)
        assert numbers_of(batched) == pytest.approx(numbers_of(alone), rel=1e-6)
    shuffled = [documents[i] for i in random.permutation(len(documents))]
    again = score(model, stream(*shuffled), words=100, characters=400, bytes=500)
    assert numbers_of(again) == pytest.approx(numbers_of(alone), rel=1e-6)


def test_nothing_to_score_is_an_error():
    with pytest.raises(InputError, match="nothing to score"):
        score(Uniform(10), stream([]), words=1, characters=1, bytes=1)
