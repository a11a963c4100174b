"""What every neural language model must do. A new one is covered by a line in MODELS."""

from pathlib import Path

import pytest
import torch

from langladder.errors import InputError
from langladder.models.base import LanguageModel, predicted
from langladder.models.gpt import GPT
from langladder.models.neural import NeuralLanguageModel
from langladder.models.recurrent import RecurrentLM
from langladder.text.specials import BOS, EOS, PAD

V = 23
MODELS: list[tuple[type[LanguageModel], dict[str, object]]] = [
    (RecurrentLM, {"cell": "lstm", "width": 12, "embedding_dim": 12, "dropout": 0.2}),
    (RecurrentLM, {"cell": "lstm", "width": 12, "embedding_dim": 8, "layers": 2, "dropout": 0.2}),
    (RecurrentLM, {"cell": "gru", "width": 12, "embedding_dim": 8, "tie_weights": False}),
    (RecurrentLM, {"cell": "rnn", "width": 12, "embedding_dim": 12}),
    (GPT, {"context": 8, "width": 12, "layers": 2, "heads": 3, "dropout": 0.2}),
    (GPT, {"context": 16, "width": 12, "layers": 1, "heads": 2, "positions": "sinusoidal", "tie_weights": False}),
]
every_model = pytest.mark.parametrize(("kind", "settings"), MODELS, ids=lambda x: getattr(x, "__name__", None))


def build(kind: type[LanguageModel], settings: dict[str, object]) -> NeuralLanguageModel:
    torch.manual_seed(1)
    model = kind(kind.Config.model_validate(settings), V)
    assert isinstance(model, NeuralLanguageModel)
    with torch.no_grad():  # larger than they begin, so that every test sees outputs that differ
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def documents(rows: int, lines: int, words: int) -> torch.Tensor:
    """(rows, lines · (words + 2)) int64 made of BOS … EOS lines."""
    inner = torch.randint(4, V, (rows, lines, words), generator=torch.Generator().manual_seed(0))
    first, last = torch.full((rows, lines, 1), BOS), torch.full((rows, lines, 1), EOS)
    return torch.cat([first, inner, last], dim=2).flatten(1)


@every_model
def test_shape_and_given_tokens(kind, settings):
    model, tokens = build(kind, settings), documents(3, 4, 5)
    scores = model.log_probs(tokens)
    assert scores.shape == tokens.shape and scores.dtype == torch.float32
    assert (scores[~predicted(tokens)] == 0).all() and (scores[predicted(tokens)] < 0).all()
    hidden, _ = model(tokens[:, :7])
    assert hidden.shape == (3, 7, model.head.weight.shape[1])
    assert model.training and not hidden.isnan().any()


@every_model
def test_next_log_probs_normalise_and_agree_with_log_probs(kind, settings):
    model, tokens = build(kind, settings), documents(3, 1, 5)
    scores = model.log_probs(tokens)
    for t in range(1, tokens.shape[1]):
        following = model.next_log_probs(tokens[:, :t])
        torch.testing.assert_close(following.exp().sum(dim=1), torch.ones(3))
        torch.testing.assert_close(following.gather(1, tokens[:, t : t + 1])[:, 0], scores[:, t])


@every_model
def test_advance_equals_next_log_probs(kind, settings):
    model, tokens = build(kind, settings), documents(2, 2, 5)
    _, state = model.advance(tokens[:, :3])
    stepped, _ = model.advance(tokens[:, 3:11], state)
    torch.testing.assert_close(stepped, model.next_log_probs(tokens[:, :11]))


@every_model
def test_causal_future_changes_nothing(kind, settings):
    model, tokens = build(kind, settings), documents(2, 3, 5)
    changed = tokens.clone()
    changed[:, 12:14] = torch.where(changed[:, 12:14] == 5, 6, 5)
    torch.testing.assert_close(model.log_probs(tokens)[:, :12], model.log_probs(changed)[:, :12])
    assert not torch.allclose(model.log_probs(tokens)[:, 12:], model.log_probs(changed)[:, 12:])


@every_model
def test_padding_changes_nothing(kind, settings):
    model, tokens = build(kind, settings), documents(1, 3, 4)
    long = documents(1, 6, 4)
    batch = torch.full((2, long.shape[1]), PAD)
    batch[0, : tokens.shape[1]], batch[1] = tokens[0], long[0]
    together = model.log_probs(batch)
    torch.testing.assert_close(together[:1, : tokens.shape[1]], model.log_probs(tokens))
    torch.testing.assert_close(together[1:], model.log_probs(long))
    assert (together[0, tokens.shape[1] :] == 0).all()
    torch.testing.assert_close(model.next_log_probs(batch)[:1], model.next_log_probs(tokens))


