# %% [markdown]
# # Lesson 5: a GPT in 100 lines
#
# **What is inside a GPT, and is it better than counting?**
#
# You will write a GPT in plain PyTorch, test that it does not see the future, train it for some seconds, compare it
# with n-grams on the same text, look at its attention, and let it write. The cell *The GPT* has everything, in less
# than 100 lines.

# %%
import math
from collections import Counter, defaultdict
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from microworld.corpora import draw_text

# %% [markdown]
# ## The text
#
# 1,200 stories of microworld, the project's own small world, in one long row of words. ⏎ marks the end of a line. Words
# that occur only in the test text become `<unk>`.

# %%
tables = {split: draw_text(1, split, 0, stories) for split, stories in (("train", 1_200), ("test", 70))}
END, UNK = "⏎", "<unk>"
train, test = (
    [word for line in tables[split]["text"].to_pylist() for word in [*line.split(), END]] for split in ("train", "test")
)
vocabulary = [*sorted(set(train)), UNK]
number = {word: i for i, word in enumerate(vocabulary)}


def encode(words: list[str]) -> Tensor:
    """Words as numbers."""
    return torch.tensor([number.get(word, number[UNK]) for word in words])


print(" ".join(train[:40]))
print(f"{len(train):,} words to learn from, {len(test):,} to test, a vocabulary of {len(vocabulary)}")
assert sum(word not in number for word in test) / len(test) < 0.001

# %% [markdown]
# ## The GPT
#
# A word becomes a vector (`words`), to which the vector of its position is added (`places`). This *residual stream* x
# passes through two blocks. Each block adds something to it, twice:
#
#     x ← x + Attention(LayerNorm(x))     positions exchange what they know: Q, K, V, lesson 4
#     x ← x + MLP(LayerNorm(x))           each position by itself works out what follows from it
#
# At the end the vector of each position is compared with all word vectors: the dot products are the scores of the next
# word (Vaswani et al. 2017; Radford et al. 2018, with the LayerNorm first as in GPT-2, 2019).


# %%
class Attention(nn.Module):
    """Causal self-attention with several heads."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        B, T, D = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)  # (B, T, D) each
        q, k, v = (part.view(B, T, self.heads, D // self.heads).transpose(1, 2) for part in (q, k, v))  # (B, h, T, D/h)
        scores = q @ k.transpose(-2, -1) / math.sqrt(D // self.heads)  # (B, h, T, T)
        future = torch.ones(T, T, dtype=torch.bool).triu(1)
        self.weights = scores.masked_fill(future, -torch.inf).softmax(dim=-1)  # kept for the pictures
        mixed = (self.weights @ v).transpose(1, 2).reshape(B, T, D)
        return self.out(mixed)


class Block(nn.Module):
    """Attention and a small network, each added to the stream."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    """From the words so far to the scores of the next one, at each position."""

    def __init__(self, vocabulary: int, context: int = 32, width: int = 64, heads: int = 4, layers: int = 2) -> None:
        super().__init__()
        self.context = context
        self.words, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        for table in (self.words, self.places):
            nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:  # (B, T) → (B, T, V)
        x = self.words(ids) + self.places.weight[: ids.shape[1]]  # (B, T, D)
        for block in self.blocks:
            x = block(x)
        return self.norm(x) @ self.words.weight.T

    def loss(self, rows: Tensor) -> Tensor:
        """Mean surprise, in nats, of each word after those before it; rows (B, T + 1)."""
        scores = self(rows[:, :-1])
        return F.cross_entropy(scores.flatten(0, 1), rows[:, 1:].flatten())

    @torch.no_grad()
    def write(self, ids: Tensor, words: int, temperature: float = 1.0) -> Tensor:
        """Draw words one after the other; ids (T,)."""
        for _ in range(words):
            scores = self(ids[None, -self.context :])[0, -1]
            drawn = torch.multinomial((scores / temperature).softmax(dim=-1), 1)
            ids = torch.cat([ids, drawn])
        return ids


def fit(model: GPT, text: Tensor, steps: int, batch: int = 24, rate: float = 0.008) -> list[float]:
    """Train on rows from random places of the text."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, betas=(0.9, 0.95), weight_decay=0.1)
    losses = []
    for step in range(steps):
        warm, left = min(1, (step + 1) / 20), 0.5 + 0.5 * math.cos(math.pi * step / steps)
        for group in optimizer.param_groups:
            group["lr"] = rate * warm * max(left, 0.05)
        starts = torch.randint(len(text) - model.context, (batch,))
        loss = model.loss(torch.stack([text[i : i + model.context + 1] for i in starts]))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


