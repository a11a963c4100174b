"""Stage `prefer`: draw answers of an instructed model and rank them by the gold judge; data/preferences/<rung>/."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.atomic import STAGE, atomic_folder
from langladder.corpora.instructions.judge import gold_rewards
from langladder.corpora.instructions.preferring import NoiseConfig, preferences
from langladder.decoding.sampled_preferences import sampled
from langladder.errors import InputError
from langladder.models.instructed import read_instructed
from langladder.text.chat_template import ChatTemplate
from langladder.text.instructions import INSTRUCTION_SPLITS, write_rankings
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made_instructed import INSTRUCTIONS, dialogues, known
from pipeline.settings.stage import stage

NOISY = ("train", "validation")


@stage
def main(job: Any, out: Path) -> None:
    name, config = job.instruct.name, job.preferences
    place, figures = out / "data" / "preferences" / name, {}
    inputs = {"model": Path("models/instruct") / name, "instructions": INSTRUCTIONS}
    with tracked_job("instruct", "prefer", job, inputs) as work, atomic_folder(place, STAGE) as folder:
        sides = dict(zip(INSTRUCTION_SPLITS, dialogues(*INSTRUCTION_SPLITS), strict=True))
        if not known(*sides.values()):
            raise InputError("instructions: no gold judge knows them; preferences need microworld's (params.yaml)")
        model, tokenizer = read_instructed(inputs["model"])
        write_json(folder / "provenance.json", work.provenance)
        for number, (split, asked) in enumerate(sides.items()):
            seed = job.seed + 1000 * number
            drawn = sampled(model, ChatTemplate(tokenizer), asked, config, seed)
            noise = config.noise if split in NOISY else NoiseConfig()
            rankings = preferences(drawn, gold_rewards, noise, seed)
            write_rankings(folder / f"{split}.parquet", rankings)
            figures[split] = {"rankings": len(rankings), "pairs": sum(len(one.pairs()) for one in rankings)}
    write_json(out / "metrics" / "prefer" / f"{name}.json", figures)
    print(f"prefer {name}: {figures['train']['pairs']:,} training pairs → {place}")


if __name__ == "__main__":
    main()
