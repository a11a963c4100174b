# %% [markdown]
# # Lesson 1: from counts to vectors
#
# **Can you find out what a word means from nothing but the words beside it?**
#
# You will count which words co-occur, see why raw counts mislead, correct them (PPMI), compress hundreds of numbers per
# word into 32 (SVD), and compare the result with a network that predicts the neighbours of a word (skip-gram). The text
# comes from *microworld*, the project's own small world. So it is known which words are alike, and you can judge the
# vectors.

# %%
import tempfile
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from langladder.counts.cooccurrence import CooccurrenceConfig, count_cooccurrence
from langladder.counts.weighting import ppmi
from langladder.embeddings.base import WordVectors
from langladder.embeddings.svd import truncated_svd
from langladder.embeddings.word2vec.method import Word2Vec
from langladder.evaluation.analogy import evaluate_analogies
from langladder.evaluation.similarity import evaluate_similarity
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, WordCorpus
from microworld.corpora import draw_pairs, draw_text
from microworld.truth import write_questions


def as_corpus(lines: list[str], min_count: int = 1) -> WordCorpus:
    """Lines of words, with spaces between them, as numbers: what every method of the house counts in."""
    vocabulary = Vocabulary.build(lines, VocabularyConfig(min_count=min_count))
    rows = [vocabulary.encode(line.split()) for line in lines]
    offsets = np.cumsum([0, *map(len, rows)])  # where each line begins
    return WordCorpus(TokenStream(np.concatenate(rows), offsets), vocabulary)


# %% [markdown]
# ## One-hot: every word alone
#
# The simplest vector of a word is a 1 at its own place and 0 everywhere else. The cosine of any two different words
# is then 0: *cat* is as far from *dog* as from *milk*. These vectors only say that two words are different.

# %%
toy = as_corpus(["the cat drinks milk", "the dog drinks water", "a cat chases a dog", "a dog chases a cat"])
words = toy.vocabulary.words
one_hot = WordVectors(words, np.eye(len(words), dtype=np.float32))
print("cat·dog", one_hot.similarity("cat", "dog"), " cat·milk", one_hot.similarity("cat", "milk"))
assert one_hot.similarity("cat", "dog") == one_hot.similarity("cat", "milk") == 0

# %% [markdown]
# ## What we would like: columns with a meaning
#
# If you could choose what the numbers of a word mean, you would choose properties. A table of six words and four
# properties, filled by hand (−1 male, +1 female; the others from 0, no, to 1, yes):

# %% alt="Six words by four properties: gender, royal, age, food"
properties = ["gender", "royal", "age", "food"]
by_hand = {
    "man": [-1.0, 0.0, 0.1, 0.0],
    "woman": [1.0, 0.0, 0.1, 0.0],
    "king": [-0.95, 0.93, 0.7, 0.0],
    "queen": [0.97, 0.95, 0.7, 0.0],
    "apple": [0.0, 0.0, 0.0, 0.95],
    "orange": [0.0, 0.0, 0.0, 0.97],
}
chosen = np.array(list(by_hand.values()), dtype=np.float32)
figure, axes = plt.subplots(figsize=(4.5, 2.8))
axes.imshow(chosen, cmap="RdBu", vmin=-1, vmax=1, aspect="auto")
axes.set_xticks(range(4), properties)
axes.set_yticks(range(6), list(by_hand))
for (row, column), value in np.ndenumerate(chosen):
    axes.text(column, row, f"{value:g}", ha="center", va="center", color="white" if abs(value) > 0.6 else "black")
figure.tight_layout()

# %% [markdown]
# Now words can be compared, and relations are differences: king − man + woman has gender −0.95 + 1 + 1 = 1.05, royal
# 0.93, age 0.7. The nearest row is that of *queen*.

# %%
hand = WordVectors(list(by_hand), chosen)
target = chosen[2] - chosen[0] + chosen[1]
print(", ".join(f"{name} {value:.2f}" for name, value in zip(properties, target, strict=True)))
print(f"apple·orange {hand.similarity('apple', 'orange'):.2f}  apple·king {hand.similarity('apple', 'king'):.2f}")
nearest = min(by_hand, key=lambda word: float(np.linalg.norm(np.array(by_hand[word]) - target)))
assert nearest == "queen" and hand.similarity("apple", "orange") > 0.99

