"""Training tokenizers, so that the same text gives the same `tokenizer.json`, byte for byte.

The trainers are those of the `tokenizers` library. Byte-level merges and words are deterministic; what depends on the
order of a randomly seeded hash table is pinned here. WordPiece and BPE over words number their `##x` and `x</w>`
characters in the order they meet them: they are given beforehand, sorted. Unigram sums floating-point numbers in that
order, and gives scores in that order to characters that lost their piece: scores are rounded, those characters sorted.

What differs from the papers, because the library's trainers do. WordPiece merges the most frequent pair, as BPE does,
where Schuster and Nakajima take the pair that raises the likelihood most; its longest-match encoding is theirs. Unigram
finds its first pieces among distinct words, not running text as SentencePiece does, so a short frequent word that is
no part of others (`▁,`) may get no piece, and texts come out longer than SentencePiece would make them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import tokenizers as hf
from tokenizers import models, pre_tokenizers, trainers

from langladder.errors import InputError
from langladder.progress import working
from langladder.text.specials import SPELLINGS, UNK
from langladder.text.tokenizers import CONTINUES, END_OF_WORD, Tokenizer, TokenizerConfig, assemble

UNLIMITED = 1 << 31  # a cap that no vocabulary reaches
SCORE_DECIMALS = 4  # far above the noise of summing in another order, far below what changes a segmentation
PENALTY = 1e-4  # between the scores that the Unigram trainer gives to characters without a piece


def train_tokenizer(lines: Iterable[str], config: TokenizerConfig) -> Tokenizer:
    """Learn a tokenizer from training lines.

    Args:
        lines: training text; gone through twice, so a list or another thing that can be iterated again.

    Raises:
        InputError: no text, or the characters alone are more than `vocab_size`.
    """
    if config.kind == "bpe_bytes":
        alphabet: list[str] = []
        text: Iterable[str] = lines
    else:
        counts = _count_characters(lines)
        alphabet = _alphabet(counts, config)
        rare = {ord(character): " " for character in counts if character not in set(alphabet)}
        text = (line.translate(rare) for line in lines) if rare and config.kind not in ("word", "character") else lines
    backend = _train(text, alphabet, config)
    size = backend.get_vocab_size()
    if config.vocab_size is not None and size > config.vocab_size:
        raise InputError(
            f"tokenizer.vocab_size: {config.vocab_size:,} is less than the {size:,} tokens that the text's "
            f"{len(alphabet):,} characters and the specials need; raise it, lower tokenizer.character_coverage, or use "
            "kind bpe_bytes"
        )
    return Tokenizer(backend, config.kind)


def _train(lines: Iterable[str], alphabet: list[str], config: TokenizerConfig) -> hf.Tokenizer:
    size = UNLIMITED if config.vocab_size is None else config.vocab_size
    if config.kind == "character":
        kept = alphabet[: max(0, size - len(SPELLINGS))]
        vocabulary = {token: number for number, token in enumerate([*SPELLINGS, *kept])}
        return assemble("character", models.BPE(vocab=vocabulary, merges=[], unk_token=SPELLINGS[UNK]))

    settings: dict[str, Any] = {"vocab_size": size, "special_tokens": [*SPELLINGS], "show_progress": False}
    model: Any
    trainer: Any
    characters = sorted(alphabet)
    if config.kind == "bpe_bytes":
        model, trainer = models.BPE(), _bpe_trainer(settings, config, sorted(pre_tokenizers.ByteLevel.alphabet()))
    elif config.kind == "bpe_words":
        model = models.BPE(unk_token=SPELLINGS[UNK], end_of_word_suffix=END_OF_WORD)
        final = [character + END_OF_WORD for character in characters]
        settings |= {"special_tokens": [*SPELLINGS, *characters, *final], "end_of_word_suffix": END_OF_WORD}
        trainer = _bpe_trainer(settings, config, [])
    elif config.kind == "wordpiece":
        model = models.WordPiece(unk_token=SPELLINGS[UNK], max_input_chars_per_word=1000)
        inner = [CONTINUES + character for character in characters]
        settings["special_tokens"] = [*SPELLINGS, *characters, *inner]
        trainer = trainers.WordPieceTrainer(min_frequency=config.min_frequency, **settings)
    elif config.kind == "unigram":
        model, trainer = models.Unigram(), trainers.UnigramTrainer(unk_token=SPELLINGS[UNK], **settings)
    else:
        model = models.WordLevel(unk_token=SPELLINGS[UNK])
        trainer = trainers.WordLevelTrainer(min_frequency=config.min_frequency, **settings)
    backend = assemble(config.kind, model)
    with working("training the tokenizer"):
        backend.train_from_iterator(lines, trainer)
    return _without_added_tokens(backend, config)


def _bpe_trainer(settings: dict[str, Any], config: TokenizerConfig, alphabet: list[str]) -> Any:
    return trainers.BpeTrainer(min_frequency=config.min_frequency, initial_alphabet=alphabet, **settings)


def _without_added_tokens(backend: hf.Tokenizer, config: TokenizerConfig) -> hf.Tokenizer:
    """The trained model alone: "added" tokens would be looked for in every text before it is tokenised."""
    settings = json.loads(backend.to_str())
    settings["added_tokens"] = []
    if config.kind == "unigram":
        model = settings["model"]
        model["vocab"] = _steady(model["vocab"], len(SPELLINGS))
        model["unk_id"] = UNK
    return hf.Tokenizer.from_str(json.dumps(settings, ensure_ascii=False))


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


def _count_characters(lines: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line)
    if not counts:
        raise InputError("tokenizer: the training split has no text")
    return counts


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
