# %% [markdown]
# # Lesson 4: attention by hand
#
# **What does an attention layer compute, number by number, and what can it do without training?**
#
# You will compute one attention head with numbers that you can check by hand, look at three common mistakes (scale,
# mask, heads), and set the weights of useful heads by hand: one looks at the word before, two find out what *it* means,
# and one finds the translation of a word.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from langladder.nn.attention import masked_softmax
from langladder.nn.multi_head_attention import MultiHeadAttention, attend
from langladder.nn.token_embedding import sinusoidal
from microworld.corpora import draw_pairs

torch.set_printoptions(precision=4, sci_mode=False)

# %% [markdown]
# ## Why attention
#
# A translator of two recurrent networks (Sutskever et al. 2014) reads a sentence into one vector, and writes the
# translation from it. The vector has the same size for 5 words and for 50: the longer the sentence, the more of it is
# lost (Cho et al. 2014). Bahdanau et al. (2015) keep the state of *every* source word. Before each word that it writes,
# the translator scores all these states, turns the scores into weights with a softmax, and reads the weighted mean. So
# nothing has to fit into one vector. You will compute this step. The ladder's report shows what it is worth (the
# BLEU of both translators; without attention it is low at every length there). The claim `attention_by_length` measures
# the fall with length, on translators of its own.
#
# ## Three words, two numbers each
#
# Each row of X is a word (the, cat, sat): four numbers. W_Q turns a word into what it *asks* for (its query), W_K into
# what it *offers* (its key):
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
# The score of *the* for itself: 0.41 · 0.11 + 0.26 · 0.19 = 0.0945, divided by √2. The softmax of the three scores of a
# row says how much *the* reads of each word. The output is the mean of the *values* V with these weights. A trained
# layer has a third matrix for them, V = X W_V. Here the values are the words themselves, V = X.

# %%
scores = Q @ K.T / math.sqrt(2)  # (3, 3)
A = scores.softmax(-1)
print("scores · √2", scores * math.sqrt(2), "A", A, sep="\n")
assert math.isclose(float(scores[0, 0]) * math.sqrt(2), 0.41 * 0.11 + 0.26 * 0.19, abs_tol=1e-6)
assert torch.allclose(A[0], torch.tensor([0.3117, 0.3714, 0.3169]), atol=1e-4)
assert torch.allclose(A.sum(-1), torch.ones(3)), "each row is a distribution"

output, weights = attend(Q, K, X, None)  # the library's function; here the values are the words themselves
assert torch.allclose(weights, A) and torch.allclose(output, A @ X)

# %% [markdown]
# **Exercise 1.** Which word does every row read most, and why is the preference so weak?
#
# <details><summary>Answer</summary>
#
# The second, *cat*: its key (0.55, 0.45) is the longest, and points in the direction of all queries. The scores of a
# row differ by less than 0.2, and softmax turns a difference δ into a ratio e^δ: at most 1.2.
#
# </details>

# %%
assert (A.argmax(-1) == 1).all() and float(scores.max() - scores.min()) < 0.25

# %% [markdown]
# ## Why √d
#
# If the entries of q and k are independent, with mean 0 and variance 1, the variance of q · k is d. So a wider head has
# larger scores, and its softmax gives nearly everything to one word. There the gradient is nearly 0, and nothing is
# learnt. Divided by √d, the scores have variance 1 whatever the width.

# %%
torch.manual_seed(0)
largest = {}
for d in (4, 64, 512):
    q, k = torch.randn(4000, d), torch.randn(4000, d)
    products = (q * k).sum(-1)
    many = torch.randn(500, d) @ torch.randn(16, d).T  # 500 queries, 16 keys
    largest[d] = [float(table.softmax(-1).max(-1).values.mean()) for table in (many, many / math.sqrt(d))]
    print(
        f"d = {d:3}: variance {products.var():6.1f}, of the scaled {(products / math.sqrt(d)).var():.2f};  "
        f"the largest of 16 weights {largest[d][0]:.2f}, scaled {largest[d][1]:.2f}"
    )
    assert 0.85 * d < products.var() < 1.15 * d
assert largest[512][0] > 0.9 and largest[512][1] < 0.4

