"""What every language model must do, for every file in conf/lm: a new YAML is tested without a new test.

Counted models are fitted to the test's documents; networks keep their first weights, made larger. Both go through the
one door: probabilities sum to 1, the future and padding change nothing, reading on equals reading anew, saving keeps
everything. Networks also: shapes, a gradient for every parameter, two batches learnt by heart.
"""

from pathlib import Path

import numpy as np
import pytest
import torch

from langladder.ground.errors import InputError
from langladder.models.language.counted import CountedLanguageModel
from langladder.models.language.gpt import GPT
from langladder.models.language.language_model import LanguageModel, predicted
from langladder.models.language.neural import NeuralLanguageModel
from langladder.models.language.nnlm import NNLM
from langladder.models.language.recurrent import RecurrentLM
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS, PAD
from tests.bf16 import check_training
from tests.models.rungs import classes, models

V = 29
# What no rung has, and what rungs cut short: windows that slide, widths that differ.
MORE: dict[str, tuple[type[LanguageModel], dict[str, object]]] = {
    "GPT, sliding": (GPT, {"context": 8, "width": 12, "layers": 2, "heads": 3, "dropout": 0.2}),
    "GPT, sinusoidal, untied": (
        GPT,
        {"context": 16, "width": 12, "layers": 1, "heads": 2, "positions": "sinusoidal", "tie_weights": False},
    ),
    "GPT, everything else": (
        GPT,
        {"context": 16, "width": 12, "layers": 2, "heads": 2, "norm": "post", "positions": "none", "sparse_window": 3},
    ),
    "GPT, no residuals": (GPT, {"context": 10, "width": 12, "layers": 1, "heads": 2, "residual": False}),
    "GRU, untied, bridged": (RecurrentLM, {"cell": "gru", "width": 12, "embedding_dim": 8, "tie_weights": False}),
    "layer norm GRU": (RecurrentLM, {"cell": "gru", "width": 12, "embedding_dim": 8, "layer_norm": True, "layers": 2}),
    "GRU, noise, mask of the state, learnt start": (
        RecurrentLM,
        {
            "cell": "gru",
            "width": 12,
            "embedding_dim": 8,
            "recurrent_dropout": 0.3,
            "weight_noise": 0.1,
            "input_noise": 0.1,
            "learn_start": True,
        },
    ),
    "GPT, rows of documents": (GPT, {"context": 10, "width": 12, "layers": 2, "heads": 2, "rows": "documents"}),
    "LSTM, rows of documents": (RecurrentLM, {"cell": "lstm", "width": 12, "embedding_dim": 12, "rows": "documents"}),
    "NNLM, sum": (NNLM, {"combine": "sum", "window": 3, "embedding_dim": 12, "width": 9, "tie_weights": True}),
}


MODELS: dict[str, type[LanguageModel]] = classes("lm") | {name: kind for name, (kind, _) in MORE.items()}
NETWORKS = [name for name, kind in MODELS.items() if issubclass(kind, NeuralLanguageModel)]
every_model = pytest.mark.parametrize("name", MODELS)
every_network = pytest.mark.parametrize("name", NETWORKS)


def documents(rows: int, lines: int, words: int) -> torch.Tensor:
    """(rows, lines · (words + 2)) int64 made of BOS … EOS lines."""
    inner = torch.randint(4, V, (rows, lines, words), generator=torch.Generator().manual_seed(0))
    first, last = torch.full((rows, lines, 1), BOS), torch.full((rows, lines, 1), EOS)
    return torch.cat([first, inner, last], dim=2).flatten(1)


STREAM = documents(1, 40, 6)[0]


def build(name: str) -> LanguageModel:
    """The model, fitted where it counts; a network in evaluation mode."""
    kind = MODELS[name]
    torch.manual_seed(1)
    model = kind(kind.Config.model_validate(MORE[name][1]) if name in MORE else models("lm")[name], V)
    stream = TokenStream(STREAM.numpy().astype(np.int32), np.array([0, len(STREAM)]))
    if isinstance(model, CountedLanguageModel):
        model.fit(stream)
        return model
    assert isinstance(model, NeuralLanguageModel)
    model.prepare(stream)
    with torch.no_grad():  # larger than they begin, so that every test sees outputs that differ
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model.eval()


def network(name: str) -> NeuralLanguageModel:
    model = build(name)
    assert isinstance(model, NeuralLanguageModel)
    return model


