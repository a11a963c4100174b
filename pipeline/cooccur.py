"""Stage `cooccur`: term–term counts in a window and term–document counts, as sparse matrices in data/cooccurrence/."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from langladder.artefacts import atomic, write_json
from langladder.counts.cooccurrence import count_cooccurrence, count_term_document, save_counts
from langladder.text.corpus_ids import TokenStream
from langladder.text.tables import read_table
from langladder.text.vocabulary import Vocabulary
from pipeline.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    words = TokenStream.open(Path("data/words/train.arrow"))  # a row a line
    size = len(Vocabulary.load(Path("data/words/vocabulary.json")))
    documents = read_table(Path("data/clean/text/train.parquet"), pa.schema([("document", pa.int64())]))
    # lines of one document stand together
    _, first_lines = np.unique(documents.column(0).to_numpy(), return_index=True)
    bounds = words.offsets[np.append(first_lines, len(words))]

    term_term = count_cooccurrence(words.ids, words.offsets, size, job.cooccurrence)
    term_document = count_term_document(words.ids, bounds, size)
    folder = out / "data" / "cooccurrence"
    with atomic(folder) as temporary:
        temporary.mkdir()
        save_counts(temporary / "term_term.safetensors", term_term)
        save_counts(temporary / "term_document.safetensors", term_document)
    figures = {
        "words": size,
        "documents": len(bounds) - 1,
        "term_term_nonzeros": int(term_term.nnz),
        "term_term_density": round(term_term.nnz / size**2, 6),
        "term_document_nonzeros": int(term_document.nnz),
    }
    write_json(out / "metrics" / "cooccur.json", figures)
    print(f"cooccur: {term_term.nnz:,} word pairs, {term_document.nnz:,} word–document pairs → {folder}")


if __name__ == "__main__":
    main()
