"""Speech recognition with attention (Chorowski et al. 2015; Chan et al. 2016): frames of sound → letters.

    h = BiGRU(x_1 … x_S)                    x_s: k neighbouring frames
    α_t, s_t = the attention and decoder of Bahdanau et al. (`attention_seq2seq`), a letter at a time
    P(l | x) = ∏_t P(l_t | l_<t, x)

Unlike CTC (`models.ctc`), a letter depends on the letters before it, and no frame is assigned to a letter: attention
must find the place to read next. Sound is read from left to right, so its weights should run along the diagonal;
`training.guided_attention` says so to the network.

Differences from the papers: no pyramid of layers; the encoder reads k frames at once instead. The score does not see
the previous weights (Chorowski et al., section 2.1).

The network is a translator, with its training, beam search and scoring. A source is k frames side by side, each with
one number more, first: 1, and 0 in padding. A target is BOS, letters from the id `FIRST_LETTER` on, EOS.

Shape legend: B rows, T frames, D numbers per frame, S = T/k source positions, U letters, A the alphabet's letters.
"""

from typing import ClassVar

import torch
from pydantic import Field
from torch import nn
from torch.nn import functional

from langladder.models.recognizer import Recognizer
from langladder.models.translation.attention_seq2seq import AttentionSeq2Seq
from langladder.models.trial import generator
from langladder.text.tokenize.specials import BOS, EOS, NAMES, PAD

FIRST_LETTER = len(NAMES)
"""The id of label 1; lower ids are special tokens."""


class AttentionRecognizer(Recognizer, AttentionSeq2Seq):
    """`AttentionSeq2Seq` that reads frames."""

    approach: ClassVar[str] = "recurrent with attention"
    maker: ClassVar[str] = "langladder.tasks.speech_recognition.make_attentive"

    class Config(AttentionSeq2Seq.Config):
        """Those of `AttentionSeq2Seq`, and the frames."""

        stack: int = Field(default=2, ge=1, le=8)
        """k: frames that the encoder reads at once."""

    config: Config

    def __init__(self, config: Config, dimensions: int, labels: int) -> None:
        super().__init__(config, dimensions, FIRST_LETTER + labels)
        self.labels = labels
        self.source_vocab_size, self.target_vocab_size = dimensions, FIRST_LETTER + labels

    def source_layer(self, size: int) -> nn.Module:
        """k frames → (…, E)."""
        return nn.Linear(self.config.stack * (size + 1), self.config.embedding_dim)

    def source(self, frames: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """frames (B, T, D), lengths (B,) → (B, S, k (D + 1))."""
        there = torch.arange(frames.shape[1], device=frames.device) < lengths.unsqueeze(1)  # (B, T)
        marked = torch.cat([there.unsqueeze(2).to(frames.dtype), frames * there.unsqueeze(2)], dim=2)  # (B, T, D + 1)
        k = self.config.stack
        marked = functional.pad(marked, (0, 0, 0, -marked.shape[1] % k))
        return marked.reshape(len(marked), -1, k * marked.shape[2])

    def target(self, labels: torch.Tensor, label_lengths: torch.Tensor) -> torch.Tensor:
        """labels (B, U) from 1, padded with 0, label_lengths (B,) → (B, U + 2) BOS ids EOS, padded with PAD."""
        ids = torch.where(labels > 0, labels + FIRST_LETTER - 1, PAD)
        target = functional.pad(functional.pad(ids, (1, 0), value=BOS), (0, 1), value=PAD)
        return target.scatter(1, label_lengths.unsqueeze(1) + 1, EOS)

    def present(self, source: torch.Tensor) -> torch.Tensor:
        """See `Translator.present`: where at least the first of k frames is one."""
        return source[..., 0] > 0

    def trial_loss(self, rows: int, length: int) -> torch.Tensor:
        """See `Network.trial_loss`: three frames per letter."""
        own = generator()
        frames = torch.randn(rows, length, self.dimensions, generator=own)
        letters = torch.randint(1, self.labels + 1, (rows, max(1, length // 3)), generator=own)
        full = torch.full((rows,), length)
        return self.loss(self.source(frames, full), self.target(letters, torch.full_like(full, letters.shape[1])))
