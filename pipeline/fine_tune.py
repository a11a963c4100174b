"""Stage `fine_tune`: train a language model from what another rung has learnt; models/tune/<rung>/, metrics, curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.text.tokenize.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import make
from pipeline.provenance.made_lm import TOKENIZER, TOKENS, keep, streams
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.tune
    with tracked_job("tune", "fine_tune", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        base, tokenizer = Path("models") / rung.base, Tokenizer.load(TOKENIZER)
        keep(work, out, *make(work, rung, job.seed, base, tokenizer, *streams(), settings=rung))


if __name__ == "__main__":
    main()
