"""How much text there is, in units that no tokenizer changes: what perplexity per word and bits per byte divide by."""

from pathlib import Path
from typing import Any

from langladder.text.tables import TEXT, read_batches
from langladder.text.words import WordMode, split_words


def text_size(path: Path, words: WordMode = "auto") -> dict[str, Any]:
    """Size of one split of a clean corpus.

    Returns:
        {"words": words and one end a line, "bytes": UTF-8 bytes and one newline a line, "log_prob": sum of the lines'
        exact natural-log probabilities, None where any is unknown}.
    """
    count, size, log_prob = 0, 0, 0.0
    known = True
    for batch in read_batches(path, TEXT):
        for line in batch.column("text").to_pylist():
            count += len(split_words(line, words)) + 1
            size += len(line.encode()) + 1
        known = known and batch.column("log_prob").null_count == 0
        log_prob += sum(value for value in batch.column("log_prob").to_pylist() if value is not None)
    return {"words": count, "bytes": size, "log_prob": log_prob if known else None}
