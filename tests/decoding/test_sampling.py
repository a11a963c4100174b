"""Sampling with a model whose distribution is known."""

import math

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from langladder.answers.generate import TextStream, distributions, stream
from langladder.decoding.sampling import (
    SamplingConfig,
    candidates,
    choose,
    complete,
    generate,
    generate_batch,
    keep_likeliest,
    keep_nucleus,
    penalise,
)
from langladder.ground.errors import InputError
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import TokenizerConfig

LOG_PROBS = torch.tensor([[0.1, 0.0, 0.2, 0.05, 0.4, 0.15, 0.07, 0.03]]).log()  # PAD UNK BOS EOS and four words


class Fixed(LanguageModel):
    """Always the same distribution; EOS for sure from length `end` on."""

    vocab_size = 8

    def __init__(self, end: int = 10**9) -> None:
        self.end = end

    def log_probs(self, tokens):
        raise NotImplementedError

    def next_log_probs(self, prefix):
        if prefix.shape[1] >= self.end:
            return torch.full((len(prefix), 8), -math.inf).index_fill_(1, torch.tensor(EOS), 0.0)
        return LOG_PROBS.expand(len(prefix), -1)

    def number_of_parameters(self):
        return 0

    def save(self, folder):
        raise NotImplementedError


def frequencies(draws: int = 20_000, seen: list[int] | None = None, **settings) -> torch.Tensor:
    """(V,) relative frequency of each choice."""
    config = SamplingConfig(**settings)
    seen_rows = torch.tensor([seen or [BOS]] * draws)
    chosen = choose(LOG_PROBS.expand(draws, -1), seen_rows, config, torch.Generator().manual_seed(0))
    return torch.bincount(chosen, minlength=8) / draws


def expected(log_scores: torch.Tensor, keep: list[int]) -> torch.Tensor:
    mask = torch.full_like(log_scores, -math.inf)
    mask[keep] = 0
    return torch.softmax(log_scores + mask, dim=0)


@pytest.mark.parametrize(
    ("settings", "keep"),
    [
        ({}, [1, 3, 4, 5, 6, 7]),
        ({"temperature": 0.5}, [1, 3, 4, 5, 6, 7]),
        ({"top_k": 2}, [4, 5]),
        ({"top_p": 0.5}, [4]),  # 0.4 of 0.7 is 0.57
        ({"top_p": 0.6}, [4, 5]),
        ({"top_p": 1.0}, [1, 3, 4, 5, 6, 7]),
    ],
)
def test_golden_distributions(settings, keep):
    wanted = expected(LOG_PROBS[0] / settings.get("temperature", 1.0), keep)
    torch.testing.assert_close(frequencies(**settings), wanted, atol=0.012, rtol=0)


def test_greedy_takes_the_likeliest_word_and_penalty_moves_on():
    assert generate(Fixed(), [BOS], SamplingConfig(strategy="greedy", max_tokens=3)) == [[4, 4, 4]]
    once = SamplingConfig(strategy="greedy", max_tokens=2, repetition_penalty=3.0)
    assert generate(Fixed(), [BOS], once) == [[4, 5]]
    scores = LOG_PROBS[0].clone()
    scores[4] *= 1.5
    wanted = expected(scores, [1, 3, 4, 5, 6, 7])
    torch.testing.assert_close(frequencies(seen=[BOS, 4], repetition_penalty=1.5), wanted, atol=0.012, rtol=0)


@pytest.mark.parametrize(
    ("settings", "change"),
    [
        ({"presence_penalty": 1.5}, {4: -1.5, 6: -1.5}),
        ({"frequency_penalty": 0.5}, {4: -1.0, 6: -0.5}),
        (
            {"presence_penalty": -1.0, "frequency_penalty": 0.25, "logit_bias": {3: 2.0, 4: -100.0}},
            {3: 2.0, 4: -99.5, 6: 0.75},
        ),
        ({"logit_bias": {BOS: 100.0, PAD: 100.0, 7: -100.0}}, {7: -100.0}),
    ],
)
def test_bias_and_penalties_of_what_was_generated(settings, change):
    row = torch.tensor([[BOS, 5, 5, 4, 6, 4]])  # the first three were given
    scores = candidates(LOG_PROBS[:1], row, SamplingConfig(**settings), [3])[0]
    wanted = LOG_PROBS[0].clone()
    for token, value in change.items():
        wanted[token] += value
    wanted[[BOS, PAD]] = -math.inf
    torch.testing.assert_close(scores, wanted)


