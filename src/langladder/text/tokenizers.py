"""Tokenizers: text to ids and back, over the Hugging Face `tokenizers` library, kept as one `tokenizer.json`.

| kind | a token is | text comes back exactly |
| --- | --- | --- |
| bpe_bytes | a run of bytes, merged by frequency (Radford et al. 2019, section 2.2) | always |
| bpe_words | a part of a word, `</w>` at its end (Sennrich et al. 2016, section 3.2) | up to white space |
| wordpiece | a part of a word, `##` where it goes on (Schuster, Nakajima 2012) | up to white space, not Chinese |
| unigram | a part of a line, `▁` for a space (Kudo 2018) | up to white space |
| word | what stands between white space | up to white space |
| character | one character | always |

All but bpe_bytes know the words or characters of the training text only; others are UNK and do not come back.
No special is ever found *in* a text: see `specials`.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import tokenizers as hf
from pydantic import Field, model_validator
from tokenizers import decoders, models, pre_tokenizers

from langladder.artefacts import read_json, write_text
from langladder.errors import InputError
from langladder.schema import Config
from langladder.text.specials import EXTRA_NAMES, NAMES, SPELLINGS, UNK, spelling
from langladder.text.words import UNSPACED

Kind = Literal["bpe_bytes", "bpe_words", "wordpiece", "unigram", "word", "character"]
END_OF_WORD = "</w>"
CONTINUES = "##"
IDEOGRAPHIC_PUNCTUATION = r"\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"


# Byte-level BPE writes each byte as one visible character: itself where it is one, else the next free from 256 on.
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
_BYTES = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + place): byte for place, byte in enumerate(_HIDDEN)}


class TokenizerConfig(Config):
    """Which tokenizer, and how large."""

    kind: Kind = "bpe_bytes"
    vocab_size: int | None = Field(default=8000, ge=1)  # specials included; null (word, character): all there are
    min_frequency: int = Field(default=1, ge=1)  # of a word, a character, or a pair to merge
    extra_specials: list[Literal["<sep>", "<cls>", "<mask>"]] = Field(default=[])
    # Share of the running characters that get a token; the rarest of a large script become unknown below 1.
    # For bpe_words, wordpiece and unigram.
    character_coverage: float = Field(default=1.0, gt=0.5, le=1.0)

    @property
    def specials(self) -> list[str]:
        """Spellings of all specials, in the order of their ids."""
        return [*SPELLINGS, *(spelling(name) for name in self.extra_specials)]

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if len(set(self.extra_specials)) < len(self.extra_specials):
            raise ValueError(f"extra_specials: {self.extra_specials} names one twice")
        if self.vocab_size is None:
            if self.kind not in ("word", "character"):
                raise ValueError(f"vocab_size: null goes with kind word or character only, not {self.kind!r}")
            return self
        least = len(self.specials) + (256 if self.kind == "bpe_bytes" else 1)
        if self.vocab_size < least:
            needs = f"{len(self.specials)} specials" + (" and 256 bytes" if self.kind == "bpe_bytes" else "")
            raise ValueError(f"vocab_size: {self.vocab_size} is too small for {needs}; at least {least}")
        return self


class Tokenizer:
    """Text to ids and back. Ids 0 to 3 are PAD, UNK, BOS, EOS; encoding adds none of PAD, BOS, EOS itself."""

    def __init__(self, backend: hf.Tokenizer, kind: Kind) -> None:
        self.kind: Kind = kind
        self._backend = backend
        vocabulary = backend.get_vocab(with_added_tokens=False)
        self._tokens: list[str] = sorted(vocabulary, key=vocabulary.__getitem__)
        if tuple(self._tokens[: len(SPELLINGS)]) != SPELLINGS:
            raise InputError(f"tokenizer: its first tokens are {self._tokens[:4]}; ids 0 to 3 must be {SPELLINGS}")
        extras = {spelling(name): name for name in EXTRA_NAMES}
        #: Names of all specials by id: `<pad> <unk> <bos> <eos>` and the extra ones.
        self.specials: list[str] = [*NAMES]
        for token in self._tokens[len(NAMES) :]:
            if token not in extras:
                break
            self.specials.append(extras[token])

    @property
    def vocab_size(self) -> int:
        """Ids there are, specials included."""
        return len(self._tokens)

    def special_id(self, name: str) -> int:
        """Id of a special such as `<sep>`.

        Raises:
            InputError: this tokenizer was trained without it.
        """
        if name not in self.specials:
            raise InputError(f"tokenizer: has no special {name!r}; add it to tokenizer.extra_specials")
        return self.specials.index(name)

    def encode_lines(self, lines: Sequence[str]) -> list[np.ndarray]:
        """(length,) int32 ids of each line."""
        encodings = self._backend.encode_batch_fast(list(lines), add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int32) for encoding in encodings]

    def encode(self, line: str) -> np.ndarray:
        """(length,) int32 ids of one line."""
        return self.encode_lines([line])[0]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; specials are left out, except that an unknown shows as `<unk>`."""
        shown = [self.name(int(token)) for token in ids if int(token) == UNK or int(token) >= len(self.specials)]
        decoder = self._backend.decoder
        return " ".join(shown) if decoder is None else str(decoder.decode(shown))

    def piece(self, token: int) -> str:
        r"""The text of one token by itself; bytes that make no whole character as `\xe4\xbd`; specials by name."""
        if token >= len(self.specials) and self.kind == "bpe_bytes":
            return bytes(_BYTES[character] for character in self._tokens[token]).decode(errors="backslashreplace")
        return self.decode([token]) or self.name(token)

    def name(self, token: int) -> str:
        """How one token is written in the vocabulary; specials as people know them."""
        return self.specials[token] if token < len(self.specials) else self._tokens[token]

    def save(self, path: Path) -> None:
        """Write `tokenizer.json`, which the `tokenizers` library reads too."""
        write_text(path, self._backend.to_str(pretty=True) + "\n")

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read `tokenizer.json`.

        Raises:
            InputError: the file is missing, or holds no tokenizer of this house.
        """
        if not Path(path).exists():
            raise InputError(f"{path}: no such file; train the tokenizer first (stage `tokenize`)")
        settings = read_json(path)
        try:
            backend = hf.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
            kind = _kind_of(settings)
            # What cuts and joins text is ours: rules from elsewhere may never end, padding may fill all memory.
            own = json.loads(assemble(kind, backend.model).to_str())
            other = [part for part in _RULES if settings.get(part) != own[part]]
            if other:
                raise InputError(f"{path}: no tokenizer of kind {kind} of this project (other: {', '.join(other)})")
            return cls(backend, kind)
        except InputError as error:
            raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises plain Exception, or panics, at what it cannot parse
            raise InputError(f"{path}: not a tokenizer ({str(error)[:200]})") from error


# Of tokenizer.json. `post_processor`, which exports for other libraries have, adds specials; here none are asked for.
_RULES = ("truncation", "padding", "normalizer", "pre_tokenizer", "decoder")


def assemble(kind: Kind, model: Any) -> hf.Tokenizer:
    """A model with the way text is cut before it and put together after it."""
    backend = hf.Tokenizer(model)
    if kind == "bpe_bytes":
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        backend.decoder = decoders.ByteLevel()
    elif kind == "bpe_words":
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        backend.decoder = decoders.BPEDecoder(suffix=END_OF_WORD)
    elif kind == "wordpiece":
        # Characters of scripts without spaces are words, as in BERT; else a line would be one unmanageable word.
        unspaced = pre_tokenizers.Split(hf.Regex(f"[{UNSPACED}]"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), unspaced])
        backend.decoder = decoders.WordPiece(prefix=CONTINUES, cleanup=False)
    elif kind == "unigram":
        # Lines without spaces are cut at their punctuation (ideographic and full-width), else training is slow.
        ideographic = pre_tokenizers.Split(hf.Regex(f"[{IDEOGRAPHIC_PUNCTUATION}]"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), ideographic])
        backend.decoder = decoders.Metaspace()
    elif kind == "word":
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    else:
        backend.decoder = decoders.Fuse()
    return backend


def from_merges(
    kind: Literal["bpe_bytes", "bpe_words"], vocabulary: dict[str, int], merges: list[tuple[str, str]]
) -> hf.Tokenizer:
    """A byte-pair encoder with merges learned elsewhere (GPT-2's, subword-nmt's), cut and joined as ours are."""
    suffix = {"end_of_word_suffix": END_OF_WORD} if kind == "bpe_words" else {}
    return assemble(kind, models.BPE(vocab=vocabulary, merges=merges, **suffix))


def _kind_of(settings: dict[str, Any]) -> Kind:
    model = settings["model"]
    kinds: dict[str, Kind] = {"WordPiece": "wordpiece", "Unigram": "unigram", "WordLevel": "word"}
    if model["type"] in kinds:
        return kinds[model["type"]]
    if model.get("end_of_word_suffix"):
        return "bpe_words"
    return "bpe_bytes" if (settings["pre_tokenizer"] or {}).get("type") == "ByteLevel" else "character"
