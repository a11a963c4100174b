"""Train tokenizers with the trainers of the `tokenizers` library, and report on them: fertility, compression, use.

The same text gives the same `tokenizer.json`.

WordPiece and BPE over words get their alphabet beforehand, sorted, since the library numbers `##x` and `x</w>` in the
order of a randomly seeded hash table. Unigram sums floating-point numbers in the order of such a table, and gives
scores in that order to characters that lost their piece: scores are rounded, those characters sorted.

Text beyond `sample_bytes` is sampled: every k-th line of it, from the beginning to the end.

Differences from the papers are those of the library's trainers. WordPiece merges the most frequent pair, as BPE does,
where Schuster and Nakajima choose by likelihood (kind `wordpiece_likelihood`, `text.tokenize.likelihood_pieces`); its
longest-match encoding is theirs. Unigram finds its first pieces among distinct words, not running text as SentencePiece
does, so a short frequent word that is no part of others (`▁,`) may get no piece, and texts come out longer than
SentencePiece would make them.

Byte-level BPE begins with whole characters where most letters have three bytes (`whole_characters`), as in Burmese,
Thai or Hindi: their bytes are merged before all else. Otherwise half of the tokens of a small text are parts of two
letters, which no sample puts together again.

`Alphabet` tells whether a vocabulary suffices for the characters of a text. Byte-level BPE can write any character, but
one that it learned no token for is two to four tokens, which alone show as bytes and which a model has to put together.
A vocabulary below the alphabet's size is therefore mostly bytes: in Chinese thousands of tokens go to characters before
the first word gets one.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, Self, SupportsInt, TypedDict, cast

import numpy as np
import tokenizers as hf
from tokenizers import models, pre_tokenizers, trainers

from langladder.engine.base import current
from langladder.ground.errors import InputError
from langladder.ground.progress import working
from langladder.text.storage.tables import TableLines, line_batches
from langladder.text.tokenize.encoding import encode_lines
from langladder.text.tokenize.likelihood_pieces import wordpiece_by_likelihood
from langladder.text.tokenize.morphemes import SCORE_DECIMALS, morph_pieces
from langladder.text.tokenize.specials import SPELLINGS, UNK
from langladder.text.tokenize.tokenizers import (
    CONTINUES,
    END_OF_WORD,
    Kind,
    Tokenizer,
    TokenizerConfig,
    assemble,
    byte_characters,
)
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import DIVIDERS, Conventions, WordChoice, splitter_of

# ---- characters


COVERED = 0.999
BYTES = 256
ALL_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())
THREE_BYTES = "\u0800"  # the first character of three bytes
LONG_SHARE = 0.25  # of characters of three bytes and more, from which byte-level BPE begins with characters


def count_characters(lines: Iterable[str]) -> Counter[str]:
    """How often each character occurs."""
    counts = np.zeros(0x110000, dtype=np.int64)
    for chunk in line_batches(lines):
        points = np.frombuffer("".join(chunk).encode("utf-32-le"), dtype=np.uint32)
        results = np.bincount(points)
        counts[: len(results)] += results
    seen = np.flatnonzero(counts)
    return Counter(dict(zip(map(chr, seen.tolist()), counts[seen].tolist(), strict=True)))


def count_characters_of(text: TableLines) -> Counter[str]:
    """As `count_characters`, of columns of tables, whose shards are counted by workers."""
    counts = Counter[str]()
    for results in current().map(count_characters, text.shards(), "counting characters"):
        counts.update(results)
    return counts


@dataclass(frozen=True)
class Alphabet:
    """Characters of a text.

    Attributes:
        size: different characters, white space aside.
        common: the most frequent so many make up 99.9 % of the text.
    """

    size: int
    common: int

    @classmethod
    def of(cls, characters: Counter[str]) -> Self:
        """The alphabet of a text in which each character occurs so often."""
        counts = Counter({name: count for name, count in characters.items() if not name.isspace()})
        wanted, covered, common = COVERED * counts.total(), 0, 0
        for _, count in counts.most_common():
            if covered >= wanted:
                break
            covered, common = covered + count, common + 1
        return cls(len(counts), common)

    def warning(self, vocab_size: int) -> str | None:
        """The warning about a byte-level vocabulary of this size; None if it is large enough."""
        reserved = BYTES + len(SPELLINGS)
        if self.size <= vocab_size and self.common + reserved <= vocab_size:
            return None
        serves = -(-(2 * self.common + reserved) // 500) * 500
        return (
            f"vocab_size {vocab_size:,} is small for the {self.size:,} characters of this text ({self.common:,} of "
            f"them make up 99.9 % of it): most are cut into bytes, words have no tokens. Set it to about {serves:,}: "
            "vocab_size in conf/tokenizer/bpe.yaml"
        )


def whole_characters(characters: Counter[str], config: TokenizerConfig) -> Counter[str]:
    """The characters that byte-level BPE makes tokens of before it merges anything else, with their counts.

    There are none unless at least a quarter of the text is characters of three bytes and more. In such scripts all
    letters begin with the same two bytes, which otherwise are the most frequent pair: it is merged with the last byte
    of the letter before it, and most tokens are parts of two letters. There are none either if they would take more
    than half of the vocabulary, as in Chinese, where most characters are rare; or with GPT-2's own `cutting`.
    Characters beyond the most frequent 99.9 % stay bytes, and so do those rarer than `min_frequency`.
    """
    visible = Counter({name: count for name, count in characters.items() if not name.isspace()})
    long = sum(count for name, count in visible.items() if name >= THREE_BYTES)
    if config.cutting != "marks" or long < LONG_SHARE * visible.total() or not long:
        return Counter()
    ordered = sorted(characters.items(), key=lambda pair: (-pair[1], pair[0]))
    common = {*_until(ordered, COVERED * characters.total())}
    results = {
        character: count for character, count in ordered if character in common and count >= config.min_frequency
    }
    results |= {character: count for character, count in ordered if character.isascii()}
    room = cast("int", config.vocab_size) - len(SPELLINGS) - BYTES
    return Counter(results if len(_byte_sequences(results)) <= room // 2 else {})


def _byte_sequences(characters: Iterable[str]) -> list[bytes]:
    """The tokens that characters need beside single bytes: their beginnings of two bytes and more, short ones first."""
    encoded = [character.encode() for character in characters]
    sequences = {character[:length] for character in encoded for length in range(2, len(character) + 1)}
    return sorted(sequences, key=lambda sequence: (len(sequence), sequence))


UNLIMITED = 1 << 31  # a cap that no vocabulary reaches
SAMPLES = 5  # lines that a report shows as tokens
LONGEST = 20  # tokens that a report names
PENALTY = 1e-4  # between the scores that the Unigram trainer gives to characters without a piece


@dataclass(frozen=True)
class Sample:
    """The part of a text that a tokenizer is trained on.

    Attributes:
        parts: the lines of the whole text, in parts that can be iterated again.
        every: k; every k-th line is read, beginning with the first.
        whole: bytes of the text.
    """

    parts: Sequence[Iterable[str]]
    every: int
    whole: int

    @classmethod
    def of(cls, parts: Sequence[Iterable[str]], most: int) -> Self:
        """A sample of at most about `most` bytes; the parts are measured by workers."""
        whole = sum(current().map(count_bytes, parts, "measuring the training text"))
        return cls(parts, max(1, -(-whole // most)), whole)

    def __iter__(self) -> Iterator[str]:
        return islice(chain.from_iterable(self.parts), 0, None, self.every)

    def report(self) -> dict[str, int]:
        """For the tokenizer's report; {} where all of the text was read."""
        return {"trained_on_every": self.every, "training_bytes": self.whole} if self.every > 1 else {}


