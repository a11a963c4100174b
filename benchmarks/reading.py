"""What reads sentences, measured beside others: one command each.

python benchmarks/reading.py crf
"""

import click
from reading_crf import crf


@click.group()
def main() -> None:
    """Measure what reads sentences."""


main.add_command(crf)

if __name__ == "__main__":
    main()
