"""Stage `embed`: make one rung's word vectors; models/embedding/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.embeddings.postprocess import postprocess
from langladder.progress import working
from langladder.schema import locate, locate_function
from langladder.text.word_corpus import WordCorpus
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

WORDS, COUNTS = Path("data/words"), Path("data/cooccurrence")


@stage
def main(job: Any, out: Path) -> None:
    name = job.embedding.name
    with tracked_job("embedding", "embed", job, {"words": WORDS}) as work:
        rung = locate(job.embedding.target)
        with working("loading what makes it"):  # Lightning takes its time, for networks
            make = locate_function(job.embedding.maker)
        made = make(
            rung,
            job.embedding.model,
            WordCorpus.open(WORDS, COUNTS),
            training=getattr(job.embedding, "training", None),
            seed=job.seed,
            checkpoints=work.checkpoints,
            logger=work.run.lightning_logger,
        )
        vectors = postprocess(made.vectors, job.embedding.after.steps)
        place = out / "models" / "embedding" / name
        with work.artefact(place) as folder:
            vectors.save(folder)
        work.write_curve(out / "curves" / "embedding" / f"{name}.csv", made.curve)
        figures = {"words": len(vectors), "dimension": int(vectors.matrix.shape[1])}
        figures["bytes_per_word"] = round(vectors.bytes_per_word)
        write_json(out / "metrics" / "embed" / f"{name}.json", figures)
        work.run.metrics(figures | made.cost)
    seconds = made.cost["seconds"]
    print(f"embed {name}: {len(vectors):,} words × {figures['dimension']} in {seconds:.0f} s → {place}")


if __name__ == "__main__":
    main()
