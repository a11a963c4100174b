"""Stage `evaluate_embedding`: score one rung's word vectors on analogies and similarity."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.embeddings.base import WordVectors
from langladder.evaluation.word_vectors import evaluate_word_vectors
from pipeline.stage import stage
from pipeline.work import work


def figures_of(scores: dict[str, Any]) -> dict[str, Any]:
    """The flat numbers of a page's scores."""
    analogy = scores["analogy"] or {"accuracy": None, "coverage": None}
    figures = {"analogy": analogy["accuracy"], "analogy_coverage": analogy["coverage"]}
    for entry in scores["similarity"]:
        figures |= {f"similarity_{entry['name']}": entry["spearman"]}
        figures |= {f"similarity_{entry['name']}_coverage": entry["coverage"]}
    return figures


@stage
def main(job: Any, out: Path) -> None:
    name, settings = job.embedding.name, job.evaluation
    model, analogies = Path("models/embedding") / name, Path(job.paths.analogies)
    similarity = Path(job.paths.similarity)
    inputs = {"model": model, "analogies": analogies, "similarity": similarity}
    with work("embedding", "evaluate_embedding", job, inputs) as open_work:
        page = evaluate_word_vectors(
            WordVectors.load(model),
            analogies,
            similarity,
            restrict_vocabulary=settings.restrict_vocabulary,
            neighbours=settings.neighbours,
        )
        figures = figures_of(page["scores"])
        names = {"name": name, "title": job.embedding.title}
        write_json(out / "reports" / "rungs" / "embedding" / f"{name}.json", names | page)
        write_json(out / "metrics" / "embedding" / f"{name}.json", figures)
        open_work.run.metrics(figures)
    print(f"evaluate_embedding {name}: analogy accuracy {figures['analogy']}, coverage {figures['analogy_coverage']}")


if __name__ == "__main__":
    main()
