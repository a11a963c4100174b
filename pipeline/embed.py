"""Stage `embed`: make one rung's word vectors; models/embedding/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.tasks.word_vectors import train_word_vectors
from langladder.text.corpus_ids import TokenStream
from langladder.text.vocabulary import Vocabulary
from pipeline.outputs import write_curve
from pipeline.stage import stage
from pipeline.work import work

WORDS = Path("data/words")


@stage
def main(job: Any, out: Path) -> None:
    name = job.embedding.name
    with work("embedding", "embed", job, {"words": WORDS}) as open_work:
        vectors, result = train_word_vectors(
            job.embedding.model,
            TokenStream.open(WORDS / "train.arrow"),
            Vocabulary.load(WORDS / "vocabulary.json"),
            training=job.embedding.training,
            seed=job.seed,
            work=open_work.checkpoints,
            logger=open_work.run.lightning_logger(),
        )
        folder = out / "models" / "embedding" / name
        vectors.save(folder)
        open_work.write_provenance(folder)
        write_curve(out / "curves" / "embedding" / f"{name}.csv", result.curve)
        figures = {"words": len(vectors.words), "dimension": int(vectors.matrix.shape[1])}
        write_json(out / "metrics" / "embed" / f"{name}.json", figures)
        cost = {"seconds": result.seconds, "tokens_per_second": result.tokens_per_second}
        open_work.run.metrics(figures | cost | {"peak_memory_bytes": result.peak_memory_bytes})
    print(f"embed {name}: {figures['words']:,} words × {figures['dimension']} in {result.seconds:.0f} s → {folder}")


if __name__ == "__main__":
    main()
