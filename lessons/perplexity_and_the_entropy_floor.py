# %% [markdown]
# # Lesson 2: perplexity and the entropy floor
#
# **How good can a language model be? And if two models cut the text into different pieces, which one is better?**
#
# You will compute the perplexity of a die, score n-grams and an LSTM on microworld, the project's own small world,
# whose true probabilities are known, and see that a model with perplexity 2 can be worse than one with perplexity 9.

# %%
import math
import random

import matplotlib.pyplot as plt
import numpy as np
import torch

from claims.training import train_language_model
from langladder.evaluation.perplexity import score
from langladder.models.language.recurrent import RecurrentLM
from langladder.models.ngrams.kneser_ney import KneserNey
from langladder.models.ngrams.maximum_likelihood import MaximumLikelihood
from langladder.tasks.settings import LMTrainingConfig
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizer_training import train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from microworld.reviews import reviews_world

# %% [markdown]
# ## A die
#
# Perplexity translates surprise into a number of choices: how many equally likely choices would be as surprising?
#
#     perplexity = exp( −(1/T) Σ_t ln P(w_t) ) = P(w_1 … w_T)^(−1/T)
#
# A model that gives each side of a die 1/6 has perplexity 6, whatever the result. You may use natural logarithms (nats)
# or logarithms to base 2 (bits), as long as the power has the same base.


# %%
def perplexity(probabilities: list[float]) -> float:
    """exp of the mean surprisal."""
    return math.exp(-sum(math.log(p) for p in probabilities) / len(probabilities))


print("a die:", perplexity([1 / 6] * 10), "  probabilities ½, ¼, ⅛:", perplexity([1 / 2, 1 / 4, 1 / 8]))
bits = -sum(math.log2(p) for p in [1 / 2, 1 / 4, 1 / 8]) / 3
assert math.isclose(perplexity([1 / 6] * 10), 6) and math.isclose(perplexity([1 / 2, 1 / 4, 1 / 8]), 4)
assert math.isclose(2**bits, 4)

# %% [markdown]
# **Exercise 1.** One of the ten rolls got the probability 0. What is the perplexity?
#
# <details><summary>Answer</summary>
#
# Infinite: −ln 0 = ∞, and no other roll can make up for it. A model that rules out something that then happens has
# failed on the whole text. That is why n-grams are smoothed.
#
# </details>
#
# ## A text whose probabilities are known
#
# microworld's reviews are sentences that a grammar draws, so their probabilities are known: multiply the shares of all
# choices, and add up the ways to come to the same words. The mean surprisal under these *true* probabilities estimates
# the entropy of the source; the perplexity of that is the **entropy floor**. For real text the floor is unknown, and
# "perplexity 20" says little about how much is left to learn.

# %%
world, rng = reviews_world(0.0), random.Random(1)
train, test = ([world.draw(rng, 1)[0].text for _ in range(count)] for count in (10_800, 600))


def true_log_prob(sentence: str) -> float:
    """ln P(sentence), its end included."""
    readers = world.ended(world.read_words([world.reader()], sentence.split()))
    return math.log(sum(float(one.belief.sum()) for one in readers))


truth = [true_log_prob(line) for line in test]
words = sum(len(line.split()) + 1 for line in test)  # the end of a line counts as a word: it must be predicted, too
for line, log_prob in list(zip(test, truth, strict=True))[:3]:
    print(f"{-log_prob / math.log(2):5.1f} bits  {line}")
lowest = math.exp(-math.fsum(truth) / words)
print(f"entropy floor: {lowest:.2f} per word, over {len(test)} sentences")
assert 6 < lowest < 8

# %% [markdown]
# ## From no memory to four words
#
# Kneser–Ney n-grams of order 1 (no memory) to 5 (four words), and relative frequencies of order 3 without smoothing.


# %%
def as_stream(tokenizer: Tokenizer, lines: list[str]) -> TokenStream:
    """Each line between BOS, which is given, and EOS, which is predicted."""
    rows = [np.array([BOS, *row, EOS], dtype=np.int32) for row in tokenizer.encode_lines(lines)]
    return TokenStream(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))


