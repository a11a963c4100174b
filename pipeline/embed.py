"""Stage `embed`: make one rung's word vectors; models/embedding/<rung>/, metrics, learning curve."""

import time
from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.embeddings.method import EmbeddingMethod, Fitted, WordCorpus
from langladder.embeddings.postprocess import postprocess
from langladder.progress import working
from langladder.schema import locate
from langladder.tasks.memory import peak_bytes
from pipeline.support.outside import lexicon_of
from pipeline.support.stage import stage
from pipeline.support.work import Work, work

WORDS = Path("data/words")


def fit(corpus: WordCorpus, job: Any, open_work: Work) -> tuple[Fitted, dict[str, float]]:
    """The vectors with their learning curve, and what the machine took for them."""
    rung = locate(job.embedding.target)
    if issubclass(rung, EmbeddingMethod):
        method = rung(job.embedding.model)
        with working("compiling"):
            method.warm_up(corpus)
        started = time.perf_counter()
        with working("making vectors") as task:
            fitted = method.fit(corpus, seed=job.seed, progress=task.note)
        seconds = time.perf_counter() - started
        words = len(corpus.stream.ids) * getattr(job.embedding.model, "epochs", 1)
        cost = {"seconds": seconds, "tokens_per_second": words / seconds, "peak_memory_bytes": peak_bytes()}
        return fitted, cost
    with working("loading Lightning"):  # it takes its time: only for networks
        from langladder.tasks.word_vectors import train_word_vectors

    return train_word_vectors(
        rung,
        job.embedding.model,
        corpus,
        training=job.embedding.training,
        seed=job.seed,
        work=open_work.checkpoints,
        logger=open_work.run.lightning_logger(),
    )


@stage
def main(job: Any, out: Path) -> None:
    name = job.embedding.name
    with work("embedding", "embed", job, {"words": WORDS} | lexicon_of(job)) as open_work:
        fitted, cost = fit(WordCorpus.open(WORDS), job, open_work)
        vectors = postprocess(fitted.vectors, job.embedding.after.steps)
        place = out / "models" / "embedding" / name
        with open_work.artefact(place) as folder:
            vectors.save(folder)
        open_work.write_curve(out / "curves" / "embedding" / f"{name}.csv", fitted.curve)
        figures = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        figures["bytes_per_word"] = round(vectors.bytes_per_word)
        write_json(out / "metrics" / "embed" / f"{name}.json", figures)
        open_work.run.metrics(figures | cost)
    print(f"embed {name}: {len(vectors):,} words × {figures['dimension']} in {cost['seconds']:.0f} s → {place}")


if __name__ == "__main__":
    main()