@every_model
def test_probabilities_sum_to_one_and_agree(name):
    """`log_probs`, `next_log_probs` and `advance` say the same; given tokens score 0."""
    model, tokens = build(name), STREAM[:24].view(3, 8)
    scores = model.log_probs(tokens)
    assert scores.shape == tokens.shape and scores.dtype == torch.float32
    assert (scores[~predicted(tokens)] == 0).all() and (scores[predicted(tokens)] <= 0).all()
    state = None
    for t in range(1, tokens.shape[1]):
        following = model.next_log_probs(tokens[:, :t])
        torch.testing.assert_close(following.exp().sum(dim=1), torch.ones(3))
        torch.testing.assert_close(following.gather(1, tokens[:, t : t + 1])[:, 0], scores[:, t])
        stepped, state = model.advance(tokens[:, t - 1 : t], state)
        torch.testing.assert_close(stepped, following)


@every_model
def test_advance_by_several_tokens(name):
    model = build(name)
    tokens = torch.tensor([model.as_read(row)[:14] for row in STREAM[:32].view(2, 16).tolist()])
    _, state = model.advance(tokens[:, :3])
    stepped, _ = model.advance(tokens[:, 3:13], state)
    torch.testing.assert_close(stepped, model.next_log_probs(tokens[:, :13]))


@every_model
def test_causal_future_changes_nothing(name):
    model, tokens = build(name), STREAM[:48].view(2, 24)
    changed = tokens.clone()
    changed[:, 12:14] = torch.where(changed[:, 12:14] == 5, 6, 5)
    before, after = model.log_probs(tokens), model.log_probs(changed)
    torch.testing.assert_close(before[:, :12], after[:, :12])
    assert not torch.allclose(before[:, 12:], after[:, 12:])


@every_model
def test_padding_changes_nothing(name):
    model, short, long = build(name), STREAM[:16][None], STREAM[:40][None]
    batch = torch.full((2, 40), PAD)
    batch[0, :16], batch[1] = short[0], long[0]
    batched = model.log_probs(batch)
    torch.testing.assert_close(batched[:1, :16], model.log_probs(short))
    torch.testing.assert_close(batched[1:], model.log_probs(long))
    assert (batched[0, 16:] == 0).all()
    torch.testing.assert_close(model.next_log_probs(batch)[:1], model.next_log_probs(short))


@every_model
def test_save_load_roundtrip(name, tmp_path: Path):
    model, tokens = build(name), STREAM[:32].view(2, 16)
    model.save(tmp_path / "model")
    loaded = LanguageModel.load(tmp_path / "model")
    assert type(loaded) is type(model) and loaded.config == model.config
    assert torch.equal(loaded.log_probs(tokens), model.log_probs(tokens))
    assert loaded.number_of_parameters() == model.number_of_parameters() > 0
    loaded.save(tmp_path / "again")
    for file in ("model.safetensors", "config.json"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "model" / file).read_bytes()


@every_model
def test_bad_tokens_are_named(name):
    model = build(name)
    with pytest.raises(InputError, match=rf"ids 2\.\.{V}"):
        model.log_probs(torch.tensor([[BOS, V]]))
    with pytest.raises(InputError, match="begins with BOS"):
        model.log_probs(torch.tensor([[5, 6]]))
    with pytest.raises(InputError, match="expected"):
        model.log_probs(torch.tensor([BOS, 5]))


@every_network
def test_shape_and_gradient_of_every_parameter(name):
    model, tokens = network(name).train(), documents(8, 2, 6)
    assert model.number_of_parameters() == sum(parameter.numel() for parameter in model.parameters())
    length = min(15, model.context or 15)
    hidden, _ = model(tokens[:, :length])
    assert hidden.shape == (8, length, model.head.width) and hidden.isfinite().all()
    model.loss(hidden, tokens[:, 1 : length + 1]).backward()
    for parameter_name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, parameter_name
        assert parameter.grad.isfinite().all(), parameter_name
    assert model.training
    model.log_probs(tokens[:1])
    assert model.training  # scoring leaves the mode as it was


@every_network
def test_trains_in_bf16(name):
    model, tokens = network(name), documents(8, 2, 6)
    tokens = tokens[:, : min(16, (model.context or 15) + 1)]
    check_training(model, lambda: model.loss(model(tokens[:, :-1])[0], tokens[:, 1:]))


@every_network
def test_overfit_two_batches(name):
    model = network(name)  # evaluation mode: without dropout
    batches = documents(4, 1, 6).split(2)
    lr = 0.01 if "experts" in name else 0.02  # large steps make a token change its experts, which then start anew
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.05, total_iters=40)  # post-norm needs it

    def learnt() -> bool:  # the first word of each line stays a guess between four
        return bool(-torch.cat([model.log_probs(batch)[:, 1:] for batch in batches]).mean() < 0.5)

    for step in range(100):
        if step % 20 == 0 and learnt():
            break
        batch = batches[step % 2]
        loss = model.loss(model(batch[:, :-1])[0], batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        warmup.step()
    assert learnt()
