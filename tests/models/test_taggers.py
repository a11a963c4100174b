"""Taggers one by one: HMM and suffixes by hand, parity with CRFsuite, windows, letters, constraints."""

import math
from zlib import crc32

import numpy as np
import pytest
import torch

from langladder.models.tagging.counted_tagger import tag_ids
from langladder.models.tagging.feature_crf import FeatureCRF
from langladder.models.tagging.hmm import HMM, transition_probabilities
from langladder.models.tagging.most_frequent import MostFrequentTag, Suffixes
from langladder.models.tagging.recurrent import RecurrentTagger
from langladder.models.tagging.self_attention import SelfAttentionTagger
from langladder.models.tagging.tagger import allowed_steps
from langladder.models.tagging.tagger_words import TaggerWords, shape_of
from langladder.models.tagging.window import WindowTagger
from langladder.models.tagging.word_features import sentence_features, shape
from langladder.text.labelled.labelled import Tagged, bad_steps


def tagged(*pairs: str) -> list[Tagged]:
    rows = [[pair.rsplit("/", 1) for pair in line.split()] for line in pairs]
    return [Tagged(tuple(w for w, _ in row), tuple(t for _, t in row)) for row in rows]


def fitted(kind, sentences, tags, **settings):
    model = kind(kind.Config.model_validate(settings), tags)
    model.fit(sentences, tag_ids(sentences, tags))
    return model


def test_golden_hmm_viterbi_by_hand():
    """Two tags, two words: steps 0.5 each from the beginning, N→V 0.8, N→N 0.2; can is N 0.3, V 0.7; fish likewise.

    N V: 0.5·0.3·0.8·0.7 = 0.084 beats V V (0.5·0.7·0.3·0.7 = 0.0735), although `can` alone is likelier a V.
    """
    model = HMM(HMM.Config(), ["N", "V"])
    model.words, model.counts = {"can": 0, "fish": 1}, np.array([[3.0, 7.0], [3.0, 7.0]])
    model.suffixes = Suffixes([], np.empty((0, 2)), np.array([0.3, 0.7]))  # the prior leaves the counts' shares alone
    model.steps = np.zeros((3, 3))
    chain = HMM.chain

    def by_hand(self):
        result = chain(self)
        return result._replace(transitions=np.log([[0.2, 0.8], [0.7, 0.3]]), start=np.log([0.5, 0.5]), end=np.zeros(2))

    model.chain = by_hand.__get__(model)
    model.steps[:2, :2] = 1.0  # both tags are equally frequent: P(w | t) ∝ P(t | w)
    assert model.tag([("can", "fish")]) == [["N", "V"]]
    p = np.exp(model.log_probs([("can", "fish")])[0])
    # NN 0.5·0.3·0.2·0.3 = 0.009, NV 0.084, VN 0.5·0.7·0.7·0.3 = 0.0735, VV 0.0735
    assert p == pytest.approx(np.array([[0.093, 0.147], [0.0825, 0.1575]]) / 0.24)


def test_golden_transition_probabilities():
    """n(a, b) = 3, n(b, a) = 1, a begins and b ends: rows sum to 1, and counted steps are likelier than others."""
    steps = np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 2.0], [2.0, 0.0, 0.0]])
    p = transition_probabilities(steps)
    assert p.sum(axis=1) == pytest.approx(np.ones(3))
    # votes for the bigram: a→b (2/2 > 2/7) 3, b→end (1/2 > 1/7) 2, begin→a (1/1 > 2/7) 2; not b→a (0 < 2/7): λ = 7/8
    assert p[0, 1] == pytest.approx(7 / 8 + 1 / 8 * 3.001 / 8.003)
    assert (p > 0).all()


def test_most_frequent_tag_and_its_probability():
    model = fitted(MostFrequentTag, tagged("run/V", "run/V", "run/N", "the/D"), ["D", "N", "V"], prior=1.0)
    guess = model.suffixes.probabilities("run")
    expected = (np.array([0, 1, 2]) + guess) / 4
    assert np.exp(model.log_probs([("run",)])[0][0]) == pytest.approx(expected)
    assert model.tag([("run", "the")]) == [["V", "D"]]


