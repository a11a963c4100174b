"""Output layers that are built on how often each word occurs: a code, an order or a noise distribution.

The counts are saved with the weights. What follows from them is made when it is first needed, and again after the
counts change (`set_counts`, or loading a saved model). Until then every word counts once.
"""

from abc import abstractmethod
from typing import Any

import torch

from langladder.ground.errors import InputError
from langladder.nn.output import OutputLayer


class CountedOutput(OutputLayer):
    """An output layer with a buffer `counts` (V,) int64. Subclasses say with `_derive` what follows from it."""

    counts: torch.Tensor

    def _register_counts(self, vocab_size: int) -> None:
        self._stale = True
        self.register_buffer("counts", torch.ones(vocab_size, dtype=torch.int64))
        self.register_load_state_dict_post_hook(_mark_stale)  # type: ignore[no-untyped-call]

    def set_counts(self, counts: torch.Tensor) -> None:
        """Take the training text's counts, (V,); words it lacks count once, so that none is impossible."""
        self.counts.copy_(counts.clamp(min=1))
        self._stale = True

    def refresh(self) -> None:
        """Derive what is due. Every use of the layer begins with this."""
        if self._stale:
            with torch.no_grad():
                self._derive()
            self._stale = False

    @abstractmethod
    def _derive(self) -> None:
        """Make from `counts` what the layer works with, on the counts' device."""

    def keep(self, name: str, value: torch.Tensor) -> None:
        """Hold a derived tensor: it moves with the module and is not saved."""
        if name in self._buffers:
            self._buffers[name] = value
        else:
            self.register_buffer(name, value, persistent=False)


def _mark_stale(module: Any, _: Any) -> None:
    module._stale = True


def refuse_smoothing(smoothing: float, output: str) -> None:
    """Raise InputError unless there is no label smoothing."""
    if smoothing:
        raise InputError(
            f"training.label_smoothing={smoothing}: output={output} does not look at every word in training; "
            "set label_smoothing to 0, or model.output to softmax"
        )
