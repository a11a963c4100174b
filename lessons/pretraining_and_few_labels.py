# %% [markdown]
# # Lesson 6: pre-training and few labels
#
# **What can a network learn from text without labels that helps it when labels are few?**
#
# Labels cost money, and text is free. You will hide words, train a network to fill the gaps, and then teach it to sort
# sentences into four classes from 8 to 512 labelled examples: once from the pre-trained weights, once from fresh ones.

# %%
import copy
import math
import random
from collections import Counter

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from microworld.corpora import draw_text
from microworld.lexicon import MOODS, table

# %% [markdown]
# ## The text, and the task
#
# The text is microworld, the project's own small world: the lines of 1,200 stories to train with, of 100 for the test.
# The task: is a line happy, sad, angry or afraid? A line belongs to a class if it has words of this mood and of no
# other. microworld knows the mood of each word, so it can label all lines; you will use few of these labels.

# %%
LONGEST = 12  # words
tables = {split: draw_text(1, split, 0, stories) for split, stories in (("train", 1_200), ("test", 100))}
train, test = (
    [line for line in tables[split]["text"].to_pylist() if len(line.split()) <= LONGEST] for split in ("train", "test")
)
CLASSES = list(MOODS)
TABLES = {"looks": "word", "feelings": "word", "manners": "word", "takes": "past", "deeds": "past"}
class_of = {row[column]: row["mood"] for name, column in TABLES.items() for row in table(name)}


def label(line: str) -> str | None:
    """The one class that its words have."""
    found = {class_of[word] for word in line.split() if word in class_of}
    return found.pop() if len(found) == 1 else None


pool = [(line, label(line)) for line in train if label(line)]
exam = [(line, label(line)) for line in test if label(line) and line not in set(train)]  # nothing known by heart
for line, right in pool[:4]:
    print(f"{right:<7} {line}")
print(f"{len(train):,} sentences without labels; {len(exam)} to test:", dict(Counter(right for _, right in exam)))
assert len(exam) > 150

PAD, UNK = 0, 1
vocabulary = ["<pad>", "<unk>", *sorted({word for line in train for word in line.split()})]
number = {word: i for i, word in enumerate(vocabulary)}


def encode(lines: list[str]) -> Tensor:
    """Words as numbers, filled up with PAD: (lines, LONGEST)."""
    rows = [[number.get(word, UNK) for word in line.split()] for line in lines]
    return torch.tensor([row + [PAD] * (LONGEST - len(row)) for row in rows])


# %% [markdown]
# ## Fill the gap
#
# *She baked the ___.* You know the word, because you know what is baked. A network that fills gaps must learn the same:
# which words can replace each other, and what goes with what. Each text is an exercise with its solution, and nobody
# had to write labels.
#
# BERT (Devlin et al. 2019) hides 15 % of the words behind a `<mask>`, and a Transformer reads the rest from both sides.
# To be quick we take an older form of the same task (context2vec, Melamud et al. 2016): one LSTM reads from the left
# and stops before the word, another reads from the right and stops before it. So *every* word is hidden once, from
# both.