# %% [markdown]
# "The gradient is nearly 0" is a statement about the Jacobian of the softmax p = softmax(s): the table of the
# derivatives of each weight with respect to each score.
#
#     ∂p_i/∂s_j = p_i (1 if i = j, otherwise 0) − p_i p_j,   as a matrix diag(p) − p pᵀ
#
# If one weight is 1 and the others are 0, every entry is 0. Each row and each column sums to 0, because adding the same
# number to all scores changes nothing.

# %% alt="Two Jacobians of a softmax: of weak scores, and of the same scores times eight"
weak = torch.tensor([0.5, 0.0, -0.3, 0.2])
jacobians = [torch.autograd.functional.jacobian(lambda s: s.softmax(-1), factor * weak) for factor in (1, 8)]
figure, places = plt.subplots(1, 2, figsize=(7, 2.8))
for drawn, factor, jacobian in zip(places, (1, 8), jacobians, strict=True):
    p = (factor * weak).softmax(-1)
    assert torch.allclose(jacobian, p.diag() - p.outer(p), atol=1e-6)
    assert torch.allclose(jacobian.sum(-1), torch.zeros(4), atol=1e-6)
    drawn.imshow(jacobian, cmap="RdBu", vmin=-0.25, vmax=0.25)
    drawn.set_title(f"p = {', '.join(f'{weight:.2f}' for weight in p)}", fontsize=9)
    for (i, j), value in np.ndenumerate(jacobian.numpy()):
        drawn.text(j, i, f"{round(float(value), 2) + 0:.2f}", ha="center", va="center", fontsize=8)
figure.tight_layout()
assert jacobians[1].abs().max() < 0.5 * jacobians[0].abs().max()

# %% [markdown]
# ## The mask
#
# A language model must not see the words that it has to predict. The scores of later positions are set to −∞ *before*
# the softmax.

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
# (1, 0, 0) instead of (1, −∞, −∞): a score of 0 does not exclude a word, because e⁰ = 1. The weights are 0.576, 0.212
# and 0.212, so the first position gives 42 % of its weight to the future. The training loss looks excellent, and the
# text that the model writes is bad.
#
# </details>

# %%
leaky = (S * causal).softmax(-1)
assert torch.allclose(leaky[0], torch.tensor([0.5761, 0.2119, 0.2119]), atol=1e-4)

# %% [markdown]
# ## Without positions there is no order
#
# Shuffle the words, and the outputs are shuffled in the same way; nothing else changes. Attention sees a *set* of
# words. Their positions must be added to X (a causal mask shows some order by itself: claim `gpt_ablations`).
# Sinusoids (Vaswani et al. 2017) do this with waves of decreasing frequency.

# %%
turned = torch.tensor([2, 0, 1])
again, _ = attend(Q[turned], K[turned], X[turned], None)
assert torch.allclose(again, output[turned], atol=1e-6), "the outputs of a shuffled text are the shuffled outputs"

P = sinusoidal(48, 64)  # (48 positions, 64 numbers)
print(sinusoidal(3, 4))
assert torch.allclose(sinusoidal(3, 4)[1], torch.tensor([0.8415, 0.5403, 0.0100, 1.0000]), atol=1e-4)

