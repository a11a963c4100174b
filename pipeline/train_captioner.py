"""Stage `train_captioner`: train one captioner on scenes; models/captioner/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.corpora.scenes import read_scenes
from langladder.data.captioning import CODES, SceneCodes
from langladder.ground.schema import locate
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import keep, make, watched
from pipeline.settings.stage import stage

SCENES = Path("data/raw/scenes")


@stage
def main(job: Any, out: Path) -> None:
    rung = job.captioner
    with tracked_job("captioner", "train_captioner", job, {"scenes": SCENES}) as work:
        splits = (corpus := read_scenes(SCENES)).splits
        codes = SceneCodes.of_corpus(corpus)
        torch.manual_seed(job.seed)
        model = locate(rung.target)(rung.model, *codes.sizes)
        made = make(work, rung, job.seed, model, codes, splits["train"], splits["validation"], settings=rung)
        figures, said = watched(model, made)
        figures |= {f"{split}_examples": len(examples) for split, examples in splits.items()}
        keep(work, out, model, made, figures, said=said, beside=lambda folder: codes.save(folder / CODES))


if __name__ == "__main__":
    main()
