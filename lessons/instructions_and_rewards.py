# %% [markdown]
# # Lesson 7: instructions and rewards
#
# **How does a model that only continues text become one that answers? And what goes wrong if it is rewarded too much?**
#
# You will pre-train a small model, teach it to answer with a few demonstrations, learn a reward model from preferences,
# and then press harder and harder on that reward. It is the recipe of InstructGPT (Ouyang et al. 2022), in a world of
# 24 adjectives where you can check every answer.

# %%
import copy
import random
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn
from torch.nn import functional as F

# %% [markdown]
# ## A text in which answers are rare
#
# Twelve pairs of opposites. The text states them, uses them, and lists questions like an exercise book. In about one
# document of seven, somebody answers; in one of twenty answers, they say the word twice. `<end>` closes each document.

# %%
PAIRS = "hot cold, big small, old young, rich poor, happy sad, fast slow, light dark, hard soft, high low, full empty, "
PAIRS += "wet dry, clean dirty"
OPPOSITE = {}
for pair in PAIRS.split(", "):
    one, two = pair.split()
    OPPOSITE |= {one: two, two: one}
ADJECTIVES = list(OPPOSITE)
drawn = random.Random(1)


def question(word: str) -> str:
    return f"what is the opposite of {word} ?"


def document() -> str:
    word, kind = drawn.choice(ADJECTIVES), drawn.random()
    if kind < 0.15:
        again = f" {OPPOSITE[word]}" if drawn.random() < 0.05 else ""
        return f"{question(word)} {OPPOSITE[word]}{again}"
    if kind < 0.35:
        return f"the opposite of {word} is {OPPOSITE[word]} ."
    if kind < 0.55:
        return f"{word} is the opposite of {OPPOSITE[word]} ."
    if kind < 0.8:
        return " ".join(map(question, drawn.sample(ADJECTIVES, 3)))
    return f"the {drawn.choice(['soup', 'house', 'king'])} is {word} and not {OPPOSITE[word]} ."


documents = [document() for _ in range(8_000)]
print(*documents[:5], sep="\n")
VOCABULARY = ["<end>", *sorted({word for text in documents for word in text.split()})]
NUMBER, END = {word: i for i, word in enumerate(VOCABULARY)}, 0
stream = torch.tensor([NUMBER[word] for text in documents for word in [*text.split(), "<end>"]])
print(f"{len(stream):,} words, a vocabulary of {len(VOCABULARY)}")
assert 0.1 < sum(text.count("?") == 1 for text in documents) / len(documents) < 0.2

# %% [markdown]
# ## Step 0: pre-train
#
# A small recurrent language model (a GRU; lesson 3) learns to predict the next word.


