"""Cleaning dialogues: steps, limits, no copies, no held-out prompt in train, splits where the corpus has none.

A dialogue whose request a gold judge reads stays as it is: its judge would not know it again. Splits are cut by the
hash of the prompt; those that the corpus brings, `unseen` among them, stay. Parts of the corpus are cleaned on an
engine (`row_corpus`).
"""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.text.clean.drops import Book, outside
from langladder.text.clean.row_corpus import RowCorpus
from langladder.text.clean.row_parts import Cleaning, CleanRowsConfig, as_bytes
from langladder.text.clean.statistics import percentiles
from langladder.text.clean.steps import StepsConfig, build_steps
from langladder.text.labelled.instruction_files import INSTRUCTION_TABLES
from langladder.text.labelled.instructions import INSTRUCTION_SPLITS, INSTRUCTIONS, Dialogue, Message
from langladder.text.storage.tables import SPLITS, present_splits, write_batches
from langladder.text.words.words import split_words


class CleanInstructionsConfig(CleanRowsConfig):
    """How dialogues are cleaned. limits: of all texts of a dialogue together; iid: drawn ones, none is dropped."""

    steps: StepsConfig = StepsConfig()


def clean_instructions(
    raw_folder: Path, out_folder: Path, config: CleanInstructionsConfig, seed: int
) -> dict[str, Any]:
    """Clean dialogues from `raw_folder` into `out_folder`/{train,validation,test,unseen}.parquet.

    Args:
        raw_folder: train (and validation, test) or all.parquet, and unseen.parquet where some are.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: statistics and kinds of each split, what was dropped, how many held-out prompts train has.

    Raises:
        InputError: a split is left empty, or too few dialogues to cut one. unseen may be empty.
    """
    names = present_splits(raw_folder)
    names += ["unseen"] if (raw_folder / "unseen.parquet").is_file() else []
    tables = [(name, raw_folder / f"{name}.parquet") for name in names]
    with atomic_folder(out_folder, INSTRUCTION_TABLES) as folder:
        (folder / "work").mkdir()
        corpus = RowCorpus(tables, folder / "work", CleanDialogues(config, seed), INSTRUCTION_SPLITS)
        corpus.cut()
        if config.held_out_never_in_train and not config.iid and not corpus.drop_held_out():
            raise InputError(
                "clean: every training prompt is held out; set held_out_never_in_train: false, or give more"
            )
        found = {split: _write(corpus, split, folder / f"{split}.parquet") for split in INSTRUCTION_SPLITS}
        overlap = corpus.in_train("prompt")
        shutil.rmtree(folder / "work")
    return {
        "splits": {split: figures.report() for split, figures in found.items()},
        "kinds": {split: dict(sorted(figures.kinds.items())) for split, figures in found.items()},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": corpus.book.report(),
        "leakage": {
            split: {"dialogues": found[split].dialogues, "prompts_in_train": share} for split, share in overlap.items()
        },
    }


class CleanDialogues(Cleaning[Dialogue]):
    """How a dialogue is cleaned."""

    schema = INSTRUCTIONS
    apart = ("prompt",)
    unit = "prompts"

    def rows(self, batch: pa.RecordBatch) -> Iterable[Dialogue]:
        """See `Cleaning.rows`."""
        return map(Dialogue.of_row, batch.to_pylist())

    def batch(self, rows: list[Dialogue]) -> pa.RecordBatch:
        """See `Cleaning.batch`."""
        return pa.RecordBatch.from_pylist([row.row() for row in rows], schema=INSTRUCTIONS)

    def cleaner(self, book: Book) -> Callable[[Dialogue], tuple[Dialogue, str | None]]:
        """See `Cleaning.cleaner`."""
        steps = build_steps(self.config.steps)

        def clean(raw: Dialogue) -> tuple[Dialogue, str | None]:
            raw.check("no dialogue")
            if raw.asked is not None:
                return raw, self._reason(raw)
            messages = tuple(Message(role, book.apply(steps, text)) for role, text in raw.messages)
            one = raw._replace(messages=messages, rejected=raw.rejected and book.apply(steps, raw.rejected))
            return one, self._reason(one)

        return clean

    def _reason(self, one: Dialogue) -> str | None:
        """Why a dialogue goes."""
        texts = [message.text for message in one.messages] + ([] if one.rejected is None else [one.rejected])
        if not all(texts):
            return "empty"
        if reason := outside(" ".join(texts), self.config.limits):
            return reason
        if one.response is None:
            return "no_response"
        return "equal_answers" if one.rejected == one.response else None

    def key(self, row: Dialogue) -> bytes:
        """The messages, and the worse response."""
        return as_bytes([row.messages, row.rejected])

    def held(self, row: Dialogue) -> tuple[bytes, ...]:
        """The prompt."""
        return (as_bytes(row.prompt),)

    def lines(self, row: Dialogue) -> Iterable[str]:
        """The prompt, a message a line."""
        return map("\t".join, row.prompt)

    def shown(self, row: Dialogue) -> str:
        """The user's last message."""
        return row.prompt[-1].text


@dataclass
class _Figures:
    """Counts of a split."""

    dialogues: int = 0
    turns: int = 0
    longest: int | None = None  # words of prompt and response
    prompts: Counter[int] = field(default_factory=Counter)  # words → dialogues
    responses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, one: Dialogue) -> None:
        """Count a dialogue."""
        prompt = sum(len(split_words(message.text, "auto")) for message in one.prompt)
        response = len(split_words(one.response or "", "auto"))
        self.dialogues += 1
        self.turns += len(one.messages)
        self.longest = max(self.longest or 0, prompt + response)
        self.prompts[prompt] += 1
        self.responses[response] += 1
        self.kinds[one.kind] += 1

    def report(self) -> dict[str, Any]:
        """How many dialogues and turns, and how long prompts and responses are."""
        return {
            "dialogues": self.dialogues,
            "turns": self.turns,
            "words_in_the_median_prompt": percentiles(self.prompts).get("50"),
            "words_in_the_median_response": percentiles(self.responses).get("50"),
            "words_at_most": self.longest,
        }


def _write(corpus: RowCorpus[Dialogue], split: str, path: Path) -> _Figures:
    """Write a split; returns its counts."""
    figures = _Figures()

    def counted() -> Iterator[pa.Table]:
        for table in corpus.tables_of(split):
            for batch in table.to_batches():
                for one in corpus.cleaning.rows(batch):
                    figures.add(one)
            yield table

    write_batches(path, INSTRUCTIONS, counted())
    return figures
