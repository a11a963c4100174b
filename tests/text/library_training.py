"""The trainers of the `tokenizers` library on running text: what training on counts must equal, byte for byte."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import tokenizers as hf
from tokenizers import models, pre_tokenizers, trainers

from langladder.text.specials import SPELLINGS, UNK
from langladder.text.tokenizers import CONTINUES, END_OF_WORD, TokenizerConfig, assemble


def library_trained(lines: Sequence[str], config: TokenizerConfig) -> str:
    """`tokenizer.json` of a kind but unigram and character, as the library learns it."""
    size = config.vocab_size or 1 << 31
    settings: dict[str, Any] = {"vocab_size": size, "show_progress": False, "min_frequency": config.min_frequency}
    characters, specials = kept_characters(lines, config.character_coverage), [*SPELLINGS]
    model: Any
    trainer: Any
    if config.kind == "bpe_bytes":
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        model, trainer = (
            models.BPE(),
            trainers.BpeTrainer(special_tokens=specials, initial_alphabet=alphabet, **settings),
        )
    elif config.kind == "bpe_words":
        model = models.BPE(unk_token=SPELLINGS[UNK], end_of_word_suffix=END_OF_WORD)
        specials += [*characters, *(character + END_OF_WORD for character in characters)]
        trainer = trainers.BpeTrainer(special_tokens=specials, end_of_word_suffix=END_OF_WORD, **settings)
    elif config.kind == "wordpiece":
        model = models.WordPiece(unk_token=SPELLINGS[UNK], max_input_chars_per_word=1000)
        specials += [*characters, *(CONTINUES + character for character in characters)]
        trainer = trainers.WordPieceTrainer(special_tokens=specials, **settings)
    else:
        model = models.WordLevel(unk_token=SPELLINGS[UNK])
        trainer = trainers.WordLevelTrainer(special_tokens=specials, **settings)
    backend = assemble(config.kind, model)
    if config.kind in ("bpe_words", "wordpiece"):
        kept = set(characters)
        lines = ["".join(one if one in kept else " " for one in line) for line in lines]
    backend.train_from_iterator(lines, trainer)
    return hf.Tokenizer.from_str(json.dumps(json.loads(backend.to_str()) | {"added_tokens": []})).to_str()


def kept_characters(lines: Sequence[str], coverage: float) -> list[str]:
    """The commonest visible characters that make up a share of the text, sorted."""
    counts = Counter(character for line in lines for character in line if not character.isspace())
    kept, covered = [], 0
    for character, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if covered >= coverage * counts.total():
            break
        kept.append(character)
        covered += count
    return sorted(kept)
