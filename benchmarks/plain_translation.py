"""The peers of the translators, as one writes them first: plain torch, fp32, batches of pairs in random order.

PlainTransformer   embeddings, torch.nn.Transformer, Linear, CrossEntropyLoss
PlainRNN           a GRU encoder and a decoder that makes each step whole: embedding, additive attention over the
                   annotations, GRUCell, maxout, Linear, loss (the layout of the usual tutorials)
plain_beam_search  beam search as Hugging Face's `generate`: the batch in the order it comes, keys and values
                   cached, 2K candidates a step, hypotheses kept in Python lists, every sentence carried along
                   until the last one of its batch is done
"""

import math
from collections.abc import Callable, Iterable

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from langladder.data.batches import StepBatches, generator
from langladder.data.translation import PairBatch, collate
from langladder.models.translation.translator import Translator
from langladder.nn.token_embedding import sinusoidal
from langladder.text.storage.token_streams import PairStream
from langladder.text.tokenize.specials import BOS, EOS, PAD


class UnsortedBatches(StepBatches[PairBatch]):
    """A fixed number of pairs a step, as a shuffling DataLoader gives them."""

    def __init__(self, pairs: PairStream, rows: int, seed: int) -> None:
        self.pairs, self.rows, self.seed = pairs, rows, seed

    def train(self, step: int) -> PairBatch:
        """See `StepBatches.train`."""
        epoch, place = divmod(step, len(self.pairs) // self.rows)
        order = generator(self.seed, epoch).permutation(len(self.pairs))
        return collate(self.pairs, order[place * self.rows : (place + 1) * self.rows])

    def validation(self) -> list[PairBatch]:
        """None."""
        return []

    def size(self, batch: PairBatch) -> int:
        """Predicted target tokens."""
        return int((batch.target[:, 1:] != PAD).sum())


class PlainTransformer(nn.Module):
    """torch's Transformer with what it lacks to translate. Embeddings and output are one matrix, as in ours."""

    def __init__(self, *, vocab_size: int, width: int, heads: int, layers: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.word = nn.Embedding(vocab_size, width)
        nn.init.normal_(self.word.weight, std=width**-0.5)
        self.core = nn.Transformer(width, heads, layers, layers, inner, dropout, batch_first=True)
        for parameter in self.core.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter)  # as torch's tutorial does
        self.output = nn.Linear(width, vocab_size)
        self.output.weight = self.word.weight
        nn.init.zeros_(self.output.bias)
        self.dropout, self.scale = nn.Dropout(dropout), math.sqrt(width)
        self.register_buffer("positions", sinusoidal(512, width))

    def embed(self, tokens: torch.Tensor) -> torch.Tensor:
        """(B, T) → (B, T, D)."""
        return self.dropout(self.word(tokens) * self.scale + self.positions[: tokens.shape[1]])

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """(B, S), (B, T) → logits (B, T, V)."""
        hidden = source == PAD
        later = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=torch.bool)
        y = self.core(
            self.embed(source),
            self.embed(target),
            tgt_mask=later,
            src_key_padding_mask=hidden,
            tgt_key_padding_mask=target == PAD,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return self.output(y)


class PlainRNN(nn.Module):
    """Bahdanau's model, whole steps in a loop. Sizes as of `AttentionSeq2Seq`."""

    def __init__(self, *, vocab_size: int, embedding: int, width: int, attention: int) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(vocab_size, embedding), nn.Embedding(vocab_size, embedding)
        for table in (self.source, self.target):
            nn.init.normal_(table.weight, std=embedding**-0.5)
        self.encoder = nn.GRU(embedding, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)
        self.query, self.key = nn.Linear(width, attention, bias=False), nn.Linear(2 * width, attention, bias=False)
        self.v = nn.Linear(attention, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * width, width)
        self.readout = nn.Linear(width + embedding + 2 * width, 2 * embedding)
        self.output = nn.Linear(embedding, vocab_size)
        self.output.weight = self.target.weight

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """(B, S), (B, T) → logits (B, T, V)."""
        lengths = (source != PAD).sum(dim=1)
        packed = nn.utils.rnn.pack_padded_sequence(self.source(source), lengths, batch_first=True, enforce_sorted=False)
        output, last = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        s = torch.tanh(self.bridge(torch.cat([last[0], last[1]], dim=-1)))
        keys, outside = self.key(memory), source == PAD
        logits = []
        for t in range(target.shape[1]):
            x = self.target(target[:, t])
            scores = self.v(torch.tanh(self.query(s).unsqueeze(1) + keys)).squeeze(2).masked_fill(outside, -math.inf)
            context = torch.bmm(scores.softmax(1).unsqueeze(1), memory).squeeze(1)
            s = self.cell(torch.cat([x, context], dim=1), s)
            units = self.readout(torch.cat([s, x, context], dim=1))
            logits.append(self.output(torch.maximum(*units.chunk(2, dim=1))))
        return torch.stack(logits, dim=1)


def train_plain(
    model: nn.Module,
    batches: StepBatches[PairBatch],
    steps: Iterable[int],
    rate: Callable[[int], float],
    *,
    betas: tuple[float, float],
    clip: float,
) -> None:
    """Adam, cross-entropy of what is not padding, gradient clipping, the loss read at every step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=1.0, betas=betas)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    model.train()
    for step in steps:
        source, target = batches.train(step)
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        logits = model(source, target[:, :-1])
        loss = criterion(logits.flatten(0, 1), target[:, 1:].flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        loss.item()


@torch.no_grad()
def plain_beam_search(
    model: Translator, source: torch.Tensor, *, width: int, alpha: float, limit: int
) -> list[list[int]]:
    """The best translation of each row of (N, S), with the model's own cached `encode` and `step`.

    As `BeamSearchScorer`: a sentence is done when K hypotheses are finished and the best living one, at its present
    length, cannot beat the worst of them.
    """
    N, K = len(source), width
    state = model.encode(source, source != PAD)
    state = model.reorder(state, torch.arange(N).repeat_interleave(K))
    prefix = torch.full((N * K, 1), BOS, dtype=torch.int64)
    sums = torch.full((N, K), -1e9)
    sums[:, 0] = 0.0
    finished: list[list[tuple[float, list[int]]]] = [[] for _ in range(N)]
    done = [False] * N
    for length in range(1, limit + 1):
        log_probs, state, _ = model.step(prefix, state)  # (N·K, V)
        V = log_probs.shape[1]
        log_probs[:, [PAD, BOS]] = -math.inf
        candidates = (log_probs + sums.view(-1, 1)).view(N, K * V)
        best, place = candidates.topk(2 * K, dim=1)
        parents, tokens = place // V, place % V
        beams, words, scores = [], [], []
        for n in range(N):
            if done[n]:
                beams += [n * K] * K
                words += [PAD] * K
                scores += [0.0] * K
                continue
            kept = 0
            for rank in range(2 * K):
                token, row = int(tokens[n, rank]), n * K + int(parents[n, rank])
                if token == EOS:
                    if rank < K:
                        score = float(best[n, rank]) / length**alpha
                        finished[n].append((score, prefix[row, 1:].tolist()))
                        finished[n] = sorted(finished[n], key=lambda found: -found[0])[:K]
                else:
                    beams.append(row)
                    words.append(token)
                    scores.append(float(best[n, rank]))
                    kept += 1
                if kept == K:
                    break
            done[n] = len(finished[n]) == K and finished[n][-1][0] >= float(best[n].max()) / length**alpha
        if all(done):
            break
        index = torch.tensor(beams)
        prefix = torch.cat([prefix[index], torch.tensor(words).unsqueeze(1)], dim=1)
        sums = torch.tensor(scores).view(N, K)
        state = model.reorder(state, index, same_source=True)
    for n in range(N):
        if not done[n]:
            for beam in range(K):
                score = float(sums[n, beam]) / prefix.shape[1] ** alpha
                finished[n].append((score, prefix[n * K + beam, 1:].tolist()))
    return [max(found, key=lambda one: one[0])[1] for found in finished]


def validation_loss(forward: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], batches: list[PairBatch]) -> float:
    """Cross-entropy a target token, plain."""
    total, count = 0.0, 0
    with torch.no_grad():
        for source, target in batches:
            logits = forward(source, target[:, :-1])
            following = target[:, 1:]
            loss = functional.cross_entropy(
                logits.flatten(0, 1), following.flatten(), ignore_index=PAD, reduction="sum"
            )
            total, count = total + float(loss), count + int((following != PAD).sum())
    return total / count


def order_of_arrival(lengths: np.ndarray, rows: int) -> list[np.ndarray]:
    """Sentences in the order they come, `rows` at a time."""
    return np.array_split(np.arange(len(lengths)), range(rows, len(lengths), rows))
