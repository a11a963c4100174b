"""Search errors and model errors: a search that is made to fail, a model that is wrong, and a page of figures."""

import math

import numpy as np
import pytest
import torch

from langladder.decoding.beam_search import BeamConfig, Hypothesis
from langladder.decoding.translate import translate
from langladder.evaluation.translation import (
    Sentence,
    TranslatorPage,
    by_width,
    evaluate_translator,
    evenly,
    find_search_errors,
    reference_log_probs,
)
from langladder.ground.errors import InputError
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.translation.translator import State, Translator
from langladder.nn.output import SoftmaxOutput
from langladder.text.tokenize.specials import BOS, EOS, PAD
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig

A, B = 4, 5
V = 6


class Misleading(Translator):
    """P(a) = .5, P(b) = .4, P(EOS) = .1; then P(EOS | a) = .4, P(EOS | b) = .9: greedy search takes a, b is better."""

    def __init__(self) -> None:
        super().__init__(AttentionSeq2Seq.Config(), 10, V)
        table = torch.zeros(V, V)
        table[BOS, [A, B, EOS]] = torch.tensor([0.5, 0.4, 0.1])
        table[A, [EOS, A]] = torch.tensor([0.4, 0.6])
        table[B, [EOS, B]] = torch.tensor([0.9, 0.1])
        self.table = table.log()
        self.head = SoftmaxOutput(width=V, vocab_size=V, bias=False)
        with torch.no_grad():
            self.head.weight.copy_(torch.eye(V))

    def encode(self, source: torch.Tensor, mask: torch.Tensor) -> State:
        return State({"mask": mask, "source": source}, {})

    def step(self, prefix: torch.Tensor, state: State) -> tuple[torch.Tensor, State, None]:
        return self.table[prefix[:, -1]], state, None

    def hidden(self, source: torch.Tensor, target_in: torch.Tensor) -> torch.Tensor:
        del source
        return self.table.clamp(min=-1e4)[target_in]


def sentence(*target: int, reference: str) -> Sentence:
    return Sentence(np.array([A, EOS]), np.array([BOS, *target, EOS]), "x", reference)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """The words a (4) and b (5)."""
    return train_tokenizer(["a a b"], TokenizerConfig(kind="word", vocab_size=None))


SENTENCES = [
    sentence(B, reference="b"),  # greedy search misses what the model prefers
    sentence(A, reference="a"),  # greedy search is right
    sentence(B, B, reference="b b"),  # .4 · .1 · .9: the model itself prefers its output
]


def test_golden_probabilities_of_references() -> None:
    result = reference_log_probs(Misleading(), [(s.source, s.target) for s in SENTENCES])
    assert np.exp(result) == pytest.approx([0.36, 0.20, 0.036], abs=1e-6)
    with pytest.raises(InputError, match=r"reference 0: BOS … EOS with ids in 0\.\.5"):
        reference_log_probs(Misleading(), [(SENTENCES[0].source, np.array([BOS, 77, EOS]))])


def test_golden_the_division(tokenizer: Tokenizer) -> None:
    model, config = Misleading(), BeamConfig(width=1, max_length=1)
    result = [hypotheses[0] for hypotheses in translate(model, [s.source for s in SENTENCES], config)]
    outputs = [tokenizer.decode(hypothesis.tokens) for hypothesis in result]
    assert outputs == ["a", "a", "a"]
    log_probs = reference_log_probs(model, [(s.source, s.target) for s in SENTENCES])
    errors = find_search_errors(outputs, result, SENTENCES, log_probs, config)
    assert (errors.sentences, errors.wrong, errors.search, errors.model) == (3, 2, 1, 1)
    assert errors.share == 0.5


def test_golden_both_sides_are_normalised_alike() -> None:
    """−2.0 for 2 tokens against −3.2 for 4: the longer reference wins at α = 0.7 and loses at α = 0."""
    result, reference = [Hypothesis([A], -2.0, 0.0)], [sentence(A, A, A, reference="a a a")]
    for alpha, search in ((0.0, 0), (0.7, 1), (1.0, 1)):
        errors = find_search_errors(["a"], result, reference, np.array([-3.2]), BeamConfig(alpha=alpha))
        assert (errors.search, errors.model) == (search, 1 - search)
    same = find_search_errors(["a"], result, [sentence(A, reference="b")], np.array([-2.0]), BeamConfig())
    assert (same.search, same.model) == (0, 1)  # of equal scores none is better: no fault of the search


def test_nothing_wrong_has_no_share() -> None:
    result = [Hypothesis([A], -1.0, -1.0)]
    errors = find_search_errors(["a"], result, [sentence(A, reference="a")], np.array([-1.0]), BeamConfig())
    assert errors.share is None
    assert errors.model_dump() == {"sentences": 1, "wrong": 0, "search": 0, "model": 0, "share": None}


def test_a_wider_beam_mends_search_errors_only(tokenizer: Tokenizer) -> None:
    results = by_width(Misleading(), SENTENCES, tokenizer, BeamConfig(max_length=1), [1, 2])
    assert [(r.width, r.errors.search, r.errors.model) for r in results] == [(1, 1, 1), (2, 0, 2)]
    assert results[1].mean_score > results[0].mean_score
    assert all(result.seconds > 0 and "seconds" not in result.model_dump() for result in results)


def test_the_page_of_a_translator(tokenizer: Tokenizer) -> None:
    config = BeamConfig(width=2, max_length=1)
    page = evaluate_translator(Misleading(), SENTENCES, (tokenizer, tokenizer), config, name="m", n_best=5)
    assert page.search_errors.model_dump() == {"sentences": 3, "wrong": 2, "search": 0, "model": 2, "share": 0.0}
    assert page.outputs == ["b", "b", "b"]
    assert page.scores.ter == pytest.approx(50.0)  # one replaced, one inserted, of four words
    example = page.examples[0]
    assert example.attention is None
    assert [other.output for other in example.n_best] == ["b", "a"]
    assert example.n_best[0].log_prob == pytest.approx(math.log(0.36), abs=1e-4)
    again = evaluate_translator(Misleading(), SENTENCES, (tokenizer, tokenizer), config, name="m", n_best=5)
    assert page == again and TranslatorPage.model_validate_json(page.model_dump_json()) == page


def test_spread_takes_both_ends() -> None:
    many = [sentence(A, reference=str(i)) for i in range(10)]
    assert [s.reference for s in evenly(many, 4)] == ["0", "3", "6", "9"]
    assert [s.reference for s in evenly(many, 99)] == [str(i) for i in range(10)]
    assert evenly([], 3) == []


def test_parity_of_batched_and_single_references() -> None:
    torch.manual_seed(0)
    model = AttentionSeq2Seq(AttentionSeq2Seq.Config(width=8, embedding_dim=6, attention_width=7), 10, 10).train()
    random = np.random.default_rng(0)
    pairs = [
        (np.append(random.integers(4, 10, s), EOS), np.array([BOS, *random.integers(4, 10, t), EOS]))
        for s, t in ((5, 2), (1, 9), (7, 7), (0, 0))
    ]
    batched = reference_log_probs(model, pairs, batch_tokens=24)
    assert model.training
    for (source, target), log_prob in zip(pairs, batched.tolist(), strict=True):
        assert PAD not in target
        alone = model.eval().log_probs(torch.from_numpy(source[None]), torch.from_numpy(target[None])).sum()
        assert log_prob == pytest.approx(float(alone), abs=1e-4)
