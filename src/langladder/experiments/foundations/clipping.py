"""What clipping does against exploding gradients (Pascanu, Mikolov & Bengio 2013, algorithm 1).

    g ← g · min(1, c / ‖g‖)

A plain RNN whose recurrent matrix begins too large, U = scale · Q with Q orthogonal, is trained as a language model by
SGD with one learning rate, several times with other seeds, at each threshold c and without. A run is said to have
diverged when its loss is no number, or ends above where it began. That U explodes
is by construction; that a clipped network learns is not.
"""

import math
from typing import ClassVar

import torch
from pydantic import Field

from langladder.experiments.experiment import Data, Experiment, Progress, RepeatedConfig
from langladder.experiments.findings import Findings, Plot, opened, rounded, series
from langladder.experiments.language.small_models import TextConfig
from langladder.experiments.statistics import Verdict, difference, every, gated, mean, spread
from langladder.experiments.training import train_language_model, unigram_loss
from langladder.ground import schema
from langladder.models.language.recurrent import RecurrentConfig, RecurrentLM

LAST = 0.1  # share of the steps, at the end, whose mean loss counts


class ClippingConfig(TextConfig, RepeatedConfig):
    """Settings of `Clipping`."""

    thresholds: list[float] = Field(default=[5.0, 1.0, 0.25], min_length=1)  # c; no clipping is measured, too
    scale: float = Field(default=1.5, gt=0)  # of the recurrent matrix


class Clipping(Experiment[ClippingConfig]):
    """Share of the runs that diverge, and the loss of the others, by threshold."""

    Config: ClassVar[type[schema.Config]] = ClippingConfig
    reads = ("tokens/text",)

    def examine(self, data: Data, *, seed: int, progress: Progress) -> Findings:
        """See `Experiment.examine`."""
        config = self.config
        found: dict[str, list[float]] = {}
        for threshold in (None, *config.thresholds):
            name = "never" if threshold is None else f"{threshold:g}"
            found[name] = [self._last_loss(data, threshold, number) for number in config.numbers(seed)]
            progress(f"clipped at {name}: " + ", ".join(f"{loss:.2f}" for loss in found[name]))
        return findings(found, unigram_loss(data.stream("train").ids), config.margin)

    def _last_loss(self, data: Data, threshold: float | None, seed: int) -> float:
        """Mean loss of the last steps of one run; infinite where it diverged."""
        config = self.config
        torch.manual_seed(seed)
        settings = RecurrentConfig(cell="rnn", width=config.width, embedding_dim=config.width)
        model = RecurrentLM(settings, data.tokenizer().vocab_size)
        for layer in model.cell.layers:
            with torch.no_grad():
                layer.matrices()[1].mul_(config.scale)  # type: ignore[operator]
        training = config.training(optimizer="sgd", weight_decay=0.0, clip_norm=threshold)
        losses = train_language_model(model, data.stream("train"), training, seed=seed)
        last = mean(losses[-max(1, round(LAST * len(losses))) :])
        return last if math.isfinite(last) and last <= losses[0] else math.inf


def findings(found: dict[str, list[float]], unigram: float, margin: float) -> Findings:
    """The claim holds where at every threshold fewer runs diverge than without one, and those that do not learn more
    than how frequent words are.

    Nothing is judged where no run diverges without clipping.
    """
    failed = {name: [float(math.isinf(loss)) for loss in losses] for name, losses in found.items()}
    diverged = {name: mean(shares) for name, shares in failed.items()}
    kept = {name: [loss for loss in losses if math.isfinite(loss)] for name, losses in found.items()}
    loss = {name: mean(losses) if losses else math.inf for name, losses in kept.items()}
    clipped = [name for name in found if name != "never"]
    explodes = Verdict(True) if diverged["never"] else Verdict(None, "no run diverges without clipping")
    mended = [difference(failed["never"], failed[name]).exceeds(margin) for name in clipped]
    learnt = [difference(unigram, kept[name]).exceeds() for name in clipped if kept[name]]
    verdict = gated([explodes], every([*mended, *learnt]))
    said = ", ".join(f"{name} {_loss(loss[name])}" for name in found)
    best = min(clipped, key=lambda name: (diverged[name], loss[name]))
    return Findings(
        **opened(
            verdict,
            f"without clipping {diverged['never']:.0%} of the runs diverge, clipped at {best} {diverged[best]:.0%}; "
            f"the loss at the end is, by threshold, {said}.",
        ),
        columns=["clipped at", "diverged", "loss at the end"],
        rows=[[name, rounded(diverged[name]), rounded(loss[name])] for name in found],
        plots=[
            Plot(
                title="Clipping: runs that diverge",
                x_label="largest norm of the gradient",
                y_label="share of the runs that diverge",
                series=[series("RNN", list(found), diverged.values())],
            ),
            Plot(
                title="Clipping: loss",
                x_label="largest norm of the gradient",
                y_label="training loss at the end (nats)",
                series=[series("RNN", list(found), loss.values(), [spread(kept[name]) for name in found])],
            ),
        ],
        figures={f"diverged_{name}": diverged[name] for name in found},
    )


def _loss(value: float) -> str:
    return f"{value:.2f}" if math.isfinite(value) else "(none ends)"
