"""Cleaning dialogues: steps, limits, no copies, no held-out prompt in train, splits where the corpus has none.

A dialogue whose request a gold judge reads stays as it is: its judge would not know it again. Splits are cut by the
hash of the prompt; those that the corpus brings, `unseen` among them, stay.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from langladder.atomic import atomic_folder
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.drops import Book, LimitsConfig, outside
from langladder.text.instruction_files import INSTRUCTION_TABLES
from langladder.text.instructions import INSTRUCTION_SPLITS, Dialogue, Message, read_dialogues, write_dialogues
from langladder.text.splitting import SplitConfig, assign, place
from langladder.text.statistics import percentiles
from langladder.text.steps import StepsConfig, build_steps
from langladder.text.tables import SPLITS, present_splits
from langladder.text.words import split_words


class CleanInstructionsConfig(Config):
    """How dialogues are cleaned. limits: of all texts of a dialogue together."""

    steps: StepsConfig = StepsConfig()
    limits: LimitsConfig = LimitsConfig()
    drop_duplicates: bool = True  # a dialogue that stands there before
    held_out_never_in_train: bool = True
    split: SplitConfig = SplitConfig()
    iid: bool = False  # drawn ones: nothing is dropped


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
    book = Book()
    splits: dict[str, list[Dialogue]] = {split: [] for split in INSTRUCTION_SPLITS}
    own = [name for name in names if name in ("validation", "test")]
    for name in names:
        dialogues = _kept(raw_folder / f"{name}.parquet", config, book)
        if not dialogues and name != "unseen":
            raise InputError(f"{raw_folder / name}.parquet: cleaning leaves nothing; relax `clean`")
        if name in (*own, "unseen") or len(own) == 2:
            splits["train" if name == "all" else name] = dialogues
            continue
        places = np.array([place(map("\t".join, one.prompt), seed) for one in dialogues])
        for split, one in zip(assign(places, config.split, own, "prompts"), dialogues, strict=True):
            splits[SPLITS[split]].append(one)
    if config.held_out_never_in_train and not config.iid:
        splits["train"] = _without_held_out(splits, book)
    with atomic_folder(out_folder, INSTRUCTION_TABLES) as folder:
        for split, dialogues in splits.items():
            write_dialogues(folder / f"{split}.parquet", dialogues)
    train = {one.prompt for one in splits["train"]}
    held_out = {split: dialogues for split, dialogues in splits.items() if split != "train" and dialogues}
    return {
        "splits": {split: _statistics(dialogues) for split, dialogues in splits.items()},
        "kinds": {
            split: dict(sorted(Counter(one.kind for one in dialogues).items())) for split, dialogues in splits.items()
        },
        "cut_by_hash": [split for split in SPLITS if split not in names],
        "cleaning": book.report(),
        "leakage": {
            split: {
                "dialogues": len(dialogues),
                "prompts_in_train": round(sum(one.prompt in train for one in dialogues) / len(dialogues), 6),
            }
            for split, dialogues in held_out.items()
        },
    }


def _kept(path: Path, config: CleanInstructionsConfig, book: Book) -> list[Dialogue]:
    """The cleaned dialogues of a table, in order."""
    steps = build_steps(config.steps)
    seen: set[Any] = set()
    kept = []
    for raw in read_dialogues(path):
        book.read += 1
        one = raw
        if raw.asked is None:
            messages = tuple(Message(role, book.apply(steps, text)) for role, text in raw.messages)
            one = raw._replace(messages=messages, rejected=raw.rejected and book.apply(steps, raw.rejected))
        texts = [message.text for message in one.messages] + ([] if one.rejected is None else [one.rejected])
        reason = outside(" ".join(texts), config.limits) if all(texts) else "empty"
        if reason is None and one.response is None:
            reason = "no_response"
        if reason is None and one.rejected == one.response:
            reason = "equal_answers"
        if reason is None and config.drop_duplicates and not config.iid:
            reason = "duplicate" if (one.messages, one.rejected) in seen else None
            seen.add((one.messages, one.rejected))
        if reason is None:
            kept.append(one)
        else:
            book.drop(reason, raw.prompt[-1].text)
    return kept


def _without_held_out(splits: dict[str, list[Dialogue]], book: Book) -> list[Dialogue]:
    held_out = {one.prompt for split, dialogues in splits.items() if split != "train" for one in dialogues}
    kept = []
    for one in splits["train"]:
        if one.prompt in held_out:
            book.drop("prompt_is_held_out", one.prompt[-1].text)
        else:
            kept.append(one)
    if not kept:
        raise InputError("clean: every training prompt is held out; set held_out_never_in_train: false, or give more")
    return kept


def _statistics(dialogues: list[Dialogue]) -> dict[str, Any]:
    """How many dialogues and turns, and how long prompts and responses are."""
    prompts = [sum(len(split_words(message.text, "auto")) for message in one.prompt) for one in dialogues]
    responses = [len(split_words(one.response or "", "auto")) for one in dialogues]
    return {
        "dialogues": len(dialogues),
        "turns": sum(len(one.messages) for one in dialogues),
        "words_in_the_median_prompt": percentiles(Counter(prompts)).get("50"),
        "words_in_the_median_response": percentiles(Counter(responses)).get("50"),
        "words_at_most": max(map(sum, zip(prompts, responses, strict=True)), default=None),
    }