# %%
torch.manual_seed(1)
gpt = GPT(len(vocabulary))
print(f"{sum(p.numel() for p in gpt.parameters()):,} parameters")

# %% [markdown]
# **Exercise 1.** Where are the parameters? Work out how many the word vectors have, and how many one block has
# (D = 64; forget the biases and the LayerNorms).
#
# <details><summary>Answer</summary>
#
# The word vectors: some 770 words · 64, about 49,300. A block: Q, K, V and the output 4 · 64², the MLP 2 · 4 · 64², in
# all 12 · 64² = 49,152. A block of GPT has 12 D² weights, whatever its size.
#
# </details>

# %%
matrices = sum(p.numel() for p in gpt.blocks[0].parameters() if p.dim() == 2)
assert matrices == 12 * 64**2 and gpt.words.weight.numel() == len(vocabulary) * 64

# %% [markdown]
# ## The future changes nothing
#
# The test that every language model must pass: change the last word, and nothing that was said before may change. And
# a check of the other side: a change of the *first* word must reach the end.

# %%
row = encode(train[:20])[None]
other = row.clone()
other[0, -1] = number["cow"] if int(row[0, -1]) != number["cow"] else number["dog"]
with torch.no_grad():
    assert torch.equal(gpt(row)[0, :-1], gpt(other)[0, :-1]), "a position sees a later one"
    other = row.clone()
    other[0, 0] = number["cow"]
    assert not torch.allclose(gpt(row)[0, -1], gpt(other)[0, -1]), "the last position does not see the first"
    before = float(gpt.loss(encode(test[:33])[None]))
print(f"untrained: {before:.2f} nats per word; a guess among all words is ln {len(vocabulary)} = ", end="")
print(f"{math.log(len(vocabulary)):.2f}")
assert abs(before - math.log(len(vocabulary))) < 0.5

# %% [markdown]
# **Exercise 2.** Replace `triu(1)` by `triu(2)`. What does the test say, and what would the training loss do?
#
# <details><summary>Answer</summary>
#
# Each position then sees the next word, the very one that it is to predict. The test fails. The training loss falls
# almost to 0, and the model writes nonsense, because the next word is not there when it writes.
#
# </details>

# %%
scores = torch.zeros(4, 4).masked_fill(torch.ones(4, 4, dtype=torch.bool).triu(2), -torch.inf).softmax(-1)
assert scores[1, 2] > 0, "with triu(2) position 1 reads position 2"

# %% [markdown]
# ## Train it
#
# 800 steps of 24 rows of 32 words.

# %%
losses = fit(gpt, encode(train), steps=800)
print(f"loss: {losses[0]:.2f} at the first step, {sum(losses[-50:]) / 50:.2f} over the last 50")
assert losses[0] - sum(losses[-50:]) / 50 > 3

# %% [markdown]
# ## Against counting
#
# N-grams with back-off (lesson 3), on the same text. The perplexity of the GPT is measured in windows that overlap by
# one half, so that each word has at least 16 words before it.


# %%
def ngram_perplexity(order: int, discount: float = 0.75) -> float:
    """Absolute discounting with interpolation: see lesson 3."""
    counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for i in range(order, len(train)):
        for n in range(order):
            counts[tuple(train[i - n : i])][train[i]] += 1
    total = {history: found.total() for history, found in counts.items()}

    def p(word: str, history: tuple[str, ...]) -> float:
        shorter = p(word, history[1:]) if history else 1 / len(vocabulary)
        if history not in total:
            return shorter
        found = counts[history]
        return (max(found[word] - discount, 0) + discount * len(found) * shorter) / total[history]

    surprise = [-math.log(p(test[i], tuple(test[i - order + 1 : i]))) for i in range(order, len(test))]
    return math.exp(sum(surprise) / len(surprise))


@torch.no_grad()
def gpt_perplexity(model: GPT, text: Tensor) -> float:
    """Each word after at least half a window."""
    half, total, words = model.context // 2, 0.0, 0
    for start in range(0, len(text) - model.context, half):
        row = text[start : start + model.context + 1]
        surprise = F.cross_entropy(model(row[None, :-1])[0], row[1:], reduction="none")[-half:]
        total, words = total + float(surprise.sum()), words + half
    return math.exp(total / words)