def count_bytes(lines: Iterable[str]) -> int:
    """Bytes of UTF-8 of all lines."""
    return sum(len(line.encode()) for line in lines)


def train_tokenizer(
    lines: Iterable[str], config: TokenizerConfig, normalisation: Normalisation | None = None
) -> Tokenizer:
    """Learn a tokenizer from training lines.

    Args:
        lines: training text, a list or another thing that can be iterated again.
        normalisation: steps of its cleaning, which every text gets before it is encoded.

    Raises:
        InputError: no text, or the characters alone are more than `vocab_size`.
    """
    with working("training the tokenizer"):
        counts = count_characters(lines)
        divided = not counts.keys().isdisjoint(DIVIDERS)
        counts = whole_characters(counts, config) if config.kind == "bpe_bytes" else _with_text(counts, config)
        alphabet = _alphabet(counts, config)
        if config.kind == "unigram":  # the library's trainer stops without a name, or never ends
            _check_room(len({*alphabet, "▁"}) + len(SPELLINGS), len(alphabet), config)
        rare = {ord(character): " " for character in counts.keys() - set(alphabet)}  # a space for what gets no token
        backend = _trained((line.translate(rare) for line in lines) if rare else lines, config, alphabet, divided)
    _check_room(backend.get_vocab_size(), len(alphabet), config)
    stored: dict[str, Kind] = {"morphemes": "unigram", "wordpiece_likelihood": "wordpiece"}
    return Tokenizer(backend, stored.get(config.kind) or cast("Kind", config.kind), normalisation)


