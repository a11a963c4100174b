# %% [markdown]
# # Lesson 3: attention by hand
#
# **What does an attention layer compute, number by number, and what can it do before anything was learnt?**
#
# You will compute one attention head with a pencil's worth of numbers, break it in the three ways in which it is
# usually broken (scale, mask, heads), and set the weights of two useful heads by hand: one that looks at the word
# before, and one that finds a word's translation.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from langladder.corpora.microworld import MicroworldConfig, generate_parallel
from langladder.nn.attention import masked_softmax
from langladder.nn.multi_head_attention import MultiHeadAttention, attend
from langladder.nn.token_embedding import sinusoidal

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## Three words, two numbers each
#
# Each row of X is a word (the, cat, sat), four numbers long. W_Q makes of a word what it *asks*, W_K what it
# *offers*:
#
#     Q = X W_Q,   K = X W_K,   A = softmax(Q Kᵀ / √d)

# %%
X = torch.tensor([[0.5, 0.3, 0.8, 0.2], [0.6, 0.9, 0.1, 0.7], [0.2, 0.4, 0.5, 0.3]])  # (3, 4)
W_Q = torch.tensor([[0.2, 0.1], [-0.1, 0.3], [0.4, 0.2], [0.1, -0.2]])  # (4, 2)
W_K = torch.tensor([[0.3, -0.1], [0.2, 0.4], [-0.2, 0.1], [0.3, 0.2]])
Q, K = X @ W_Q, X @ W_K  # (3, 2)
print("Q", Q, "K", K, sep="\n")
assert torch.allclose(Q, torch.tensor([[0.41, 0.26], [0.14, 0.21], [0.23, 0.18]]), atol=1e-6)
assert torch.allclose(K, torch.tensor([[0.11, 0.19], [0.55, 0.45], [0.13, 0.25]]), atol=1e-6)

# %% [markdown]
# The first question of *the*: 0.41 · 0.11 + 0.26 · 0.19 = 0.0945, divided by √2. Three such scores, a softmax, and
# the row says how much of each word *the* will read.

# %%
scores = Q @ K.T / math.sqrt(2)  # (3, 3)
A = scores.softmax(-1)
print("scores · √2", scores * math.sqrt(2), "A", A, sep="\n")
assert math.isclose(float(scores[0, 0]) * math.sqrt(2), 0.41 * 0.11 + 0.26 * 0.19, abs_tol=1e-6)
assert torch.allclose(A[0], torch.tensor([0.3117, 0.3714, 0.3169]), atol=1e-4)
assert torch.allclose(A.sum(-1), torch.ones(3)), "each row is a distribution"

output, weights = attend(Q, K, X, None)  # the house's equation: the values are here the words themselves
assert torch.allclose(weights, A) and torch.allclose(output, A @ X)

# %% [markdown]
# **Exercise 1.** Which word does every row read most, and why is the preference so faint?
#
# <details><summary>Answer</summary>
#
# The second, *cat*: its key (0.55, 0.45) is the longest and points where all questions point. The scores differ by
# less than 0.2, and softmax turns a difference δ into a ratio e^δ: at most 1.2.
#
# </details>

# %%
assert (A.argmax(-1) == 1).all() and float(scores.max() - scores.min()) < 0.25

# %% [markdown]
# ## Why √d
#
# If the entries of q and k have variance 1, the variance of q · k is d: the wider the head, the larger the scores,
# and the harder the softmax, whose gradient dies where it is hard. Divided by √d the variance is 1 whatever the
# width.

# %%
torch.manual_seed(0)
largest = {}
for d in (4, 64, 512):
    q, k = torch.randn(4000, d), torch.randn(4000, d)
    products = (q * k).sum(-1)
    many = torch.randn(500, d) @ torch.randn(16, d).T  # 500 questions to 16 keys
    largest[d] = [float(table.softmax(-1).max(-1).values.mean()) for table in (many, many / math.sqrt(d))]
    print(
        f"d = {d:3}: variance {products.var():6.1f}, of the scaled {(products / math.sqrt(d)).var():.2f};  "
        f"the largest of 16 weights {largest[d][0]:.2f}, scaled {largest[d][1]:.2f}"
    )
    assert 0.85 * d < products.var() < 1.15 * d