# %%
class LM(nn.Module):
    """Word vectors, a GRU, a score for each word."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.embed, self.gru = nn.Embedding(len(VOCABULARY), width), nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, len(VOCABULARY))

    def forward(self, ids: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:  # (B, T) → (B, T, V)
        hidden, state = self.gru(self.embed(ids), state)
        return self.out(hidden), state


torch.manual_seed(1)
fresh = LM()
base = copy.deepcopy(fresh)
optimizer = torch.optim.Adam(base.parameters(), lr=0.01)
for step in range(700):
    optimizer.param_groups[0]["lr"] = 0.01 * (1 - 0.9 * step / 700)
    starts = torch.randint(len(stream) - 25, (32,))
    rows = torch.stack([stream[i : i + 25] for i in starts])
    loss = F.cross_entropy(base(rows[:, :-1])[0].transpose(1, 2), rows[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss at the end: {loss.item():.2f} nats per word")

LONGEST = 6  # words of an answer


def prompts(words: list[str]) -> Tensor:
    return torch.tensor([[NUMBER[one] for one in question(word).split()] for word in words])  # (B, 7)


@torch.no_grad()
def sample(model: LM, words: list[str]) -> Tensor:
    """An answer to each question, drawn word by word, filled up with END: (B, LONGEST)."""
    scores, state = model(prompts(words))
    answer, done = [], torch.zeros(len(words), 1, dtype=torch.bool)
    for _ in range(LONGEST):
        word = torch.multinomial(scores[:, -1].softmax(-1), 1).masked_fill(done, END)
        answer.append(word)
        done |= word == END
        scores, state = model(word, state)
    return torch.cat(answer, 1)


def log_prob(model: LM, words: list[str], answers: Tensor) -> Tensor:
    """ln P(answer | question), its end included: (B,)."""
    asked = prompts(words)
    scores = model(torch.cat([asked, answers], 1)[:, :-1])[0][:, asked.shape[1] - 1 :]  # (B, LONGEST, V)
    each = scores.log_softmax(-1).gather(-1, answers.unsqueeze(-1)).squeeze(-1)
    over = (answers == END).cumsum(1) - (answers == END).int() > 0  # after the first END
    return each.masked_fill(over, 0).sum(1)


def read(answer: Tensor) -> str:
    return " ".join(VOCABULARY[i] for i in answer if i != END)


def right(model: LM, words: list[str], times: int = 50) -> float:
    """The share of sampled answers that are the opposite and nothing else."""
    asked = [word for word in words for _ in range(times)]
    answers = sample(model, asked)
    return sum(read(row) == OPPOSITE[word] for word, row in zip(asked, answers, strict=True)) / len(asked)


torch.manual_seed(2)
for word, row in zip(ADJECTIVES[:5], sample(base, ADJECTIVES[:5]), strict=True):
    print(f"{question(word)} → {read(row)}")
of_base = right(base, ADJECTIVES)
print(f"answered rightly: {of_base:.0%}")
assert of_base < 0.4, "it knows the opposites, but it continues the exercise book"

# %% [markdown]
# ## Step 1: demonstrations
#
# *Supervised fine-tuning*: sixteen steps on questions with their answers. The loss counts the words of the answer only.
# There are demonstrations for half of the words; the other half is the test.

# %%
SHOWN, NEW = ADJECTIVES[:12], ADJECTIVES[12:]


def fine_tuned(start: LM, steps: int, rate: float) -> LM:
    model = copy.deepcopy(start)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    choose = random.Random(1)
    for _ in range(steps):
        words = choose.sample(SHOWN, 8)
        answers = torch.tensor([[NUMBER[OPPOSITE[word]], END] for word in words])
        loss = -log_prob(model, words, answers).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model


sft = fine_tuned(base, steps=16, rate=0.001)
scratch = fine_tuned(fresh, steps=100, rate=0.003)
torch.manual_seed(3)
tuned = {"base": sft, "fresh weights": scratch}
table = {name: (right(model, SHOWN), right(model, NEW)) for name, model in tuned.items()}
for name, (known, unknown) in table.items():
    print(f"demonstrations from {name:<13}: {known:.0%} on the words shown, {unknown:.0%} on the others")
assert table["base"][1] > 0.15 > 0.05 > table["fresh weights"][1]
assert table["fresh weights"][0] > 0.5

# %% [markdown]
# **Exercise 1.** Fresh weights learn the demonstrations as well, with more steps. Why are they useless on the other
# words, and the pre-trained model is not? What did the demonstrations teach in each case?
#
# <details><summary>Answer</summary>
#
# The pre-trained model has read all opposites. It only had to learn the *form*: after a question comes an answer, and
# then the end. The fresh model had to learn the opposites from the demonstrations, and those of the other words are not
# there. Demonstrations teach form; knowledge comes from pre-training.
#
# </details>
#
# ## Step 2: preferences, and a reward model
#
# Now the model answers twice, and somebody says which answer is better. Here this somebody is perfect. Their true
# taste, the *gold* reward, is 1 if the opposite is in the answer, minus 0.25 for each word more than one:


# %%
def gold(word: str, answer: Tensor) -> float:
    said = read(answer).split()
    return float(OPPOSITE[word] in said) - 0.25 * max(0, len(said) - 1)


asked = [word for word in ADJECTIVES for _ in range(150)]
torch.manual_seed(4)
first, second = sample(sft, asked), sample(sft, asked)
better = torch.tensor([gold(w, a) - gold(w, b) for w, a, b in zip(asked, first, second, strict=True)]).sign()
print(f"{int((better != 0).sum())} of {len(asked)} pairs have a preferred answer")
which = torch.tensor([ADJECTIVES.index(word) for word in asked])
twice = sum(read(a).split().count(OPPOSITE[w]) > 1 for w, a in zip(asked, first, strict=True))
print(f"answers that say the right word twice: {twice} of {len(asked)}")

# %% [markdown]
# The *reward model* never sees the gold reward, only which of two answers won (Bradley and Terry 1952):
#
#     P(a before b) = σ(r(a) − r(b))
#
# Ours is simple: a number for each question and word; an answer gets the *sum* over its words.

# %%
values = nn.Parameter(torch.zeros(len(ADJECTIVES), len(VOCABULARY)))
no_end = torch.ones(len(VOCABULARY)).index_fill(0, torch.tensor([END]), 0.0)


def proxy(which: Tensor, answers: Tensor) -> Tensor:
    """The reward model: (B,), answers (B, LONGEST)."""
    return (values * no_end)[which.unsqueeze(1), answers].sum(1)


pairs = (better != 0).nonzero().squeeze(1)
pairs = pairs[torch.randperm(len(pairs))]
held_out, learnt = pairs[:200], pairs[200:]
optimizer = torch.optim.Adam([values], lr=0.05, weight_decay=0.01)
for _ in range(200):
    difference = proxy(which[learnt], first[learnt]) - proxy(which[learnt], second[learnt])
    loss = -F.logsigmoid(better[learnt] * difference).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
values.requires_grad_(False)
difference = proxy(which[held_out], first[held_out]) - proxy(which[held_out], second[held_out])
agreed = float((better[held_out] * difference > 0).float().mean())
print(f"held-out pairs on which the reward model agrees: {agreed:.0%}")
assert agreed > 0.75, "by every test that one would make, this is a good reward model"

# %% [markdown]
# **Exercise 2.** An answer has the reward 0.6, another −0.2. With which probability is the first one preferred?
#
# <details><summary>Answer</summary>
#
# σ(0.8) = 1 / (1 + e^(−0.8)) = 0.69. Only differences count: adding 5 to all rewards changes nothing.
#
# </details>

# %%
assert abs(float(torch.tensor(0.6 - -0.2).sigmoid()) - 0.69) < 0.001

# %% [markdown]
# ## Step 3: press on it
#
# **Best of n**: sample n answers and give the one that the reward model likes best. The larger n, the more pressure.

# %%
SAMPLES, pressure = 2048, [2**k for k in range(12)]
best = {n: [0.0, 0.0] for n in pressure}
torch.manual_seed(5)
for i, word in enumerate(ADJECTIVES):
    answers = sample(sft, [word] * SAMPLES)
    rewards = proxy(torch.full((SAMPLES,), i), answers)
    true = torch.tensor([gold(word, row) for row in answers])
    for n in pressure:
        highest, place = rewards.view(-1, n).max(1)  # each group of n samples: its best
        best[n][0] += float(highest.mean()) / len(ADJECTIVES)
        best[n][1] += float(true.view(-1, n).gather(1, place.unsqueeze(1)).mean()) / len(ADJECTIVES)
for n, (liked, wanted) in best.items():
    print(f"best of {n:>4}: reward model {liked:.2f}, gold {wanted:.2f}")
peak = max(best, key=lambda n: best[n][1])
assert best[peak][1] > best[1][1] + 0.15, "some pressure helps a lot"
assert best[2048][1] < best[peak][1] - 0.05 and best[2048][0] > best[peak][0], "more harms, unseen by the proxy"

# %% [markdown]
# **Policy gradient** (REINFORCE, Williams 1992): sample answers, make those above the average likelier and the others
# less likely. Once without any brake, and once minus β times how far the model went away from `sft`, as in InstructGPT:
#
#     maximise  r(answer) − β · ln( P(answer) / P_sft(answer) )


# %%
def reinforced(beta: float, steps: int = 120) -> tuple[LM, list[tuple[float, float]]]:
    """The model, and at each step the reward and the gold reward of its samples."""
    model = copy.deepcopy(sft)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    words = [word for word in ADJECTIVES for _ in range(8)]
    which, seen = torch.tensor([ADJECTIVES.index(word) for word in words]), []
    torch.manual_seed(6)
    for _ in range(steps):
        answers = sample(model, words)
        own = log_prob(model, words, answers)
        with torch.no_grad():
            rewards = proxy(which, answers)
            worth = rewards - beta * (own - log_prob(sft, words, answers))
        loss = -((worth - worth.mean()) * own).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        wanted = sum(gold(word, row) for word, row in zip(words, answers, strict=True)) / len(words)
        seen.append((float(rewards.mean()), wanted))
    return model, seen


runs = {"β = 0": reinforced(0.0), "β = 0.5": reinforced(0.5)}
for name, (model, seen) in runs.items():
    peak = max(wanted for _, wanted in seen)
    print(f"{name}: at the end reward model {seen[-1][0]:.2f}, gold {seen[-1][1]:.2f}; gold at its best {peak:.2f}")
    for word, row in zip(ADJECTIVES[:3], sample(model, ADJECTIVES[:3]), strict=True):
        print(f"    {question(word)} → {read(row)}")
free, held = (seen for _, seen in runs.values())
assert free[-1][0] > held[-1][0] and free[-1][1] < 0.3, "the reward rises, the answers are ruined"
assert held[-1][1] > free[-1][1] + 0.3, "with the brake they are not"

# %% alt="Reward model and gold: by n for best-of-n, by step for policy gradient with and without a brake"
figure, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True)
axes[0].plot(pressure, [liked for liked, _ in best.values()], "--", label="reward model")
axes[0].plot(pressure, [wanted for _, wanted in best.values()], label="gold")
axes[0].set(xscale="log", xlabel="n", title="best of n")
for place, (name, (_, seen)) in zip(axes[1:], runs.items(), strict=True):
    place.plot([liked for liked, _ in seen], "--")
    place.plot([wanted for _, wanted in seen])
    place.set(xlabel="step", title=f"policy gradient, {name}")
axes[0].legend()
figure.tight_layout()

# %% [markdown]
# **Exercise 3.** What does the model without a brake say at the end, and why does the reward model like it? It agreed
# with the judge on most pairs.
#
# <details><summary>Answer</summary>
#
# It repeats the right word. The reward model adds up its words, so twice the right word is twice as good. Few of the
# answers that it learnt from did that, so few preferences contradicted it. A proxy is tested where the data are;
# pressure moves the model to where they are not (Goodhart's law; Gao, Schulman and Hilton 2023).
#
# </details>

# %%
said = " ".join(read(row) for row in sample(runs["β = 0"][0], ADJECTIVES)).split()
repeated = sum(a == b for a, b in pairwise(said)) / len(said)
print(f"{repeated:.0%} of the words repeat the word before")
assert repeated > 0.3

# %% [markdown]
# **Exercise 4.** Name two ways to mend it other than β, and try one: sample new pairs from the *broken* model, let the
# judge compare them, and train the reward model on both sets.
#
# <details><summary>Answer</summary>
#
# (1) New preferences on the new model's answers, again and again, as InstructGPT did. The judge would now see
# repetitions and reject them. But look: a *sum over words* cannot say "once is good, twice is bad", so it also needs
# (2) a reward model that can express it, for example a network that reads the whole answer. (3) Stop early, at the best
# gold reward on a small set of expensive judgements.
#
# </details>

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can name the three steps from a language model to an assistant, and explain with a curve why a
# good reward model can still ruin a model.
#
# | minutes | what |
# | ---: | --- |
# | 0–5 | Ask: what will a model that has read exercise books say after "what is the opposite of hot ?" |
# | 5–13 | Step 0 and 1: what the base says; demonstrations for half of the words; exercise 1 |
# | 13–22 | Step 2. Play the judge: show ten pairs, the class votes. Exercise 2 |
# | 22–25 | "It agrees on most held-out pairs. Shall we optimise it?" Take a vote, and bets on the gold reward |
# | 25–37 | Step 3: best of n, policy gradient without and with the brake; the three pictures; exercise 3 |
# | 37–45 | Exercise 4. Proxies elsewhere: marks, clicks, publication counts. What is the gold reward there? |
#
# **On the board.** Four boxes in a row: *base* → *SFT* → *reward model* → *RL*; below each what it learns from (text,
# demonstrations, preferences, its own samples). Below that the axes "pressure" and "reward": draw the proxy, which only
# rises, and ask a student to draw the gold curve.
#
# **Three questions.**
#
# 1. *What do demonstrations teach that pre-training did not?* The form: that a question is to be answered. The answers
#    themselves the model had mostly read before.
# 2. *The reward model is right on the held-out pairs. Why is that not enough?* The pairs come from the model before it
#    was optimised. Afterwards its answers look different.
# 3. *What does the term with β do?* It charges for each step away from the SFT model, and so keeps the answers where
#    the reward model was tested.
