"""Why a reward model that reads the last state is weak: what else it could read, from the same body and the same pairs.

    python benchmarks/reward_states.py models/instruct/sft data/preferences/sft

    likelihood    Σ log P of the answer under the body, nothing trained
    last          w · h_T, InstructGPT's form (Ouyang et al. 2022)
    states        Σ_t f(h_t) over the answer's tokens
    pairs         Σ_t f(h_{t−1}, e_{y_t}): the state that predicts a token, and the token that came
    layers        as `last`, with two fresh layers on top of the body

f is a network of one hidden layer. All but `likelihood` and `last` train what they add; `last` and `layers` also train
the body, the others do with --train-body. Prints the share of the pairs in order, of the test and of the first 1,000
training prompts, and of test pairs that differ in one token.
"""

import argparse
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from torch import nn

from langladder.data.instructions import RankedRows, RankingBatches, ranking_batch, ranking_rows
from langladder.models.reward import RewardModel, begin_reward, pairwise_loss
from langladder.text.labelled.instructions import read_rankings
from langladder.text.labelled.templates import ChatTemplate
from langladder.text.tokenize.specials import PAD

KINDS = ("likelihood", "last", "states", "pairs", "layers")
BATCH, LR, WARM_UP = 32, 0.001, 100


class Reader(nn.Module):
    """A reward from what one of `KINDS` reads: rows (R, T) → (R,)."""

    def __init__(self, kind: str, base: Path, *, train_body: bool) -> None:
        super().__init__()
        config = RewardModel.Config.model_validate({"likelihood": kind == "likelihood"})
        self.kind, self.reward = kind, begin_reward(SimpleNamespace(name=kind, model=config), base, seed=1)
        D = self.reward.gpt.config.width
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(D, 4, 4 * D, 0.0, "gelu", batch_first=True, norm_first=True)
            for _ in range(2 * (kind == "layers"))
        )
        self.f = nn.Sequential(nn.Linear(D * (1 + (kind == "pairs")), 256), nn.GELU(), nn.Linear(256, 1))
        if kind == "likelihood":
            nn.init.zeros_(self.reward.head.weight)
        if not (train_body or kind in ("last", "layers")):
            self.reward.gpt.requires_grad_(False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        rewards: torch.Tensor
        if self.kind in ("likelihood", "last"):
            rewards = self.reward(tokens)
            return rewards
        gpt, T = self.reward.gpt, tokens.shape[1]
        packed, layout = gpt.packed(tokens)
        h, real = layout.spread(packed), tokens != PAD  # (R, T, D)
        if self.kind == "layers":
            mask = nn.Transformer.generate_square_subsequent_mask(T)
            for layer in self.layers:
                h = layer(h, src_mask=mask, is_causal=True)
            last = nn.functional.layer_norm(h[torch.arange(len(h)), real.sum(dim=1) - 1], h.shape[-1:])
            rewards = self.reward.head(last)[:, 0]
            return rewards
        places = torch.arange(T)
        begins = torch.where(tokens == gpt.markers.assistant, places, 0).amax(dim=1, keepdim=True)
        if self.kind == "pairs":
            h = torch.cat([h.roll(1, dims=1), gpt.embedding(tokens) * gpt.embedding_scale], dim=-1)
        rewards = (self.f(h)[..., 0] * (real & (places > begins))).sum(dim=1)
        return rewards


@torch.no_grad()
def in_order(reader: Reader, rows: list[RankedRows]) -> np.ndarray:
    """Of each pair whether the better answer has the higher reward."""
    found = []
    for first in range(0, len(rows), 64):
        batch = ranking_batch(rows[first : first + 64])
        rewards = reader(batch.tokens)
        found.append((rewards[batch.better] > rewards[batch.worse]).numpy())
    return np.concatenate(found)


def one_token_apart(rows: list[RankedRows]) -> np.ndarray:
    """Of each pair whether its answers have one different token."""
    pairs = [(one.rows[better], one.rows[worse]) for one in rows for better, worse in one.pairs]
    return np.array([len(a) == len(b) and int((a != b).sum()) == 1 for a, b in pairs])


def train(reader: Reader, rows: list[RankedRows], validation: list[RankedRows], epochs: int) -> None:
    """AdamW with warm-up and a cosine; the weights of the highest accuracy on the validation pairs."""
    torch.manual_seed(1)
    steps, best = epochs * math.ceil(len(rows) / BATCH), (-1.0, reader.state_dict())
    optimizer = torch.optim.AdamW([p for p in reader.parameters() if p.requires_grad], betas=(0.9, 0.98))
    batches = RankingBatches(rows, validation, batch_size=BATCH, seed=1)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = LR * min((step + 1) / WARM_UP, (1 + math.cos(math.pi * step / steps)) / 2)
        batch = batches.train(step)
        optimizer.zero_grad()
        pairwise_loss(reader(batch.tokens), batch.better, batch.worse, batch.weights).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        if (step + 1) % max(1, steps // 8) == 0 or step + 1 == steps:
            accuracy = float(in_order(reader, validation).mean())
            if accuracy > best[0]:
                best = accuracy, {name: tensor.clone() for name, tensor in reader.state_dict().items()}
    reader.load_state_dict(best[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=Path)
    parser.add_argument("rankings", type=Path)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--share", type=float, default=1.0, help="of the training prompts")
    parser.add_argument("--train-body", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for kind in arguments.kinds:
        reader = Reader(kind, arguments.base, train_body=arguments.train_body)
        template, context = ChatTemplate(reader.reward.tokenizer), reader.reward.context
        sides = {
            name: ranking_rows(
                template,
                read_rankings(arguments.rankings / f"{name}.parquet"),
                context,
                too_long="leave_out",
                split=name,
            )
            for name in ("train", "validation", "test")
        }
        rows = sides["train"][: round(len(sides["train"]) * arguments.share)]
        if kind != "likelihood":
            train(reader, rows, sides["validation"], arguments.epochs)
        right = in_order(reader, sides["test"])
        single = right[one_token_apart(sides["test"])]
        trained = in_order(reader, sides["train"][:1000])
        print(
            f"{kind}: {len(rows):,} prompts, {sum(len(one.pairs) for one in rows):,} pairs: test {right.mean():.1%}, "
            f"train {trained.mean():.1%}, {len(single):,} test pairs one token apart {single.mean():.1%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
