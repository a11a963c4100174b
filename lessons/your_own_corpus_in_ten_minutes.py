# %% [markdown]
# # Lesson 4: your own corpus in ten minutes
#
# **What does it take to put one's own text, in any language, through the whole ladder?**
#
# A folder, three lines of `params.yaml`, one command. Here the text is Chinese, and made in this lesson, so that it
# can be run anywhere; with a file of yours the steps are the same. What takes ten minutes is reading: size `tiny`
# runs in one.

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
import torch

import langladder
from langladder.decoding.sampling import SamplingConfig, complete
from langladder.models.language.language_model import LanguageModel
from langladder.text.tokenize.specials import BOS, EOS
from langladder.text.tokenize.tokenizers import Tokenizer

# %% [markdown]
# ## A project of its own
#
# You would work in your checkout. The lesson makes a fresh project beside it, so that your own ladder stays as it
# is.

# %%
checkout = Path(langladder.__file__).parents[2]
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
    """What a command prints; the project's own code comes first."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{project / 'src'}{os.pathsep}{project}"}
    environment |= {"DVC_NO_ANALYTICS": "1", "MLFLOW_DISABLE_TELEMETRY": "true"}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# %% [markdown]
# ## Step 1: text into `input/text/`
#
# Any `.txt`, `.jsonl` or `.parquet`, UTF-8. Ours are 3,000 sentences: when, who, where, does what to what. A mere
# drawing of lots, so that we know how surprising a sentence must be: each of its five lots is told apart from the
# others.

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
# `corpus: text` reads the folder, `size: tiny` is a trial, `lms` names the rungs. A bad value is refused before
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
# In your checkout: `make repro`, or `dvc repro` for all that is out of date, or, as here, only for what is named:
# DVC finds out what has to run before it. (The first line tells DVC that this copy is no git repository.)

# %%
run(sys.executable, "-m", "dvc", "config", "--local", "core.no_scm", "true")
output = run(sys.executable, "-m", "dvc", "repro", "evaluate_lm@kneser_ney", "evaluate_lm@lstm")
stages = re.findall(r"Running stage '([^']+)'", output)
print(*stages, sep=" → ")
assert stages[0] == "resolve" and {"corpus@text", "clean@text", "train_lm@lstm"} <= set(stages)

# %% [markdown]
# Once more, and nothing runs: every stage is cached until something that it reads changes.

# %%
again = run(sys.executable, "-m", "dvc", "repro", "evaluate_lm@kneser_ney", "evaluate_lm@lstm")
assert not re.findall(r"Running stage '([^']+)'", again)

# %% [markdown]
# ## What came out
#
# The figures of each rung stand in `metrics/`, the models in `models/`. A word of Chinese text is here one
# character (`words: auto`; `jieba` cuts real words), so *per word* means per character and end of line. As the lots
# are known, so is the floor:

# %%
metrics = project / "metrics" / "evaluate_lm"
figures = {name: json.loads((metrics / f"{name}.json").read_text()) for name in ("kneser_ney", "lstm")}
characters = sum(len(sentence) + 1 for sentence in sentences)
floor = math.exp(len(sentences) * math.log(possible) / characters)
print(f"{'the lots':<12} {floor:6.3f} per character")
for name, scores in figures.items():
    print(f"{name:<12} {scores['perplexity_per_word']:6.3f} per character, {scores['bits_per_byte']:.3f} bits per byte")
assert all(scores["perplexity_per_word"] > 0.97 * floor for scores in figures.values()), "no model beats the lots"
assert all(scores["perplexity_per_word"] < 1.5 * floor for scores in figures.values()), "both have learnt the grammar"

# %% alt="Perplexity per character of both rungs, and that of the lots"
figure, axes = plt.subplots(figsize=(6, 1.8))
axes.barh(list(figures), [scores["perplexity_per_word"] for scores in figures.values()], color="#4c72b0")
axes.axvline(floor, color="#c44e52", linestyle="--")
axes.set(title="perplexity per character; dashed: the lots")
figure.tight_layout()

# %% [markdown]
# ## Use it
#
# The folder of a model holds all that it needs, its tokenizer among it. On the command line:
#
# ```console
# $ langladder generate models/lm/lstm --prompt "今天老师" --samples 3
# $ langladder score models/lm/lstm "猫在家里看见鱼。" "猫在家里鱼看见。"
# ```
#
# and in Python:

# %%
folder = project / "models" / "lm" / "lstm"
model, tokenizer = LanguageModel.load(folder), Tokenizer.load(folder / "tokenizer.json")
for seed in range(3):
    print(complete(model, tokenizer, "今天老师", SamplingConfig(seed=seed, max_tokens=20)))


def surprisal(sentence: str) -> float:
    """Bits of a sentence and its end."""
    ids = torch.tensor([[BOS, *tokenizer.encode(sentence).tolist(), EOS]])
    return -float(model.log_probs(ids).sum()) / math.log(2)


for sentence in ("今天猫在家里看见鱼。", "今天猫在家里鱼看见。"):
    print(f"{surprisal(sentence):5.1f} bits  {sentence}")
assert surprisal("今天猫在家里看见鱼。") + 5 < surprisal("今天猫在家里鱼看见。"), "verb before object"

# %% [markdown]
# **Exercise 1.** A sentence that follows the rules has about the same number of bits, whichever it is. Which
# number, and why?
#
# <details><summary>Answer</summary>
#
# log₂ of the number of possible sentences: all are equally likely. What the LSTM needs more is what it has not
# learnt.
#
# </details>

# %%
drawn_anew = ["".join(drawn.choice(lot) for lot in lots) + "。" for _ in range(50)]
mean = sum(map(surprisal, drawn_anew)) / len(drawn_anew)
print(f"{mean:.1f} bits on average, {math.log2(possible):.1f} at best")
assert math.log2(possible) - 0.5 < mean < math.log2(possible) + 5

# %% [markdown]
# **Exercise 2.** Do it with a text of yours: a novel, chat logs, another script. Thai is written without spaces,
# too: which two lines of `params.yaml` would give the word vectors real Thai words?
#
# <details><summary>Answer</summary>
#
# `corpus: text`, and `words: pythainlp` (after `pip install 'langladder[thai]'`). The language models need nothing:
# their tokenizer is byte-level BPE, which learns its pieces from the text. The guide *Your own corpus* has all
# formats, splits, cleaning, and corpora behind URLs.
#
# </details>
#
# **Exercise 3.** Add the sentence ไปไหนมา (Thai: *where have you been?*) to `mine.txt` and run step 3 again. Which
# stages run?
#
# <details><summary>Answer</summary>
#
# All that read the text, from `corpus@text` on; `resolve` does not, since no setting has changed.
#
# </details>
