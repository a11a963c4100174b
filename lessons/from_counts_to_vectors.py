# %% [markdown]
# # Lesson 1: from counts to vectors
#
# **Can one find out what a word means without being told, from nothing but the words that stand beside it?**
#
# You will count which words co-occur, see why raw counts mislead, correct them (PPMI), press thousands of numbers a
# word into thirty (SVD), and compare with a network that predicts its neighbours (skip-gram). The text comes from
# *microworld*, the project's own small world, so that "which words are alike" has a known answer to be judged by.

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from langladder.corpora.microworld import MicroworldConfig, generate_parallel, generate_text, write_truth
from langladder.counts.cooccurrence import CooccurrenceConfig, count_cooccurrence
from langladder.counts.weighting import ppmi
from langladder.embeddings.base import WordVectors
from langladder.embeddings.svd import truncated_svd
from langladder.embeddings.word2vec.method import Word2Vec
from langladder.evaluation.analogy import evaluate_analogies
from langladder.evaluation.similarity import evaluate_similarity
from langladder.text.storage.token_streams import TokenStream
from langladder.text.words.vocabulary import Vocabulary, VocabularyConfig, WordCorpus


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
# is then 0: *cat* is as far from *dog* as from *milk*. Nothing is known of any word but that it is not another one.

# %%
toy = as_corpus(["the cat drinks milk", "the dog drinks water", "a cat chases a dog", "a dog chases a cat"])
words = toy.vocabulary.words
one_hot = WordVectors(words, np.eye(len(words), dtype=np.float32))
print("cat·dog", one_hot.similarity("cat", "dog"), " cat·milk", one_hot.similarity("cat", "milk"))
assert one_hot.similarity("cat", "dog") == one_hot.similarity("cat", "milk") == 0

# %% [markdown]
# ## Counts: a word and its neighbours
#
# Count, for each pair of words, how often one stands at most two words beside the other (a *window* of 2), never
# across the end of a line. Row *i* of this table is now the vector of word *i*.

# %%
counts = count_cooccurrence(toy.stream.ids, toy.stream.offsets, len(words), CooccurrenceConfig(window=2))
table = counts.toarray().astype(int)
print(" " * 7 + " ".join(f"{word:>6}" for word in words))
for word, row in zip(words, table, strict=True):
    print(f"{word:<7}" + " ".join(f"{number:>6}" for number in row))
assert (table == table.T).all(), "who stands beside whom is mutual"

# %% [markdown]
# *The cat drinks milk*: within two words of *cat* stand *the*, *drinks* and *milk*, so these three get one more in
# the row of *cat*. Two words that never met can now be alike, because they meet the same words:

# %%
counted = WordVectors(words, table.astype(np.float32))
print(f"milk and water stand in {table[words.index('milk'), words.index('water')]} windows together,")
print(f"and their cosine is {counted.similarity('milk', 'water'):.2f}")
assert table[words.index("milk"), words.index("water")] == 0 and counted.similarity("milk", "water") > 0.4

# %% [markdown]
# **Exercise 1.** *milk* and *water* have two neighbours each. Work out their cosine with a pencil.
#
# <details><summary>Answer</summary>
#
# *milk* has seen *cat* and *drinks* once each, *water* has seen *dog* and *drinks*. One of the two neighbours is
# shared: the dot product is 1, both lengths are √2, so the cosine is 1 / (√2 · √2) = 0.5.
#
# </details>

# %%
assert np.isclose(counted.similarity("milk", "water"), 1 / 2)

# %% [markdown]
# ## A larger text
#
# 12,000 sentences of microworld, about 120,000 words. Nobody tells the methods below what any of them means.

# %%
settings = MicroworldConfig(size="tiny", sentences=12_000)
text = generate_text(settings)["train"]
corpus = as_corpus(text["text"].to_pylist(), min_count=5)
V = len(corpus.vocabulary)
print(*text["text"].to_pylist()[:3], f"{V} words, {len(corpus.stream.ids):,} of them in the text", sep="\n")

X = count_cooccurrence(corpus.stream.ids, corpus.stream.offsets, V, CooccurrenceConfig(window=2))
raw = WordVectors(corpus.vocabulary.words, X.astype(np.float32))
for word in ("king", "horse"):
    print(word, "→", ", ".join(f"{other} {cosine:.2f}" for other, cosine in raw.nearest(word, 5)))

# %% [markdown]
# Not bad, but look at the cosines: nearly everything is at 0.95. Every noun stands beside *the* and *a* all the
# time, and these few huge counts drown what tells words apart.

# %%
frequent = [corpus.vocabulary.index[word] for word in ("the", "a")]
king = X[raw.row("king")].toarray()[0]
share = (king[frequent] ** 2).sum() / (king**2).sum()
print(f"share of 'the' and 'a' in the squared length of king's vector: {share:.0%}")
assert share > 0.5

