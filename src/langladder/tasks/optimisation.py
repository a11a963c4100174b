"""How a model is trained: the settings, the optimisers and the learning-rate schedules.

Optimisers (θ parameters, g gradient, η learning rate; products, roots and quotients by entries):
    sgd        θ ← θ − ηg
    momentum   v ← βv + g,   θ ← θ − ηv
    adagrad    s ← s + g²,   θ ← θ − η g / (√s + ε)                       (Duchi et al. 2011)
    rmsprop    s ← ρs + (1 − ρ) g²,   θ ← θ − η g / (√s + ε)              (Tieleman & Hinton 2012, ρ = 0.9 there)
    adam       m ← β₁m + (1 − β₁) g,   s ← β₂s + (1 − β₂) g²,   θ ← θ − η m̂ / (√ŝ + ε)   (Kingma & Ba 2015)
               with m̂ = m / (1 − β₁ᵗ), ŝ = s / (1 − β₂ᵗ): both start at 0, and would otherwise be too small at first
    adamw      adam, and weight decay apart from the gradient              (Loshchilov & Hutter 2019)
    muon       see `muon`                                                  (Jordan et al. 2024)
or any other as `{_target_: torch.optim.NAdam, …}` (`extensions`), with the arguments of that entry and `lr`. Without
the corrections m̂ and ŝ, Adam's first step would be η (1 − β₁) / √(1 − β₂), √10 η by default. RMSProp has no
corrections; its first step is η / √(1 − ρ), η √10 with ρ = 0.9.

Schedules, with s the updates made so far (0 at the first one), t = s + 1, w the warm-up steps:
    constant       η
    exponential    η · decay^(s / decay_steps)
    step           η · decay^⌊s / decay_steps⌋
    warmup_cosine  min_lr + ½ (η − min_lr)(1 + cos(π (s − w) / (max_steps − w)))
    noam           η · √w · min(t^−½, t · w^−3/2)   (Vaswani et al. 2017, section 5.3: there η = (d_model · w)^−½)
All except noam rise linearly, η t / w, during the warm-up; after it, none falls below min_lr. Any other schedule is
`{_target_: torch.optim.lr_scheduler.StepLR, …}`, which is stepped at every update (ReduceLROnPlateau at every
validation) and ignores warmup_steps and min_lr.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

import torch
from pydantic import BeforeValidator, Field, field_validator, model_validator
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from langladder.ground.errors import InputError
from langladder.ground.ranks import ranks
from langladder.ground.schema import Config
from langladder.nn.output import SoftmaxOutput
from langladder.tasks.extensions import (
    Kind,
    Target,
    built,
    built_schedule,
    checked_entries,
    checked_flags,
    checked_target,
)
from langladder.tasks.muon import Muon, hidden_matrices

Precision = Literal["fp32", "bf16"]
OptimizerName = Literal["adamw", "adam", "sgd", "momentum", "adagrad", "rmsprop", "muon"]
ScheduleName = Literal["constant", "exponential", "step", "warmup_cosine", "noam"]
LARGE_VOCABULARY = 4096
"""Rows of an embedding above which a sparse gradient saves time."""


def _name_or_target(kind: Kind, names: tuple[str, ...]) -> BeforeValidator:
    """One of the names, or an entry with a class; one error message covers both."""

    def check(value: object) -> object:
        if isinstance(value, Mapping):
            return checked_target(kind, value)
        if value not in names:
            listed = ", ".join(f"'{name}'" for name in names[:-1])
            raise ValueError(f"Input should be {listed} or '{names[-1]}'")
        return value

    return BeforeValidator(check)


class LoRA(Config):
    """Fine-tuning by low-rank changes, see `nn.lora`."""

    rank: int = Field(default=8, ge=1, le=4096)
    """r of A (r, I) and B (O, r)."""
    alpha: float = Field(default=16.0, gt=0, le=10_000)
    """α: W = W₀ + (α/r) B A."""


class TrainingConfig(Config):
    """Settings of one training run. The seed is a separate argument."""

    optimizer: Annotated[OptimizerName | Target, _name_or_target("optimizer", get_args(OptimizerName))] = "adamw"
    """A name from the table of this module, or a class: {_target_: torch.optim.NAdam}."""
    lr: float = Field(default=1e-3, gt=0, le=100)
    muon_lr: float = Field(default=0.02, gt=0, le=10)
    """Muon: the rate of the hidden matrices. `lr` is the rate of AdamW, which trains the rest. Both follow the
    schedule."""
    betas: list[float] = Field(default=[0.9, 0.999], min_length=2, max_length=2)
    """Adam's decay rates; the first is also the β of momentum, the second the ρ of RMSProp."""
    eps: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    """Weight decay of matrices; biases and normalisation gains are not decayed."""
    l1: float = Field(default=0.0, ge=0)
    """l1 Σ|w| + l2 Σw² is added to the training loss, over all matrices; biases and normalisation gains are left out.
    Adam divides this gradient like the rest of it, which weight_decay of adamw avoids (Loshchilov & Hutter 2019)."""
    l2: float = Field(default=0.0, ge=0)
    schedule: Annotated[ScheduleName | Target, _name_or_target("schedule", get_args(ScheduleName))] = "warmup_cosine"
    """A name from the table of this module, or a class: {_target_: torch.optim.lr_scheduler.StepLR, step_size: 100}."""
    warmup_steps: int = Field(default=0, ge=0)
    """Updates of the learning rate's warm-up; see `warmup` for short training runs."""
    min_lr: float = Field(default=0.0, ge=0)
    decay: float = Field(default=0.9, gt=0, le=1)
    decay_steps: int = Field(default=1000, ge=1)
    max_steps: int = Field(default=1000, ge=1)
    """Number of updates."""
    accumulate: int = Field(default=1, ge=1)
    """Batches per update. Their gradients are summed, weighted by tokens: like one large batch, with less memory."""
    lora: LoRA | None = None
    """Of rungs that start from another network: train low-rank changes of its matrices alone; null: all weights."""
    clip_norm: float | None = Field(default=1.0, gt=0)
    """Largest norm of the whole gradient; null = never clipped."""
    precision: Literal["default", "fp32", "bf16", "auto"] = "fp32"
    """bf16 is faster, and gives different figures. auto depends on the machine: bf16 if the GPU supports it, or if the
    CPU does (AVX-512 BF16 or AMX) and all batches have the same shape, as those of language models; else fp32. default:
    fp32 on a CPU, auto on a GPU. Unless set to fp32, a GPU computes the remaining fp32 products in TF32."""
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    devices: int = Field(default=1, ge=1, le=1024)
    """Processes per machine, each with a GPU or, on CPUs, with its share of the threads. The batches do not change:
    each process takes its rows of them."""
    nodes: int = Field(default=1, ge=1)
    """Machines; each runs `devices` processes."""
    strategy: Literal["auto", "ddp", "fsdp"] = "auto"
    """How several processes share the work. ddp averages the gradients; fsdp also shards the weights, the gradients and
    the optimiser's state, for networks that are too large for one device. auto: ddp."""
    compile: Literal["auto"] | bool = "auto"
    """Whether `torch.compile` compiles a step's loss. auto: on a GPU, if the loss is one graph (GPT, BERT and the
    Transformer)."""
    validate_every: int = Field(default=500, ge=1)
    patience: int | None = Field(default=None, ge=1)
    """Stop after this many validations in a row without a new best; null = train all steps."""
    average_checkpoints: int = Field(default=1, ge=1)
    """End with the mean of the weights at the last n validations; 1 = end with the weights of the best validation."""
    checkpoint_every: int = Field(default=500, ge=1)
    log_every: int = Field(default=50, ge=1)
    progress: bool = True
    overfit_batches: int = Field(default=0, ge=0)
    """Debug: train on this many batches over and over; 0 = off."""
    profiler: Literal["simple", "advanced"] | None = None
    fast_dev_run: bool = False
    """Debug: one training step and one validation batch, nothing written."""
    trainer: dict[str, Any] = Field(default_factory=dict)
    """Flags of Lightning's Trainer; those that langladder sets itself or that break resuming are refused."""
    callbacks: dict[str, Target] = Field(default_factory=dict)
    """Additional callbacks, by name: {lr_monitor: {_target_: pytorch_lightning.callbacks.LearningRateMonitor}}."""
    logger: dict[str, Target] = Field(default_factory=dict)
    """Additional loggers besides MLflow, in the same form."""

    @model_validator(mode="before")
    @classmethod
    def _rate_of_optimizer(cls, values: object) -> object:
        """An `lr` in the optimiser's entry replaces the run's; the schedule starts from it."""
        optimizer = values.get("optimizer") if isinstance(values, Mapping) else None
        if isinstance(values, Mapping) and isinstance(optimizer, Mapping) and optimizer.get("lr") is not None:
            rest = {key: value for key, value in optimizer.items() if key != "lr"}
            return {**values, "lr": optimizer["lr"], "optimizer": rest}
        return values

    @field_validator("trainer", mode="after")
    @classmethod
    def _flags(cls, flags: dict[str, Any]) -> dict[str, Any]:
        return checked_flags(flags)

    @field_validator("callbacks", mode="before")
    @classmethod
    def _callbacks(cls, entries: object) -> dict[str, Target]:
        return checked_entries("callbacks", entries)

    @field_validator("logger", mode="before")
    @classmethod
    def _loggers(cls, entries: object) -> dict[str, Target]:
        return checked_entries("logger", entries)

    @field_validator("precision", mode="before")
    @classmethod
    def _refuse_half(cls, value: object) -> object:
        if value in ("fp16", "float16", "16", 16):
            raise ValueError(
                "fp16 needs loss scaling and is emulated, many times slower, on CPUs; use bf16, fp32 or auto"
            )
        return value

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas={self.betas}: each must be in [0, 1)")
        if self.min_lr > self.lr:
            raise ValueError(f"min_lr={self.min_lr} exceeds lr={self.lr}")
        processes, rows = self.devices * self.nodes, getattr(self, "batch_size", 0)
        if rows % processes:
            raise ValueError(
                f"devices={self.devices} on nodes={self.nodes}: batch_size={rows} is not divided evenly among "
                f"{processes} processes; choose a batch_size that is a multiple of {processes}, or fewer devices"
            )
        if self.strategy == "fsdp" and self.compile is True:
            raise ValueError(
                "compile=true with strategy=fsdp: weights are gathered layer by layer, outside any graph; set compile "
                "to auto or strategy to ddp"
            )
        if self.strategy == "fsdp" and self.lora is not None:
            raise ValueError("strategy=fsdp: lora needs whole matrices; set strategy to ddp or lora to null")
        if self.strategy == "fsdp" and (self.l1 or self.l2):
            raise ValueError(
                f"l1={self.l1}, l2={self.l2} with strategy=fsdp: they need whole matrices; set strategy to "
                "ddp, or both to 0"
            )
        if self.strategy == "fsdp" and self.optimizer == "muon":
            raise ValueError("strategy=fsdp: muon needs whole matrices; set strategy to ddp or optimizer to adamw")
        if self.schedule == "noam" and self.warmup_steps == 0:
            raise ValueError("schedule=noam rises during the warm-up: warmup_steps must be 1 or more, got 0")
        return self

    def check_rung(self, kind: type | None, *, base: str | None, seeds: int, model: Config | None) -> None:
        """Check what such a training needs of the rung.

        Args:
            kind: the class of its network; None: that of its base.
            base: the rung that it starts from, family/name. seeds: how often it is trained.
            model: the settings of its own network.

        Raises:
            ValueError: it cannot be trained so.
        """
        del model
        if self.lora is not None and (base is None or base.startswith("embedding/")):
            raise ValueError(
                "training.lora: only for rungs that start from another rung's network; set it to null, or choose such "
                "a rung, for example conf/classifier/bert_lora.yaml"
            )
        if seeds > 1 and self.devices * self.nodes > 1:
            raise ValueError(
                f"seeds={seeds} with training.devices={self.devices}, training.nodes={self.nodes}: one process trains "
                "several seeds; set devices and nodes to 1, or seeds to 1"
            )
        if self.strategy == "fsdp" and kind is not None and not getattr(kind, "shards", ()):
            raise ValueError(
                f"training.strategy=fsdp: a {kind.__name__} has no layers to shard; GPT and BERT have. Set it to ddp"
            )

    @property
    def warmup(self) -> int:
        """Warm-up steps: `warmup_steps`, or a tenth of all steps if that is fewer."""
        return self.warmup_steps if self.warmup_steps <= self.max_steps else max(1, self.max_steps // 10)


def on_gpu(config: TrainingConfig) -> bool:
    """Whether it trains on GPUs of NVIDIA or AMD."""
    return config.accelerator != "cpu" and torch.cuda.is_available()


def set_learning_rate(optimizer: torch.optim.Optimizer, config: TrainingConfig, step: int) -> None:
    """Set every group's rate for the update after `step` updates."""
    rate = learning_rate(config, step)
    for group in optimizer.param_groups:
        group["lr"] = rate * group.get("factor", 1.0)


def learning_rate(config: TrainingConfig, step: int) -> float:
    """The rate of the update after `step` updates; see the table of this module.

    Raises:
        InputError: the schedule is a class, whose rates depend on the previous steps.
    """
    if not isinstance(config.schedule, str):
        raise InputError(f"training.schedule: {config.schedule['_target_']}: only a name is allowed here")
    s, t, w = step, step + 1, config.warmup
    if config.schedule == "noam":
        return config.lr * math.sqrt(w) * min(1 / math.sqrt(t), t / math.pow(w, 1.5))
    if s < w:
        return config.lr * t / w
    if config.schedule == "exponential":
        rate = config.lr * math.pow(config.decay, s / config.decay_steps)
    elif config.schedule == "step":
        rate = config.lr * math.pow(config.decay, s // config.decay_steps)
    elif config.schedule == "warmup_cosine":
        done = (s - w) / max(1, config.max_steps - w)
        rate = config.min_lr + 0.5 * (config.lr - config.min_lr) * (1 + math.cos(math.pi * done))
    else:
        rate = config.lr
    return max(rate, config.min_lr)


class Schedule(LRScheduler):
    """A schedule from the table of this module, stepped at every update. Each rate only depends on the step."""

    def __init__(self, optimizer: torch.optim.Optimizer, config: TrainingConfig) -> None:
        self.config = config
        super().__init__(optimizer)

    def get_lr(self) -> list[float | torch.Tensor]:
        """The rate of each group for the next update."""
        rate = learning_rate(self.config, self.last_epoch)
        return [rate * group.get("factor", 1.0) for group in self.optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The state without the settings: those of the run apply, not those of a checkpoint."""
        return {key: value for key, value in super().state_dict().items() if key != "config"}


def make_schedule(optimizer: torch.optim.Optimizer, config: TrainingConfig) -> LRScheduler:
    """The schedule of an optimiser's rates, with the rates of the first update already set."""
    if isinstance(config.schedule, str):
        return Schedule(optimizer, config)
    return built_schedule(config.schedule, optimizer, config.max_steps)


def make_optimizer(module: nn.Module, config: TrainingConfig) -> torch.optim.Optimizer:
    """The optimiser of the module's trainable parameters. It decays matrices but not vectors."""
    if not isinstance(config.optimizer, str):
        return _of_target(module, config.optimizer, config.lr)
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    hidden = hidden_matrices(module) if config.optimizer == "muon" else []
    hidden_ids = {id(p) for p in hidden}
    rest = [p for p in parameters if id(p) not in hidden_ids]
    groups: list[dict[str, object]] = [
        {"params": hidden, "weight_decay": config.weight_decay, "hidden": True, "factor": config.muon_lr / config.lr},
        {"params": [p for p in rest if p.dim() >= 2], "weight_decay": config.weight_decay},
        {"params": [p for p in rest if p.dim() < 2], "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    first, second = config.betas
    if config.optimizer == "muon":
        return Muon(groups, lr=config.lr, betas=(first, second), eps=config.eps, fused=True)
    if config.optimizer in ("adam", "adamw"):
        kind = torch.optim.AdamW if config.optimizer == "adamw" else torch.optim.Adam
        return kind(groups, lr=config.lr, betas=(first, second), eps=config.eps, fused=True)
    if config.optimizer == "adagrad":
        return torch.optim.Adagrad(groups, lr=config.lr, eps=config.eps)
    if config.optimizer == "rmsprop":
        return torch.optim.RMSprop(groups, lr=config.lr, alpha=second, eps=config.eps)
    return torch.optim.SGD(groups, lr=config.lr, momentum=first if config.optimizer == "momentum" else 0.0)


def _of_target(module: nn.Module, entry: Target, lr: float) -> torch.optim.Optimizer:
    """An optimiser of another class. Missing arguments have the class's defaults. It also decays only matrices."""
    parameters = [parameter for parameter in module.parameters() if parameter.requires_grad]
    groups: list[dict[str, object]] = [{"params": parameters}]
    if entry.get("weight_decay"):
        vectors = [p for p in parameters if p.dim() < 2]
        groups = [{"params": [p for p in parameters if p.dim() >= 2]}, {"params": vectors, "weight_decay": 0.0}]
    optimizer: torch.optim.Optimizer = built(
        "optimizer", {"lr": lr} | entry, [group for group in groups if group["params"]]
    )
    return optimizer


def penalty(module: nn.Module, config: TrainingConfig) -> torch.Tensor:
    """l1 Σ|w| + l2 Σw² over the trainable matrices, a shared one once: a scalar."""
    matrices = [parameter for parameter in module.parameters() if parameter.requires_grad and parameter.dim() >= 2]
    return sum((config.l1 * w.abs().sum() + config.l2 * w.square().sum() for w in matrices), torch.zeros(()))


def state_size(optimizer: OptimizerName | Target) -> int:
    """Number of values that an optimiser stores per weight of a matrix."""
    matrix = nn.Parameter(torch.zeros(8, 4))
    optimiser = make_optimizer(nn.ParameterList([matrix]), TrainingConfig(optimizer=optimizer))
    matrix.grad = torch.zeros_like(matrix)
    optimiser.step()
    return sum(value.numel() == matrix.numel() for value in optimiser.state[matrix].values() if torch.is_tensor(value))


def train_by_rows(module: nn.Module, config: TrainingConfig) -> None:
    """Use sparse gradients for large embeddings on a CPU, if that does not change the result.

    A sparse gradient only has the rows that a batch uses. The result is the same with SGD and AdaGrad, which do not
    change rows without gradient, and if the table is also an output layer's matrix, because autograd adds the rows to
    that layer's dense gradient. Momentum and Adam change every row at every step.

    With several processes all gradients are dense, because processes exchange dense gradients.
    """
    plain = config.optimizer in ("sgd", "adagrad") and not (config.weight_decay or config.l1 or config.l2)
    tied = {id(layer.weight) for layer in module.modules() if isinstance(layer, SoftmaxOutput)}
    for table in module.modules():
        if isinstance(table, nn.Embedding):
            alone = ranks().size == 1
            large = alone and table.num_embeddings >= LARGE_VOCABULARY and table.weight.device.type == "cpu"
            whole_table = isinstance(table.weight, nn.Parameter)  # else LoRA trains some of its rows alone
            table.sparse = large and whole_table and (plain or id(table.weight) in tied)


@torch.no_grad()
def clip_gradients(module: nn.Module, largest: float) -> None:
    """g ← g · min(1, largest / ‖g‖), ‖g‖ the norm of all gradients together.

    Like torch's `clip_grad_norm_`, but it also supports sparse gradients, and does not touch gradients within the
    limit.
    """
    grads = _gradients(module)
    factor = _clipping(grads, largest)
    if grads and (factor.device.type != "cpu" or factor < 1):
        for grad in grads:
            local(grad).mul_(factor)


@torch.no_grad()
def clip_update(module: nn.Module, optimizer: torch.optim.Optimizer, largest: float) -> None:
    """Clip the next update, with the same result as `clip_gradients`. For plain SGD, θ − ηg, it scales η instead of g,
    which saves a pass over g.

    (With `Schedule`, the next rate does not depend on this one. A schedule of another class may multiply the last rate;
    then the task clips gradients.)
    """
    if not isinstance(optimizer, torch.optim.SGD) or any(
        g["momentum"] or g["weight_decay"] for g in optimizer.param_groups
    ):
        clip_gradients(module, largest)
        return
    factor = float(_clipping(_gradients(module), largest))
    for group in optimizer.param_groups:
        group["lr"] *= factor


def _gradients(module: nn.Module) -> list[torch.Tensor]:
    """All gradients; sparse ones with one row per word."""
    grads = []
    for parameter in module.parameters():
        if parameter.grad is not None and parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            grads.append(parameter.grad.values())
        elif parameter.grad is not None:
            grads.append(parameter.grad)
    return grads


def _clipping(grads: list[torch.Tensor], largest: float) -> torch.Tensor:
    """min(1, largest / ‖g‖)."""
    if not grads:
        return torch.ones(())
    norm = whole(nn.utils.get_total_norm(grads))
    return (largest / (norm + 1e-6)).clamp(max=1.0)


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Gather a sharded tensor (all processes must call this); return any other tensor unchanged."""
    return tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor


def local(tensor: torch.Tensor) -> torch.Tensor:
    """This process's part of a sharded tensor; any other tensor unchanged."""
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def resolve_precision(config: TrainingConfig, *, one_shape: bool = True) -> Precision:
    """The precision to compute in on this machine.

    Args:
        one_shape: whether all training batches have the same shape. If not, the CPU's library compiles its bf16
            products for each new shape, which costs more than they save; `auto` is then fp32.

    Raises:
        InputError: bf16 is requested, but this machine only emulates it (many times slower than fp32) or cannot run it.
    """
    if on_gpu(config):
        native = gains = torch.cuda.is_bf16_supported(including_emulation=False)
    else:
        capabilities = torch.cpu.get_capabilities()
        native = bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))
        gains = native and one_shape
    if config.precision == "auto" or (config.precision == "default" and on_gpu(config)):
        return "bf16" if gains else "fp32"
    if config.precision == "default":
        return "fp32"
    if config.precision == "bf16" and not native:
        raise InputError(
            "training.precision=bf16: this machine only emulates it, which is slow; set it to fp32 or auto"
        )
    return config.precision
