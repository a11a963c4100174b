"""The pieces of `tokenizer: morphemes`: the parts of words that Morfessor finds (Creutz & Lagus 2002, 2007).

Morfessor needs no examples. Its Baseline looks for the lexicon of morphs M that describes lexicon and words W in the
fewest nats:

    L(M) + L(W | M),    L(W | M) = −Σ over the running morphs m of log( n(m) / N ),    N = morphs + words

A word is then cut into the morphs of the lowest −Σ log( n(m) / N ): the best path of a unigram model. So its morphs
become the pieces of a tokenizer of kind `unigram` with these scores, which the `tokenizers` library encodes by itself;
Morfessor (Virpioja et al. 2013, version 2) is needed for training only. What differs from Morfessor's own segmenter: a
morph gets a piece that begins words (`▁talo`), one inside words (`ssa`) or both, as the training text has it there,
since a language model cannot learn a piece that it never sees; it makes no new morphs; and characters that are no
morph, punctuation among them, are pieces with a low score. Where there are more pieces than `vocab_size`, the most
frequent are kept. W are the different words, each once, which is the default of Morfessor's command: of running words,
frequent ones would stay whole. 8,300 different words take about half a minute.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence

import regex  # type: ignore[import-untyped]

from langladder.ground.errors import InputError
from langladder.text.tokenize.tokenizers import check_morfessor

SCORE_DECIMALS = 4  # far above the noise of summing in another order, far below what changes a segmentation
SPACE = "▁"
LONGEST_WORD = 60  # characters; longer ones, such as addresses, teach no morphs
MORPH_PENALTY = 10.0  # nats that a character without a morph is below the lowest morph, as unknown ones in `tokenizers`
NO_PIECE = 0.001  # nats that the mark alone costs, so that `▁talo` is taken before `▁` and `talo`
MORFESSOR_SEED = 0  # of the order in which Morfessor visits words
_MORPH_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")  # what Morfessor learns from
_MORPH_RUN = regex.compile(rf"{_MORPH_WORD.pattern}|[^{SPACE}]")  # or a mark


def learn_morphs(words: Sequence[str]) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Morfessor's morphs with their scores, log( n(m) / N ), and each word as morphs.

    Args:
        words: different ones; in the same order they give the same morphs.

    Raises:
        InputError: Morfessor is not installed.
    """
    check_morfessor()
    import morfessor  # type: ignore[import-not-found,import-untyped,unused-ignore]

    morfessor.utils.show_progress_bar = False
    model = morfessor.BaselineModel()
    model.load_data((1, word) for word in words)
    state = random.getstate()
    try:
        random.seed(MORFESSOR_SEED)
        model.train_batch()
    finally:
        random.setstate(state)
    cut = {word: [str(morph) for morph in morphs] for _, word, morphs in model.get_segmentations()}
    counts = dict(model.get_constructions())
    total = sum(counts.values()) + len(words)
    return {morph: round(math.log(count / total), SCORE_DECIMALS) for morph, count in counts.items()}, cut


def morph_pieces(parts: Iterable[str], alphabet: Sequence[str], most: int, min_count: int) -> list[tuple[str, float]]:
    """The pieces of a unigram model with their scores, at most `most` unless the characters alone are more.

    Args:
        parts: the text between spaces in the training text, `▁` before each word.
        alphabet: characters that get a piece.
        min_count: rarer words are ignored.

    Raises:
        InputError: as `learn_morphs`; no word is left.
    """
    running = Counter(parts)
    words = Counter[str]()
    for part, count in running.items():
        for word in _MORPH_WORD.findall(part.removeprefix(SPACE)):
            words[word] += count
    learnt = sorted(word for word, count in words.items() if count >= min_count and len(word) <= LONGEST_WORD)
    if not learnt:
        raise InputError(f"tokenizer: no word of at most {LONGEST_WORD} characters occurs {min_count} times")
    scores, cut = learn_morphs(learnt)
    lowest = round(min(scores.values()) - MORPH_PENALTY, SCORE_DECIMALS)
    weights = {character: scores.get(character, lowest) for character in alphabet} | {SPACE: -NO_PIECE}
    uses = Counter[str]()
    for part, count in running.items():
        mark = SPACE if part.startswith(SPACE) else ""
        for word in _MORPH_RUN.findall(part.removeprefix(SPACE)):
            for morph in cut.get(word, word):  # an ignored word is spelled
                uses[mark + morph] += count
                mark = ""
    for piece, _ in sorted(uses.items(), key=lambda pair: (-pair[1], pair[0])):
        if len(weights) < most:
            weights.setdefault(piece, scores.get(piece.removeprefix(SPACE), lowest))
    return sorted(weights.items(), key=lambda pair: (-pair[1], pair[0]))
