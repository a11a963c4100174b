"""Stage `train_transcriber`: train one recogniser of speech; models/transcriber/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.corpora.speech import ALPHABET, read_speech
from langladder.ground.schema import locate
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import keep, make, watched
from pipeline.settings.stage import stage

SPEECH = Path("data/raw/speech")


@stage
def main(job: Any, out: Path) -> None:
    rung = job.transcriber
    with tracked_job("transcriber", "train_transcriber", job, {"speech": SPEECH}) as work:
        splits = (corpus := read_speech(SPEECH)).splits
        torch.manual_seed(job.seed)
        model = locate(rung.target)(rung.model, corpus.dimensions, len(ALPHABET))
        made = make(work, rung, job.seed, model, ALPHABET, splits["train"], splits["validation"], settings=rung)
        figures, said = watched(model, made)
        figures |= {f"{split}_examples": len(examples) for split, examples in splits.items()}
        keep(work, out, model, made, figures, said=said)


if __name__ == "__main__":
    main()
