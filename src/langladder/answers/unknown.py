"""How a model reads a text: which of its words are not in the model's training text, and how it was normalised.

A model answers every text. Of words that it never met the answer says little: a byte-level tokenizer has a piece for
everything, and a classifier that reads no word of a text returns what it knows of the labels alone.

A word is unknown if the model reads it as `<unk>`, or if the training texts are at hand (`data/clean/` of the project,
the training split of the text that a kind of model learns from) and do not hold it. A model that keeps a list of its
words (classifiers and taggers of words, word vectors) says itself what it reads as `<unk>`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypedDict

from langladder.answers.classify import words_of_tree
from langladder.answers.kinds import kind_of
from langladder.families import families
from langladder.ground.artefacts import JSONObject, read_json
from langladder.ground.errors import InputError
from langladder.models.saving import READING
from langladder.text.labelled.instructions import INSTRUCTIONS
from langladder.text.labelled.labelled import LABELLED, TAGGED
from langladder.text.labelled.questions import QUESTIONS
from langladder.text.storage.shards import TEXT
from langladder.text.storage.tables import PAIRS, Row, read_batches
from langladder.text.tokenize.specials import RESERVED, UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.normalisation import Lower, Normalisation, is_lower, lower
from langladder.text.words.segmentation import CHOICES, CONVENTIONS, WordChoice, conventions_of, splitter_of

TOKENIZERS = ("tokenizer.json", "source.json")
"""Files of the tokenizer by which a model reads; of a translator that of its source."""
COLUMNS = {
    "text": TEXT,
    "parallel": PAIRS,
    "labels": LABELLED,
    "tags": TAGGED,
    "questions": QUESTIONS,
    "instructions": INSTRUCTIONS,
}
MOST_ROWS = 1_000_000  # of the training texts that are read: about ten seconds
MOST_LISTED = 8  # words in a note


class Lexicon(NamedTuple):
    """The vocabulary of a model.

    Attributes:
        listed: its words, others are `<unk>`; None: it has no list of words. tokenizer: splits words into pieces; None:
            it reads whole words. words_by: how texts are split into words. lowercase, digits: whether and how
            letters are lower-cased, and whether every digit is replaced by 0.
    """

    listed: frozenset[str] | None
    tokenizer: Tokenizer | None
    words_by: WordChoice = "auto"
    normalisation: Normalisation = Normalisation()
    lowercase: Lower = False
    digits: bool = False

    def folded(self, word: str) -> str:
        """The word as the list has it."""
        word = lower(word, self.lowercase)
        return "".join("0" if letter.isdigit() else letter for letter in word) if self.digits else word

    def small(self, word: str) -> str:
        """The word in lower case."""
        return lower(word, self.lowercase or True)


class UnknownWord(TypedDict):
    """A word that a model has not met: the pieces that it reads instead; `written`: a spelling that it has met."""

    text: str
    pieces: list[str]
    written: str | None


class Coverage(TypedDict):
    """How many words a text has, and the unknown ones, each once, in the order of the text; `count`: of all places."""

    words: int
    count: int
    unknown: list[UnknownWord]


def lexicon_of(folder: Path) -> Lexicon:
    """What the model of a folder reads, without loading the model.

    Raises:
        InputError: a file of it is damaged.
    """
    if (folder / "words.json").is_file():
        return _of_vectors(folder / "words.json")
    described = _object(folder / READING)
    config = _object(folder / "config.json")
    normalisation = Normalisation.checked(config.get("normalisation"), f"{folder / 'config.json'}: normalisation")
    tokenizer = next((Tokenizer.load(folder / name) for name in TOKENIZERS if (folder / name).is_file()), None)
    if tokenizer is not None:
        conventions = conventions_of(folder, "source" if (folder / "source.json").is_file() else "text")
        return Lexicon(None, tokenizer, conventions.words, tokenizer.normalisation)
    units = described.get("units")
    if isinstance(units, dict):
        listed = _words(units) or None  # a classifier that counts keeps features, not words
        return Lexicon(listed, None, _choice(units.get("mode")), normalisation, _lower(units))
    folds = _lower(described), bool(described.get("digits"))
    return Lexicon(_words(described) or None, None, "whitespace", normalisation, *folds)


def in_project(lexicon: Lexicon, folder: Path, project: Path) -> Lexicon:
    """The lexicon of a model; the training text of the project defines words if the model does not."""
    kind = kind_of(folder)
    if lexicon.tokenizer is None or kind is None or (folder / CONVENTIONS).is_file():
        return lexicon
    side = families()[kind].texts[0]
    text = "source" if side == "parallel" else "text"
    return lexicon._replace(words_by=conventions_of(project / "data" / "clean" / side, text).words)


def words_of(texts: Iterable[str], words_by: WordChoice, wanted: frozenset[str] | None = None) -> frozenset[str]:
    """The words of training texts.

    Args:
        wanted: None: all words; else only these, and reading ends when all of them were found.
    """
    results: set[str] = set()
    split = splitter_of(words_by)
    for text in texts:
        words = split(text)
        results.update(words if wanted is None else wanted.intersection(words))
        if wanted is not None and len(results) == len(wanted):
            break
    return frozenset(results)


def table_of(project: Path, side: str, split: str) -> Path | None:
    """The clean text of a side; None if it is missing, or if its rows are not texts."""
    if side not in COLUMNS:
        return None
    folder = project / "data" / "clean" / side
    return next((path for path in (folder / split, folder / f"{split}.parquet") if path.exists()), None)


def rows_of(table: Path, side: str, most: int) -> Iterator[Row]:
    """The first rows of a table, with the columns that the side needs."""
    batches = read_batches(table, COLUMNS[side])
    return islice((row for batch in batches for row in batch.to_pylist()), most)


def texts_of(side: str, row: Row) -> list[str]:
    """The texts of a row that a model reads."""
    if side == "tags":
        return [" ".join(row["words"])]
    if side == "instructions":
        return [message["text"] for message in row["messages"]]
    columns = {"parallel": ("source",), "labels": ("text", "second"), "questions": ("context", "question")}
    return [row[name] for name in columns.get(side, ("text",)) if row[name] is not None]


def words_of_table(table: Path, side: str, lexicon: Lexicon, wanted: frozenset[str] | None = None) -> frozenset[str]:
    """The words of the training texts of a side, as a lexicon folds them; `wanted` as in `words_of`."""
    texts = (text for row in rows_of(table, side, MOST_ROWS) for text in texts_of(side, row))
    return words_of((lower(text, lexicon.lowercase) for text in texts), lexicon.words_by, wanted)


def training_words(
    folder: Path, lexicon: Lexicon, words_of_side: Callable[[str], frozenset[str] | None]
) -> frozenset[str] | None:
    """The words of the training texts of a model; None if they are missing, or if it has a list of its words.

    Args:
        words_of_side: the words of a side's training texts; None if they are missing.
    """
    kind = kind_of(folder)
    if kind is None or lexicon.listed is not None:
        return None
    first, *more = map(words_of_side, families()[kind].texts)
    return None if first is None else first.union(*(words for words in more if words is not None))


def as_read(folder: Path, texts: Sequence[str]) -> list[str]:
    """Texts as a model reads them: of a tree, for a model that reads trees, its words."""
    kind = kind_of(folder)
    return [words_of_tree(text) for text in texts] if kind is not None and families()[kind].trees else [*texts]


def reading_notes(folder: Path, texts: Sequence[str]) -> list[str]:
    """What to know of how a model reads some texts: that they were normalised, and which words it has not met.

    The training texts are those of the project that the model's folder is in.
    """
    try:
        lexicon = lexicon_of(folder)
    except InputError:  # in a file that the answer does not need
        return []
    notes = [lexicon.normalisation.note(texts, "texts"), _unknown_note(folder, lexicon, texts)]
    return [note for note in notes if note is not None]


def _unknown_note(folder: Path, lexicon: Lexicon, texts: Sequence[str]) -> str | None:
    """One sentence about the words of some texts that a model has not met; None if there are none."""
    project = next((above for above in list(folder.resolve().parents)[:3] if (above / "data" / "clean").is_dir()), None)
    try:
        lexicon = lexicon if project is None else in_project(lexicon, folder, project)
        lines = [lexicon.normalisation.normalise(line) for text in as_read(folder, texts) for line in text.splitlines()]
        words = set(chain.from_iterable(map(splitter_of(lexicon.words_by), lines)))
        wanted = frozenset(lexicon.folded(form) for word in words for form in (word, lexicon.small(word)))

        def words_of_side(side: str) -> frozenset[str] | None:
            table = None if project is None else table_of(project, side, "train")
            return None if table is None else words_of_table(table, side, lexicon, wanted)

        training = training_words(folder, lexicon, words_of_side)
        result = [unknown_words(line, lexicon, training) for line in lines]
    except InputError:  # in a training text, which the answer does not need
        return None
    unknown = {word["text"]: word for line in result for word in line["unknown"]}
    if not unknown:
        return None
    listed = [
        word["text"] + (f" ({word['written']} is known)" if word["written"] else "")
        for word in islice(unknown.values(), MOST_LISTED)
    ]
    more = f" and {len(unknown) - len(listed):,} more" if len(unknown) > len(listed) else ""
    count, of = sum(word["count"] for word in result), sum(line["words"] for line in result)
    return (
        f"{folder}: {count:,} of {of:,} {'word is' if of == 1 else 'words are'} unknown to this model: "
        f"{', '.join(listed)}{more}; it reads <unk> or pieces of them, so do not rely on its answer there"
    )


def unknown_words(text: str, lexicon: Lexicon, training: Collection[str] | None = None) -> Coverage:
    """The words of a text that a model has not met.

    Args:
        training: the words of its training texts, folded as the lexicon folds them; None: they are not at hand.
    """
    unknown: dict[str, UnknownWord] = {}
    words = count = 0
    split = splitter_of(lexicon.words_by)
    for line in (lexicon.normalisation.normalise(line) for line in text.splitlines()):
        line_words = [word for word in split(line) if word not in RESERVED]
        words += len(line_words)
        for word, pieces in zip(line_words, _pieces(line, line_words, lexicon), strict=True):
            if _is_known(word, pieces, lexicon, training):
                continue
            count += 1
            small = lexicon.small(word)
            written = small if small != word and _is_met(small, lexicon, training) else None
            unknown.setdefault(word, {"text": word, "pieces": pieces, "written": written})
    return {"words": words, "count": count, "unknown": list(unknown.values())}


def _is_known(word: str, pieces: list[str], lexicon: Lexicon, training: Collection[str] | None) -> bool:
    return _UNKNOWN not in pieces and (training is None or lexicon.folded(word) in training)


def _is_met(word: str, lexicon: Lexicon, training: Collection[str] | None) -> bool:
    known = lexicon.listed if training is None else training
    return known is not None and lexicon.folded(word) in known


_UNKNOWN = "<unk>"


def _pieces(line: str, words: list[str], lexicon: Lexicon) -> list[list[str]]:
    """What each word of a line is read as."""
    if lexicon.tokenizer is None:
        listed = lexicon.listed
        return [[word if listed is None or lexicon.folded(word) in listed else _UNKNOWN] for word in words]
    ids, spans = lexicon.tokenizer.encode_with_spans(line)
    results, end, first = [], 0, 0
    for word in words:
        start = line.find(word, end)
        if start < 0:  # a model that changes the letters of words, so their pieces are unknown
            results.append([word])
            continue
        end = start + len(word)
        while first < len(ids) and spans[first][1] <= start:
            first += 1
        own = first
        pieces = []
        while own < len(ids) and spans[own][0] < end:
            token = int(ids[own])
            pieces.append(_UNKNOWN if token == UNK else lexicon.tokenizer.piece(token).strip() or "␣")
            own += 1
        results.append(pieces or [word])
    return results


def _of_vectors(file: Path) -> Lexicon:
    described = _object(file)
    normalisation = Normalisation.checked(described.get("normalisation"), f"{file}: normalisation")
    return Lexicon(_words(described), None, _choice(described.get("words_by")), normalisation)


def _words(described: JSONObject) -> frozenset[str]:
    words = described.get("words")
    return frozenset(word for word in words if isinstance(word, str)) if isinstance(words, list) else frozenset()


def _choice(value: object) -> WordChoice:
    return next((choice for choice in CHOICES if choice == value), "auto")


def _lower(described: JSONObject) -> Lower:
    value = described.get("lowercase")
    return value if is_lower(value) else False


def _object(file: Path) -> JSONObject:
    """The content of a JSON file; {} if it does not exist. Raises InputError if it is damaged."""
    if not file.is_file():
        return {}
    content = read_json(file)
    if not isinstance(content, dict):
        raise InputError(f"{file}: not an object")
    return content
