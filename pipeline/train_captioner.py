"""Stage `train_captioner`: train one captioner on scenes; models/captioner/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.artefacts import write_json
from langladder.corpora.scene_files import read_scenes
from langladder.data.captioning import CODES, SceneCodes
from langladder.schema import locate, locate_function
from pipeline.provenance.curves import shown
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

SCENES = Path("data/raw/scenes")


@stage
def main(job: Any, out: Path) -> None:
    name = job.captioner.name
    with tracked_job("captioner", "train_captioner", job, {"scenes": SCENES}) as work:
        corpus = read_scenes(SCENES)
        codes = SceneCodes.of_corpus(corpus)
        torch.manual_seed(job.seed)
        model = locate(job.captioner.target)(job.captioner.model, *codes.sizes)
        made = locate_function(job.captioner.maker)(
            model,
            codes,
            *(corpus.splits[split] for split in ("train", "validation")),
            settings=job.captioner,
            seed=job.seed,
            checkpoints=work.checkpoints,
            logger=work.run.lightning_logger,
        )
        place = out / "models" / "captioner" / name
        with work.artefact(place) as folder:
            model.save(folder)
            codes.save(folder / CODES)
        work.write_curve(out / "curves" / "captioner" / f"{name}.csv", made.curve)
        figures = {"parameters": model.number_of_parameters(), "validation_loss": made.validation_loss}
        figures |= {f"{split}_examples": len(examples) for split, examples in corpus.splits.items()}
        write_json(out / "metrics" / "train_captioner" / f"{name}.json", figures)
        work.run.metrics(figures | made.cost)
    loss = shown(made.validation_loss)
    print(f"train_captioner {name}: {made.cost['seconds']:.0f} s, validation loss {loss} → {place}")


if __name__ == "__main__":
    main()
