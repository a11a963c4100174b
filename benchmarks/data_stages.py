"""The data stages on real text, each in a process of its own with its start-up: MB of text a second and core.

    python benchmarks/data_stages.py clean | tokenize | vocab

A row is a piece of work in a module `data_<stage>.py` beside this one: a command that prints its table.
"""

import click
from data_clean import clean
from data_tokens import tokenize, vocab


@click.group()
def main() -> None:
    """Data stages, measured."""


for command in (clean, tokenize, vocab):
    main.add_command(command)

if __name__ == "__main__":
    main()