def test_suffixes_predict_tags_of_unknown_words():
    model = fitted(MostFrequentTag, tagged("walking/V talking/V king/N nation/N station/N Paris/P"), ["N", "P", "V"])
    assert model.tag([("singing", "ration", "Doris")]) == [["V", "N", "P"]]
    frequent = fitted(MostFrequentTag, tagged("walking/V talking/V king/N a/V"), ["N", "V"], unknown="frequent")
    assert frequent.tag([("ring",)]) == [["V"]]


def test_golden_suffix_smoothing():
    """Three rare words: ends -s: N twice, -s of V once. θ = std of (N 0.5, V 0.5 …) by the formula."""
    counts = {"cats": np.array([1.0, 0.0]), "dogs": np.array([1.0, 0.0]), "runs": np.array([0.0, 1.0])}
    result = Suffixes.fit(counts)
    prior = np.array([2.001, 1.001]) / 3.002
    theta = prior.std()
    bare = (np.array([2, 1]) / 3 + theta * prior) / (1 + theta)
    s = (np.array([2, 1]) / 3 + theta * bare) / (1 + theta)
    ns = (np.array([0, 1]) + theta * s) / (1 + theta)
    assert result.probabilities("bis") == pytest.approx(s)
    assert result.probabilities("buns")[1] > result.probabilities("bis")[1]
    assert result.table[result.names.index("ans")] == pytest.approx(ns)
    assert result.probabilities("Xyz") == pytest.approx(prior)  # no capitalised word was seen