# %% [markdown]
# But who fills the table for a hundred thousand words, and who chooses the properties? The text must do it. The columns
# that a method learns from a text have no names. The last section shows why.
#
# ## Counts: a word and its neighbours
#
# Count, for each pair of words, how often they are at most two words apart in the same line (a *window* of 2). Row *i*
# of this table is now the vector of word *i*.

# %%
counts = count_cooccurrence(toy.stream.ids, toy.stream.offsets, len(words), CooccurrenceConfig(window=2))
table = counts.toarray().astype(int)
print(" " * 7 + " ".join(f"{word:>6}" for word in words))
for word, row in zip(words, table, strict=True):
    print(f"{word:<7}" + " ".join(f"{number:>6}" for number in row))
assert (table == table.T).all(), "if a is near b, then b is near a"

# %% [markdown]
# *The cat drinks milk*: *the*, *drinks* and *milk* are within two words of *cat*, so each of them adds 1 to the row of
# *cat*. Two words that never occur together can now be alike, because they occur with the same words:

# %%
counted = WordVectors(words, table.astype(np.float32))
print(f"milk and water are in {table[words.index('milk'), words.index('water')]} windows together,")
print(f"and their cosine is {counted.similarity('milk', 'water'):.2f}")
assert table[words.index("milk"), words.index("water")] == 0 and counted.similarity("milk", "water") > 0.4

# %% [markdown]
# **Exercise 1.** *milk* and *water* have two neighbours each. Work out their cosine with a pencil.
#
# <details><summary>Answer</summary>
#
# The neighbours of *milk* are *cat* and *drinks*, once each; those of *water* are *dog* and *drinks*. One of the two is
# shared: the dot product is 1, both lengths are √2, so the cosine is 1 / (√2 · √2) = 0.5.
#
# </details>

# %%
assert np.isclose(counted.similarity("milk", "water"), 1 / 2)

# %% [markdown]
# ## A larger text
#
# 3,000 stories of microworld, about 210,000 words. The methods below get this text and nothing else.

# %%
lines = draw_text(1, "train", 0, 3_000)["text"].to_pylist()
corpus = as_corpus(lines, min_count=5)
V = len(corpus.vocabulary)
print(*lines[:3], f"{V} words, {len(corpus.stream.ids):,} of them in the text", sep="\n")

X = count_cooccurrence(corpus.stream.ids, corpus.stream.offsets, V, CooccurrenceConfig(window=2))
raw = WordVectors(corpus.vocabulary.words, X.astype(np.float32))
for word in ("horse", "soup"):
    print(word, "→", ", ".join(f"{other} {cosine:.2f}" for other, cosine in raw.nearest(word, 5)))

# %% [markdown]
# Not bad, but look at the cosines: nearly all are about 0.98. Every noun occurs with *the* and the full stop all the
# time, and these few huge counts hide the differences between the words.

# %%
frequent = [corpus.vocabulary.index[word] for word in ("the", ".")]
horse = X[raw.row("horse")].toarray()[0]
share = (horse[frequent] ** 2).sum() / (horse**2).sum()
print(f"share of 'the' and '.' in the squared length of horse's vector: {share:.0%}")
assert share > 0.5

# %% [markdown]
# ## PPMI: more often than by chance?
#
# Positive pointwise mutual information does not ask how often two words occur together, but how much more often than
# they would in random order:
#
#     PPMI(w, c) = max(0, log P(w, c) / (P(w) P(c)))
#
# To occur with *the* is not surprising, so it counts little. (The library raises the frequencies of the contexts to
# the power 0.75, as Levy, Goldberg and Dagan 2015 do. Otherwise the rarest contexts would get the largest values.)

# %%
weighted = ppmi(X)
informative = WordVectors(corpus.vocabulary.words, weighted.astype(np.float32))
row = weighted[raw.row("horse")].toarray()[0]
best = np.argsort(-row)[:6]
print("horse, by counts:", ", ".join(corpus.vocabulary.words[i] for i in np.argsort(-horse)[:6]))
print("horse, by PPMI:  ", ", ".join(corpus.vocabulary.words[i] for i in best))
for word in ("horse", "soup"):
    print(word, "→", ", ".join(f"{other} {cosine:.2f}" for other, cosine in informative.nearest(word, 5)))
share = (row[frequent] ** 2).sum() / (row**2).sum()
print(f"share of 'the' and '.' by PPMI: {share:.0%}")
assert share < 0.1

# %% [markdown]
# ## SVD: a few dimensions that keep the most
#
# The table has one column for each word of the vocabulary, and most entries are 0. The singular value decomposition
# finds the *k* directions that explain most of it. No other table of rank *k* has a smaller squared error (Eckart and
# Young 1936).

