"""Stage `cooccur`: count once what the listed rungs need; sparse matrices in data/cooccurrence/."""

from pathlib import Path

from langladder.counts.cooccurrence import AnyCounting, store_counts
from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.text.words.vocabulary import WordCorpus
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.schema import StageJob
from pipeline.settings.stage import stage


class CooccurJob(StageJob):
    """Settings of this stage."""

    countings: list[AnyCounting]


@stage
def main(job: CooccurJob, out: Path) -> None:
    corpus = WordCorpus.open(Path("data/words"))
    folder = out / "data" / "cooccurrence"
    with atomic_folder(folder, OUTPUT) as temporary:
        figures = store_counts(temporary, corpus, job.countings)
    for counting in job.countings:
        print(f"cooccur: {figures[f'{counting.key}_nonzeros']:,} entries of {counting.key} → {folder}")
    write_json(out / "metrics" / "cooccur.json", figures)


if __name__ == "__main__":
    main()
