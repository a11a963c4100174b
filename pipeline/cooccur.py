"""Stage `cooccur`: term–term counts in a window and term–document counts, as sparse matrices in data/cooccurrence/."""

from pathlib import Path
from typing import Any

from langladder.artefacts import write_json
from langladder.atomic import STAGE, atomic_folder
from langladder.counts.cooccurrence import count_cooccurrence, count_term_document
from langladder.counts.sparse_files import write_sparse
from langladder.text.word_corpus import WordCorpus
from pipeline.settings.stage import stage


@stage
def main(job: Any, out: Path) -> None:
    corpus = WordCorpus.open(Path("data/words"))
    size, ids, bounds = len(corpus.vocabulary), corpus.stream.ids, corpus.document_bounds
    term_term = count_cooccurrence(ids, corpus.stream.offsets, size, job.cooccurrence)
    term_document = count_term_document(ids, bounds, size)
    folder = out / "data" / "cooccurrence"
    with atomic_folder(folder, STAGE) as temporary:
        write_sparse(temporary / "term_term.safetensors", term_term)
        write_sparse(temporary / "term_document.safetensors", term_document)
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