# %% alt="The sinusoidal code of 48 positions: a row a position, a column a number of its code"
figure, axes = plt.subplots(figsize=(7, 3.4))
drawn = axes.imshow(P, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
axes.set(xlabel="number of the code: sine, cosine, sine, cosine …", ylabel="position")
figure.colorbar(drawn)
figure.tight_layout()
assert P.abs().max() <= 1 and torch.cdist(P, P).add(torch.eye(48) * 9).min() > 0.5, (
    "no two positions have the same code"
)

# %% [markdown]
# A row is the code of one position. Two neighbouring columns are the sine and the cosine of one wave. The waves at the
# left turn once in 6 positions, those at the right hardly change in 48: together they are like the hands of a clock,
# some fast and some slow. The code is added to the vector of the word.
#
# ## A head set by hand: the word before
#
# With sinusoids, the step from position p to p − 1 is a rotation, the same for all p: sin(p − 1) and cos(p − 1) are
# linear combinations of sin p and cos p. So one fixed matrix W_Q turns the code of each position into the code of the
# position before. A head with this W_Q and K = P attends to the word before, at every position. Nothing was trained.

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
# Three rotations: `torch.linalg.matrix_power(back, 3)`, or the angle 3 · rate. The paper chose sinusoids for this
# reason: a step of any length is a linear map.
#
# </details>

# %%
_, three = attend(P @ torch.linalg.matrix_power(back, 3) * 20, P, P, torch.tril(torch.ones(48, 48, dtype=torch.bool)))
assert (three[3:].argmax(-1) == torch.arange(45)).all()

# %% [markdown]
# ## Many heads
#
# Several heads look for several things at once: the width D is divided into h parts. There is a common mistake: (T, D)
# must become (T, h, D/h), and *then* be transposed to (h, T, D/h). A direct reshape to (h, T, D/h) mixes positions.

# %%
one = torch.arange(12.0).view(1, 3, 4)  # T = 3 positions, D = 4
right = MultiHeadAttention(width=4, heads=2, dropout=0.0).split(one)  # (1, 2, 3, 2)
wrong = one.view(1, 2, 3, 2)
print("head 1, right:", right[0, 0].tolist(), " wrong:", wrong[0, 0].tolist())
assert right[0, 0, 1].tolist() == [4, 5] and wrong[0, 0, 1].tolist() == [2, 3]

# %% [markdown]
# ## Two layers set by hand: what does *it* mean?
#
# *The animal did not cross the street because it was too tired.* Replace *tired* by *wide*, and *it* is the street. So
# *it* must find out what is said about it, and then look for a noun that fits. Two heads, one after the other, can do
# this. Each word has five numbers here: is it a noun, a pronoun, an adjective; does it go with living things, with
# things that have a width?
#
# - Layer 1: a pronoun asks for adjectives, and adds to itself what they go with.
# - Layer 2: a pronoun asks for nouns that go with the same as itself.

# %% alt="What the word it reads in the second layer: the animal if it was tired, the street if it was wide"
#                       noun pronoun adjective living wide
marks = {
    "animal": [1.0, 0.0, 0.0, 1.0, 0.0],
    "street": [1.0, 0.0, 0.0, 0.0, 1.0],
    "it": [0.0, 1.0, 0.0, 0.0, 0.0],
    "tired": [0.0, 0.0, 1.0, 1.0, 0.0],
    "wide": [0.0, 0.0, 1.0, 0.0, 1.0],
}
noun, pronoun, adjective = 0, 1, 2
ask_adjective, ask_fitting_noun, give = torch.zeros(3, 5, 5)
ask_adjective[pronoun, adjective] = 20  # W_Q of layer 1
give[3, 3] = give[4, 4] = 1  # W_V of layer 1: what an adjective goes with
ask_fitting_noun[pronoun, noun] = 20  # W_Q of layer 2
ask_fitting_noun[3, 3] = ask_fitting_noun[4, 4] = 10

figure, places = plt.subplots(2, 1, figsize=(7, 2.6))
for drawn, last, meant in zip(places, ("tired", "wide"), ("animal", "street"), strict=True):
    sentence = f"the animal did not cross the street because it was too {last}".split()
    x = torch.tensor([marks.get(word, [0.0] * 5) for word in sentence])
    x = x + attend(x @ ask_adjective, x, x @ give, None)[0]
    reads = attend(x @ ask_fitting_noun, x, x, None)[1][sentence.index("it")]
    drawn.imshow(reads[None], cmap="Blues", vmin=0, vmax=1, aspect="auto")
    drawn.set_xticks(range(len(sentence)), sentence, fontsize=8)
    drawn.set_yticks([0], ["it reads"])
    assert sentence[int(reads.argmax())] == meant and reads.max() > 0.9
    print(f"too {last}: it → {sentence[int(reads.argmax())]}, {float(reads.max()):.2f}")
figure.tight_layout()

# %% [markdown]
# This sentence is the usual example since 2017: in a trained Transformer that translates, one of the heads gives such a
# picture. But a picture of attention says what a head reads, not what the network concludes from it.
#
# ## Attention as a soft dictionary
#
# In a translator the queries come from one language and the keys from the other. Here the score of an Esperanto word
# *o* and an English word *e* is computed by counting, with Dice's coefficient: twice the number of sentence pairs that
# contain both words, divided by the number that contain *o* plus the number that contain *e*.
#
#     score(o, e) = 2 · #(o and e) / (#(o) + #(e))
#
# (Jaccard's index J divides #(o and e) by the number of pairs that contain at least one of the two. With Dice's
# coefficient D, J = D / (2 − D), so both rank the words alike.)
#
# The softmax of these scores, multiplied by 10, is an alignment of the words:

# %%
pairs = draw_pairs(1, "train", 4_000)  # two lines of a story each
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
each = np.add.outer(has_eo.sum(0), has_en.sum(0))
dice = 2 * together / each
assert np.allclose(together / (each - together), dice / (2 - dice)), "Jaccard's index"

place = next(i for i, (a, b) in enumerate(zip(english, esperanto, strict=True)) if len(a) == 11 and 8 < len(b) < 12)
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
# Is it right? Check some words whose translation is known:

# %%
spelt = sorted(en)
dictionary = {word: spelt[int(dice[row].argmax())] for word, row in eo.items()}
known = {"la": "the", "sed": "but", "ĉar": "because", ".": ".", "bovino": "cow", "supo": "soup", "reĝino": "queen"}
print({word: dictionary[word] for word in known})
assert sum(dictionary[word] == right for word, right in known.items()) >= 6

# %% [markdown]
# **Exercise 4.** *supon* is *soup*, too, as the object of a sentence. Look at `dictionary["supon"]` and at its score
# beside that of *supo*. What does a table of whole words not know, and which models know it?
#
# <details><summary>Answer</summary>
#
# For the table, *supo* and *supon* are two unrelated words: each is counted by itself, and they share the
# occurrences of *soup*. The form with more of them gets the higher score. Tokens smaller than a word (BPE, characters)
# share *sup*. And a trained translator does not score single words but states that have read the sentence, so it
# knows which of two equal words is meant.
#
# </details>

# %%
for word in ("supo", "supon"):
    row = dice[eo[word]]
    print(f"{word}: {dictionary[word]} {row.max():.2f}, in {int(has_eo[:, eo[word]].sum())} sentences")
assert dictionary["supon"] == "soup"

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can compute one attention head by hand, and explain the scale, the mask, the positions and the
# heads.
#
# | minutes | what |
# | ---: | --- |
# | 0–5 | "The animal did not cross the street because **it** was too tired": which word does *it* need to read? |
# | 5–15 | Why attention, in one minute; three words: Q, K, scores, softmax with a pencil; exercise 1 |
# | 15–20 | Why √d: guess the largest of 16 weights for d = 512 before you show it |
# | 20–25 | The mask; exercise 2: find the colleague's mistake |
# | 25–33 | Shuffle the words: what changes? Positions; the head that looks back; exercise 3 |
# | 33–37 | *it* again: what does each of the two layers read? |
# | 37–45 | Heads and their trap; attention as a soft dictionary, the picture; exercise 4 |
#
# **On the board.**
#
#     A = softmax(Q Kᵀ / √d)        output = A V
#
# The 3 × 3 table of scores with *the*, *cat*, *sat* at both sides, and its upper triangle crossed out for the mask.
# Beside it a circle with the angle of a position, and an arrow that turns it back by one.
#
# **Three questions.**
#
# 1. *What does a row of A sum to, and what does a column?* A row to 1, because softmax is taken over the words that are
#    read. A column to anything.
# 2. *Why is the mask −∞ and not 0?* Softmax takes e to the score. e⁰ = 1 still reads the word; e^(−∞) = 0 does not.
# 3. *Which sentence does attention without positions confuse with "dog bites man"?* "man bites dog": the same set of
#    words.
#
# **If a student asks** why attention was invented: without it, a translator reads the source into one vector, of the
# same size for 5 words and for 50. Attention reads every source word again, before each word that it writes. Show *BLEU
# by length* in the report: the curve of seq2seq is low at every length, that of attention high. The claim
# `attention_by_length` measures the fall with length, on translators of its own.
