"""Training tokenizers, so that the same text gives the same `tokenizer.json`, byte for byte.

BPE, WordPiece and words are learnt from counts (`counted_pieces`, `merging`), which shards of a text may be counted to
apart: what the trainers of the `tokenizers` library make of the text itself. WordPiece and BPE over words number their
`##x` and `x</w>` characters beforehand, sorted. Unigram is trained by the library on running text. It sums
floating-point numbers in the order of a randomly seeded hash table, and gives scores in that order to characters that
lost their piece: scores are rounded, those characters sorted.

What differs from the papers, because the library's trainers do. WordPiece merges the most frequent pair, as BPE does,
where Schuster and Nakajima take the pair that raises the likelihood most; its longest-match encoding is theirs. Unigram
finds its first pieces among distinct words, not running text as SentencePiece does, so a short frequent word that is
no part of others (`▁,`) may get no piece, and texts come out longer than SentencePiece would make them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tokenizers as hf
from tokenizers import models, trainers

from langladder.errors import InputError
from langladder.progress import working
from langladder.text.counted_pieces import count_characters, count_pieces
from langladder.text.merging import Words, learn_merges
from langladder.text.pieces import Pieces
from langladder.text.specials import SPELLINGS, UNK
from langladder.text.tokenizers import BYTES, CONTINUES, END_OF_WORD, Tokenizer, TokenizerConfig, assemble

UNLIMITED = 1 << 31  # a cap that no vocabulary reaches
SCORE_DECIMALS = 4  # far above the noise of summing in another order, far below what changes a segmentation
PENALTY = 1e-4  # between the scores that the Unigram trainer gives to characters without a piece


def train_tokenizer(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn a tokenizer from training lines.

    Args:
        lines: training text; Unigram goes through it twice, so a list or another thing that can be iterated again.

    Raises:
        InputError: no text, or the characters alone are more than `vocab_size`.
    """
    size = UNLIMITED if config.vocab_size is None else config.vocab_size
    alphabet: list[str] = []
    if config.kind == "unigram":
        backend, alphabet = _unigram(lines, config, size)
    else:
        pieces = count_pieces(lines, config.kind)
        model: Any
        with working("training the tokenizer"):
            if config.kind == "bpe_bytes":
                model = _byte_level(pieces, size, config.min_frequency)
            elif config.kind == "character":
                model, alphabet = _characters(pieces, size, config)
            elif config.kind == "word":
                model = _words(pieces, size, config.min_frequency)
            else:
                model, alphabet = _parts_of_words(pieces, size, config)
        backend = assemble(config.kind, model)
    size = backend.get_vocab_size()
    if config.vocab_size is not None and size > config.vocab_size:
        raise InputError(
            f"tokenizer.vocab_size: {config.vocab_size:,} is less than the {size:,} tokens that the text's "
            f"{len(alphabet):,} characters and the specials need; raise it, lower tokenizer.character_coverage, or use "
            "kind bpe_bytes"
        )
    return Tokenizer(backend, config.kind)


def _byte_level(pieces: Pieces, size: int, min_frequency: int) -> models.BPE:
    tokens = [*SPELLINGS, *sorted(BYTES)]
    ids = np.zeros(256, dtype=np.int32)
    for token in sorted(BYTES):
        ids[BYTES[token]] = tokens.index(token)
    bounds = pieces.lines.bounds
    words = Words(ids[pieces.lines.text], bounds[:-1].copy(), np.diff(bounds).astype(np.int32), pieces.counts)
    tokens, merges = learn_merges(words, tokens, size, min_frequency=min_frequency)
    return models.BPE(vocab=_numbered(tokens), merges=merges)


def _characters(pieces: Pieces, size: int, config: TokenizerConfig) -> tuple[models.BPE, list[str]]:
    alphabet = _alphabet(_with_text(Counter(dict(_counted(pieces)))), config)
    vocabulary = _numbered([*SPELLINGS, *alphabet[: max(0, size - len(SPELLINGS))]])
    return models.BPE(vocab=vocabulary, merges=[], unk_token=SPELLINGS[UNK]), alphabet


def _words(pieces: Pieces, size: int, min_frequency: int) -> models.WordLevel:
    counted = [(word, count) for word, count in _with_text(Counter(dict(_counted(pieces)))).items()]
    kept = sorted((pair for pair in counted if pair[1] >= min_frequency), key=lambda pair: (-pair[1], pair[0]))
    vocabulary = _numbered([*SPELLINGS, *(word for word, _ in kept)][:size])
    return models.WordLevel(vocab=vocabulary, unk_token=SPELLINGS[UNK])


