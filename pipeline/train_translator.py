"""Stage `train_translator`: train one translator; models/translator/<rung>/, metrics, learning curve."""

import shutil
from pathlib import Path
from typing import Any

import torch

from langladder.artefacts import write_json
from langladder.evaluation.bleu import bleu_config
from langladder.schema import locate, locate_function
from langladder.text.corpus_ids import PairStream
from langladder.text.tokenizers import Tokenizer
from pipeline.provenance.curves import shown
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

TOKENS = Path("data/tokens/parallel")


@stage
def main(job: Any, out: Path) -> None:
    name = job.translator.name
    with tracked_job("translator", "train_translator", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        tokenizers = [Tokenizer.load(TOKENS / f"{side}.json") for side in ("source", "target")]
        sizes = [tokenizer.vocab_size for tokenizer in tokenizers]
        model = locate(job.translator.target)(job.translator.model, *sizes)
        make = locate_function(job.translator.maker)
        made = make(
            model,
            tokenizers,
            *(PairStream.open(TOKENS / f"{split}.arrow") for split in ("train", "validation")),
            settings=job.translator,
            seed=job.seed,
            checkpoints=work.checkpoints,
            logger=work.run.lightning_logger,
            bleu_tokenize=bleu_config(TOKENS, job.bleu_tokenize or "auto").tokenize,
        )
        place = out / "models" / "translator" / name
        with work.artefact(place) as folder:
            model.save(folder)
            for side in ("source", "target"):
                shutil.copy(TOKENS / f"{side}.json", folder)
        work.write_curve(out / "curves" / "translator" / f"{name}.csv", made.curve)
        figures = {"parameters": model.number_of_parameters(), "validation_loss": made.validation_loss}
        write_json(out / "metrics" / "train_translator" / f"{name}.json", figures)
        work.run.metrics(figures | made.cost)
    loss = shown(made.validation_loss)
    print(f"train_translator {name}: {made.cost['seconds']:.0f} s, validation loss {loss} → {place}")


if __name__ == "__main__":
    main()