def test_batch_and_stream_apply_bias_and_penalties_alike():
    config = SamplingConfig(strategy="greedy", max_tokens=5, frequency_penalty=2.0, logit_bias={5: -100.0})
    assert generate_batch(Fixed(), [[BOS], [BOS, 4, 4]], config) == [[4, 6, 4], [4, 6, 4]]
    assert [item.token for item in stream(Fixed(), [BOS, 4, 4], config)] == [4, 6, 4, EOS]
    with pytest.raises(InputError, match=r"logit_bias: id 8 .* 0 to 7"):
        generate(Fixed(), [BOS], SamplingConfig(logit_bias={8: 1.0}))


def test_same_seed_same_text_and_never_bos_or_pad():
    config = SamplingConfig(max_tokens=200, seed=7)
    texts = generate(Fixed(), [BOS, 4], config, samples=3)
    assert (
        texts
        == generate(Fixed(), [BOS, 4], config, samples=3)
        != generate(Fixed(), [BOS, 4], config.model_copy(update={"seed": 8}), samples=3)
    )
    assert len({tuple(text) for text in texts}) == 3
    assert not {BOS, PAD, EOS} & {token for text in texts for token in text}


def test_stops_at_eos_and_at_max_tokens():
    greedy = SamplingConfig(strategy="greedy", max_tokens=9)
    assert generate(Fixed(end=5), [BOS, 4, 4], greedy, samples=2) == [[4, 4], [4, 4]]
    assert generate(Fixed(), [BOS], SamplingConfig(max_tokens=0)) == [[]]


def test_prefix_without_bos_is_refused():
    with pytest.raises(InputError, match="must begin with BOS"):
        generate(Fixed(), [4], SamplingConfig())
    with pytest.raises(ValidationError, match="temperature"):
        SamplingConfig(temperature=0.0)


def test_complete_reads_and_writes_text():
    class Letters:
        def encode(self, line):
            return torch.tensor([4 + "abcd".index(letter) for letter in line])

        def decode(self, ids):
            return "".join("abcd"[token - 4] for token in ids)

    assert complete(Fixed(end=5), Letters(), "ba", SamplingConfig(strategy="greedy")) == "baaa"


INF = math.inf
SCORES = torch.tensor([[0.5, 0.25, 0.125, 0.125], [0.1, 0.2, 0.3, 0.4]]).log()


def kept(scores: torch.Tensor) -> list[list[int]]:
    return [row.nonzero()[:, 0].tolist() for row in scores != -INF]


@pytest.mark.parametrize(
    ("k", "tokens"), [(1, [[0], [3]]), (2, [[0, 1], [2, 3]]), (3, [[0, 1, 2, 3], [1, 2, 3]]), (9, [[0, 1, 2, 3]] * 2)]
)
def test_golden_top_k(k, tokens):
    """By hand; the third and fourth of the first row are equally likely, so both stay."""
    cut = keep_likeliest(SCORES, k)
    assert kept(cut) == tokens
    assert torch.equal(cut[cut != -INF], SCORES[cut != -INF])


@pytest.mark.parametrize(
    ("p", "kept_tokens"),
    [
        (0.01, [[0], [3]]),
        (0.45, [[0], [2, 3]]),  # 0.5 suffices; 0.4 does not, 0.4 + 0.3 does
        (0.6, [[0, 1], [2, 3]]),
        (0.74, [[0, 1], [1, 2, 3]]),  # 0.5 + 0.25; 0.4 + 0.3 + 0.2
        (0.8, [[0, 1, 2], [1, 2, 3]]),  # of equals the first
    ],
)
def test_golden_top_p(p, kept_tokens):
    assert kept(keep_nucleus(SCORES, p)) == kept_tokens


def test_golden_temperature_and_penalty():
    """P^(1/τ) normalised: τ = 1/2 squares; θ = 2 squares the probabilities of what was seen, however often."""
    squared = torch.tensor([[16.0, 4, 1, 1]]) / 22
    row = torch.cat([torch.full((1, 4), -INF), SCORES[:1]], dim=1)  # four specials first
    scores = candidates(row, torch.tensor([[BOS]]), SamplingConfig(temperature=0.5))
    torch.testing.assert_close(scores.softmax(1)[:, 4:], squared)
    torch.testing.assert_close(
        penalise(SCORES[:1], torch.tensor([[1, 3, 1]]), 2.0).exp(), torch.tensor([[0.5, 0.0625, 0.125, 0.015625]])
    )
    torch.testing.assert_close(SCORES[0, 1].exp(), torch.tensor(0.25))  # the argument is left as it was


