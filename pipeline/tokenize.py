"""Stage `tokenize`: train the tokenizer on the training split; encode every split to memory-mapped Arrow."""

from pathlib import Path
from typing import Any

from langladder.ground.artefacts import write_json
from langladder.ground.atomic import atomic_folder
from langladder.text.storage.tables import TableLines
from langladder.text.tokenize.encoding import encode_corpus, encode_pairs, training_sides, training_text
from langladder.text.tokenize.tokenizer_training import (
    Alphabet,
    Sample,
    count_characters_of,
    few_tokens,
    report_on,
    train_pair_tokenizers,
    train_tokenizer,
)
from langladder.text.tokenize.tokenizers import Tokenizer, TokenizerConfig
from langladder.text.words.segmentation import conventions_of
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.schema import SideJob
from pipeline.settings.stage import stage


class TokenizeJob(SideJob):
    """Settings of this stage."""

    tokenizer: TokenizerConfig
    shared_tokenizer: bool


def tokenize_text(job: TokenizeJob, clean: Path, folder: Path) -> dict[str, Any]:
    """Train one tokenizer; the report uses the validation text, which it has not seen."""
    sample = Sample.of(training_text(clean).shards(), job.tokenizer.sample_bytes)
    tokenizer = train_tokenizer(sample, job.tokenizer, conventions_of(clean).normalisation)
    splits = encode_corpus(clean, tokenizer, folder)
    report = report_on(tokenizer, TableLines([(clean / "validation", "text")]).shards(), conventions_of(clean))
    return {"splits": splits} | sample.report() | report | alphabet(training_text(clean), tokenizer, job.tokenizer)


def tokenize_pairs(job: TokenizeJob, clean: Path, folder: Path) -> dict[str, Any]:
    """Train one tokenizer for both languages, or one for each."""
    (source, target), samples = train_pair_tokenizers(clean, job.tokenizer, shared=job.shared_tokenizer)
    splits = encode_pairs(clean, source, target, folder)
    reports = {
        side: sample.report()
        | report_on(tokenizer, TableLines([(clean / "validation.parquet", side)]).shards(), conventions_of(clean, side))
        | alphabet(training_sides(clean, [side]), tokenizer, job.tokenizer)
        for side, tokenizer, sample in zip(("source", "target"), (source, target), samples, strict=True)
    }
    return {"splits": splits} | reports


def alphabet(text: TableLines, tokenizer: Tokenizer, config: TokenizerConfig) -> dict[str, Any]:
    """The number of characters of the training text; warnings if the vocabulary is too small for them, or too large."""
    found = Alphabet.of(count_characters_of(text))
    small = found.warning(tokenizer.vocab_size) if tokenizer.kind == "bpe_bytes" else None
    few = few_tokens(tokenizer, config)
    warnings = [warning for warning in (few, None if few else small) if warning]
    for warning in warnings:
        print(f"tokenize: warning: {warning}")
    return {"characters": found.size, "common_characters": found.common} | ({"warnings": warnings} if warnings else {})


@stage
def main(job: TokenizeJob, out: Path) -> None:
    folder = output(out, "data/tokens", job.side)
    with atomic_folder(folder, OUTPUT) as temporary:
        make = tokenize_text if job.side == "text" else tokenize_pairs
        report = make(job, Path("data/clean") / job.side, temporary)
    write_json(output(out, "metrics/tokenize", job.side, ending=".json"), report)
    tokens = report["splits"]["train"]
    print(f"tokenize {job.side}: " + ", ".join(f"{count:,} {what}" for what, count in tokens.items()) + f" → {folder}")


if __name__ == "__main__":
    main()
