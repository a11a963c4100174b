"""Times tell of the work, not of Numba's compiler: whatever a rung compiles is compiled before its clock starts."""

import os
import subprocess
import sys

import pytest

from pipeline import ROOT

EMBEDDINGS = ["svd", "skipgram", "cbow_hs", "glove", "subword"]  # each has kernels of its own; svd: those that count
LMS = ["kneser_ney", "kneser_ney_pruned", "katz", "stupid_backoff"]

# Fits rungs that count, after their warm-up, and names the kernels that met new types meanwhile. In a process of
# its own: where a kernel is compiled already, nothing could be seen.
SCRIPT = """
import gc
import numpy as np
from hydra import initialize_config_dir
from numba.core.dispatcher import Dispatcher
from langladder.embeddings.method import EmbeddingMethod
from langladder.models.language.counted import CountedLanguageModel
from langladder.ground.schema import locate
from langladder.text.storage.token_streams import TokenStream
from langladder.text.tokenize.specials import BOS
from langladder.text.words.vocabulary import WordCorpus
from langladder.text.words.vocabulary import Vocabulary
from pipeline import ROOT
from pipeline.settings import params, schema
from pipeline.settings.compose import conf_folder, resolve
from pipeline.settings.schema import with_unwatched

def compiled():
    kernels = [kernel for kernel in gc.get_objects() if isinstance(kernel, Dispatcher)]
    return {(k.py_func.__qualname__, signature) for k in kernels for signature in k.signatures}

rng = np.random.default_rng(1)
lines = [rng.zipf(1.5, 20).clip(0, 90) + 5 for _ in range(400)]
text = np.concatenate([np.concatenate([[BOS], line]) for line in lines]).astype(np.int32)
words = np.concatenate(lines).astype(np.int32) - 5
for ids in (text, words):
    ids.flags.writeable = False  # as a mapped file
bounds = np.arange(0, 401, dtype=np.int64)
tokens = TokenStream(text, bounds * 21)
vocabulary = Vocabulary([f"w{i}" for i in range(91)], np.bincount(words, minlength=91) + 1)
corpus = WordCorpus(TokenStream(words, bounds * 20), vocabulary)

changes = {"size": "tiny", "debug": "fast", "translators": [], "claims": [], "probes": []}
changes |= {"embeddings": EMBEDDINGS, "lms": LMS}
chosen = params.schema().model_validate(params.load().model_dump() | changes)
with initialize_config_dir(conf_folder(), version_base="1.3"):
    jobs = resolve(chosen)
for name, values in jobs.items():
    stage, _, rung = name.partition("/")
    ladder = {"embed": "embedding", "train_lm": "lm"}.get(stage)
    if ladder is None:
        continue
    job = schema.checked_rung(ladder, with_unwatched(values)[ladder], str)
    kind = locate(job.target)
    if issubclass(kind, CountedLanguageModel):
        model = kind(job.model, 100)
        model.warm_up(tokens)
        before = compiled()
        model.fit(tokens)
    elif issubclass(kind, EmbeddingMethod):
        settings = job.model.model_copy(update={"dim": 8} if hasattr(job.model, "dim") else {})
        method = kind(settings)
        method.warm_up(corpus)
        before = compiled()
        method.make(corpus, seed=1, progress=lambda line: None)
    else:
        continue
    print("fitted", rung, *{kernel for kernel, _ in compiled() - before})
"""


@pytest.mark.long
@pytest.mark.timeout(600)  # it compiles all of them, where nothing has yet
def test_nothing_is_compiled_while_the_clock_runs() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    command = [sys.executable, "-c", f"EMBEDDINGS, LMS = {EMBEDDINGS}, {LMS}\n{SCRIPT}"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    fitted = [line.split()[1:] for line in result.stdout.splitlines() if line.startswith("fitted")]
    assert {rung for rung, *_ in fitted} == {*EMBEDDINGS, *LMS}
    assert {rung: kernels for rung, *kernels in fitted if kernels} == {}