lowest = math.exp(-math.fsum(tables["test"]["log_prob"].to_pylist()) / len(test))
figures = {f"{order}-gram": ngram_perplexity(order) for order in (1, 2, 3)}
figures |= {"GPT": gpt_perplexity(gpt, encode(test)), "entropy floor": lowest}
for name, value in figures.items():
    print(f"{name:<14} {value:7.2f} per word, {math.log(value):.2f} nats")
assert lowest < figures["GPT"] < 0.9 * min(value for name, value in figures.items() if "gram" in name)

# %% alt="Loss of the GPT by training step, with lines for the 3-gram and the entropy floor"
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(losses, linewidth=0.8, label="GPT, training text")
axes.axhline(math.log(figures["3-gram"]), color="#8172b3", linestyle=":", label="3-gram, test text")
axes.axhline(math.log(figures["GPT"]), color="#55a868", label="GPT, test text")
axes.axhline(math.log(lowest), color="#c44e52", linestyle="--", label="entropy floor")
axes.set(xlabel="step", ylabel="nats per word")
axes.legend()
figure.tight_layout()

# %% [markdown]
# ## What it looks at
#
# The weights of all heads for one sentence of the test text. A row is a position that predicts; its columns are the
# words that it reads. Nobody told a head what to look for.

# %%
sentences = [line.split() for line in tables["test"]["text"].to_pylist()]
shown = next(words for words in sentences if "that" in words and 9 <= len(words) <= 12 and number.keys() >= set(words))
with torch.no_grad():
    gpt(encode([END, *shown])[None])
weights = torch.stack([block.attention.weights[0] for block in gpt.blocks])  # (layers, heads, T, T)
assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:-1]), atol=1e-5) and weights.triu(1).max() == 0

# %% alt="Attention of each head in both layers to the words of one sentence"
labels = [END, *shown]
figure, axes = plt.subplots(2, 4, figsize=(11, 5.6), sharex=True, sharey=True)
for layer, row in enumerate(axes):
    for head, place in enumerate(row):
        place.imshow(weights[layer, head], cmap="Blues", vmin=0, vmax=1)
        place.set_title(f"layer {layer + 1}, head {head + 1}", fontsize=9)
        place.set_xticks(range(len(labels)), labels, rotation=90, fontsize=7)
        place.set_yticks(range(len(labels)), labels, fontsize=7)
figure.tight_layout()

# %% [markdown]
# **Exercise 3.** How far back does a head look on average? Compute Σ weight · distance for each head, over this
# sentence. Which head looks at the nearest words, which one the farthest?
#
# <details><summary>Answer</summary>
#
# `distance = (torch.arange(T)[:, None] - torch.arange(T)).clamp(min=0)`, then `(weights * distance).sum(-1).mean(-1)`.
# The cell prints them. Heads differ: some work like a bigram, some collect from the whole sentence.
#
# </details>

# %%
T = len(labels)
distance = (torch.arange(T)[:, None] - torch.arange(T)).clamp(min=0)
reach = (weights * distance).sum(-1).mean(-1)  # (layers, heads)
for layer, row in enumerate(reach, start=1):
    print(f"layer {layer}:", *(f"{words:.1f}" for words in row), "words back")
assert reach.max() > 1.3 * reach.min()

# %% [markdown]
# ## Let it write

# %%
torch.manual_seed(3)
for temperature in (0.3, 1.0, 2.0):
    written = gpt.write(encode([END]), words=24, temperature=temperature)
    print(f"temperature {temperature}:", " ".join(vocabulary[i] for i in written[1:]))

# %% [markdown]
# **Exercise 4.** What does the temperature do to the probabilities? What happens near 0, and what for a very high one?
#
# <details><summary>Answer</summary>
#
# The scores are divided by it before the softmax: p^(1/temperature), normalised. Near 0 the likeliest word always
# wins (and the text repeats itself); at a very high temperature all words are equally likely.
#
# </details>

# %%
p = torch.tensor([0.7, 0.2, 0.1])
assert torch.allclose((p.log() / 0.5).softmax(-1), p**2 / (p**2).sum())
assert (p.log() / 0.01).softmax(-1)[0] > 0.999 and (p.log() / 1000).softmax(-1).std() < 0.01

# %% [markdown]
# ## After class: why GELU, why LayerNorm
#
# The MLP of a block has two matrices with GELU between them. Without it, they are one matrix:
#
#     W₂ (W₁ x) = (W₂ W₁) x
#
# However many linear layers follow each other, the result is one linear layer: a straight line, if one input varies.
# Here are five layers of 64 units with random weights, with and without GELU.

