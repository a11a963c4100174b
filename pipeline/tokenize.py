"""Stage `tokenize`: train the tokenizer on the training split; encode every split to memory-mapped Arrow."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.atomic import atomic_folder
from langladder.text.storage.tables import TableLines
from langladder.text.tokenize.alphabet import Alphabet, count_characters_of
from langladder.text.tokenize.encoding import encode_corpus, encode_pairs, training_sides, training_text
from langladder.text.tokenize.tokenizer_training import Sample, report_on, train_tokenizer
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.conventions import conventions_of
from pipeline.settings.run_folder import OUTPUT, output
from pipeline.settings.stage import stage


def tokenize_text(job: Any, clean: Path, folder: Path) -> dict[str, Any]:
    """One tokenizer; the report is made on the validation text, which it has not seen."""
    sample = Sample.of(training_text(clean).shards(), job.tokenizer.sample_bytes)
    tokenizer = train_tokenizer(sample, job.tokenizer)
    splits = encode_corpus(clean, tokenizer, folder)
    report = report_on(tokenizer, TableLines([(clean / "validation", "text")]).shards(), conventions_of(clean))
    return {"splits": splits} | sample.report() | report | alphabet(training_text(clean), tokenizer)


def tokenize_pairs(job: Any, clean: Path, folder: Path) -> dict[str, Any]:
    """One tokenizer for both languages, or one each."""
    sides = [["source", "target"]] * 2 if job.shared_tokenizer else [["source"], ["target"]]
    samples = [Sample.of(training_sides(clean, side).shards(), job.tokenizer.sample_bytes) for side in sides]
    source, *other = [train_tokenizer(sample, job.tokenizer) for sample in samples[: 2 - job.shared_tokenizer]]
    target = other[0] if other else source
    splits = encode_pairs(clean, source, target, folder)
    reports = {
        side: sample.report()
        | report_on(tokenizer, TableLines([(clean / "validation.parquet", side)]).shards(), conventions_of(clean, side))
        | alphabet(training_sides(clean, [side]), tokenizer)
        for side, tokenizer, sample in zip(("source", "target"), (source, target), samples, strict=True)
    }
    return {"splits": splits} | reports


def alphabet(text: TableLines, tokenizer: Tokenizer) -> dict[str, Any]:
    """How many characters the training text has, and a warning where byte-level BPE has too little room for them."""
    found = Alphabet.of(count_characters_of(text))
    warning = found.warning(tokenizer.vocab_size) if tokenizer.kind == "bpe_bytes" else None
    if warning:
        print(f"tokenize: warning: {warning}")
    return {"characters": found.size, "common_characters": found.common} | ({"warning": warning} if warning else {})


@stage
def main(job: Any, out: Path) -> None:
    folder = output(out, "data/tokens", job.side)
    with atomic_folder(folder, OUTPUT) as temporary:
        make = tokenize_text if job.side == "text" else tokenize_pairs
        report = make(job, Path("data/clean") / job.side, temporary)
    write_json(output(out, "metrics/tokenize", job.side, ending=".json"), report)
    tokens = report["splits"]["train"]
    print(f"tokenize {job.side}: " + ", ".join(f"{count:,} {what}" for what, count in tokens.items()) + f" → {folder}")


if __name__ == "__main__":
    main()
