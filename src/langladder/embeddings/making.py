"""Making word vectors without a gradient: the `maker` of every `EmbeddingMethod`."""

import time
from dataclasses import replace
from typing import Any

from langladder.embeddings.method import EmbeddingMethod, Made
from langladder.ground.memory import peak_bytes
from langladder.ground.progress import working
from langladder.models.making import Run
from langladder.text.words.vocabulary import WordCorpus


def make(
    rung: type[EmbeddingMethod],
    settings: Any,
    corpus: WordCorpus,
    *,
    training: Any = None,  # noqa: ARG001 - nothing is trained by the common task
    run: Run,
) -> Made:
    """Make a rung's word vectors, kernels compiled before the clock starts.

    Args:
        settings: a `rung.Config`.

    Raises:
        InputError: the corpus cannot be used with these settings.
    """
    method = rung(settings)
    with working("compiling"):
        method.warm_up(corpus)
    started = time.perf_counter()
    with working("making vectors") as task:
        made = method.make(corpus, seed=run.seed, progress=task.note)
    seconds = time.perf_counter() - started
    words = len(corpus.stream.ids) * getattr(settings, "epochs", 1)
    cost = {"seconds": seconds, "tokens_per_second": words / seconds, "peak_memory_bytes": float(peak_bytes())}
    return replace(made, cost=cost)
