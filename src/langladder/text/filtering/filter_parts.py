"""One shard of a corpus, filtered: what a worker does between what only all corpora together can tell.

Each step reads what the one before it left of the shard, and writes what it leaves, beside it and named by the shard's
number; notes of its texts go to files of their own.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa

from langladder.atomic import atomic_file
from langladder.text.clean.drops import Book
from langladder.text.clean.duplicates import KINDS, DuplicatesConfig, Notes, Scope
from langladder.text.clean.spilled import mapped, save
from langladder.text.filtering.contamination import Contamination, ContaminationSettings
from langladder.text.filtering.quality import QualityModel, QualitySettings
from langladder.text.read.documents import ROWS, Document, documents_of, tables_of
from langladder.text.storage.shards import read_shard
from langladder.text.storage.tables import TEXT

AT_ONCE = 512  # documents that are judged together


@dataclass(frozen=True)
class Part:
    """A shard, or what is left of it.

    Attributes:
        corpus: whose it is; `judged`: whether its documents are scored.
        file: where they stand.
        scratch: path of what steps write, to which endings are added.
    """

    corpus: str
    file: Path
    scratch: Path
    judged: bool = False

    def beside(self, ending: str) -> Path:
        """One of the files that steps write."""
        return self.scratch.with_suffix(f".{ending}")

    def documents(self) -> Iterator[Document]:
        """What is left."""
        return documents_of(read_shard(self.file, TEXT, ROWS))

    def left(self, ending: str, documents: Iterable[Document]) -> "Part":
        """Write what a step leaves."""
        with atomic_file(self.beside(ending)) as path, pa.ipc.new_stream(str(path), TEXT) as stream:
            for table in tables_of(documents):
                stream.write_table(table)
        return replace(self, file=self.beside(ending))


@dataclass
class Done:
    """What a step did to a part.

    Attributes:
        part: what is left; `sizes`: its documents, lines and words; `read`: those of the part before.
        book: what went and why.
        common: lines with phrases of the test sets that are common.
    """

    part: Part
    book: Book = field(default_factory=Book)
    read: Counter[str] = field(default_factory=Counter)
    sizes: Counter[str] = field(default_factory=Counter)
    common: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Judge:
    """The quality model, saved to a file."""

    settings: QualitySettings
    seed: int
    model: Path

    def good(self, documents: Iterator[Document], book: Book) -> Iterator[Document]:
        """Documents that are kept."""
        model = QualityModel.opened(self.settings, self.seed, self.model)
        for some in batches(documents):
            for document, score in zip(some, model.scores([one.text for one in some]), strict=True):
                if model.keeps(document.text, float(score)):
                    yield document
                else:
                    book.drop("low_quality_document", f"{score:.3f}: {document.text}")


def judge(part: Part, judge: Judge | None, duplicates: DuplicatesConfig | None, scope: Scope) -> Done:
    """Drop what is not good enough; note what is left, by lines or documents (keep: nothing is noted)."""
    done = Done(part)
    documents = counted(part.documents(), done.read)
    notes = None if duplicates is None or scope == "keep" else Notes(duplicates, scope)
    if part.judged and judge is not None:
        kept = counted(judge.good(documents, done.book), done.sizes)
        done.part = part.left("good", noted(kept, notes))
    else:
        deque(noted(documents, notes), maxlen=0)
        done.sizes = done.read
    if notes is not None:
        notes.save(part.beside)
    return done


def drop_lines(part_and_start: tuple[Part, int], reasons: Path, duplicates: DuplicatesConfig) -> Done:
    """Drop lines that are duplicates; note documents, where those are looked at, too.

    Args:
        part_and_start: and how many lines the parts before it have.
        reasons: of every line, a position in KINDS; 0: it stays.
    """
    part, at = part_and_start
    done, why = Done(part), mapped(reasons)
    wanted = "documents" in (duplicates.exact, duplicates.near)
    notes = Notes(duplicates, "documents") if wanted else None

    def documents() -> Iterator[Document]:
        start = at
        for document in part.documents():
            mine = why[start : start + len(document.lines)].tolist()
            start += len(mine)
            rows = list(zip(document.lines, document.log_probs, mine, strict=True))
            for line, _, kind in rows:
                if kind:
                    done.book.drop(f"{KINDS[kind]}_line", line)
            if left := [(line, log_prob) for line, log_prob, kind in rows if not kind]:
                yield Document([line for line, _ in left], [log_prob for _, log_prob in left])

    done.part = part.left("lines", noted(counted(documents(), done.sizes), notes))
    if notes is not None:
        notes.save(part.beside)
    return done


def drop_documents(part_and_start: tuple[Part, int], reasons: Path) -> Done:
    """Drop documents that are duplicates; otherwise as `drop_lines`."""
    part, at = part_and_start
    done, why = Done(part), mapped(reasons)

    def documents() -> Iterator[Document]:
        for number, document in enumerate(part.documents(), start=at):
            if kind := int(why[number]):
                done.book.drop(f"{KINDS[kind]}_document", document.text)
            else:
                yield document

    done.part = part.left("new", counted(documents(), done.sizes))
    return done


def count_ngrams(part: Part, settings: ContaminationSettings, learnt: Path) -> None:
    """Note in how many documents of the part each n-gram of the test sets stands."""
    contamination = Contamination.opened(settings, learnt).forget()
    for some in batches(part.documents()):
        contamination.count(some)
    save(part.beside("ngrams"), contamination.counted)


def take_out(part: Part, settings: ContaminationSettings, learnt: Path) -> Done:
    """Take out what stands in the test sets, once all parts' n-grams are counted."""
    done, contamination = Done(part), Contamination.opened(settings, learnt)

    def documents() -> Iterator[Document]:
        for some in batches(part.documents()):
            for document, gone in contamination.clean(some):
                for line in gone:
                    done.book.drop("contaminated_line", line)
                if document is None:
                    done.book.drop("contaminated_document", gone[0])
                else:
                    yield document

    done.part = part.left("clean", counted(documents(), done.sizes))
    done.common = contamination.common
    return done


def noted(documents: Iterable[Document], notes: Notes | None) -> Iterator[Document]:
    """Documents, noted as they come by."""
    for document in documents:
        if notes is not None:
            for text in document.lines if notes.scope == "lines" else [document.text]:
                notes.note(text)
        yield document


def counted(documents: Iterable[Document], counts: Counter[str]) -> Iterator[Document]:
    """Documents, counted as they come by."""
    for document in documents:
        counts.update(sizes(document))
        yield document


def sizes(document: Document) -> dict[str, int]:
    """What a document counts for."""
    return {"documents": 1, "lines": len(document.lines), "words": document.words}


def batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Some documents at a time."""
    while some := list(islice(documents, AT_ONCE)):
        yield some
