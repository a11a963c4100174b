"""The peers of the language models, written as their documentation describes them: plain torch, fp32, one Python loop.

PlainLSTM   pytorch/examples word_language_model: Embedding, nn.LSTM, Linear, CrossEntropyLoss, SGD by hand
PlainGPT    nanoGPT: its model (no biases, exact GELU, tied weights) and its training loop on a CPU
"""

import math
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from langladder.data.batches import StepBatches
from langladder.data.language_modelling import LanguageBatch
from langladder.models.language.recurrent import RecurrentLM


class PlainLSTM(nn.Module):
    """The example's model, without dropout, begun with the weights of ours."""

    def __init__(self, ours: RecurrentLM) -> None:
        super().__init__()
        config = ours.config
        self.encoder = nn.Embedding(ours.vocab_size, config.embedding_dim)
        self.rnn = nn.LSTM(config.embedding_dim, config.width, config.layers)  # time first, as the example has it
        self.decoder = nn.Linear(config.width, ours.vocab_size)
        with torch.no_grad():
            self.encoder.weight.copy_(ours.embedding.weight)
            self.decoder.weight.copy_(ours.head.weight)
            self.decoder.bias.copy_(ours.head.bias)
            for number, layer in enumerate(ours.cell.layers):
                for name, parameter in layer.rnn.named_parameters():
                    getattr(self.rnn, name.replace("_l0", f"_l{number}")).copy_(parameter)

    def forward(self, tokens: torch.Tensor, state: tuple[torch.Tensor, ...] | None) -> tuple[torch.Tensor, ...]:
        """(T, B) → log-probabilities (T · B, V), state."""
        output, state = self.rnn(self.encoder(tokens), state)
        return functional.log_softmax(self.decoder(output).flatten(0, 1), dim=1), state


def train_plain_lstm(
    model: PlainLSTM, batches: StepBatches[LanguageBatch], steps: int, rate: float, clip: float
) -> list[float]:
    """The example's `train()`: the loss of every step."""
    criterion, state, losses = nn.NLLLoss(), None, []
    for step in range(steps):
        batch = batches.train(step)
        state = None if batch.fresh or state is None else tuple(part.detach() for part in state)
        tokens = batch.tokens.T.contiguous()  # (T + 1, B)
        model.zero_grad()
        scores, state = model(tokens[:-1], state)
        loss = criterion(scores, tokens[1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        for parameter in model.parameters():
            parameter.data.add_(parameter.grad, alpha=-rate)
        losses.append(loss.item())
    return losses


class PlainBlock(nn.Module):
    """nanoGPT's Block: attention through torch's fused kernel, MLP, both pre-norm, no biases."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = (nn.LayerNorm(width, bias=False) for _ in range(2))
        self.c_attn = nn.Linear(width, 3 * width, bias=False)
        self.attn_proj, self.heads = nn.Linear(width, width, bias=False), heads
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)
        self.gelu, self.dropout = nn.GELU(), nn.Dropout(0.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, D) → (B, T, D)."""
        B, T, D = x.shape
        parts = self.c_attn(self.ln_1(x)).split(D, dim=2)
        q, k, v = (part.view(B, T, self.heads, D // self.heads).transpose(1, 2) for part in parts)
        y = functional.scaled_dot_product_attention(q, k, v, dropout_p=0.0, is_causal=True)
        x = x + self.dropout(self.attn_proj(y.transpose(1, 2).contiguous().view(B, T, D)))
        return x + self.dropout(self.mlp_proj(self.gelu(self.c_fc(self.ln_2(x)))))


class PlainGPT(nn.Module):
    """nanoGPT's GPT."""

    def __init__(self, *, vocab_size: int, context: int, width: int, layers: int, heads: int) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, width), nn.Embedding(context, width)
        self.drop, self.ln_f = nn.Dropout(0.0), nn.LayerNorm(width, bias=False)
        self.h = nn.ModuleList(PlainBlock(width, heads) for _ in range(layers))
        self.lm_head = nn.Linear(width, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        for name, parameter in self.named_parameters():
            if parameter.dim() >= 2:
                nn.init.normal_(parameter, std=0.02 / math.sqrt(2 * layers) if "proj" in name else 0.02)

    def forward(self, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """(B, T), (B, T) → mean cross-entropy."""
        positions = torch.arange(tokens.shape[1])
        x = self.drop(self.wte(tokens) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1), ignore_index=-1)


def train_plain_gpt(
    model: PlainGPT, batch: Callable[[int], torch.Tensor], steps: int, rate: Callable[[int], float]
) -> list[float]:
    """nanoGPT's loop for characters on a CPU: AdamW (not fused there), β₂ .99, decay .1 of matrices, clipping at 1.

    Args:
        batch: of a step, (B, T + 1).
        rate: of a step.
    """
    groups = [
        {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": 0.1},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.99))
    losses = []
    tokens = batch(0)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(step)
        loss = model(tokens[:, :-1], tokens[:, 1:])
        tokens = batch(step + 1)  # fetched, as there, while the device works
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
    return losses