assert largest[512][0] > 0.9 and largest[512][1] < 0.4

# %% [markdown]
# ## The mask
#
# A language model must not look at what it is to predict. Scores of later positions are set to −∞ *before* the
# softmax.

# %%
S = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
causal = torch.tril(torch.ones(3, 3, dtype=torch.bool))
masked = masked_softmax(S, causal)
print(masked)
assert torch.allclose(masked[1], torch.tensor([0.2689, 0.7311, 0.0]), atol=1e-4) and masked[0, 0] == 1

# %% [markdown]
# **Exercise 2.** A colleague multiplies the scores by a mask of ones and zeros instead. What does the first row
# become, and what goes wrong?
#
# <details><summary>Answer</summary>
#
# (1, 0, 0) instead of (1, −∞, −∞): a score of 0 is no prohibition, e⁰ = 1. The weights are 0.576, 0.212, 0.212, so
# position 1 reads 42 % of its future. Training looks splendid, generation does not.
#
# </details>

# %%
leaky = (S * causal).softmax(-1)
assert torch.allclose(leaky[0], torch.tensor([0.5761, 0.2119, 0.2119]), atol=1e-4)

# %% [markdown]
# ## Without positions there is no order
#
# Shuffle the words, and the outputs are shuffled in the same way, otherwise nothing changes: attention sees a
# *set*. What tells positions apart must be added to X. Sinusoids (Vaswani et al. 2017) do it with waves of falling
# frequency.

# %%
turned = torch.tensor([2, 0, 1])
again, _ = attend(Q[turned], K[turned], X[turned], None)
assert torch.allclose(again, output[turned], atol=1e-6), "the outputs of a shuffled text are the shuffled outputs"

P = sinusoidal(48, 64)  # (48 positions, 64 numbers)
print(sinusoidal(3, 4))
assert torch.allclose(sinusoidal(3, 4)[1], torch.tensor([0.8415, 0.5403, 0.0100, 1.0000]), atol=1e-4)

# %% [markdown]
# ## A head set by hand: the word before
#
# From a sinusoid's position p to p − 1 is a rotation, the same for all p: sin(p − 1) and cos(p − 1) are sums of sin
# p and cos p. So a fixed matrix W_Q turns each position's code into that of the one before, and a head with this
# W_Q, and K = P, finds it, at every position. Nothing was trained.

# %%
d = P.shape[1]
rates = 10000 ** (-torch.arange(0, d, 2) / d)  # radians a position, one a wave
back = torch.zeros(d, d)
for wave, rate in enumerate(rates.tolist()):
    s, c = math.sin(rate), math.cos(rate)
    # [sin p, cos p] · [[c, s], [−s, c]] = [sin(p − 1), cos(p − 1)]
    back[2 * wave : 2 * wave + 2, 2 * wave : 2 * wave + 2] = torch.tensor([[c, s], [-s, c]])
assert torch.allclose((P @ back)[1:], P[:-1], atol=1e-4), "a fixed rotation is one step back"

_, looks = attend(P @ back * 20, P, P, torch.tril(torch.ones(48, 48, dtype=torch.bool)))
print("position 10 reads:", {place: round(float(weight), 3) for place, weight in enumerate(looks[10]) if weight > 0.01})
assert (looks[1:].argmax(-1) == torch.arange(47)).all(), "each position looks at the one before"

# %% [markdown]
# **Exercise 3.** What must change for a head that looks three positions back?
#
# <details><summary>Answer</summary>
#
# Three rotations: `torch.linalg.matrix_power(back, 3)`, or the angle 3 · rate. That any distance is a linear map is
# the reason that the paper gives for sinusoids.
#
# </details>

# %%
_, three = attend(P @ torch.linalg.matrix_power(back, 3) * 20, P, P, torch.tril(torch.ones(48, 48, dtype=torch.bool)))
assert (three[3:].argmax(-1) == torch.arange(45)).all()

