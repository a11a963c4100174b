"""Stage `train_translator`: train one translator; models/translator/<rung>/, metrics, learning curve."""

from pathlib import Path
from typing import Any

import torch

from langladder.evaluation.bleu import bleu_config
from langladder.ground.schema import locate
from langladder.text.storage.corpus_ids import PairStream
from langladder.text.storage.tables import CONVENTIONS
from langladder.text.tokenize.tokenizers import Tokenizer
from pipeline.provenance.job import tracked_job
from pipeline.provenance.made import copies_of, keep, make, watched
from pipeline.settings.stage import stage

TOKENS = Path("data/tokens/parallel")
SIDES = [TOKENS / f"{side}.json" for side in ("source", "target")]


@stage
def main(job: Any, out: Path) -> None:
    rung = job.translator
    with tracked_job("translator", "train_translator", job, {"tokens": TOKENS}) as work:
        torch.manual_seed(job.seed)
        tokenizers = [Tokenizer.load(file) for file in SIDES]
        model = locate(rung.target)(rung.model, *(tokenizer.vocab_size for tokenizer in tokenizers))
        pairs = [PairStream.open(TOKENS / f"{split}.arrow") for split in ("train", "validation")]
        bleu = bleu_config(TOKENS, job.bleu_tokenize or "auto").tokenize
        made = make(work, rung, job.seed, model, tokenizers, *pairs, settings=rung, bleu_tokenize=bleu)
        figures, said = watched(model, made)
        keep(work, out, model, made, figures, said=said, beside=copies_of(*SIDES, TOKENS / CONVENTIONS))


if __name__ == "__main__":
    main()