# %% [markdown]
# ## PPMI: more often than by chance?
#
# Positive pointwise mutual information asks not how often two words meet, but how much more often than they would
# if words were thrown together at random:
#
#     PPMI(w, c) = max(0, log P(w, c) / (P(w) P(c)))
#
# A meeting with *the* is no news: it gets about 0. (The library raises the contexts' frequencies to the power 0.75,
# as Levy, Goldberg and Dagan 2015 do, so that the rarest contexts do not win instead.)

# %%
weighted = ppmi(X)
informative = WordVectors(corpus.vocabulary.words, weighted.astype(np.float32))
row = weighted[raw.row("king")].toarray()[0]
best = np.argsort(-row)[:6]
print("king, by counts:", ", ".join(corpus.vocabulary.words[i] for i in np.argsort(-king)[:6]))
print("king, by PPMI:  ", ", ".join(corpus.vocabulary.words[i] for i in best))
for word in ("king", "horse"):
    print(word, "→", ", ".join(f"{other} {cosine:.2f}" for other, cosine in informative.nearest(word, 5)))
assert not set(frequent) & set(best)

# %% [markdown]
# ## SVD: a few dimensions that keep the most
#
# The table has as many columns as words, most of them 0. The singular value decomposition finds the *k* directions
# that explain the most of it; no other table of rank *k* has a smaller squared error (Eckart and Young 1936).

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
# A network with one table of vectors in and one out: from a word, tell its neighbours apart from words drawn at
# random (Mikolov et al. 2013). Levy and Goldberg (2014) showed that it, too, factorises PMI: counting and
# predicting are two ways to one table.

# %%
network = Word2Vec(Word2Vec.Config(architecture="skipgram", output="negative_sampling", dim=32, epochs=10, lr=0.05))
predicted = network.make(corpus, seed=1, progress=lambda _: None).vectors

# %% [markdown]
# ## Which is best? Ask the world
#
# microworld knows which words are alike (how close their classes stand in its taxonomy) and which pairs stand in
# the same relation (*man : king = woman : ?*). The first is judged by Spearman's rank correlation with the cosines,
# the second by the share of right answers.

# %%
with tempfile.TemporaryDirectory() as folder:
    write_truth(settings, Path(folder), text)
    figures = {
        name: (
            evaluate_similarity(vectors, Path(folder) / "similarity.tsv").sets[0].spearman,
            evaluate_analogies(vectors, Path(folder) / "analogies.txt").overall.accuracy,
        )
        for name, vectors in {"counts": raw, "PPMI": informative, "SVD": dense, "skip-gram": predicted}.items()
    }
for name, (rank, right) in figures.items():
    print(f"{name:<10} similarity {rank:.3f}   analogies {right:.0%}")
assert figures["counts"][0] < figures["PPMI"][0] < figures["SVD"][0], "each step helps similarity"
assert figures["counts"][1] < figures["PPMI"][1] < figures["skip-gram"][1], "relations are skip-gram's strength"

# %% alt="Similarity and analogies of the four kinds of vectors"
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 2.6))
left.barh(list(figures), [rank for rank, _ in figures.values()], color="#4c72b0")
left.set(title="similarity, Spearman's ρ", xlim=(0, 1))
right.barh(list(figures), [share for _, share in figures.values()], color="#dd8452")
right.set(title="analogies answered rightly", xlim=(0, 1))
figure.tight_layout()

# %% [markdown]
# No single winner: what is best depends on what you ask. (With five times as much text every figure is higher: the
# ladder of the README is made of 60,000 sentences.)
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
# Nothing above knows English. microworld writes each sentence in Esperanto, too:

# %%
sentences = generate_parallel(MicroworldConfig(size="tiny", pairs=9_000))["train"]["target"].to_pylist()
esperanto = as_corpus(sentences, min_count=5)
Y = count_cooccurrence(
    esperanto.stream.ids, esperanto.stream.offsets, len(esperanto.vocabulary), CooccurrenceConfig(window=2)
)
vectors = WordVectors(esperanto.vocabulary.words, ppmi(Y).astype(np.float32))
print(sentences[0])
for word in ("reĝo", "hundo"):  # king, dog
    print(word, "→", ", ".join(other for other, _ in vectors.nearest(word, 6)))
assert "reĝino" in [other for other, _ in vectors.nearest("reĝo", 6)], "the queen is near the king"

# %% [markdown]
# **Exercise 3.** In Esperanto nouns end in *-o*, in the accusative in *-on*. What share of the ten nearest words of
# each frequent noun has the very same ending? What does that say of a window of 2?
#
# <details><summary>Answer</summary>
#
# Nearly all: `np.mean([other.endswith("on") for word in … for other, _ in vectors.nearest(word, 10)])` is close to
# 1 for words in *-on*. Case is a matter of the slot, and a small window sees slots. So "similar" here means
# *replaceable*, form included.
#
# </details>

# %%
accusatives = [word for word in esperanto.vocabulary.words[:200] if word.endswith("on")]
same = np.mean([other.endswith("on") for word in accusatives for other, _ in vectors.nearest(word, 10)])
print(f"{len(accusatives)} nouns in -on: {same:.0%} of their neighbours end in -on")
assert same > 0.8
