"""Tokenizers as Hugging Face's `AutoTokenizer` reads them: tokenizer.json and tokenizer_config.json.

tokenizer.json gets the specials, and what comes before and after a text; it cuts text as before. The `tokenizers`
library finds such specials in a text, also `< eos >`, unless its `encode_special_tokens` is set, which no file can do;
for transformers, `split_special_tokens` of tokenizer_config.json sets it.
"""

from collections.abc import Sequence
from pathlib import Path

from langladder.ground.artefacts import JSONObject, write_json, write_text
from langladder.text.labelled.instructions import ASSISTANT, ROLES, SYSTEM, USER
from langladder.text.labelled.templates import lead
from langladder.text.tokenize.specials import BOS, EOS, PAD, RESERVED, SPELLINGS, UNK, spelling
from langladder.text.tokenize.tokenizers import Tokenizer

SPECIALS = {"bos_token_id": BOS, "eos_token_id": EOS, "pad_token_id": PAD}
"""Ids under Hugging Face's names."""


def chat_template(before: str) -> str:
    """The template of `text.labelled.templates` in Jinja, as `apply_chat_template` of transformers reads it.

    transformers finds specials in a rendered text. One in a message loses its first space, so that no
    message holds another turn.

    Args:
        before: the beginning of turns (`lead`).
    """
    plain = "".join(
        f" | replace('{special}', '{special.replace('< ', '<')}')"
        for special in (*SPELLINGS, *(spelling(name) for name in RESERVED))
    )
    assistant, user, system = (spelling(name) for name in RESERVED)
    space = f"{{% if message['content'][:1] | trim %}}{{{{ '{before}' }}}}{{% endif %}}" if before else ""
    turns = "".join(
        f"{{% {word} message['role'] == '{role}' %}}{marker}{space}{{{{ message['content']{plain} }}}}{end}"
        for word, role, marker, end in (
            ("if", SYSTEM, system, ""),
            ("elif", USER, user, ""),
            ("elif", ASSISTANT, assistant, SPELLINGS[EOS]),
        )
    )
    known = "{% else %}{{ raise_exception('a role is not one of " + ", ".join(ROLES) + "') }}{% endif %}"
    opened = f"{{% if add_generation_prompt %}}{assistant}{{% endif %}}"
    return f"{SPELLINGS[BOS]}{{% for message in messages %}}{turns}{known}{{% endfor %}}{opened}"


def write_tokenizer(
    path: Path, tokenizer: Tokenizer, *, first: Sequence[int] = (), last: Sequence[int] = (), reserved: bool = False
) -> None:
    """Write tokenizer.json with the V tokens that models predict; `reserved`: also with the reserved ones after them.

    The library then puts the specials `first` before a text and `last` after it.
    """
    from tokenizers import AddedToken, processors
    from tokenizers import Tokenizer as Backend

    tokenizer.save(path, reserved=reserved)
    backend = Backend.from_file(str(path))
    backend.add_special_tokens([AddedToken(SPELLINGS[token], special=True) for token in (PAD, UNK, BOS, EOS)])
    around = [*(SPELLINGS[token] for token in first), "$A", *(SPELLINGS[token] for token in last)]
    used = [(SPELLINGS[token], token) for token in (*first, *last)]
    backend.post_processor = processors.TemplateProcessing(single=around, special_tokens=used)
    write_text(path, str(backend.to_str(pretty=True)) + "\n")


def write_tokenizer_folder(
    folder: Path,
    tokenizer: Tokenizer,
    *,
    length: int,
    first: Sequence[int] = (),
    last: Sequence[int] = (),
    chats: bool = False,
) -> None:
    """Write both files into an existing folder.

    Args:
        length: the longest text that the model reads, in tokens.
        first, last: as of `write_tokenizer`.
        chats: with the markers of turns and the chat template. transformers then finds specials in a text, and
            otherwise does not.
    """
    write_tokenizer(folder / "tokenizer.json", tokenizer, first=first, last=last, reserved=chats)
    about: JSONObject = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": length}
    about |= dict(zip(("pad_token", "unk_token", "bos_token", "eos_token"), SPELLINGS, strict=True))
    about |= {"chat_template": chat_template(lead(tokenizer))} if chats else {"split_special_tokens": True}
    write_json(folder / "tokenizer_config.json", about | {"clean_up_tokenization_spaces": False})


def write_encoder_tokenizer(
    folder: Path,
    tokenizer: Tokenizer,
    *,
    length: int,
    single: Sequence[str] = ("<cls>", "$A", "<sep>"),
    pair: Sequence[str] = ("<cls>", "$A", "<sep>", "$B:1", "<sep>:1"),
    gaps: bool = False,
) -> None:
    """Write both files of an encoder, with `<sep>`, `<cls>` and `<mask>`.

    Args:
        length: as of `write_tokenizer_folder`.
        single, pair: the template of one text and of two; `:1` marks segment 1.
        gaps: whether transformers finds specials in a text, so that `< mask >` hides a token.
    """
    from tokenizers import Tokenizer as Backend
    from tokenizers import processors

    path = folder / "tokenizer.json"
    tokenizer.save(path)
    backend = Backend.from_file(str(path))
    separator, cls, mask = (spelling(name) for name in RESERVED)
    used = {part.removesuffix(":1") for part in (*single, *pair)}
    ids = [(spelling(name), tokenizer.special_id(name)) for name in RESERVED if name in used]
    first, two = ([_spelled(part) for part in row] for row in (single, pair))
    backend.post_processor = processors.TemplateProcessing(single=first, pair=two, special_tokens=ids)
    write_text(path, str(backend.to_str(pretty=True)) + "\n")
    names = dict(zip(("pad_token", "unk_token", "bos_token", "eos_token"), SPELLINGS, strict=True))
    names |= {"sep_token": separator, "cls_token": cls, "mask_token": mask}
    about: JSONObject = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": length}
    about |= {"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}
    about |= {} if gaps else {"split_special_tokens": True}
    write_json(folder / "tokenizer_config.json", about | names | {"clean_up_tokenization_spaces": False})


def _spelled(part: str) -> str:
    """A part of a template with its special in its spelling: `<sep>:1` → `< sep >:1`."""
    name, colon, segment = part.partition(":")
    return f"{spelling(name) if name in RESERVED else name}{colon}{segment}"
