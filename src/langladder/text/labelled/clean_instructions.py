"""Cleaning dialogues: steps, limits, duplicates, held-out prompts, missing splits.

A dialogue with a request for a gold judge is not changed: its judge would not recognise it. Splits are cut by the hash
of the prompt; those that the corpus has, also `unseen`, are kept.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NotRequired, TypedDict

from langladder.ground.atomic import atomic_folder
from langladder.text.clean.cleaning import Cleaned, CleanedRows, CleanRowsConfig, RowType, cut_by_documents
from langladder.text.clean.statistics import percentiles
from langladder.text.clean.steps import Book, BookReport, StepsConfig, build_steps, outside
from langladder.text.labelled.instructions import (
    INSTRUCTION_SPLITS,
    INSTRUCTION_TABLES,
    INSTRUCTIONS,
    USER,
    Dialogue,
    Message,
)
from langladder.text.storage.shards import SPLITS, present_splits
from langladder.text.storage.tables import Row, read_batches
from langladder.text.words.segmentation import Split, reading, splitter_of


class CleanInstructionsConfig(CleanRowsConfig):
    """How dialogues are cleaned. limits: of all texts of a dialogue, joined; iid: drawn ones, none is dropped."""

    steps: StepsConfig = StepsConfig()


class DialogueFigures(TypedDict):
    """How many dialogues and turns a split has, and how long prompts and responses are; None: it has none."""

    dialogues: int
    turns: int
    words_in_the_median_prompt: int | None
    words_in_the_median_response: int | None
    words_at_most: int | None


class DialogueLeakage(TypedDict):
    """How many dialogues a held-out split has, and the share whose prompt the training split has, too."""

    dialogues: int
    prompts_in_train: float


class InstructionsReport(TypedDict):
    """The data report. kinds: split → kind of instruction → dialogues."""

    splits: dict[str, DialogueFigures]
    kinds: dict[str, dict[str, int]]
    cut_by_hash: list[str]
    cleaning: BookReport
    leakage: dict[str, DialogueLeakage]
    warnings: NotRequired[list[str]]


def clean_instructions(
    raw_folder: Path, out_folder: Path, config: CleanInstructionsConfig, seed: int
) -> InstructionsReport:
    """Clean dialogues from `raw_folder` into `out_folder`/{train,validation,test,unseen}.parquet.

    Args:
        raw_folder: train (and validation, test) or all.parquet, and unseen.parquet, if any.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: statistics and kinds of each split, what was dropped, how many held-out prompts train has.

    Raises:
        InputError: a split is left empty, or too few dialogues to cut one. unseen may be empty.
    """
    names = present_splits(raw_folder)
    names += ["unseen"] if (raw_folder / "unseen.parquet").is_file() else []
    tables = [(name, raw_folder / f"{name}.parquet") for name in names]
    steps = config.steps.of_text(None, _texts(tables[0][1]))
    config = config.model_copy(update={"steps": steps, "words": reading(config.words, _texts(tables[0][1]))})
    with atomic_folder(out_folder, INSTRUCTION_TABLES) as folder:
        rows = CleanedRows(tables, folder, DIALOGUE, config, seed, INSTRUCTION_SPLITS)
        rows.drop_duplicates()
        rows.cut(partial(cut_by_documents, unit="prompts"))
        rows.drop_held_out("clean: every training prompt is held out; set held_out_never_in_train: false, or give more")
        rows.write()
        results = {
            split: _figures(folder / f"{split}.parquet", splitter_of(config.words)) for split in INSTRUCTION_SPLITS
        }
    report: InstructionsReport = {
        "splits": {split: figures.report() for split, figures in results.items()},
        "kinds": {split: dict(sorted(figures.kinds.items())) for split, figures in results.items()},
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": rows.book.report(),
        "leakage": {
            split: {"dialogues": results[split].dialogues, "prompts_in_train": share}
            for split, share in rows.shares_in_train("prompt").items()
        },
    }
    if warnings := rows.book.warnings():
        report["warnings"] = warnings
    return report


def clean_dialogues(rows: list[Row], config: CleanInstructionsConfig, book: Book) -> Iterator[Cleaned]:
    """Run the steps on each text; drop a dialogue that is outside the limits or cannot be learnt from.

    What is dropped: an empty text, no response, a worse response that equals the better one. A training dialogue must
    not share its prompt with a held-out one.

    Raises:
        InputError: a row is no dialogue.
    """
    steps, split = build_steps(config.steps), splitter_of(config.words)
    for row in rows:
        dialogue = Dialogue.of_row(row)
        dialogue.check("no dialogue")
        if dialogue.asked is None:
            messages = tuple(Message(role, book.apply(steps, text)) for role, text in dialogue.messages)
            dialogue = dialogue._replace(
                messages=messages, rejected=dialogue.rejected and book.apply(steps, dialogue.rejected)
            )
        texts = [message.text for message in dialogue.messages] + (
            [] if dialogue.rejected is None else [dialogue.rejected]
        )
        reason = outside(" ".join(texts), config.limits, split) if all(texts) else "empty"
        if reason is None and dialogue.response is None:
            reason = "no_response"
        elif reason is None and dialogue.rejected == dialogue.response:
            reason = "equal_answers"
        prompt = "\n".join(map("\t".join, dialogue.prompt))
        yield Cleaned(
            dialogue.row(),
            reason,
            key=[dialogue.messages, dialogue.rejected],
            unshared=(dialogue.prompt,),
            split_by=prompt,
        )


def _last_prompt(row: Row) -> str:
    texts: list[str] = [message["text"] for message in row["messages"] if message["role"] == USER]
    return texts[-1]


DIALOGUE = RowType(INSTRUCTIONS, ("prompt",), clean_dialogues, _last_prompt)


@dataclass
class _Figures:
    """Counts of a split."""

    dialogues: int = 0
    turns: int = 0
    longest: int | None = None  # words of prompt and response
    prompts: Counter[int] = field(default_factory=Counter)  # words → dialogues
    responses: Counter[int] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add(self, dialogue: Dialogue, split: Split) -> None:
        """Count a dialogue."""
        prompt = sum(len(split(message.text)) for message in dialogue.prompt)
        response = len(split(dialogue.response or ""))
        self.dialogues += 1
        self.turns += len(dialogue.messages)
        self.longest = max(self.longest or 0, prompt + response)
        self.prompts[prompt] += 1
        self.responses[response] += 1
        self.kinds[dialogue.kind] += 1

    def report(self) -> DialogueFigures:
        """How many dialogues and turns, and how long prompts and responses are."""
        return {
            "dialogues": self.dialogues,
            "turns": self.turns,
            "words_in_the_median_prompt": percentiles(self.prompts).get("50"),
            "words_in_the_median_response": percentiles(self.responses).get("50"),
            "words_at_most": self.longest,
        }


def _texts(table: Path) -> Iterator[str]:
    """The texts of raw dialogues."""
    for batch in read_batches(table, INSTRUCTIONS, rows=4096):
        for row in batch.to_pylist():
            yield from (message["text"] for message in row["messages"])


def _figures(path: Path, split: Split) -> _Figures:
    """Counts of the dialogues of a split."""
    figures = _Figures()
    for batch in read_batches(path, INSTRUCTIONS, rows=4096):
        for row in batch.to_pylist():
            figures.add(Dialogue.of_row(row), split)
    return figures
