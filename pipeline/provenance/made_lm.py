"""What the stages that make language models share: those of the family `lm`, and those that grow from it."""

import shutil
from pathlib import Path
from typing import Any

from langladder.artefacts import read_json, write_json
from langladder.evaluation.perplexity import score
from langladder.infinity import show, to_plain
from langladder.models.base import LanguageModel
from langladder.models.making import Made
from langladder.progress import working
from langladder.schema import locate_function
from langladder.text.corpus_ids import TokenStream
from langladder.text.tokenizers import Tokenizer
from pipeline.provenance.job import TrackedJob

TOKENS = Path("data/tokens/text")


def make(start: Any, tokenizer: Tokenizer, rung: Any, seed: int, work: TrackedJob) -> Any:
    """Call what the rung names as its maker.

    Args:
        start: what it begins with: the model, to be trained in place; the folder of its base.
    """
    with working("loading what trains it"):  # Lightning takes its time: only for those that need it
        maker = locate_function(rung.maker)
    return maker(
        start,
        tokenizer,
        *(TokenStream.open(TOKENS / f"{split}.arrow") for split in ("train", "validation")),
        settings=rung,
        seed=seed,
        checkpoints=work.checkpoints,
        logger=work.run.lightning_logger,
    )


def keep(model: LanguageModel, made: Made, work: TrackedJob, out: Path, *, family: str, stage: str, name: str) -> None:
    """Write the model with its tokenizer, its curve and its validation figures."""
    place = out / "models" / family / name
    with work.artefact(place) as folder:
        model.save(folder)
        shutil.copy(TOKENS / "tokenizer.json", folder)
    work.write_curve(out / "curves" / family / f"{name}.csv", made.curve)
    sizes = read_json(TOKENS / "sizes.json")["validation"]
    scores = score(model, TokenStream.open(TOKENS / "validation.arrow"), **sizes).figures()
    figures = {"parameters": model.number_of_parameters()}
    figures |= {f"validation_{key}": scores[key] for key in ("perplexity_per_word", "bits_per_byte")}
    write_json(out / "metrics" / stage / f"{name}.json", to_plain(figures))
    work.run.metrics(figures | made.cost)
    perplexity = show(figures["validation_perplexity_per_word"], ".2f")
    print(f"{stage} {name}: {made.cost['seconds']:.0f} s, validation perplexity per word {perplexity} → {place}")
