"""Unknown words: the words of a text that are not in a model's training text, and their pieces.

A model answers every text. Of words that it never met the answer says little: a byte-level tokenizer has a piece for
everything, and a classifier that reads no word of a text returns what it knows of the labels alone.

A word is unknown if the model reads it as `<unk>`, or if the training texts are at hand and do not hold it. A model
that keeps a list of its words (classifiers and taggers of words, word vectors) says itself what it reads as `<unk>`.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple, TypedDict

from langladder.ground.artefacts import JSONObject, read_json
from langladder.ground.errors import InputError
from langladder.models.saving import READING
from langladder.text.tokenize.specials import RESERVED, UNK
from langladder.text.tokenize.tokenizers import Tokenizer
from langladder.text.words.normalisation import Normalisation, lower
from langladder.text.words.segmentation import CHOICES, WordChoice, conventions_of, splitter_of

TOKENIZERS = ("tokenizer.json", "source.json")
"""Files of the tokenizer by which a model reads; of a translator that of its source."""


class Lexicon(NamedTuple):
    """The vocabulary of a model.

    Attributes:
        listed: its words, others are `<unk>`; None: it has no list of words. tokenizer: splits words into pieces; None:
            it reads whole words. words_by: how texts are split into words. lowercase, digits: whether letters are
            lower-cased, and every digit is replaced by 0.
    """

    listed: frozenset[str] | None
    tokenizer: Tokenizer | None
    words_by: WordChoice = "auto"
    normalisation: Normalisation = Normalisation()
    lowercase: bool = False
    digits: bool = False

    def folded(self, word: str) -> str:
        """The word as the list has it."""
        word = lower(word) if self.lowercase else word
        return "".join("0" if letter.isdigit() else letter for letter in word) if self.digits else word


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
        return Lexicon(None, tokenizer, conventions.words, normalisation)
    units = described.get("units")
    if isinstance(units, dict):
        listed = _words(units) or None  # a classifier that counts keeps features, not words
        return Lexicon(listed, None, _choice(units.get("mode")), normalisation, bool(units.get("lowercase")))
    folds = bool(described.get("lowercase")), bool(described.get("digits"))
    return Lexicon(_words(described) or None, None, "whitespace", normalisation, *folds)


def words_of(texts: Iterable[str], words_by: WordChoice) -> frozenset[str]:
    """The words of training texts."""
    found: set[str] = set()
    split = splitter_of(words_by)
    for text in texts:
        found.update(split(text))
    return frozenset(found)


def unknown_words(text: str, lexicon: Lexicon, training: Collection[str] | None = None) -> Coverage:
    """The words of a text that a model has not met.

    Args:
        training: the words of its training texts, folded as the lexicon folds them; None: they are not at hand.
    """
    found: dict[str, UnknownWord] = {}
    words = count = 0
    split = splitter_of(lexicon.words_by)
    for line in (lexicon.normalisation.normalise(line) for line in text.splitlines()):
        line_words = [word for word in split(line) if word not in RESERVED]
        words += len(line_words)
        for word, pieces in zip(line_words, _pieces(line, line_words, lexicon), strict=True):
            if _is_known(word, pieces, lexicon, training):
                continue
            count += 1
            small = lower(word)
            written = small if small != word and _is_met(small, lexicon, training) else None
            found.setdefault(word, {"text": word, "pieces": pieces, "written": written})
    return {"words": words, "count": count, "unknown": list(found.values())}


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
    found, end, first = [], 0, 0
    for word in words:
        start = line.find(word, end)
        if start < 0:  # a model that changes the letters of words, so their pieces are unknown
            found.append([word])
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
        found.append(pieces or [word])
    return found


def _of_vectors(file: Path) -> Lexicon:
    described = _object(file)
    normalisation = Normalisation.checked(described.get("normalisation"), f"{file}: normalisation")
    return Lexicon(_words(described), None, _choice(described.get("words_by")), normalisation)


def _words(described: JSONObject) -> frozenset[str]:
    words = described.get("words")
    return frozenset(word for word in words if isinstance(word, str)) if isinstance(words, list) else frozenset()


def _choice(value: object) -> WordChoice:
    return next((choice for choice in CHOICES if choice == value), "auto")


def _object(file: Path) -> JSONObject:
    """The content of a JSON file; {} if it does not exist. Raises InputError if it is damaged."""
    if not file.is_file():
        return {}
    found = read_json(file)
    if not isinstance(found, dict):
        raise InputError(f"{file}: not an object")
    return found