def test_parity_of_feature_crf_with_crfsuite(tmp_path):
    """Our CRF with CRFsuite's weights has CRFsuite's path and marginals."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    train = tagged("the/D dog/N sleeps/V", "a/D cat/N sees/V the/D dogs/N", "dogs/N sleep/V", "fish/V the/D fish/N")
    tags = ["D", "N", "V"]
    model = fitted(FeatureCRF, train, tags, l1=0.0, iterations=20)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    for item in train:
        trainer.append(sentence_features(item.words), list(item.tags))
    trainer.set_params({"c1": 0.0, "c2": 0.01, "max_iterations": 20})
    trainer.train(str(tmp_path / "model"))
    theirs = pycrfsuite.Tagger()
    theirs.open(str(tmp_path / "model"))
    for words in [item.words for item in train] + [("cats", "see", "a", "Fish")]:
        assert model.tag([words]) == [theirs.tag(sentence_features(words))]
        p = np.exp(model.log_probs([words])[0])
        marginals = [[theirs.marginal(tag, t) for tag in tags] for t in range(len(words))]
        assert p == pytest.approx(np.array(marginals), abs=1e-4)


def test_shapes_and_features():
    assert shape("McDonald's-3") == "XxXx'x-d"
    assert [shape_of(w) for w in ("--", "dog", "Dog", "USA", "iPod", "1990", "3rd", "I")] == [0, 1, 2, 3, 4, 5, 6, 7]
    first, last = sentence_features(["Dogs", "run"])
    assert {"word=Dogs", "suffix=gs", "prefix=do", "lower[+1]=run", "end[-1]", "end[+2]"} <= set(first)
    assert "hyphen" not in last


BIO = ["B-X", "B-Y", "I-X", "I-Y", "O"]
PHRASES = tagged("a/B-X b/I-X c/O", "c/O a/B-Y b/I-Y b/I-Y", "b/B-X a/B-Y c/O b/B-X")


@pytest.mark.parametrize("kind", [HMM, FeatureCRF])
def test_constraints_leave_no_invalid_sequence(kind):
    sentences = [tuple(np.random.default_rng(seed).choice(list("abcd"), size=8)) for seed in range(40)]
    free, bound = (fitted(kind, PHRASES, BIO, constraints=value) for value in (False, True))
    if kind is FeatureCRF:  # weights that want what is forbidden
        free.transitions = bound.transitions = np.random.default_rng(1).normal(0, 3, (5, 5))
    assert all(not bad_steps(row, "IOB2") for row in bound.tag(sentences))
    assert kind is HMM or any(bad_steps(row, "IOB2") for row in free.tag(sentences))
    assert all(np.isfinite(row).any(axis=1).all() for row in bound.log_probs(sentences))


def test_crf_output_of_a_network_leaves_no_invalid_sequence_and_softmax_may():
    words = TaggerWords.of(PHRASES, lowercase=True, digits=True, min_count=1)
    sentences = [tuple(np.random.default_rng(seed).choice(list("abcd"), size=8)) for seed in range(40)]
    invalid = {}
    for output in ("softmax", "crf"):
        torch.manual_seed(3)
        config = RecurrentTagger.Config.model_validate({"embedding_dim": 8, "width": 8, "output": output})
        model = RecurrentTagger(config, *words.sizes, 5).equip(words, BIO)
        with torch.no_grad():
            model.head.weight.mul_(20)
        invalid[output] = sum(bool(bad_steps(row, "IOB2")) for row in model.eval().tag(sentences))
    assert invalid["softmax"] > 0 and invalid["crf"] == 0


def test_allowed_steps_follow_from_the_names():
    assert allowed_steps(["NOUN", "VERB"]) is None
    allowed = allowed_steps(BIO)
    assert not allowed.transitions[4, 2] and allowed.transitions[0, 2] and not allowed.transitions[1, 2]
    assert allowed.start.tolist() == [True, True, False, False, True] and allowed.end.all()


def test_golden_window_by_hand():
    """m = 1, D = 1, averaged: h = HardTanh(x_t + mean of both neighbours), the learned vector outside the sentence."""
    words = TaggerWords.of(tagged("a/N b/V"), lowercase=True, digits=True, min_count=1)
    settings = {"embedding_dim": 1, "width": 1, "window": 1, "combine": "averaged"}
    model = WindowTagger(WindowTagger.Config.model_validate(settings), *words.sizes, 2).equip(words, ["N", "V"])
    with torch.no_grad():
        model.hidden.weight.fill_(1.0)
        model.hidden.bias.zero_()
        model.outside.fill_(0.25)
    x = torch.tensor([[[0.1], [0.3], [9.0]], [[0.2], [-3.0], [0.0]]])
    h = model.read(x, torch.tensor([2, 3]))
    assert h[0, :2, 0].tolist() == pytest.approx([0.1 + (0.25 + 0.3) / 2, 0.3 + (0.1 + 0.25) / 2])
    assert h[1, :, 0].tolist() == pytest.approx([0.2 + (0.25 - 3) / 2, -1.0, (-3.0 + 0.25) / 2], abs=1.0)
    assert h[1, 1, 0] == -1.0


def test_one_direction_reads_no_later_word_and_two_do():
    words = TaggerWords.of(tagged("a/N b/V c/N"), lowercase=True, digits=True, min_count=1)
    for both in (False, True):
        torch.manual_seed(0)
        config = RecurrentTagger.Config.model_validate({"embedding_dim": 6, "width": 6, "bidirectional": both})
        model = RecurrentTagger(config, *words.sizes, 2).equip(words, ["N", "V"]).eval()
        first, second = model.log_probs([("a", "b", "a"), ("a", "b", "c")])
        assert np.allclose(first[:2], second[:2]) != both


def test_golden_self_attention_reads_the_scaled_input_and_its_position():
    """Sublayers that add nothing leave h = LN(√D W x + P); P_1 = (sin 1, cos 1, sin 0.01, cos 0.01)."""
    words = TaggerWords.of(tagged("a/N b/V"), lowercase=True, digits=True, min_count=1)
    settings = {"embedding_dim": 4, "width": 4, "layers": 1, "heads": 2, "layer_dropout": 0.0}
    model = SelfAttentionTagger(SelfAttentionTagger.Config.model_validate(settings), *words.sizes, 2)
    with torch.no_grad():
        model.enter.weight.copy_(torch.eye(4))
        for name, parameter in model.named_parameters():
            if name == "enter.bias" or "output" in name or "contract" in name:
                parameter.zero_()
    x = torch.tensor([[[0.1, 0.2, 0.3, 0.4], [-0.1, 0.0, 0.2, 0.0], [9.0, 9.0, 9.0, 9.0]]])
    h = model.read(x, torch.tensor([2]))
    positions = torch.tensor([[0.0, 1.0, 0.0, 1.0], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]])
    torch.testing.assert_close(h[0, :2], torch.nn.functional.layer_norm(2 * x[0, :2] + positions, (4,), eps=1e-6))


def test_self_attention_knows_the_order_by_its_positions_alone():
    words = TaggerWords.of(tagged("a/N b/V c/N"), lowercase=True, digits=True, min_count=1)
    for positions in ("sinusoidal", "none"):
        torch.manual_seed(0)
        config = SelfAttentionTagger.Config.model_validate({"embedding_dim": 6, "width": 8, "positions": positions})
        model = SelfAttentionTagger(config, *words.sizes, 2).equip(words, ["N", "V"]).eval()
        first, second = model.log_probs([("a", "b", "c"), ("c", "b", "a")])
        assert np.allclose(first, second[::-1], atol=1e-6) == (positions == "none")


def test_hand_made_features_are_added_to_the_output_and_dropped_in_training_alone():
    """f_t = W h_t + b + Σ_m v_m: rows of a table, by a hash that is the same in every process."""
    words = TaggerWords.of(tagged("Ab/N c/V"), lowercase=True, digits=True, min_count=1)
    settings = {"embedding_dim": 4, "width": 4, "features": 1000, "dropout": 0.0, "feature_dropout": 0.5}
    model = RecurrentTagger(RecurrentTagger.Config.model_validate(settings), *words.sizes, 2).equip(words, ["N", "V"])
    batch = model.collate([model.encode(("Ab", "c")), model.encode(("c",))])
    assert batch.features.shape[:2] == (2, 2) and (batch.features[1, 1] == 0).all()
    assert crc32(b"word=Ab") % 1000 + 1 in batch.features[0, 0].tolist()
    model.eval()
    plain = model(batch)
    with torch.no_grad():
        model.features.weight[1:] = torch.randn(1000, 2, generator=torch.Generator().manual_seed(0))
    sums = [model.features.weight[rows[rows > 0]].sum(0) for rows in batch.features.flatten(0, 1)]
    torch.testing.assert_close(model(batch), plain + torch.stack(sums).view(2, 2, 2))
    model.train()
    many = torch.stack([model(batch) for _ in range(2000)])
    torch.testing.assert_close(many.mean(0), model.eval()(batch), atol=0.4, rtol=0.1)
    assert many.std(0)[0].min() > 0.5


def test_words_letters_and_a_word_of_any_length():
    words = TaggerWords.of(tagged("Abc/N 12/V"), lowercase=True, digits=True, min_count=1, more=["vector"])
    assert words.words == ["00", "abc", "vector"] and words.training_words == 2
    batch = words.collate([words.encode(("ABC", "99", "vector", "new")), words.encode(("x" * 1000,))])
    assert batch.tokens[0].tolist() == [5, 4, 6, 1] and batch.learned[0].tolist() == [5, 4, 1, 1]
    assert batch.letters.shape[1] == 32 and math.prod(batch.forms.shape) == 8
    assert words.letters("A") != words.letters("a")


def test_golden_hmm_scores_divide_by_the_tags_own_frequency():
    """log P(w | t) up to a constant: log P(t | w) − log P(t), N in 3 of 4 words and V in 1."""
    model = fitted(HMM, tagged("a/N b/N c/N run/V"), ["N", "V"])
    expected = np.log(model.probabilities("run")) - np.log([3.001 / 4.002, 1.001 / 4.002])
    assert model.scores(["run"])[0] == pytest.approx(expected, abs=1e-3)
