"""Tokenizers: text to ids and back, over the Hugging Face `tokenizers` library, kept as one `tokenizer.json`.

| kind | a token is | text comes back exactly |
| --- | --- | --- |
| bpe_bytes | a run of bytes, merged by frequency (Radford et al. 2019, section 2.2) | always |
| bpe_words | a part of a word, `</w>` at its end (Sennrich et al. 2016, section 3.2) | up to white space |
| wordpiece | a part of a word, `##` where it goes on (Schuster, Nakajima 2012) | up to white space, not Chinese |
| unigram | a part of a line, `▁` for a space (Kudo 2018) | up to white space |
| word | the text between white space | up to white space |
| character | one character | always |
| bert | as wordpiece, after BERT's own cleaning (`text.tokenize.pretrained`); imported, not trained here | no |

bpe_bytes cuts a text into words, numbers, marks and white space before it merges (`CUTTING`); GPT-2's rule separates
letters from their combining marks, so that Hindi, Thai or vocalised Arabic hardly get a merge.
`morphemes` and `wordpiece_likelihood` are trained as `text.tokenize.tokenizer_training` has it, and are tokenizers of
kind unigram and wordpiece from then on.

Where the training text has marks that separate words (Ethiopic ፡ and others, `DIVIDERS`), no token goes across one:
bpe_words, wordpiece and word read it as a space, unigram joins it to the word behind it, as it does with a space, and
bpe_bytes cuts at every mark. Several together (፡፡) are a token by themselves.

All but bpe_bytes know the words or characters of the training text only; others are UNK and do not come back.
No special is ever found *in* a text: see `specials`.

A text is normalised first as the training text was (`text.words.normalisation`): here by Python, as cleaning does it,
which is 20 times faster; by other programs by the `normalizer` of tokenizer.json, which is made of the same rules
(those of Chinese characters excepted).
"""

import importlib.util
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import tokenizers as hf
from pydantic import Field, field_validator, model_validator
from tokenizers import decoders, models, normalizers, pre_tokenizers

from langladder.ground.artefacts import JSONObject, read_json, write_text
from langladder.ground.errors import InputError
from langladder.ground.schema import Config
from langladder.text.tokenize.specials import NAMES, RESERVED, SPELLINGS, UNK, spelling
from langladder.text.words.normalisation import Normalisation
from langladder.text.words.segmentation import DIVIDERS, TSHEG, UNSPACED

Own = Literal["bpe_bytes", "bpe_words", "wordpiece", "unigram", "word", "character"]
Trained = Literal[Own, "morphemes", "wordpiece_likelihood"]
Kind = Literal[Own, "bert"]
Cutting = Literal["marks", "gpt2"]
END_OF_WORD = "</w>"
CONTINUES = "##"
IDEOGRAPHIC_PUNCTUATION = r"\u3001-\u3003\u3008-\u3011\u3014-\u301f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"


# Byte-level BPE writes each byte as one visible character: itself where it is one, else the next free from 256 on.
_VISIBLE = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
_HIDDEN = [byte for byte in range(256) if byte not in _VISIBLE]
BYTES = {chr(byte): byte for byte in _VISIBLE} | {chr(256 + number): byte for number, byte in enumerate(_HIDDEN)}
_CHARACTERS = {byte: character for character, byte in BYTES.items()}

# GPT-2's rule, but that a word is a letter and all letters, combining marks and joiners (ZWNJ, ZWJ) behind it, as in
# Unicode's word boundaries (UAX 29, WB4) and in GPT-4o's rule. Text without marks and joiners is cut as by GPT-2.
CUTTING = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}[\p{L}\p{M}\u200c\u200d]*| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def byte_characters(text: bytes) -> str:
    """Bytes as byte-level BPE writes them, a character each."""
    return "".join(_CHARACTERS[byte] for byte in text)


def check_morfessor() -> None:
    """Raises: InputError: Morfessor is not installed."""
    if importlib.util.find_spec("morfessor") is None:
        raise InputError(
            "the library morfessor is not installed: pip install 'langladder[morphemes]'; or take tokenizer: unigram"
        )


