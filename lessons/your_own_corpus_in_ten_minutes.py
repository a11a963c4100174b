# %% [markdown]
# # Lesson 8: your own corpus in ten minutes
#
# **How do you train the ladder on a text of your own, in any language?**
#
# You need a folder, three lines of `params.yaml` and one command. Here the text is Chinese and made in this lesson, so
# that the lesson runs anywhere. With your own file the steps are the same. The ten minutes are for reading: at size
# `tiny` the training takes one.

# %%
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.pyplot as plt

import langladder as ll

# %% [markdown]
# ## A project of its own
#
# You would work in your checkout. The lesson makes a fresh copy of the project, so that your own ladder does not
# change.

# %%
checkout = Path(ll.__file__).parents[2]
project = Path("mine").absolute()
leave = shutil.ignore_patterns("__pycache__", "cache", "tmp", "*.egg-info")
for folder in ("conf", "pipeline", "src", ".dvc"):
    shutil.copytree(checkout / folder, project / folder, ignore=leave)
for file in ("dvc.yaml", "params.yaml", "pyproject.toml", ".dvcignore"):
    shutil.copy(checkout / file, project)
for folder in (checkout / "input").iterdir():
    (project / "input" / folder.name).mkdir(parents=True)
print("input/:", *sorted(folder.name for folder in (project / "input").iterdir()))


