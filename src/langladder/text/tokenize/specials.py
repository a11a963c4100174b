"""The ids that every tokenizer reserves.

A text can contain the characters `<unk>` (WikiText does, as an ordinary word) or `<eos>`. Inside a tokenizer the
specials are therefore *spelt* with inner spaces (`SPELLINGS`): no token of a text ever contains a space, so no text
can be mistaken for a special, and an ordinary `<unk>` keeps an id of its own. `NAMES` are for display.

`RESERVED` follow the V tokens of the vocabulary, with ids V, V + 1, V + 2, in every tokenizer. No text encodes to them
and no language model predicts them. They serve networks that read pairs, classes and masks (BERT, Devlin et al. 2019),
which add rows to their base model without shifting an id.
"""

PAD = 0  # fills the right end of a shorter row of a batch; never predicted
UNK = 1  # a token that the vocabulary lacks
BOS = 2  # begins a line; never predicted
EOS = 3  # ends a line; predicted and scored

NAMES: tuple[str, ...] = ("<pad>", "<unk>", "<bos>", "<eos>")
RESERVED: tuple[str, ...] = ("<sep>", "<cls>", "<mask>")  # separates two texts; represents a text; masks a token


def spelling(name: str) -> str:
    """The spelling of a special inside `tokenizer.json`: `<eos>` → `< eos >`."""
    return f"< {name.strip('<>')} >"


SPELLINGS: tuple[str, ...] = tuple(spelling(name) for name in NAMES)
