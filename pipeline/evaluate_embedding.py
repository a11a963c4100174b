"""Stage `evaluate_embedding`: score one rung's word vectors on analogies, similarity and groups."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.embeddings.base import WordVectors
from langladder.embeddings.saved import load_vectors
from langladder.evaluation.word_vectors import evaluate_word_vectors
from langladder.reporting.numbers import share
from langladder.schema import locate
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage


def page_of(vectors: WordVectors, job: Any) -> dict[str, Any]:
    """Everything that is measured and shown of word vectors."""
    return {"bytes_per_word": round(vectors.bytes_per_word)} | evaluate_word_vectors(
        vectors,
        Path(job.paths.analogies),
        Path(job.paths.similarity),
        groups=Path(job.paths.groups),
        restrict_vocabulary=job.evaluation.restrict_vocabulary,
        neighbours=job.evaluation.neighbours,
    )


def figures_of(page: dict[str, Any]) -> dict[str, Any]:
    """The flat numbers of a page."""
    scores = page["scores"]
    analogy = scores["analogy"] or {"accuracy": None, "coverage": None}
    figures = {"analogy": analogy["accuracy"], "analogy_coverage": analogy["coverage"]}
    if scores["clusters"]:
        figures |= {"purity": scores["clusters"]["purity"], "outliers": scores["clusters"]["outliers"]["accuracy"]}
    for entry in scores["similarity"]:
        figures |= {f"similarity_{entry['name']}": entry["spearman"]}
        figures |= {f"similarity_{entry['name']}_coverage": entry["coverage"]}
    return figures


@stage
def main(job: Any, out: Path) -> None:
    name = job.embedding.name
    model = Path("models/embedding") / name
    inputs = {"model": model} | {key: Path(value) for key, value in job.paths.model_dump().items()}
    with tracked_job("embedding", "evaluate_embedding", job, inputs) as work:
        page = page_of(load_vectors(model), job)
        figures = figures_of(page)
        names = {"name": name, "title": job.embedding.title, "family": locate(job.embedding.target).approach}
        write_json(out / "reports" / "rungs" / "embedding" / f"{name}.json", names | page)
        write_json(out / "metrics" / "embedding" / f"{name}.json", figures)
        work.run.test_scores(model, figures)
    answered = "no analogies to answer"
    if figures["analogy"] is not None:
        answered = f"{share(figures['analogy'])} of the analogies right, {share(figures['analogy_coverage'])} answered"
    print(f"evaluate_embedding {name}: {answered}")


if __name__ == "__main__":
    main()
