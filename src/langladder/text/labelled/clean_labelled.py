"""Cleaning labelled text: steps, limits, overlap with held-out texts, splits, numbers of the labels.

A text keeps its label, and a word its tag. Where words have tags, heads or a tree, the steps work on each word alone,
and a word that they would remove or split is not changed. A text with two labels is kept and reported; a multi-label
text has one set of labels.

Splits that the corpus lacks are cut by the hash of the text, stratified: each has about the same share of every label.
Of each label, the texts with the lowest hashes go to test, the next to validation, the rest to train; what remains of a
share goes to the labels with the largest remainders (Hamilton's method), and every label stays in train. A multi-label
text counts for its rarest label.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress
from pathlib import Path
from typing import NotRequired, Self, TypedDict

import numpy as np

from langladder.ground.atomic import atomic_folder
from langladder.ground.errors import InputError
from langladder.text.clean.cleaning import DROPPED, Cleaned, CleanedRows, CleanRowsConfig, RowType
from langladder.text.clean.splitting import TEST, TRAIN, VALIDATION, Cut, SplitConfig
from langladder.text.clean.statistics import CharacterFigures, character_warnings, invisible, percentiles, share
from langladder.text.clean.steps import (
    Book,
    BookReport,
    Language,
    Step,
    StepsConfig,
    build_steps,
    found_conventions,
    outside,
    run_steps,
)
from langladder.text.labelled.labelled import (
    LABELLED,
    LABELLED_TABLES,
    TAGGED,
    Tree,
    bracketed,
    labelled_schema,
    ordered,
    parse_tree,
    tagged_schema,
    write_labels,
)
from langladder.text.storage.shards import SPLITS, present_splits
from langladder.text.storage.tables import Row, TableLines, read_batches
from langladder.text.words.segmentation import (
    TEXT,
    Conventions,
    ConventionsReport,
    Split,
    conventions_report,
    splitter_of,
    write_conventions,
)

FEW = 20  # up to this many labels give no warning
EXAMPLES = 3  # texts with several labels that the report names


class CleanLabelledConfig(CleanRowsConfig):
    """How labelled text is cleaned. drop_duplicates: texts that occurred before with the same label."""

    steps: StepsConfig = StepsConfig()
    language: Language | None = None


Figures = dict[str, float | None]
"""Name → number; None: not known."""


class SeveralLabels(TypedDict):
    """How many texts the corpus has with several labels, and the first of them."""

    texts: int
    examples: list[str]


class LabelledReport(TypedDict):
    """The data report. leakage: how many texts or sentences a held-out split has, and the share that train has, too."""

    splits: dict[str, Figures]
    labels: dict[str, dict[str, int]]
    conventions: dict[str, ConventionsReport]
    cut_by_hash: list[str]
    cleaning: BookReport
    several_labels: SeveralLabels
    leakage: dict[str, Figures]
    warnings: NotRequired[list[str]]


def clean_labels(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> LabelledReport:
    """Clean texts with labels from `raw_folder` into `out_folder`/{train,validation,test}.parquet and labels.json.

    Args:
        raw_folder: train (and validation, test) or all.parquet, as the readers write them.
        seed: salts the hash that cuts splits.

    Returns:
        The data report: statistics and labels of each split, what was dropped, duplicates and overlap.

    Raises:
        InputError: a split is left empty, too few texts to cut one, or a held-out label that train lacks.
    """
    first = raw_folder / f"{present_splits(raw_folder)[0]}.parquet"
    lines = TableLines([(first, "text")])
    steps, conventions = found_conventions(lines, config.steps, config.words, config.language)
    config = config.model_copy(update={"steps": steps})
    row_type = LABELLED_TEXT._replace(schema=labelled_schema(first))
    return _clean(raw_folder, out_folder, row_type, config, conventions, seed)


def clean_tags(raw_folder: Path, out_folder: Path, config: CleanLabelledConfig, seed: int) -> LabelledReport:
    """Clean tagged sentences, which are already split into words; otherwise as `clean_labels`."""
    first = raw_folder / f"{present_splits(raw_folder)[0]}.parquet"
    rows = read_batches(first, TAGGED)
    sentences = (" ".join(words) for batch in rows for words in batch.column("words").to_pylist())
    steps, conventions = found_conventions(sentences, config.steps, "whitespace", config.language)
    config = config.model_copy(update={"steps": steps})
    row_type = TAGGED_SENTENCE._replace(schema=tagged_schema(first))
    return _clean(raw_folder, out_folder, row_type, config, conventions, seed)


def _clean(
    raw_folder: Path,
    out_folder: Path,
    row_type: RowType[CleanLabelledConfig],
    config: CleanLabelledConfig,
    conventions: Conventions,
    seed: int,
) -> LabelledReport:
    config = config.model_copy(update={"words": conventions.words})
    unit = "sentences" if "words" in row_type.schema.names else "examples"
    names = present_splits(raw_folder)
    tables = [(name, raw_folder / f"{name}.parquet") for name in names]
    with atomic_folder(out_folder, LABELLED_TABLES) as folder:
        cleaned = CleanedRows(tables, folder, row_type, config, seed)
        cleaned.drop_duplicates()
        cleaned.cut(_cut)
        cleaned.drop_held_out(
            "clean: every training text is held out; set held_out_never_in_train: false, or give more"
        )
        cleaned.write()
        results = {split: _Figures.of(_rows(folder, split, row_type), conventions.split) for split in SPLITS}
        labels = _labels(folder, row_type, unit, results)
        counts = {split: figures.labels for split, figures in results.items()}
        write_labels(folder, labels, counts)
        write_conventions(folder, {TEXT: conventions})
        report: LabelledReport = {
            "splits": {
                split: {unit: figures.rows, **figures.report(results["train"])} for split, figures in results.items()
            },
            "labels": {split: {label: counts[split][label] for label in labels} for split in SPLITS},
            "conventions": conventions_report({TEXT: conventions}),
            "cut_by_hash": [split for split in SPLITS if split not in names],
            "cleaning": cleaned.book.report(),
            "several_labels": _several_labels(folder, row_type, cleaned),
            "leakage": {
                split: {unit: results[split].rows, "in_train": part}
                for split, part in cleaned.shares_in_train("text").items()
            },
        }
        if warnings := _warnings(results, cleaned.book):
            report["warnings"] = warnings
        return report


# -- rows --------------------------------------------------------------------------------------------------------


def text_of(row: Row) -> str:
    """The words of a row as one string, of a pair both texts."""
    if "words" in row:
        return " ".join(row["words"])
    text: str = row["text"]
    return text if row["second"] is None else f"{text}\t{row['second']}"


def words_of(row: Row, split: Split) -> Sequence[str]:
    """The words of a row. split: for a text that is not split into words."""
    if "words" in row:
        words: list[str] = row["words"]
        return words
    return row["text"].split(" ") if _has_tree(row) else split(text_of(row))


def labels_of(row: Row) -> Sequence[str]:
    """The label of a row, or its labels or tags."""
    labels: Sequence[str] | None = row.get("tags", row.get("labels"))
    return [row["label"]] if labels is None else labels


def ceilings_of(row: Row) -> Sequence[float | None]:
    """How often the best guess of each label of a row is right, None where that is not known."""
    return row["ceilings"] or [None] if "ceilings" in row else [row["ceiling"]]


def _has_tree(row: Row) -> bool:
    return row["tree"] is not None or row["heads"] is not None


def clean_texts(rows: list[Row], config: CleanLabelledConfig, book: Book) -> Iterator[Cleaned]:
    """Run the steps on the one text or on both, on each word alone where the text has a tree.

    An empty text, or one outside the limits, is dropped. Probabilities of a text that was changed are not known.
    """
    steps, split = build_steps(config.steps), splitter_of(config.words)
    clean_word = _word_cleaner(steps, book)
    for row in rows:
        if _has_tree(row):
            texts = {"text": " ".join(map(clean_word, row["text"].split(" ")))}
        else:
            texts = {name: book.apply(steps, row[name]) for name in ("text", "second") if row[name] is not None}
        if any(row[name] != text for name, text in texts.items()):
            if row["tree"] is not None:
                tree = Tree(*parse_tree(row["tree"])[:3], tuple(texts["text"].split(" ")))
                texts["tree"] = bracketed(tree, {})[-1]
            row = row | texts | {"log_prob": None, "ceiling": None}
        yield _cleaned(row, "empty" if row["second"] == "" else outside(text_of(row), config.limits, split))


def clean_sentences(rows: list[Row], config: CleanLabelledConfig, book: Book) -> Iterator[Cleaned]:
    """Run the steps on each word alone; otherwise as `clean_texts`."""
    clean_word = _word_cleaner(build_steps(config.steps), book)
    for row in rows:
        words = list(map(clean_word, row["words"]))
        if words != row["words"]:
            row = row | {"words": words, "log_prob": None, "ceilings": None}
        yield _cleaned(row, outside(text_of(row), config.limits, str.split))


def _cleaned(row: Row, dropped: str | None) -> Cleaned:
    text = text_of(row)
    return Cleaned(row, dropped, key=[text, *labels_of(row)], unshared=(text,), split_by=text)


def _word_cleaner(steps: list[tuple[str, Step]], book: Book) -> Callable[[str], str]:
    """The steps for one word; a word that they would remove or split is left unchanged."""
    known: dict[str, str] = {}

    def clean(word: str) -> str:
        if word not in known:
            after = run_steps(steps, word)
            known[word] = after if len(after.split()) == 1 and not set("()") & set(after) else word
        if known[word] != word:
            book.changed["words"] += 1
        return known[word]

    return clean


LABELLED_TEXT = RowType(LABELLED, ("text",), clean_texts, text_of)
TAGGED_SENTENCE = RowType(TAGGED, ("text",), clean_sentences, text_of)


# -- splits ------------------------------------------------------------------------------------------------------


def _cut(rows: CleanedRows[CleanLabelledConfig], chosen: np.ndarray, own: Sequence[str]) -> Cut:
    """Cut splits by label, multi-label texts by their rarest one; tagged sentences without strata."""
    known: dict[frozenset[str], frozenset[str]] = {}  # each set of labels is stored once
    (column,) = {"label", "labels", "tags"} & {*rows.row_type.schema.names}
    sets = (frozenset([value] if column == "label" else value) for value in rows.column(column, chosen))
    labels = [known.setdefault(labels, labels) for labels in sets]
    counts = Counter(label for results in labels for label in results)
    strata = [
        "" if column == "tags" else min(label, key=lambda label: (counts[label], label), default="") for label in labels
    ]
    fractions = rows.fractions[chosen]
    splits = cut_by_label(fractions, strata, rows.config.split, own)
    # Held-out rows with a label that train lacks go to train, because it could not be learnt.
    in_train = frozenset[str]().union(*{labels[row] for row in np.flatnonzero(splits == TRAIN)})
    for row in np.flatnonzero(splits != TRAIN):
        if not labels[row] <= in_train:
            splits[fractions == fractions[row]] = TRAIN
            in_train |= labels[row]
    return Cut(splits, "documents", [])


def cut_by_label(
    fractions: np.ndarray, labels: Sequence[str], config: SplitConfig, own: Sequence[str] = ()
) -> np.ndarray:
    """The split of each example.

    Args:
        fractions: (N,) float64, equal for equal texts.
        labels: of each example; a text with several counts for its first.
        config: shares held out.
        own: splits that the corpus has, which are not cut.

    Returns:
        (N,) int8: positions in SPLITS.

    Raises:
        InputError: too few different texts for a split.
    """
    texts, first, inverse = np.unique(fractions, return_index=True, return_inverse=True)  # (U,), (U,), (N,)
    numbers = {name: number for number, name in enumerate(sorted(set(labels)))}
    of_text = np.fromiter((numbers[label] for label in labels), np.int32, len(labels))[first]  # (U,)
    order = np.argsort(of_text, kind="stable")  # label by label, each label's texts by their fractions
    ends = np.cumsum(np.bincount(of_text, minlength=len(numbers)))
    strata = dict(zip(numbers, np.split(order, ends[:-1]), strict=True))
    shares = [pair for pair in ((TEST, config.test), (VALIDATION, config.validation)) if SPLITS[pair[0]] not in own]
    chosen = np.full(len(texts), TRAIN, dtype=np.int8)
    for split, part in shares:
        free = {name: held[chosen[held] == TRAIN] for name, held in strata.items()}
        sizes = {name: len(held) for name, held in strata.items()}
        for name, count in _quotas(sizes, {name: len(held) - 1 for name, held in free.items()}, part).items():
            chosen[free[name][:count]] = split
        if not (chosen == split).any():
            raise InputError(
                f"the corpus has {len(texts)} different texts of {len(strata)} labels, too few to cut {SPLITS[split]} "
                "and leave train one of each label; give more, or files for each split (`files: {train: …, test: …}`)"
            )
    return np.asarray(chosen[inverse], dtype=np.int8)


def _quotas(sizes: dict[str, int], most: dict[str, int], part: float) -> dict[str, int]:
    """How many texts of each label a split gets: `part` of all texts, at most `most` of a label."""
    exact = {name: part * size for name, size in sizes.items()}
    counts = {name: max(0, min(int(value), most[name])) for name, value in exact.items()}
    missing = max(1, round(sum(exact.values()))) - sum(counts.values())
    for name in sorted(exact, key=lambda name: (int(exact[name]) - exact[name], name)):  # largest remainder first
        if missing > 0 and counts[name] < most[name]:
            counts[name] += 1
            missing -= 1
    return counts


# -- the report --------------------------------------------------------------------------------------------------


def _rows(folder: Path, split: str, row_type: RowType[CleanLabelledConfig]) -> Iterator[Row]:
    """The clean rows of a split."""
    for batch in read_batches(folder / f"{split}.parquet", row_type.schema, rows=4096):
        yield from batch.to_pylist()


@dataclass
class _Figures:
    """Counts of a split. ceiling: the sum of those that are known."""

    rows: int = 0
    words: Counter[str] = field(default_factory=Counter)
    lengths: Counter[int] = field(default_factory=Counter)  # words in a row → rows
    labels: Counter[str] = field(default_factory=Counter)
    ceiling: float = 0.0
    known: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, rows: Iterator[Row], split: Split) -> Self:
        """Count some rows."""
        figures = cls()
        for row in rows:
            words = words_of(row, split)
            figures.rows += 1
            figures.words.update(words)
            figures.lengths[len(words)] += 1
            figures.labels.update(labels_of(row))
            known = [value for value in ceilings_of(row) if value is not None]
            figures.ceiling += sum(known)
            figures.known += len(known)
            figures.unknown += len(ceilings_of(row)) - len(known)
        return figures

    def report(self, train: "_Figures") -> Figures:
        """How many words, what is new to train, and how good the best possible classifier is."""
        new = sum(count for word, count in self.words.items() if word not in train.words)
        return {
            "words": self.words.total(),
            "word_types": len(self.words),
            "words_new_to_train": share(new, self.words.total()),
            "best_possible_accuracy": None if self.unknown else round(self.ceiling / self.known, 6),
            "words_in_the_median": percentiles(self.lengths)["50"],
            "words_at_most": max(self.lengths),
        }


def _labels(folder: Path, row_type: RowType[CleanLabelledConfig], unit: str, figures: dict[str, _Figures]) -> list[str]:
    """The labels of the training split in the order of their ids."""
    known, rows = set(figures["train"].labels), figures["train"].rows
    for split in ("validation", "test"):
        if set(figures[split].labels) - known:
            row, new = next(
                (row, new) for row in _rows(folder, split, row_type) if (new := set(labels_of(row)) - known)
            )
            raise InputError(
                f"{split}: {min(new)[:60]!r} labels {text_of(row)[:60]!r}, but no example of the cleaned "
                f"training split; its labels are {', '.join(ordered(known))[:300]}"
            )
    if len(known) < 2:
        label = f"one label, {min(known)!r}" if known else "no label"
        raise InputError(f"train: all {unit} have {label}; at least two are needed")
    if "words" not in row_type.schema.names and len(known) > max(FEW, rows / 2):
        raise InputError(
            f"train: {len(known):,} labels for {rows:,} texts, e.g. {min(known)[:60]!r}; are text and "
            "label in the columns that the corpus' settings name?"
        )
    return ordered(known)


def _several_labels(
    folder: Path, row_type: RowType[CleanLabelledConfig], cleaned: CleanedRows[CleanLabelledConfig]
) -> SeveralLabels:
    """Texts that the corpus has with several labels: how many, and the first of them."""
    stay = cleaned.split != DROPPED
    _, first = np.unique(cleaned.hashes["key"][stay], return_index=True)  # a text with each of its labels once
    texts, counts = np.unique(cleaned.hashes["text"][stay][first], return_counts=True)
    several, examples = texts[counts > 1], list[str]()
    for split in SPLITS if len(several) else ():
        rows = compress(_rows(folder, split, row_type), np.isin(cleaned.hashes_of("text", split), several))
        while len(examples) < EXAMPLES and (row := next(rows, None)):
            examples += [text] if (text := text_of(row)) not in examples else []
    return {"texts": len(several), "examples": examples}


def _warnings(results: dict[str, _Figures], book: Book) -> list[str]:
    """Warnings about dropped rows and about the characters of all splits."""
    characters = Counter[str]()
    for figures in results.values():
        for word, count in figures.words.items():
            for character in word:
                characters[character] += count
    report: CharacterFigures = {
        "invisible_characters": invisible(characters),
        "replacement_characters": characters["\ufffd"],
    }
    return [*book.warnings(), *character_warnings([report], "the text")]
