"""Stage `embed`: make one rung's word vectors; models/embedding/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.counts.stored import file_name
from langladder.embeddings.method import counting_of
from langladder.embeddings.postprocess import postprocess
from langladder.progress import working
from langladder.schema import locate, locate_function
from langladder.text.word_corpus import WordCorpus
from pipeline.support.outside import lexicon_of
from pipeline.support.stage import stage
from pipeline.support.work import work

WORDS, COUNTS = Path("data/words"), Path("data/cooccurrence")


def _counts_of(job: Any) -> dict[str, Path]:
    """The counts that the rung is made of, where the stage `cooccur` made them (a sweep may ask for others)."""
    counting = counting_of(job.embedding.model)
    file = counting and COUNTS / file_name(counting)
    return {"counts": file} if file and file.is_file() else {}


@stage
def main(job: Any, out: Path) -> None:
    name = job.embedding.name
    with work("embedding", "embed", job, {"words": WORDS} | _counts_of(job) | lexicon_of(job)) as open_work:
        rung = locate(job.embedding.target)
        with working("loading what makes it"):  # Lightning takes its time, for networks
            make = locate_function(rung.maker)
        made = make(
            rung,
            job.embedding.model,
            WordCorpus.open(WORDS, COUNTS),
            training=getattr(job.embedding, "training", None),
            seed=job.seed,
            checkpoints=open_work.checkpoints,
            logger=open_work.run.lightning_logger,
        )
        vectors = postprocess(made.vectors, job.embedding.after.steps)
        place = out / "models" / "embedding" / name
        with open_work.artefact(place) as folder:
            vectors.save(folder)
        open_work.write_curve(out / "curves" / "embedding" / f"{name}.csv", made.curve)
        figures = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        figures["bytes_per_word"] = round(vectors.bytes_per_word)
        write_json(out / "metrics" / "embed" / f"{name}.json", figures)
        open_work.run.metrics(figures | made.cost)
    seconds = made.cost["seconds"]
    print(f"embed {name}: {len(vectors):,} words × {figures['dimension']} in {seconds:.0f} s → {place}")


if __name__ == "__main__":
    main()
