"""Stage `embed`: make one rung's word vectors; models/embedding/<rung>/, metrics, learning curve."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from langladder.embeddings.postprocess import postprocess
from langladder.ground.schema import locate
from langladder.text.words.conventions import conventions_of
from langladder.text.words.word_corpus import WordCorpus
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import keep, make
from pipeline.settings.stage import stage

WORDS, COUNTS = Path("data/words"), Path("data/cooccurrence")


@stage
def main(job: Any, out: Path) -> None:
    rung = job.embedding
    with tracked_job("embedding", "embed", job, {"words": WORDS}) as work:
        corpus, training = WordCorpus.open(WORDS, COUNTS), getattr(rung, "training", None)
        made = make(work, rung, job.seed, locate(rung.target), rung.model, corpus, training=training)
        conventions = conventions_of(WORDS)
        vectors = replace(
            postprocess(made.vectors, rung.after.steps),
            normalisation=conventions.normalisation,
            words_by=conventions.words,
        )
        figures = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        figures["bytes_per_word"] = round(vectors.bytes_per_word)
        keep(work, out, vectors, made, figures, said=f"{len(vectors):,} words × {figures['dimension']}")


if __name__ == "__main__":
    main()
