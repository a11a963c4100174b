"""Learning a reward from rankings. A batch holds all pairs of a prompt's K responses, and reads each response once.

If each pair were a separate example, the model would see each response K − 1 times per epoch, and would overfit after
one epoch (Ouyang et al. 2022, section 3.5). training.pairs=apart does this, to demonstrate the effect.
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from langladder.data.instructions import RankingBatch, RankingBatches, ranking_rows
from langladder.ground.errors import InputError
from langladder.models.language.neural import scoring
from langladder.models.making import Run, TrainingResult
from langladder.models.reward import RewardConfig, RewardModel, begin_reward, pairwise_loss
from langladder.tasks.settings import RewardTraining, TransferSettings
from langladder.tasks.task import Task
from langladder.tasks.training import train_task
from langladder.text.labelled.instructions import Dialogue, Ranking, ranking_of
from langladder.text.labelled.templates import ChatTemplate

ACCURACY = "validation_accuracy"


class RewardModelling(Task):
    """Loss on pairs. The best weights have the highest accuracy on validation pairs, or the lowest loss."""

    unit = "prompts"

    def __init__(self, model: RewardModel, config: RewardTraining) -> None:
        super().__init__(config)
        self.model = model
        if config.early_stopping == "accuracy":
            self.monitor, self.mode = ACCURACY, "max"

    def loss(self, batch: RankingBatch) -> torch.Tensor:
        """−log σ(r_w − r_l) in nats: the mean over each prompt's pairs, then over the prompts."""
        return pairwise_loss(self.model(batch.tokens), batch.better, batch.worse, batch.weights)

    @torch.no_grad()
    def evaluate(self, batch: RankingBatch) -> tuple[float, int]:
        """Summed loss of the prompts, and the number of prompts."""
        with scoring(self.model, self.device.type):
            rewards = self.model(batch.tokens).double()
        self.tally["right"] += int((rewards[batch.better] > rewards[batch.worse]).sum())
        self.tally["total"] += len(batch.better)
        loss = pairwise_loss(rewards, batch.better, batch.worse, batch.weights)
        return float(loss) * batch.prompts, batch.prompts

    def measures(self) -> dict[str, float]:
        """Share of the validation pairs whose better response has the higher reward."""
        return {ACCURACY: self.tally["right"] / max(1, self.tally["total"])}


def train_reward_model(
    model: RewardModel,
    train: Sequence[Ranking],
    validation: Sequence[Ranking],
    demonstrations: Sequence[Dialogue],
    config: RewardTraining,
    run: Run,
) -> TrainingResult:
    """Train `model` in place; it ends with its best validation weights and a bias, on the CPU, in evaluation mode.

    Args:
        demonstrations: the bias is set so that their mean reward is 0; those that exceed the context are left out.

    Raises:
        InputError: there is no training pair or no demonstration, or a response is too long; see also `train_task`.
    """
    template = ChatTemplate(model.tokenizer)
    if config.pairs == "apart":
        train = [ranking_of(pair) for ranking in train for pair in ranking.preferences()]
    rows, held_out = (
        ranking_rows(template, side, model.context, too_long=config.too_long, split=name)
        for side, name in ((train, "train"), (validation, "validation"))
    )
    if not rows:
        raise InputError("rankings: no two training responses of different rank fit into the context")
    encoded = template.rows([demonstration.messages for demonstration in demonstrations])
    kept = [
        demonstration.messages
        for demonstration, row in zip(demonstrations, encoded, strict=True)
        if len(row.ids) <= model.context
    ]
    if not kept:
        raise InputError("rankings: no demonstration to set the reward model's bias by; give some")
    config = config.of(len(rows))
    batches = RankingBatches(rows, held_out, batch_size=config.batch_size, seed=run.seed)
    result = train_task(RewardModelling(model, config), batches, config, run)
    model.cpu().eval()
    model.centre(kept)
    return result


def make(
    base: Path,
    train: Sequence[Ranking],
    validation: Sequence[Ranking],
    demonstrations: Sequence[Dialogue],
    *,
    settings: TransferSettings[RewardConfig, RewardTraining],
    run: Run,
) -> tuple[RewardModel, TrainingResult]:
    """Start with the InstructedGPT in `base`, which also holds its tokenizer, and learn from rankings.

    Args:
        settings: those of the rung's file: `name`, `model` and `training`.
        demonstrations: see `train_reward_model`.

    Raises:
        InputError: as `begin_reward` and `train_reward_model`.
    """
    model = begin_reward(settings, base, seed=run.seed)
    return model, train_reward_model(
        model,
        train,
        validation,
        demonstrations,
        settings.training,
        run,
    )
