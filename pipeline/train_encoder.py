"""Stage `train_encoder`: pre-train one encoder on text with gaps; models/encoder/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.ground.schema import locate
from langladder.text.tokenize.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import copies_of, keep, make, watched
from pipeline.provenance.made_lm import BESIDE, TOKENIZER, TOKENS, streams
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.encoder
    with tracked_job("encoder", "train_encoder", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(TOKENIZER)
        model = locate(rung.target)(rung.model, tokenizer.full_vocab_size)
        made = make(work, rung, job.seed, model, tokenizer, *streams(), settings=rung)
        figures, said = watched(model, made)
        keep(work, out, model, made, figures, said=said, beside=copies_of(*BESIDE))


if __name__ == "__main__":
    main()
