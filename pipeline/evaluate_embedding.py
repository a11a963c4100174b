"""Stage `evaluate_embedding`: score one rung's word vectors on analogies, similarity and groups."""

from pathlib import Path
from typing import Any

from langladder.embeddings.saved import load_vectors
from langladder.evaluation.word_vectors import QuestionSets, evaluate_word_vectors
from langladder.faces.report.numbers import share
from langladder.ground.schema import locate
from pipeline.provenance.job import tracked_job
from pipeline.provenance.judged import judged
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    name = job.embedding.name
    model = Path("models/embedding") / name
    sets = {key: Path(value) for key, value in job.paths.model_dump().items()}
    with tracked_job("embedding", "evaluate_embedding", job, {"model": model} | sets) as work:
        page = evaluate_word_vectors(
            load_vectors(model),
            QuestionSets(**sets),
            name=name,
            approach=locate(job.embedding.target).approach,
            restrict_vocabulary=job.evaluation.restrict_vocabulary,
            neighbours=job.evaluation.neighbours,
        )
        figures = page.figures()
        judged(work, out, page, model)
    answered = "no analogies to answer"
    if figures["analogy"] is not None:
        answered = f"{share(figures['analogy'])} of the analogies right, {share(figures['analogy_coverage'])} answered"
    print(f"evaluate_embedding {name}: {answered}")


if __name__ == "__main__":
    main()