size = {
    "words": words,
    "characters": sum(len(line) + 1 for line in test),
    "bytes": sum(len(line.encode()) + 1 for line in test),
    "log_prob": sum(truth),
}
by_words = train_tokenizer(train, TokenizerConfig(kind="word", vocab_size=None))
seen, unseen = as_stream(by_words, train), as_stream(by_words, test)

curve = []
for order in range(1, 6):
    model = KneserNey(KneserNey.Config(order=order), by_words.vocab_size)
    model.fit(seen)
    scores = score(model, unseen, **size)
    curve.append(scores.perplexity_per_word)
    print(
        f"Kneser–Ney {order}-gram {scores.perplexity_per_word:7.2f} per word, "
        f"{scores.above_floor_percent:6.0f} % above the floor"
    )

raw = MaximumLikelihood(MaximumLikelihood.Config(order=3), by_words.vocab_size)
raw.fit(seen)
unsmoothed = score(raw, unseen, **size)
print(
    f"without smoothing: {unsmoothed.perplexity_per_word}, {unsmoothed.impossible_tokens} of "
    f"{unsmoothed.tokens} tokens were ruled out"
)
assert curve[:4] == sorted(curve[:4], reverse=True), "more memory helps"
assert curve[3] / curve[4] < 1.03 < curve[0] / curve[1], "but less and less"
assert math.isinf(unsmoothed.perplexity_per_word) and unsmoothed.impossible_tokens > 300

# %% [markdown]
# More memory helps less and less, and the floor is far away: long n-grams are too rare to be counted. A network can
# *generalise*: it does not need an exact repetition. An LSTM (lesson 3), 1,000 steps:

# %%
torch.manual_seed(1)
lstm = RecurrentLM(RecurrentLM.Config(cell="lstm", width=64, embedding_dim=64), by_words.vocab_size)
how = LMTrainingConfig(
    optimizer="adamw", lr=0.01, max_steps=1000, warmup_steps=30, clip_norm=1.0, batch_size=16, sequence_length=32
)
losses = train_language_model(lstm, seen, how, seed=1)
of_lstm = score(lstm, unseen, **size)
print(f"LSTM {of_lstm.perplexity_per_word:.2f} per word, {of_lstm.above_floor_percent:.0f} % above the floor")
assert lowest < of_lstm.perplexity_per_word < min(curve)

# %% alt="Perplexity per word of n-grams by order, of the LSTM, and the entropy floor"
figure, axes = plt.subplots(figsize=(7, 3))
axes.plot(range(1, 6), curve, "o-", label="Kneser–Ney")
axes.axhline(of_lstm.perplexity_per_word, color="#55a868", label="LSTM")
axes.axhline(lowest, color="#c44e52", linestyle="--", label="entropy floor")
axes.set(yscale="log", xlabel="order", ylabel="perplexity per word", xticks=range(1, 6))
axes.legend()
figure.tight_layout()

# %% [markdown]
# ## What the gap means
#
# The logarithm of the ratio of the two perplexities is the mean of ln P_true − ln P_model. It estimates the
# Kullback–Leibler divergence per word, which is never negative. *Cross-entropy = entropy + divergence*: training can
# only reduce the divergence.

# %%
gap = math.log(of_lstm.perplexity_per_word / lowest)
print(f"LSTM: {math.log(of_lstm.perplexity_per_word):.3f} nats per word = {math.log(lowest):.3f} + {gap:.3f}")
assert gap > 0

# %% [markdown]
# **Exercise 2.** Can a model be *below* the floor on this test text?
#
# <details><summary>Answer</summary>
#
# Yes, by luck: the divergence is an expectation, and a text of 600 sentences is a sample. The floor varies with the
# sample, too, as the next cell shows. On average over texts no model is below the floor. A model that knows the test
# text by heart would be far below it: this is a way to find leakage.
#
# </details>

# %%
drawn = np.random.default_rng(0)
lengths = np.array([len(line.split()) + 1 for line in test])
surprisal = -np.array(truth)
picks = drawn.integers(len(test), size=(1000, len(test)))  # bootstrap: texts of as many sentences
floors = np.exp(surprisal[picks].sum(1) / lengths[picks].sum(1))
low, high = np.percentile(floors, [2.5, 97.5])
print(f"the floor of other texts of {len(test)} sentences: {low:.2f} to {high:.2f}")
assert low < lowest < high and (high - low) / lowest < 0.2

