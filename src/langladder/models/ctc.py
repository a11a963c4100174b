"""CTC recogniser: frames of sound → letters, without given alignments (Graves et al. 2006).

    h = BiLSTM(x_1 … x_T)
    y_t = softmax(W h_t + b)        over the labels and the blank (label 0), independently at every frame
    L = −log P(l | x),   P(l | x) = Σ_{π : B(π) = l} ∏_t y_t(π_t)

The sum over all alignments π is torch's `ctc_loss`. `decoding.ctc` has its equations (the tests compare the two) and
the map B. The loss does not depend on the duration of a label: a network can predict a letter for all of its frames, or
as one spike among blanks (Graves et al., figure 1). Only between equal letters a blank is required.

Shape legend: B rows, T frames, D numbers per frame, H width (both directions), A + 1 labels with the blank, U labels.
"""

from typing import ClassVar, Literal, Self

import torch
from pydantic import Field, model_validator
from torch import nn

from langladder.ground import schema
from langladder.models.recognizer import Recognizer
from langladder.models.trial import generator
from langladder.nn.initialisation import begin_by_remembering
from langladder.nn.recurrent import read_rows

BLANK = 0


class CTCConfig(schema.Config):
    """Settings of `CTCRecognizer`."""

    cell: Literal["lstm", "gru"] = "lstm"
    width: int = Field(default=128, ge=2, le=8192)
    """H, of both directions together; must be even."""
    layers: int = Field(default=1, ge=1, le=6)
    dropout: float = Field(default=0.1, ge=0, lt=1)
    """Dropout between the layers and before the output."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.width % 2:
            raise ValueError(f"width={self.width} is odd; it must be even, because each direction has half of it")
        return self


class CTCRecognizer(Recognizer):
    """Bidirectional recurrent network with a softmax at every frame."""

    approach: ClassVar[str] = "recurrent"
    maker: ClassVar[str] = "langladder.tasks.speech_recognition.make"
    Config: ClassVar[type[schema.Config]] = CTCConfig

    def __init__(self, config: CTCConfig, dimensions: int, labels: int) -> None:
        super().__init__(config, dimensions, labels)
        kind = nn.LSTM if config.cell == "lstm" else nn.GRU
        self.rnn = kind(
            dimensions,
            config.width // 2,
            config.layers,
            batch_first=True,
            bidirectional=True,
            dropout=config.dropout if config.layers > 1 else 0.0,
        )
        self.head = nn.Linear(config.width, labels + 1)
        self.dropout = nn.Dropout(config.dropout)
        begin_by_remembering(self.rnn)

    def forward(self, frames: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """frames (B, T, D), lengths (B,) → log y (B, T, A + 1) float32; values at padding are undefined."""
        h, _ = read_rows(self.rnn, frames, lengths)  # (B, T, H)
        return torch.log_softmax(self.head(self.dropout(h)).float(), dim=-1)

    def loss(
        self, frames: torch.Tensor, lengths: torch.Tensor, labels: torch.Tensor, label_lengths: torch.Tensor
    ) -> torch.Tensor:
        """−Σ log P(l | x) in nats over the rows: frames (B, T, D), lengths (B,), labels (B, U), label_lengths (B,).

        Infinite if a row has fewer frames than its labels and the blanks between equal neighbours need.
        """
        log_probs = self(frames, lengths).transpose(0, 1)  # (T, B, A + 1)
        return nn.functional.ctc_loss(log_probs, labels, lengths, label_lengths, blank=BLANK, reduction="sum")

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`: three frames per label."""
        own = generator()
        frames = torch.randn(rows, length, self.dimensions, generator=own)
        labels = torch.randint(1, self.labels + 1, (rows, max(1, length // 3)), generator=own)
        full = torch.full((rows,), length)
        return self.loss(frames, full, labels, torch.full_like(full, labels.shape[1]))