def _check_room(size: int, characters: int, config: TokenizerConfig) -> None:
    """Raise InputError if the characters alone need more tokens than `vocab_size`."""
    if config.vocab_size is not None and size > config.vocab_size:
        raise InputError(
            f"tokenizer.vocab_size: {config.vocab_size:,} is less than the {size:,} tokens that the text's "
            f"{characters:,} characters and the specials need; raise it, lower tokenizer.character_coverage, or use "
            "kind bpe_bytes"
        )


def few_tokens(tokenizer: Tokenizer, config: TokenizerConfig) -> str | None:
    """The warning that fewer tokens were learnt than requested; None if not, or if `vocab_size` is a cap."""
    got, requested = tokenizer.vocab_size, config.vocab_size
    if requested is None or got >= requested or config.kind in ("word", "character"):
        return None
    pairs = config.kind not in ("unigram", "morphemes")
    why = (
        f"no other pair occurs {config.min_frequency:,} times inside words" if pairs else "the text has no more pieces"
    )
    lower = " or a lower min_frequency" if pairs and config.min_frequency > 1 else ""
    marks = "; cutting: marks finds more in scripts with combining marks" if config.cutting == "gpt2" else ""
    return (
        f"vocab_size is {requested:,}, but {got:,} tokens were learnt: {why}. Use more text{lower}, or set "
        f"vocab_size to {got:,} in conf/tokenizer{marks}"
    )


def _trained(lines: Iterable[str], config: TokenizerConfig, alphabet: list[str], divided: bool) -> hf.Tokenizer:
    """The library's tokenizer of a kind, trained; it looks for no special in a text. divided: see `assemble`."""
    size = UNLIMITED if config.vocab_size is None else config.vocab_size
    settings: dict[str, Any] = {"vocab_size": size, "min_frequency": config.min_frequency, "show_progress": False}
    specials, unknown, ordered = [*SPELLINGS], SPELLINGS[UNK], sorted(alphabet)
    model: models.Model
    trainer: trainers.Trainer
    match config.kind:
        case "bpe_bytes":
            if alphabet:
                return _bpe_of_characters(lines, ordered, config)
            model = models.BPE()
            trainer = trainers.BpeTrainer(special_tokens=specials, initial_alphabet=ALL_BYTES, **settings)
        case "bpe_words":
            specials = [*specials, *ordered, *(character + END_OF_WORD for character in ordered)]
            model = models.BPE(unk_token=unknown, end_of_word_suffix=END_OF_WORD)
            trainer = trainers.BpeTrainer(special_tokens=specials, end_of_word_suffix=END_OF_WORD, **settings)
        case "wordpiece":
            specials = [*specials, *ordered, *(CONTINUES + character for character in ordered)]
            model = models.WordPiece(unk_token=unknown, max_input_chars_per_word=1000)
            trainer = trainers.WordPieceTrainer(special_tokens=specials, **settings)
        case "unigram":
            del settings["min_frequency"]
            model = models.Unigram()
            trainer = trainers.UnigramTrainer(unk_token=unknown, special_tokens=specials, **settings)
        case "word":
            model = models.WordLevel(unk_token=unknown)
            trainer = trainers.WordLevelTrainer(special_tokens=specials, **settings)
        case "morphemes":
            cut = assemble("unigram", models.Unigram(), divided=divided).pre_tokenizer
            parts = (part for line in lines for part, _ in cut.pre_tokenize_str(line))
            morphs = morph_pieces(parts, ordered, size - len(specials), config.min_frequency)
            model = models.Unigram([*((piece, 0.0) for piece in specials), *morphs], UNK, False)
            return assemble("unigram", model, divided=divided)
        case "wordpiece_likelihood":
            begin = [*specials, *ordered, *(CONTINUES + character for character in ordered)]
            return wordpiece_by_likelihood(lines, begin, size, config.min_frequency, divided=divided)
        case "character":  # BPE without merges: no trainer is needed
            tokens = [*specials, *alphabet][: max(size, len(specials))]
            return assemble("character", models.BPE(_numbered(tokens), [], unk_token=unknown))
    backend = assemble(config.kind, model, cutting=config.cutting, divided=divided)
    backend.train_from_iterator(lines, trainer)
    trained = json.loads(backend.to_str())
    trained["added_tokens"] = []  # these would be looked for in every text before it is tokenised
    if config.kind == "unigram":
        trained["model"]["vocab"] = _steady(trained["model"]["vocab"], len(SPELLINGS))
        trained["model"]["unk_id"] = UNK
    return hf.Tokenizer.from_str(json.dumps(trained, ensure_ascii=False))