# %% [markdown]
# ## Different pieces, one text
#
# The same Kneser–Ney model of order 6, over whole words, over pieces of words (byte-level BPE, 600 of them) and
# over characters. Which is best?

# %%
rows = {}
for kind, vocabulary in (("word", None), ("bpe_bytes", 600), ("character", None)):
    tokenizer = train_tokenizer(train, TokenizerConfig(kind=kind, vocab_size=vocabulary))
    model = KneserNey(KneserNey.Config(order=6), tokenizer.vocab_size)
    model.fit(as_stream(tokenizer, train))
    rows[kind] = score(model, as_stream(tokenizer, test), **size)
print(f"{'tokens':<10} {'per token':>10} {'per word':>10} {'bits per byte':>14}")
for kind, found in rows.items():
    each = f"{found.perplexity_per_token:>10.2f} {found.perplexity_per_word:>10.2f} {found.bits_per_byte:>14.3f}"
    print(f"{kind:<10} {each}")
assert rows["character"].perplexity_per_token < 3 < rows["word"].perplexity_per_token
assert rows["character"].perplexity_per_word > rows["bpe_bytes"].perplexity_per_word > rows["word"].perplexity_per_word

# %% [markdown]
# Per token, characters win by far: perplexity 2! But one character is easy to guess, and a word has many of them. Per
# *word*, or per *byte*, the order is the opposite. Only these two units compare models with different tokens, because
# every character of the text counts exactly once in them.
#
# **Exercise 3.** Work out the perplexity per word of the character model from its perplexity per token. You need
# the number of tokens, `rows["character"].tokens`, and of words.
#
# <details><summary>Answer</summary>
#
# The surprisal of the whole text is the same, per token or per word: tokens · ln(perplexity per token) = words ·
# ln(perplexity per word). So the perplexity per word is the perplexity per token to the power tokens / words.
#
# </details>

# %%
found = rows["character"]
assert math.isclose(found.perplexity_per_token ** (found.tokens / words), found.perplexity_per_word, rel_tol=1e-9)
assert math.isclose(found.bits_per_byte, found.nll_nats / math.log(2) / size["bytes"])

# %% [markdown]
# **Exercise 4.** A tokenizer with one token, `<unk>`, for every word reaches perplexity 1. What is wrong?
#
# <details><summary>Answer</summary>
#
# It does not predict the text: all words share one token, and the model never says which word it was. The library's
# scorer therefore reports the share of unknown tokens (`unknown_rate`), with a note. Byte-level BPE knows every byte
# and has no `<unk>`.
#
# </details>

# %%
for kind in ("word", "bpe_bytes"):
    print(f"{kind}: {rows[kind].unknown_rate:.2%} of the tokens unknown; note: {rows[kind].note}")
assert rows["bpe_bytes"].unknown_rate == 0

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can compute a perplexity by hand, say what the entropy floor is, and know which figures of two
# models may be compared.
#
# | minutes | what |
# | ---: | --- |
# | 0–7 | Roll a die; everybody writes down probabilities before. Who is surprised least? Perplexity on the board |
# | 7–12 | Exercise 1: one probability of 0 |
# | 12–18 | Guess the next word of "although the cake was not …": why can nobody reach perplexity 1? |
# | 18–28 | N-grams of order 1 to 5 and the LSTM: let the class draw the curve before you show it |
# | 28–33 | The gap: entropy + divergence; exercise 2 |
# | 33–45 | Tokens: which of the three models is best? Vote, show the table, vote again; exercises 3 and 4 |
#
# **On the board.**
#
#     perplexity = exp( −(1/T) Σ ln P(w_t) )        cross-entropy = entropy + divergence
#
# A bar for the LSTM, cut into two parts: at the bottom the entropy (nobody gets below it), on top the divergence (what
# is left to learn).
#
# **Three questions.**
#
# 1. *A model gives the right word 1/2, 1/4 and 1/8. Its perplexity?* The cube root of 2 · 4 · 8 = 64, so 4.
# 2. *Model A: perplexity 3 per character. Model B: 60 per word. Which is better?* Nobody can say before both are
#    computed per word or per byte. A word of 5 characters and a space would give A 3⁶ = 729 per word.
# 3. *Why does a perfect model of a die still have perplexity 6?* The die itself is uncertain. The floor is a property
#    of the text, not of the model.