# %%
U, S, _ = truncated_svd(weighted.astype(np.float32), 32, seed=1)
dense = WordVectors(corpus.vocabulary.words, (U * np.sqrt(S)).astype(np.float32))
kept = (S**2).sum() / (weighted.data**2).sum()
print(f"32 of {V} dimensions keep {kept:.0%} of the table's square")

error = np.linalg.norm(weighted.toarray() - U @ (U.T @ weighted.toarray()))
lost = (weighted.data**2).sum() - (S**2).sum()
assert np.isclose(error**2, lost, rtol=0.01), "what is lost is the square of the other values"

# %% [markdown]
# ## Skip-gram: predict the neighbours
#
# A network with two tables of vectors, one for words and one for neighbours. It learns to distinguish the neighbours of
# a word from words drawn at random (Mikolov et al. 2013). Levy and Goldberg (2014) showed that it also factorises a
# table of PMI: counting and predicting lead to similar vectors.

# %%
network = Word2Vec(Word2Vec.Config(architecture="skipgram", output="negative_sampling", dim=32, epochs=10, lr=0.05))
predicted = network.make(corpus, seed=1, progress=lambda _: None).vectors

# %% [markdown]
# ## Which is best? Ask the world
#
# microworld knows which words are alike (their subject, what is done with them, what they do) and which pairs have the
# same relation (*man : woman = king : ?*). Similarity is measured by Spearman's rank correlation with the cosines,
# relations by the share of right answers.

# %%
with tempfile.TemporaryDirectory() as folder:
    write_questions(Path(folder), Counter(word for line in lines for word in line.split()), least=8, seed=1)
    figures = {
        name: (
            evaluate_similarity(vectors, Path(folder) / "similarity.tsv").sets[0].spearman,
            evaluate_analogies(vectors, Path(folder) / "analogies.txt").overall.accuracy,
        )
        for name, vectors in {"counts": raw, "PPMI": informative, "SVD": dense, "skip-gram": predicted}.items()
    }
for name, (rank, right) in figures.items():
    print(f"{name:<10} similarity {rank:.3f}   analogies {right:.0%}")
assert figures["counts"][0] < figures["PPMI"][0] < figures["skip-gram"][0], "predicting is best at similarity"
assert figures["counts"][1] < figures["PPMI"][1] < figures["skip-gram"][1], "and at relations"

# %% alt="Similarity and analogies of the four kinds of vectors"
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.6))
left.barh(list(figures), [rank for rank, _ in figures.values()], color="#4c72b0")
left.set(title="similarity, Spearman's ρ", xlim=(0, 1))
right.barh(list(figures), [share for _, share in figures.values()], color="#dd8452")
right.set(title="analogies answered rightly", xlim=(0, 1))
figure.tight_layout()

# %% [markdown]
# Here skip-gram wins twice. SVD has as many dimensions, but lies below PPMI: its 32 dimensions keep half of the table.
# On the whole text, in the default ladder, they are level in analogies, and SVD has the higher similarity (0.87, and
# skip-gram 0.78: docs/results/default.md). Which method is best depends on the text, the task and the number of
# dimensions.
#
# **Exercise 2.** Window 2 or window 10: which gives words of one *kind* (cat, horse), which words of one *topic*?
# Try `CooccurrenceConfig(window=10)`.
#
# <details><summary>Answer</summary>
#
# Near neighbours are mostly grammar: what can stand in the same slot. So a small window brings words together that
# can replace each other, a large one words that occur in the same sentences, whatever their part of speech.
#
# </details>
#
# ## The same in a language you do not read
#
# Nothing above depends on English. microworld also writes its stories in Esperanto, two lines at a time:

# %%
sentences = draw_pairs(1, "train", 9_000)["target"].to_pylist()
esperanto = as_corpus(sentences, min_count=5)
Y = count_cooccurrence(
    esperanto.stream.ids, esperanto.stream.offsets, len(esperanto.vocabulary), CooccurrenceConfig(window=2)
)
vectors = WordVectors(esperanto.vocabulary.words, ppmi(Y).astype(np.float32))
print(sentences[0])
for word in ("bovino", "supo"):  # cow, soup
    print(word, "→", ", ".join(other for other, _ in vectors.nearest(word, 6)))
assert all(other.endswith("o") for other, _ in vectors.nearest("bovino", 6)), "near a noun are nouns, in the same form"