class TokenizerConfig(Config):
    """Which tokenizer, and how large."""

    kind: Trained = "bpe_bytes"
    cutting: Cutting = "marks"  # of bpe_bytes: gpt2 separates letters from their combining marks, as GPT-2 does
    vocab_size: int | None = Field(
        default=8000, ge=1, le=10_000_000
    )  # specials included; null (word, character): all there are
    min_frequency: int = Field(default=1, ge=1)  # of a word, a character, or a pair to merge
    # Share of the running characters that get a token; the rarest of a large script become unknown below 1.
    # For bpe_words, wordpiece, wordpiece_likelihood, unigram and morphemes.
    character_coverage: float = Field(default=1.0, gt=0.5, le=1.0)
    sample_bytes: int = Field(default=1_000_000_000, ge=1)  # a longer text is sampled by evenly spaced lines

    @field_validator("kind")
    @classmethod
    def _is_installed(cls, kind: Trained) -> Trained:
        if kind == "morphemes":
            check_morfessor()
        return kind

    @model_validator(mode="after")
    def _has_room(self) -> Self:
        if self.vocab_size is None:
            if self.kind not in ("word", "character"):
                raise ValueError(f"vocab_size: null works with kind word or character only, not {self.kind!r}")
            return self
        least = len(SPELLINGS) + (256 if self.kind == "bpe_bytes" else 1)
        if self.vocab_size < least:
            needs = f"{len(SPELLINGS)} specials" + (" and 256 bytes" if self.kind == "bpe_bytes" else "")
            raise ValueError(f"vocab_size: {self.vocab_size} is too small for {needs}; at least {least}")
        return self


