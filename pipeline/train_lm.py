"""Stage `train_lm`: train (by gradient) or count one language model; models/lm/<rung>/, metrics, learning curve."""

import shutil
from pathlib import Path
from typing import Any

import torch

from langladder.artefacts import read_json, write_json
from langladder.evaluation.perplexity import score
from langladder.infinity import show, to_plain
from langladder.progress import working
from langladder.schema import locate, locate_function
from langladder.text.corpus_ids import TokenStream
from langladder.text.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.settings.stage import stage

TOKENS = Path("data/tokens/text")


@stage
def main(job: Any, out: Path) -> None:
    with tracked_job("lm", "train_lm", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(TOKENS / "tokenizer.json")
        model = locate(job.lm.target)(job.lm.model, tokenizer.vocab_size)
        with working("loading what trains it"):  # Lightning takes its time: only for those that need it
            make = locate_function(job.lm.maker)
        made = make(
            model,
            tokenizer,
            *(TokenStream.open(TOKENS / f"{split}.arrow") for split in ("train", "validation")),
            settings=job.lm,
            seed=job.seed,
            checkpoints=work.checkpoints,
            logger=work.run.lightning_logger,
        )
        place = out / "models" / "lm" / job.lm.name
        with work.artefact(place) as folder:
            model.save(folder)
            shutil.copy(TOKENS / "tokenizer.json", folder)
        work.write_curve(out / "curves" / "lm" / f"{job.lm.name}.csv", made.curve)

        sizes = read_json(TOKENS / "sizes.json")["validation"]
        scores = score(model, TokenStream.open(TOKENS / "validation.arrow"), **sizes).figures()
        figures = {"parameters": model.number_of_parameters()}
        figures |= {f"validation_{key}": scores[key] for key in ("perplexity_per_word", "bits_per_byte")}
        write_json(out / "metrics" / "train_lm" / f"{job.lm.name}.json", to_plain(figures))
        work.run.metrics(figures | made.cost)
    shown = show(figures["validation_perplexity_per_word"], ".2f")
    print(f"train_lm {job.lm.name}: {made.cost['seconds']:.0f} s, validation perplexity {shown} a word → {place}")


if __name__ == "__main__":
    main()