def _bpe_of_characters(lines: Iterable[str], alphabet: list[str], config: TokenizerConfig) -> hf.Tokenizer:
    """Byte-level BPE whose first merges make characters of their bytes.

    The library learns the other merges between whole characters, which are written as bytes afterwards. The result is
    the same as if it had begun with the first merges: a merge of bytes inside a character starts with its first byte,
    which no other character contains, so none joins bytes of two characters.
    """
    begun = _byte_sequences(alphabet)
    learnt = assemble("bpe_bytes", models.BPE(), cutting=config.cutting)
    learnt.pre_tokenizer = learnt.pre_tokenizer[0]  # how text is cut, without the bytes
    size = cast("int", config.vocab_size) - BYTES - len(begun) + len(alphabet)
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        min_frequency=config.min_frequency,
        show_progress=False,
        special_tokens=[*SPELLINGS],
        initial_alphabet=alphabet,
        limit_alphabet=len(alphabet),  # no other character is read
    )
    learnt.train_from_iterator(lines, trainer)
    pairs = [(piece[:-1], piece[-1:]) for piece in begun]
    pairs += [(left.encode(), right.encode()) for left, right in json.loads(learnt.to_str())["model"]["merges"]]
    merges = [(byte_characters(left), byte_characters(right)) for left, right in pairs]
    tokens = dict.fromkeys([*SPELLINGS, *ALL_BYTES, *(left + right for left, right in merges)])
    return assemble("bpe_bytes", models.BPE(_numbered([*tokens]), merges), cutting=config.cutting)


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _with_text(counts: Counter[str], config: TokenizerConfig) -> Counter[str]:
    if not counts or (config.kind != "character" and all(character.isspace() for character in counts)):
        raise InputError("tokenizer: the training split has no text")
    return Counter() if config.kind == "word" else counts  # words need no alphabet


def _steady(pieces: list[list[str | float]], specials: int) -> list[list[str | float]]:
    """Unigram pieces (token, log-probability) in an order and with scores that do not depend on chance.

    Characters that lost their piece get the lowest score, plus 1e-4, plus 2e-4, … in random order: here they get these
    scores in alphabetical order. Other scores differ between runs in the last bits only, which rounding removes.
    """
    ordinary = [(str(piece), float(score)) for piece, score in pieces[specials:]]
    lowest = min((score for _, score in ordinary), default=0.0)
    steps = {piece: (score - lowest) / PENALTY for piece, score in ordinary if len(piece) == 1}
    ladder = sorted(piece for piece, step in steps.items() if abs(step - round(step)) < 1e-3 and step < len(ordinary))
    scores = dict(ordinary)
    scores |= dict(zip(ladder, sorted(scores[piece] for piece in ladder), strict=True))
    rounded = {piece: round(score, SCORE_DECIMALS) for piece, score in scores.items()}
    return pieces[:specials] + [[piece, score] for piece, score in sorted(rounded.items(), key=lambda p: (-p[1], p[0]))]