class Tokenizer:
    """Text to ids and back. Ids 0 to 3 are PAD, UNK, BOS, EOS; encoding adds none of PAD, BOS, EOS itself.

    After the V tokens of the vocabulary come `<sep>`, `<cls>`, `<mask>`, which no text encodes to (see `specials`).

    Args:
        backend: the library's tokenizer; where `normalisation` has steps, its normalizer is set to them.
        normalisation: how the training text was written.
    """

    def __init__(self, backend: hf.Tokenizer, kind: Kind, normalisation: Normalisation | None = None) -> None:
        self.kind: Kind = kind
        self.normalisation = normalisation or Normalisation()
        self._backend = backend
        if self.normalisation.names:
            backend.normalizer = self.normalisation.normalizer()
        vocabulary = backend.get_vocab(with_added_tokens=False)
        self._tokens: list[str] = sorted(vocabulary, key=vocabulary.__getitem__)
        if tuple(self._tokens[: len(SPELLINGS)]) != SPELLINGS:
            raise InputError(f"tokenizer: its first tokens are {self._tokens[:4]}; ids 0 to 3 must be {SPELLINGS}")
        if (last := max(vocabulary.values())) >= len(vocabulary):
            raise InputError(f"tokenizer: {len(vocabulary):,} tokens have ids up to {last:,}; ids must be 0, 1, 2, …")
        self._specials = dict(enumerate(NAMES)) | _reserve(backend)

    @property
    def vocab_size(self) -> int:
        """V: the ids that a text encodes to and a language model predicts, PAD to EOS included."""
        return len(self._tokens)

    @property
    def full_vocab_size(self) -> int:
        """V and the reserved ids behind it: rows of an embedding that knows `<sep>`, `<cls>` and `<mask>` too."""
        return max(self.vocab_size, *(token + 1 for token in self._specials))

    @property
    def ordinary(self) -> list[int]:
        """Ids of tokens of text, without the specials."""
        return [token for token in range(self.vocab_size) if token not in self._specials]

    def special_id(self, name: str) -> int:
        """Id of a special such as `<sep>`.

        Raises:
            InputError: there is no special of that name.
        """
        ids = {known: token for token, known in self._specials.items()}
        if name not in ids:
            raise InputError(f"tokenizer: has no special {name!r}; it has {', '.join(ids)}")
        return ids[name]

    def same_as(self, other: "Tokenizer") -> bool:
        """Whether both give every text the same ids."""
        return self.kind == other.kind and self._rules() == other._rules()

    def encode_lines(self, lines: Sequence[str]) -> list[np.ndarray]:
        """(length,) int32 ids of each line."""
        normalised = self.normalisation.normalise_all(lines)
        encodings = self._plain.encode_batch_fast(normalised, add_special_tokens=False)
        return [np.array(encoding.ids, dtype=np.int32) for encoding in encodings]

    @cached_property
    def _plain(self) -> hf.Tokenizer:
        """For text that is normalised already."""
        if not self.normalisation.names:
            return self._backend
        plain = hf.Tokenizer.from_str(json.dumps(json.loads(self._backend.to_str()) | {"normalizer": None}))
        plain.encode_special_tokens = True
        return plain

    def encode(self, line: str) -> np.ndarray:
        """(length,) int32 ids of one line."""
        return self.encode_lines([line])[0]

    def encode_with_spans(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """(length,) int32 ids, and (length, 2) int64: the characters of the text that each covers, from and to.

        White space at the ends of a token is left out of its characters; several tokens may share one character.
        """
        encoding = self._backend.encode(self.normalisation.han(text), add_special_tokens=False)
        spans = []
        for start, stop in encoding.offsets:
            begin = stop - len(text[start:stop].lstrip())
            spans.append((begin, max(begin, start + len(text[start:stop].rstrip()))))
        return np.array(encoding.ids, dtype=np.int32), np.array(spans, dtype=np.int64).reshape(-1, 2)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of some ids; specials are left out, except that an unknown shows as `<unk>`."""
        names = [self.name(int(token)) for token in ids if int(token) == UNK or int(token) not in self._specials]
        decoder = self._backend.decoder
        return " ".join(names) if decoder is None else str(decoder.decode(names))

    def piece(self, token: int) -> str:
        r"""The text of one token by itself; bytes that make no whole character as `\xe4\xbd`; specials by name."""
        if token not in self._specials and self.kind == "bpe_bytes":
            return bytes(BYTES[character] for character in self._tokens[token]).decode(errors="backslashreplace")
        return self.decode([token]) or self.name(token)

    def name(self, token: int) -> str:
        """How one token is written in the vocabulary; specials by name."""
        return self._specials[token] if token in self._specials else self._tokens[token]

    def save(self, path: Path, *, reserved: bool = True) -> None:
        """Write `tokenizer.json`, which the `tokenizers` library reads too.

        Args:
            reserved: with the ids behind the vocabulary; without them for other tools, whose models have no such rows.
        """
        write_text(path, self.to_json(reserved=reserved, pretty=True) + "\n")

    def to_json(self, *, reserved: bool = True, pretty: bool = False) -> str:
        """The text of `tokenizer.json`, on one line or on many."""
        text = str(self._backend.to_str(pretty=pretty))
        if not reserved:
            settings = json.loads(text)
            settings["added_tokens"] = [token for token in settings["added_tokens"] if token["id"] < self.vocab_size]
            text = hf.Tokenizer.from_str(json.dumps(settings)).to_str(pretty=pretty)
        return text

    def _rules(self) -> tuple[JSONObject, JSONObject | None, JSONObject | None]:
        """What decides the ids of a text: the model with its vocabulary, and how text is cut before it."""
        settings = json.loads(self._backend.to_str())
        return settings["model"], settings["pre_tokenizer"], settings["normalizer"]

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read `tokenizer.json`.

        Raises:
            InputError: the file is missing, or holds no tokenizer of this project.
        """
        if not Path(path).exists():
            raise InputError(f"{path}: no such file; train the tokenizer first (stage `tokenize`)")
        settings = read_json(path)
        try:
            _check_ids(settings)
            backend = hf.Tokenizer.from_str(Path(path).read_text(encoding="utf-8"))
            kind = _kind_of(settings)
            # Only this project's rules cut and join text: others may never end, and padding may fill all memory.
            normalizer = settings.get("normalizer")
            steps = Normalisation() if kind == "bert" else Normalisation.read_normalizer(normalizer)
            rules = {"cutting": _cutting_of(settings), "cleaning": normalizer, "normalisation": steps}
            rules["divided"] = any(divider in str(settings["pre_tokenizer"]) for divider in DIVIDERS)
            own = json.loads(assemble(kind, backend.model, **rules).to_str())
            other = [part for part in _RULES if settings.get(part) != own[part]]
            if other:
                raise InputError(f"{path}: no tokenizer of kind {kind} of this project (other: {', '.join(other)})")
            return cls(backend, kind, steps)
        except InputError as error:
            raise error if str(path) in str(error) else InputError(f"{path}: {error}") from error
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # the library raises plain Exception, or panics, at what it cannot parse
            raise InputError(f"{path}: not a tokenizer ({str(error)[:200]})") from error


def _check_ids(settings: object) -> None:
    """Raise InputError unless the ids of tokenizer.json are 0, 1, 2, …

    The library allocates memory for every id up to the largest: one id of 2³¹ can end the process. So ids are checked
    before it reads the file.
    """
    model = settings.get("model") if isinstance(settings, dict) else None
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict):  # of a unigram a list, whose places are the ids
        return
    allowed = f"{len(vocabulary):,} tokens have the ids 0 to {len(vocabulary) - 1:,}, each once"
    ids: set[int] = set()
    for token, number in vocabulary.items():
        if type(number) is not int or not 0 <= number < len(vocabulary) or number in ids:
            raise InputError(f"model.vocab: {token[:60]!r} has the id {str(number)[:20]}; {allowed}")
        ids.add(number)


