"""Rows of a whole corpus, cleaned and sent to splits: pairs, labelled texts, tagged sentences, dialogues, questions.

    parts ─ steps, limits, hashes ─┬─ duplicates, cut, held-out text ─┬─ splits, one after the other
            of each, on an engine  └─ of the corpus, by their hashes  └─ the parts in order

The text is never in memory as a whole: one byte of each row is, some 50 more of each row while splits are cut, and 16
for each row that is held out.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from langladder.engine.base import current
from langladder.errors import InputError
from langladder.text.clean.drops import EXAMPLE_CHARACTERS, EXAMPLES, Book
from langladder.text.clean.row_parts import ROWS, Cleaning, RowPart, clean_part, cleaned_batches, raw_rows
from langladder.text.clean.spilled import among, ascending, mapped, repeats
from langladder.text.clean.splitting import assign
from langladder.text.storage.arrow_arrays import truths
from langladder.text.storage.tables import SPLITS, group_rows

GONE, TRAIN = -1, SPLITS.index("train")
HELD_BYTES = 32 * 2**20  # of rows that are written together, at most

Row = TypeVar("Row")


class RowCorpus(Generic[Row]):
    """The rows of all tables, cleaned.

    Attributes:
        parts: in the order of the tables.
        where: (N,) int8: of every cleaned row, its position in `splits`, or GONE; `bounds`: where each part's begin.
        own: the held-out splits that the corpus brings.
        book: what was changed and dropped.

    Args:
        tables: name and path of each; of two equal rows, the later one goes.
        scratch: a folder for what the parts leave.
        splits: their names, train first; a table beyond those of SPLITS may be empty.

    Raises:
        InputError: as `read_table`; what the rows' `Cleaning` refuses.
    """

    def __init__(
        self, tables: Sequence[tuple[str, Path]], scratch: Path, cleaning: Cleaning[Row], splits: Sequence[str] = SPLITS
    ) -> None:
        self.tables, self.cleaning, self.splits, self.book = tables, cleaning, splits, Book()
        self.own = [name for name, _ in tables if name in ("validation", "test")]
        self.parts: list[RowPart[Row]] = []
        for name, table in tables:
            placed = name in ("train", "all") and len(self.own) < 2
            first = 1
            for group, rows in enumerate(group_rows(table, cleaning.schema)):
                path = scratch / f"{len(self.parts):06d}"
                self.parts.append(RowPart(table, name, group, first, path, cleaning, placed))
                first += rows
        books = list(current().map(clean_part, self.parts, "cleaning rows"))
        self.bounds = np.cumsum([0, *(len(mapped(part.file("key"))) for part in self.parts)])
        self.where = np.full(int(self.bounds[-1]), TRAIN, dtype=np.int8)
        if cleaning.config.drop_duplicates and not cleaning.config.iid:
            for mine in [range(len(self.parts))] if cleaning.across else map(self._of_table, dict(tables)):
                self.where[self._rows(mine)][repeats(self.files("key", mine), current().share)] = GONE
        for number, book in enumerate(books):
            self.book.add(book)
            self._note(cleaning.duplicate, number, self.of(number) == GONE, raw=True)

    def of(self, number: int, rows: np.ndarray | None = None) -> np.ndarray:
        """A part's share of what is known of all rows, (N,): of `where` if nothing else is given; a view."""
        return (self.where if rows is None else rows)[self.bounds[number] : self.bounds[number + 1]]

    def files(self, kind: str, parts: Iterable[int] | None = None) -> list[Path]:
        """What parts, or all, have left of a kind."""
        return [self.parts[number].file(kind) for number in (range(len(self.parts)) if parts is None else parts)]

    def _of_table(self, name: str) -> range:
        numbers = [number for number, part in enumerate(self.parts) if part.name == name]
        return range(numbers[0], numbers[-1] + 1) if numbers else range(0)

    def _rows(self, parts: range) -> slice:
        return slice(self.bounds[parts.start], self.bounds[parts.stop])

    def _note(self, reason: str, number: int, goes: np.ndarray, *, raw: bool) -> None:
        """Note the rows of a part that go, with the first of them, as they were read or cleaned."""
        if not goes.any():
            return
        first, book = np.flatnonzero(goes)[:EXAMPLES].tolist(), Book()
        book.dropped[reason] = int(goes.sum())
        found = [self.cleaning.shown(row) for row in self.at(number, first, raw=raw)]
        book.examples[reason] = [text[:EXAMPLE_CHARACTERS] for text in found]
        self.book.add(book)

    def at(self, number: int, wanted: list[int], *, raw: bool = False) -> Iterator[Row]:
        """The rows at some places of a part, ascending, as they were cleaned or read."""
        part = self.parts[number]
        table = pa.Table.from_batches(cleaned_batches(part)).take(wanted)
        if raw:
            rows = set(table.column(-1).to_pylist())
            yield from (row for place, row in enumerate(raw_rows(part)) if place in rows)
            return
        for batch in table.to_batches():
            yield from self.cleaning.rows(batch)

    # -- what goes where ---------------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Send each row to its split.

        Raises:
            InputError: nothing is left of a table, or too little to cut.
        """
        for name, table in self.tables:
            mine = self._of_table(name)
            where = self.where[self._rows(mine)]
            stay = where != GONE
            if not stay.any():
                if name not in (*SPLITS, "all"):
                    continue
                reasons = ", ".join(f"{reason} {count:,}" for reason, count in self.book.dropped.most_common())
                raise InputError(f"{table}: cleaning leaves nothing ({reasons}); relax `clean`")
            if self.parts[mine.start].placed:
                where[stay] = self.assigned(mine, stay)
            else:
                where[stay] = TRAIN if name == "all" else self.splits.index(name)

    def assigned(self, parts: range, stay: np.ndarray) -> np.ndarray:
        """(S,) int8: the splits of the rows of some parts that stay, cut by their places."""
        return assign(self.noted("places", parts)[stay], self.cleaning.config.split, self.own, self.cleaning.unit)

    def noted(self, kind: str, parts: range) -> np.ndarray:
        """What parts noted of their rows."""
        return np.concatenate([mapped(file) for file in self.files(kind, parts)])

    def held_out(self, kind: str) -> np.ndarray:
        """(H,) ascending: different hashes of what is held out."""
        hashes = [mapped(file)[self.of(number) > TRAIN] for number, file in enumerate(self.files(kind))]
        return ascending(np.concatenate(hashes))

    def drop_held_out(self) -> bool:
        """Drop training rows of which something is held out; returns whether any is left."""
        held_out = {kind: self.held_out(kind) for kind in self.cleaning.apart}
        for number, part in enumerate(self.parts):
            for kind, known in held_out.items():
                where = self.of(number)
                goes = (where == TRAIN) & among(mapped(part.file(kind)), known)
                where[goes] = GONE
                self._note(f"{kind}_is_held_out", number, goes, raw=False)
        return bool((self.where == TRAIN).any())

    def in_train(self, kind: str) -> dict[str, float]:
        """Of each held-out split, the share of its rows of which train has something, too."""
        known = self.held_out(kind)
        seen = np.zeros(len(known), dtype=bool)
        for number, file in enumerate(self.files(kind)):
            hashes = mapped(file)[self.of(number) == TRAIN]
            seen |= among(known, ascending(hashes))
        known, shares = known[seen], {}
        for split, name in enumerate(self.splits[1:], start=1):
            rows = int((self.where == split).sum())
            hit = sum(
                int(among(mapped(file)[self.of(number) == split], known).sum())
                for number, file in enumerate(self.files(kind))
            )
            if rows:
                shares[name] = round(hit / rows, 6)
        return shares

    # -- splits ------------------------------------------------------------------------------------------------------

    def tables_of(self, split: str) -> Iterator[pa.Table]:
        """The rows of a split, so many at a time."""
        position, held, rows, size = self.splits.index(split), list[pa.RecordBatch](), 0, 0
        for batch in self._batches(position):
            held.append(batch)
            rows += batch.num_rows
            size += batch.nbytes
            if rows >= ROWS or size >= HELD_BYTES:
                table = pa.Table.from_batches(held)
                yield table.slice(0, ROWS).combine_chunks()
                held = table.slice(ROWS).to_batches()
                rows, size = max(0, rows - ROWS), sum(left.nbytes for left in held)
        if rows:
            yield pa.Table.from_batches(held).combine_chunks()

    def rows_of(self, split: str) -> Iterator[Row]:
        """The rows of a split, one by one."""
        for batch in self._batches(self.splits.index(split)):
            yield from self.cleaning.rows(batch)

    def _batches(self, split: int) -> Iterator[pa.RecordBatch]:
        for number, part in enumerate(self.parts):
            mine, done = self.of(number) == split, 0
            for batch in cleaned_batches(part) if mine.any() else ():
                chosen = mine[done : done + batch.num_rows]
                done += batch.num_rows
                if chosen.any():
                    yield batch.filter(truths(chosen)).select(self.cleaning.schema.names)