# %%
class Reader(nn.Module):
    """For each position, a vector of what stands around it: (B, T) → (B, T, D)."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.words = nn.Embedding(len(vocabulary), width, padding_idx=PAD)
        nn.init.normal_(self.words.weight, std=0.1)
        self.left, self.right = (nn.LSTM(width, width, batch_first=True) for _ in range(2))
        self.join = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))

    def forward(self, ids: Tensor) -> Tensor:
        x = F.pad(self.words(ids), (0, 0, 1, 1))  # (B, T + 2, D): an empty place at both ends
        left = self.left(x)[0][:, :-2]  # at position t: the words before t
        right = self.right(x.flip(1))[0].flip(1)[:, 2:]  # the words after t
        return self.join(torch.cat([left, right], dim=-1))

    def scores(self, ids: Tensor) -> Tensor:
        """Of each word of the vocabulary at each position, (B, T, V)."""
        return self(ids) @ self.words.weight.T


torch.manual_seed(1)
fresh = Reader()
reader = copy.deepcopy(fresh)  # both begin with the same weights

ids = encode(train[:1])
other = ids.clone()
other[0, 2] = number["cow"] if int(ids[0, 2]) != number["cow"] else number["dog"]
with torch.no_grad():
    assert torch.equal(reader(ids)[0, 2], reader(other)[0, 2]), "the word that is to be filled in was seen"
    assert not torch.equal(reader(ids)[0, 1], reader(other)[0, 1]), "its neighbours see it"

# %% [markdown]
# **Exercise 1.** BERT hides 15 % of the words and is corrected at these only. We are corrected at every word. How many
# rows of 12 words must BERT read to be corrected 12 times? What does it get in return?
#
# <details><summary>Answer</summary>
#
# 12 / (0.15 · 12) = 6.7 rows. In return, its layers can mix both sides at every depth. Our two readers meet only at the
# end, because a deeper mixture would let a word see itself.
#
# </details>

# %%
assert round(12 / (0.15 * 12), 1) == 6.7

# %% [markdown]
# ## Pre-train
#
# 1,500 steps of 40 lines. The loss is the surprise of the hidden word, in nats.

# %%
text, steps, rate = encode(train), 1500, 0.01
optimizer = torch.optim.AdamW(reader.parameters(), lr=rate, weight_decay=0.01)
losses = []
for step in range(steps):
    for group in optimizer.param_groups:
        group["lr"] = rate * min(1, (step + 1) / 20) * max(0.05, 0.5 + 0.5 * math.cos(math.pi * step / steps))
    rows = text[torch.randint(len(text), (40,))]
    loss = F.cross_entropy(reader.scores(rows)[rows != PAD], rows[rows != PAD])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.2f} → {sum(losses[-50:]) / 50:.2f} nats")


@torch.no_grad()
def fill(line: str, best: int = 5) -> dict[str, float]:
    """The likeliest words for ___, with their probabilities."""
    place = line.split().index("___")
    found = reader.scores(encode([line]))[0, place].softmax(-1).topk(best)
    return {vocabulary[i]: float(p) for p, i in zip(found.values, found.indices, strict=True)}


for line in (
    "john is a ___ from paris who likes tea .",
    "everybody was ___ .",
    "he speaks french , the ___ of france .",
):
    print(f"{line:<42}", ", ".join(f"{word} {p:.2f}" for word, p in fill(line).items()))
assert losses[0] - sum(losses[-50:]) / 50 > 4
assert max(fill("he speaks french , the ___ of france .").items(), key=lambda one: one[1])[0] == "language"

# %% [markdown]
# **Exercise 2.** Which words does the network put into *the cows ___ .*? What has it learnt about grammar, without a
# single rule?
#
# <details><summary>Answer</summary>
#
# Verbs in the plural come first. *sleeps* is far less likely than after *the cow*. The network has begun
# to learn number and agreement, because a wrong form never stood in such a gap.
#
# </details>

# %%
after_plural = fill("the cows ___ .", best=20)
after_singular = fill("the cow ___ .", best=20)
print("cows:", *after_plural)
print("cow: ", *after_singular)
assert after_plural.get("sleeps", 0) < 0.5 * after_singular["sleeps"]

# %% [markdown]
# ## Few labels
#
# A classifier: the mean of the vectors of a sentence (each word's own and that of what stands around it), and one
# linear layer. All weights are trained, from two beginnings. Nothing else differs: the same labels, the same 200 steps,
# the same learning rate.


# %%
def mean_vector(network: Reader, ids: Tensor) -> Tensor:  # (B, T) → (B, D)
    real = (ids != PAD).float().unsqueeze(-1)  # (B, T, 1)
    return ((network(ids) + network.words(ids)) * real).sum(1) / real.sum(1)


exam_ids = encode([line for line, _ in exam])
exam_classes = torch.tensor([CLASSES.index(right) for _, right in exam])


def accuracy(start: Reader, each: int, seed: int, *, frozen: bool = False) -> float:
    """On the test sentences, after training on `each` labelled examples of each class."""
    drawn = random.Random(seed)
    examples = [one for name in CLASSES for one in drawn.sample([pair for pair in pool if pair[1] == name], each)]
    ids, classes = encode([line for line, _ in examples]), torch.tensor([CLASSES.index(name) for _, name in examples])
    torch.manual_seed(seed)
    network, head = copy.deepcopy(start), nn.Linear(64, len(CLASSES))
    network.requires_grad_(not frozen)
    parts = [*head.parameters()] if frozen else [*network.parameters(), *head.parameters()]
    optimizer = torch.optim.AdamW(parts, lr=0.05 if frozen else 0.005, weight_decay=0.01)
    for _ in range(200):
        batch = torch.randint(len(ids), (min(32, len(ids)),))
        loss = F.cross_entropy(head(mean_vector(network, ids[batch])), classes[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        answers = head(mean_vector(network, exam_ids)).argmax(-1)
    return float((answers == exam_classes).float().mean())


SIZES, SEEDS = (2, 8, 32, 128), (1, 2, 3)
results = {
    name: [[accuracy(start, each, seed) for seed in SEEDS] for each in SIZES]
    for name, start in {"fresh weights": fresh, "pre-trained": reader}.items()
}
mean = {name: [sum(row) / len(row) for row in rows] for name, rows in results.items()}
largest = max(Counter(right for _, right in exam).values()) / len(exam)
print(f"{'labels per class':<18}", *(f"{each:>5}" for each in SIZES))
for name, row in mean.items():
    print(f"{name:<18}", *(f"{share:>5.0%}" for share in row))
print(f"always the most frequent class: {largest:.0%}")
gain = [after - before for before, after in zip(mean["fresh weights"], mean["pre-trained"], strict=True)]
assert gain[1] > 0.05, "with 8 labels per class pre-training helps much"
assert gain[3] < gain[1], "with many labels it helps less"

# %% alt="Accuracy by number of labels per class, from fresh and from pre-trained weights, three draws of labels each"
figure, axes = plt.subplots(figsize=(7, 3))
for (name, rows), colour in zip(results.items(), ("#8c8c8c", "#4c72b0"), strict=True):
    axes.plot(SIZES, mean[name], "-", color=colour, label=name)
    axes.plot(SIZES, rows, ".", color=colour)
axes.axhline(largest, color="grey", linestyle=":", label="the most frequent class")
axes.set(xscale="log", xlabel="labels per class", ylabel="accuracy", xticks=SIZES, xticklabels=SIZES, ylim=(0, 1))
axes.legend()
figure.tight_layout()

# %% [markdown]
# Each dot is one draw of the labels. With few labels the draw alone can matter as much as a better method: never
# believe a comparison that was made with a single draw.
#
# **Exercise 3.** Read from the picture: about how many labels per class do fresh weights need to be as good as the
# pre-trained ones with 8?
#
# <details><summary>Answer</summary>
#
# Draw a horizontal line through the pre-trained point at 8, to the fresh curve. The next cell computes where it meets
# it (between two points, along the line in the picture).
#
# </details>

# %%
goal, curve = mean["pre-trained"][1], mean["fresh weights"]
later = next(i for i, share in enumerate(curve) if share >= goal)
share = (goal - curve[later - 1]) / (curve[later] - curve[later - 1])
needed = SIZES[later - 1] * (SIZES[later] / SIZES[later - 1]) ** share
print(f"about {needed:.0f} labels per class: pre-training saved {1 - 8 / needed:.0%} of them")
assert needed > 10

# %% [markdown]
# **Exercise 4.** Freeze the pre-trained network and train the linear layer alone (`frozen=True`). With 8 labels per
# class, is that better or worse? And from fresh weights?
#
# <details><summary>Answer</summary>
#
# The cell below prints it. A frozen pre-trained network is a set of ready features, and comes close to fine-tuning
# where labels are few, for a fraction of the work. Frozen *fresh* weights are random features: they know which words
# occur, but not which ones are alike.
#
# </details>

# %%
for name, start in {"fresh": fresh, "pre-trained": reader}.items():
    frozen = sum(accuracy(start, 8, seed, frozen=True) for seed in SEEDS) / len(SEEDS)
    print(f"{name}, frozen: {frozen:.0%}")
assert frozen > mean["fresh weights"][1], "frozen pre-trained features beat a trained fresh network"

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can explain why filling gaps teaches a network about words, and read a curve of accuracy by
# number of labels.
#
# | minutes | what |
# | ---: | --- |
# | 0–7 | The class fills gaps: *she baked the ___*, *he speaks french , the ___ of france*. What do you need? |
# | 7–15 | The two readers; why the hidden word is in neither; the assert that tests it |
# | 15–22 | Start the pre-training; exercise 1 meanwhile; then the filled gaps and exercise 2 |
# | 22–27 | The task. Everybody labels eight sentences by hand and stops the time: what do 1,000 labels cost? |
# | 27–38 | The table and the picture. Before you show it: let everybody draw both curves |
# | 38–45 | Exercises 3 and 4. Where in the world are labels few and texts many? (medicine, law, small languages) |
#
# **On the board.** A sentence with a hole in it. An arrow from the left that stops before the hole, one from the right
# that stops before it, both into one box, out of it a list of words. Beside it the axes of the picture, empty: labels
# per class (2, 8, 32, 128) and accuracy.
#
# **Three questions.**
#
# 1. *Why does nobody have to label anything for pre-training?* The hidden word is the label, and the text contains it.
# 2. *Why do the curves come closer at the right?* With enough labels the network can learn from them what
#    pre-training had given it.
# 3. *May the sentences that are labelled later occur in the pre-training text? And those of the test?* The first is
#    fine: their labels were not seen. The test text was held out here, so that nothing about it can be known by heart.