def _parts_of_words(
    pieces: Pieces, size: int, config: TokenizerConfig
) -> tuple[models.BPE | models.WordPiece, list[str]]:
    """Tokens that stand in a word, by where they stand: `##x` goes on (WordPiece), `x</w>` ends (BPE over words)."""
    characters: Counter[str] = Counter()
    for word, count in _counted(pieces):
        for character in word:
            characters[character] += count
    alphabet = _alphabet(_with_text(characters), config)
    words = _without_rare(pieces, set(alphabet), config)
    ordered, continues = sorted(alphabet), config.kind == "wordpiece"
    placed = [CONTINUES + one if continues else one + END_OF_WORD for one in ordered]
    tokens = [*dict.fromkeys([*SPELLINGS, *ordered, *placed])]
    ids = {token: number for number, token in enumerate(tokens)}
    plain, other = (np.zeros(0x110000, dtype=np.int32) for _ in range(2))
    for character, spelled in zip(ordered, placed, strict=True):
        plain[ord(character)], other[ord(character)] = ids[character], ids[spelled]
    points = np.frombuffer("".join(words).encode("utf-32-le"), dtype=np.uint32)
    lengths = np.fromiter(map(len, words), dtype=np.int32, count=len(words))
    ends = np.cumsum(lengths, dtype=np.int64)
    at_edge = np.zeros(len(points), dtype=bool)
    at_edge[ends - lengths if continues else ends - 1] = True
    symbols = np.where(at_edge == continues, plain[points], other[points])
    counts = np.fromiter(words.values(), dtype=np.int64, count=len(words))
    tokens, merges = learn_merges(
        Words(symbols, ends - lengths, lengths, counts),
        tokens,
        size,
        min_frequency=config.min_frequency,
        prefix=CONTINUES if continues else "",
    )
    if continues:
        vocabulary = _numbered(tokens)
        return models.WordPiece(vocab=vocabulary, unk_token=SPELLINGS[UNK], max_input_chars_per_word=1000), alphabet
    return models.BPE(_numbered(tokens), merges, unk_token=SPELLINGS[UNK], end_of_word_suffix=END_OF_WORD), alphabet


def _without_rare(pieces: Pieces, alphabet: set[str], config: TokenizerConfig) -> Counter[str]:
    """Words as the model will see them: cut by the kind's own rules, with characters out of the alphabet as spaces."""
    split: Any = assemble(config.kind, models.BPE()).pre_tokenizer
    words: Counter[str] = Counter()
    for word, count in _counted(pieces):
        if word.isascii() and alphabet.issuperset(word):
            words[word] += count
        else:
            text = "".join(one if one in alphabet else " " for one in word)
            for part, _ in split.pre_tokenize_str(text):
                words[part] += count
    return words


def _counted(pieces: Pieces) -> Iterator[tuple[str, int]]:
    return zip(pieces.lines.texts(), pieces.counts.tolist(), strict=True)


def _with_text(counts: Counter[str]) -> Counter[str]:
    if not counts:
        raise InputError("tokenizer: the training split has no text")
    return counts


def _numbered(tokens: list[str]) -> dict[str, int]:
    return {token: number for number, token in enumerate(tokens)}


def _unigram(lines: Iterable[str], config: TokenizerConfig, size: int) -> tuple[hf.Tokenizer, list[str]]:
    counts = _with_text(count_characters(lines))
    alphabet = _alphabet(counts, config)
    rare = {ord(character): " " for character in counts.keys() - set(alphabet)}
    trainer = trainers.UnigramTrainer(
        unk_token=SPELLINGS[UNK], vocab_size=size, special_tokens=[*SPELLINGS], show_progress=False
    )
    backend = assemble("unigram", models.Unigram())
    with working("training the tokenizer"):
        backend.train_from_iterator((line.translate(rare) for line in lines), trainer)
    settings = json.loads(backend.to_str())
    settings["added_tokens"] = []  # these would be looked for in every text before it is tokenised
    settings["model"]["vocab"] = _steady(settings["model"]["vocab"], len(SPELLINGS))
    settings["model"]["unk_id"] = UNK
    return hf.Tokenizer.from_str(json.dumps(settings, ensure_ascii=False)), alphabet


def _steady(pieces: list[list[Any]], specials: int) -> list[list[Any]]:
    """Unigram pieces (token, log-probability) in an order and with scores that do not depend on chance.

    Characters that lost their piece were given the lowest score, plus 1e-4, plus 2e-4, … in chance order: they get
    these scores in alphabetical order. The rest differ between runs in the last bits only, which rounding takes off.
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