# %% alt="Output of five random layers as one input varies: a straight line without GELU, a curve with it"
draw = torch.Generator().manual_seed(2)
sizes = [1, 64, 64, 64, 64, 1]
matrices = [torch.randn(m, n, generator=draw) * (2 / n) ** 0.5 for n, m in pairwise(sizes)]
line = torch.linspace(-3, 3, 61)[:, None]  # (61, 1)
linear = curved = line
for W in matrices[:-1]:
    linear, curved = linear @ W.T, F.gelu(curved @ W.T)
linear, curved = linear @ matrices[-1].T, curved @ matrices[-1].T
product = torch.linalg.multi_dot(matrices[::-1])  # (1, 1): all five in one
assert torch.allclose(linear, line @ product.T, atol=1e-3)
assert (curved[60] - 2 * curved[30] + curved[0]).abs() > 0.1, "with GELU the ends and the middle are on no line"
figure, axes = plt.subplots(figsize=(5, 2.6))
axes.plot(line, linear, label="five linear layers")
axes.plot(line, curved, label="with GELU")
axes.set(xlabel="input", ylabel="output")
axes.legend()
figure.tight_layout()

# %% [markdown]
# LayerNorm subtracts from a vector x its mean μ, and divides by its deviation σ = √(variance + ε): x̂ = (x − μ) / σ. Its
# Jacobian, for a vector of D numbers (1 is the vector of ones, I the identity matrix), is
#
#     ∂x̂/∂x = (I − 1 1ᵀ/D − x̂ x̂ᵀ/D) / σ
#
# - The two subtracted terms remove two directions. Adding a number to all of x changes nothing, and neither does
#   multiplying x by a number (but for ε).
# - The division by σ balances the sizes: if x is ten times larger, the gradient that passes is ten times smaller.

# %% alt="Jacobian of a LayerNorm of eight numbers, of x and of ten times x"
x = torch.tensor([2.0, -1.0, 0.5, 3.0, -2.0, 0.0, 1.0, -0.5])
D, eps = len(x), 1e-5
figure, places = plt.subplots(1, 2, figsize=(7, 3))
for drawn, factor in zip(places, (1, 10), strict=True):
    jacobian = torch.autograd.functional.jacobian(lambda v: F.layer_norm(v, (D,), eps=eps), factor * x)
    sigma = (factor * x).var(correction=0).add(eps).sqrt()
    unit = F.layer_norm(factor * x, (D,), eps=eps)
    by_hand = (torch.eye(D) - torch.ones(D, D) / D - unit.outer(unit) / D) / sigma
    assert torch.allclose(jacobian, by_hand, atol=1e-5)
    assert (jacobian @ torch.ones(D)).abs().max() < 1e-4, "adding a number to all of x"
    assert (jacobian @ x).abs().max() < 1e-4, "multiplying x by a number"
    drawn.imshow(jacobian, cmap="RdBu", vmin=-0.6, vmax=0.6)
    drawn.set_title(f"{factor} · x", fontsize=9)
figure.tight_layout()

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can draw a Transformer block, name the shape of the tensor at each arrow, and say how one knows
# that a language model does not cheat.
#
# | minutes | what |
# | ---: | --- |
# | 0–5 | Ask: how many lines of code does a GPT need? Take guesses |
# | 5–18 | Read the cell *The GPT* from `forward` of `GPT` inwards; the class calls out the shapes |
# | 18–23 | The test of the future; exercise 2: predict what the broken mask does before you run it |
# | 23–28 | Start the training. While it runs: exercise 1, 12 D² |
# | 28–36 | The table: n-grams, GPT, floor. Why does the GPT win? (lesson 3: it shares what it learnt between words) |
# | 36–45 | The heads, the temperatures; what would a GPT with a thousand times more of everything do better? |
#
# **On the board.** The residual stream as a thick line from bottom to top. From it, twice in each block, a loop leaves
# and comes back with a +: first *attention* (arrows from earlier positions only), then *MLP* (no arrows between
# positions). Shapes beside it: (B, T) → (B, T, D) → (B, h, T, T) → (B, T, D) → (B, T, V).
#
# **Three questions.**
#
# 1. *What is the loss of an untrained model with V words?* About ln V: it guesses all words alike. Here ln 771 = 6.65.
# 2. *Which part lets positions exchange information?* Attention alone. LayerNorm, MLP and embeddings treat each
#    position by itself.
# 3. *How do you test that a model does not see the future?* Change a later word. All earlier outputs must stay equal.
