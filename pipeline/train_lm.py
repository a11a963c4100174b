"""Stage `train_lm`: train (by gradient) or count one language model; models/lm/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.schema import locate
from langladder.text.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made_lm import TOKENS, keep, make
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.lm
    with tracked_job("lm", "train_lm", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(TOKENS / "tokenizer.json")
        model = locate(rung.target)(rung.model, tokenizer.vocab_size)
        made = make(model, tokenizer, rung, job.seed, work)
        keep(model, made, work, out, family="lm", stage="train_lm", name=rung.name)


if __name__ == "__main__":
    main()