@every_model
def test_gradient_reaches_every_parameter(kind, settings):
    model, tokens = build(kind, settings), documents(4, 2, 7)
    length = min(16, model.context or 16)
    model.loss(model(tokens[:, :length])[0], tokens[:, 1 : length + 1]).backward()
    for name, parameter in model.named_parameters():
        used = parameter if name != "position" else parameter[:length]
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
        assert used.isfinite().all()


@every_model
def test_overfit_two_batches(kind, settings):
    model = build(kind, {**settings, **({"dropout": 0.0} if "dropout" in settings else {})})
    batches = documents(4, 1, 6).split(2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for step in range(150):
        batch = batches[step % 2]
        loss = model.loss(model(batch[:, :-1])[0], batch[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.5  # the first word of each line stays a guess between two


@every_model
def test_save_load_roundtrip(kind, settings, tmp_path: Path):
    model, tokens = build(kind, settings), documents(2, 2, 5)
    model.save(tmp_path / "model")
    loaded = LanguageModel.load(tmp_path / "model")
    assert type(loaded) is kind and loaded.config == model.config
    assert torch.equal(loaded.log_probs(tokens), model.log_probs(tokens))
    assert loaded.number_of_parameters() == sum(p.numel() for p in model.parameters())
    loaded.save(tmp_path / "again")
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "again" / name).read_bytes() == (tmp_path / "model" / name).read_bytes()


@every_model
def test_bad_tokens_are_named(kind, settings):
    model = build(kind, settings)
    with pytest.raises(InputError, match=r"ids 2\.\.23"):
        model.log_probs(torch.tensor([[BOS, V]]))
    with pytest.raises(InputError, match="begins with BOS"):
        model.log_probs(torch.tensor([[5, 6]]))
    with pytest.raises(InputError, match="expected"):
        model.log_probs(torch.tensor([BOS, 5]))


@pytest.mark.parametrize("context", [2, 3, 7, 8])
def test_windows_score_each_token_once_with_half_a_window(context):
    """A model whose score tells how many tokens it saw before the scored one."""

    class Count(torch.nn.Module):
        calls = 0

        def target_log_probs(self, hidden, targets):
            self.calls += len(targets)
            return hidden[:, 0]

    class Seen(NeuralLanguageModel):
        def __init__(self) -> None:
            super().__init__(GPT.Config(), V)
            self.context, self.head = context, Count()

        def forward(self, tokens, state=None):  # noqa: ARG002
            assert tokens.shape[1] <= context
            return torch.arange(1.0, tokens.shape[1] + 1).expand(tokens.shape)[..., None], None

    model, tokens = Seen(), documents(2, 6, 3)
    tokens[1, 17:] = PAD
    seen = model.log_probs(tokens)
    keep = predicted(tokens)
    assert model.head.calls == keep.sum() and (seen[~keep] == 0).all()
    position = torch.arange(tokens.shape[1]).expand(tokens.shape)[keep]
    assert (seen[keep] >= torch.minimum(position, torch.tensor((context + 1) // 2))).all()
    assert (seen[keep] <= torch.minimum(position, torch.tensor(context))).all()


def test_state_is_carried_across_chunks(monkeypatch):
    model, tokens = build(*MODELS[1]), documents(2, 5, 5)
    whole = model.log_probs(tokens)
    monkeypatch.setattr("langladder.models.neural.CHUNK", 4)
    torch.testing.assert_close(model.log_probs(tokens), whole)


def test_load_refuses_what_does_not_fit(tmp_path: Path):
    model = build(*MODELS[0])
    model.save(tmp_path / "m")
    path = tmp_path / "m" / "config.json"
    text = path.read_text()
    with pytest.raises(InputError, match="not a GPT"):
        GPT.load(tmp_path / "m")
    path.write_text(text.replace('"format": 1', '"format": 99'))
    with pytest.raises(InputError, match="format 99"):
        LanguageModel.load(tmp_path / "m")
    path.write_text(text.replace('"width": 12', '"width": 13'))
    with pytest.raises(InputError, match="do not fit"):
        LanguageModel.load(tmp_path / "m")
    path.write_text(text.replace("langladder.models.recurrent.RecurrentLM", "os.system"))
    with pytest.raises(InputError, match="not a class of langladder"):
        LanguageModel.load(tmp_path / "m")


def test_configs_refuse_impossible_combinations():
    with pytest.raises(ValueError, match=r"width=10 is not divisible by heads=3"):
        GPT.Config(width=10, heads=3)
    with pytest.raises(ValueError, match="predicts the next word"):
        RecurrentLM.Config(bidirectional=True)
    with pytest.raises(ValueError, match="layers"):
        RecurrentLM.Config(layers=5)
