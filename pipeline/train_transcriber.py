"""Stage `train_transcriber`: train one recogniser of speech; models/transcriber/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.artefacts import write_json
from langladder.corpora.speech import ALPHABET
from langladder.corpora.speech_files import read_speech
from langladder.schema import locate, locate_function
from pipeline.provenance.curves import shown
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

SPEECH = Path("data/raw/speech")


@stage
def main(job: Any, out: Path) -> None:
    name = job.transcriber.name
    with tracked_job("transcriber", "train_transcriber", job, {"speech": SPEECH}) as work:
        corpus = read_speech(SPEECH)
        torch.manual_seed(job.seed)
        model = locate(job.transcriber.target)(job.transcriber.model, corpus.dimensions, len(ALPHABET))
        made = locate_function(job.transcriber.maker)(
            model,
            ALPHABET,
            *(corpus.splits[split] for split in ("train", "validation")),
            settings=job.transcriber,
            seed=job.seed,
            checkpoints=work.checkpoints,
            logger=work.run.lightning_logger,
        )
        place = out / "models" / "transcriber" / name
        with work.artefact(place) as folder:
            model.save(folder)
        work.write_curve(out / "curves" / "transcriber" / f"{name}.csv", made.curve)
        figures = {"parameters": model.number_of_parameters(), "validation_loss": made.validation_loss}
        figures |= {f"{split}_examples": len(examples) for split, examples in corpus.splits.items()}
        write_json(out / "metrics" / "train_transcriber" / f"{name}.json", figures)
        work.run.metrics(figures | made.cost)
    loss = shown(made.validation_loss)
    print(f"train_transcriber {name}: {made.cost['seconds']:.0f} s, validation loss {loss} → {place}")


if __name__ == "__main__":
    main()