def test_filters_apply_in_their_order():
    """θ = 4 takes the likeliest below the others before top-k looks."""
    row = torch.cat([torch.full((1, 4), -INF), SCORES[:1]], dim=1)
    result = candidates(row, torch.tensor([[BOS, 4]]), SamplingConfig(repetition_penalty=4.0, top_k=1))
    assert kept(result) == [[5]]
    assert torch.equal(row[0, 4:], SCORES[0])


def network(kind: str) -> LanguageModel:
    torch.manual_seed(0)
    if kind == "gpt":
        model: LanguageModel = GPT(GPT.Config(context=8, width=12, layers=2, heads=2), 20)
    else:
        model = RecurrentLM(RecurrentLM.Config(width=12, embedding_dim=12), 20)
    with torch.no_grad():
        for parameter in model.parameters():  # type: ignore[attr-defined]
            parameter.mul_(4)
    return model


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
@pytest.mark.parametrize("strategy", ["greedy", "sample"])
def test_batched_prompts_equal_single_prompts(kind, strategy):
    """Rows of different lengths, up to the context and beyond; the first row's draws do not hang on the others."""
    model = network(kind)
    prompts = [[BOS, 5, 6], [BOS], [BOS, 7, 8, 9, 10, 11, 4, 5, 6, 7], [BOS, 12, 13]]
    config = SamplingConfig(strategy=strategy, max_tokens=12, seed=3)
    batched = generate_batch(model, prompts, config)
    assert max(map(len, batched)) <= 12 and len({tuple(row) for row in batched}) > 1
    assert generate(model, prompts[0], config)[0] == batched[0]
    assert generate_batch(model, [prompts[0], [BOS, 4]], config)[0] == batched[0]
    if strategy == "greedy":
        assert batched == [generate(model, prompt, config)[0] for prompt in prompts]
        for prompt, row in zip(
            prompts, batched, strict=True
        ):  # and what the model says of the whole prefix, token by token
            for t, token in enumerate(row):
                log_probs = model.next_log_probs(torch.tensor([[*prompt, *row[:t]]]))[0]
                log_probs[[BOS, PAD]] = -INF
                assert int(log_probs.argmax()) == token


def test_no_prompts_and_nothing_possible():
    class Silent(Fixed):
        def next_log_probs(self, prefix):
            return torch.full((len(prefix), 8), -INF)

    assert generate_batch(Fixed(), [], SamplingConfig()) == []
    assert generate(Silent(), [BOS], SamplingConfig()) == [[]]
    assert generate(Silent(), [BOS], SamplingConfig(strategy="greedy")) == [[]]


@pytest.mark.parametrize("kind", ["word", "character", "bpe_bytes", "bpe_words", "wordpiece", "unigram"])
def test_streamed_text_equals_the_decoded_tokens(kind):
    lines = ["the cat sees the old king .", "a pair of naïve cafés , 日本 🙂", "ab abc abcd"] * 3
    config = TokenizerConfig(kind=kind, vocab_size=None if kind in ("word", "character") else 330)
    tokenizer = train_tokenizer(lines, config)
    drawn = np.random.default_rng(1).integers(0, tokenizer.vocab_size, size=300).tolist()
    for ids in ([*tokenizer.encode(" ".join(lines)).tolist(), EOS, 5, BOS, BOS, 6], drawn):
        growing = TextStream(tokenizer)
        assert [growing.add(token) for token in ids] == [tokenizer.decode(ids[: end + 1]) for end in range(len(ids))]


@pytest.mark.parametrize("kind", ["gpt", "lstm"])
def test_a_network_of_whole_documents_continues_later_lines_without_their_bos(kind):
    torch.manual_seed(0)
    if kind == "gpt":
        model: LanguageModel = GPT(GPT.Config(context=16, width=8, layers=1, heads=2, rows="documents"), 12).eval()
    else:
        model = RecurrentLM(RecurrentLM.Config(width=8, embedding_dim=8, rows="documents"), 12).eval()
    prefix, read = [BOS, 4, 9, EOS, BOS, 5], [BOS, 4, 9, EOS, 5]
    config = SamplingConfig(max_tokens=5, seed=3)
    assert generate_batch(model, [prefix, [BOS, 6]], config) == generate_batch(model, [read, [BOS, 6]], config)
    expected = model.next_log_probs(torch.tensor([prefix]))[0]
    torch.testing.assert_close(next(iter(stream(model, prefix, config))).log_probs, expected)
    scores = model.log_probs(torch.tensor([[*prefix, 7]]))[0]
    result = [
        0.0 if token == BOS else float(p[token])
        for token, p in zip([*prefix[1:], 7], distributions(model, [*prefix, 7]), strict=True)
    ]
    assert result == pytest.approx(scores[1:].tolist(), abs=1e-5)
