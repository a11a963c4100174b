"""Learning from preferences: PPO steps beside `trl` or a plain loop, reward models beside one pair a forward pass.

    .venv-peers/bin/python benchmarks/instruction.py ppo --threads 1 [--peer trl]      # trl 0.11, or transformers alone
    python benchmarks/instruction.py reward --threads 1

ppo: a step is a rollout (answers drawn, their log-probabilities, values, those of the reference), rewards that cost
nothing, and two passes in two minibatches with AdamW. One body with a value head on it, as `trl` has it; GPT-2's form,
fresh weights but for EOS, which ends an answer after 8 tokens in the mean, 24 at most. The plain loop generates with
`transformers`, padded on the left, and computes the same equations on padded rows.

reward: updates on rankings of four answers. Theirs goes through the six pairs of each, two rows a pass.

All in float32 on the same threads, processor time, rounds alternate, medians of the paired ratios.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import torch
from measure import machine, markdown, threads, verdict

from langladder.data.batches import StepBatches
from langladder.data.instructions import RankedRows, RankingBatches, ranking_batch
from langladder.data.prompts import RolloutBatches
from langladder.decoding.rollouts import Prompts, Response
from langladder.models.language.gpt import GPTConfig
from langladder.models.language.instructed import InstructedGPT
from langladder.models.making import Run
from langladder.models.reward import RewardConfig, RewardModel, pairwise_loss
from langladder.tasks.policy.equations import (
    clipped_surrogate,
    clipped_value_loss,
    gae,
    token_mean,
    token_rewards,
    whiten,
)
from langladder.tasks.policy.ppo import PPO, make_critic
from langladder.tasks.policy.settings import PPOTraining
from langladder.tasks.reward import RewardModelling
from langladder.tasks.settings import RewardTraining
from langladder.tasks.training import train_task
from langladder.text.tokenize.specials import BOS, EOS, PAD, RESERVED

WORDS, CONTEXT, ANSWER, EPOCHS, MINIBATCHES, BETA, TARGET = 4000, 64, 24, 2, 2, 0.05, 3.0
MEAN = 8  # tokens of an answer, if none were cut off
UPDATES = EPOCHS * MINIBATCHES  # of a rollout
Step = Callable[[], None]
Body = dict[str, int]  # width, layers, heads


def seconds(work: Step) -> float:
    """Processor time."""
    began = time.process_time()
    work()
    return time.process_time() - began


class Stamped(StepBatches[Any]):
    """Batches that note the processor time at which each is asked for."""

    def __init__(self, batches: StepBatches[Any]) -> None:
        self.batches, self.stamps = batches, list[float]()

    def train(self, step: int) -> Any:
        """See `StepBatches.train`."""
        self.stamps.append(time.process_time())
        return self.batches.train(step)

    def validation(self) -> Any:
        """See `StepBatches.validation`."""
        return self.batches.validation()

    def size(self, batch: Any) -> int:
        """See `StepBatches.size`."""
        return self.batches.size(batch)


def prompts(count: int) -> list[list[int]]:
    """Prompts of 6 to 20 tokens."""
    random = np.random.default_rng(0)
    return [[BOS, *random.integers(4, WORDS, int(random.integers(5, 20))).tolist()] for _ in range(count)]


def share(responses: list[Response]) -> list[float]:
    """A reward that costs nothing: the share of even tokens."""
    return [float(np.mean([token % 2 == 0 for token in one.tokens] or [0])) for one in responses]


@torch.no_grad()
def ending(embedding: torch.Tensor, bias: torch.Tensor) -> None:
    """Let a network say EOS with probability 1 / MEAN: its row of the embedding along a bias of the last norm."""
    direction = torch.ones_like(bias) / len(bias) ** 0.5
    bias += direction
    # log (V / (MEAN − 1)): the other words have scores of about 0
    embedding[EOS] = direction * float(np.log(WORDS / (MEAN - 1)))


def our_ppo(body: Body, batch: int, steps: int) -> float:
    """Seconds of a PPO step, the first one not counted."""
    torch.manual_seed(0)
    policy = InstructedGPT(GPTConfig(context=CONTEXT, **body), WORDS + len(RESERVED))
    ending(policy.embedding.weight, policy.norm.bias)
    config = PPOTraining(
        prompts=batch,
        inner_epochs=EPOCHS,
        minibatches=MINIBATCHES,
        beta=BETA,
        critic="shared",
        max_new_tokens=ANSWER,
        lr=1e-5,
        schedule="constant",
        max_steps=UPDATES * (steps + 1) + 1,
        accelerator="cpu",
        progress=False,
    )
    asked = Prompts(prompts(batch), share)
    counts = {"per_rollout": batch, "kept": batch, "epochs": EPOCHS, "minibatches": MINIBATCHES}
    batches = Stamped(RolloutBatches(batch, 0, **counts, seed=1))
    with tempfile.TemporaryDirectory() as folder:
        task = PPO(policy, make_critic(policy, shared=True), config, asked)
        train_task(task, batches, config, Run(1, Path(folder)))
    return (batches.stamps[-1] - batches.stamps[UPDATES]) / steps


def their_gpt(body: Body) -> Any:
    """The same sizes with fresh weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"n_embd": body["width"], "n_layer": body["layers"], "n_head": body["heads"]}
    none = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), 0.0)
    tokens = {"vocab_size": WORDS + len(RESERVED), "bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
    network = GPT2LMHeadModel(GPT2Config(**sizes, **none, **tokens, n_positions=CONTEXT))
    ending(network.transformer.wte.weight, network.transformer.ln_f.bias)
    return network


def trl_ppo(body: Body, batch: int) -> Step:
    """A step of trl's PPOTrainer."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast
    from trl import AutoModelForCausalLMWithValueHead, PPOConfig, PPOTrainer, create_reference_model

    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(WORDS)}, unk_token="w1"))
    names = {"pad_token": f"w{PAD}", "bos_token": f"w{BOS}", "eos_token": f"w{EOS}"}
    config = PPOConfig(
        batch_size=batch,
        mini_batch_size=batch // MINIBATCHES,
        ppo_epochs=EPOCHS,
        learning_rate=1e-5,
        init_kl_coef=BETA,
        adap_kl_ctrl=False,
    )
    model = AutoModelForCausalLMWithValueHead.from_pretrained(their_gpt(body))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **names)
    trainer = PPOTrainer(config, model, create_reference_model(model), tokenizer)
    asked = [torch.tensor(prompt) for prompt in prompts(batch)]
    how = {"max_new_tokens": ANSWER, "do_sample": True, "top_k": 0, "pad_token_id": PAD, "batch_size": batch}

    def step() -> None:
        said = trainer.generate(asked, return_prompt=False, **how)
        rewards = [(one % 2 == 0).float().mean() for one in said]
        trainer.step(asked, said, rewards)

    return step


def plain_ppo(body: Body, batch: int) -> Step:
    """The same with `transformers.generate` and padded rows, written as one would."""
    policy, reference = their_gpt(body), their_gpt(body)
    head = torch.nn.Linear(body["width"], 1)
    optimizer = torch.optim.AdamW([*policy.parameters(), *head.parameters()], lr=1e-5)
    asked = prompts(batch)
    longest = max(map(len, asked))
    left = torch.tensor([[PAD] * (longest - len(one)) + one for one in asked])  # (B, P)
    there = left != PAD
    how = {"max_new_tokens": ANSWER, "do_sample": True, "top_k": 0, "pad_token_id": PAD}

    def read(network: Any, rows: torch.Tensor, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """log π of the answers' tokens, and the states before them."""
        places = (seen.long().cumsum(dim=1) - 1).clamp(min=0)
        read = network(rows, attention_mask=seen.long(), position_ids=places, output_hidden_states=True)
        log_probs = torch.log_softmax(read.logits[:, longest - 1 : -1], dim=-1)
        chosen = log_probs.gather(2, rows[:, longest:, None])[..., 0]  # (B, R)
        return chosen, read.hidden_states[-1][:, longest - 1 : -1]

    def step() -> None:
        with torch.no_grad():
            rows = policy.generate(left, attention_mask=there.long(), **how)
            ended = (rows[:, longest:] == EOS).long().cumsum(dim=1)
            mask = (ended == 0) | ((ended == 1) & (rows[:, longest:] == EOS))  # (B, R)
            seen = torch.cat([there, mask], dim=1)
            old, states = read(policy, rows, seen)
            before, (told, _) = head(states)[..., 0], read(reference, rows, seen)
            rewards = (rows[:, longest:] % 2 == 0).float().mean(dim=1)
            paid = token_rewards(old - told, rewards, mask, BETA)
            advantages, returns = gae(paid, before, mask, gamma=1.0, lam=0.95)
            advantages = whiten(advantages, mask)
        for _ in range(EPOCHS):
            for part in torch.randperm(batch).chunk(MINIBATCHES):
                now, states = read(policy, rows[part], seen[part])
                surrogate = clipped_surrogate(now, old[part], advantages[part], clip=0.2)
                values = clipped_value_loss(head(states)[..., 0], before[part], returns[part], clip=0.2)
                loss = token_mean(surrogate, mask[part]) + 0.1 * token_mean(values, mask[part])
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
                optimizer.step()

    return step


def rankings(count: int, answers: int = 4) -> list[RankedRows]:
    """Rankings of four different answers of 4 to 24 tokens."""
    random = np.random.default_rng(1)
    pairs = [(better, worse) for better in range(answers) for worse in range(better + 1, answers)]
    found = []
    for prompt in prompts(count):
        said = [random.integers(4, WORDS, int(random.integers(4, ANSWER))).tolist() for _ in range(answers)]
        rows = [np.array([*prompt, WORDS, *one, EOS], dtype=np.int32) for one in said]
        found.append(RankedRows(rows, pairs))
    return found


def make_reward(body: Body) -> RewardModel:
    """A reward model with fresh weights."""
    torch.manual_seed(0)
    settings = RewardConfig(dropout=0.0, body=GPTConfig(context=CONTEXT, **body))
    return RewardModel(settings, WORDS + len(RESERVED))


def our_reward(body: Body, ranked: list[RankedRows], batch: int, steps: int) -> float:
    """Seconds of an update, the first one not counted."""
    model = make_reward(body)
    config = RewardTraining(
        batch_size=batch, max_steps=steps + 2, lr=1e-5, early_stopping="validation_loss", accelerator="cpu"
    )
    config = config.model_copy(update={"progress": False})
    batches = Stamped(RankingBatches(ranked, [], batch_size=batch, seed=1))
    with tempfile.TemporaryDirectory() as folder:
        train_task(RewardModelling(model, config), batches, config, Run(1, Path(folder)))
    return (batches.stamps[-1] - batches.stamps[1]) / steps


def one_pair_a_pass(model: RewardModel, ranked: list[RankedRows]) -> float:
    """Gradients of the same loss, pair by pair; → the loss."""
    total = 0.0
    for one in ranked:
        for better, worse in one.pairs:
            pair = ranking_batch([RankedRows([one.rows[better], one.rows[worse]], [(0, 1)])])
            loss = pairwise_loss(model(pair.tokens), pair.better, pair.worse, pair.weights)
            loss = loss / (len(one.pairs) * len(ranked))
            loss.backward()
            total += float(loss.detach())
    return total


def plain_reward(body: Body, ranked: list[RankedRows]) -> Step:
    """An update, one pair a pass."""
    model = make_reward(body).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step() -> None:
        optimizer.zero_grad()
        one_pair_a_pass(model, ranked)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def compared(theirs: Step, ours: Callable[[], float], rounds: int, steps: int) -> tuple[float, float, float]:
    """Seconds a step of both, medians, and the median of the paired ratios."""
    theirs()
    spans = [(sum(seconds(theirs) for _ in range(steps)) / steps, ours()) for _ in range(rounds)]
    ratio = statistics.median(a / b for a, b in spans)
    return statistics.median(a for a, _ in spans), statistics.median(b for _, b in spans), ratio


def show(what: str, peer: str, unit: str, count: int, body: Body, measured: tuple[float, float, float]) -> None:
    """Print a table: `count` samples or pairs a step."""
    slow, fast, ratio = measured
    title = f"{what}, {body['layers']} layers of width {body['width']}, V = {WORDS:,}"
    row = [unit, f"{count / slow:,.0f}", f"{count / fast:,.0f}", f"{ratio:.2f} ×", verdict(ratio, TARGET)]
    markdown(title, ["", peer, "ours", "ratio", "target"], [row], [machine(torch.get_num_threads())])


@click.group()
def main() -> None:
    """PPO and reward models, beside others."""


rounds_option = click.option("--rounds", default=5, show_default=True)
batch_option = click.option("--batch", default=64, show_default=True, help="Prompts of a step.")
width_option = click.option("--width", default=128, show_default=True)
layers_option = click.option("--layers", default=4, show_default=True)


@main.command()
@threads
@rounds_option
@batch_option
@width_option
@layers_option
@click.option("--peer", type=click.Choice(["trl", "plain"]), default="plain", show_default=True)
def ppo(threads: int, rounds: int, batch: int, width: int, layers: int, peer: str) -> None:
    """Samples a second of PPO steps."""
    torch.set_num_threads(threads)
    body = {"width": width, "layers": layers, "heads": 4}
    theirs = (trl_ppo if peer == "trl" else plain_ppo)(body, batch)
    measured = compared(theirs, lambda: our_ppo(body, batch, 2), rounds, 2)
    show("PPO step", peer, "samples/s", batch, body, measured)


@main.command()
@threads
@rounds_option
@batch_option
@width_option
@layers_option
def reward(threads: int, rounds: int, batch: int, width: int, layers: int) -> None:
    """Pairs a second of updates of a reward model."""
    torch.set_num_threads(threads)
    body, ranked = {"width": width, "layers": layers, "heads": 4}, rankings(batch)
    measured = compared(plain_reward(body, ranked), lambda: our_reward(body, ranked, batch, 2), rounds, 2)
    show("Reward model, rankings of 4", "one pair a pass", "pairs/s", 6 * batch, body, measured)


if __name__ == "__main__":
    main()
