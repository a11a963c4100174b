"""Stage `fine_tune`: train a language model from what another rung has learnt; models/tune/<rung>/, metrics, curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.text.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made_lm import TOKENS, keep, make
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    rung = job.tune
    with tracked_job("tune", "fine_tune", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        model, made = make(Path("models") / rung.base, Tokenizer.load(TOKENS / "tokenizer.json"), rung, job.seed, work)
        keep(model, made, work, out, family="tune", stage="fine_tune", name=rung.name)


if __name__ == "__main__":
    main()