# %% [markdown]
# **Exercise 3.** In Esperanto nouns end in *-o*, and in *-on* if they are the object (*-ojn* if there are several).
# Take the frequent nouns in *-on*: what share of their ten nearest words are objects, too? What does that say about a
# window of 2?
#
# <details><summary>Answer</summary>
#
# Most of them; the next cell computes it. Whether a noun is the object depends on its place in the sentence, and a
# small window sees exactly that. So "similar" here means *can replace it*, with the same ending.
#
# </details>

# %%
accusatives = [word for word in esperanto.vocabulary.words[:200] if word.endswith("on")]
same = np.mean([other.endswith(("on", "ojn")) for word in accusatives for other, _ in vectors.nearest(word, 10)])
print(f"{len(accusatives)} nouns in -on: {same:.0%} of their neighbours end in -on or -ojn")
assert same > 0.7

# %% [markdown]
# ## After class: the columns have no names
#
# Skip-gram has two tables: W for words and C for neighbours, a row per word. Its loss sees them only in products,
# W Cᵀ. For any invertible matrix A
#
#     (W A) (C A⁻ᵀ)ᵀ = W A A⁻¹ Cᵀ = W Cᵀ
#
# So W A and C A⁻ᵀ have exactly the same loss as W and C, and no text can say which of them is right: the weights are
# not *identified*. If A is a rotation, all cosines stay the same, but each column is now a mixture of all columns. So
# do not look for a meaning in a single column. If A stretches some columns, the cosines change, too.

# %% alt="Cosine of each word with horse, before and after some columns of the table are stretched"
settings_of_both = Word2Vec.Config(**(network.config.model_dump() | {"vectors": "sum"}))
W = predicted.matrix.astype(np.float64)
C = Word2Vec(settings_of_both).make(corpus, seed=1, progress=lambda _: None).vectors.matrix - W  # (W + C) − W

A = np.diag(np.geomspace(0.2, 5, W.shape[1]))
print(f"largest change of a product: {np.abs((W @ A) @ (C @ np.linalg.inv(A).T).T - W @ C.T).max():.1e}")
assert np.allclose((W @ A) @ (C @ np.linalg.inv(A).T).T, W @ C.T)

turn = np.linalg.qr(np.random.default_rng(1).normal(size=A.shape))[0]  # a rotation, or a reflection


def to_horse(table: np.ndarray) -> np.ndarray:
    """The cosine of each word with horse."""
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    cosines: np.ndarray = unit @ unit[predicted.row("horse")]
    return cosines


assert np.allclose(to_horse(W @ turn), to_horse(W)), "a rotation changes no cosine"
assert np.abs(to_horse(W @ A) - to_horse(W)).max() > 0.1, "a stretch does"
figure, axes = plt.subplots(figsize=(4, 3.2))
axes.scatter(to_horse(W), to_horse(W @ A), s=6)
axes.set(xlabel="cosine with horse, W", ylabel="cosine with horse, W A")
figure.tight_layout()

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can build a table of co-occurrences by hand, say why raw counts mislead, and name what PPMI,
# SVD and skip-gram do about it.
#
# | minutes | what |
# | ---: | --- |
# | 0–5 | "A bottle of *tezgüno* is on the table. We make *tezgüno* out of corn." What is it? The table of properties |
# | 5–15 | The four sentences of the toy: the class fills the table on the board; exercise 1 |
# | 15–22 | The larger text: neighbours by raw counts. Why is everything like everything? |
# | 22–30 | PPMI: compute one value on the board; look at the neighbours again; SVD in one sentence |
# | 30–38 | Skip-gram, and the two bars. Let the class guess the winner of each before you show them |
# | 38–45 | Exercises 2 and 3: what does "similar" mean here? |
#
# **On the board.** The table of the toy with its eight words, empty, to be filled together. Beside it
#
#     PPMI(w, c) = max(0, log P(w, c) / (P(w) P(c)))
#
# and two arrows: *milk* and *water*, with the angle between them.
#
# **Three questions.**
#
# 1. *Why are all cosines of one-hot vectors 0?* Each word has its 1 in a column of its own, so every product is 0.
# 2. *"the" is beside "king" very often. Why is its PPMI small?* "the" is beside every noun: it is there hardly more
#    often than chance would have it.
# 3. *"hot" and "cold" get very similar vectors. Why?* They occur with the same words. Such vectors say what can replace
#    a word in a sentence, not what means the same.
