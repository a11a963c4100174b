"""Google's length form, coverage, diverse groups and sampling, against hand-made numbers and plain loops."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from langladder.decoding.beam_search import BeamConfig, beam_search
from langladder.decoding.limits import LengthForm
from langladder.decoding.sample_translations import SampleConfig, sample_translations
from langladder.decoding.scores import coverage_penalty, length_penalty, normalised
from langladder.decoding.translate import translate
from langladder.ground.errors import InputError
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.translator import State, Translator
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 8  # ids 4 … 7 are words
COLUMNS = 3  # source positions that are told apart


class Chart(Translator):
    """P(next | last token, number of tokens so far) and attention by (tokens so far, last token), drawn once."""

    def __init__(self, seed: int, attentive: bool = True) -> None:
        super().__init__(AttentionSeq2Seq.Config(), 10, V)
        random = torch.Generator().manual_seed(seed)
        logits = torch.randn(12, V, V, generator=random)
        logits[..., [PAD, BOS, 1]] = -math.inf
        self.table = logits.log_softmax(-1)
        self.read = torch.randn(12, V, COLUMNS, generator=random).mul(3).softmax(-1)
        self.attentive = attentive
        self.anchor = torch.nn.Parameter(torch.zeros(1))

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        return State({"mask": mask}, {"first": source[:, 0]})

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, torch.Tensor | None]:
        t = min(prefix.shape[1] - 1, 11)
        return self.table[t, prefix[:, -1]], state, self.read[t, prefix[:, -1]] if self.attentive else None

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        raise NotImplementedError


SOURCE = torch.tensor([[4, 5, EOS]])


def test_golden_length_forms() -> None:
    assert [length_penalty(T, 0.7) for T in (1, 10)] == pytest.approx([1.0, 5.011872], abs=1e-6)
    assert [length_penalty(T, 0.7, "gnmt") for T in (1, 10)] == pytest.approx([1.0, 1.899145], abs=1e-6)
    assert normalised(-3.0, 7, 1.0, "gnmt") == pytest.approx(-1.5)
    assert normalised(-3.0, 7, 0.0, "gnmt") == normalised(-3.0, 7, 0.0) == -3.0


def test_golden_coverage() -> None:
    attention = np.array([[0.5, 0.5, 0.0], [0.7, 0.05, 0.25]])  # read 1.2, 0.55 and 0.25 times
    expected = 0.2 * (math.log(1) + math.log(0.55) + math.log(0.25))
    assert coverage_penalty(attention, 0.2) == pytest.approx(expected)
    assert math.isfinite(coverage_penalty(np.array([[1.0, 0.0]]), 1.0))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    width=st.sampled_from([2, 4, 6]),
    form=st.sampled_from(["power", "gnmt"]),
    beta=st.sampled_from([0.0, 0.2, 1.0]),
    groups=st.sampled_from([1, 2]),
    data=st.data(),
)
def test_early_stop_is_safe_in_every_form(
    seed: int, width: int, form: LengthForm, beta: float, groups: int, data: st.DataObject
) -> None:
    chosen: dict[str, Any] = {"width": width, "length_form": form, "coverage": beta, "groups": groups, "max_length": 9}
    chosen |= {"n_best": data.draw(st.integers(1, width)), "alpha": data.draw(st.sampled_from([0.0, 0.7, 1.5]))}
    model = Chart(seed)
    early, full = (beam_search(model, SOURCE, BeamConfig(**chosen, early_stop=stop))[0] for stop in (True, False))
    assert [(h.tokens, h.score) for h in early] == [(h.tokens, h.score) for h in full]
    assert len({tuple(h.tokens) for h in early}) == len(early) > 0
    for h in early:
        steps = zip([BOS, *h.tokens], [*h.tokens, EOS], strict=True)
        total = sum(float(model.table[t, last, following]) for t, (last, following) in enumerate(steps))
        assert h.log_prob == pytest.approx(total, abs=1e-5)  # the diversity penalty is no part of it
        assert h.attention is not None
        expected = normalised(total, len(h.tokens) + 1, chosen["alpha"], form) + coverage_penalty(h.attention, beta)
        assert h.score == pytest.approx(expected, abs=1e-5)


def test_coverage_prefers_the_translation_that_reads_all() -> None:
    both: dict[str, Any] = {"width": 6, "n_best": 6, "max_length": 4, "alpha": 0.0}
    changed = 0
    for seed in range(20):
        plain, covered = (beam_search(Chart(seed), SOURCE, BeamConfig(**both, coverage=b))[0] for b in (0.0, 5.0))
        assert {tuple(h.tokens) for h in plain} == {tuple(h.tokens) for h in covered}  # all finished, another order
        penalties = [coverage_penalty(h.attention, 1.0) for h in (plain[0], covered[0]) if h.attention is not None]
        assert penalties[1] >= penalties[0]
        changed += plain[0].tokens != covered[0].tokens
    assert changed > 0


def test_coverage_needs_attention() -> None:
    with pytest.raises(InputError, match=r"coverage=0\.2: Chart has no attention weights"):
        beam_search(Chart(0, attentive=False), SOURCE, BeamConfig(coverage=0.2))
    assert beam_search(Chart(0, attentive=False), SOURCE, BeamConfig())[0][0].attention is None


def diverse_by_loops(model: Chart, config: BeamConfig) -> list[tuple[tuple[int, ...], float]]:
    """Algorithm 1 of Vijayakumar et al., one hypothesis and one token at a time."""
    B = config.width // config.groups
    live: list[list[tuple[tuple[int, ...], float]]] = [[((), 0.0)] for _ in range(config.groups)]
    finished: list[list[tuple[tuple[int, ...], float]]] = [[] for _ in range(config.groups)]
    for t in range(config.max_length + 1):
        times = [0] * V
        for group in range(config.groups):
            extensions = []
            for tokens, total in live[group]:
                for v in range(V):
                    log_prob = float(model.table[t, tokens[-1] if tokens else BOS, v])
                    too_early, too_late = v == EOS and t < config.min_length, v != EOS and t >= config.max_length
                    if log_prob > -math.inf and not too_early and not too_late:
                        rank = total + log_prob - config.diversity * times[v]
                        extensions.append((rank, (*tokens, v), total + log_prob))
            extensions.sort(key=lambda extension: -extension[0])
            for _, tokens, total in extensions[:B]:
                times[tokens[-1]] += 1
                if tokens[-1] == EOS and len(finished[group]) < B:
                    finished[group].append((tokens[:-1], total))
            others = [(tokens, total) for _, tokens, total in extensions if tokens[-1] != EOS][:B]
            live[group] = others if len(finished[group]) < B else []
    result = {tokens: normalised(total, len(tokens) + 1, config.alpha) for group in finished for tokens, total in group}
    return sorted(result.items(), key=lambda item: -item[1])[: config.n_best]


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    shape=st.sampled_from([(2, 2), (4, 2), (6, 3), (6, 2), (3, 1)]),
    strength=st.sampled_from([0.0, 0.3, 1.1]),
    maximum=st.integers(1, 6),
)
def test_parity_diverse_beams_equal_plain_loops(
    seed: int, shape: tuple[int, int], strength: float, maximum: int
) -> None:
    width, groups = shape
    config = BeamConfig(width=width, groups=groups, diversity=strength, n_best=width, max_length=maximum)
    model = Chart(seed)
    result = [(tuple(h.tokens), h.score) for h in beam_search(model, SOURCE, config)[0]]
    expected = diverse_by_loops(model, config)
    assert [tokens for tokens, _ in result] == [tokens for tokens, _ in expected]
    assert [score for _, score in result] == pytest.approx([score for _, score in expected], abs=1e-5)


def test_strong_diversity_begins_every_group_with_another_word() -> None:
    config = BeamConfig(width=4, groups=4, diversity=100.0, n_best=4, max_length=5)
    for seed in range(10):
        assert len({h.tokens[0] for h in beam_search(Chart(seed), SOURCE, config)[0]}) == 4


def test_config_refuses_groups_that_do_not_divide() -> None:
    with pytest.raises(ValidationError, match="groups=2 does not divide width=5"):
        BeamConfig(width=5, groups=2)


def network() -> AttentionSeq2Seq:
    torch.manual_seed(0)
    return AttentionSeq2Seq(AttentionSeq2Seq.Config(width=8, embedding_dim=6, attention_width=7), 10, V).eval()


def test_samples_follow_the_models_distribution() -> None:
    """The share of each first word among 4,000 samples stands within four standard errors of its probability."""
    model, M = Chart(3), 4000
    samples = sample_translations(model, SOURCE, SampleConfig(samples=M, max_length=6, seed=5))[0]
    probabilities = model.table[0, BOS].exp()
    first = [h.tokens[0] if h.tokens else EOS for h in samples]
    for v in range(V):
        p = float(probabilities[v])
        assert abs(first.count(v) / M - p) <= 4 * math.sqrt(p * (1 - p) / M)


def test_parity_samples_depend_on_seed_and_sentence_alone() -> None:
    model, config = network(), SampleConfig(samples=3, max_length=12, seed=7, temperature=0.9, top_p=0.95)
    random = np.random.default_rng(0)
    sentences = [np.append(random.integers(4, 10, length), EOS) for length in (5, 1, 9, 3)]
    batched = translate(model, sentences, config, batch_tokens=40)
    for sentence, result in zip(sentences, batched, strict=True):
        (alone,) = translate(model, [sentence], config)
        assert [h.tokens for h in alone] == [h.tokens for h in result]
        for h in result:
            source, target = torch.from_numpy(sentence[None]), torch.tensor([[BOS, *h.tokens, EOS]])
            assert h.log_prob == pytest.approx(float(model.log_probs(source, target).sum()), abs=1e-4)
            assert h.attention is not None
            assert h.attention.shape == (len(h.tokens) + 1, len(sentence))
    other = translate(model, sentences, config.model_copy(update={"seed": 8}))
    assert [[h.tokens for h in row] for row in other] != [[h.tokens for h in row] for row in batched]


def test_parity_sampling_the_likeliest_token_is_greedy_search() -> None:
    model = network()
    sentence = [np.array([4, 9, 5, EOS])]
    (drawn,) = translate(model, sentence, SampleConfig(top_k=1, max_length=9))
    (searched,) = translate(model, sentence, BeamConfig(width=1, min_length=0, max_length=9))
    assert drawn[0].tokens == searched[0].tokens
    assert drawn[0].log_prob == pytest.approx(searched[0].log_prob, abs=1e-5)