def _reserve(backend: hf.Tokenizer) -> dict[int, str]:
    """Give the reserved specials their ids, if the file does not; id → name of each.

    The library looks for "added" tokens in every text before it is cut, unless they are special and
    `encode_special_tokens` is set, as here: `< mask >` in a text is ordinary text.

    Raises:
        InputError: other tokens are added, or they have other ids.
    """
    backend.encode_special_tokens = True
    known = {*SPELLINGS, *(spelling(name) for name in RESERVED)}
    for token in backend.get_added_tokens_decoder().values():
        if token.content not in known or not token.special:
            raise InputError(f"tokenizer: adds {token.content[:60]!r}; only specials of this project may be added")
    backend.add_special_tokens([hf.AddedToken(spelling(name), special=True, normalized=False) for name in RESERVED])
    size = backend.get_vocab_size(with_added_tokens=False)
    ids = backend.get_vocab(with_added_tokens=True)
    names = {ids[spelling(name)]: name for name in RESERVED}
    behind = [token for token in names if token >= size]  # an imported one can have it inside
    if behind != [*range(size, size + len(behind))]:
        raise InputError(f"tokenizer: {', '.join(RESERVED)} have ids {[*names]}; they must continue from {size}")
    return names


# Of tokenizer.json. `post_processor`, which exports for other libraries have, adds specials; here none are asked for.
_RULES = ("truncation", "padding", "normalizer", "pre_tokenizer", "decoder")


_CLEANING = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")


def assemble(
    kind: Kind,
    model: models.Model,
    *,
    cutting: Cutting = "marks",
    cleaning: Mapping[str, bool | None] | None = None,
    normalisation: Normalisation | None = None,
    divided: bool = False,
) -> hf.Tokenizer:
    """A model with the way text is normalised and cut before it and put together after it.

    Args:
        cutting: of kind `bpe_bytes`, as in `TokenizerConfig`.
        normalisation: of the other kinds; as of `Tokenizer`.
        divided: of kinds `bpe_words`, `wordpiece`, `unigram` and `word`: whether marks separate words (`DIVIDERS`).
        cleaning: of kind `bert`, what its normalizer does, by the names of `tokenizers.normalizers.BertNormalizer`.
    """
    backend = hf.Tokenizer(model)
    dividers = _dividers("merged_with_next" if kind == "unigram" else "removed") if divided else []
    if normalisation is not None and normalisation.names:
        backend.normalizer = normalisation.normalizer()
    if kind == "bpe_bytes":
        own = cutting == "marks"
        cut = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not own)
        words = [pre_tokenizers.Split(hf.Regex(CUTTING), "isolated")]
        backend.pre_tokenizer = pre_tokenizers.Sequence([*words, cut]) if own else cut
        backend.decoder = decoders.ByteLevel()
    elif kind == "bpe_words":
        backend.pre_tokenizer = _in_turn(pre_tokenizers.WhitespaceSplit(), *dividers)
        backend.decoder = decoders.BPEDecoder(suffix=END_OF_WORD)
    elif kind == "wordpiece":
        # Characters of scripts without spaces are words, as in BERT; else a line would be one unmanageable word.
        unspaced = pre_tokenizers.Split(hf.Regex(f"[{UNSPACED}]"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), *dividers, unspaced])
        backend.decoder = decoders.WordPiece(prefix=CONTINUES, cleanup=False)
    elif kind == "bert":
        settings: dict[str, Any] = {name: cleaning[name] for name in _CLEANING if name in cleaning} if cleaning else {}
        backend.normalizer = normalizers.BertNormalizer(**settings)
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece(prefix=CONTINUES, cleanup=False)
    elif kind == "unigram":
        # Lines without spaces are cut at their punctuation (ideographic and full-width), else training is slow.
        ideographic = pre_tokenizers.Split(hf.Regex(f"[{IDEOGRAPHIC_PUNCTUATION}]"), "isolated")
        backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace(), *dividers, ideographic])
        backend.decoder = decoders.Metaspace()
    elif kind == "word":
        backend.pre_tokenizer = _in_turn(pre_tokenizers.WhitespaceSplit(), *dividers)
    else:
        backend.decoder = decoders.Fuse()
    return backend


def _dividers(behaviour: Literal["removed", "merged_with_next"]) -> list[pre_tokenizers.PreTokenizer]:
    """Cuts at marks that separate words; several together are a piece."""
    mark = f"[{DIVIDERS}]"
    splitter = pre_tokenizers.Split(hf.Regex(f"(?<!{mark}){mark}(?!{mark})"), behaviour)
    return [pre_tokenizers.Split(hf.Regex(f"{mark}{{2,}}"), "isolated"), splitter]


