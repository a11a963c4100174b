"""Stage `prefer`: rankings of answers, for rungs that learn from preferences; data/preferences/<rung>/.

The gold judge ranks the answers of an instructed model. For your own instructions, pairs come from your files. If no
rung of params.yaml reads the rankings, nothing is drawn.
"""

from pathlib import Path

from langladder.corpora.instructions.judge import PreferencesConfig
from langladder.families.instruct import INSTRUCTIONS, dialogues, known
from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.text.labelled.instructions import INSTRUCTION_SPLITS, Dialogue, Ranking, rankings_of, write_rankings
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import FamilyJob
from pipeline.settings.stage import stage
from pipeline.tracking.job import tracked_job

NOISY = ("train", "validation")


class PreferJob(FamilyJob):
    """Settings of this stage. wanted: whether a rung reads the preferences."""

    preferences: PreferencesConfig
    wanted: bool


@stage
def main(job: PreferJob, out: Path) -> None:
    name = job.name
    target, figures = output(out, "data/preferences", name), {}
    inputs = {"model": Path("models/instruct") / name, "instructions": INSTRUCTIONS}
    if job.wanted:
        with tracked_job("prefer", job, inputs) as work, atomic_folder(target, OUTPUT) as folder:
            write_json(folder / "provenance.json", work.provenance)
            sides = dict(zip(INSTRUCTION_SPLITS, dialogues(*INSTRUCTION_SPLITS), strict=True))
            ranked = _drawn(job, sides, inputs["model"]) if known(*sides.values()) else _from_files(job, sides)
            for split, rankings in ranked.items():
                write_rankings(folder / f"{split}.parquet", rankings)
                figures[split] = {"rankings": len(rankings), "pairs": sum(len(ranking.pairs()) for ranking in rankings)}
        summary = f"{figures['train']['pairs']:,} training pairs"
    else:
        with atomic_folder(target, OUTPUT) as folder:
            write_json(folder / "provenance.json", {"wanted": False})
        summary = "no rung needs them, nothing was drawn"
    write_json(output(out, "metrics/prefer", name, ending=".json"), figures)
    print(f"prefer {name}: {summary} → {target}")


def _drawn(job: PreferJob, sides: dict[str, list[Dialogue]], folder: Path) -> dict[str, list[Ranking]]:
    """Rankings of the model's answers by the gold judge, for every split."""
    from langladder.corpora.instructions.judge import NoiseConfig, gold_rewards, preferences
    from langladder.decoding.sampled_preferences import sampled
    from langladder.models.language.instructed import read_instructed
    from langladder.text.labelled.templates import ChatTemplate

    model, tokenizer = read_instructed(folder)
    rankings = {}
    for number, (split, dialogues_of_split) in enumerate(sides.items()):
        seed = job.seed + 1000 * number
        drawn = sampled(model, ChatTemplate(tokenizer), dialogues_of_split, job.preferences, seed)
        noise = job.preferences.noise if split in NOISY else NoiseConfig()
        rankings[split] = preferences(drawn, gold_rewards, noise, seed)
    return rankings


def _from_files(job: PreferJob, sides: dict[str, list[Dialogue]]) -> dict[str, list[Ranking]]:
    """The pairs of chosen and rejected responses in the dialogues, for every split."""
    rankings = {split: rankings_of(dialogues_of_split) for split, dialogues_of_split in sides.items()}
    if not rankings["train"]:
        raise InputError(
            f"data/preferences/{job.name}: your instructions have no field `rejected`, and there is no gold "
            "judge for them; give files with chosen and rejected (params.yaml: paths.instructions), or list no rung "
            "that reads preferences"
        )
    return rankings


if __name__ == "__main__":
    main()
