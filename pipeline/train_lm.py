"""Stage `train_lm`: train (by gradient) or count one language model; models/lm/<rung>/, metrics, learning curve."""

import shutil
import time
from pathlib import Path
from typing import Any

import torch

from langladder.artefacts import read_json, write_json
from langladder.evaluation.perplexity import score
from langladder.infinity import from_plain, show, to_plain
from langladder.models.base import CountedLanguageModel, LanguageModel
from langladder.models.initial_vectors import start_from_vectors
from langladder.models.neural import NeuralLanguageModel
from langladder.progress import working
from langladder.schema import locate
from langladder.text.corpus_ids import TokenStream
from langladder.text.tokenizers import Tokenizer
from pipeline.support.outside import vectors_of
from pipeline.support.stage import stage
from pipeline.support.work import Work, work

TOKENS = Path("data/tokens/text")
Curve = list[dict[str, Any]]


def fit(model: LanguageModel, tokenizer: Tokenizer, job: Any, open_work: Work) -> tuple[Curve, dict[str, float]]:
    """Fit the model in place; returns its learning curve and what the machine took for it."""
    train = TokenStream.open(TOKENS / "train.arrow")
    if isinstance(model, CountedLanguageModel):
        with working("compiling"):
            model.warm_up(train)
        started = time.perf_counter()
        model.fit(train)
        seconds = time.perf_counter() - started
        return [], {"seconds": seconds, "tokens_per_second": len(train.ids) / seconds}
    with working("loading Lightning"):  # it takes its time: only for these
        from langladder.tasks.language_modelling import train_language_model

    assert isinstance(model, NeuralLanguageModel), type(model)
    start_from_vectors(model, tokenizer, job.lm.input)
    result = train_language_model(
        model,
        train,
        TokenStream.open(TOKENS / "validation.arrow"),
        job.lm.training,
        seed=job.seed,
        work=open_work.checkpoints,
        logger=open_work.run.lightning_logger(),
    )
    cost = {"seconds": result.seconds, "tokens_per_second": result.tokens_per_second}
    return result.curve, cost | {"peak_memory_bytes": result.peak_memory_bytes}


@stage
def main(job: Any, out: Path) -> None:
    with work("lm", "train_lm", job, {"tokens": TOKENS} | vectors_of(job)) as open_work:
        torch.manual_seed(job.seed)
        tokenizer = Tokenizer.load(TOKENS / "tokenizer.json")
        model = locate(job.lm.target)(job.lm.model, tokenizer.vocab_size)
        curve, cost = fit(model, tokenizer, job, open_work)
        place = out / "models" / "lm" / job.lm.name
        with open_work.artefact(place) as folder:
            model.save(folder)
            shutil.copy(TOKENS / "tokenizer.json", folder)
        open_work.write_curve(out / "curves" / "lm" / f"{job.lm.name}.csv", curve)

        sizes = read_json(TOKENS / "sizes.json")["validation"]
        scores = from_plain(score(model, TokenStream.open(TOKENS / "validation.arrow"), **sizes))
        figures = {"parameters": model.number_of_parameters()}
        figures |= {f"validation_{key}": scores[key] for key in ("perplexity_per_word", "bits_per_byte")}
        write_json(out / "metrics" / "train_lm" / f"{job.lm.name}.json", to_plain(figures))
        open_work.run.metrics(figures | cost)
    shown = show(figures["validation_perplexity_per_word"], ".2f")
    print(f"train_lm {job.lm.name}: {cost['seconds']:.0f} s, validation perplexity {shown} a word → {place}")


if __name__ == "__main__":
    main()