def _in_turn(*steps: pre_tokenizers.PreTokenizer) -> pre_tokenizers.PreTokenizer:
    return steps[0] if len(steps) == 1 else pre_tokenizers.Sequence([*steps])


def of_words(tokens: Sequence[str], source: Path) -> Tokenizer:
    """A tokenizer of kind `word` for an imported vocabulary.

    Args:
        tokens: by id; the first four are the specials, whatever their names. source: its origin, for messages.

    Raises:
        InputError: a word occurs twice, or looks like a special inside a tokenizer.
    """
    vocabulary = {token: number for number, token in enumerate([*SPELLINGS, *tokens[len(SPELLINGS) :]])}
    if len(vocabulary) < len(tokens):
        raise InputError(f"{source}: {len(tokens) - len(vocabulary)} of its words occur twice, or are a special")
    return Tokenizer(assemble("word", models.WordLevel(vocab=vocabulary, unk_token=SPELLINGS[UNK])), "word")


def _kind_of(settings: JSONObject) -> Kind:
    model = settings["model"]
    kinds: dict[str, Kind] = {"WordPiece": "wordpiece", "Unigram": "unigram", "WordLevel": "word"}
    if model["type"] == "WordPiece" and (settings.get("normalizer") or {}).get("type") == "BertNormalizer":
        return "bert"
    if model["type"] in kinds:
        return kinds[model["type"]]
    if model.get("end_of_word_suffix"):
        return "bpe_words"
    return "character" if settings["pre_tokenizer"] is None else "bpe_bytes"


def _cutting_of(settings: JSONObject) -> Cutting:
    """How byte-level BPE cuts: files of GPT-2 have its own rule, which is built into the library."""
    return "gpt2" if (settings["pre_tokenizer"] or {}).get("type") == "ByteLevel" else "marks"


# ---- words among tokens

_BETWEEN = tuple(DIVIDERS + TSHEG)
WORD_SPACES = {
    "bpe_bytes": ("Ġ", *(byte_characters(mark.encode()) for mark in _BETWEEN)),
    "character": (" ", *_BETWEEN),
    "unigram": ("▁", *_BETWEEN),
}


class WordStarts(NamedTuple):
    """By token, (V,) bool each: it begins a word; what follows it begins one."""

    opens: np.ndarray
    closes: np.ndarray


def word_starts(tokenizer: Tokenizer) -> WordStarts:
    """Which tokens begin a word, and which end one, of all ids; the reserved ones do both.

        bpe_bytes, character   a token that begins with a space (`Ġcat`) begins a word
        unigram                one that begins with `▁`
        bpe_words              one with `</w>` ends a word
        wordpiece, bert        one without `##` begins a word
        word                   every token is a word

    Of the first two rows also a token that begins with a mark between words (`፡`). The first token of a line begins a
    word whatever it is.
    """
    opens, closes = (np.ones(tokenizer.full_vocab_size, dtype=bool) for _ in range(2))
    for token in tokenizer.ordinary:
        name = tokenizer.name(token)
        if tokenizer.kind in ("wordpiece", "bert"):
            opens[token], closes[token] = not name.startswith(CONTINUES), False
        elif tokenizer.kind == "bpe_words":
            opens[token], closes[token] = False, name.endswith(END_OF_WORD)
        elif tokenizer.kind in WORD_SPACES:
            opens[token], closes[token] = name.startswith(WORD_SPACES[tokenizer.kind]), False
    return WordStarts(opens, closes)


def word_pieces(tokenizer: Tokenizer, words: Sequence[str]) -> list[np.ndarray]:
    """The tokens of each word inside a line: (length,) int32 ids each.

    Byte-level BPE writes it with the space before it (`Ġcat`), Unigram with its mark (`▁cat`), word BPE with its end
    (`cat</w>`).
    """
    before = " " if tokenizer.kind == "bpe_bytes" else ""
    return tokenizer.encode_lines([before + word for word in words])


def word_tokens(tokenizer: Tokenizer) -> dict[int, str]:
    """Token → word, in the order of the ids, for each token that is the whole of a word; specials are none.

    Whether such a token is a word of the language or only the beginning of longer ones (`Ġmicro`) cannot be told from
    the tokenizer.
    """
    spelled = {token: tokenizer.decode([token]).strip() for token in tokenizer.ordinary}
    candidates = {token: word for token, word in spelled.items() if word and len(word.split()) == 1}
    pieces = word_pieces(tokenizer, list(candidates.values()))
    return {
        token: word
        for (token, word), ids_of_word in zip(candidates.items(), pieces, strict=True)
        if ids_of_word.tolist() == [token]
    }
