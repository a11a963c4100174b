"""The ids that every tokenizer of the house keeps for itself.

A text can contain the characters `<unk>` (WikiText does, as an ordinary word) or `<eos>`. Inside a tokenizer the
specials are therefore *spelt* with inner spaces (`SPELLINGS`): no token of a text ever contains a space, so no text
can be mistaken for a special, and an ordinary `<unk>` keeps an id of its own. `NAMES` is how people see them.

`RESERVED` stand behind the V tokens of the vocabulary, ids V, V + 1, V + 2, in every tokenizer. No text holds them
and no language model predicts them; they are there for networks that read pairs, classes and gaps (BERT, Devlin et
al. 2019), so that such a network adds rows to what it starts from and shifts no id.
"""

PAD = 0  # fills the right end of a shorter row of a batch; never predicted
UNK = 1  # whatever the vocabulary lacks
BOS = 2  # opens a line; given, never predicted
EOS = 3  # closes a line; predicted and scored

NAMES: tuple[str, ...] = ("<pad>", "<unk>", "<bos>", "<eos>")
RESERVED: tuple[str, ...] = ("<sep>", "<cls>", "<mask>")  # parts two texts; stands for a whole text; hides a token


def spelling(name: str) -> str:
    """The string that stands for a special inside `tokenizer.json`: `<eos>` → `< eos >`."""
    return f"< {name.strip('<>')} >"


SPELLINGS: tuple[str, ...] = tuple(spelling(name) for name in NAMES)
