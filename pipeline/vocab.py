"""Stage `vocab`: the word vocabulary with its counts, and the training text as word ids, in data/words/."""

from pathlib import Path

from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.text.words.vocabulary import VocabularyConfig, encode_words
from pipeline.settings.run_folder import OUTPUT
from pipeline.settings.schema import StageJob
from pipeline.settings.stage import stage


class VocabJob(StageJob):
    """Settings of this stage."""

    words: VocabularyConfig


@stage
def main(job: VocabJob, out: Path) -> None:
    folder = out / "data" / "words"
    with atomic_folder(folder, OUTPUT) as temporary:
        figures = encode_words(Path("data/clean/text"), job.words, temporary)
    write_json(out / "metrics" / "vocab.json", figures)
    covered = f"{figures['types']:,} words cover {figures['coverage']:.1%} of the training text"
    print(f"vocab: {covered} → {folder}; {figures['read_as']}")


if __name__ == "__main__":
    main()