# %% [markdown]
# ## Many heads
#
# Several heads look for several things at once: the width D is cut into h parts. The cut has a trap: (T, D) must
# become (T, h, D/h) and *then* be turned to (h, T, D/h). Reshaped straight to (h, T, D/h) it mixes positions.

# %%
one = torch.arange(12.0).view(1, 3, 4)  # T = 3 positions, D = 4
right = MultiHeadAttention(width=4, heads=2, dropout=0.0).split(one)  # (1, 2, 3, 2)
wrong = one.view(1, 2, 3, 2)
print("head 1, right:", right[0, 0].tolist(), " wrong:", wrong[0, 0].tolist())
assert right[0, 0, 1].tolist() == [4, 5] and wrong[0, 0, 1].tolist() == [2, 3]

# %% [markdown]
# ## Attention as a soft dictionary
#
# In a translator the questions come from one language and the keys from the other. Let the score of an Esperanto
# word *o* and an English word *e* be a mere count, Dice's coefficient: of all pairs of sentences that hold one of
# them, how many hold both?
#
#     score(o, e) = 2 · #(o and e) / (#(o) + #(e))
#
# The softmax of these scores, sharpened by a factor of 10, is an alignment of the words:

# %%
pairs = generate_parallel(MicroworldConfig(size="tiny", pairs=4_000))["train"]
english, esperanto = ([line.split() for line in pairs[side].to_pylist()] for side in ("source", "target"))


def occurrences(lines: list[list[str]]) -> tuple[dict[str, int], np.ndarray]:
    """The words of one side, numbered, and in which lines each occurs, (lines, words) of 0 and 1."""
    known = {word: i for i, word in enumerate(sorted({word for line in lines for word in line}))}
    table = np.zeros((len(lines), len(known)))
    for number, line in enumerate(lines):
        table[number, [known[word] for word in line]] = 1
    return known, table


(en, has_en), (eo, has_eo) = occurrences(english), occurrences(esperanto)
together = has_eo.T @ has_en  # (Esperanto words, English words)
dice = 2 * together / np.add.outer(has_eo.sum(0), has_en.sum(0))

place = next(i for i, (a, b) in enumerate(zip(english, esperanto, strict=True)) if len(a) == 9 and 6 < len(b) < 10)
asked, offered = esperanto[place], english[place]
chosen = torch.tensor(dice[np.ix_([eo[word] for word in asked], [en[word] for word in offered])])
alignment = (10 * chosen).softmax(-1)
for word, row in zip(asked, alignment, strict=True):
    print(f"{word:<14} ← {offered[int(row.argmax())]:<12} {float(row.max()):.2f}")

# %% alt="Attention of each Esperanto word to the English words of the same sentence"
figure, axes = plt.subplots(figsize=(6, 4))
axes.imshow(alignment, cmap="Blues", vmin=0, vmax=1)
axes.set_xticks(range(len(offered)), offered, rotation=45, ha="right")
axes.set_yticks(range(len(asked)), asked)
axes.set(xlabel="English (keys)", ylabel="Esperanto (queries)")
figure.tight_layout()

# %% [markdown]
# Is it right? Some words whose translation is known:

# %%
spelt = sorted(en)
dictionary = {word: spelt[int(dice[row].argmax())] for word, row in eo.items()}
known = {"la": "the", "kaj": "and", "ne": "not", ".": ".", "hundo": "dog", "reĝo": "king", "reĝino": "queen"}
print({word: dictionary[word] for word in known})
assert sum(dictionary[word] == right for word, right in known.items()) >= 6

# %% [markdown]
# **Exercise 4.** *hundon* is *dog* as well, as an object. Look at `dictionary["hundon"]` and at its score beside
# that of *hundo*. Which piece of knowledge does a table of whole words lack, and which rung of the ladder has it?
#
# <details><summary>Answer</summary>
#
# For the table *hundo* and *hundon* are two strangers; each must be counted by itself, and the rarer one is less
# sure. Tokens below the word (BPE, characters) share *hund*; and a trained translator does not score single words
# but states that have read the sentence, so it knows which of two equal words is meant.
#
# </details>
