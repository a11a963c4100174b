"""Stage `train_lm`: train (by gradient) or count one language model; models/lm/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.ground.schema import locate
from langladder.text.tokenize.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import make
from pipeline.provenance.made_lm import TOKENIZER, TOKENS, keep, streams
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.lm
    with tracked_job("lm", "train_lm", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(TOKENIZER)
        model = locate(rung.target)(rung.model, tokenizer.vocab_size)
        keep(work, out, model, make(work, rung, job.seed, model, tokenizer, *streams(), settings=rung))


if __name__ == "__main__":
    main()