def run(*command: str) -> str:
    """The output of a command in the project."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{project / 'src'}{os.pathsep}{project}"}
    environment |= {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# %% [markdown]
# ## Step 1: text into `input/text/`
#
# Any `.txt`, `.jsonl` or `.parquet` file in UTF-8. Ours has 3,000 sentences of five parts: when, who, where, does what,
# to what. Each part is drawn at random from a list. So we know the probability of each sentence.

# %%
WHEN = ["今天", "昨天", "明天", "早上", "晚上"]
WHO = ["猫", "老师", "我的朋友", "孩子", "老人", "医生", "她", "农民"]
WHERE = ["在家里", "在学校", "在河边", "在山上", "在城里", "在公园"]
DOES = ["看见", "喜欢", "寻找", "画", "想念", "等"]
WHAT = ["狗", "三本书", "红色的房子", "大树", "月亮", "新学校", "两只鸟", "一位客人", "火车", "鱼"]

lots = (WHEN, WHO, WHERE, DOES, WHAT)
drawn = random.Random(1)
sentences = ["".join(drawn.choice(lot) for lot in lots) + "。" for _ in range(3000)]
(project / "input" / "text" / "mine.txt").write_text("\n".join(sentences) + "\n", encoding="utf-8")
print(*sentences[:3], sep="\n")
possible = math.prod(len(lot) for lot in lots)
print(f"{possible:,} different sentences are possible: {math.log2(possible):.1f} bits each")

# %% [markdown]
# ## Step 2: three lines of `params.yaml`
#
# `corpus: text` reads the folder, `size: tiny` is for a trial, `lms` names the rungs. Wrong values are reported before
# anything runs: try `corpus: txt`.

# %%
settings = (project / "params.yaml").read_text(encoding="utf-8")
for key, value in {"corpus": "text", "size": "tiny", "lms": "[kneser_ney, lstm]"}.items():
    settings, found = re.subn(rf"(?m)^{key}:.*\n(- .*\n)*", f"{key}: {value}\n", settings)
    assert found == 1
(project / "params.yaml").write_text(settings, encoding="utf-8")

# %% [markdown]
# ## Step 3: one command
#
# In your checkout: `make repro`. Or `dvc repro` with the names of stages, as here: DVC runs them and the stages that
# they need. (The first line tells DVC that this copy is not a git repository.)

# %%
run(sys.executable, "-m", "dvc", "config", "--local", "core.no_scm", "true")
output = run(sys.executable, "-m", "dvc", "repro", "evaluate_lm@kneser_ney", "evaluate_lm@lstm")
stages = re.findall(r"Running stage '([^']+)'", output)
print(*stages, sep=" → ")
assert stages[0] == "resolve" and {"corpus@text", "clean@text", "train_lm@lstm"} <= set(stages)

# %% [markdown]
# Run it again, and no stage runs: the outputs of a stage are kept until something that it reads changes.

# %%
again = run(sys.executable, "-m", "dvc", "repro", "evaluate_lm@kneser_ney", "evaluate_lm@lstm")
assert not re.findall(r"Running stage '([^']+)'", again)

# %% [markdown]
# ## The result
#
# The figures of each rung are in `metrics/`, the models in `models/`. With `words: auto` a word of Chinese text is one
# character (`words: jieba` cuts real words). So *per word* means per character here; the end of a line counts as one.
# We know how the sentences were drawn, so we know the floor:

# %%
metrics = project / "metrics" / "evaluate_lm"
figures = {name: json.loads((metrics / f"{name}.json").read_text()) for name in ("kneser_ney", "lstm")}
characters = sum(len(sentence) + 1 for sentence in sentences)
floor = math.exp(len(sentences) * math.log(possible) / characters)
print(f"{'floor':<12} {floor:6.3f} per character")
for name, scores in figures.items():
    print(f"{name:<12} {scores['perplexity_per_word']:6.3f} per character, {scores['bits_per_byte']:.3f} bits per byte")
assert all(scores["perplexity_per_word"] > 0.97 * floor for scores in figures.values()), "no model beats the truth"
assert all(scores["perplexity_per_word"] < 1.5 * floor for scores in figures.values()), "both have learnt the grammar"

# %% alt="Perplexity per character of both rungs, and the floor"
figure, axes = plt.subplots(figsize=(6, 1.8))
axes.barh(list(figures), [scores["perplexity_per_word"] for scores in figures.values()], color="#4c72b0")
axes.axvline(floor, color="#c44e52", linestyle="--")
axes.set(title="perplexity per character; dashed: the floor")
figure.tight_layout()

# %% [markdown]
# ## Use it
#
# The folder of a model contains all that it needs, with its tokenizer. On the command line:
#
# ```console
# $ langladder generate models/lm/lstm --prompt "今天老师" --samples 3
# $ langladder score models/lm/lstm "猫在家里看见鱼。" "猫在家里鱼看见。"
# ```
#
# and in Python:

# %%
model = ll.load(project / "models" / "lm" / "lstm")
for seed in range(3):
    print(model.generate("今天老师", seed=seed, max_tokens=20).text)

right, wrong = model.score(["今天猫在家里看见鱼。", "今天猫在家里鱼看见。"])
for found in (right, wrong):
    print(f"{found.bits:5.1f} bits  {found.text}")
assert right.bits + 5 < wrong.bits, "verb before object"

# %% [markdown]
# **Exercise 1.** All sentences that follow the rules have about the same number of bits. Which number, and why?
#
# <details><summary>Answer</summary>
#
# log₂ of the number of possible sentences: all are equally likely. The LSTM needs some bits more, for what it has not
# learnt.
#
# </details>

# %%
drawn_anew = ["".join(drawn.choice(lot) for lot in lots) + "。" for _ in range(50)]
mean = sum(found.bits for found in model.score(drawn_anew)) / len(drawn_anew)
print(f"{mean:.1f} bits on average, {math.log2(possible):.1f} at best")
assert math.log2(possible) - 0.5 < mean < math.log2(possible) + 5

# %% [markdown]
# **Exercise 2.** Do it with a text of your own: a novel, chat logs, another script. Thai is written without spaces,
# too: which two lines of `params.yaml` make word vectors of real Thai words?
#
# <details><summary>Answer</summary>
#
# `corpus: text` and `words: pythainlp` (after `pip install 'langladder[thai]'`). The language models need no setting:
# their tokenizer is byte-level BPE, which learns its tokens from the text. The guide *Your own corpus* describes all
# formats, splits, cleaning, and corpora from URLs.
#
# </details>
#
# **Exercise 3.** Add the sentence ไปไหนมา (Thai: *where have you been?*) to `mine.txt` and run step 3 again. Which
# stages run?
#
# <details><summary>Answer</summary>
#
# All stages that read the text, from `corpus@text` on. `resolve` does not run, because no setting has changed.
#
# </details>

# %% [markdown] handout="true"
# ## Handout
#
# **Goal.** The students can train rungs of the ladder on their own text, find the figures, and load a model in Python.
#
# | minutes | what |
# | ---: | --- |
# | 0–5 | What texts do you have? Which question would you ask about them? |
# | 5–12 | The folder, the three lines, the command; start it |
# | 12–20 | While it runs: compute the floor of the Chinese sentences on the board |
# | 20–27 | The figures; run the command again: why does nothing run? Exercise 3 |
# | 27–35 | Load the model, generate, score a right and a wrong sentence; exercise 1 |
# | 35–45 | In groups: exercise 2 with a text of their own, as far as time allows; the rest is homework |
#
# **On the board.** The chain of stages as boxes: *resolve* → *corpus* → *clean* → *tokenize* → *train* → *evaluate*.
# Below each one what it reads. Cross out the boxes that need not run again if only the setting of the LSTM changes.
#
# **Three questions.**
#
# 1. *What decides whether a stage runs again?* Whether something that it reads has changed: a file, a setting, its
#    code.
# 2. *Why may you compare the LSTM and the n-gram here by perplexity per word, even with different tokenizers?* Each
#    character of the test text counts once in both (lesson 2).
# 3. *Your text has no floor. What can you still say about a model?* How much better it is than the other rungs, on text
#    that it has not seen, and at what cost.