def _alphabet(counts: Counter[str], config: TokenizerConfig) -> list[str]:
    """Characters that get a token, commonest first (equal counts alphabetically)."""
    ordered = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    if config.kind == "bpe_bytes":
        return [character for character, _ in ordered]
    if config.kind == "character":
        return [character for character, count in ordered if count >= config.min_frequency]
    visible = [(character, count) for character, count in ordered if not character.isspace()]
    wanted = config.character_coverage * sum(count for _, count in visible)
    return list(_until(visible, wanted))


def _until(counted: list[tuple[str, int]], wanted: float) -> Iterator[str]:
    covered = 0
    for character, count in counted:
        if covered >= wanted:
            return
        covered += count
        yield character


# ---- report


class Counts(NamedTuple):
    """Counts of some lines: how often each token occurs, (V,) int64; numbers of words, bytes and lines."""

    uses: np.ndarray
    words: int
    bytes: int
    lines: int


def count_tokens(tokenizer: Tokenizer, mode: WordChoice, lines: Iterable[str]) -> Counts:
    """Encode lines and count. mode: how they are cut into words."""
    uses = np.zeros(tokenizer.vocab_size, dtype=np.int64)
    words, size, total, split = 0, 0, 0, splitter_of(mode)
    for batch in line_batches(lines):
        uses += np.bincount(encode_lines(tokenizer, batch)[0], minlength=tokenizer.vocab_size)
        words += sum(len(split(line)) for line in batch)
        size += sum(len(line.encode()) for line in batch)
        total += len(batch)
    return Counts(uses, words, size, total)


class TokenizerReport(TypedDict):
    """How a tokenizer cuts some text, as the metrics have it.

    Attributes:
        fertility: tokens per word. compression: bytes per token. unknown_rate: unknown tokens per token.
        samples: lines, each with its tokens.
    """

    kind: str
    vocab_size: int
    lines: int
    tokens: int
    words: str
    fertility: float
    compression: float
    unknown_rate: float
    vocabulary_used: float
    longest_tokens: list[str]
    most_frequent_tokens: list[str]
    samples: list[dict[str, str]]


def report_on(
    tokenizer: Tokenizer, parts: Sequence[Iterable[str]], conventions: Conventions, *, samples: int = SAMPLES
) -> TokenizerReport:
    """Measure a tokenizer on some text (the held-out text says more than the text it was trained on).

    Args:
        parts: the lines of the text, in parts that can be iterated again; workers count them.
        conventions: what a word of the text is.
        samples: how many of the first lines are shown.

    Returns:
        fertility (tokens per word), compression (bytes per token), unknown_rate (unknown tokens per token), vocabulary
        use, the longest tokens, and some lines cut into their tokens.
    """
    counts = list(current().map(partial(count_tokens, tokenizer, conventions.words), parts, "counting tokens"))
    uses = np.sum([count.uses for count in counts], axis=0)
    words, size = sum(count.words for count in counts), sum(count.bytes for count in counts)
    first = list(islice(chain.from_iterable(parts), samples))
    displayed = [
        {"text": line[:200], "tokens": " ".join(visible(tokenizer, token) for token in ids[:60])}
        for line, ids in zip(first, tokenizer.encode_lines(first), strict=True)
    ]
    tokens = int(uses.sum())
    ordinary = tokenizer.ordinary
    longest = sorted((tokenizer.decode([token]) for token in ordinary), key=lambda text: (-len(text), text))
    return {
        "kind": tokenizer.kind,
        "vocab_size": tokenizer.vocab_size,
        "lines": sum(count.lines for count in counts),
        "tokens": tokens,
        "words": conventions.description,
        "fertility": round(tokens / max(words, 1), 4),
        "compression": round(size / max(tokens, 1), 4),
        "unknown_rate": round(int(uses[UNK]) / max(tokens, 1), 6),
        "vocabulary_used": round(int((uses[ordinary] > 0).sum()) / max(len(ordinary), 1), 4),
        "longest_tokens": longest[:LONGEST],
        "most_frequent_tokens": [visible(tokenizer, token) for token in np.argsort(-uses, kind="stable")[:LONGEST]],
        "samples": displayed,
    }


def visible(tokenizer: Tokenizer, token: SupportsInt) -> str:
    """A token as text, its spaces as ▁."""
    return tokenizer.piece(int(token)).replace(" ", "▁")
