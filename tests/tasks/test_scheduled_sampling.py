"""Scheduled sampling: the inputs of the decoder change, the targets of the loss do not."""

import torch

from langladder.data.translation import PairBatch
from langladder.models.translation.seq2seq import Seq2Seq, Seq2SeqConfig
from langladder.models.translation.transformer import Transformer, TransformerConfig
from langladder.models.translation.translator import Translator
from langladder.tasks.settings import TranslationTraining
from langladder.tasks.translation import TranslationTask, mixed_words
from langladder.text.tokenize.specials import BOS, EOS, PAD

V = 14
BATCH = PairBatch(
    torch.tensor([[5, 6, 7, 8, EOS], [7, 9, EOS, PAD, PAD]]),
    torch.tensor([[BOS, 6, 5, 9, 10, EOS], [BOS, 7, 8, EOS, PAD, PAD]]),
)


def network() -> Translator:
    torch.manual_seed(0)
    return Seq2Seq(Seq2SeqConfig(width=12, embedding_dim=12, dropout=0.5), V, V).train()


def test_nothing_and_everything_replaced() -> None:
    model, target_in = network(), BATCH.target[:, :-1]
    assert torch.equal(mixed_words(model, BATCH, 0.0), target_in)
    mixed = mixed_words(model, BATCH, 1.0)
    special = target_in <= max(PAD, BOS, EOS)
    assert torch.equal(mixed[special], target_in[special])
    assert (mixed[~special] > max(PAD, BOS, EOS)).all()
    assert not torch.equal(mixed, target_in)
    assert model.training  # as before


def test_golden_draws_follow_the_models_own_beginnings() -> None:
    """With certain models the draw is the argmax after what was drawn before, as in greedy decoding."""
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(width=12, layers=1, heads=3, dropout=0.0), V, V).eval()
    assert model.head.bias is not None
    with torch.no_grad():
        model.head.weight.mul_(1000)  # tied: the embeddings grow too
        model.head.bias[[PAD, BOS, EOS]] = -1e9
    mixed = mixed_words(model, BATCH, 1.0)
    greedy = BATCH.target[:1, :1]
    state = model.encode(BATCH.source[:1], BATCH.source[:1] != PAD)
    for _ in range(4):
        log_probs, state, _ = model.step(greedy, state)
        greedy = torch.cat([greedy, log_probs.argmax(1, keepdim=True)], dim=1)
    assert torch.equal(mixed[:1], greedy)


def test_share_rises_with_the_steps_and_the_true_words_stay_the_target() -> None:
    model = network().eval()
    config = TranslationTraining(max_steps=10, scheduled_sampling=1.0, progress=False)
    task = TranslationTask(model, config)
    plain = TranslationTask(model, TranslationTraining(max_steps=10, progress=False)).loss(BATCH)
    torch.testing.assert_close(task.loss(BATCH), plain)  # the first step is teacher forcing
    task.steps_done = 10
    torch.manual_seed(1)
    sampled = task.loss(BATCH)
    torch.manual_seed(1)
    mixed = mixed_words(model, BATCH, 1.0)
    log_probs = model(BATCH.source, mixed).log_softmax(-1)  # (B, T, V)
    following = BATCH.target[:, 1:]
    expected = -log_probs.gather(2, following.unsqueeze(2))[following != PAD].mean()
    torch.testing.assert_close(sampled, expected)
    assert not torch.isclose(sampled, plain)
